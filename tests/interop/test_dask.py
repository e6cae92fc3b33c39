"""Products of Dask arrays, against gemm on the whole."""

import sys

import numpy as np
import pytest
from support import EXACT, assert_same_bits, check_refused, values

import tropical
from tropical import ufunc
from tropical.extras import NotInstalledError
from tropical.interop.dask import gemm

da = pytest.importorskip("dask.array", reason="dask is optional")


def chunked(shape, dtype, chunks, seed=1, kind="edge"):
    x = values(shape, dtype, seed, kind)
    return x, da.from_array(x, chunks=chunks)


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_bits_are_those_of_gemm(semiring, dtype):
    a, lazy_a = chunked((23, 31), dtype, (7, 9), 1)
    b, lazy_b = chunked((31, 12), dtype, (10, 5), 2)
    got = gemm(lazy_a, lazy_b, semiring=semiring)
    want = tropical.gemm(a, b, semiring=semiring)
    assert (got.shape, got.dtype, got.chunks[1]) == (want.shape, want.dtype, (5, 5, 2))
    assert_same_bits(got.compute(), want)


@pytest.mark.parametrize(
    "left, right",
    [
        (((5,), 2), ((5,), 3)),
        (((5,), 2), ((5, 7), 3)),
        (((6, 5), 4), ((5,), 2)),
        (((4, 6, 5), (3, 4, 2)), ((5,), 2)),
        (((5,), 2), ((4, 5, 6), (3, 2, 4))),
        (((4, 6, 5), (3, 4, 2)), ((5, 7), 4)),
        (((4, 6, 5), (3, 4, 2)), ((4, 5, 7), (2, 5, 3))),
        (((2, 1, 6, 5), (1, 1, 4, 2)), ((4, 5, 7), (2, 5, 3))),
        (((6, 0), 4), ((0, 7), 3)),
        (((0, 6), 4), ((6, 7), 3)),
    ],
)
def test_vectors_batches_and_nothing(left, right):
    a, lazy_a = chunked(left[0], "float32", left[1], 1)
    b, lazy_b = chunked(right[0], "float32", right[1], 2)
    got = gemm(lazy_a, lazy_b, semiring="minplus")
    want = tropical.gemm(a, b, semiring="minplus")
    assert got.shape == want.shape
    assert_same_bits(got.compute(), want)


def test_mixed_operands():
    a, lazy = chunked((6, 5), "int16", 4)
    b = values((5, 3), "float32", 2)
    assert_same_bits(gemm(lazy, b).compute(), tropical.gemm(a, b))
    assert_same_bits(gemm(a.tolist(), lazy.T).compute(), tropical.gemm(a.tolist(), a.T))


def test_sums_that_round():
    a, lazy_a = chunked((40, 300), "float64", 64, 1, "plain")
    b, lazy_b = chunked((300, 30), "float64", 64, 2, "plain")
    np.testing.assert_allclose(gemm(lazy_a, lazy_b, semiring="plustimes"), a @ b, rtol=1e-10)


def test_errors_come_before_the_computation():
    x = da.ones((4, 5), chunks=2)
    batch = r"batch axes that broadcast, got \(2, 1, 1\)"
    check_refused(
        gemm,
        (ValueError, r"got \(4, 5\) and \(4, 5\)", x, x),
        (ValueError, r"got \(\) and \(4, 5\)", da.asarray(1.0), x),
        (ValueError, batch, da.ones((2, 1, 1)), da.ones((3, 1, 1))),
        (TypeError, "uint8", x.astype("u1"), x.T.astype("u1")),
    )
    with pytest.raises(ValueError, match="abacus"):
        gemm(x, x.T, semiring="abacus")


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array", None)  # makes its import fail
    with pytest.raises(NotInstalledError, match="dask"):
        gemm([[1.0]], [[1.0]])


def test_ufuncs_by_apply_gufunc():
    """Dask knows no optional dimensions; told of two, it applies a ufunc over whole core axes."""
    a, lazy_a = chunked((8, 6, 5), "float32", (3, 6, 5), 1)
    b, lazy_b = chunked((8, 5, 4), "float32", (3, 5, 4), 2)
    got = da.apply_gufunc(ufunc.maxplus, "(n,k),(k,m)->(n,m)", lazy_a, lazy_b)
    assert_same_bits(got.compute(), tropical.gemm(a, b))
    with pytest.raises(ValueError, match="signature"):
        ufunc.maxplus(lazy_a, lazy_b)
