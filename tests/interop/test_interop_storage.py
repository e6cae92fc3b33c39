"""float16 and bfloat16 of other libraries: the answers of float32, rounded once."""

import sys

import numpy as np
import pytest
from support import STORED_DTYPES, assert_same_bits, random_bits

import tropical
from tropical import graph, semirings
from tropical.extras import NotInstalledError
from tropical.interop import dlpack

HALVES = [dtype.name for dtype in STORED_DTYPES]
dtypes = pytest.mark.parametrize("dtype", STORED_DTYPES, ids=HALVES)


def fractions(shape, dtype, seed=1, none=None):
    bits = random_bits(shape, seed)
    x = (1 + (bits % np.uint64(1000)).astype(np.float32) / 128).astype(dtype)
    if none is not None:
        x[bits % np.uint64(3) == 0] = none
    return x


def wide(*arrays):
    return [x.astype(np.float32) for x in arrays]


@dtypes
def test_dask(dtype):
    da = pytest.importorskip("dask.array", reason="dask is optional")
    from tropical.interop import dask

    a, b = fractions((9, 40), dtype), fractions((40, 7), dtype, 2)
    lazy = [da.from_array(x, chunks=(4, 6)) for x in (a, b)]
    want, where = tropical.gemm(a, b, return_argmax=True)
    assert_same_bits(dask.gemm(*lazy).compute(), want)
    c, index = dask.gemm(*lazy, return_argmax=True)
    assert c.dtype == dtype
    assert_same_bits(c.compute(), want)
    np.testing.assert_array_equal(index.compute(), where)
    w = fractions((20, 20), dtype, 3, np.inf)
    lengths = graph.shortest_paths(w, "FW")
    for function in (dask.shortest_paths, dask.closure):
        whole = function(da.from_array(w, chunks=20))
        assert whole.dtype == dtype
        assert_same_bits(whole.compute(), lengths)  # in chunks the order of sums is another
    lazy = da.from_array(w, chunks=6)
    chunks = dask.shortest_paths(lazy.astype(np.float32)).compute()
    assert_same_bits(dask.shortest_paths(lazy).compute(), chunks.astype(dtype))


@dtypes
@pytest.mark.parametrize("integer", ["int8", "uint8"])
@pytest.mark.parametrize("semiring", ["minplus", "minmax", "maxmin", "mintimes"])
def test_dask_of_integers_and_halves(dtype, integer, semiring):
    """The zero of integers, such as 127 over minplus, is the zero of float32."""
    da = pytest.importorskip("dask.array", reason="dask is optional")
    from tropical.interop import dask

    zero = semirings.get(semiring).zero(integer)
    a = np.array([[zero, 3, 5, zero]], integer)
    b = np.array([[-200], [1], [2], [-300]], np.float32).astype(dtype)
    for x, y in ((a, b), (b.T, a.T)):
        lazy = [da.from_array(operand, chunks=(1, 2)) for operand in (x, y)]
        got = dask.gemm(*lazy, semiring=semiring, return_argmax=True)
        want = tropical.gemm(x, y, semiring=semiring, return_argmax=True)
        for part, whole in zip(got, want, strict=True):
            assert_same_bits(part.compute(), whole)


def test_pandas():
    """pandas has columns of float16, not of bfloat16."""
    pd = pytest.importorskip("pandas", reason="the frames are pandas'")
    from tropical.interop import pandas

    w = fractions((6, 6), np.float16, none=np.inf)
    frame = pd.DataFrame(w)
    assert_same_bits(pandas.shortest_paths(frame).to_numpy(), graph.shortest_paths(w))
    assert_same_bits(pandas.closure(frame).to_numpy(), graph.closure(w))
    missing = frame.where(frame < np.inf)
    assert_same_bits(pandas.closure(missing).to_numpy(), graph.closure(w))
    product, through = pandas.gemm(frame, frame, semiring="minplus", return_argmax=True)
    assert_same_bits(product.to_numpy(), tropical.gemm(w, w, semiring="minplus"))
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 2], "weight": np.float16([0.1, 3])})
    assert (pandas.from_edges(edges).to_numpy().dtype, through.shape) == (np.float16, w.shape)


def of_torch(torch, x, dtype):
    """A tensor of an array; PyTorch knows no array of ml_dtypes."""
    return torch.from_numpy(x.astype(np.float32)).to(getattr(torch, dtype))


@pytest.mark.parametrize("half", HALVES)
def test_torch(half):
    torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
    from tropical.interop import torch as interop

    dtype = getattr(torch, half)
    a, b, w = (
        of_torch(torch, fractions(shape, np.float32, seed, none), half)
        for shape, seed, none in [((9, 40), 1, None), ((40, 7), 2, None), ((20, 20), 3, np.inf)]
    )
    for function, *operands in [
        (interop.gemm, a, b),
        (lambda x, y, z: interop.einsum("ij,jk,kl->il", x, y, z, semiring="minplus"), a, b, b.mT),
        (interop.closure, w),
        (lambda x: interop.shortest_paths(x, directed=False), w),
    ]:
        got, want = function(*operands), function(*(x.float() for x in operands))
        assert got.dtype == dtype
        assert torch.equal(got, want.to(dtype))
    a.requires_grad_()
    interop.gemm(a, b).sum().backward()
    x = a.detach().float().requires_grad_()
    interop.gemm(x, b.float()).sum().backward()
    assert a.grad.dtype == dtype and torch.equal(a.grad, x.grad.to(dtype))


@dtypes
def test_torch_tensors_in_functions_of_arrays(dtype):
    """Which answer alike, by DLPack."""
    torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
    w = fractions((12, 12), dtype, none=np.inf)
    tensor = of_torch(torch, w, dtype.name)
    for function in (
        graph.shortest_paths,
        graph.closure,
        lambda x: dlpack.gemm(x, x),
        lambda x: tropical.einsum("ij,jk", x, x),
    ):
        assert torch.equal(function(tensor), of_torch(torch, function(w), dtype.name))


def test_torch_bfloat16_by_dlpack(monkeypatch):
    """NumPy's DLPack knows no bfloat16, so that its bits pass."""
    torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="of ml_dtypes, which is not installed")
    a, b = (of_torch(torch, fractions(s, np.float32), "bfloat16") for s in ((4, 5), (5, 3)))
    want = of_torch(torch, tropical.gemm(a.float().numpy(), b.float().numpy()), "bfloat16")
    out = torch.zeros(4, 3, dtype=torch.bfloat16)
    c, index = dlpack.gemm(a, b, out=out, return_argmax=True)
    assert c is out and index.dtype == torch.int64
    for got in (out, dlpack.gemm(a, b), dlpack.gemm(a.mT.contiguous().mT, b)):
        assert torch.equal(got, want)
    view = dlpack.from_dlpack(a)
    assert view.dtype == ml_dtypes.bfloat16 and view.ctypes.data == a.data_ptr()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(NotInstalledError, match=r"ml_dtypes"):
        dlpack.gemm(a, b)


@pytest.mark.parametrize("half", HALVES)
def test_jax(half):
    jax = pytest.importorskip("jax", reason="of JAX, which is not installed")
    from tropical.interop import jax as interop

    a, b, w = (
        jax.numpy.asarray(fractions(shape, np.float32, seed, none), half)
        for shape, seed, none in [((9, 40), 1, None), ((40, 7), 2, None), ((20, 20), 3, np.inf)]
    )
    for function, *operands in [
        (interop.gemm, a, b),
        (lambda x, y, z: interop.einsum("ij,jk,kl->il", x, y, z, semiring="minplus"), a, b, b.T),
        (interop.closure, w),
        (interop.shortest_paths, w),
        (lambda x, y: dlpack.gemm(x, y), a, b),
    ]:
        got, want = function(*operands), function(*(x.astype("float32") for x in operands))
        assert isinstance(got, jax.Array) and got.dtype == half
        assert (got == want.astype(half)).all()
    got = jax.grad(lambda x: interop.gemm(x, b).sum().astype("float32"))(a)
    assert got.dtype == half and got.any()
