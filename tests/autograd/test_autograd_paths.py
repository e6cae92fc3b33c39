"""Gradients of stars and of shortest paths: those of the products along the paths."""

import numpy as np
import pytest
from support import check_refused

from tropical import autograd, graph, semirings
from tropical.autograd import Tensor, check_gradients, trees

SELECTIVE = [ring for ring in semirings.ALL if ring.selective]
INF = np.inf


def random_arcs(ring, shape, seed=0):
    """Arcs that no cycle improves, and where they are; half of all are missing."""
    rng = np.random.default_rng(seed)
    arcs = rng.random(shape) + (ring.name == "mintimes")
    arcs = -arcs if ring.name == "maxplus" else arcs
    there = rng.random(shape) < 0.5
    return np.where(there, arcs, ring.zero("float64")), there


@pytest.mark.parametrize("ring", SELECTIVE, ids=lambda ring: ring.name)
@pytest.mark.parametrize("shape", [(5, 5), (2, 4, 4), (9, 9)])
def test_gradients_of_stars(ring, shape):
    arcs, there = random_arcs(ring, shape)
    places = np.cumsum(there).reshape(shape) - 1

    def star(weights):
        given = autograd.where(there, weights[places.clip(0)], ring.zero("float64"))
        values = autograd.closure(given, ring)
        return autograd.where(np.isfinite(values.data), values, 0.0)

    check_gradients(star, arcs[there], order=2)
    np.testing.assert_array_equal(
        autograd.closure(Tensor(arcs, requires_grad=True), ring).data, graph.closure(arcs, ring)
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"directed": False},
        {"indices": 2},
        {"indices": [[0, 1], [-1, 2]]},
        {"indices": [1], "targets": [3, 3, -2]},
        {"targets": 2, "method": "D"},
    ],
    ids=str,
)
def test_lengths_are_their_arcs(options):
    """A length is linear in the weights, so it is the sum of the weights times its gradient."""
    arcs, there = random_arcs(semirings.minplus, (8, 8), seed=1)
    w = Tensor(arcs, requires_grad=True)
    lengths, want = autograd.shortest_paths(w, **options), graph.shortest_paths(arcs, **options)
    assert lengths.shape == np.shape(want)
    np.testing.assert_array_equal(lengths.data, want)
    for place in np.ndindex(lengths.shape):
        w.grad = None
        lengths[place].backward(retain_graph=True)
        if np.isfinite(lengths.data[place]):
            assert (w.grad.data[there] * arcs[there]).sum() == pytest.approx(lengths.data[place])
        assert not w.grad.data[~there].any()


def test_long_paths_and_ties():
    n = 300
    chain = np.full((n, n), INF)
    chain[np.arange(n - 1), np.arange(1, n)] = 1
    w = Tensor(chain, requires_grad=True)
    autograd.closure(w)[0, -1].backward()
    np.testing.assert_array_equal(w.grad.data, chain == 1)
    square = np.array([[INF, 1, 1, INF], [INF, INF, INF, 1], [INF, INF, INF, 1], [INF] * 4])
    w = Tensor(square, requires_grad=True)
    autograd.shortest_paths(w, "FW")[0, 3].backward()
    _, before = graph.shortest_paths(square, "FW", return_predecessors=True)
    via = before[0, 3]
    assert w.grad.data[0, via] == w.grad.data[via, 3] == 1 and w.grad.data.sum() == 2


def test_negative_weights_and_cycles_of_weight_zero():
    rng = np.random.default_rng(0)
    h = rng.random(12)
    w = Tensor(h[:, None] - h, requires_grad=True)  # all cycles are 0, but for rounding
    lengths = autograd.closure(w)
    lengths.sum().backward()
    assert (w.grad.data * w.data).sum() == pytest.approx(lengths.data.sum(), abs=1e-12)
    with pytest.raises(graph.DivergenceError):
        autograd.closure(Tensor([[-1.0]], requires_grad=True))


def test_without_gradients():
    arcs, _ = random_arcs(semirings.minplus, (4, 4))
    for function in (autograd.closure, autograd.shortest_paths):
        assert type(function(arcs)) is np.ndarray
        assert not function(Tensor(arcs)).requires_grad
        with autograd.no_grad():
            assert not function(Tensor(arcs, requires_grad=True)).requires_grad
        empty = function(Tensor(np.zeros((0, 0)), requires_grad=True))
        assert empty.shape == (0, 0)
        empty.sum().backward()


def test_rounds():
    for n in range(1, 70):
        before = np.arange(-1, n - 1)[None]  # a path of n - 1 arcs
        assert len(list(trees.ancestors(before))) == trees.rounds(n) == max(n - 2, 0).bit_length()


def test_refuses():
    x = Tensor(np.ones((2, 3)), requires_grad=True)
    square = Tensor(np.ones((2, 2)), requires_grad=True)
    check_refused(
        autograd.closure,
        (ValueError, r"a: expected .*\(2, 3\)", x),
        (ValueError, "expected an idempotent one, got logplus", square, "logplus"),
        (ValueError, "got a NaN", Tensor([[np.nan]], requires_grad=True)),
    )
    check_refused(
        autograd.shortest_paths,
        (ValueError, r"w: expected .*\(2, 3\)", x),
        (ValueError, "method", square, "X"),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_star_of_negative_arcs_is_that_of_graph(dtype):
    rng = np.random.default_rng(5)
    a = np.triu(rng.integers(-9, 9, (3, 12, 12)), 1).astype(dtype)  # without cycles
    a[a == 0] = INF
    a[:, [1, 4, 7], [3, 5, 11]] = -INF
    values, before = trees.star(a, "minplus")
    np.testing.assert_array_equal(values, graph.closure(a))
    arcs = np.take_along_axis(a, before.clip(0), 1)
    whole = np.take_along_axis(values, before.clip(0), 2) + arcs
    np.testing.assert_array_equal(np.where(before > trees.NONE, whole, values), values)


def test_gradient_of_a_path_of_weight_minus_infinity():
    a = Tensor(np.array([[0, -INF, INF], [INF, 0, 2], [INF, INF, 0]]), requires_grad=True)
    star = autograd.closure(a)
    np.testing.assert_array_equal(star.data, graph.closure(a.data))
    star[0, 2].backward()
    np.testing.assert_array_equal(a.grad.data, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize("weight", [-3.0, -INF])
def test_a_cycle_gives_the_same_error_with_gradients(weight):
    a = np.array([[0, weight], [1, 0]])
    with pytest.raises(graph.DivergenceError) as plain:
        autograd.closure(a)
    with pytest.raises(graph.DivergenceError) as recorded:
        autograd.closure(Tensor(a, requires_grad=True))
    assert str(plain.value) == str(recorded.value)


@pytest.mark.parametrize("place", [(1, 2), (0, 1), (0, 2)])
def test_an_infinite_arc_leaves_the_gradients_of_others(place):
    """Of a single arc the gradient is 1; the product of the infinite one and others has none."""
    for arcs in (
        [[0, INF, 0], [0, 0, 0.5], [0, 0, 0]],
        [[0, INF, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0.5], [0, 0, 0, 0]],
    ):
        a = Tensor(np.array(arcs), requires_grad=True)
        star = autograd.closure(a, "maxtimes")
        np.testing.assert_array_equal(star.data, graph.closure(a.data, "maxtimes"))
        star[place].backward()
        want = np.zeros(a.shape)
        want[place] = place != (0, 2)
        np.testing.assert_array_equal(a.grad.data, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_star_of_great_arcs_beside_an_endless_one(dtype):
    n, most = 100, 1e37 if dtype == "float32" else 1e290
    arcs = np.full((n, n), INF, dtype)
    arcs[0, 1:], arcs[1, 2] = np.linspace(-most, most, n - 1), -INF
    a = Tensor(arcs, requires_grad=True)
    star = autograd.closure(a)
    np.testing.assert_array_equal(star.data, graph.closure(arcs))
    star[0, 5].backward()
    assert a.grad.data[0, 5] == a.grad.data.sum() == 1


def test_great_arcs_beside_an_endless_one_have_no_gradients_where_float64_ends():
    a = np.array([[INF, -1e305, INF], [INF, INF, -INF], [INF, INF, INF]])
    with pytest.raises(ValueError, match=r"a: expected arcs beside -inf that are less than 1e300"):
        autograd.closure(Tensor(a, requires_grad=True))
