"""NaN, infinities, the sign of zero, subnormals, and the caller's floating-point environment."""

import ctypes
import itertools
import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import oracle
import pytest
from support import (
    FLOATS,
    KERNELS,
    TROPICAL_FLOATS,
    assert_all_same_bits,
    assert_same_bits,
    boundaries,
    check,
    example,
    pairs,
    run_python,
    values,
)

import tropical

pytestmark = pytest.mark.portable

SIZE = (21, 75, 13)  # m, n, k: whole tiles and edges of every instruction set


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_pair_of_special_values(isa, semiring, dtype, kernel):
    """One product each, then as two terms of a sum."""
    for a, b in pairs(np.append(boundaries(dtype), np.array(np.nan, dtype))):
        check(a, b, semiring, oracle.gemm(a, b, semiring), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_nan_anywhere(isa, semiring, dtype, kernel):
    """Makes its row or column NaN, and nothing else; in the tails of packing too."""
    m, n, k = SIZE
    a, b, c = example(m, n, k, semiring, dtype)
    for i, p in itertools.product((0, 1, m // 2, m - 1), (0, 5, k - 1)):
        x, want = a.copy(), c.copy()
        x[i, p], want[i] = np.nan, np.nan
        check(x, b, semiring, want, kernel=kernel)
    for j, p in itertools.product((0, 1, 15, 16, 63, 64, n - 2, n - 1), (0, 5, k - 1)):
        y, want = b.copy(), c.copy()
        y[p, j], want[:, j] = np.nan, np.nan
        check(a, y, semiring, want, kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_a_nan_in_each_block_of_k(isa, semiring, dtype, kernel):
    """Seen whichever KC block, thread or k-split reads it."""
    k = 2 * tropical.explain(8, 33, 5000, dtype=dtype, semiring=semiring, kernel="packed").kc + 3
    a, b, c = example(3, 18, k, semiring, dtype)
    for p, threads in itertools.product((0, k // 3, k // 2, k - 4, k - 1), (1, 3)):
        x, want = a.copy(), c.copy()
        x[1, p], want[1] = np.nan, np.nan
        check(x, b, semiring, want, kernel=kernel, threads=threads)


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
def test_a_nan_in_each_block_of_c(isa, semiring, dtype):
    """Seen whichever MC or NC block of the packed kernel reads it."""
    plan = tropical.explain(9000, 9000, 2, dtype=dtype, semiring=semiring, kernel="packed")
    m, n = min(plan.mc + 3, 9000), min(plan.nc + 3, 9000)
    a, b = np.ones((m, 2), dtype), np.ones((2, n), dtype)
    want = tropical.gemm(a, b, semiring=semiring, kernel="naive")
    a[[0, -1], 1] = b[0, [0, -1]] = want[[0, -1]] = want[:, [0, -1]] = np.nan
    assert_same_bits(tropical.gemm(a, b, semiring=semiring, kernel="packed", threads=1), want)


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
@pytest.mark.parametrize("order", "CF")
def test_one_nan_beside_few_rows(isa, semiring, dtype, order):
    """Long rows and columns that are read in place, and their tails."""
    k = 1030
    for m, n in ((1, 1), (1, 5), (3, 70), (4, 33)):
        a, b, c = example(m, n, k, semiring, dtype)
        for p, j in itertools.product((0, 63, 64, 1023, k - 1), (0, n - 1)):
            y, want = b.copy(order), c.copy()
            y[p, j], want[:, j] = np.nan, np.nan
            check(a, y, semiring, want)
            check(y.T, a.T, semiring, want.T)


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
@pytest.mark.parametrize("kernel", [None, "packed"])
@pytest.mark.parametrize("shape", [(21, 75, 13), (1, 70, 300), (70, 1, 300)])
def test_nans_in_some_items_of_a_batch(isa, semiring, dtype, kernel, shape):
    """Each item has its own rows and columns; one value or all, and operands that repeat."""
    m, n, k = shape
    a = np.stack([values((m, k), dtype, i) for i in range(6)])
    b = np.stack([values((k, n), dtype, 6 + i) for i in range(6)])
    a[1, m - 1, k - 1] = a[2, 0, k // 2] = b[2, k // 3, n // 2] = b[3, 0, 0] = np.nan
    a[4], b[5, :, n - 1] = np.nan, np.nan
    for x, y in ((a, b), (a[2], b), (a, b[3]), (a, np.broadcast_to(b[:1], b.shape))):
        pair = np.broadcast_to(x, a.shape), np.broadcast_to(y, b.shape)
        want = [np.stack(c) for c in zip(*map(expected, *pair, [semiring] * 6), strict=True)]
        for threads in (1, 2):
            check(x, y, semiring, want[0], kernel=kernel, threads=threads)
            got = tropical.gemm(
                x, y, semiring=semiring, kernel=kernel, threads=threads, return_argmax=True
            )
            assert_all_same_bits(got, want)


def expected(a, b, semiring):
    """C and the argmax of one item, by the definition."""
    return oracle.gemm(a, b, semiring), oracle.argmax(a, b, semiring)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_a_nan_beside_negative_numbers(isa, dtype, kernel):
    """Where a negative number needs the careful arithmetic, and a NaN does not."""
    for m, n, k in ((21, 75, 13), (1, 70, 300), (70, 1, 300)):
        for sign in (1, -1):
            a, b = (np.abs(values(s, dtype, 1)) + 1 for s in ((m, k), (k, n)))
            a[0, 3], a[-1, 2], b[k - 1, n - 1] = sign, np.nan, np.nan
            check(a, b, "mintimes", oracle.gemm(a, b, "mintimes"), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
def test_nans_of_any_payload_and_sign(isa, semiring, dtype):
    """Signalling, negative, with a payload: each propagates as the one canonical NaN."""
    word = np.dtype(dtype.replace("float", "uint")).type
    top = word(np.array(np.inf, dtype).view(word))
    sign = word(1) << word(8 * np.dtype(dtype).itemsize - 1)
    kinds = np.array([top | word(1), top | sign | word(1), ~word(0), top | (top >> word(1))], word)
    m, n, k = SIZE
    a, b, c = example(m, n, k, semiring, dtype)
    for nan, kernel in itertools.product(kinds, KERNELS):
        x, want = a.copy(), c.copy()
        x.view(word)[4, 3], want[4] = nan, np.nan
        check(x, b, semiring, want, kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_made_nans_never_win(isa, semiring, dtype, kernel):
    """(-inf) + (+inf) and 0 times inf, first, last and everywhere among the products."""
    s, (m, n, k) = oracle.SEMIRINGS[semiring], SIZE
    zero = s.zero(dtype)
    opposite = np.dtype(dtype).type(-zero if zero else np.inf)
    a, b, _ = example(m, n, k, semiring, dtype)
    for where in (np.s_[:1], np.s_[-1:], np.s_[:], np.s_[1::2]):
        x, y = a.copy(), b.copy()
        x[:, where], y[where] = zero, opposite
        check(x, y, semiring, oracle.gemm(x, y, semiring), kernel=kernel)
        x[:, where], y[where] = opposite, zero
        check(x, y, semiring, oracle.gemm(x, y, semiring), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", TROPICAL_FLOATS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_zero_results_are_positive(isa, semiring, dtype, kernel):
    m, n, k = SIZE
    zeros = np.array([0.0, -0.0], dtype)
    for i, j in itertools.product((0, 1), repeat=2):
        a, b = np.full((m, k), zeros[i]), np.full((k, n), zeros[j])
        check(a, b, semiring, np.zeros((m, n), dtype), kernel=kernel)
        a[:, ::2], b[1::2] = zeros[1 - i], zeros[1 - j]
        check(a, b, semiring, np.zeros((m, n), dtype), kernel=kernel)
        out = np.full((m, n), zeros[1])
        check(a, b, semiring, np.zeros((m, n), dtype), kernel=kernel, out=out, accumulate=True)


# That of this machine, which is no compiler for an emulated interpreter.
COMPILER = None if "TROPICAL_TEST_LAUNCHER" in os.environ else shutil.which("cc")
CONTROL = """
#if defined(__x86_64__)
#include <xmmintrin.h>
unsigned long get(void) { return _mm_getcsr(); }
void set(unsigned long x) { _mm_setcsr((unsigned)x); }
#else
unsigned long get(void) {
    unsigned long control, status;
    __asm__ volatile("mrs %0, fpcr\n mrs %1, fpsr" : "=r"(control), "=r"(status));
    return control | status << 32;
}
void set(unsigned long x) {
    __asm__ volatile("msr fpcr, %0\n msr fpsr, %1" : : "r"(x & 0xFFFFFFFF), "r"(x >> 32));
}
#endif
"""
X86 = platform.machine() in ("x86_64", "AMD64")
FLAGS = 0x3F if X86 else 0x9F << 32  # which operations set and nothing deletes
MODES = {  # bits of MXCSR or FPCR
    "flush to zero": 0x8040 if X86 else 1 << 24,
    "round up": 0x4000 if X86 else 1 << 22,
    "round to zero": 0x6000 if X86 else 3 << 22,
}


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """get() and set(x) of this thread's floating-point control and status registers."""
    if COMPILER is None or sys.platform == "win32" or not (X86 or platform.machine() == "aarch64"):
        pytest.skip("needs a C compiler and x86-64 or aarch64")
    folder = tmp_path_factory.mktemp("environment")
    (folder / "control.c").write_text(CONTROL)
    library = folder / "control.so"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-o", library, folder / "control.c"]
    subprocess.run(command, check=True)
    control = ctypes.CDLL(str(library))
    control.get.restype, control.set.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
    control.set.restype = None
    return control


@pytest.mark.parametrize("semiring,dtype", FLOATS)
@pytest.mark.parametrize("mode", MODES)
def test_the_callers_environment(isa, semiring, dtype, mode, environment):
    """Neither changes a bit of the result nor is changed, status flags included."""
    f = np.finfo(dtype)
    (m, n, k), unit = SIZE, f.smallest_subnormal
    tiny = (
        values((m, k), dtype, 4) * unit,
        values((k, n), dtype, 5) * (1 if "times" in semiring else unit),
    )
    calls = [
        (a, b, {"semiring": semiring, "kernel": kernel, "threads": threads})
        for a, b in (tiny, (values((m, k), dtype, 6), values((k, n), dtype, 7)))
        for kernel, threads in itertools.product(KERNELS, (1, 2))
    ]
    want = [tropical.gemm(a, b, **how) for a, b, how in calls]
    subnormal = (want[0] != 0) & (abs(want[0]) < f.tiny)
    assert semiring == "logplus" or np.any(subnormal), "no subnormal results: a poor test"
    nothing = {"semiring": semiring, "accumulate": True}  # k == 0
    a, b, least = np.ones((1, 0), dtype), np.ones((0, 1), dtype), np.full((1, 1), unit)
    calls.append((a, b, nothing))
    want.append(tropical.gemm(a, b, out=least.copy(), **nothing))
    usual = environment.get()
    got, registers = [], []
    for a, b, how in calls:
        environment.set(usual & ~FLAGS | MODES[mode])
        before = environment.get()
        result = tropical.gemm(a, b, **how, **({"out": least} if how is nothing else {}))
        after = environment.get()
        environment.set(usual)
        got.append(result)
        registers.append((hex(before), hex(after)))
    for g, w, (before, after), (_, _, how) in zip(got, want, registers, calls, strict=True):
        assert_same_bits(g, w, f"{mode} {how}")
        assert before == after, f"the control register changed; {how}"


def test_paths_do_not_depend_on_the_callers_environment(environment):
    """What the calling thread alone adds up: lengths that are subnormal numbers."""
    edges = np.full((4, 4), np.inf)
    edges[[0, 0, 1, 2], [3, 1, 2, 3]] = 3e-310, 1e-310, 1e-310, 5e-310
    right = list(tropical.graph.k_shortest_paths(edges, 0, 3, 2))
    assert right[0][0] == 3e-310
    usual = environment.get()
    environment.set(usual | MODES["flush to zero"])
    try:
        found = list(tropical.graph.k_shortest_paths(edges, 0, 3, 2))
    finally:
        environment.set(usual)
    assert found == right


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="feenableexcept is glibc's")
def test_exceptions_that_the_caller_unmasked():
    run_python("""
        import ctypes, numpy as np, tropical
        a = np.array([[-np.inf, 1.0, np.nan]]); b = np.array([[np.inf], [2.0], [1.0]])
        tropical.gemm(a, b)
        libm = ctypes.CDLL("libm.so.6")
        if libm.feenableexcept(1) == -1:
            raise SystemExit(0)  # this CPU cannot trap
        for kernel in ("naive", "tiled", "direct", "packed"):
            c = tropical.gemm(a, b, kernel=kernel)
        libm.fedisableexcept(1)
        assert np.isnan(c).all(), c
    """)


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_warning_reaches_numpy(isa, kernel):
    """Status flags that the kernels raise do not leak into NumPy's next operation."""
    a, b = np.array([[-np.inf, np.inf]]), np.array([[np.inf], [-np.inf]])
    with np.errstate(all="raise"):
        check(a, b, "maxplus", np.array([[-np.inf]]), kernel=kernel)
        assert np.add(1.0, 1.0) == 2.0
