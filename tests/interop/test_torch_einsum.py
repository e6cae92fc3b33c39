"""Contractions in PyTorch, against those of arrays and finite differences."""

from functools import partial

import numpy as np
import pytest
from support import check_refused

import tropical

torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
einsum = pytest.importorskip("tropical.interop.torch").einsum
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:torch", "ignore::pytest.PytestUnraisableExceptionWarning"
)

CONTRACTIONS = [
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("iij,jk->k", (2, 2, 3), (3, 2)),
    ("ij,jk,kl->", (2, 3), (3, 2), (2, 2)),
    ("...ij,jk->...k", (2, 2, 3), (3, 2)),
    ("ij->ji", (2, 3)),
    ("ij,kl->k", (2, 2), (2, 1)),
]


def operands(*shapes):
    rng = np.random.default_rng(3)
    return [torch.tensor(rng.random(shape) + 0.5, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("semiring", ["plustimes", "maxplus", "maxtimes", "maxmin", "logplus"])
def test_values_and_gradients(semiring):
    for subscripts, *shapes in CONTRACTIONS:
        tensors = operands(*shapes)
        function = partial(einsum, subscripts, semiring=semiring)
        arrays = [x.detach().numpy() for x in tensors]
        want = tropical.einsum(subscripts, *arrays, semiring=semiring)
        np.testing.assert_allclose(function(*tensors).detach(), want, rtol=1e-14)
        assert torch.autograd.gradcheck(function, tensors)
        assert torch.autograd.gradgradcheck(function, tensors)


def test_every_dtype_and_semiring():
    for ring in tropical.semirings.ALL:
        for dtype in ring.dtypes:
            a = np.arange(6).reshape(2, 3).astype(dtype)
            got = einsum("ij,kj->", *[torch.from_numpy(a)] * 2, semiring=ring)
            want = tropical.einsum("ij,kj->", a, a, semiring=ring)
            np.testing.assert_array_equal(got.numpy(), want)
    nothing = einsum("ij->i", torch.zeros(2, 0), semiring="minplus")
    assert nothing.tolist() == [np.inf, np.inf]


def test_a_sum_of_nothing_can_be_written():
    sums = einsum("ij,jk->ik", torch.zeros(3, 0), torch.zeros(0, 2), semiring="plustimes")
    assert torch.equal(sums.add_(1), torch.ones(3, 2))


def test_compiled_and_mapped():
    function = partial(einsum, "ij,jk,kl->il", semiring="logplus")
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for rows in (2, 5):  # which the compiler then takes for a variable
        tensors = operands((rows, 3), (3, 4), (4, 2))
        got, want = (torch.autograd.grad(f(*tensors).sum(), tensors) for f in (compiled, function))
        for x, y in zip(got, want, strict=True):
            torch.testing.assert_close(x, y)
    for subscripts in ("ij->i", "ij,jk->", "ij,jk,kl->"):  # with sums over indices of one operand
        function = partial(einsum, subscripts)
        tensors = operands((2, 3), (3, 4), (4, 2))[: subscripts.count(",") + 1]
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(*tensors), function(*tensors))
    a, b = operands((5, 2, 3), (5, 3, 2))
    mapped = torch.func.vmap(partial(einsum, "ij,jk->ik"))(a, b)
    torch.testing.assert_close(mapped, einsum("bij,bjk->bik", a, b))


def test_refuses():
    a = torch.rand(2, 3)
    check_refused(
        einsum,
        (TypeError, "operand 1: expected torch.float32, the dtype", "i,j", a[0], a[0].double()),
        (TypeError, "operand 0: expected a torch.Tensor, got ndarray", "ij", a.numpy()),
        (ValueError, "index 'j': expected one length", "ij,jk", a, a),
    )
