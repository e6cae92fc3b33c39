"""Operands of two dtypes: the semiring's zero and one stay zero and one in the common dtype."""

import numpy as np
import pytest
from support import INSTANCES, INTEGERS, assert_same_bits, values

import tropical
from tropical import semirings, ufunc
from tropical.arrays import promote
from tropical.sequence import viterbi

pytestmark = pytest.mark.portable

OTHERS = sorted({dtype for _, dtype in INSTANCES} | {"float16", "uint64"})
# Integers of a semiring beside another dtype, and their common dtype if the semiring has it.
PAIRS = [
    (semiring, dtype, other, np.result_type(dtype, other).name)
    for semiring, dtype in INTEGERS
    for other in OTHERS
    if (semiring, np.result_type(dtype, other).name) in INSTANCES
]
# One pair for each semiring whose zero is an end of an integer dtype.
ENDS = [
    (ring.name, dtype) for ring in semirings.ALL for dtype in ("int8", "uint8")
    if dtype in ring.dtypes and abs(ring.zero(dtype)) != ring.zero("float64")
]  # fmt: skip


def with_constants(shape, semiring, dtype, seed):
    """Small numbers, a third of which are the semiring's zero and one."""
    ring, x = semirings.get(semiring), np.abs(values(shape, dtype, seed, "ties"))
    if dtype in ring.dtypes:
        x = np.where(values(shape, "int8", seed + 1) % 5 == 0, x.dtype.type(ring.zero(dtype)), x)
        x = np.where(values(shape, "int8", seed + 2) % 5 == 0, x.dtype.type(ring.one(dtype)), x)
    return x


def converted(x, semiring, dtype):
    """The definition: a cast, but zero becomes zero, and one becomes one."""
    ring, y = semirings.get(semiring), x.astype(dtype)
    if x.dtype.name in ring.dtypes:
        y[x == ring.zero(x.dtype)] = ring.zero(dtype)
        y[x == ring.one(x.dtype)] = ring.one(dtype)
    return y


def test_the_example_of_the_guide():
    a, b = np.array([[-128, 0]], np.int8), np.array([[1000], [-1000]])
    assert tropical.gemm(a, b) == -1000
    assert tropical.gemm(a[:, :1], b[:1]) == np.iinfo(np.int64).min
    assert tropical.gemm(a[:, :1], b[:1] * 1.0) == -np.inf


@pytest.mark.parametrize("semiring, dtype, other, common", PAIRS)
def test_products(semiring, dtype, other, common):
    x = with_constants((2, 7, 5), semiring, dtype, 1)
    y = with_constants((5, 6), semiring, other, 5)
    a, b = converted(x, semiring, common), converted(y, semiring, common)
    want, turned = (
        tropical.gemm(*pair, semiring=semiring)
        for pair in ((a, b), (b.T, a.swapaxes(-1, -2)))
    )  # fmt: skip
    for function in (
        lambda x, y: tropical.gemm(x, y, semiring=semiring),
        getattr(ufunc, semiring),
    ):
        assert_same_bits(function(x, y), want)
        assert_same_bits(function(y.T, x.swapaxes(-1, -2)), turned)
        assert_same_bits(function(x.astype(x.dtype.newbyteorder(">")), y[:, ::-1]), want[..., ::-1])


@pytest.mark.parametrize("semiring, dtype, other, common", PAIRS)
def test_products_of_elements(semiring, dtype, other, common):
    function = getattr(ufunc, semiring + "_multiply")
    x, y = (with_constants((1100,), semiring, d, seed) for d, seed in ((dtype, 1), (other, 5)))
    want = function(converted(x, semiring, common), converted(y, semiring, common))
    assert_same_bits(function(x, y), want)
    assert_same_bits(function(y[::-1], x[::-1]), want[::-1])
    assert_same_bits(function.outer(x[:2], y)[1], function(x[1], y))


@pytest.mark.parametrize("semiring, dtype", ENDS)
def test_ways_of_ufuncs(semiring, dtype):
    function, product = getattr(ufunc, semiring + "_multiply"), getattr(ufunc, semiring)
    x = with_constants((6, 30), semiring, dtype, 3)
    wide = converted(x, semiring, "int64")
    assert_same_bits(function(x, x, dtype="int64"), function(wide, wide))
    assert_same_bits(product(x, x.T, dtype="int64"), product(wide, wide.T))
    assert_same_bits(function(x, 3.0), function(converted(x, semiring, "float64"), 3.0))
    assert_same_bits(function.reduce(x, dtype="int64"), function.reduce(wide))
    total = wide[0].copy()
    function.at(total, np.arange(30), x[1])
    assert_same_bits(total, function(wide[0], wide[1]))
    for method in (function.accumulate, lambda x, dtype: function.reduceat(x, [0], dtype=dtype)):
        with pytest.raises(TypeError, match="not compatible"):  # not silently wrong
            method(x, dtype="int64")
    for keyword in ({"casting": "equiv"}, {"signature": "bb->b", "casting": "safe"}):
        with pytest.raises(TypeError):
            product(x, wide.T, **keyword)


@pytest.mark.parametrize("semiring, dtype", ENDS)
def test_other_functions(semiring, dtype):
    x, y = (with_constants(shape, semiring, dtype, 3) for shape in ((4, 5), (5, 3)))
    wide, y = converted(x, semiring, "float64"), y.astype("float64")
    assert_same_bits(promote(x.T, "float64", semiring), wide.T)
    assert promote(x, x.dtype, semiring) is x
    for subscripts, other in (("ij,jk->ik", y), ("ij,->ij", 2.0)):
        want = tropical.einsum(subscripts, wide, other, semiring=semiring)
        assert_same_bits(tropical.einsum(subscripts, x, other, semiring=semiring), want)


def test_sequences():
    """A transition of int8's least value is impossible."""
    transition = np.array([[0, -128], [-128, 0]], np.int8)
    emission = np.array([[0.0, -999.0], [-1000.0, 0.0]])
    path, score = viterbi(np.zeros(2), transition, emission)
    assert path.tolist() == [1, 1] and score == -999
