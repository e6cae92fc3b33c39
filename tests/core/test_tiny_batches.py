"""Batches of products so small that a register holds an element of each of many."""

import itertools

import numpy as np
import oracle
import pytest
from support import EXACT, KERNELS, LOGPLUS, ROUNDING, SELECTIVE, assert_same_bits, check, values

import tropical

SIZES = [(1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (2, 3, 5), (1, 4, 4), (4, 4, 1), (16, 1, 1)]
SIZES += [(8, 8, 8), (1, 10, 2), (3, 1, 31), (1, 127, 1), (1, 84, 2), (1, 128, 1)]
SIZES += [(10, 10, 10), (4, 20, 10), (1, 95, 3), (1, 129, 1), (1, 191, 1)]  # most elements
COUNTS = (7, 8, 9, 64, 700)


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("kind", ["plain", "edge", "nan"])
def test_every_semiring(isa, semiring, dtype, kind):
    for m, k, n in SIZES:
        a, b = values((150, m, k), dtype, 1, kind), values((150, k, n), dtype, 2, kind)
        for x, y in ((a, b), (a, b[0]), (a[0], b)):
            want = oracle.gemm(x, y, semiring)  # slow, so that more items are these again
            for count in COUNTS:
                some = (np.resize(z, (count, *z.shape[1:])) if z.ndim == 3 else z for z in (x, y))
                check(*some, semiring, np.resize(want, (count, m, n)))


@pytest.mark.parametrize("semiring,dtype", SELECTIVE)
@pytest.mark.parametrize("kind", ["ties", "edge", "nan", "zeros"])
def test_argmax(isa, semiring, dtype, kind):
    """Contiguous, and with results and indices that are not; one operand for all items."""
    for m, k, n in SIZES:
        a, b = values((40, m, k), dtype, 1, kind), values((40, k, n), dtype, 2, kind)
        for x, y in ((a, b), (a[:1], b), (a, b[:1]), (a[::-1], b)):
            want = oracle.gemm(x, y, semiring), oracle.argmax(x, y, semiring)
            got = tropical.gemm(x, y, semiring=semiring, return_argmax=True)
            results = np.ones((n, 40, m), dtype), np.ones((m, n, 40), np.intp)
            out = results[0].transpose(1, 2, 0), results[1].transpose(2, 0, 1)
            tropical.gemm(x, y, semiring=semiring, return_argmax=True, out=out)
            for each in (got, out):
                assert_same_bits(each[0], want[0], m, k, n, kind)
                assert_same_bits(each[1], want[1], "index", m, k, n, kind)


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_accumulate_and_strides(isa, semiring, dtype):
    """Turned items, every other item, the batch as the last axis; `out` as well."""
    n, count = 3, 200
    a, b = values((2 * count, n, n), dtype, 1), values((n, n, count), dtype, 2, "edge")
    start = values((count, n + 1, 2 * n), dtype, 3, "edge")
    x, y = a[::2].swapaxes(1, 2), b.transpose(2, 0, 1)
    for accumulate, threads in itertools.product((False, True), (1, 3)):
        memory, want = start.copy(), start.copy()
        out = memory[:, 1:, ::2]
        want[:, 1:, ::2] = oracle.gemm(x, y, semiring, want[:, 1:, ::2] if accumulate else None)
        tropical.gemm(x, y, semiring=semiring, out=out, accumulate=accumulate, threads=threads)
        assert_same_bits(memory, want, accumulate)


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_items_backward(isa, semiring, dtype):
    """Along both axes, as operands and as results."""
    for (m, k, n), count in itertools.product([(4, 4, 4), (3, 1, 31), (129, 1, 1)], (9, 70)):
        a, b = values((count, m, k), dtype, 1, "edge"), values((count, k, n), dtype, 2, "edge")
        want, memory = oracle.gemm(a, b, semiring), np.ones((count, m, n), dtype)
        x, y = a[:, ::-1, ::-1].copy(), b[:, ::-1, ::-1].copy()
        out = memory[:, ::-1, ::-1]
        check(x[:, ::-1, ::-1], y[:, ::-1, ::-1], semiring, want, out=out)
        assert_same_bits(memory[:, ::-1, ::-1], want, m, k, n)


@pytest.mark.parametrize("semiring,dtype", ROUNDING)
def test_bits_are_those_of_single_products(isa, semiring, dtype):
    for m, k, n in SIZES:
        a, b = values((70, m, k), dtype, 1), values((70, k, n), dtype, 2)
        c = values((70, m, n), dtype, 3)
        for accumulate in (False, True):
            got, want = c.copy(), c.copy()
            how = {"semiring": semiring, "accumulate": accumulate}
            tropical.gemm(a, b, out=got, **how)
            for item in range(len(a)):
                tropical.gemm(a[item], b[item], out=want[item], **how)
            assert_same_bits(got, want, m, k, n, accumulate)


@pytest.mark.parametrize("semiring,dtype", LOGPLUS)
@pytest.mark.parametrize("spread", [1.0, 300.0, 1e4])
def test_bits_of_logplus(isa, semiring, dtype, spread):
    """Exponentials that underflow, infinities, NaN; turned items, one operand for all items."""
    assert "tiny" in tropical.explain(2, 2, 2, dtype=dtype, semiring=semiring, batch=8).reason
    for (m, k, n), count in itertools.product(SIZES, (8, 17, 70)):
        a, b = (
            values(shape, dtype, seed) * np.dtype(dtype).type(spread / 128)
            for seed, shape in enumerate([(count, m, k), (count, k, n)])
        )
        for x in a, b:
            x.flat[::5], x.flat[3::29], x.flat[7::31] = -np.inf, np.inf, np.nan
        for x, y in ((a, b), (a[::-1], np.asfortranarray(b)), (a[:1], b), (a, b[:1])):
            pairs = [(x[i % len(x)], y[i % len(y)]) for i in range(count)]
            want = np.stack([tropical.gemm(*pair, semiring=semiring) for pair in pairs])
            assert_same_bits(tropical.gemm(x, y, semiring=semiring), want, m, k, n, count)


@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_axes_of_a_batch(isa, kernel):
    """Axes that are one in memory, an operand for some of them, axes of one item."""
    a, b = values((3, 40, 1, 2, 4), "int32", 1), values((3, 40, 1, 4, 3), "int32", 2)
    pairs = [(a, b), (a[:1], b), (a[:, :1], b), (a, b[:, :1]), (a[0, 0, 0], b), (a, b[0, 0])]
    pairs += [(a[:, :1], b[:1]), (a[:, :, ::-1], b[::-1]), (a[:, ::2], b[:, ::2])]
    for x, y in pairs:
        check(x, y, "minplus", oracle.gemm(x, y, "minplus"), kernel=kernel)
        vectors = y[..., :1]
        check(x, vectors, "minplus", oracle.gemm(x, vectors, "minplus"), kernel=kernel)
        rows = x[..., :1, :]
        check(rows, y, "minplus", oracle.gemm(rows, y, "minplus"), kernel=kernel)


def test_an_operand_of_every_result(isa):
    """`out` is the operand that the whole batch shares, and the other one."""
    a, b = values((50, 2, 2), "float32", 1), values((2, 2), "float32", 2)
    for x, y in ((a, b), (b, a)):
        want = tropical.gemm(x.copy(), y.copy())
        memory = a.copy()
        got = tropical.gemm(*((memory, b) if x is a else (b, memory)), out=memory)
        assert got is memory
        assert_same_bits(memory, want)
    batch = a.copy()
    want = tropical.gemm(batch, batch[7].copy())
    assert_same_bits(tropical.gemm(batch, batch[7], out=batch), want)
    assert np.isfinite(want).all()
