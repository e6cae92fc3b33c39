"""Longest paths, paths of k edges and reachability of sparse graphs: against those of arrays."""

import contextlib
import functools
import itertools

import graphs
import numpy as np
import pytest
from support import check_refused

import tropical
from tropical import _core
from tropical.graph import CycleError, k_edge_paths, longest_paths, path, transitive_closure
from tropical.graph.components import component_numbers, strong_components
from tropical.graph.edge_arrays import Edges

sparse = pytest.importorskip("scipy.sparse", reason="sparse graphs")
csgraph = pytest.importorskip("scipy.sparse.csgraph", reason="strong components")

INF = np.inf
random_graph = functools.partial(graphs.random_csr, least=-4)
SIZES = [(0, 0), (1, 0), (1, 2), (2, 2), (7, 12), (40, 50), (40, 200), (600, 900)]


def dense(graph, ring):
    ring = tropical.semirings.get(ring)
    a = np.full(graph.shape, ring.zero(graph.dtype), graph.dtype)
    source = np.repeat(np.arange(len(a)), np.diff(graph.indptr))
    ring.add_ufunc.at(a, (source, graph.indices), graph.data)
    return a


@pytest.mark.parametrize("n,m", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_longest(n, m, dtype):
    graph = random_graph(n, n, m, dtype, acyclic=True)
    want = longest_paths(dense(graph, "maxplus"))
    got, before = longest_paths(graph, return_predecessors=True)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(longest_paths(graph), want)
    if n == 0:
        return
    rng = np.random.default_rng(n)
    a = dense(graph, "maxplus")
    for i, j in rng.integers(0, n, (40, 2)).tolist():
        stops = path(before, i, j)
        assert bool(stops) == (want[i, j] > -INF)
        if stops:
            assert sum(a[u, v] for u, v in itertools.pairwise(stops)) == want[i, j]
    some, ends = rng.integers(0, n, (2, 3)), rng.integers(0, n, 4)
    for w in (graph, a):
        how = {"indices": some, "targets": ends}
        np.testing.assert_array_equal(longest_paths(w, **how), want[some][..., ends])
        limited = np.where(want < 3, -INF, want)[some]
        np.testing.assert_array_equal(longest_paths(w, indices=some, limit=3), limited)
        best = want[some.ravel()].max(axis=0)
        got, before, first = longest_paths(w, indices=some, min_only=True, return_predecessors=True)
        np.testing.assert_array_equal(got, best)
        for j in range(n):
            assert first[j] == -9999 if got[j] == -INF else want[first[j], j] == got[j]
            if got[j] > -INF:
                assert path(before, int(first[j]), j)[0] == first[j]


def test_longest_refuses():
    ring = sparse.csr_array(([1.0, 2, 3, 4], ([0, 1, 2, 3], [1, 2, 1, 3])), shape=(5, 5))
    with pytest.raises(CycleError, match="expected a graph without cycles") as caught:
        longest_paths(ring, indices=0)
    assert caught.value.cycle in ([1, 2], [2, 1], [3]) and caught.value.weight in (5, 4)
    with pytest.raises(ValueError, match="limit: expected None with predecessors"):
        longest_paths(sparse.csr_array((2, 2)), limit=1, return_predecessors=True)


def test_longest_of_a_chain():
    """No recursion, and no n x n memory."""
    n = 300_000
    chain = sparse.csr_array((np.ones(n - 1), (np.arange(1, n), np.arange(n - 1))), shape=(n, n))
    assert longest_paths(chain, indices=n - 1, targets=0) == n - 1
    assert transitive_closure(chain, indices=[n - 1, 0], targets=[0, 5]).tolist() == [
        [True, True],
        [False, False],
    ]
    assert k_edge_paths(chain, 2, indices=5).path(5, 3) == [5, 4, 3]


@pytest.mark.parametrize("at_most", [False, True])
@pytest.mark.parametrize("ring", ["minplus", "maxplus", "maxmin", "minmax", "maxtimes"])
def test_k_edges(ring, at_most):
    zero = tropical.semirings.get(ring).zero("float64")
    better = np.fmin if zero == INF else np.fmax
    for (n, m), k in itertools.product(SIZES[:-2], (0, 1, 3)):
        graph = random_graph(n, n, m)
        graph.data = abs(graph.data) + 1
        a, rng = dense(graph, ring), np.random.default_rng(n)
        how = {"semiring": ring, "at_most": at_most}
        want, got = k_edge_paths(a, k, **how), k_edge_paths(graph, k, **how)
        np.testing.assert_array_equal(got.values, want.values)
        if n == 0:
            continue
        some, ends = rng.integers(0, n, (2, 3)), rng.integers(0, n, 4)
        for w in (a, graph):
            rows = k_edge_paths(w, k, indices=some, targets=ends, **how)
            np.testing.assert_array_equal(rows.values, want.values[some][..., ends])
            for i, j in itertools.product(some.ravel().tolist(), ends.tolist()):
                assert rows.path(i, j) == want.path(i, j)
            limited = k_edge_paths(w, k, limit=5, **how).values
            worse = better(want.values, 5) != want.values
            np.testing.assert_array_equal(limited, np.where(worse, zero, want.values))
            nearest = k_edge_paths(w, k, indices=some, min_only=True, **how)
            best = better.reduce(want.values[some.ravel()], axis=0)
            np.testing.assert_array_equal(nearest.values, best)
            for j in np.flatnonzero(best != zero):
                starts = [i for i in set(some.ravel().tolist()) if want.values[i, j] == best[j]]
                found = []
                for i in starts:
                    with contextlib.suppress(ValueError):  # where the path begins at another one
                        found.append(nearest.path(i, j))
                assert len(found) == 1 and found[0][-1] == j


def test_k_edges_refuses():
    graph = random_graph(1, 5, 9)
    found = k_edge_paths(graph, 1, indices=[1, 2], targets=[3])
    check_refused(
        found.path,
        (ValueError, "i: expected one of indices, got 0", 0, 3),
        (ValueError, "j: expected one of targets, got 0", 1, 0),
        (IndexError, "i: expected 0 <= i < 5, got 5", 5, 0),
        (IndexError, r"item: expected a graph of a batch \(\), got \(1,\)", 1, 3, (1,)),
    )


@pytest.mark.parametrize("n,m", SIZES)
@pytest.mark.parametrize("reflexive", [False, True, None])
def test_reachability(n, m, reflexive):
    graph = random_graph(n, n, m)
    there = np.zeros((n, n), np.bool_)
    there[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = True
    want = transitive_closure(there, reflexive=reflexive)
    np.testing.assert_array_equal(transitive_closure(graph, reflexive=reflexive), want)
    if n == 0:
        return
    rng = np.random.default_rng(n)
    some, ends = rng.integers(0, n, (2, 3)), rng.integers(0, n, 4)
    reached = np.eye(n, dtype=np.bool_) if reflexive else np.zeros((n, n), np.bool_)
    walks = np.eye(n, dtype=np.bool_)
    for _ in range(2):
        walks = (walks.astype(np.float32) @ there) > 0
        reached |= walks
    if reflexive is None:
        np.fill_diagonal(reached, np.diagonal(there))
    for w in (graph, there):
        how = {"indices": some, "reflexive": reflexive}
        got = transitive_closure(w, targets=ends, **how)
        np.testing.assert_array_equal(got, want[some][..., ends])
        got = transitive_closure(w, limit=2, **how)
        np.testing.assert_array_equal(got, reached[some])
        if reflexive is not None:
            for limit, table in ((None, want), (2, reached)):
                got = transitive_closure(w, min_only=True, limit=limit, targets=ends, **how)
                np.testing.assert_array_equal(got, table[some.ravel()].any(axis=0)[ends])
        got = transitive_closure(w, limit=0, **how)
        none = np.diag(np.diagonal(there)) if reflexive is None else np.eye(n) * bool(reflexive)
        np.testing.assert_array_equal(got, none[some] > 0)


def test_reachability_refuses():
    check_refused(
        lambda options: transitive_closure(sparse.csr_array((3, 3)), **options),
        (ValueError, "limit: expected 0 or more, got -1", {"limit": -1}),
        (ValueError, "reflexive: expected True or False", {"reflexive": None, "min_only": True}),
        (ValueError, "indices: expected -3 <= index < 3, got 3", {"indices": 3}),
    )
    with pytest.raises(ValueError, match="limit: expected None for a batch"):
        transitive_closure(np.zeros((2, 3, 3)), limit=2)


@pytest.mark.parametrize("n,m", SIZES)
def test_components(n, m):
    graph = random_graph(n + 1, n, m)
    source = np.repeat(np.arange(n), np.diff(graph.indptr))
    edges = Edges(n, source, graph.indices.astype(np.intp), graph.data)
    numbers = component_numbers(edges)
    assert (numbers[source] >= numbers[edges.target]).all()
    if n:
        simple = graph.copy()
        simple.sum_duplicates()  # SciPy 1.15 does not end where arcs are parallel
        count, labels = csgraph.connected_components(simple, connection="strong")
        pairs = set(zip(numbers.tolist(), labels.tolist(), strict=True))
        assert len(pairs) == count == numbers.max() + 1
    for vertices, own, positions in strong_components(edges):
        np.testing.assert_array_equal(vertices[own.source], source[positions])
        np.testing.assert_array_equal(vertices[own.target], edges.target[positions])
        assert len(set(numbers[vertices].tolist())) == 1


def test_arrays_that_lie():
    core = _core.Search(np.array([0, 1, 2]), np.array([7, -1], np.int32), np.ones(2))
    assert sorted(core.components().tolist()) == [0, 1]
    one, order = np.zeros(1, np.int32), np.array([0, 1], np.int32)
    values, out = np.empty(2), np.empty(2, np.bool_)
    core.sweep("maxplus", one, False, order, values, None)
    assert values.tolist() == [0, -INF]
    core.reach(one, False, order, None, out)
    assert out.tolist() == [True, False]
    with pytest.raises(ValueError, match="order: expected vertices from 0 to 1, got 2"):
        core.sweep("maxplus", one, False, order + 1, values, None)
    with pytest.raises(ValueError, match="order: expected 2 elements"):
        core.sweep("maxplus", one, False, one, values, None)
