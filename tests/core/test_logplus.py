"""logplus: within its bound of the exact sum, the same bits however computed, any infinity."""

import functools
import itertools

import numpy as np
import oracle
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from support import KERNELS, LOGPLUS, assert_same_bits, boundaries, random_bits, values

import tropical
from tropical import _core

pytestmark = [pytest.mark.portable, pytest.mark.parametrize("semiring,dtype", LOGPLUS)]
SHAPES = [(1, 1, 1), (5, 7, 9), (33, 65, 40), (13, 70, 600), (70, 33, 33), (1, 99, 300)]
SHAPES += [(99, 1, 300), (1, 1, 2000), (3, 2, 1500), (250, 20, 40), (4, 3, 1)]
SHAPES += [(1, 1, 9000), (1, 3, 4100), (2, 2, 3100)]  # blocks of k in lanes: full, and not
# What every type holds in exp, doubles alone, none; distances most of which round.
SPREADS = (1.0, 40.0, 300.0, 5000.0, 1e25)


BLOCKS = {"naive": 2**40, "tiled": 64}  # of k, whose sums are added up; 512 unless here


@functools.cache
def sample(m, n, k, dtype, spread):
    """Operands, an eighth of them -inf, and their product."""
    parts = []
    for i, shape in enumerate([(m, k), (k, n)]):
        x = scaled(shape, dtype, spread, 1 + i)
        x[random_bits(shape, 3 + i) % np.uint64(8) == 0] = -np.inf
        parts.append(x)
    return *parts, oracle.logplus(*parts)


@functools.cache
def sample_added(*arguments):
    """The operands of `sample`, something to add to, and the sum."""
    a, b, c = sample(*arguments)
    start = scaled(c.shape, *arguments[-2:], 5)
    start.flat[::7] = -np.inf
    return a, b, start, oracle.logplus(a, b, start)


def scaled(shape, dtype, spread, seed):
    return values(shape, dtype, seed) * np.dtype(dtype).type(spread / 128)


def gemm(a, b, **how):
    return tropical.gemm(a, b, semiring="logplus", **how)


def assert_near(got, want, k, kernel=None, accumulate=False):
    """Within the bound where finite, else the same infinity or NaN."""
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite].astype(got.dtype))
    how = {"accumulate": accumulate, "block": BLOCKS.get(kernel, 512)}
    bound = oracle.logplus_bound(want[finite], k, got.dtype, **how)
    error = abs(got[finite] - want[finite])
    assert np.all(error <= bound), (np.max(error / bound), want.shape, k)


@pytest.mark.parametrize("kernel", [None, *KERNELS])
@pytest.mark.parametrize("spread", SPREADS)
def test_within_the_bound(isa, semiring, dtype, kernel, spread):
    for shape in SHAPES:
        a, b, c = sample(*shape, dtype, spread)
        got = gemm(a, b, kernel=kernel)
        support.ran["kernel", kernel or "chosen"] += 1
        assert got.dtype == dtype
        assert_near(got, c, shape[2], kernel)


@pytest.mark.parametrize("spread", [1.0, 1000.0])
def test_every_remainder(isa, semiring, dtype, spread):
    """Of the shape by the tile, packed and in place."""
    rows, cols, shapes = support.remainders(semiring, dtype, kernel="packed")
    a, b, c = sample(rows, cols, 9, dtype, spread)
    for (m, n), kernel in itertools.product(shapes, ("direct", "packed")):
        assert_near(gemm(a[:m], b[:, :n], kernel=kernel), c[:m, :n], 9)


@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_same_bits_on_one_instruction_set(isa, semiring, dtype, spread):
    for shape in SHAPES:
        support.check_ways(gemm, *sample(*shape, dtype, spread)[:2])


@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_same_bits_in_any_company(isa, semiring, dtype, spread):
    """An element of a few sums, whose blocks of k are lanes, and of many, which are packed."""
    a, b, _ = sample(1, 3, 4100, dtype, spread)
    many = gemm(np.repeat(a, 40, axis=0), np.repeat(b, 11, axis=1))
    assert tropical.explain(1, 3, 4100, dtype=dtype, semiring=semiring).kernel == "direct"
    assert_same_bits(gemm(a, b), many[:1, ::11])
    start = values((1, 3), dtype, 7)
    many = gemm(
        np.repeat(a, 40, axis=0),
        b,
        out=np.repeat(start, 40, axis=0),
        accumulate=True,
        kernel="packed",
    )
    assert_same_bits(gemm(a, b, out=start, accumulate=True), many[:1])


@pytest.mark.parametrize("where", [0, 4099])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_special_values_in_lanes(isa, semiring, dtype, where, value):
    a, b, _ = sample(1, 1, 4100, dtype, 1.0)
    a = a.copy()
    a[0, where] = value
    b = np.where(np.isinf(b), 0, b).astype(dtype)
    assert_same_bits(gemm(a, b), gemm(a, b, kernel="packed"))
    if value != -np.inf:
        np.testing.assert_array_equal(gemm(a, b), [[value]])


def test_scalar_kernels_do_not_depend_on_threads(isa, semiring, dtype):
    for shape in SHAPES:
        support.check_threads(gemm, *sample(*shape, dtype, 40.0)[:2], ("naive", "tiled"))


def test_least_product_of_exponentials(isa, semiring, dtype):
    """Two that are barely not dropped, where neither maximum has a partner: 0, to the bound."""
    edge = np.array((np.finfo(dtype).maxexp - 6) * np.log(2), dtype)
    for _ in range(20):
        a, b = np.array([[edge, 0, -np.inf]], dtype), np.array([[-np.inf], [0], [edge]], dtype)
        for kernel in ("direct", "packed"):
            assert_near(gemm(a, b, kernel=kernel), np.zeros((1, 1)), 3)
        edge = np.nextafter(edge, np.zeros_like(edge))


@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_accumulate(isa, semiring, dtype, kernel):
    for shape, spread in itertools.product(SHAPES, (1.0, 300.0)):
        a, b, start, want = sample_added(*shape, dtype, spread)
        for order in "CF":
            out = start.copy(order)
            assert gemm(a, b, out=out, accumulate=True, kernel=kernel) is out
            assert_near(out, want, shape[2], kernel, accumulate=True)


@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_out_may_be_an_operand(isa, semiring, dtype, kernel):
    a, b, c = sample(33, 33, 33, dtype, 300.0)
    for which in (0, 1):
        operands = [a.copy(), b.copy()]
        gemm(*operands, out=operands[which], kernel=kernel)
        assert_near(operands[which], c, 33, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_special_values(isa, semiring, dtype, kernel):
    """Every pair, then as two terms of a sum, then added to each other."""
    x = np.append(boundaries(dtype), np.array([np.nan, 80, -80, 700, -700], dtype))
    for a, b in support.pairs(x):
        assert_near(gemm(a, b, kernel=kernel), oracle.logplus(a, b), len(b))
    start = np.resize(x, (len(a), len(x)))
    out = gemm(a, b, kernel=kernel, out=start.copy(), accumulate=True)
    assert_near(out, oracle.logplus(a, b, start), 2, accumulate=True)


@functools.cache
def sample_of_infinities(dtype):
    a, b = (x.copy() for x in sample(30, 70, 520, dtype, 40.0)[:2])
    a[3], b[:, 69] = -np.inf, -np.inf
    a[4, 519] = np.inf  # beside -inf at (519, 69) alone
    b[519, :69] = 1.0
    a[7, 100], b[5, 66] = np.nan, np.nan
    return a, b, oracle.logplus(a, b)


@pytest.mark.parametrize("kernel", KERNELS)
def test_infinities_and_nan_stay_in_their_rows_and_columns(isa, semiring, dtype, kernel):
    a, b, c = sample_of_infinities(dtype)
    assert np.isnan(c[7]).all() and np.isnan(c[:, 66]).all()
    assert (np.delete(c[3], 66) == -np.inf).all() and (c[4, :66] == np.inf).all()
    assert c[4, 69] == -np.inf
    assert_near(gemm(a, b, kernel=kernel), c, 520, kernel)


@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_empty_sums(isa, semiring, dtype, kernel):
    a, b = np.ones((3, 0), dtype), np.ones((0, 4), dtype)
    assert_same_bits(gemm(a, b, kernel=kernel), np.full((3, 4), -np.inf, dtype))
    start = values((3, 4), dtype, 3)
    out = start.copy()
    assert_same_bits(gemm(a, b, kernel=kernel, out=out, accumulate=True), start)


def test_shapes_as_matmul_has_them(isa, semiring, dtype):
    for one, other in [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((2, 1, 2, 3), (5, 3, 4)),
    ]:
        a, b = values(one, dtype, 1) / 128, values(other, dtype, 2) / 128
        want = np.log(np.matmul(np.exp(a), np.exp(b)))
        got = gemm(a, b)
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@settings(max_examples=40)
@given(data=st.data())
def test_laws(semiring, dtype, data):
    """Within rounding: associative, distributive, and a shift of a row or column goes through."""
    m, k, j, n = (data.draw(st.integers(1, 12)) for _ in range(4))
    scale = data.draw(st.sampled_from([0.01, 1.0, 10.0]))
    seed = data.draw(st.integers(0, 2**31))
    a, b, c, d = (
        values(shape, dtype, seed + i) * np.dtype(dtype).type(scale)
        for i, shape in enumerate([(m, k), (k, j), (j, n), (k, j)])
    )
    room = 200 * np.finfo(dtype).eps * (1 + 400 * scale)
    near = functools.partial(np.testing.assert_allclose, rtol=0, atol=room)
    near(gemm(gemm(a, b), c), gemm(a, gemm(b, c)))
    near(gemm(a, np.logaddexp(b, d)), gemm(a, d, out=gemm(a, b), accumulate=True))
    shift = values((m, 1), dtype, seed + 9)
    near(gemm(a + shift, b), gemm(a, b) + shift)
    identity = np.where(
        np.eye(k, dtype=bool), np.dtype(dtype).type(0), np.dtype(dtype).type(-np.inf)
    )
    near(gemm(identity, b), b)


def test_the_bar_of_accuracy(semiring, dtype):
    """float32 of ordinary size within 1e-6 of float64 at n = 512."""
    if dtype == "float32":
        a, b = values((512, 512), dtype, 1) / 16, values((512, 512), dtype, 2) / 16
        got, want = gemm(a, b), gemm(a.astype(float), b.astype(float))
        assert np.max(abs(got - want) / abs(want)) < 1e-6


def test_packing_of_more_steps_than_a_block(semiring, dtype):
    """Which measurements alone ask for: few lines are packed side by side, if memory holds them."""
    operations = _core.packing(semiring, dtype, "a", 4, 2000, 1)
    assert operations > 0
