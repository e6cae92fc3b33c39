"""Lengths by levels, against SciPy's Dijkstra."""

import numpy as np
import pytest

from tropical.graph import breadth_first, explain_shortest_paths, shortest_paths
from tropical.graph.edges import Edges

sparse = pytest.importorskip("scipy.sparse", reason="the other shortest paths")
csgraph = pytest.importorskip("scipy.sparse.csgraph", reason="the other shortest paths")


def graph(n, edges, seed=0):
    """A sparse array of 1s: loops, parallel edges and vertices without edges among them."""
    source, target = np.random.default_rng(seed).integers(0, n, (2, edges))
    return sparse.coo_array((np.ones(edges), (source, target)), shape=(n, n))


@pytest.mark.parametrize("n,edges", [(64, 0), (64, 100), (65, 300), (129, 100), (200, 3000)])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lengths(n, edges, directed, dtype, monkeypatch):
    monkeypatch.setattr(csgraph, "dijkstra", csgraph.dijkstra)
    w = graph(n, edges)
    want = csgraph.dijkstra(w.tocsr(), directed=directed, unweighted=True)
    monkeypatch.setattr(csgraph, "dijkstra", None)  # not called
    shares = []
    how = {"unweighted": True, "directed": directed, "progress": shares.append}
    got = shortest_paths(w.astype(dtype), "D", **how)
    assert got.dtype == dtype and shares[-1] == 1 and shares == sorted(shares)
    np.testing.assert_array_equal(got, want)
    some = np.random.default_rng(1).integers(0, n, (2, 70))
    got = shortest_paths(w.astype(dtype), "D", indices=some, **how)
    np.testing.assert_array_equal(got, want[some])


def test_blocks_of_sources(monkeypatch):
    monkeypatch.setattr(breadth_first, "WORDS", 1)
    w = graph(200, 700)
    want = csgraph.dijkstra(w.tocsr(), unweighted=True)
    np.testing.assert_array_equal(shortest_paths(w, "D", unweighted=True), want)


@pytest.mark.parametrize("n,sources", [(900, 900), (900, 63), (3, 3)])
def test_many_levels_or_few_sources_are_left_to_dijkstra(n, sources):
    ring = Edges(n, np.arange(n), (np.arange(n) + 1) % n, np.ones(n))
    assert breadth_first.lengths(ring, np.arange(sources), lambda share: None) is None
    w = sparse.coo_array((ring.weight, (ring.source, ring.target)), shape=(n, n))
    got = shortest_paths(w, "D", indices=np.arange(sources))
    np.testing.assert_array_equal(got, (np.arange(n) - np.arange(sources)[:, None]) % n)


def test_weights_that_are_not_1_and_predecessors_are_left_to_dijkstra(monkeypatch):
    monkeypatch.setattr(breadth_first, "lengths", None)
    w = graph(80, 300)
    shortest_paths(w * 2, "D")
    shortest_paths(w, "D", unweighted=True, return_predecessors=True)


def test_the_estimate_knows():
    w = graph(3000, 30000).tocsr()
    weighted, unweighted = (
        float(
            str(explain_shortest_paths(w * 2, unweighted=given))
            .split(" s by search")[0]
            .split()[-1]
        )
        for given in (False, True)
    )
    assert unweighted < weighted / 4
