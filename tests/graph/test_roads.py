"""Factors of the roads of New York and of Florida, against SciPy's Dijkstra from some corners."""

import os
from pathlib import Path

import numpy as np
import pytest

import tropical
from tropical.graph import closeness, factorize, shortest_paths

sp = pytest.importorskip("scipy.sparse", reason="whose arrays are factorized")
dijkstra = pytest.importorskip("scipy.sparse.csgraph", reason="the yardstick").dijkstra
lzma = pytest.importorskip("lzma", reason="the files are compressed")

FOLDER = Path(os.environ.get("ROADS_DIR", "."))
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not (FOLDER / "FLA.gr.xz").is_file(),
        reason="needs roads: set ROADS_DIR to the folder that has NY.gr.xz and FLA.gr.xz",
    ),
]
RTOL = {"float32": 4e-6, "float64": 1e-12}


def read_roads(name):
    """SciPy's array of the roads, each listed once; they are as long as they would be by chance."""
    with lzma.open(FOLDER / f"{name}.gr.xz", "rt") as file:
        n = int(file.readline().split()[2])
        ends = np.loadtxt(file, np.int64) - 1
    weights = np.random.default_rng(0).lognormal(0, 0.6, len(ends))
    return sp.csr_array((weights, tuple(ends.T)), shape=(n, n))


@pytest.fixture(scope="module", params=["NY", "FLA"])
def roads(request):
    """The roads, some corners, and the lengths and predecessors of SciPy from these."""
    graph = read_roads(request.param)
    sources = np.random.default_rng(1).integers(0, graph.shape[0], 4)
    return graph, sources, dijkstra(graph, directed=False, indices=sources)


@pytest.fixture(scope="module")
def new_york():
    graph = read_roads("NY")
    return graph, factorize(graph, directed=False)


@pytest.mark.parametrize("dtype", RTOL)
def test_lengths_and_predecessors_are_those_of_dijkstra(roads, dtype):
    graph, sources, want = roads
    both = (graph + graph.T).tocsr()
    factor = factorize(graph.astype(dtype), directed=False)
    lengths, tree = factor.predecessors(sources, return_lengths=True)
    np.testing.assert_allclose(lengths, want, rtol=RTOL[dtype])
    assert np.array_equal(factor.lengths(sources), lengths)
    for source, before, far in zip(sources, tree, lengths, strict=True):
        assert before[source] == -9999 and not far[source]
        (v,) = np.nonzero(before >= 0)
        assert len(v) == factor.n - 1  # the roads are connected
        steps = np.asarray(both[before[v], v]).ravel()
        assert (steps > 0).all()
        np.testing.assert_allclose(far[before[v]] + steps, far[v], rtol=RTOL[dtype])


def test_methods_and_threads_agree(new_york):
    graph, factor = new_york
    sources, targets = np.random.default_rng(2).integers(0, factor.n, (2, 150))
    table = factor.lengths(sources, targets)
    rows = factor.lengths(sources[:20])
    assert np.array_equal(table[:20], rows[:, targets])
    with tropical.options(threads=2):
        assert np.array_equal(factor.lengths(sources, targets), table)
    searched = shortest_paths(graph, "D", directed=False, indices=sources[:3], targets=targets)
    np.testing.assert_allclose(searched, table[:3], rtol=1e-12)
    chosen = shortest_paths(graph, directed=False, indices=sources)
    np.testing.assert_allclose(chosen[:20], rows, rtol=1e-12)


def test_the_way_back_and_new_weights(new_york):
    graph, _ = new_york
    rng = np.random.default_rng(3)
    back = graph.T.tocsr()
    back.data = rng.lognormal(0, 0.6, graph.nnz)
    both = (graph + back).tocsr()
    factor = factorize(both)
    sources = rng.integers(0, factor.n, 2)
    for _ in range(2):
        want = dijkstra(both, indices=sources)
        np.testing.assert_allclose(factor.lengths(sources), want, rtol=1e-12)
        both.data = rng.lognormal(0, 0.6, both.nnz)
        factor.update(both.data)


def test_closeness_is_that_of_the_rows_of_dijkstra(new_york):
    graph, factor = new_york
    corners = np.random.default_rng(4).integers(0, factor.n, 3)
    total = dijkstra(graph, directed=False, indices=corners).sum(axis=1)
    np.testing.assert_allclose(closeness(factor, corners), (factor.n - 1) / total, rtol=1e-12)
