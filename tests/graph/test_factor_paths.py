"""Paths and new weights of some edges: products along paths, and the same bits as all anew."""

import itertools

import graphs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tropical
from tropical import _core
from tropical.graph import DivergenceError, NegativeCycleError, factorize

nx = pytest.importorskip("networkx", reason="whose graphs are factorized")
sp = pytest.importorskip("scipy.sparse", reason="whose arrays are factorized")


def check_path(path, w, ring, i, j, length, exact=True):
    if length == ring.zero(w.dtype):
        assert path == ([i] if i == j else [])
        return
    assert path[0] == i and path[-1] == j and len(set(path)) == len(path)
    product = ring.one(w.dtype)
    for u, v in itertools.pairwise(path):
        assert w[u, v] != ring.zero(w.dtype)
        product = ring.multiply_ufunc(product, w[u, v])
    if exact:
        assert product == length
    else:
        np.testing.assert_allclose(product, length, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name, dtype", graphs.FACTORS)
def test_paths(name, dtype):
    ring = tropical.semirings.get(name)
    rng = np.random.default_rng(3)
    for w in graphs.thin_and_dense(rng, (1, 2, 5, 40), name, dtype):
        for directed in (True, False):
            graph = w if directed else ring.add_ufunc(w, w.T)
            factor = factorize(w, name, directed=directed)
            lengths = factor.closure()
            for i, j in [(0, 0), *rng.integers(0, len(w), (30, 2)).tolist()]:
                check_path(factor.path(i, j), graph, ring, i, j, lengths[i, j])


@given(st.integers(1, 50), st.floats(0, 0.4), st.integers(0, 2**32 - 1), st.booleans())
def test_paths_round_zero_cycles(n, density, seed, whole):
    rng = np.random.default_rng(seed)
    h = rng.integers(-5, 5, n) if whole else rng.normal(size=n)
    w = np.where(rng.random((n, n)) < density, rng.integers(0, 3, (n, n)) // 2 * 1.0, np.inf)
    w += h[:, None] - h + (0 if whole else 1e-12)
    factor = factorize(w, ordering=rng.permutation(n))
    lengths = factor.closure()
    for i in range(n):
        j = int(rng.integers(n))
        check_path(
            factor.path(i, j - n), w, tropical.semirings.minplus, i, j, lengths[i, j], exact=whole
        )


@pytest.mark.slow
def test_path_of_a_long_chain():
    n = 300_000
    chain = sp.csr_array((np.zeros(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    for order in ("auto", np.arange(n), np.random.default_rng(1).permutation(n)):
        factor = factorize(chain, ordering=order, directed=False)
        assert factor.path(0, -1) == list(range(n))


def test_path_through_a_dense_graph_without_weights():
    """All paths are equal: the search must not try all of them."""
    w = np.zeros((300, 300), np.float32)
    w[0, 1] = np.inf
    factor = factorize(w, ordering=np.arange(300))
    assert len(factor.path(299, 298)) == 2
    w = np.full((300, 300), np.inf)
    w[np.arange(299), np.arange(1, 300)] = w[np.arange(1, 300), np.arange(299)] = 0
    order = np.random.default_rng(4).permutation(300)
    assert factorize(w, ordering=order).path(0, 299) == list(range(300))


def test_refusals_of_paths():
    factor = factorize(nx.path_graph(6))
    with pytest.raises(ValueError, match="i: expected -6 <= index < 6, got 6"):
        factor.path(6, 0)
    with pytest.raises(TypeError, match=r"j: expected an integer, got \[1\]"):
        factor.path(0, [1])
    with pytest.raises(TypeError, match="j: expected integers"):
        factor.path(0, 1.5)


def same_weights(factor, other):
    return all(
        np.array_equal(x != 0 if x.dtype == bool else x, y != 0 if x.dtype == bool else y)
        for x, y in zip(factor._weights.arrays[:2], other._weights.arrays[:2], strict=True)
    )


def random_weights(rng, dtype, count, ring):
    if dtype == "bool":
        return rng.random(count) < 0.7
    w = rng.integers(1, 60, count).astype(dtype)
    if ring.name == "maxplus":
        w = -w
    if ring.name == "maxtimes":  # a product beyond 1 improves in a cycle
        w = (1 if w.dtype.kind == "i" else 0.5 ** (w % 4)) * np.ones(count, dtype)
    w[rng.random(count) < 0.2] = ring.zero(dtype)
    return w


@pytest.mark.parametrize("name, dtype", graphs.FACTORS)
def test_update_edges_gives_the_bits_of_update(name, dtype, monkeypatch):
    monkeypatch.setattr(tropical.graph.weights, "MOST_SHARE", 1)
    ring = tropical.semirings.get(name)
    rng = np.random.default_rng(5)
    for n in (2, 8, 60):
        rows = rng.integers(0, n, 3 * n)
        columns = rng.integers(0, n, 3 * n)
        rows, columns = np.divmod(np.unique(rows * n + columns), n)
        apart = rows != columns
        rows, columns = rows[apart], columns[apart]
        weights = random_weights(rng, dtype, len(rows), ring)
        weights[weights == ring.zero(dtype)] = np.ones(1, dtype)[0] * (
            -1 if name == "maxplus" else 1
        )
        graph = np.full((n, n), ring.zero(dtype), dtype)
        graph[rows, columns] = weights
        for directed in (True, False):
            factor = factorize(graph, name, directed=directed)
            whole = factorize(graph, name, directed=directed)
            now = weights.copy()
            for count in (1, 1, 1, 2, 5, 1, 1, n):
                some = rng.choice(len(rows), min(count, len(rows)), replace=False)
                new = random_weights(rng, dtype, len(some), ring)
                if directed:
                    now[some] = new
                else:
                    for e, value in zip(some, new, strict=True):
                        now[(rows == rows[e]) & (columns == columns[e])] = value
                        now[(rows == columns[e]) & (columns == rows[e])] = value
                factor.update_edges(rows[some], columns[some], new)
                whole.update(now)
                assert same_weights(factor, whole)
                assert np.array_equal(factor.closure(), whole.closure())


@given(st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_update_edges_with_negative_weights(n, seed):
    rng = np.random.default_rng(seed)
    w = np.where(rng.random((n, n)) < 3 / n, rng.integers(-2, 9, (n, n)) * 1.0, np.inf)
    np.fill_diagonal(w, np.inf)
    w[0, 1] = 3
    rows, columns = np.nonzero(w < np.inf)

    def sparse():
        return sp.csr_array((w[rows, columns], (rows, columns)), shape=(n, n))

    try:
        factor = factorize(sparse())
    except NegativeCycleError:
        return
    for e in rng.integers(0, len(rows), 8):
        before = factor.closure()
        new = float(rng.integers(-5, 12))
        w[rows[e], columns[e]], old = new, w[rows[e], columns[e]]
        try:
            want = factorize(sparse(), ordering=factor._weights.elimination.order)
        except NegativeCycleError:
            with pytest.raises(NegativeCycleError, match="cycle of weight"):
                factor.update_edges(rows[e], columns[e], new)
            w[rows[e], columns[e]] = old
            assert np.array_equal(factor.closure(), before)
        else:
            factor.update_edges(rows[e], columns[e], new)
            assert np.array_equal(factor.closure(), want.closure())


def test_update_edges_of_streets():
    factor = factorize(nx.grid_2d_graph(5, 5))
    factor.update_edges(0, [1, 5], np.inf)  # closed, in both directions
    assert factor.lengths(0, 24) == factor.lengths(24, 0) == np.inf and factor.path(0, 24) == []
    factor.update_edges(1, 0, 7)
    assert factor.lengths(0, 24) == 14 and factor.path(24, 0)[-2:] == [1, 0]
    factor.update_edges([0, 0], [1, 1], [3, 4])
    assert factor.lengths(0, 1) == 4
    factor.update_edges(-25, 1, np.float32(2.5))
    assert factor.lengths(0, 1) == 2.5
    factor.update_edges([], [], [])
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from([(0, 1, 5), (0, 1, 2), (1, 1, 3), (1, 2, 1)])
    factor = factorize(graph)
    factor.update_edges(0, 1, 9)  # both edges
    assert factor.lengths(0, 2) == 10
    factor.update_edges(1, 1, 2)
    with pytest.raises(NegativeCycleError):
        factor.update_edges(1, 1, -2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda f: f.update_edges(0, 2, 1), ValueError, "edges of the graph, got from 0 to 2$"),
        (lambda f: f.update_edges(0, [1, 3, 4], 1), ValueError, "from 0 to 3, and 1 more$"),
        (lambda f: f.update_edges(0, 1, np.nan), ValueError, "w: expected numbers, got a NaN"),
        (lambda f: f.update_edges(0, 1, -np.inf), ValueError, "w: expected weights of minplus"),
        (lambda f: f.update_edges(0, 1, -1), NegativeCycleError, "cycle of weight -2"),
        (lambda f: f.update_edges(0, 1, 1j), TypeError, "w: expected real numbers"),
        (lambda f: f.update_edges(0, 6, 1), ValueError, "j: expected -6 <= index < 6, got 6"),
        (
            lambda f: f.update_edges([0, 1], [1, 2, 3], 1),
            ValueError,
            "shapes that NumPy broadcasts",
        ),
        (lambda f: f.update_edges([[0, 1]] * 2, np.ones((1,) * 64, int), 1), ValueError, "NumPy"),
        (lambda f: f.update(["a"] * 5), TypeError, "weights: expected real numbers"),
    ],
)
def test_refusals_of_updates(call, error, message):
    factor = factorize(nx.path_graph(6))
    before = factor.closure()
    with pytest.raises(error, match=message):
        call(factor)
    assert np.array_equal(factor.closure(), before)


def test_integers_are_not_cut():
    factor = factorize(np.array([[0, 5], [7, 0]], np.int16))
    for wrong in (2.5, 70_000, -40_000, np.nan):
        with pytest.raises(ValueError, match="w: expected weights of int16"):
            factor.update_edges(0, 1, wrong)
    factor.update_edges(0, 1, np.inf)
    assert factor.lengths(0, 1) == 32767
    factor.update([0, 3.0, 4, 0])
    assert factor.lengths(0, 1) == 3


def test_other_semirings_diverge():
    factor = factorize(np.array([[-np.inf, 2.0], [-3.0, -np.inf]]), "maxplus")
    with pytest.raises(DivergenceError, match="no maxplus star"):
        factor.update_edges(1, 0, -1)
    assert factor.lengths(1, 0) == -3


def test_loops_of_a_vertex():
    """In the order of the edges, also parallel ones; each is looked up, none is searched for."""
    n = 100_000
    vertex = np.arange(n, dtype=np.int32)
    source, target = (np.concatenate([vertex, x, vertex]) for x in (vertex[:-1], vertex[1:]))
    core = _core.Elimination(n, source, target, vertex)
    edges, counts = core.edges_between(vertex[::-1], vertex[::-1], True)
    assert (counts == 2).all()
    assert np.array_equal(edges.reshape(n, 2), vertex[::-1, None] + [0, 2 * n - 1])
