"""Floating plus-times: within the error bound of the exact sum, the same bits however computed."""

import functools

import numpy as np
import oracle
import pytest
import support
from support import KERNELS, ROUNDING, assert_same_bits, values

import tropical

pytestmark = pytest.mark.portable

SHAPES = [(1, 1, 1), (5, 7, 9), (33, 65, 40), (17, 130, 600), (130, 90, 33), (1, 999, 300)]
SHAPES += [(999, 1, 300), (1, 1, 2000), (3, 2, 5000), (250, 70, 400)]


@functools.cache
def sample(m, n, k, dtype):
    a, b = values((m, k), dtype, 1), values((k, n), dtype, 2)
    return a, b, *oracle.plustimes(a, b)


def gemm(a, b, **how):
    return tropical.gemm(a, b, semiring="plustimes", **how)


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_within_the_bound(isa, semiring, dtype, kernel, shape):
    a, b, c, bound = sample(*shape, dtype)
    got = gemm(a, b, kernel=kernel)
    support.ran["kernel", kernel or "chosen"] += 1
    assert got.dtype == dtype
    assert np.all(abs(got - c) <= bound), np.max(abs(got - c) / bound)


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
@pytest.mark.parametrize("kernel", KERNELS)
def test_remainders_are_exact_for_small_integers(isa, semiring, dtype, kernel):
    """Sums of small integers do not round, so every element can be compared to the bit."""
    rows, cols, shapes = support.remainders(semiring, dtype, kernel="packed")
    a, b = values((rows, 9), dtype, 3, "ties"), values((9, cols), dtype, 4, "ties")
    for m, n in shapes:
        k = (m + n) % 10
        want = a[:m, :k] @ b[:k, :n]
        assert_same_bits(gemm(a[:m, :k], b[:k, :n], kernel=kernel) + 0, want + 0, f"{m, n, k}")


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_same_bits_on_one_instruction_set(isa, semiring, dtype, shape):
    support.check_ways(gemm, *sample(*shape, dtype)[:2])


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
def test_no_kernel_depends_on_threads(isa, semiring, dtype):
    for shape in SHAPES:
        support.check_threads(gemm, *sample(*shape, dtype)[:2], KERNELS)


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
@pytest.mark.parametrize("kernel", KERNELS)
def test_nan_and_infinity_follow_ieee(isa, semiring, dtype, kernel):
    """0 times infinity is NaN here, and a sum of opposite infinities; nothing annihilates."""
    inf, nan = np.inf, np.nan
    a = np.array([[0, 1, 2], [inf, 1, 0], [nan, 0, 0], [inf, -inf, 1], [1, 1, 1]], dtype)
    b = np.array([[inf, 0, 1, 1], [1, 1, 1, 1], [2, 2, 2, nan]], dtype)
    with np.errstate(invalid="ignore"):
        want = np.einsum("ip,pj->ij", a, b)
    np.testing.assert_array_equal(gemm(a, b, kernel=kernel), want)
    # as interior elements of a large product too: the edges of tiles take other paths
    tall, wide = np.tile(a, (30, 1)), np.tile(b, (1, 40))
    np.testing.assert_array_equal(gemm(tall, wide, kernel=kernel), np.tile(want, (30, 40)))


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_accumulate(isa, semiring, dtype, kernel):
    for m, n, k in SHAPES:
        a, b, c, bound = sample(m, n, k, dtype)
        start = values((m, n), dtype, 5)
        out = start.copy()
        assert gemm(a, b, out=out, accumulate=True, kernel=kernel) is out
        slack = bound + 2 * np.finfo(dtype).eps * (abs(start) + abs(c))
        assert np.all(abs(out - (start + c)) <= slack), (m, n, k)
