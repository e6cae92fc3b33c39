"""Stars and shortest paths in PyTorch, against those of arrays, and their gradients."""

from functools import partial

import numpy as np
import pytest
from support import check_refused

from tropical import autograd, graph, semirings

torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
closure = pytest.importorskip("tropical.interop.torch").closure
shortest_paths = pytest.importorskip("tropical.interop.torch").shortest_paths
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:torch", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def arcs(shape=(6, 6), seed=0):
    rng = np.random.default_rng(seed)
    given = np.where(rng.random(shape) < 0.5, rng.random(shape), np.inf)
    return torch.tensor(given, requires_grad=True)


def finite(x):
    return torch.where(x.isfinite(), x, 0)


@pytest.mark.parametrize("semiring", ["minplus", "maxtimes", "maxmin"])
def test_gradients_of_stars(semiring):
    ring = semirings.get(semiring)
    missing = arcs((2, 5, 5)).isinf()

    def star(a):
        return finite(closure(torch.where(missing, ring.zero("float64"), a), semiring))

    a = torch.rand(2, 5, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(star, a)
    assert torch.autograd.gradgradcheck(star, a)


@pytest.mark.parametrize(
    "options",
    [{"directed": False}, {"indices": [[0, 1], [-1, 2]]}, {"indices": 1, "targets": [3, 3, -2]}],
    ids=str,
)
def test_lengths(options):
    w, same = arcs(), autograd.Tensor(arcs().detach().numpy(), requires_grad=True)
    lengths, engine = shortest_paths(w, **options), autograd.shortest_paths(same, **options)
    np.testing.assert_array_equal(lengths.detach(), engine.data)
    assert torch.equal(shortest_paths(w.detach(), **options), lengths.detach())
    finite(lengths).sum().backward()
    autograd.where(np.isfinite(engine.data), engine, 0.0).sum().backward()
    np.testing.assert_allclose(w.grad, same.grad.data)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "int8"])
def test_gradients_to_targets_of_any_integers(kind):
    w = torch.rand(5, 5, requires_grad=True)
    got, want = (
        torch.autograd.grad(shortest_paths(w, targets=targets).sum(), w)[0]
        for targets in (np.array([1, 0, 1, 0, 1], kind), [1, 0, 1, 0, 1])
    )
    assert torch.equal(got, want)


@pytest.mark.parametrize("gradient", [False, True])
def test_vertices_in_any_layout(gradient):
    w = torch.rand(5, 5, requires_grad=gradient)
    want = shortest_paths(w, indices=[3, 0], targets=[2, 4])
    for indices in (np.array([0, 3])[::-1], np.array([3, 0], ">i8"), torch.tensor([-2, 0])):
        got = shortest_paths(w, indices=indices, targets=np.array([2, 4], ">u2"))
        assert torch.equal(got, want)


def test_gradient_without_targets():
    w = torch.ones(3, 3, requires_grad=True)
    shortest_paths(w, targets=[]).sum().backward()
    assert not w.grad.any()
    with pytest.raises(TypeError, match="targets: expected integers, got dtype float64"):
        shortest_paths(w, targets=np.ones(1))


def test_opcheck():
    operator, w = torch.ops.tropical.paths.default, arcs((3, 6, 6))
    torch.library.opcheck(operator, (w, "minplus", "auto", torch.tensor([1, 2]), None, True))
    torch.library.opcheck(operator, (w.detach().neg(), "maxmin", "", None, None, False))


def test_gradients_of_fake_tensors():
    with pytest.importorskip("torch._subclasses").FakeTensorMode():
        a = torch.ones(2, 5, 5, requires_grad=True)
        (closure(a).sum() + shortest_paths(a, targets=torch.arange(2)).sum()).backward()
        assert a.grad.shape == a.shape


def test_mapped_and_compiled():
    w = arcs((3, 6, 6))
    find = partial(shortest_paths, indices=[0])
    torch.testing.assert_close(torch.func.vmap(find)(w), find(w))
    (want,) = torch.autograd.grad(finite(find(w)).sum(), w)
    slopes = torch.func.vmap(torch.func.grad(lambda x: finite(find(x)).sum()))
    torch.testing.assert_close(slopes(w.detach()), want)
    compiled = torch.compile(find, fullgraph=True, backend="aot_eager")
    for w in (arcs((6, 6)), arcs((9, 9))):  # n is then a variable to the compiler
        got, want = (torch.autograd.grad(finite(f(w)).sum(), w)[0] for f in (compiled, find))
        torch.testing.assert_close(got, want)


def test_other_dtypes():
    w = torch.tensor([[100, 3], [2, 100]], dtype=torch.int32)
    assert closure(w).tolist() == graph.closure(w.numpy()).tolist()
    assert closure(w > 50, "orand").tolist() == [[True, False], [False, True]]
    assert closure(arcs().float()).dtype == torch.float32


def test_refuses():
    x = torch.rand(2, 2)
    check_refused(
        closure,
        (TypeError, "a: expected a torch.Tensor, got ndarray", x.numpy()),
        (ValueError, "expected an idempotent one, got logplus", x, "logplus"),
        (graph.DivergenceError, "a: has no minplus star", -x),
    )
    with pytest.raises(ValueError, match=r"w: expected \(..., n, n\), got \(1, 2\)"):
        shortest_paths(x[:1], directed=False)
    for wrong, error in (["a"], TypeError), ([[0], [0, 1]], ValueError), ([2**70], TypeError):
        with pytest.raises(error, match="targets: "):
            shortest_paths(x, targets=wrong)


@pytest.mark.parametrize("semiring", ["maxmin", "minmax", "maxtimes", "mintimes", "maxplus"])
def test_infinite_values_with_gradients(semiring):
    """A value is the same whether gradients are recorded or not."""
    ring, rng = semirings.get(semiring), np.random.default_rng(0)
    arcs = rng.integers(1, 4, (30, 5, 5)).astype(np.float64)
    arcs[rng.random(arcs.shape) < 0.3] = ring.zero("float64")
    if semiring in ("maxmin", "minmax"):
        arcs[rng.random(arcs.shape) < 0.3] = ring.one("float64")
    else:  # no cycle pays
        arcs[:, np.tri(5, dtype=bool)] = ring.zero("float64")
        arcs[:, 0, 3] = np.inf if semiring != "maxplus" else 3
    want = graph.closure(arcs, semiring)
    assert np.isinf(want).any()
    a, same = torch.tensor(arcs, requires_grad=True), autograd.Tensor(arcs, requires_grad=True)
    got = closure(a, semiring)
    np.testing.assert_array_equal(got.detach(), want)
    got.backward(torch.ones_like(got))
    autograd.closure(same, semiring).backward(np.ones(arcs.shape))
    np.testing.assert_array_equal(a.grad, same.grad.data)
    np.testing.assert_array_equal(torch.vmap(partial(closure, semiring=semiring))(a).detach(), want)


def test_an_infinite_path_leaves_the_gradients_of_others():
    a = torch.tensor([[0, np.inf, 0.5], [0, 0, 0.5], [0, 0, 0]], requires_grad=True)
    (gradient,) = torch.autograd.grad(closure(a, "maxtimes")[1, 2], a)
    assert gradient.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_gradients_of_what_vmap_maps():
    """In any order of the two; a tensor that vmap maps does not say that it has a gradient."""
    x = torch.rand(2, 4, 4, dtype=torch.float64) + 0.1
    expected = x.clone().requires_grad_()
    closure(expected).square().sum().backward()

    def loss(a):
        return closure(a).square().sum()

    mapped = torch.func.grad(lambda a: torch.func.vmap(closure)(a).square().sum())(x)
    torch.testing.assert_close(mapped, expected.grad)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss))(x), expected.grad)
    recorded = x.clone().requires_grad_()
    torch.func.vmap(closure)(recorded).square().sum().backward()
    torch.testing.assert_close(recorded.grad, expected.grad)
