"""The suite can fail: each of these bugs, put into a copy of the sources, is caught by it.

`-m seeded` builds the baseline instruction set once for each bug: half an hour for all of them.
TROPICAL_SEEDED_BUGS=2 takes two of them; every change in cpp/ leads to another two.
A patch whose text is no longer found fails too: then write the same bug into the new code.
"""

import os
import re
import shutil
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest
from support import run_command

ROOT = Path(__file__).parents[2]


class Bug(NamedTuple):
    """`old` (found once in cpp/`file`) replaced by `new`; the test file `tests` must notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str


def file_of(name):
    (path,) = (ROOT / "tests").rglob(f"test_{name}.py")
    return str(path)


# The test file that must notice; the file in cpp/; what is wrong; the lines taken out and put in.
PATCHES = """\
exact: kernels/micro_kernel.hpp: a dropped last step of k
- for (ptrdiff_t p = 0; p < k; ++p) {
+ for (ptrdiff_t p = 0; p + 1 < k; ++p) {
special_values: kernels/scan.hpp: a NaN lost in the tail of a row
- if (whole < length)
+ if (whole + 1 < length)
layouts: kernels/lines.hpp: every second element, from the wrong one in the upper half
- 2 * J + 1
+ 2 * J
layouts: kernels/lines.hpp: the last of some elements backward
- done * stride, count -= done
+ done * Size, count -= done
tiny_batches: kernels/item_lines.hpp: the last square of elements of tiny items
- const ptrdiff_t from = e < run.length - side ? e : run.length - side;
+ const ptrdiff_t from = e;
special_values: kernels/pack.hpp: a NaN lost in a single micro-panel
- : pack_columns<Moved, Bytes, W>(g);
+ : (pack_columns<Moved, Bytes, W>(g) && g.length > W);
argmax: semiring.hpp: the last index on ties
- return term > sum;
+ return term >= sum;
argmax: kernels/scan.hpp: the last NaN's index
- if (nan.first[line] != no_nan) return;
+ if (nan.first[line] != no_nan && nan.first[line] >= p) return;
special_values: gemm.cpp: NaN of a panel marked in the first panel's columns
- .line = jc,
+ .line = 0,
argmax: gemm.cpp: indices of a part of k counted from another's start
- part * run.plan.partition.part_k);
+ (part - 1) * run.plan.partition.part_k);
saturation: kernels/codec.hpp: integers that wrap
- static_cast<T>((quarter - 2) / 3)
+ static_cast<T>(quarter - 2)
saturation: gemm.cpp: integers beyond the bound never met again
- && plan.fallback != Fallback::none)
+ && plan.blocks.kc < 0)
saturation: gemm.cpp: integers that packing does not cover either
- if (!execute(problem, packed_fallback(problem, plan), workspace, stop_requested))
+ if (execute(problem, packed_fallback(problem, plan), workspace, stop_requested) || true)
argmax: kernels/indices.hpp: an argmax in the first segment of a later block
- (where >= 0,
+ (where > 0,
saturation: kernels/codec.hpp: a sentinel that is not turned back
- v < broadcast<V>(static_cast<T>(-2 * D))
+ v < broadcast<V>(static_cast<T>(-3 * D))
special_values: kernels/codec.hpp: results of -0
- return v + V{};
+ return v;
exact: gemm.cpp: a block of k that overwrites the one before
- p.accumulate || pc > 0
+ p.accumulate
linear: kernels/tile.hpp: a bias that is added again in the next block of k
- R::fuses && !from_c ? start : c;
+ R::fuses && start.view.data ? start : c;
linear: gemm.cpp: relu between two blocks of k
- last ? p.epilogue.activation : Activation::none
+ p.epilogue.activation
linear: kernels/direct.hpp: relu between two blocks of k, unpacked
- last ? g.epilogue.activation : Activation::none
+ g.epilogue.activation
linear: kernels/tile.hpp: a NaN that relu drops
- floor > value ? floor : value
+ value > floor ? value : floor
exact: kernels/bits.hpp: a group of bits dropped
- pg < g.k; pg += steps_per_group
+ pg + steps_per_group <= g.k; pg += steps_per_group
special_values: kernels/dots.hpp: a NaN lost between a matrix and a vector
- noticed |= here;
+ noticed |= here & Mask<V>{};
shapes: gemm.cpp: a batch in rows that walks over its neighbours
- p.m == 1 || stride == p.m * row_stride
+ p.m == 1 || stride >= p.m * row_stride
special_values: runtime/float_environment.cpp: the caller's rounding mode not restored
- if (_mm_getcsr() != saved_)
+ if (false)
special_values: runtime/float_environment.cpp: subnormals flushed as the caller does
- _mm_setcsr(wanted);
+ ;
layouts: kernels/vec.hpp: loads past the end of an operand
- load_words<Register<std::uint64_t, sizeof(V)>>(source, bytes)
+ load_words<Register<std::uint64_t, sizeof(V)>>(source, sizeof(V))
overlap: bindings/arrays.cpp: overlap unnoticed
- return a.low < b.high && b.low < a.high && !are_apart(x, y)
+ return a.low > b.high && !are_apart(x, y)
shapes: bindings/shapes.cpp: a batch of one that does not repeat
- length_b == 1 ? 0 : b.strides(axis_b)
+ axis_b < 0 ? 0 : b.strides(axis_b)
workspace: runtime/workspace.cpp: a workspace that shrinks
- if (bytes > bytes_.load(std::memory_order_relaxed)) {
+ if (bytes != bytes_.load(std::memory_order_relaxed)) {
workspace: bindings/workspace.cpp: a workspace for two callers at once
- if (holder == self) throw
+ if (holder != self) throw
fork: runtime/pool.cpp: a child that waits for its parent's threads
- while (!existing || existing->owner != process_id()) {
+ while (existing && existing->busy) std::this_thread::yield();
+     while (!existing) {
threads: runtime/pool.cpp: workers that spin on
- briefly{50}, patiently{500};
+ briefly{1 << 30}, patiently{1 << 30};
logplus: kernels/logplus.hpp: sums over logplus that underflow unseen
- lane >= 0 && lane < count
+ lane > lanes<T, V>
logplus: kernels/log_pack.hpp: an exponential of a rounded distance
- exponential<T>(distance, error_of_sum(x, -shift, distance))
+ exponential<T>(distance, V{})
threads: bindings/call.cpp: a GIL that is kept
- if (products < products_worth_the_gil)
+ if (products >= 0)
"""


def bugs():
    """The bugs of PATCHES, each a line without a sign and the signed lines below it."""
    for patch in re.split(r"\n(?![-+] )", PATCHES.rstrip("\n")):
        heading, *lines = patch.split("\n")
        tests, file, name = heading.split(": ", 2)
        old, new = ("\n".join(x[2:] for x in lines if x[0] == sign) for sign in "-+")
        yield Bug(name, file, old, new, tests)


BUGS = list(bugs())


def chosen():
    """All bugs, or as many as TROPICAL_SEEDED_BUGS says, from one on that the sources choose."""
    count = int(os.environ.get("TROPICAL_SEEDED_BUGS", len(BUGS)))
    sources = sorted(path for path in (ROOT / "cpp").rglob("*.?pp") if path.is_file())
    first = zlib.crc32(b"".join(path.read_bytes() for path in sources))
    return [BUGS[(first + i) % len(BUGS)] for i in range(count)]


class Workbench:
    """A copy of the sources, its build folder, and a package folder that tests import from."""

    def __init__(self, folder):
        self.tree, self.build, self.site = folder / "tree", folder / "build", folder / "site"
        for part in ("cpp", "cmake", "src"):
            shutil.copytree(ROOT / part, self.tree / part)
        shutil.copy(ROOT / "CMakeLists.txt", self.tree)
        shutil.copytree(ROOT / "src" / "tropical", self.site / "tropical")
        for stale in (self.site / "tropical").glob("_core*.so"):
            stale.unlink()
        pybind11 = run_command(sys.executable, "-m", "pybind11", "--cmakedir").stdout.strip()
        definitions = {
            "TROPICAL_ISAS": "baseline",
            "TROPICAL_KERNEL_OPTIMIZATION": "-O1",
            "pybind11_DIR": pybind11,
            "Python_EXECUTABLE": sys.executable,
        }
        options = [f"-D{name}={value}" for name, value in definitions.items()]
        folders = "-S", self.tree, "-B", self.build
        configured = run_command("cmake", "-G", "Ninja", *folders, *options)
        assert configured.returncode == 0, configured.stdout + configured.stderr

    def make(self):
        made = run_command("cmake", "--build", self.build, "--target", "_core", "--parallel", "2")
        assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
        (extension,) = self.build.glob("_core*.so")
        shutil.copy(extension, self.site / "tropical")

    def passes(self, *arguments):
        """Whether these tests pass on what was made last; it must be what they import."""
        env = {**os.environ, "PYTHONPATH": str(self.site), "TROPICAL_TEST_ISAS": "baseline"}
        where = run_command(
            sys.executable, "-c", "import tropical; print(tropical.__file__)", env=env
        )
        assert Path(where.stdout.strip()).is_relative_to(self.site), where.stdout + where.stderr
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
        tested = run_command(*command, env=env, cwd=ROOT, timeout=600)
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
@pytest.mark.parametrize("tests", sorted({bug.tests for bug in chosen()}))
def test_without_a_bug(workbench, tests):
    """The copy as it is passes, so that what follows is caught for its bug alone."""
    assert workbench.passes(file_of(tests))


@pytest.mark.seeded
@pytest.mark.parametrize("bug", chosen(), ids=lambda bug: bug.name)
def test_caught(workbench, bug):
    path = workbench.tree / "cpp" / bug.file
    right = path.read_text()
    assert right.count(bug.old) == 1
    path.write_text(right.replace(bug.old, bug.new))
    try:
        workbench.make()
        assert not workbench.passes(file_of(bug.tests))
    finally:
        path.write_text(right)
