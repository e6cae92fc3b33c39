"""The suite can fail: each of these bugs, put into a copy of the sources, is caught by it.

Opt-in (TROPICAL_TEST_SEEDED=1): builds the baseline instruction set for each bug, minutes in all.
A patch whose text is no longer found fails too: then write the same bug into the new code.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]


class Bug(NamedTuple):
    """`old` (found once in cpp/`file`) replaced by `new`; the test file `tests` must notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str


BUGS = [
    Bug(
        "a dropped last step of k",
        "micro_kernel.hpp",
        "for (ptrdiff_t p = 0; p < k; ++p) {",
        "for (ptrdiff_t p = 0; p + 1 < k; ++p) {",
        "exact",
    ),
    Bug(
        "a NaN lost in the tail of a row",
        "pack.hpp",
        "j < inner; j += R::lanes",
        "j + R::lanes <= inner; j += R::lanes",
        "special_values",
    ),
    Bug(
        "a NaN lost in a single micro-panel",
        "pack.hpp",
        "? pack_rows<R, W>(g) : pack_columns<R, W>(g);",
        "? pack_rows<R, W>(g) : (pack_columns<R, W>(g) && g.length > W);",
        "special_values",
    ),
    Bug(
        "the last index on ties",
        "ring.hpp",
        "return candidate > best;",
        "return candidate >= best;",
        "argmax",
    ),
    Bug(
        "the last NaN's index",
        "scalar.cpp",
        "for (ptrdiff_t p = k - 1; p >= 0; --p)",
        "for (ptrdiff_t p = 0; p < k; ++p)",
        "argmax",
    ),
    Bug(
        "indices of a part of k counted from another's start",
        "gemm.cpp",
        "part * run.plan.part_k);",
        "(part - 1) * run.plan.part_k);",
        "argmax",
    ),
    Bug(
        "integers that wrap",
        "ring.hpp",
        "static_cast<T>((quarter - 2) / 3)",
        "static_cast<T>(quarter - 2)",
        "saturation",
    ),
    Bug(
        "integers beyond the bound never met again",
        "gemm.cpp",
        "if (noticed && plan.careful) {",
        "if (noticed && plan.careful && plan.nc < 0) {",
        "saturation",
    ),
    Bug(
        "integers that packing does not cover either",
        "gemm.cpp",
        "if (!execute(problem, packed, false, workspace)) return;",
        "return static_cast<void>(execute(problem, packed, false, workspace));",
        "saturation",
    ),
    Bug(
        "an argmax in the first segment of a later block",
        "argmax.hpp",
        "for_each_set<T>(found >= 0,",
        "for_each_set<T>(found > 0,",
        "argmax",
    ),
    Bug(
        "a sentinel that is not turned back",
        "ring.hpp",
        "v < broadcast<V>(static_cast<T>(-2 * D))",
        "v < broadcast<V>(static_cast<T>(-3 * D))",
        "saturation",
    ),
    Bug(
        "results of -0",
        "ring.hpp",
        "if constexpr (notices_nan) return v + V{};",
        "if constexpr (notices_nan) return v;",
        "special_values",
    ),
    Bug(
        "a block of k that overwrites the one before",
        "gemm.cpp",
        "p.accumulate || pc > 0",
        "p.accumulate",
        "exact",
    ),
    Bug(
        "a bias that is added again in the next block of k",
        "micro_kernel.hpp",
        "R::fuses && !from_c ? start : c;",
        "R::fuses && start.data ? start : c;",
        "linear",
    ),
    Bug(
        "relu between two blocks of k",
        "gemm.cpp",
        "p.relu && pc + k == p.k",
        "p.relu",
        "linear",
    ),
    Bug(
        "relu between two blocks of k, unpacked",
        "direct.hpp",
        "g.relu && to.first_p + k == g.k",
        "g.relu",
        "linear",
    ),
    Bug(
        "a NaN that relu drops",
        "micro_kernel.hpp",
        "floor > value ? floor : value",
        "value > floor ? value : floor",
        "linear",
    ),
    Bug(
        "a group of bits dropped",
        "bits.hpp",
        "pg < g.k; pg += steps_per_group",
        "pg + steps_per_group <= g.k; pg += steps_per_group",
        "exact",
    ),
    Bug(
        "a NaN lost between a matrix and a vector",
        "rows.hpp",
        "    noticed |= here;\n    return sum_of_lanes",
        "    return sum_of_lanes",
        "special_values",
    ),
    Bug(
        "a batch in rows that walks over its neighbours",
        "gemm.cpp",
        "p.m == 1 || stride == p.m * row_stride",
        "p.m == 1 || stride >= p.m * row_stride",
        "shapes",
    ),
    Bug(
        "the caller's rounding mode not restored",
        "threads.cpp",
        "if (_mm_getcsr() != saved_)",
        "if (false)",
        "special_values",
    ),
    Bug(
        "subnormals flushed as the caller does",
        "threads.cpp",
        "_mm_setcsr(0x1F80);",
        ";",
        "special_values",
    ),
    Bug(
        "loads past the end of an operand",
        "vec.hpp",
        "static_cast<std::size_t>(bytes) % sizeof(V));\n    return v;",
        "sizeof(V));\n    return v;",
        "layouts",
    ),
    Bug(
        "overlap unnoticed",
        "bindings/arrays.cpp",
        "return a.low < b.high && b.low < a.high;",
        "return a.low > b.high;",
        "out",
    ),
    Bug(
        "a batch of one that does not repeat",
        "bindings/arrays.cpp",
        "length_b == 1 ? 0 : b.strides(axis_b)",
        "axis_b < 0 ? 0 : b.strides(axis_b)",
        "shapes",
    ),
    Bug(
        "a workspace that shrinks",
        "workspace.cpp",
        "if (bytes > this->bytes()) {",
        "if (bytes != bytes_) {",
        "workspace",
    ),
    Bug(
        "a workspace for two callers at once",
        "bindings/workspace.cpp",
        "if (holder == self) throw",
        "if (holder != self) throw",
        "workspace",
    ),
    Bug(
        "a child that waits for its parent's threads",
        "threads.cpp",
        "while (!existing || existing->owner != getpid()) {",
        "while (existing && existing->busy) sched_yield();\n    while (!existing) {",
        "fork",
    ),
    Bug(
        "workers that spin on",
        "threads.cpp",
        "briefly{50}, patiently{500};",
        "briefly{1 << 30}, patiently{1 << 30};",
        "threads",
    ),
    Bug(
        "sums over logplus that underflow unseen",
        "logplus.hpp",
        "if (first_set<T>(small) >= 0) {",
        "if (first_set<T>(small) > lanes<T, V>) {",
        "logplus",
    ),
    Bug(
        "an exponential of a rounded distance",
        "log_pack.hpp",
        "exponential<T>(distance, error_of_sum(x, -shift, distance))",
        "exponential<T>(distance, V{})",
        "logplus",
    ),
    Bug(
        "a GIL that is kept",
        "bindings/call.cpp",
        "if (products < products_worth_the_gil)",
        "if (products >= 0)",
        "threads",
    ),
]


def run(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, **how)


class Workbench:
    """A copy of the sources, its build folder, and a package folder that tests import from."""

    def __init__(self, folder):
        self.tree, self.build, self.site = folder / "tree", folder / "build", folder / "site"
        for part in ("cpp", "cmake", "src"):
            shutil.copytree(ROOT / part, self.tree / part)
        cmake = (ROOT / "CMakeLists.txt").read_text()
        fewer = cmake.replace("(x86_64|AMD64|amd64)", "(none)").replace("-O3 -ffp", "-O1 -ffp")
        assert fewer != cmake
        (self.tree / "CMakeLists.txt").write_text(fewer)
        shutil.copytree(ROOT / "src" / "tropical", self.site / "tropical")
        for stale in (self.site / "tropical").glob("_core*.so"):
            stale.unlink()
        pybind11 = run(sys.executable, "-m", "pybind11", "--cmakedir").stdout.strip()
        configured = run(
            "cmake",
            "-G",
            "Ninja",
            "-S",
            self.tree,
            "-B",
            self.build,
            f"-Dpybind11_DIR={pybind11}",
            f"-DPython_EXECUTABLE={sys.executable}",
        )
        assert configured.returncode == 0, configured.stdout + configured.stderr

    def make(self):
        made = run("cmake", "--build", self.build, "--target", "_core", "--parallel", "2")
        assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
        (extension,) = self.build.glob("_core*.so")
        shutil.copy(extension, self.site / "tropical")

    def passes(self, *arguments):
        """Whether these tests pass on what was made last; it must be what they import."""
        env = {**os.environ, "PYTHONPATH": str(self.site), "TROPICAL_TEST_ISAS": "baseline"}
        where = run(sys.executable, "-c", "import tropical; print(tropical.__file__)", env=env)
        assert Path(where.stdout.strip()).is_relative_to(self.site), where.stdout + where.stderr
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
        tested = run(*command, env=env, cwd=ROOT, timeout=600)
        assert "no tests ran" not in tested.stdout, tested.stdout
        return tested.returncode == 0


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    pytest.importorskip("pybind11")
    if not (shutil.which("cmake") and shutil.which("ninja") and (ROOT / "cpp").is_dir()):
        pytest.skip("needs CMake, Ninja and the sources")
    bench = Workbench(tmp_path_factory.mktemp("seeded"))
    bench.make()
    return bench


def test_patches_apply():
    """Each names one place in today's sources; checked in every run."""
    if not (ROOT / "cpp").is_dir():
        pytest.skip("needs the sources")
    found = {bug.name: (ROOT / "cpp" / bug.file).read_text().count(bug.old) for bug in BUGS}
    assert all(count == 1 for count in found.values()), {n: c for n, c in found.items() if c != 1}


@pytest.mark.seeded
@pytest.mark.parametrize("tests", sorted({bug.tests for bug in BUGS}))
def test_without_a_bug(workbench, tests):
    """The copy as it is passes, so that what follows is caught for its bug alone."""
    assert workbench.passes(f"tests/test_{tests}.py")


@pytest.mark.seeded
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_caught(workbench, bug):
    path = workbench.tree / "cpp" / bug.file
    right = path.read_text()
    assert right.count(bug.old) == 1
    path.write_text(right.replace(bug.old, bug.new))
    try:
        workbench.make()
        assert not workbench.passes(f"tests/test_{bug.tests}.py")
    finally:
        path.write_text(right)
