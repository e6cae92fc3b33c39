"""Measures of graphs are those of networkx, from a factor, from searches and from a closure."""

import itertools
import math
from random import Random

import numpy as np
import pytest
from support import in_threads, interrupted

import tropical
from tropical import graph
from tropical.graph import factorize, folds
from tropical.graph.method import Choice

nx = pytest.importorskip("networkx", reason="whose measures are the yardstick")
sp = pytest.importorskip("scipy.sparse", reason="whose arrays are measured")

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
WAYS = ["auto", "factor", "search"]
WEIGHTS = {
    "whole": lambda rng: int(rng.integers(1, 9)),
    "fractions": lambda rng: float(rng.random()),
    "with zeros": lambda rng: int(rng.integers(0, 3)),
}


def made_graph(kind, weights="whole", n=30, edges=90, connected=False, seed=0):
    rng = np.random.default_rng([seed, n, edges, *kind.__name__.encode()])
    made = kind()
    made.add_nodes_from(range(n))
    ends = rng.integers(0, n, (edges, 2)).tolist() if n else []
    if connected:
        ends += itertools.pairwise([*range(n), 0])
    for u, v in ends:
        made.add_edge(u, v, weight=WEIGHTS[weights](rng))
    return made


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """How a graph is measured: `way(graph)` is what the measure takes."""
    if request.param == "search":
        monkeypatch.setattr(folds, "cheapest_of_rows", lambda *_: Choice("D", ""))
    return factorize if request.param == "factor" else lambda made: made


def assert_measured(got, want):
    want = [want[v] for v in sorted(want)] if isinstance(want, dict) else want
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=0)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_centralities(kind, weights, way):
    for edges in (0, 20, 90, 400):
        made = made_graph(kind, weights, edges=edges)
        for improved in (True, False):
            want = nx.closeness_centrality(made, distance="weight", wf_improved=improved)
            assert_measured(graph.closeness(way(made), wf_improved=improved), want)
        want = nx.harmonic_centrality(made, distance="weight")
        assert_measured(graph.harmonic(way(made)), want)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_distances(kind, weights, way):
    made = made_graph(kind, weights, connected=True)
    want = nx.eccentricity(made, weight="weight")
    assert_measured(graph.eccentricity(way(made)), want)
    assert_measured(graph.diameter(way(made)), max(want.values()))
    assert_measured(graph.radius(way(made)), min(want.values()))
    assert_measured(graph.wiener_index(way(made)), nx.wiener_index(made, weight="weight"))
    made.remove_edges_from(list(made.in_edges(3) if made.is_directed() else made.edges(3)))
    assert graph.wiener_index(way(made)) == nx.wiener_index(made, weight="weight") == math.inf
    for measure in (graph.eccentricity, graph.diameter, graph.radius):
        with pytest.raises(ValueError, match=r"^graph: expected paths between all vertices, got"):
            measure(way(made))


def test_some_vertices(way):
    made = made_graph(nx.DiGraph, connected=True)
    some = np.array([[3, -1], [7, 3]])
    for measure in (graph.closeness, graph.harmonic, graph.eccentricity):
        np.testing.assert_array_equal(measure(way(made), some), measure(way(made))[some])
        assert measure(way(made), 5).shape == () and measure(way(made), []).shape == (0,)
    got = graph.accessibility(way(made), [[1, 5, 9]], vertices=some)
    assert got.shape == (2, 2, 1, 3)
    np.testing.assert_array_equal(got, graph.accessibility(way(made), [[1, 5, 9]])[some])


def test_smallest_graphs(way):
    for kind in (nx.Graph, nx.DiGraph):
        one = kind()
        one.add_node(0)
        assert graph.closeness(way(one)) == graph.harmonic(way(one)) == [0]
        assert graph.eccentricity(way(one)) == [0] and graph.wiener_index(way(one)) == 0
        assert graph.diameter(way(one)) == graph.radius(way(one)) == 0
        assert graph.accessibility(way(one), 0) == [1]
        assert graph.betweenness(one) == [0]
        lengths, nearest = graph.nearest_facilities(way(one), 0)
        assert lengths == nearest == [0]
    none = sp.csr_array((0, 0))
    for measure in (graph.closeness, graph.harmonic, graph.eccentricity):
        assert measure(way(none)).shape == (0,)
    assert graph.wiener_index(way(none)) == 0
    assert graph.betweenness(none).shape == graph.edge_betweenness(none).shape == (0,)
    assert graph.accessibility(way(none), [1, 2]).shape == (0, 2)
    for measure in (graph.diameter, graph.radius):
        with pytest.raises(ValueError, match=r"^graph: expected a vertex, got none$"):
            measure(way(none))


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_accessibility(kind, way):
    made = made_graph(kind, "with zeros", edges=40)
    lengths = graph.shortest_paths(made)
    amounts = np.random.default_rng(1).integers(0, 100, len(made)) / 4  # sums are exact
    radii = np.array([0.0, 1.0, 2.5, 7.0, np.inf, -1.0])
    near = lengths[:, :, None] <= radii
    near &= np.isfinite(lengths)[:, :, None]
    np.testing.assert_array_equal(graph.accessibility(way(made), radii), near.sum(axis=1))
    want = (near * amounts[:, None]).sum(axis=1)
    np.testing.assert_array_equal(graph.accessibility(way(made), radii, amounts), want)
    np.testing.assert_array_equal(graph.accessibility(way(made), 2.5, amounts), want[:, 2])
    assert graph.accessibility(way(made), 2.5, amounts, 3) == want[3, 2]


@pytest.mark.parametrize("outward", [False, True])
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_nearest_facilities(kind, outward, way):
    made = made_graph(kind, "with zeros", edges=35)
    facilities = np.array([[4, -1, 9], [4, 12, 0]])
    lengths = graph.shortest_paths(made)
    table = lengths[facilities.ravel()] if outward else lengths[:, facilities.ravel()].T
    got, nearest = graph.nearest_facilities(way(made), facilities, outward=outward)
    np.testing.assert_array_equal(got, table.min(axis=0))
    there = np.isfinite(got)
    assert not there.all() and nearest.dtype == np.intp
    assert (nearest[~there] == -1).all()
    np.testing.assert_array_equal(table[nearest, np.arange(len(made))][there], got[there])
    got, nearest = graph.nearest_facilities(way(made), [], outward=outward)
    assert (got == np.inf).all() and (nearest == -1).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int32", "int64"])
def test_dtypes_and_long_lengths(dtype):
    """A factor of integers saturates; what is measured is what the factor finds."""
    w = np.full((40, 40), tropical.semirings.minplus.zero(dtype), dtype)
    for v in range(36):
        w[v, v + 1] = 1000 + v
    factor = factorize(w)
    lengths = factor.closure().astype(np.float64)
    lengths[lengths == float(tropical.semirings.minplus.zero(dtype))] = np.inf
    there = np.isfinite(lengths)
    total = np.where(there, lengths, 0).sum(axis=0)
    np.testing.assert_array_equal(
        graph.closeness(factor, wf_improved=False),
        np.divide(there.sum(axis=0) - 1, total, out=np.zeros(40), where=total > 0),
    )
    np.testing.assert_array_equal(
        graph.accessibility(factor, [5000.5, np.inf])[:, 0], (lengths <= 5000.5).sum(axis=1)
    )
    assert (graph.accessibility(factor, np.inf) == there.sum(axis=1)).all()
    got, nearest = graph.nearest_facilities(factor, [30, 10])
    np.testing.assert_array_equal(got, lengths[:, [30, 10]].min(axis=1))
    assert set(nearest.tolist()) == {0, 1, -1}


def test_negative_weights():
    made = nx.DiGraph()
    made.add_weighted_edges_from([(0, 1, -2), (1, 2, 5), (2, 0, 1)])
    for source in (made, factorize(made)):
        assert graph.eccentricity(source).tolist() == [3, 6, 1]
        assert graph.wiener_index(source) == -2 + 3 + 5 + 6 + 1 - 1
        for measure in (graph.closeness, graph.harmonic):
            with pytest.raises(ValueError, match=r"^graph: expected weights of 0 or more, got -2"):
                measure(source)
    made.add_edge(1, 0, weight=1)
    for measure in (graph.diameter, graph.wiener_index):
        with pytest.raises(graph.NegativeCycleError):
            measure(made)


@pytest.mark.parametrize("made", [nx.to_numpy_array, factorize])
def test_no_radius_gives_no_sums(made):
    square = made(nx.cycle_graph(4))
    assert graph.accessibility(square, []).shape == (4, 0)
    assert graph.accessibility(square, np.zeros((0, 2)), vertices=[1]).shape == (1, 0, 2)


def test_wrong_arguments():
    square = nx.cycle_graph(4)
    for factor in (factorize(square, "maxmin"), factorize(square, "orand")):
        with pytest.raises(ValueError, match=r"^graph: expected a factor over minplus, got"):
            graph.closeness(factor)
    for amounts, error in ((np.ones(3), "shape"), ([1, 2, np.inf, 3], "finite"), ("abcd", "real")):
        with pytest.raises((ValueError, TypeError), match=rf"^amounts: expected .*{error}"):
            graph.accessibility(square, 1, amounts)
    with pytest.raises(ValueError, match=r"^radius: expected numbers, got a NaN$"):
        graph.accessibility(square, [1, np.nan])
    with pytest.raises(TypeError, match=r"^radius: expected real numbers, got dtype"):
        graph.accessibility(square, 1j)
    with pytest.raises(ValueError, match=r"^facilities: expected -4 <= index < 4, got 4$"):
        graph.nearest_facilities(square, [0, 4])
    with pytest.raises(TypeError, match=r"^vertices: expected integers"):
        graph.closeness(square, 0.5)


def test_threads_have_the_same_bits():
    made = made_graph(nx.DiGraph, "fractions", n=300, edges=900)
    for measure in (
        graph.closeness,
        graph.harmonic,
        lambda w: graph.accessibility(w, [0.3, 1.0], np.linspace(0, 1, 300)),
        graph.betweenness,
        graph.edge_betweenness,
    ):
        with tropical.options(threads=1):
            want = measure(made)
        for threads in (2, 3, 7):
            with tropical.options(threads=threads):
                np.testing.assert_array_equal(measure(made), want)


def test_callers_in_several_threads():
    factor = factorize(made_graph(nx.DiGraph, n=200, edges=600))
    want = graph.closeness(factor)

    def measure(_):
        np.testing.assert_array_equal(graph.closeness(factor), want)

    in_threads(measure, 8)


def test_progress(way, monkeypatch):
    monkeypatch.setattr(folds, "CALL_SOURCES", 7)
    monkeypatch.setattr(folds, "BLOCK_BYTES", 2000)
    made = made_graph(nx.DiGraph, connected=True)
    want = graph.closeness(made)
    for measure in (
        graph.closeness,
        graph.eccentricity,
        lambda w, progress: graph.accessibility(w, 3, progress=progress),
        lambda w, progress: graph.nearest_facilities(w, range(20), progress=progress),
    ):
        shares = []
        measure(way(made), progress=shares.append)
        assert shares == sorted(shares) and shares[-1] == 1
    np.testing.assert_array_equal(graph.closeness(way(made)), want)


def test_a_factor_is_updated_meanwhile(monkeypatch):
    """A measure is that of the weights with which it began."""
    monkeypatch.setattr(folds, "BLOCK_BYTES", 2000)
    factor = factorize(made_graph(nx.DiGraph, connected=True))
    closed = np.full(len(factor._weights.edges.weight), np.inf)
    want = graph.nearest_facilities(factor, range(20))
    got = graph.nearest_facilities(factor, range(20), progress=lambda _: factor.update(closed))
    np.testing.assert_array_equal(got, want)
    assert np.isinf(factor.lengths(0, 1))


BETWEEN = {
    **{kind.__name__: lambda kind=kind: made_graph(kind) for kind in KINDS},
    "grid": lambda: nx.grid_2d_graph(7, 6),
    "star": lambda: nx.star_graph(20),
    "clique": lambda: nx.complete_graph(12),
    "path": lambda: nx.path_graph(15, nx.DiGraph),
    "power law": lambda: nx.barabasi_albert_graph(60, 2, seed=1),
    "pieces": lambda: nx.disjoint_union_all([nx.cycle_graph(k) for k in (3, 4, 5, 1, 2)]),
    "pair": lambda: nx.path_graph(2),
    "fractions": lambda: made_graph(nx.DiGraph, "fractions", edges=200),
    "tenths": lambda: nx.from_numpy_array(
        np.random.default_rng(2).integers(0, 4, (25, 25)) / 10, create_using=nx.DiGraph
    ),
}


def rescaled(values, scale):
    return {key: value * scale for key, value in values.items()}


@pytest.mark.parametrize("weight", ["weight", None])
@pytest.mark.parametrize("name", BETWEEN)
def test_betweenness(name, weight):
    made = BETWEEN[name]()
    made = nx.convert_node_labels_to_integers(made)
    for normalized, endpoints in itertools.product((True, False), repeat=2):
        options = {"normalized": normalized, "weight": weight}
        want = nx.betweenness_centrality(made, endpoints=endpoints, **options)
        got = graph.betweenness(made, endpoints=endpoints, **options)
        np.testing.assert_allclose(got, [want[v] for v in made], rtol=1e-11, atol=1e-14)
        want = nx.edge_betweenness_centrality(made, **options)
        if made.is_multigraph() and weight is None:
            continue  # parallel edges of different weights are as good there
        got = graph.edge_betweenness(made, **options)
        edges = made.edges(keys=True) if made.is_multigraph() else made.edges
        np.testing.assert_allclose(got, [want[e] for e in edges], rtol=1e-11, atol=1e-14)


def test_betweenness_from_a_sample():
    pytest.importorskip("networkx", "3.6", reason="before, networkx scaled samples otherwise")
    made = made_graph(nx.Graph)
    for k, endpoints, normalized in itertools.product((1, 7, 30), (True, False), (True, False)):
        options = {"endpoints": endpoints, "normalized": normalized}
        want = nx.betweenness_centrality(made, k, weight="weight", seed=k, **options)
        got = graph.betweenness(made, Random(k).sample(range(30), k), **options)
        np.testing.assert_allclose(got, list(want.values()), rtol=1e-12, atol=1e-15)
        want = nx.edge_betweenness_centrality(made, k, normalized, weight="weight", seed=k)
        got = graph.edge_betweenness(made, Random(k).sample(range(30), k), normalized=normalized)
        np.testing.assert_allclose(got, list(want.values()), rtol=1e-12, atol=1e-15)


def test_ties_of_whole_weights_are_exact():
    """Grids have as many shortest paths as there are binomial coefficients."""
    made = nx.convert_node_labels_to_integers(nx.grid_2d_graph(12, 12))
    nx.set_edge_attributes(made, 3_000_017, "weight")
    want = graph.betweenness(made, unweighted=True)
    made.edges[0, 1]["weight"] = 3_000_018  # so that distances are sorted
    other = graph.betweenness(made)
    assert (want != other).any()
    made.edges[0, 1]["weight"] = 3_000_017
    np.testing.assert_array_equal(graph.betweenness(made), want)


def test_betweenness_of_arrays():
    w = np.where(np.random.default_rng(0).random((40, 40)) < 0.1, 1.5, np.inf)
    w[np.random.default_rng(1).random((40, 40)) < 0.05] = 0.5
    want = nx.DiGraph()
    want.add_nodes_from(range(40))
    want.add_weighted_edges_from((i, j, w[i, j]) for i, j in np.argwhere(w < np.inf))
    both = want.to_undirected(as_view=False)
    for u, v in both.edges:
        both.edges[u, v]["weight"] = min(w[u, v], w[v, u])
    sparse = sp.csr_array(np.where(w < np.inf, w, 0))
    for made in (w, sparse, sparse.astype(np.float32)):
        got = nx.betweenness_centrality(want, weight="weight")
        np.testing.assert_allclose(graph.betweenness(made), list(got.values()), rtol=1e-12)
        got = nx.betweenness_centrality(both, weight="weight")
        undirected = graph.betweenness(made, directed=False)
        np.testing.assert_allclose(undirected, list(got.values()), rtol=1e-12)
    assert graph.edge_betweenness(w, directed=False).shape == sparse.data.shape


def test_wrong_arguments_of_betweenness():
    for weight in (0, -1, 0.0):
        with pytest.raises(ValueError, match=r"^graph: expected weights above 0, got"):
            graph.betweenness(nx.Graph([(0, 1, {"weight": weight})]))
    assert graph.betweenness(nx.Graph([(0, 1, {"weight": 0})]), unweighted=True).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"got Factor$"):  # which other measures take
        graph.betweenness(factorize(np.ones((4, 4))))
    with pytest.raises(ValueError, match=r"^sources: expected each vertex at most once$"):
        graph.betweenness(nx.path_graph(4), [1, -3])
    with pytest.raises(ValueError, match=r"^sources: expected -4 <= index < 4"):
        graph.betweenness(nx.path_graph(4), [4])
    for sources in ([], [2]):  # too few for an estimate
        assert np.isnan(graph.betweenness(nx.path_graph(4), sources)).any()


def test_widths_of_distances():
    """Weights of all sizes, of which some are lost in rounding."""
    rng = np.random.default_rng(0)
    for scale in (1.0, 5e-324, 1e300, 1e-300):
        made = nx.gnm_random_graph(40, 120, seed=3)
        for _, _, data in made.edges(data=True):
            data["weight"] = max(scale * 10.0 ** rng.integers(-6, 7), 5e-324)
        want = nx.betweenness_centrality(made, weight="weight")
        got = graph.betweenness(made)
        np.testing.assert_allclose(got, list(want.values()), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("measure", [graph.closeness, graph.betweenness])
def test_signals_are_heard(measure):
    made = sp.diags_array(np.ones(99_999), offsets=1, shape=(100_000, 100_000)).tocsr()
    assert interrupted(lambda: measure(made, directed=False), 0.5) < 10


def diamonds(count):
    """Vertices in a row, with two ways from each to the next one."""
    first = 3 * np.arange(count)
    source = np.concatenate([first, first, first + 1, first + 2])
    target = np.concatenate([first + 1, first + 2, first + 3, first + 3])
    return sp.csr_array((np.ones(4 * count), (source, target)), (3 * count + 1,) * 2)


@pytest.mark.parametrize("count", [300, 1100, 2300])
@pytest.mark.parametrize("weighted", [False, True])
def test_betweenness_where_paths_are_beyond_float64(count, weighted):
    """2**1100 paths and more, each of which is one part of their number."""
    made = diamonds(count)
    if weighted:
        made.data[:2] = 2  # of vertex 0
    n = made.shape[0]
    before = np.arange(n) // 3 * 3  # vertices before the one that opens a diamond
    want = before * (n - 1.0 - before)
    for side in (1, 2):
        want[side::3] = (before[side::3] + 1) * (n - 3.0 - before[side::3]) / 2
    some = graph.betweenness(made, normalized=False)
    np.testing.assert_allclose(some, want, rtol=1e-12)
    opened = 3 * np.arange(count)
    apart = (opened + 1) * (1 + (n - opened - 3) / 2)
    together = (1 + (opened + 1) / 2) * (n - opened - 3.0)
    want = np.column_stack([apart, apart, together, together]).ravel()
    np.testing.assert_allclose(graph.edge_betweenness(made, normalized=False), want, rtol=1e-12)


def test_betweenness_of_edges_that_are_closed():
    """They are listed, and no path passes them; a factor takes weights in the same order."""
    made = nx.DiGraph()
    made.add_weighted_edges_from([("a", "b", math.inf), ("b", "c", 1.0), ("c", "a", 2.0)])
    np.testing.assert_allclose(graph.edge_betweenness(made), [0, 1 / 3, 1 / 3])
    sparse = sp.csr_array(np.array([[0, math.inf, 1], [0, 0, 1], [1, 0, 0]]))
    assert graph.edge_betweenness(sparse).tolist()[0] == 0
    for other, weights in (
        (made, [math.inf, 1, 2]),
        (made.to_undirected(), [x for *_, x in made.to_undirected().edges(data="weight")]),
        (sparse, sparse.data),
    ):
        assert graph.edge_betweenness(other).shape == (len(weights),)
        assert graph.edge_betweenness(other, unweighted=True)[0] == 0
        factor, want = factorize(other), graph.shortest_paths(other)
        np.testing.assert_array_equal(factor.closure(), want)
        factor.update(np.ones(len(weights)))
        assert np.isfinite(factor.closure()).any()
        factor.update(weights)
        np.testing.assert_array_equal(factor.closure(), want)
        reached = factorize(other, "orand")
        np.testing.assert_array_equal(reached.closure(), np.isfinite(want))
        reached.update(np.ones(len(weights), bool))
        assert reached.closure().sum() >= np.isfinite(want).sum()


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_as_weight(kind):
    """A graph that is not directed stays so, unless directions have weights of their own."""
    made = made_graph(kind, n=12, edges=30, connected=True)

    def heavy(u, v, attributes):
        return 1 + (u + v) % 3

    def uphill(u, v, attributes):
        return 1 + (u < v)

    assert graph.wiener_index(made, weight=heavy) == nx.wiener_index(made, weight=heavy)
    options = {"normalized": False, "weight": heavy}
    want = nx.betweenness_centrality(made, **options)
    np.testing.assert_allclose(graph.betweenness(made, **options), list(want.values()), atol=1e-9)
    pairs = set(made.edges())
    if not made.is_directed():
        pairs = {frozenset(pair) for pair in pairs}
    assert len(graph.edge_betweenness(made, weight=heavy)) == len(pairs)
    factorize(made, weight=heavy).update(np.ones(len(pairs)))
    lengths = [nx.single_source_dijkstra_path_length(made, u, weight=uphill) for u in made]
    want = [[row[v] for v in made] for row in lengths]
    np.testing.assert_array_equal(graph.shortest_paths(made, weight=uphill), want)
    np.testing.assert_array_equal(factorize(made, weight=uphill).closure(), want)


OF_A_GRAPH = {
    **{name: getattr(graph, name) for name in ("betweenness", "edge_betweenness", "closeness")},
    **{name: getattr(graph, name) for name in ("harmonic", "eccentricity", "diameter", "radius")},
    **{name: getattr(graph, name) for name in ("wiener_index", "factorize", "Searcher")},
    "accessibility": lambda given: graph.accessibility(given, 1),
    "nearest_facilities": lambda given: graph.nearest_facilities(given, 0),
    "write_lengths": lambda given: graph.write_lengths(given, "lengths.npy"),
    "from_graph": lambda given: graph.BlockFolder.from_graph("folder", given),
}
NO_GRAPHS = {
    "text": lambda: "abc",
    "numbers": lambda: [1, 2],
    "shape": lambda: np.ones((2, 3)),
    "NaN": lambda: [[math.nan]],
    "masked": lambda: np.ma.masked_array([[1j]]),
    "sparse shape": lambda: sp.csr_array((2, 3)),
    "sparse dtype": lambda: sp.csr_array([[1j]]),
    "attribute": lambda: nx.Graph([(0, 1, {"weight": "x"})]),
}


@pytest.mark.parametrize("given", NO_GRAPHS)
@pytest.mark.parametrize("name", OF_A_GRAPH)
def test_an_error_names_the_graph(name, given, tmp_path, monkeypatch):
    """It named `w`, the argument of `shortest_paths`."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError), match=r"^graph: expected"):
        OF_A_GRAPH[name](NO_GRAPHS[given]())


@pytest.mark.parametrize("function", [graph.closeness, graph.diameter, graph.radius])
def test_a_warning_names_the_line_of_the_caller(function):
    with pytest.warns(UserWarning, match="^graph: most elements are 0") as seen:
        function(np.zeros((3, 3)))
    assert seen[0].filename == __file__
