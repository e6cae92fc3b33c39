"""tropical.interop.dlpack: arrays of others, by a library of our own, and by PyTorch and JAX."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from layouts import read_only
from support import check_refused

import tropical
from tropical.interop import dlpack

R = np.random.default_rng(0)
A, B = R.random((4, 5)), R.random((5, 3))
C = tropical.gemm(A, B)


class Foreign:
    """An array that knows DLPack alone, and says so if its memory is asked for."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device, self.exports = array, device, 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.exports += 1
        return self.array.__dlpack__(**options)


class Standard(Foreign):
    """One of a library that follows the array API."""

    def __array_namespace__(self):
        return SimpleNamespace(from_dlpack=lambda x: Standard(np.from_dlpack(x)))


def test_without_a_copy(calls):
    result = dlpack.gemm(Foreign(B.T), Foreign(A.T), semiring="minplus")
    assert type(result) is np.ndarray
    assert np.shares_memory(calls[0].a, B) and np.shares_memory(calls[0].b, A)
    np.testing.assert_array_equal(result, tropical.gemm(B.T, A.T, semiring="minplus"))


def test_results_are_of_the_library_of_a():
    c = dlpack.gemm(Standard(A), Foreign(B))
    assert type(c) is Standard
    np.testing.assert_array_equal(c.array, C)
    c, index = dlpack.gemm(Standard(A), B, return_argmax=True)
    assert type(index) is Standard
    want = tropical.gemm(A, B, return_argmax=True)
    np.testing.assert_array_equal(c.array, want[0])
    np.testing.assert_array_equal(index.array, want[1])
    assert type(dlpack.gemm(A, Standard(B))) is np.ndarray
    inner = dlpack.gemm(Standard(A[0]), B[:, 0])
    assert inner.array.shape == () and inner.array == tropical.gemm(A[0], B[:, 0])


@pytest.mark.skipif(
    tuple(map(int, np.__version__.split(".")[:2])) < (2, 3),
    reason="older NumPy reads all arrays of a foreign library as read-only",
)
def test_out():
    memory = np.zeros((4, 3))
    out = Foreign(memory)
    assert dlpack.gemm(Foreign(A), Standard(B), out=out) is out
    np.testing.assert_array_equal(memory, C)
    memory[0] = 9.0
    c, index = dlpack.gemm(A, B, out=out, return_argmax=True)
    assert c is out and type(index) is np.ndarray
    np.testing.assert_array_equal(memory, C)
    memory[0] = 9.0
    dlpack.gemm(A, B, out=out, accumulate=True)
    np.testing.assert_array_equal(memory[0], [9, 9, 9])
    with pytest.raises(ValueError, match=r"out: expected shape \(3, 4\), got \(4, 3\)"):
        dlpack.gemm(B.T, A.T, out=out)


@pytest.mark.parametrize(
    "device, name", [((2, 3), "CUDA:3"), ((10, 0), "ROCm:0"), ((77, 0), "DLPack's device 77:0")]
)
def test_other_devices_are_refused_untouched(device, name):
    for wrong in ("a", "b", "out"):
        given = {"a": Foreign(A), "b": Foreign(B), "out": Foreign(np.zeros((4, 3)))}
        given[wrong].device = device
        message = f"{wrong}: expected an array on the CPU, got one on {name}"
        with pytest.raises(BufferError, match=message):
            dlpack.gemm(**given)
        assert not any(x.exports for x in given.values())


def test_memory_pinned_on_the_host_is_the_cpus():
    np.testing.assert_array_equal(dlpack.gemm(Foreign(A, (3, 0)), Foreign(B, (11, 0))), C)


def test_refuses():
    used = SimpleNamespace(__dlpack_device__=B.__dlpack_device__)
    capsule = B.__dlpack__()
    used.__dlpack__ = lambda **options: capsule
    np.testing.assert_array_equal(dlpack.from_dlpack(used), B)

    class Nowhere(Foreign):
        def __dlpack_device__(self):
            raise ValueError("Unknown device type meta")

    check_refused(
        dlpack.gemm,
        (BufferError, "b: ", A, used),
        (BufferError, r"b: .*meta", A, Nowhere(B)),
        (TypeError, "b: expected an array with __dlpack__, got list", A, [[1.0]]),
        (TypeError, "complex128", Foreign(A.astype(complex)), Foreign(B)),
    )
    text = Foreign(np.array(["text"]))
    check_refused(dlpack.from_dlpack, (BufferError, "x: DLPack only supports", text))
    with pytest.raises(TypeError, match="out: expected an array with __dlpack__, got str"):
        dlpack.gemm(A, B, out="here")


def test_ctrl_c_while_an_array_tells_its_device(monkeypatch):
    monkeypatch.setattr(Foreign, "__dlpack_device__", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tropical.gemm(Foreign(A), B)


def test_arrays_of_numpy_are_returned_as_they_are():
    assert dlpack.from_dlpack(A) is A
    np.testing.assert_array_equal(dlpack.gemm(read_only(A), B), C)


def test_torch():
    torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
    a, b = torch.from_numpy(A), torch.from_numpy(B)
    c, index = dlpack.gemm(a, b, return_argmax=True)
    assert isinstance(c, torch.Tensor) and isinstance(index, torch.Tensor)
    np.testing.assert_array_equal(c, C)
    assert np.shares_memory(dlpack.from_dlpack(a.T), A)
    out = torch.zeros(4, 3, dtype=torch.float64)
    assert dlpack.gemm(A, b, out=out) is out
    np.testing.assert_array_equal(out, C)
    assert dlpack.gemm(a[0], b[:, 0]).shape == ()
    with pytest.raises(BufferError, match="a: Can't export tensors that require gradient"):
        dlpack.gemm(a.requires_grad_(), b)
    with pytest.raises(BufferError, match=r"b: .*meta"):
        dlpack.gemm(b.T, b.to("meta"))
    negated = torch.ones(3, 4, dtype=torch.complex64).conj().imag
    for given in ({"a": negated, "b": negated.T}, {"a": A, "b": B, "out": negated.T}):
        with pytest.raises(BufferError, match=r"(a|out): expected .*, got a lazily negated view"):
            dlpack.gemm(**given)
    half = dlpack.gemm(a.detach().half(), b.half())
    assert half.dtype == torch.float16
    np.testing.assert_array_equal(half, tropical.gemm(A.astype("f2"), B.astype("f2")))


def test_jax():
    jax = pytest.importorskip("jax", reason="of JAX, which is not installed")
    a, b = (jax.numpy.asarray(x, "float32") for x in (A, B))
    c = dlpack.gemm(a, b, semiring="maxtimes")
    assert isinstance(c, jax.Array) and c.dtype == "float32"
    np.testing.assert_array_equal(
        c, tropical.gemm(np.asarray(a), np.asarray(b), semiring="maxtimes")
    )
    with pytest.raises(ValueError, match="out: expected a writeable array"):
        dlpack.gemm(a, b, out=c)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: dlpack.gemm(t.clone(), t.clone(), out=t),
        lambda t: dlpack.gemm(t.clone(), t.clone(), out=t, return_argmax=True),
        lambda t: tropical.einsum("ij,jk->ik", t.clone(), t.clone(), out=t),
        lambda t: tropical.graph.closure(t, overwrite=True),
    ],
)
def test_pytorch_knows_which_tensors_were_written(write):
    torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
    x, t = torch.ones(3, 3, requires_grad=True), torch.ones(3, 3)
    y = (x * t).sum()
    tropical.graph.closure(t)
    dlpack.gemm(t, t)
    y.backward(retain_graph=True)  # nothing was written
    write(t)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    with torch.inference_mode():
        write(torch.ones(3, 3))  # such tensors count no versions
