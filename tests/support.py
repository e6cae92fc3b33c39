"""What the tests share: operands made by integer arithmetic, bit comparison, subprocesses."""

import contextlib
import functools
import importlib.util
import itertools
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import oracle
import pytest

import tropical
from tropical import _core

# Of two bytes an element, in which matrices are stored.
STORED_DTYPES = [np.dtype("float16")]
if importlib.util.find_spec("ml_dtypes"):
    import ml_dtypes

    STORED_DTYPES.append(np.dtype(ml_dtypes.bfloat16))

TESTS = Path(__file__).parent
KERNELS = ("naive", "tiled", "direct", "packed")
THREADS = (1, 2, 3, 7)


def is_integer(dtype):
    return np.dtype(dtype).kind in "iu"


INSTANCES = [(s["name"], dtype) for s in _core.semirings() for dtype in s["dtypes"]]
ROUNDING_SEMIRINGS = [s["name"] for s in _core.semirings() if not s["exact"]]
EXACT = [i for i in INSTANCES if i[0] not in ROUNDING_SEMIRINGS or is_integer(i[1])]
FLOATS = [i for i in INSTANCES if i[1].startswith("float")]
INTEGERS = [i for i in INSTANCES if is_integer(i[1])]
TROPICAL_FLOATS = [i for i in FLOATS if i in EXACT]
ROUNDING = [i for i in FLOATS if i[0] == "plustimes"]
LOGPLUS = [i for i in FLOATS if i[0] == "logplus"]
SELECTIVE = [
    (s["name"], dtype) for s in _core.semirings() if s["selective"] for dtype in s["dtypes"]
]
FEW = [("maxplus", "float32"), ("minplus", "int8"), ("minmax", "float64"), ("orand", "bool")]
# Matrices, vectors, batches that broadcast, empties.
MATMUL_SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((4, 1, 2, 3), (5, 3, 4)),
    ((4, 5, 2, 3), (4, 1, 3, 4)),
    ((2, 1, 3, 1, 2, 3), (1, 2, 1, 5, 3, 4)),
    ((0, 2, 3), (3, 4)),
    ((0, 2, 3), (1, 3, 4)),
    ((5, 0, 3), (3, 4)),
    ((5, 2, 0), (5, 0, 4)),
    ((5, 2, 3), (3, 0)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((0, 0), (0, 0)),
    ((0,), (0,)),
    ((0,), (0, 4)),
    ((2, 0), (0,)),
    ((1,), (1,)),
]
# The optimizers' names and options that are compared with formulas and with PyTorch's.
OPTIMIZERS: list[tuple[str, dict[str, object]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.3}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "nesterov": True, "weight_decay": 0.3}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.8), "eps": 0.01, "weight_decay": 0.3}),
    ("Adam", {"lr": 0.1, "betas": (0.2, 0.4), "eps": 0.01}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.8), "eps": 0.01, "weight_decay": 0.3}),
    ("AdamW", {"weight_decay": 0.0}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.0}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.5, "eps": 0.01, "weight_decay": 0.3}),
    ("RMSProp", {}),
    ("RMSProp", {"lr": 0.1, "alpha": 0.5, "eps": 0.01, "weight_decay": 0.3}),
    ("RMSProp", {"lr": 0.1, "alpha": 0.3, "eps": 1e-3}),
]
# What tropical.autograd exports besides operations and what is of memory.
NO_OPERATIONS = {
    *("GradientError", "GraphReleasedError", "Handle", "MemoryStats", "Tensor"),
    *("check_gradients", "checkpoint", "enable_grad", "generator", "grad", "is_grad_enabled"),
    *("no_grad", "seed", "time_products"),
}
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")  # its allocator keeps freed memory
ran: Counter[tuple[str, str]] = Counter()  # (what, which) -> checked products, for the summary


def random_bits(shape, seed):
    """uint64 of `shape`: splitmix64 of the position, the same on every platform and NumPy."""
    z = np.arange(math.prod(shape), dtype=np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).reshape(shape)


def packing_bound(dtype):
    """D: where no integer operand exceeds it, packed sums cannot wrap (DESIGN: semantics)."""
    return (2 ** (np.iinfo(dtype).bits - 2) - 2) // 3


def boundaries(dtype):
    """The values at which an integer kernel could go wrong, those of float kernels likewise."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        f = np.finfo(dtype)
        sizes = [0.0, 1.0, 1.5, f.smallest_subnormal, f.tiny, f.max, np.inf]
        return np.array([sign * x for x in sizes for sign in (1, -1)], dtype)
    i, d = np.iinfo(dtype), packing_bound(dtype)
    near = [x + e for x in (-2 * d, -d, 0, d, 2 * d) for e in (-1, 0, 1)]
    z = 2 ** (i.bits - 2)
    all_ = [i.min, i.min + 1, -z - 1, -z, *near, z - 1, z, i.max - 1, i.max]
    return np.array([x for x in all_ if x >= i.min], dtype)


def values(shape, dtype, seed=0, kind="plain"):
    """A pseudo-random array.

    kind "plain": ordinary reals, integers whose products do not overflow, a quarter of the booleans
    true; "bound": the same, but integers up to the packing bound; "ties": few distinct values;
    "edge": a quarter from `boundaries`, integers of any size; "nan": as "edge", and a NaN now and
    then (floats only).
    """
    dtype, r = np.dtype(dtype), random_bits(shape, seed)
    if dtype.kind == "b":
        return r % np.uint64(4) == 0
    if kind == "ties":
        return (r % np.uint64(7)).astype(dtype) - dtype.type(0 if dtype.kind == "u" else 3)
    if dtype.kind == "f":
        x = ((r >> np.uint64(11)).astype(np.float64) * 2.0**-45 - 128).astype(dtype)
    elif kind in ("plain", "bound"):
        d = packing_bound(dtype) if kind == "bound" else math.isqrt(np.iinfo(dtype).max)
        low = 0 if dtype.kind == "u" else -d
        x = ((r % np.uint64(d + 1 - low)).astype(np.int64) + low).astype(dtype)
    else:
        x = r.astype(dtype)
    if kind in ("edge", "nan"):
        special, choice = boundaries(dtype), random_bits(shape, seed + 1)
        x = np.where(choice % np.uint64(4) == 0, special[r % np.uint64(len(special))], x)
        if kind == "nan" and dtype.kind == "f":
            x[choice % np.uint64(64) == 1] = np.nan
    return x


def operands(m, n, k, semiring, dtype, kind="plain", seed=0):
    """a (m, k) and b (k, n) of `values`; "zeros": a quarter are the semiring's zero.

    Booleans are so rarely true that each of the k products can decide.
    """
    shapes = ((m, k), seed), ((k, n), seed + 7)
    if dtype == "bool":
        rare = np.uint64(math.isqrt(k) + 1)
        return [random_bits(shape, own) % rare == 0 for shape, own in shapes]
    pair = [
        values(shape, dtype, own, "bound" if kind == "zeros" else kind) for shape, own in shapes
    ]
    if kind == "zeros":
        for x, own in zip(pair, (seed + 2, seed + 3), strict=True):
            x[random_bits(x.shape, own) % np.uint64(4) == 0] = oracle.SEMIRINGS[semiring].zero(
                dtype
            )
    return pair


@functools.cache
def _product(*arguments):
    a, b = operands(*arguments)
    return oracle.gemm(a, b, arguments[3])


@functools.lru_cache(maxsize=256)
def example(m, n, k, semiring, dtype, kind="plain"):
    """(a, b, a (x) b) by the oracle, read-only."""
    a, b = operands(m, n, k, semiring, dtype, kind)
    c = _product(m, n, k, semiring, dtype, kind)
    for x in (a, b, c):
        x.flags.writeable = False
    return a, b, c


def remainders(semiring, dtype, **how):
    """(rows, columns, shapes): up to 2 MR + 1 rows, 2 NR + 1 columns, with a few of the other."""
    plan = tropical.explain(500, 500, 500, dtype=dtype, semiring=semiring, **how)
    rows, cols = 2 * plan.mr + 1, 2 * plan.nr + 1
    shapes = {*itertools.product((1, plan.mr, rows), range(1, cols + 1))}
    shapes |= {*itertools.product(range(1, rows + 1), (1, plan.nr, plan.nr + 1, cols))}
    return rows, cols, sorted(shapes)


def pairs(x):
    """Operands whose products are every pair of `x`; then operands with every pair in a row."""
    yield x[:, None], x[None, :]
    first, second = np.meshgrid(x, x)
    yield np.stack([first.ravel(), second.ravel()], 1), np.stack([x, x[::-1]])


def assert_same_bits(got, want, *note):
    """`got` is an array with the dtype, shape and bits of `want`; else fails, showing `note`."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), note
    if got.tobytes() != want.tobytes():
        raw = f"V{want.dtype.itemsize}"
        g, w = np.ascontiguousarray(got), np.ascontiguousarray(want)
        wrong = np.argwhere(np.atleast_1d(g.view(raw) != w.view(raw)))
        at = tuple(wrong[0]) if want.ndim else ()
        first = f"first at {at}: {got[at]!r}, not {want[at]!r}"
        raise AssertionError(f"{len(wrong)} of {want.size} differ, {first}; {note}")


def assert_all_same_bits(got, want, *note):
    """As `assert_same_bits`, of one array after another."""
    for one, other in zip(got, want, strict=True):
        assert_same_bits(one, other, *note)


def assert_states_equal(got, want):
    """Two states have the same names, in order, and the same bits."""
    assert list(got) == list(want)
    for name, array in want.items():
        assert_same_bits(got[name], array, name)


@contextlib.contextmanager
def unchanged(*owners):
    """The state of each owner after the block is that before it."""
    before = [{name: x.copy() for name, x in owner.state_dict().items()} for owner in owners]
    yield
    for owner, state in zip(owners, before, strict=True):
        assert_states_equal(owner.state_dict(), state)


def check(a, b, semiring, want, **how):
    """tropical.gemm(a, b, semiring=semiring, **how) has the bits of `want`; returns it."""
    got = tropical.gemm(a, b, semiring=semiring, **how)
    assert_same_bits(got, want, semiring, np.shape(a), np.shape(b), how)
    ran["kernel", how.get("kernel") or "chosen"] += 1
    ran["threads", str(how.get("threads") or "default")] += 1
    return got


def check_ways(gemm, a, b):
    """The same bits for threads, the vector kernels, layouts, batches, workspaces and `out`."""
    want = gemm(a, b, kernel="packed", threads=1)
    workspace, out = tropical.GemmWorkspace(), np.empty(want.shape[::-1], want.dtype).T
    for kernel, threads in itertools.product((None, "packed", "direct"), THREADS):
        how = {"kernel": kernel, "threads": threads}
        assert_same_bits(gemm(a, b, **how), want, how)
        assert_same_bits(gemm(a, b, **how, workspace=workspace), want, how)
    assert_same_bits(gemm(np.asfortranarray(a), np.asfortranarray(b), out=out), want)
    assert_same_bits(gemm(b.T, a.T).T, want)
    assert_same_bits(gemm(a, b[:, ::-1]), want[:, ::-1])
    assert_same_bits(gemm(np.stack([a, a[::-1]]), b)[0], want)
    assert_same_bits(gemm(np.stack([a, a[::-1]]), np.stack([b, b]))[1], want[::-1])


def check_threads(gemm, a, b, kernels):
    """Each kernel gives the same bits with any number of threads."""
    for kernel in kernels:
        want = gemm(a, b, kernel=kernel, threads=1)
        for threads in THREADS[1:]:
            assert_same_bits(gemm(a, b, kernel=kernel, threads=threads), want, kernel, threads)


def check_refused(function, *cases):
    """`function` refuses: each case is (error, message, *arguments)."""
    for error, message, *arguments in cases:
        with pytest.raises(error, match=message):
            function(*arguments)


def in_threads(work, count):
    """work(0), ..., work(count - 1) at once, each in its own thread; raises what one raises."""
    all_here = threading.Barrier(count)

    def begin(number):
        all_here.wait()
        work(number)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(begin, range(count)))


def interrupted(call, seconds):
    """Call with an alarm after some seconds; return whether and when it was heard."""

    class HeardError(Exception):
        pass

    def hear(*_):
        raise HeardError

    before = signal.signal(signal.SIGALRM, hear)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    start = time.monotonic()
    try:
        with pytest.raises(HeardError):  # else it takes many seconds
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return time.monotonic() - start - seconds


@contextlib.contextmanager
def not_root(folder):
    """As the user nobody in `folder` where this is root, who may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.parents[:3]):  # pytest's, and of xdist
        path.chmod(path.stat().st_mode | 0o011)
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def run_command(*command, **how):
    """Run a command to its end; the completed process, with what it printed as text."""
    return subprocess.run(command, **{"capture_output": True, "text": True, **how})


def run_module(name, *arguments):
    """Run a module as a program in a fresh interpreter; the lines that it prints."""
    program = f"import runpy, sys; sys.argv[1:] = {arguments!r}; "
    return run_python(program + f"runpy.run_module({name!r}, run_name='__main__')").splitlines()


def run_python(code, timeout=60, **env):
    """Run `code` in a fresh interpreter that can import the test modules; its stdout."""
    path = os.pathsep.join(
        [str(TESTS), str(TESTS / "core"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    done = run_command(
        *os.environ.get("TROPICAL_TEST_LAUNCHER", "").split(),  # of an emulated interpreter
        sys.executable,
        "-c",
        textwrap.dedent(code),
        # NumPy's own threads spin for a while and would be counted as ours.
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", **env},
        timeout=timeout,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
