"""PyTorch and JAX with the emulated GPU: their arrays on the CPU say that they lie on a GPU.

Where there is a GPU, also on that one, and CuPy.
"""

import numpy as np
import pytest
import real
from support import assert_same_bits
from test_functions_on_gpu import check_paths, edges
from test_products_on_gpu import small_numbers

import tropical
from tropical import semirings
from tropical.cuda import libraries
from tropical.graph import closure, minimax_paths, shortest_paths, widest_paths
from tropical.sequence import viterbi

DTYPES = ["float32", "float64", "int8", "uint16", "int32", "uint32", "int64"]
PAIRS = [("minplus", dtype) for dtype in (*DTYPES, "float16")] + [("orand", "bool")]


class OnTorch:
    def __init__(self, monkeypatch, gpu):
        self.monkeypatch = monkeypatch
        self.torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
        monkeypatch.setattr(self.torch.Tensor, "__dlpack_device__", lambda _: (2, 0))
        monkeypatch.setattr(self.torch.Tensor, "is_cuda", True)
        self.numpy = self.torch.Tensor.numpy
        monkeypatch.setattr(self.torch.Tensor, "numpy", self.refuse)
        monkeypatch.setattr(self.torch.Tensor, "__array__", self.refuse)
        monkeypatch.setattr(libraries._Torch, "runtime", lambda *_: gpu)

    def put(self, x):
        return self.torch.from_numpy(np.array(x))

    def refuse(self, *_):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def taken(self, x):
        assert isinstance(x, self.torch.Tensor)
        return self.numpy(x)

    def leave(self):
        """Let tensors lie on the CPU."""
        self.monkeypatch.undo()


class OnJax:
    def __init__(self, monkeypatch, gpu):
        self.jax = pytest.importorskip("jax", reason="of JAX, which is not installed")
        kind = type(self.jax.numpy.zeros(1))
        monkeypatch.setattr(kind, "__dlpack_device__", lambda _: (2, 0))
        monkeypatch.setattr(libraries._Jax, "runtime", lambda *_: gpu)

    def put(self, x):
        with libraries.all_dtypes():
            return self.jax.numpy.array(x)

    def taken(self, x):
        assert isinstance(x, self.jax.Array)
        return np.asarray(x)


class ReallyOnTorch(OnTorch):
    def __init__(self, monkeypatch, _):
        self.torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
        if not self.torch.cuda.is_available():
            pytest.skip("PyTorch has no GPU")
        monkeypatch.setattr(self.torch.Tensor, "__array__", self.refuse)
        self.torch.set_default_device("cuda")

    def put(self, x):
        return super().put(x).to(self.torch.get_default_device())

    def taken(self, x):
        assert x.is_cuda
        return x.cpu().numpy()

    def leave(self):
        self.torch.set_default_device("cpu")


class ReallyOnJax(OnJax):
    def __init__(self, *_):
        self.jax = pytest.importorskip("jax", reason="of JAX, which is not installed")
        if self.jax.default_backend() != "gpu":
            pytest.skip("JAX has no GPU")


class ReallyOnCupy:
    def __init__(self, *_):
        self.cupy = pytest.importorskip("cupy", reason="of CuPy, which is not installed")

    def put(self, x):
        return self.cupy.asarray(x)

    def taken(self, x):
        assert isinstance(x, self.cupy.ndarray)
        return self.cupy.asnumpy(x)


REAL = real.is_there()


@pytest.fixture(params=[OnTorch, OnJax, *[ReallyOnTorch, ReallyOnJax, ReallyOnCupy] * REAL])
def library(request, monkeypatch, emulated_gpu):
    library = request.param(monkeypatch, emulated_gpu)
    yield library
    if isinstance(library, OnTorch):
        library.leave()


@pytest.fixture(params=[OnTorch, *[ReallyOnTorch] * REAL])
def on_torch(request, monkeypatch, emulated_gpu):
    return request.param(monkeypatch, emulated_gpu)


@pytest.mark.parametrize("name,dtype", PAIRS)
def test_products(library, name, dtype):
    ring = semirings.get(name)
    a, b = small_numbers((2, 1, 9, 5), dtype, ring, 1), small_numbers((3, 5, 6), dtype, ring, 2)
    got = tropical.gemm(library.put(a), library.put(b), semiring=ring)
    assert_same_bits(library.taken(got), tropical.gemm(a, b, semiring=ring))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_argmax(library, dtype):
    a, b = (small_numbers((20, 20), dtype, semirings.maxplus, seed) for seed in (1, 2))
    got = tropical.gemm(library.put(a), library.put(b), return_argmax=True)
    for x, y in zip(got, tropical.gemm(a, b, return_argmax=True), strict=True):
        assert_same_bits(library.taken(x), y)


def test_products_of_bfloat16(library):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    a = small_numbers((9, 5), "bfloat16", semirings.maxplus)
    if hasattr(library, "cupy"):
        pytest.skip("CuPy has no bfloat16")
    given = library.put(a.astype(np.float32))
    given = given.to(library.torch.bfloat16) if hasattr(given, "to") else given.astype(bfloat16)
    got = tropical.gemm(given, given.T[:, :9], out=None)
    assert "bfloat16" in str(got.dtype)
    got = got.float() if hasattr(got, "float") else got.astype(np.float32)
    want = tropical.gemm(a, a.T[:, :9]).astype(np.float32)
    assert_same_bits(library.taken(got), want)


def test_operands_of_two_dtypes(library):
    a, b = (small_numbers((7, 7), dtype, semirings.minplus) for dtype in ("int16", "int64"))
    got = tropical.gemm(library.put(a), library.put(b), semiring="minplus")
    assert_same_bits(library.taken(got), tropical.gemm(a, b, semiring="minplus"))


def test_out_and_strides(on_torch):
    a, b = (small_numbers((40, 40), "float32", semirings.maxplus, seed) for seed in (1, 2))
    x, y = on_torch.put(a).T[::2], on_torch.put(b)[:, ::3]
    out = on_torch.torch.zeros(14, 20).T
    assert tropical.gemm(x, y, out=out, accumulate=True) is out
    want = np.zeros((20, 14), np.float32)
    tropical.gemm(a.T[::2], b[:, ::3], out=want, accumulate=True)
    assert_same_bits(on_torch.taken(out), want)


def test_a_tensor_that_requires_gradients_is_refused(on_torch):
    """As on the CPU: the result would have none, and nobody would know."""
    x = on_torch.torch.zeros(3, 3, requires_grad=True)
    for function in (tropical.gemm, lambda *xs: tropical.einsum("ij,jk", *xs)):
        with pytest.raises(BufferError, match="without requires_grad"):
            function(x, x.detach())


def test_a_tensor_that_is_negated_lazily_is_refused(on_torch):
    """In memory its numbers have the other sign."""
    x = on_torch.torch.zeros(3, 3, dtype=on_torch.torch.complex64).conj().imag
    y = on_torch.torch.zeros(3, 3)
    for operands, out in (((x, y), None), ((y, x), None), ((y, y), x)):
        with pytest.raises(BufferError, match="see resolve_neg"):
            tropical.gemm(*operands, out=out)


@pytest.mark.parametrize("subscripts", ["ij,jk->ki", "iij,jk", "bij,bjk->bik", "ij,k->jki"])
def test_einsum(library, subscripts):
    lengths = {"b": 2, "i": 4, "j": 5, "k": 3}
    first, second = subscripts.partition("->")[0].split(",")
    a = small_numbers([lengths[i] for i in first], "float32", semirings.maxplus, 1)
    b = small_numbers([lengths[i] for i in second], "float32", semirings.maxplus, 2)
    got = tropical.einsum(subscripts, library.put(a), library.put(b))
    want = tropical.einsum(subscripts, a, b)
    assert_same_bits(library.taken(got), want)
    out = library.put(np.zeros_like(want))
    if isinstance(library, OnJax):
        with pytest.raises(ValueError, match="out: expected None, as arrays of this library are"):
            tropical.einsum(subscripts, library.put(a), library.put(b), out=out)
    else:
        assert tropical.einsum(subscripts, library.put(a), library.put(b), out=out) is out
        assert_same_bits(library.taken(out), want)


@pytest.mark.parametrize("dtype", ["float32", "uint16", "int64", "float64"])
def test_closure(library, dtype):
    a = np.stack([edges(70, dtype, semirings.minplus, seed) for seed in (1, 2)])
    assert_same_bits(library.taken(closure(library.put(a))), closure(a))


@pytest.mark.parametrize("find", [shortest_paths, widest_paths, minimax_paths])
@pytest.mark.parametrize("directed", [True, False])
def test_paths(library, find, directed):
    ring = semirings.maxmin if find is widest_paths else semirings.minmax
    a = edges(70, "float32", semirings.minplus if find is shortest_paths else ring, 3)
    want = find(a, directed=directed)
    got, before = find(library.put(a), directed=directed, return_predecessors=True)
    assert_same_bits(library.taken(got), want)
    before = library.taken(before)
    assert before.dtype == np.int32
    assert ((before >= 0) == (np.isfinite(want) & ~np.eye(70, dtype=bool))).all()


def test_paths_of_negative_lengths(library):
    h = np.random.default_rng(4).random(70) * 9
    w = (edges(70, "float32", semirings.minplus, 4) - 1 + h[:, None] - h).astype(np.float32)
    w += np.float32(1e-5)  # no cycle improves, though weights round
    for _ in range(2):  # the operand stays as it is
        given = library.put(w)
        lengths, before = shortest_paths(given, return_predecessors=True)
        np.testing.assert_allclose(library.taken(lengths), shortest_paths(w), atol=1e-5)
        assert_same_bits(library.taken(given), w)
    check_paths(w, library.taken(lengths), library.taken(before))
    got = shortest_paths(library.put(w), unweighted=True)
    assert_same_bits(library.taken(got), shortest_paths(w, unweighted=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_viterbi(library, dtype):
    random = np.random.default_rng(5)
    arrays = [random.random(shape).astype(dtype) for shape in ((4,), (4, 4), (3, 6, 4))]
    lengths = np.array([6, 0, 3])
    got = viterbi(*map(library.put, (*arrays, lengths)))
    want = viterbi(*arrays, lengths)
    assert_same_bits(library.taken(got[0]), want[0])
    np.testing.assert_allclose(library.taken(got[1]), want[1], rtol=1e-6)


def test_one_operand_on_the_cpu():
    with pytest.raises(ValueError, match=r"a: expected an array on the GPU, got numpy\.ndarray"):
        libraries.library_of(a=np.zeros(3))


def test_operands_in_different_places(library):
    x = np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match="b: expected an array on the GPU"):
        tropical.gemm(library.put(x), x)


def test_jax_stays_as_it_was(monkeypatch, emulated_gpu):
    library = OnJax(monkeypatch, emulated_gpu)
    x = library.put(np.zeros((2, 2), np.float32))
    tropical.gemm(x, x, return_argmax=True)
    with pytest.warns(UserWarning, match="int64"):
        assert library.jax.numpy.zeros(1, "int64").dtype == np.int32


@pytest.mark.parametrize("scale", [1, 300])
@pytest.mark.parametrize("semiring", ["maxplus", "minmax", "maxtimes", "logplus", "plustimes"])
def test_gradients_of_torch(on_torch, semiring, scale):
    """The first and the second ones, without a copy on the CPU."""
    gemm = pytest.importorskip("tropical.interop.torch").gemm
    ring, torch = semirings.get(semiring), on_torch.torch
    random = np.random.default_rng(6)
    a, b = (scale * random.random(shape) for shape in ((2, 6, 5), (5, 4)))
    a[0, 0] = ring.zero("float64")
    weights = random.normal(size=(2, 6, 4))

    def derivatives():
        x, y = (on_torch.put(z).requires_grad_() for z in (a, b))
        c = gemm(x, y, semiring)
        first = torch.autograd.grad(c, (x, y), on_torch.put(weights), create_graph=True)
        if not first[0].requires_grad:  # they are constant
            return c, *first
        return c, *first, *torch.autograd.grad(sum((z * z).sum() for z in first), (x, y))

    got = derivatives()
    on_torch.leave()
    for x, y in zip(got, derivatives(), strict=True):
        x, y = x.detach().cpu().numpy(), y.detach().numpy()
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)


def test_empty_gradients_over_logplus(on_torch):
    gemm = pytest.importorskip("tropical.interop.torch").gemm
    for shape_a, shape_b in (((3, 0), (0, 2)), ((0, 3), (3, 2)), ((2, 3), (3, 0))):
        x, y = (on_torch.torch.zeros(shape, requires_grad=True) for shape in (shape_a, shape_b))
        gemm(x, y, "logplus").sum().backward()
        assert x.grad.shape == shape_a
        assert not y.grad.any()


def test_einsum_of_torch_with_gradients(on_torch):
    interop = pytest.importorskip("tropical.interop.torch")
    stay = on_torch.torch.tensor([[1.0, 2.0], [5.0, 3.0]], requires_grad=True)
    interop.einsum("ij,jk,kl->", stay, stay, stay).backward()
    np.testing.assert_array_equal(on_torch.taken(stay.grad), [[0, 1], [2, 0]])


def test_autocast_of_a_gpu(on_torch, monkeypatch):
    interop = pytest.importorskip("tropical.interop.torch")
    torch = on_torch.torch
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device == "cuda")
    a, b = torch.rand(3, 3, dtype=torch.float16), torch.rand(3, 3)
    assert interop.gemm(a, b).equal(interop.gemm(a.float(), b))
    assert interop.einsum("ij,jk", a, b).dtype == torch.float32
