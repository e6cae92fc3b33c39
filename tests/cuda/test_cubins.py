"""Machine code for NVIDIA's GPUs: no register is spilled, and the main loops do little but compute.

Compiled by NVRTC and disassembled by nvdisasm, without a GPU. `pytest -s` shows the mix.
"""

import math
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tropical import cuda, semirings
from tropical.cuda import kernels, runtime

pytestmark = pytest.mark.cubins
ARCHITECTURES = (80, 89, 90, 100, 120)
PAIRS = [(ring, dtype) for ring in semirings.ALL for dtype in (*ring.dtypes, *ring.stored)]
# Of each architecture others, and of all a fifteenth: TROPICAL_TEST_EVERY=1 runs each once.
STEP = len(ARCHITECTURES) * int(os.environ.get("TROPICAL_TEST_EVERY", "15"))
SHARES = {arch: PAIRS[i::STEP] for i, arch in enumerate(ARCHITECTURES)}
LABEL = re.compile(r"^(\.L_x_\d+):")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?);")
BRANCH = re.compile(r"\bBRA.*`\((\.L_x_\d+)\)")
SPILL = re.compile(r"\b(?:STL|LDL)\b")


def nvdisasm():
    """Return the path of the program, which NVIDIA's wheel puts beside the packages."""
    nvidia = pytest.importorskip("nvidia")
    found = [p for folder in nvidia.__path__ for p in Path(folder).glob("*/bin/nvdisasm")]
    program = str(found[0]) if found else shutil.which("nvdisasm")
    if program is None:
        pytest.skip("needs nvdisasm")
    return program


def disassembled(kernel, architecture, folder):
    """Return the lines of a kernel's machine code."""
    pytest.importorskip("cuda.core")
    path = folder / "kernel.cubin"
    path.write_bytes(runtime.cubin(kernel, architecture, keep=False))
    command = [nvdisasm(), "-c", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def operation(instruction):
    return re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0].partition(".")[0]


def loops(lines):
    """Yield what each loop does: the count of each operation."""
    labels, instructions = {}, []
    for line in lines:
        if found := LABEL.match(line.strip()):
            labels[found[1]] = len(instructions)
        if found := INSTRUCTION.search(line):
            instructions.append(found[1])
    for end, text in enumerate(instructions):
        branch = BRANCH.search(text)
        if branch and labels.get(branch[1], len(instructions)) <= end:
            yield Counter(map(operation, instructions[labels[branch[1]] : end + 1]))


@pytest.mark.parametrize(
    "architecture,ring,dtype",
    [(arch, *pair) for arch, pairs in SHARES.items() for pair in pairs],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_no_spill(tmp_path, architecture, ring, dtype):
    for winner in ("none", "index")[: 1 + ring.selective]:
        shapes = kernels.shapes_of(ring, dtype, winner == "index", architecture)
        pairs = [(shape, kernels.SCATTERED) for shape in shapes]
        pairs += [(shape, kernels.ROW_MAJOR) for shape in shapes[:-1]]  # see products.py
        for shape, reads in pairs:
            kernel = kernels.product(ring, dtype, winner, shape, reads)
            lines = disassembled(kernel, architecture, tmp_path)
            assert len(lines) > 100
            assert not list(filter(SPILL.search, lines)), kernel.call


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_other_kernels(tmp_path, architecture):
    some = [kernels.viterbi(semirings.maxplus, "float64")]
    for ring, dtype in ((semirings.minplus, "float32"), (semirings.maxplus, "int64")):
        for paths in (False, True):
            shape = kernels.square_shape(ring, dtype, paths, architecture)
            winner = "predecessor" if paths else "none"
            some.append(kernels.star(ring, dtype, paths))
            some.append(kernels.product(ring, dtype, winner, shape, kernels.ROW_MAJOR))
        some.append(kernels.rows(ring, dtype))
    for kernel in some:
        lines = disassembled(kernel, architecture, tmp_path)
        assert not list(filter(SPILL.search, lines)), kernel.call


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_infinities_of_the_user(dtype):
    pytest.importorskip("cuda.core")
    for zero in ("-INFINITY", -math.inf, math.nan):
        ring = cuda.semiring("x > y ? x : y", "x + y", zero)
        shape = kernels.shapes_of(ring, dtype, False, 90)[0]
        kernel = kernels.product(ring, dtype, "none", shape, kernels.SCATTERED)
        assert runtime.cubin(kernel, 90, keep=False)


def test_kept_code(monkeypatch, tmp_path):
    pytest.importorskip("cuda.core")
    kernel = kernels.viterbi(semirings.maxplus, "float32")
    monkeypatch.setattr(runtime, "_store", runtime._store.__wrapped__)
    monkeypatch.setenv("TROPICAL_CUDA_CACHE", str(tmp_path / "kept"))
    code = runtime.cubin(kernel, 90)
    with monkeypatch.context() as patched:
        patched.setattr(runtime, "_compiled", None)
        assert runtime.cubin(kernel, 90) == code
    for path in filter(Path.is_file, (tmp_path / "kept").rglob("*")):
        path.write_bytes(b"")
    assert runtime.cubin(kernel, 90) == code
    (tmp_path / "file").touch()
    monkeypatch.setenv("TROPICAL_CUDA_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="TROPICAL_CUDA_CACHE"):
        assert runtime.cubin(kernel, 90) == code


# What of a main loop is (+) and (x), where rows lie side by side.
MIXES = [
    ("maxplus", "float32", 80, ("FADD", "FMNMX"), 0.92),
    ("maxplus", "float32", 90, ("FADD", "FMNMX"), 0.92),
    ("plustimes", "float32", 90, ("FFMA",), 0.9),
    ("maxplus", "int32", 90, ("VIADDMNMX",), 0.87),
    ("minplus", "int16", 90, ("VIADDMNMX",), 0.83),
]


@pytest.mark.parametrize("name,dtype,architecture,useful,least", MIXES)
def test_main_loop(tmp_path, name, dtype, architecture, useful, least):
    ring = semirings.get(name)
    shape = kernels.shapes_of(ring, dtype, False, architecture)[0]
    kernel = kernels.product(ring, dtype, "none", shape, kernels.ROW_MAJOR)
    mix = max(
        loops(disassembled(kernel, architecture, tmp_path)),
        key=lambda mix: (min(mix[one] for one in useful), mix.total()),
    )
    work = 2 * shape.rows * shape.columns * shape.depth * len(useful)  # of two turns
    share = work / mix.total()
    print(f"\n{name} {dtype} sm_{architecture}: {share:.3f} of {mix.total()}", dict(mix))
    assert all(mix[one] >= work / len(useful) for one in useful)
    assert share >= least


@pytest.mark.parametrize("name,dtype,architecture,useful,_", MIXES)
def test_ceiling(tmp_path, name, dtype, architecture, useful, _):
    """Its loop does each step, and hardly anything else."""
    ring = semirings.get(name)
    kernel, products = kernels.ceiling(ring, dtype, architecture)
    mix = max(loops(disassembled(kernel, architecture, tmp_path)), key=Counter.total)
    steps = products / kernels.lanes_of(ring, dtype, False, architecture)
    print(f"\n{name} {dtype} sm_{architecture}: {dict(mix)}")
    assert all(mix[one] == steps for one in useful)
    assert mix.total() <= 1.02 * steps * len(useful)
