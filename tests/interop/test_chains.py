"""Conditional random fields in PyTorch and JAX, against NumPy's results."""

import numpy as np
import pytest
from support import values

from tropical.sequence import crf_log_likelihood

LENGTHS = np.array([6, 4, 0, 1])
STATES = np.array([[0, 1, 2, 1, 0, 0], [2, 2, 1, 0, 0, 0], [0] * 6, [1, 0, 0, 0, 0, 0]])


@pytest.fixture
def model():
    return [values(shape, "float64", i) / 32 for i, shape in enumerate([(3,), (3, 3), (4, 6, 3)])]


@pytest.fixture
def weights():
    return values((4,), "float64", 9)


def wanted(model, weights):
    known = crf_log_likelihood(*model, STATES, LENGTHS)
    return known.value, (
        np.tensordot(weights, known.initial, 1),
        np.tensordot(weights, known.transition, 1),
        weights[:, None, None] * known.emission,
    )


def test_torch(model, weights):
    torch = pytest.importorskip("torch")
    from tropical.interop.torch import crf_log_likelihood as ours

    parts = [torch.tensor(x, requires_grad=True) for x in model]
    states, lengths = torch.tensor(STATES), torch.tensor(LENGTHS)
    value = ours(*parts, states, lengths)
    (value * torch.tensor(weights)).sum().backward()
    want, gradients = wanted(model, weights)
    np.testing.assert_allclose(value.detach().numpy(), want, rtol=1e-14)
    for part, gradient in zip(parts, gradients, strict=True):
        np.testing.assert_allclose(part.grad.numpy(), gradient, rtol=1e-13, atol=1e-15)
    torch.autograd.gradcheck(lambda *x: ours(*x, states, lengths), parts)
    torch.library.opcheck(torch.ops.tropical.crf_log_likelihood, (*parts, states, lengths))
    each = torch.func.vmap(lambda e, s, n: ours(*parts[:2], e, s, n))
    np.testing.assert_allclose(each(parts[2], states, lengths).detach().numpy(), want)
    single = torch.func.vmap(lambda e: ours(*parts[:2], e, states[0]))
    assert single(parts[2]).shape == (4,)
    squares = (ours(*parts, states, lengths) ** 2).sum()
    first = torch.autograd.grad(squares, parts[2], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first[0].sum().backward()


def test_jax(model, weights):
    jax = pytest.importorskip("jax")
    from tropical.interop.jax import crf_log_likelihood as ours

    narrow = [x.astype(np.float32) for x in model]
    want, gradients = wanted(narrow, weights.astype(np.float32))

    def loss(initial, transition, emission):
        return (ours(initial, transition, emission, STATES, LENGTHS) * weights).sum()

    near = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(ours(*narrow, STATES, LENGTHS), want, **near)
    for got in (jax.grad(loss, (0, 1, 2))(*narrow), jax.jit(jax.grad(loss, (0, 1, 2)))(*narrow)):
        for part, gradient in zip(got, gradients, strict=True):
            np.testing.assert_allclose(part, gradient, **near)
    each = jax.vmap(lambda e, s, n: ours(*narrow[:2], e, s, n))
    np.testing.assert_allclose(each(narrow[2], STATES, LENGTHS), want, **near)
