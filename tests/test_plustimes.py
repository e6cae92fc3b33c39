"""Floating plus-times: within the error bound of the exact sum, the same bits however computed."""

import functools
import itertools

import numpy as np
import oracle
import pytest
import support
from support import KERNELS, ROUNDING, THREADS, assert_same_bits, values

import tropical

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
    plan = tropical.explain(500, 500, 500, dtype=dtype, semiring=semiring, kernel="packed")
    rows, cols = 2 * plan.mr + 1, 2 * plan.nr + 1
    a, b = values((rows, 9), dtype, 3, "ties"), values((9, cols), dtype, 4, "ties")
    few_m, few_n = {1, plan.mr, rows}, {1, plan.nr, plan.nr + 1, cols}
    shapes = {*itertools.product(few_m, range(1, cols + 1))}
    shapes |= {*itertools.product(range(1, rows + 1), few_n)}
    for m, n in sorted(shapes):
        k = (m + n) % 10
        want = a[:m, :k] @ b[:k, :n]
        assert_same_bits(gemm(a[:m, :k], b[:k, :n], kernel=kernel) + 0, want + 0, f"{m, n, k}")


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_same_bits_on_one_instruction_set(isa, semiring, dtype, shape):
    """For threads, the two vector kernels, layouts, batches, workspaces and `out`."""
    a, b, _, _ = sample(*shape, dtype)
    workspace, out = tropical.GemmWorkspace(), np.empty((a.shape[0], b.shape[1]), dtype)
    want = gemm(a, b, kernel="packed", threads=1)
    for kernel, threads in itertools.product((None, "packed", "direct"), THREADS):
        note = f"{kernel} {threads}"
        assert_same_bits(gemm(a, b, kernel=kernel, threads=threads), want, note)
        assert_same_bits(
            gemm(a, b, kernel=kernel, threads=threads, workspace=workspace), want, note
        )
    assert_same_bits(gemm(np.asfortranarray(a), np.asfortranarray(b), out=out), want)
    assert_same_bits(gemm(a, b[:, ::-1]), want[:, ::-1])
    assert_same_bits(gemm(np.stack([a, a[::-1]]), b)[0], want)
    assert_same_bits(gemm(np.stack([a, a[::-1]]), np.stack([b, b]))[1], want[::-1])


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
@pytest.mark.parametrize("kernel", KERNELS)
def test_scalar_kernels_do_not_depend_on_threads(isa, semiring, dtype, kernel):
    for shape in SHAPES:
        a, b, _, _ = sample(*shape, dtype)
        want = gemm(a, b, kernel=kernel, threads=1)
        for threads in THREADS[1:]:
            assert_same_bits(gemm(a, b, kernel=kernel, threads=threads), want, f"{shape} {threads}")


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
