"""Operands' shapes as np.matmul takes them: batches, vectors, empties; promotion of dtypes."""

import itertools
import re

import numpy as np
import oracle
import pytest
from support import EXACT, FEW, KERNELS, MATMUL_SHAPES, THREADS, assert_same_bits, check, values

import tropical

pytestmark = pytest.mark.portable

WRONG = [
    ((3,), (4,)),
    ((2, 3), (4, 5)),
    ((2, 3), (2, 3)),
    ((3,), (2, 3)),
    ((2, 3), (2,)),
    ((5, 2, 3), (4, 3, 4)),
    ((5, 2, 3), (2, 3, 4, 4)),
    ((2, 3), (0, 4)),
    ((0, 2, 3), (5, 3, 4)),
]


@pytest.mark.parametrize("shapes", MATMUL_SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_same_as_matmul(isa, shapes, dtype):
    """Values, shape and kind of result: plus-times of small integers against np.matmul."""
    a, b = (values(shape, dtype, i, "ties") for i, shape in enumerate(shapes))
    want = np.matmul(a, b)
    for kernel, threads in itertools.product((None, *KERNELS), (1, 3)):
        got = tropical.gemm(a, b, semiring="plustimes", kernel=kernel, threads=threads)
        assert_same_bits(got + 0, want + 0, f"{kernel}")
        if want.ndim:
            out = np.ones_like(want)
            assert tropical.gemm(a, b, semiring="plustimes", kernel=kernel, out=out) is out
            assert_same_bits(out + 0, want + 0, f"{kernel}")


def as_matrices(a, b):
    return (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_every_semiring_in_every_shape(isa, semiring, dtype):
    for shapes, kernel in itertools.product(MATMUL_SHAPES, KERNELS):
        a, b = (values(shape, dtype, i) for i, shape in enumerate(shapes))
        want = oracle.gemm(*as_matrices(a, b), semiring)
        want = want.reshape(np.matmul(np.ones(shapes[0]), np.ones(shapes[1])).shape)
        check(a, b, semiring, want, kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", FEW)
@pytest.mark.parametrize("m,n,k", [(3, 5, 4), (16, 16, 16), (33, 70, 20), (1, 40, 40)])
def test_large_batches(isa, semiring, dtype, m, n, k):
    """Threads spread over the batch, over the tiles of each product, or both."""
    a, b = values((7, 9, m, k), dtype, 1), values((9, k, n), dtype, 2)
    want = oracle.gemm(a, b, semiring)
    for kernel, threads in itertools.product((None, *KERNELS), THREADS):
        check(a, b, semiring, want, kernel=kernel, threads=threads)
    strided = a.transpose(1, 0, 2, 3)[::-1, ::2]
    check(strided, b[::-1, None], semiring, want.transpose(1, 0, 2, 3)[::-1, ::2])
    out = np.ones((*want.shape[::-1],), want.dtype).T
    check(a, b, semiring, want, out=out)


@pytest.mark.parametrize("semiring,dtype", FEW)
def test_rules_hold_in_each_product_of_a_batch(isa, semiring, dtype):
    """A NaN or a large integer in one changes no other."""
    a, b = values((6, 5, 8), dtype, 1), values((6, 8, 18), dtype, 2)
    a[2], b[4] = values((5, 8), dtype, 3, "nan"), values((8, 18), dtype, 4, "nan")
    for kernel, threads in itertools.product((None, *KERNELS), (1, 3)):
        check(a, b, semiring, oracle.gemm(a, b, semiring), kernel=kernel, threads=threads)


@pytest.mark.parametrize("shapes", WRONG, ids=str)
def test_mismatched_shapes(shapes):
    a, b = np.zeros(shapes[0]), np.zeros(shapes[1])
    with pytest.raises(ValueError, match=r"mismatch|broadcast"):
        np.matmul(a, b)
    with pytest.raises(ValueError, match=re.escape(str(shapes[0]))) as error:
        tropical.gemm(a, b)
    assert str(shapes[1]) in str(error.value)


@pytest.mark.parametrize("a,b", [(1.0, [[1.0]]), ([1.0], 2.0), (np.float32(1), np.ones((1, 1)))])
def test_scalars_are_refused(a, b):
    with pytest.raises(ValueError, match="dimension"):
        tropical.gemm(a, b)


def test_array_likes():
    class Array:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0, 2.0]], dtype)

    assert tropical.gemm([[1.0, 2.0]], [[3.0], [1.0]]).tolist() == [[4.0]]
    assert tropical.gemm([[1, 2]], ((3,), (1,))).dtype == np.array([1]).dtype
    assert tropical.gemm(Array(), [3.0, 1.0]).tolist() == [4.0]
    assert tropical.gemm(memoryview(np.ones((2, 2))), np.ones(2)).tolist() == [2.0, 2.0]
    assert tropical.gemm([[True]], [[True]], semiring="orand").tolist() == [[True]]


NUMERIC = ["float32", "float64", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("one", NUMERIC)
@pytest.mark.parametrize("other", NUMERIC)
def test_promotion(one, other):
    """As np.result_type; the values are converted before they are multiplied."""
    a, b = values((4, 5), one, 1, "ties"), values((5, 6), other, 2, "ties")
    common = np.result_type(a, b)
    check(a, b, "maxplus", oracle.gemm(a.astype(common), b.astype(common), "maxplus"))


UNKNOWN = ["uint64", "complex128", "longdouble", "object", "U1", "M8[s]"]


@pytest.mark.parametrize("dtype", [*UNKNOWN, "bool"])
def test_other_dtypes_are_refused(dtype):
    x = np.ones((2, 2)).astype(int).astype(dtype)
    with pytest.raises(TypeError, match=re.escape(str(x.dtype))):
        tropical.gemm(x, x)


@pytest.mark.parametrize("dtype", [*UNKNOWN, "float16", "bool", *NUMERIC[2:]])
def test_logplus_is_for_floats(dtype):
    x = np.ones((2, 2)).astype(int).astype(dtype)
    with pytest.raises(TypeError, match=rf"{re.escape(str(x.dtype))}.*logplus.* float32, float64"):
        tropical.gemm(x, x, semiring="logplus")


@pytest.mark.parametrize("dtype", NUMERIC)
def test_orand_is_for_booleans(dtype):
    x = np.ones((2, 2), dtype)
    with pytest.raises(TypeError, match=dtype):
        tropical.gemm(x, x, semiring="orand")
