"""Integers saturate, the semiring zero annihilates: at every boundary of every dtype and kernel."""

import itertools

import numpy as np
import oracle
import pytest
import support
from support import INTEGERS, KERNELS, boundaries, check, packing_bound, values

import tropical

pytestmark = pytest.mark.portable

BITS8 = np.arange(-128, 128).astype(np.int8)
SIZE = (21, 75, 13)  # m, n, k: whole tiles and edges of every instruction set


@pytest.mark.parametrize("semiring", sorted({s for s, _ in INTEGERS}))
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_every_pair_of_int8(isa, semiring, kernel):
    a, b = BITS8[:, None], BITS8[None, :]
    check(a, b, semiring, oracle.gemm(a, b, semiring), kernel=kernel)


@pytest.mark.parametrize("semiring", sorted({s for s, _ in INTEGERS}))
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_pair_of_int8_within_the_packing_bound(isa, semiring, kernel):
    """The values, with the sentinels, for which the plain two-operation kernel may run."""
    d = packing_bound("int8")
    x = BITS8[(abs(BITS8.astype(int)) <= d) | (BITS8 == -128) | (BITS8 == 127)]
    for sentinels in (x[:-1], x[1:], x[1:-1]):  # with -128, with 127, with neither
        first, second = np.meshgrid(sentinels, sentinels)
        every = np.stack([first.ravel(), second.ravel()], axis=1)
        for other in (sentinels, sentinels[::-1]):
            b = np.stack([sentinels, other])
            check(every, b, semiring, oracle.gemm(every, b, semiring), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", INTEGERS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_pair_of_boundaries(isa, semiring, dtype, kernel):
    """One product each, then as two terms of a sum."""
    for a, b in support.pairs(boundaries(dtype)):
        check(a, b, semiring, oracle.gemm(a, b, semiring), kernel=kernel)


@pytest.mark.parametrize(
    "semiring,dtype", [(s, dtype) for s, dtype in INTEGERS if s in ("maxtimes", "mintimes")]
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_products_beside_the_limits(isa, semiring, dtype, kernel):
    """Factors of every size whose product is the last one within a limit, or the first beyond."""
    info = np.iinfo(dtype)
    signs = (1, -1) if info.min else (1,)
    factors = {
        sign * (2**bits + rest) for sign in signs for bits in range(info.bits) for rest in (0, 1)
    }
    pairs = {
        (x, limit // x + rest)
        for x in factors
        for limit in (info.max, info.min or info.max)
        for rest in (-1, 0, 1)
    }
    fits = [pair for pair in pairs if all(info.min <= x <= info.max for x in pair)]
    x, y = np.array(sorted(fits), dtype).T
    for some in np.array_split(np.arange(len(x)), max(1, len(x) // 64)):
        a, b = x[some, None], y[None, some]
        check(a, b, semiring, oracle.gemm(a, b, semiring), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", INTEGERS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_large_element_anywhere(isa, semiring, dtype, kernel):
    """A single operand beyond the packing bound, wherever packing meets it; all others small."""
    (m, n, k), d = SIZE, packing_bound(dtype)
    a, b = values((m, k), dtype, 1), values((k, n), dtype, 2)
    info = np.iinfo(dtype)
    some = (d, d + 1, -d, -d - 1, 2 * d + 1, info.max - 1, info.min + 1)
    for x in (x for x in some if x >= info.min):
        for i, p, j in [(0, 0, 0), (m - 1, k - 1, n - 1), (8, 5, 64), (m - 1, 0, 0)]:
            large_a, large_b = a.copy(), b.copy()
            large_a[i, p], large_b[p, j] = x, x
            for y, z in ((large_a, b), (a, large_b), (large_a, large_b)):
                check(y, z, semiring, oracle.gemm(y, z, semiring), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", INTEGERS)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_large_elements_in_one_block_of_k(isa, semiring, dtype, kernel):
    """The blocks of KC may take different kernels; what they hand on must be in one form."""
    k = 2 * tropical.explain(8, 33, 5000, dtype=dtype, semiring=semiring, kernel="packed").kc + 3
    zero = oracle.SEMIRINGS[semiring].zero(dtype)
    info = np.iinfo(dtype)
    for p, threads in itertools.product((0, k // 2, k - 1), (1, 3)):
        a, b = values((3, k), dtype, 3), values((k, 18), dtype, 4)
        a[0], b[:, 0] = zero, zero
        a[1, p], b[p, 1] = info.max - 1, info.min + 1
        check(a, b, semiring, oracle.gemm(a, b, semiring), kernel=kernel, threads=threads)


@pytest.mark.parametrize("semiring,dtype", INTEGERS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_and_columns_of_zeros(isa, semiring, dtype, kernel):
    """Whole rows and columns of the semiring zero give zero, beside the smallest packed values."""
    (m, n, k), d = SIZE, packing_bound(dtype)
    zero = oracle.SEMIRINGS[semiring].zero(dtype)
    for fill in (-d, d, 0) if np.iinfo(dtype).min else (d, 0):
        a, b = np.full((m, k), fill, dtype), np.full((k, n), fill, dtype)
        a[::3], b[:, ::4], a[:, 5] = zero, zero, zero
        want = oracle.gemm(a, b, semiring)
        check(a, b, semiring, want, kernel=kernel)
        assert np.all(want[::3] == zero) and np.all(want[:, ::4] == zero)


@pytest.mark.parametrize("semiring,dtype", INTEGERS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_accumulate_at_the_boundaries(isa, semiring, dtype, kernel):
    """`out` may hold any value, also where the operands are small enough for packed sums."""
    m, n, k = SIZE
    start = np.resize(boundaries(dtype), (m, n))
    for kind in ("plain", "edge"):
        a, b = values((m, k), dtype, 5, kind), values((k, n), dtype, 6, kind)
        a[2] = oracle.SEMIRINGS[semiring].zero(dtype)
        want = oracle.gemm(a, b, semiring, start)
        check(a, b, semiring, want, kernel=kernel, out=start.copy(), accumulate=True)
