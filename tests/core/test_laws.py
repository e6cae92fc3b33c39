"""The laws of semirings and of matrix products over them, for which hypothesis seeks exceptions."""

import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support import EXACT, KERNELS, assert_same_bits, random_bits, values

import tropical
from tropical import semirings

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("semiring,dtype", EXACT)]
several = settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
sizes = st.integers(1, 40)
hows = st.fixed_dictionaries(
    {"kernel": st.sampled_from([None, *KERNELS]), "threads": st.sampled_from([1, 2])}
)


def matrix(data, rows, cols, semiring, dtype):
    """Elements among which (+) and (x) are exact: the laws hold to the bit. Zero is included."""
    s, seed = oracle.SEMIRINGS[semiring], data.draw(st.integers(0, 2**32))
    if dtype == "bool" or semiring == "plustimes":
        return values((rows, cols), dtype, seed, "edge")
    negative = not semirings.get(semiring).nonnegative and np.dtype(dtype).kind != "u"
    small = range(-4 if negative else 0, 6)
    pool = np.array([s.zero(dtype), s.zero(dtype), s.one(dtype), *small], dtype)
    return pool[random_bits((rows, cols), seed) % np.uint64(len(pool))]


def factors(data, semiring, dtype):
    """a (m, k) and b (k, n), and how to multiply them."""
    m, n, k = (data.draw(sizes) for _ in range(3))
    a, b = matrix(data, m, k, semiring, dtype), matrix(data, k, n, semiring, dtype)
    return a, b, {"semiring": semiring, **data.draw(hows)}


@given(st.data())
@several
def test_identity(isa, semiring, dtype, data):
    """A I = I A = A, where I has ones on the diagonal and zeros elsewhere."""
    s, m, n = oracle.SEMIRINGS[semiring], data.draw(sizes), data.draw(sizes)
    a, how = matrix(data, m, n, semiring, dtype), data.draw(hows)
    for size, product in ((m, lambda i: (i, a)), (n, lambda i: (a, i))):
        identity = np.full((size, size), s.zero(dtype))
        np.fill_diagonal(identity, s.one(dtype))
        assert_same_bits(tropical.gemm(*product(identity), semiring=semiring, **how), a)


@given(st.data())
@several
def test_zero_annihilates(isa, semiring, dtype, data):
    s, m, n, k = oracle.SEMIRINGS[semiring], *(data.draw(sizes) for _ in range(3))
    a, how = matrix(data, m, k, semiring, dtype), data.draw(hows)
    zeros = np.full((k, n), s.zero(dtype))
    want = np.full((m, n), s.zero(dtype))
    assert_same_bits(tropical.gemm(a, zeros, semiring=semiring, **how), want)


@given(st.data())
@several
def test_associative(isa, semiring, dtype, data):
    m, n, k, h = (data.draw(st.integers(1, 20)) for _ in range(4))
    a, b, c = (matrix(data, *shape, semiring, dtype) for shape in ((m, k), (k, h), (h, n)))
    how = {"semiring": semiring, **data.draw(hows)}
    left = tropical.gemm(tropical.gemm(a, b, **how), c, **how)
    assert_same_bits(left, tropical.gemm(a, tropical.gemm(b, c, **how), **how))


@given(st.data())
@several
def test_distributive(isa, semiring, dtype, data):
    """(A (+) B) C = A C (+) B C; and the sum over p may be split anywhere, by `accumulate`."""
    s, m, n, k = oracle.SEMIRINGS[semiring], *(data.draw(sizes) for _ in range(3))
    a, b, c = (matrix(data, *x, semiring, dtype) for x in ((m, k), (m, k), (k, n)))
    how = {"semiring": semiring, **data.draw(hows)}
    left = tropical.gemm(s.add(a, b), c, **how)
    assert_same_bits(left, s.add(tropical.gemm(a, c, **how), tropical.gemm(b, c, **how)))
    at, whole = data.draw(st.integers(0, k)), tropical.gemm(a, c, **how)
    out = tropical.gemm(a[:, :at], c[:at], **how)
    assert_same_bits(tropical.gemm(a[:, at:], c[at:], out=out, accumulate=True, **how), whole)


@given(st.data())
@several
def test_transposition(isa, semiring, dtype, data):
    """(A B)^T = B^T A^T: every (x) here commutes."""
    a, b, how = factors(data, semiring, dtype)
    assert_same_bits(tropical.gemm(a, b, **how).T, tropical.gemm(b.T, a.T, **how))


@given(st.data())
@several
def test_blocks(isa, semiring, dtype, data):
    """Rows and columns of a product are the products of rows and columns."""
    a, b, how = factors(data, semiring, dtype)
    i, j = data.draw(st.integers(0, a.shape[0])), data.draw(st.integers(0, b.shape[1]))
    whole = tropical.gemm(a, b, **how)
    assert_same_bits(tropical.gemm(a[i:], b[:, :j], **how), whole[i:, :j])


@given(st.data())
@several
def test_argmax_attains(isa, semiring, dtype, data):
    """C[i, j] = a[i, index] (x) b[index, j] wherever C is not the zero."""
    if semiring in ("plustimes", "orand"):
        return
    a, b, how = factors(data, semiring, dtype)
    c, index = tropical.gemm(a, b, return_argmax=True, **how)
    i, j = np.indices(c.shape)
    with np.errstate(invalid="ignore"):  # where C is the zero, infinity may meet 0
        attained = oracle.SEMIRINGS[semiring].multiply(a[i, index], b[index, j])
    proper = c != oracle.SEMIRINGS[semiring].zero(dtype)
    assert np.array_equal(c[proper], attained[proper])


@given(st.data())
@several
def test_the_oracle(isa, semiring, dtype, data):
    """On arrays of any bits: what hypothesis knows to be awkward."""
    m, n, k = (data.draw(st.integers(1, 7)) for _ in range(3))
    a, b = (data.draw(arrays.arrays(dtype, shape)) for shape in ((m, k), (k, n)))
    got = tropical.gemm(a, b, semiring=semiring, **data.draw(hows))
    assert_same_bits(got, oracle.gemm(a, b, semiring))
