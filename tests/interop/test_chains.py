"""Chains with gradients in PyTorch and JAX, against NumPy's results."""

import importlib

import numpy as np
import pytest
from support import values

from tropical.sequence import crf_log_likelihood, log_likelihood, posteriors, viterbi

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
    from tropical.interop.torch import log_likelihood as log_of

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
    torch.library.opcheck(torch.ops.tropical.crf_log_likelihood, (*parts, states % 3, None))
    each = torch.func.vmap(lambda e, s, n: ours(*parts[:2], e, s, n))
    np.testing.assert_allclose(each(parts[2], states, lengths).detach().numpy(), want)
    single = torch.func.vmap(lambda e: ours(*parts[:2], e, states[0]))
    assert single(parts[2]).shape == (4,)
    squares = (ours(*parts, states, lengths) ** 2).sum()
    first = torch.autograd.grad(squares, parts[2], create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        first[0].sum().backward()
    for function in (lambda e: ours(*parts[:2], e, states), lambda e: log_of(*parts[:2], e)):
        with pytest.raises(RuntimeError, match="no second derivatives"):
            torch.autograd.functional.hessian(lambda e, f=function: f(e).sum(), parts[2].detach())
        each = torch.func.grad(lambda e, f=function: f(e).sum())(parts[2].detach())
        assert each.shape == parts[2].shape


def test_torch_under_autocast(model):
    """Gradients are summed over the sequences in full precision, whatever autocast rounds."""
    torch = pytest.importorskip("torch")
    from tropical.interop.torch import crf_log_likelihood as ours

    parts = [torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in model]
    states, lengths = torch.tensor(STATES), torch.tensor(LENGTHS)
    want = torch.autograd.grad(ours(*parts, states, lengths).sum(), parts)
    with torch.autocast("cpu", torch.bfloat16):
        got = torch.autograd.grad(ours(*parts, states, lengths).sum(), parts)
    for one, other in zip(got, want, strict=True):
        assert torch.equal(one, other)
    halves = [x.detach().bfloat16().requires_grad_() for x in parts]
    for one, other in zip(
        torch.autograd.grad(ours(*halves, states, lengths).sum(), halves),
        torch.autograd.grad(ours(*(x.float() for x in halves), states, lengths).sum(), halves),
        strict=True,
    ):
        assert one.dtype == torch.bfloat16 and torch.equal(one, other)


@pytest.mark.parametrize(
    "kinds", [("float64", "float32", "float32"), ("int8",) * 3, ("int64",) * 3]
)
@pytest.mark.parametrize("name", ["log_likelihood", "viterbi"])
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:torch", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_compiled_for_mixed_dtypes(model, kinds, name):
    """The compiler allocates by the dtype that the operator promises."""
    torch = pytest.importorskip("torch")
    ours = getattr(importlib.import_module("tropical.interop.torch"), name)
    parts = [torch.tensor(x).to(getattr(torch, kind)) for x, kind in zip(model, kinds, strict=True)]

    def doubled(*parts):
        known = ours(*parts)
        return ((known[1] if name == "viterbi" else known) + 1) * 2

    got, want = torch.compile(doubled, backend="aot_eager", fullgraph=True)(*parts), doubled(*parts)
    assert got.dtype == want.dtype == torch.float64
    assert torch.equal(got, want)
    operator = getattr(torch.ops.tropical, name)
    torch.library.opcheck(operator, (*parts, None), test_utils="test_faketensor")


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


def test_torch_likelihoods_and_paths(model, weights):
    torch = pytest.importorskip("torch")
    from tropical.interop import torch as ours

    lengths, near = torch.tensor(LENGTHS), {"rtol": 1e-13, "atol": 1e-15}
    parts = [torch.tensor(x, requires_grad=True) for x in model]
    value = ours.log_likelihood(*parts, lengths)
    value.sum().backward()
    np.testing.assert_allclose(value.detach().numpy(), log_likelihood(*model, LENGTHS), **near)
    known = posteriors(*model, LENGTHS)
    np.testing.assert_allclose(parts[1].grad.numpy(), known.transitions.sum(0), **near)
    np.testing.assert_allclose(parts[2].grad.numpy(), known.states, **near)
    paths, scores = ours.viterbi(*parts, lengths)
    for got, want in zip((paths, scores), viterbi(*model, LENGTHS), strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want, **near)
    for function, name in (
        (ours.log_likelihood, "log_likelihood"),
        (lambda *x: ours.viterbi(*x)[1], "viterbi"),
    ):
        torch.autograd.gradcheck(lambda *x, f=function: f(*x, lengths), parts)
        torch.library.opcheck(getattr(torch.ops.tropical, name), (*parts, lengths))
        each = torch.func.vmap(lambda e, n, f=function: f(*parts[:2], e, n))
        np.testing.assert_allclose(
            each(parts[2], lengths).detach().numpy(), function(*parts, lengths).detach().numpy()
        )
    assert ours.viterbi(*(x.detach().float() for x in parts))[1].dtype == torch.float32


def test_jax_likelihoods_and_paths(model, weights):
    jax = pytest.importorskip("jax")
    from tropical.interop import jax as ours

    narrow = [x.astype(np.float32) for x in model]
    near = {"rtol": 1e-5, "atol": 1e-6}
    known = posteriors(*narrow, LENGTHS)

    def likelihood(*parts):
        return (ours.log_likelihood(*parts, LENGTHS) * weights).sum()

    for gradient in (jax.grad(likelihood, (0, 1, 2)), jax.jit(jax.grad(likelihood, (0, 1, 2)))):
        _, to_transition, to_emission = gradient(*narrow)
        np.testing.assert_allclose(
            to_transition, np.tensordot(weights, known.transitions, 1), **near
        )
        np.testing.assert_allclose(to_emission, weights[:, None, None] * known.states, **near)
    want = viterbi(*narrow, LENGTHS)
    for got, right in zip(jax.jit(ours.viterbi)(*narrow, LENGTHS), want, strict=True):
        np.testing.assert_allclose(got, right, **near)
    gradient = jax.grad(lambda e: ours.viterbi(*narrow[:2], e, LENGTHS)[1].sum())(narrow[2])
    np.testing.assert_array_equal(gradient, want[0][..., None] == np.arange(3))
    whole = [np.round(x).astype(int) for x in model]
    np.testing.assert_allclose(ours.log_likelihood(*whole), log_likelihood(*whole), **near)
    each = jax.vmap(lambda e: ours.log_likelihood(*narrow[:2], e))
    np.testing.assert_allclose(each(narrow[2]), log_likelihood(*narrow), **near)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_chains_need_two_axes(library):
    array = pytest.importorskip({"torch": "torch", "jax": "jax.numpy"}[library]).zeros
    ours = importlib.import_module(f"tropical.interop.{library}")
    for function in (ours.log_likelihood, ours.viterbi):
        with pytest.raises(ValueError, match=r"emission: expected \(..., t, s\), got \(3,\)"):
            function(array(3), array((3, 3)), array(3))


def test_torch_refuses_what_is_no_tensor(model):
    torch = pytest.importorskip("torch")
    from tropical.interop.torch import crf_log_likelihood as ours

    given = [*map(torch.tensor, model), torch.tensor(STATES), torch.tensor(LENGTHS)]
    for place, name in enumerate(("initial", "transition", "emission", "states", "lengths")):
        wrong = given.copy()
        wrong[place] = given[place].tolist()
        with pytest.raises(TypeError, match=f"^{name}: expected a torch.Tensor, got list"):
            ours(*wrong)
        wrong[place] = given[place].to_sparse()
        with pytest.raises(ValueError, match=f"^{name}: expected layout torch.strided"):
            ours(*wrong)


@pytest.mark.parametrize("kind", [">f4", "float16", "bfloat16"])
def test_jax_of_other_dtypes(model, kind):
    jnp = pytest.importorskip("jax.numpy")
    from tropical.interop.jax import crf_log_likelihood as ours

    parts = [jnp.asarray(x, kind) if "f4" not in kind else x.astype(kind) for x in model]
    got = ours(*parts, STATES.astype(">i4"), LENGTHS.astype(">i4"))
    want = crf_log_likelihood(*(np.asarray(x, "float32") for x in parts), STATES, LENGTHS)
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, want.value, rtol=1e-5)
