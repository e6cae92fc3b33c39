"""Semiring products of elements: the bits of gemm with k = 1, and NumPy's rules for ufuncs.

Layouts and dtypes are tested beside those of the products of matrices, in test_ufunc.py.
"""

import itertools
import pickle

import numpy as np
import pytest
from support import INSTANCES, assert_same_bits, boundaries, run_python, values

import tropical
from tropical import _core, semirings, ufunc

RINGS = list(semirings.names())
NONNEGATIVE = [s["name"] for s in _core.semirings() if s["nonnegative"]]


def multiply(semiring):
    return getattr(ufunc, f"{semiring}_multiply")


def by_gemm(a, b, semiring):
    """The products of 1 x 1 matrices."""
    a, b = np.broadcast_arrays(a, b)
    c = tropical.gemm(a.reshape(-1, 1, 1), b.reshape(-1, 1, 1), semiring=semiring)
    return c.reshape(a.shape)


def in_domain(x, semiring):
    """Numbers on which the semiring's laws hold: on others zero (+) x is not x."""
    nonnegative = semiring in NONNEGATIVE and x.dtype.kind != "u"
    return np.maximum(x, x.dtype.type(0)) if nonnegative else x


@pytest.mark.parametrize("name", RINGS)
def test_is_a_ufunc(name):
    function = multiply(name)
    assert isinstance(function, np.ufunc) and function.signature is None
    assert function.__name__ == f"{name}_multiply" and "1 x 1" in function.__doc__
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("kind", ["edge", "nan"])
@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_bits_are_those_of_gemm(isa, semiring, dtype, kind):
    a, b = (
        in_domain(values(*x, kind), semiring) for x in (((83, 1), dtype, 1), ((1, 91), dtype, 2))
    )
    assert_same_bits(multiply(semiring)(a, b), by_gemm(a, b, semiring), isa)


@pytest.mark.parametrize("semiring,dtype", [i for i in INSTANCES if i[1] != "bool"])
def test_values_at_boundaries(isa, semiring, dtype):
    x = in_domain(boundaries(dtype), semiring)
    assert_same_bits(multiply(semiring)(x[:, None], x), by_gemm(x[:, None], x, semiring), isa)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
def test_every_length(isa, dtype):
    for n in range(140):
        a, b = values((n,), dtype, 1), values((n,), dtype, 2)
        assert_same_bits(ufunc.minplus_multiply(a, b), by_gemm(a, b, "minplus"), n)


def test_out_that_overlaps(isa):
    n = 1000
    for a, b, out in itertools.product((slice(0, n), slice(n, 0, -1), slice(3, n + 3)), repeat=3):
        x = values((n + 10,), "float32", 3)
        want = by_gemm(x[a].copy(), x[b].copy(), "maxplus")
        assert_same_bits(ufunc.maxplus_multiply(x[a], x[b], out=x[out]), want, a, b, out)


def test_where_and_scalars():
    a, b = values((50,), "float32", 1), values((50,), "float32", 2)
    chosen, out = a > 0, np.full(50, 7, np.float32)
    ufunc.minplus_multiply(a, b, out=out, where=chosen)
    assert_same_bits(out, np.where(chosen, by_gemm(a, b, "minplus"), np.float32(7)))
    assert_same_bits(ufunc.minplus_multiply(a, 2), by_gemm(a, np.float32(2), "minplus"))
    assert ufunc.maxtimes_multiply(3, -4) == -12  # (x) alone, where gemm adds the zero


@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_reduce_and_accumulate(isa, semiring, dtype):
    """One element after the other, from the first one on."""
    function, rows = multiply(semiring), in_domain(values((40, 5), dtype, 1), semiring)
    want = [rows[0]]
    for row in rows[1:]:
        want.append(by_gemm(want[-1], row, semiring))
    assert_same_bits(function.accumulate(rows), np.array(want))
    assert_same_bits(function.reduce(rows), want[-1])
    for column, last in zip(rows.T, want[-1], strict=True):
        assert_same_bits(function.reduce(np.ascontiguousarray(column)), last)
    one = getattr(semirings, semiring).one(dtype)
    assert_same_bits(function.reduce(rows[:0]), np.full(5, one, dtype))


def test_at_and_outer():
    x, y = np.arange(5.0), np.array([1.0, 2.0])
    ufunc.maxplus_multiply.at(x, [1, 1, 4], 10.0)
    assert_same_bits(x, np.array([0.0, 21.0, 2.0, 3.0, 14.0]))
    assert_same_bits(ufunc.maxplus_multiply.outer(x, y), by_gemm(x[:, None], y, "maxplus"))


def test_an_unknown_instruction_set_is_an_error():
    run_python(
        """
        import numpy as np, pytest
        from tropical import ufunc
        for n in (1, 100_000):  # with the GIL, and without it
            with pytest.raises(ValueError, match="TROPICAL_ISA"):
                ufunc.maxplus_multiply(np.ones(n), 1.0)
        """,
        TROPICAL_ISA="abacus",
    )
