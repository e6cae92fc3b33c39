"""What the tests share: operands made by integer arithmetic, bit comparison, subprocesses."""

import functools
import math
import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import numpy as np
import oracle

import tropical
from tropical import _core

TESTS = Path(__file__).parent
KERNELS = ("naive", "tiled", "direct", "packed")
THREADS = (1, 2, 3, 7)
INSTANCES = [(s["name"], dtype) for s in _core.semirings() for dtype in s["dtypes"]]
ROUNDING_SEMIRINGS = [s["name"] for s in _core.semirings() if not s["exact"]]
EXACT = [i for i in INSTANCES if i[0] not in ROUNDING_SEMIRINGS or i[1].startswith("int")]
FLOATS = [i for i in INSTANCES if i[1].startswith("float")]
INTEGERS = [i for i in INSTANCES if i[1].startswith("int")]
TROPICAL_FLOATS = [i for i in FLOATS if i in EXACT]
ROUNDING = [i for i in FLOATS if i[0] == "plustimes"]
LOGPLUS = [i for i in FLOATS if i[0] == "logplus"]
SELECTIVE = [
    (s["name"], dtype) for s in _core.semirings() if s["selective"] for dtype in s["dtypes"]
]
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
    return np.array([i.min, i.min + 1, -z - 1, -z, *near, z - 1, z, i.max - 1, i.max], dtype)


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
        return (r % np.uint64(7)).astype(dtype) - dtype.type(3)
    if dtype.kind == "f":
        x = ((r >> np.uint64(11)).astype(np.float64) * 2.0**-45 - 128).astype(dtype)
    elif kind in ("plain", "bound"):
        d = packing_bound(dtype) if kind == "bound" else math.isqrt(np.iinfo(dtype).max)
        x = (r % np.uint64(2 * d + 1)).astype(np.int64).astype(dtype) - dtype.type(d)
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


def check(a, b, semiring, want, **how):
    """tropical.gemm(a, b, semiring=semiring, **how) has the bits of `want`; returns it."""
    got = tropical.gemm(a, b, semiring=semiring, **how)
    assert_same_bits(got, want, semiring, np.shape(a), np.shape(b), how)
    ran["kernel", how.get("kernel") or "chosen"] += 1
    ran["threads", str(how.get("threads") or "default")] += 1
    return got


def run_python(code, timeout=60, **env):
    """Run `code` in a fresh interpreter that can import the test modules; its stdout."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        # NumPy's own threads spin for a while and would be counted as ours.
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", **env},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
