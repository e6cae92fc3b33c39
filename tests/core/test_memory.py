"""Failed allocations, steady state, reference counts, leaks."""

import contextlib
import os
import shutil
import sys

import numpy as np
import pytest
from support import SANITIZED, TESTS, run_command, run_python, values

import tropical

COMPILER = shutil.which("c++")
LINUX = sys.platform.startswith("linux")


@pytest.fixture(scope="session")
def preload(tmp_path_factory):
    """The path of the library that counts and fails allocations."""
    if not LINUX or COMPILER is None or SANITIZED:
        pytest.skip("needs Linux, a C++ compiler and an allocator that is not a sanitizer's")
    library = tmp_path_factory.mktemp("allocations") / "allocations.so"
    source = TESTS / "native" / "allocations.cpp"
    run_command(
        COMPILER, "-std=c++17", "-O1", "-shared", "-fPIC", "-o", library, source, check=True
    )
    env = {**os.environ, "LD_PRELOAD": str(library)}
    if run_command(sys.executable, "-c", "", env=env).returncode:
        pytest.skip("this C library's allocator cannot be replaced")
    return str(library)


CASES = """
import itertools, os, signal, numpy as np, tropical, allocations
mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
a = (np.arange(120 * 150).reshape(120, 150) % 11).astype(np.float32)
b = (np.arange(150 * 90).reshape(150, 90) % 13).astype(np.float32)
want = (a[:, :, None] + b[None]).max(axis=1)
kernels = (None, "naive", "tiled", "direct", "packed")
cases = [dict(kernel=k, threads=t) for k, t in itertools.product(kernels, (1, 2, 3))]
cases += [dict(case, return_argmax=True) for case in cases]
"""


@pytest.mark.parametrize("workspace", [False, True])
def test_the_nth_allocation_fails(preload, workspace):
    """For every n until none fails: MemoryError and `out` unchanged, or the right result."""
    run_python(
        CASES
        + f"""
errors = 0
for how in cases:
    for again in range(2):  # cold, then warm
        kept = dict(how, workspace=tropical.GemmWorkspace()) if {workspace} else how
        out, fresh = np.zeros_like(want), []
        def check(refused):
            assert np.array_equal(out, 0 * want if refused else want), (how, refused)
            out[...] = 0
        errors += allocations.failures(lambda: tropical.gemm(a, b, out=out, **kept), check)
        def check(refused):
            assert refused == (not fresh)
            got = None if refused else fresh.pop()
            assert refused or np.array_equal(got[0] if isinstance(got, tuple) else got, want), how
        errors += allocations.failures(lambda: fresh.append(tropical.gemm(a, b, **kept)), check)
assert errors > 0, "no allocation was met"
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask, "left with signals blocked"
large = np.ones((900, 900), np.float32)
assert tropical.explain(900, 900, 900, threads=3).threads == 3
assert (tropical.gemm(large, large, threads=3) == 2).all()
assert len(os.listdir("/proc/self/task")) == 3, "no workers for threads=3 after a failure"
""",
        LD_PRELOAD=preload,
        timeout=120,
    )


def test_what_is_computed_again_or_in_blocks_needs_no_later_memory(preload):
    run_python(
        """
import numpy as np, tropical, allocations
late = np.ones((401, 403), np.float32)
late[300, 400] = np.inf
half = np.ones((100, 4000), np.float16)
for a, b, how in (
    (late, late.T, dict(semiring="plustimes", kernel="strassen", threads=2)),
    (half, half.T, dict(return_argmax=True)),
):
    c = np.zeros((len(a), len(a)), a.dtype)
    index = np.zeros(c.shape, np.intp)
    out = (c, index) if how.get("return_argmax") else c
    def check(refused):
        assert not refused or (not c.any() and not index.any()), how
        c[...] = index[...] = 0
    for _ in range(2):
        kept = dict(how, workspace=tropical.GemmWorkspace())
        allocations.failures(lambda: tropical.gemm(a, b, out=out, **kept), check)
    tropical.gemm(a, b, out=out, **how)
    assert c.all(), how
""",
        LD_PRELOAD=preload,
        timeout=120,
    )


def test_allocations_fail_elsewhere_too(preload):
    """Workspaces, batches, NaN, large integers, errors on the way, many dimensions."""
    run_python(
        CASES
        + """
x = np.full((40, 40), 2**31 - 5, np.int32); nan = a.copy(); nan[3, 4] = np.nan
batch = np.ones((3, 1, 2, 30, 40)), np.ones((4, 1, 40, 20))
# pybind11 does not survive a failed allocation while it makes an object, so these are made before.
spare = [tropical.GemmWorkspace() for _ in range(200)]
maxplus = tropical.ufunc.maxplus
def reserve():
    spare.pop().reserve(700, 700, 700, threads=2)
def growing():
    workspace = spare.pop()
    for n in (10, 100, 120):
        tropical.gemm(a[:n], b, workspace=workspace, kernel="packed", threads=2)
def refused():
    try:
        tropical.gemm(a, a)
    except ValueError:
        pass
for call in (
    reserve, growing, refused,
    lambda: tropical.gemm(x, x), lambda: tropical.gemm(x, x, semiring="minplus", threads=2),
    lambda: tropical.gemm(nan, b), lambda: tropical.gemm(nan, b, return_argmax=True, threads=2),
    lambda: tropical.gemm(*batch, threads=2), lambda: tropical.gemm(a[:1], b),
    lambda: tropical.gemm(a[:, ::-2], b[1::2].T.copy().T), lambda: tropical.explain(900, 900, 900),
    lambda: tropical._core.semirings(), lambda: tropical.config.config(),
    lambda: maxplus(a, b), lambda: maxplus(*batch), lambda: maxplus(b[:3], b[:90]),
):
    allocations.failures(call)
assert (tropical.gemm(a, b, threads=2) == want).all()
""",
        LD_PRELOAD=preload,
    )


GRAPH = """
import numpy as np, allocations
from numpy._core import _multiarray_umath as numpy_core
from tropical import _core
n = 5000
start, target = np.arange(n + 1, dtype=np.int32), np.roll(np.arange(n), -1)
def ring():
    return _core.Elimination(n, np.arange(n), target, None, 10**9, None, 10**9, 1e-9)
"""


def test_an_object_is_not_made(preload):
    """An allocation fails before __init__ has its arguments."""
    run_python(
        GRAPH
        + """
for at in (1, 2, 3):
    allocations.library().fail_nth(at)
    try:
        ring()
        raise AssertionError("not met")
    except MemoryError:
        allocations.library().fail_nth(0)
assert ring().entries == 2 * n - 3
""",
        LD_PRELOAD=preload,
    )


def test_numpy_has_no_memory_for_an_array(preload):
    """Arguments that NumPy converts, and results: MemoryError, not a TypeError about the types."""
    run_python(
        GRAPH
        + """
allocations.watch(numpy_core)
made, sums = ring(), np.zeros(n)
labels, x = np.zeros(n, np.uint8), np.zeros((n, 3), np.float32)
arcs = _core.Search(start, target.astype(np.int32), sums + 1)
for call in (
    arcs.components,
    ring, lambda: made.order, lambda: made.parent, lambda: made.start, lambda: made.edge_entries,
    lambda: made.edges_between(target, target, True),
    lambda: _core.betweenness(start, target, None, np.arange(3), True, sums, None),
    lambda: _core.cross_entropy(x, labels),
):
    assert allocations.failures(call) > 0
""",
        LD_PRELOAD=preload,
    )


def test_float16_in_several_blocks(preload):
    """A failed allocation leaves `out` as it was; later calls allocate nothing."""
    run_python(
        CASES
        + """
a, b = (np.resize(x, shape).astype("f2") for x, shape in ((a, (1100, 40)), (b, (40, 1050))))
want, out = (a[:, :, None] + b).max(axis=1), np.zeros((1100, 1050), "f2")
spare = [tropical.GemmWorkspace() for _ in range(100)]
def check(refused):
    assert np.array_equal(out, 0 * want if refused else want)
    out[...] = 0
for threads in (1, 2):
    def call():
        tropical.gemm(a, b, out=out, workspace=spare.pop(), threads=threads)
    assert allocations.failures(call, check) > 0
    def again():
        tropical.gemm(a, b, out=out, workspace=spare[0], threads=threads)
    again()
    assert allocations.count(again) == 0
    out[...] = 0
""",
        LD_PRELOAD=preload,
    )


@pytest.mark.parametrize("workspace", [False, True])
def test_steady_state_allocates_nothing(preload, workspace):
    run_python(
        CASES
        + f"""
workspace = tropical.GemmWorkspace() if {workspace} else None
out = np.empty_like(want)
big = np.ones((400, 400), np.float32)
tropical.gemm(big, big, workspace=workspace, threads=3)  # what follows fits in what this one made
new = tropical.GemmWorkspace()
assert allocations.count(lambda: tropical.gemm(a, b, workspace=new, kernel="packed")) > 0
for how in cases:
    def call():
        tropical.gemm(a, b, out=out, workspace=workspace, **how)
    for _ in range(3): call()
    counts = [allocations.count(call) for _ in range(5)]
    if not how.get("return_argmax"):  # whose index array is new
        assert counts == [0] * 5, (how, counts)
    assert len(set(counts)) == 1, (how, counts)
""",
        LD_PRELOAD=preload,
    )


@pytest.mark.skipif(not LINUX or SANITIZED, reason="limits the address space")
def test_a_worker_without_memory():
    """The process goes on: glibc ends it if a thread has no memory for its first exception."""
    run_python("""
        import os, resource
        import numpy as np, scipy.sparse as sp, tropical
        from pathlib import Path
        rng = np.random.default_rng(0)
        graph = sp.random_array((324, 324), density=0.012, rng=rng, format="csr")
        def search():
            tropical.graph.shortest_paths(
                graph, method="J", return_predecessors=True, indices=range(0, 324, 7)
            )
        def child():
            tropical.set_num_threads(2)
            search()
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), -1))
            try:
                search()
            except MemoryError:
                pass
            os._exit(0)
        for _ in range(24):
            pid = os.fork() or child()
            assert os.waitpid(pid, 0)[1] == 0
    """)


def calls():
    """(name, call): what a program may do over and over, errors included."""
    a, b = values((30, 40), "float32", 1), values((40, 50), "float32", 2)
    out, workspace = np.empty((30, 50), np.float32), tropical.GemmWorkspace()
    x, y = values((3, 1, 4, 5), "int64", 3), values((2, 5, 6), "int64", 4)
    gemm = tropical.gemm
    yield "gemm", lambda: gemm(a, b)
    yield "promoted", lambda: gemm(a, b.astype(np.float64))
    yield "lists", lambda: gemm([[1, 2]], [[3], [4]])
    yield "swapped", lambda: gemm(a.astype(">f4"), b)
    minplus = tropical.semirings.minplus
    yield "out", lambda: gemm(a, b, out=out, workspace=workspace, semiring=minplus)
    yield "argmax", lambda: gemm(a, b, return_argmax=True)
    yield "batch", lambda: gemm(x, y, threads=2)
    yield "shapes", lambda: gemm(a, a)
    yield "semiring", lambda: gemm(a, b, semiring="none")
    yield "dtype", lambda: gemm(a.astype(complex), b)
    yield "out shape", lambda: gemm(a, b, out=a)
    yield "workspace", lambda: tropical.GemmWorkspace().reserve(50, 50, 50)
    yield "explain", lambda: tropical.explain(30, 40, 50)
    yield "config", lambda: tropical.config.config()
    yield "semirings", lambda: tropical._core.semirings()


@pytest.mark.parametrize("name,call", list(calls()), ids=lambda x: x if isinstance(x, str) else "")
def test_reference_counts(name, call):
    """No object that a call meets is kept or dropped once too often."""
    watched = [np.dtype(t) for t in ("float32", "float64", "int64", "intp", ">f4", "complex64")]
    watched += [cell.cell_contents for cell in call.__closure__ or ()]
    watched += [tropical.semirings.minplus, tropical.GemmWorkspace, (), np.ndarray]

    def repeat(times):
        for _ in range(times):
            with contextlib.suppress(ValueError, TypeError):
                call()

    repeat(3)
    before = [sys.getrefcount(x) for x in watched]
    repeat(200)
    after = [sys.getrefcount(x) for x in watched]
    changed = [
        (x, n - m) for x, m, n in zip(watched, before, after, strict=True) if abs(n - m) > 20
    ]
    assert not changed, (name, changed)


def test_the_result_owns_its_memory():
    a, b = values((30, 40), "float32", 1), values((40, 50), "float32", 2)
    c, index = tropical.gemm(a, b, return_argmax=True)
    kept = c.copy(), index.copy()
    del a, b
    x, y = np.ones((30, 40), np.float32), np.ones((40, 50), np.float32)
    for _ in range(5):
        tropical.gemm(x, y, return_argmax=True)
    assert np.array_equal(c, kept[0]) and np.array_equal(index, kept[1])
    for x in (c, index):
        assert x.flags.carray and type(x) is np.ndarray  # aligned, in C order, writeable


@pytest.mark.skipif(not LINUX or SANITIZED, reason="reads /proc; sanitizers keep freed memory")
def test_memory_stays_bounded():
    """Thousands of calls of every kind, results dropped: the process does not grow."""
    run_python("""
        import numpy as np, tropical
        from test_memory import calls
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        kinds = [call for _, call in calls()]
        def repeat(times):
            for _ in range(times):
                for call in kinds:
                    try: call()
                    except (ValueError, TypeError): pass
        repeat(100)
        before = rss()
        repeat(1000)
        assert rss() - before < 2 << 20, rss() - before
        big = np.ones((1500, 1500), np.float32)
        for _ in range(3): tropical.gemm(big, big, threads=2)
        before = rss()
        for _ in range(10): tropical.gemm(big, big, threads=2)
        assert rss() - before < 4 << 20, rss() - before
    """)
