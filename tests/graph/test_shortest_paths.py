"""Shortest paths: against SciPy, against every path enumerated, of all kinds of graphs."""

import contextlib
import itertools
import math
import pickle
import re

import graphs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import check_refused

import tropical
from tropical import semirings
from tropical.graph import (
    DivergenceError,
    NegativeCycleError,
    explain_shortest_paths,
    minimax_paths,
    path,
    shortest_paths,
    widest_paths,
)

sparse = pytest.importorskip("scipy.sparse", reason="the other shortest paths")
csgraph = pytest.importorskip("scipy.sparse.csgraph", reason="the other shortest paths")

RING = semirings.minplus
INF = np.inf
METHODS = ("auto", "FW", "J", "BF", "E")


def as_sparse(w):
    """SciPy's graph of an array; edges of weight 0 are stored."""
    i, j = np.nonzero(w != RING.zero(w.dtype))
    return sparse.csr_array((w[i, j].astype(np.float64), (i, j)), shape=w.shape)


def length_of(cycle, w):
    return sum(w[i, j].item() for i, j in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def weights(negative):
    """Square arrays, a third without an edge; no SciPy function agrees with another on loops."""
    number = st.integers(-3 if negative else 0, 9) | st.just(INF) | st.just(INF)
    shape = st.integers(0, 9).map(lambda n: (n, n))

    def without_loops(w):
        np.fill_diagonal(w, INF)
        return w

    return hnp.arrays(np.float64, shape, elements=number.map(float)).map(without_loops)


@pytest.mark.filterwarnings("ignore:w. most elements are 0")
@given(weights(negative=False), st.booleans(), st.sampled_from((*METHODS, "D")))
@settings(max_examples=60)
def test_against_scipy(w, directed, method):
    want = csgraph.floyd_warshall(as_sparse(w), directed=directed) if w.size else w
    for graph in (w, as_sparse(w)) if w.size else (w,):
        lengths, before = shortest_paths(graph, method, directed=directed, return_predecessors=True)
        np.testing.assert_array_equal(lengths, want)
        both = w if directed else np.minimum(w, w.T)
        graphs.assert_predecessors(before, lengths, both, RING, path)
        np.testing.assert_array_equal(shortest_paths(graph, method, directed=directed), lengths)


@pytest.mark.filterwarnings("ignore:w. most elements are 0")
@given(weights(negative=True), st.booleans(), st.sampled_from(METHODS))
@settings(max_examples=60)
def test_negative_weights_against_scipy(w, directed, method):
    both = w if directed else np.minimum(w, w.T)
    for graph in (w, as_sparse(w)) if w.size else (w,):
        try:
            want = csgraph.johnson(as_sparse(both)) if w.size else w
        except csgraph.NegativeCycleError:
            with pytest.raises(NegativeCycleError) as caught:
                shortest_paths(graph, method, directed=directed)
            error = caught.value
            assert len(set(error.cycle)) == len(error.cycle)
            assert length_of(error.cycle, both) == error.weight < 0
            continue
        lengths, before = shortest_paths(graph, method, directed=directed, return_predecessors=True)
        np.testing.assert_array_equal(lengths, want)
        graphs.assert_predecessors(before, lengths, both, RING, path)


@pytest.mark.parametrize("dtype", RING.dtypes)
def test_dtypes_are_kept(dtype):
    rng = np.random.default_rng(1)
    for n in (1, 5, 70, 130):
        w = graphs.random_graph(rng, n, dtype=dtype, density=4 / n)
        before = w.copy()
        lengths = shortest_paths(w)
        assert lengths.dtype == dtype
        want = csgraph.dijkstra(as_sparse(w))
        none = lengths == RING.zero(dtype)
        np.testing.assert_array_equal(none, want == INF)
        np.testing.assert_array_equal(lengths[~none], want[~none])
        np.testing.assert_array_equal(w, before)


def test_small_weights_are_kept():
    w = np.array([[INF, 1e-9], [3e-12, INF]])
    np.testing.assert_array_equal(shortest_paths(w), [[0, 1e-9], [3e-12, 0]])


@pytest.mark.parametrize("method", ["FW", "D", "J", "E"])
def test_zero_is_an_edge(method):
    w = np.array([[INF, 0, INF], [INF, INF, 0], [INF, INF, INF]])
    np.testing.assert_array_equal(
        shortest_paths(w, method), [[0, 0, 0], [INF, 0, 0], [INF, INF, 0]]
    )


def test_unweighted():
    rng = np.random.default_rng(2)
    w = graphs.random_graph(rng, 20, density=0.1, negative=True)
    for graph in (w, as_sparse(w), w.astype(np.float32)):
        for method in ("FW", "D"):
            got = shortest_paths(graph, method, unweighted=True)
            np.testing.assert_array_equal(
                got, csgraph.dijkstra(as_sparse(np.abs(w)), unweighted=True)
            )
    there = w != INF
    np.testing.assert_array_equal(shortest_paths(there), shortest_paths(w, unweighted=True))


@pytest.mark.parametrize("indices", [3, -1, [0, 4, 4], [[1], [2]], [], np.array([2], np.uint8)])
@pytest.mark.parametrize("method", ["auto", "D", "J", "E"])
def test_indices(indices, method):
    w = graphs.random_graph(np.random.default_rng(3), 12)
    rows = np.asarray(indices, dtype=int)
    for graph in (w, as_sparse(w)):
        lengths, before = shortest_paths(graph, method, indices=indices, return_predecessors=True)
        np.testing.assert_array_equal(lengths, shortest_paths(w)[rows])
        assert before.shape == lengths.shape == (*rows.shape, 12) and before.dtype == np.int32
    if rows.ndim == 0:
        start = int(rows) % 12
        for end in range(12):
            stops = path(before, start, end)
            assert graphs.product(stops, w, RING) == lengths[end] or not stops


def test_batches():
    rng = np.random.default_rng(4)
    w = np.stack([graphs.random_graph(rng, 9) for _ in range(6)]).reshape(2, 3, 9, 9)
    lengths, before = shortest_paths(w, return_predecessors=True)
    rows = shortest_paths(w, indices=[1, 2])
    assert rows.shape == (2, 3, 2, 9)
    for item in np.ndindex(2, 3):
        np.testing.assert_array_equal(lengths[item], shortest_paths(w[item]))
        np.testing.assert_array_equal(rows[item], lengths[item][[1, 2]])
        graphs.assert_predecessors(before[item], lengths[item], w[item], RING, path)
    w[1, 2, :3, :3] = [[INF, 1, INF], [INF, INF, 1], [-3, INF, INF]]
    with pytest.raises(NegativeCycleError, match=r"w\[1, 2\]: has a cycle of weight -\d") as caught:
        shortest_paths(w)
    assert length_of(caught.value.cycle, w[1, 2]) == caught.value.weight


def test_sparse_inputs_are_read_as_scipy_reads_them():
    w = graphs.random_graph(np.random.default_rng(5), 10)
    stored = as_sparse(w)
    for kind in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        for make in (sparse.csr_array, sparse.csr_matrix):
            graph = make(stored).asformat(kind)
            want = graph.tocsr()
            if (
                kind == "bsr"
            ):  # the zeros that fill up blocks, which SciPy before 1.18 took for edges
                want.eliminate_zeros()
            np.testing.assert_array_equal(shortest_paths(graph), csgraph.dijkstra(want))
    assert shortest_paths(stored.astype(np.float32)).dtype == np.float32
    assert shortest_paths(stored.astype(np.int64)).dtype == np.float64
    # Twice the same place: COO's are added up, CSR's are two edges.
    twice = sparse.coo_array(([2.0, 3.0], ([0, 0], [1, 1])), shape=(2, 2))
    apart = sparse.csr_array(([3.0, 2.0], [1, 1], [0, 2, 2]), shape=(2, 2))
    for graph, want in ((twice, 5), (apart, 2)):
        assert all(shortest_paths(graph, method)[0, 1] == want for method in ("FW", "D"))
        assert csgraph.shortest_path(graph, "D")[0, 1] == want
    apart.data[0] = INF  # no edge
    assert shortest_paths(apart, "D")[0, 1] == shortest_paths(apart, "FW")[0, 1] == 2


def test_masked_arrays():
    w = graphs.random_graph(np.random.default_rng(6), 10) + 1  # one of SciPy's methods drops 0
    masked = np.ma.masked_array(np.where(w == INF, np.nan, w), w == INF)
    np.testing.assert_array_equal(shortest_paths(masked), csgraph.shortest_path(masked))
    whole = np.ma.masked_array(np.ones((2, 2), np.int8), [[True, False], [True, True]])
    np.testing.assert_array_equal(shortest_paths(whole), [[0, 1], [INF, 0]])


def test_networkx_graphs():
    nx = pytest.importorskip("networkx", reason="its graphs")
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("c", "a", 2), ("a", "b", 0.5)])
    graph.add_edge("c", "b", km=7)  # weighs 1
    np.testing.assert_array_equal(shortest_paths(graph), nx.floyd_warshall_numpy(graph))  # c, a, b
    np.testing.assert_array_equal(shortest_paths(graph, weight="km")[0], [0, 1, 2])
    np.testing.assert_array_equal(shortest_paths(graph, directed=False)[:, 0], [0, 1.5, 1])
    karate = nx.karate_club_graph()
    np.testing.assert_array_equal(shortest_paths(karate), nx.floyd_warshall_numpy(karate))
    many = nx.MultiGraph()
    many.add_weighted_edges_from([(0, 1, 5), (0, 1, 3)])
    np.testing.assert_array_equal(shortest_paths(many), [[0, 3], [3, 0]])
    assert shortest_paths(nx.Graph()).shape == (0, 0)
    huge, when = 10**400, np.datetime64(3, "s")
    for wrong in ("long", None, 1j, np.complex64(1j), [1], [1, 2], {}, huge, when):
        one = nx.DiGraph()
        one.add_edge("a", "c", weight=wrong)
        for graph_of_it in (one, nx.compose(graph, one)):
            got = "int too large" if wrong is huge else re.escape(repr(wrong)[:12])
            why = f"w: expected a number as an edge's 'weight', got {got}"
            with pytest.raises(TypeError, match=why):
                shortest_paths(graph_of_it)


@pytest.mark.parametrize(
    "make", [np.array, np.asfortranarray, lambda w: np.repeat(w, 2, 1)[:, ::2]]
)
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("n", [30, 70])
def test_overwrite(make, negative, n):
    w = graphs.random_graph(np.random.default_rng(7), n, density=0.1)
    if negative:  # by potentials, so that no cycle is
        h = np.arange(n) % 7
        w = w + h[:, None] - h
    want, tree = shortest_paths(w, "FW", return_predecessors=True)
    for predecessors in (False, True):
        graph = make(w)
        found = shortest_paths(graph, "FW", overwrite=True, return_predecessors=predecessors)
        lengths = found[0] if predecessors else found
        assert lengths is graph
        np.testing.assert_array_equal(graph, want)
        if predecessors:
            np.testing.assert_array_equal(found[1], tree)
    np.testing.assert_array_equal(shortest_paths(w.tolist(), overwrite=True), want)


def test_an_error_leaves_what_may_be_overwritten():
    w = np.full((80, 80), INF)
    w[np.arange(79), np.arange(1, 80)] = 1.0
    w[79, 0] = -80.0
    graph = w.copy()
    with pytest.raises(NegativeCycleError) as caught:
        shortest_paths(graph, overwrite=True)
    assert sorted(caught.value.cycle) == list(range(80)) and caught.value.weight == -1
    assert "(70 more)" in str(caught.value)
    np.testing.assert_array_equal(graph, w)
    for fixed in (graph, np.abs(graph)):
        fixed.flags.writeable = False
        with pytest.raises(ValueError, match="overwrite: expected a writeable w"):
            shortest_paths(fixed, overwrite=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
def test_negative_cycles_of_any_length(dtype):
    for n in (1, 2, 3, 50):
        w = np.full((n, n), RING.zero(dtype), dtype)
        w[np.arange(n), np.roll(np.arange(n), -1)] = 0
        w[n - 1, 0] = -1
        for predecessors in (False, True):
            with pytest.raises(NegativeCycleError) as caught:
                shortest_paths(w, return_predecessors=predecessors)
            assert caught.value.weight == -1 and len(caught.value.cycle) == n
    assert isinstance(caught.value, DivergenceError) and isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.cycle, again.weight) == (caught.value.cycle, -1) and str(again) == str(
        caught.value
    )


@pytest.mark.parametrize("method", ["FW", "J", "E"])
@pytest.mark.parametrize("weights", [[-1e308, -1e308], [1e308, 1e308, -1.1e308, -1.1e308]], ids=len)
def test_sums_that_overflow(method, weights):
    n = len(weights)
    w = np.full((n, n), INF)
    w[np.arange(n), np.arange(1, n + 1) % n] = weights
    with pytest.raises(NegativeCycleError) as caught:
        shortest_paths(w, method)
    assert sorted(caught.value.cycle) == list(range(n))
    assert caught.value.weight == (-INF if n == 2 else pytest.approx(-2e307))
    way = np.full((3, 3), INF)
    way[[0, 1], [1, 2]] = -1e308
    if method == "E":
        return  # needs no potentials
    with pytest.raises(ValueError, match="w: sums of its negative weights overflow float64"):
        shortest_paths(way, method, return_predecessors=True)


@pytest.mark.parametrize("method", ["FW", "D", "J", "E"])
def test_what_is_beyond_float32_is_infinite(method):
    w = np.full((3, 3), INF, np.float32)
    for weight, stops in ((3e38, []), (-3e38, [0, 1, 2])):
        if weight < 0 and method == "D":
            continue
        w[[0, 1], [1, 2]] = weight
        lengths, predecessors = shortest_paths(w, method, return_predecessors=True)
        assert lengths[0, 2] == np.copysign(INF, weight) and path(predecessors, 0, 2) == stops


@pytest.mark.parametrize("method", ["FW", "J", "E"])
def test_cycles_that_are_negative_by_rounding_alone(method):
    """Their exact weight is 0 or above, so there are shortest paths, and they are right."""
    rng = np.random.default_rng(8)
    found = 0
    for _ in range(200):
        h = rng.normal(size=6) * 10 ** rng.integers(0, 4)
        w = np.where(
            rng.random((6, 6)) < 0.6, h[:, None] - h, INF
        )  # every cycle: 0, but for rounding
        np.fill_diagonal(w, INF)
        cycle = []
        try:
            lengths = shortest_paths(w, method)
        except NegativeCycleError as error:
            cycle = error.cycle
        if cycle:
            edges = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
            assert math.fsum(w[i, j] for i, j in edges) < 0
            continue
        found += 1
        there = lengths < INF
        np.testing.assert_allclose(lengths[there], (h[:, None] - h)[there], atol=1e-9)
    assert found > 20


@pytest.mark.parametrize("method", METHODS)
def test_rounding_shortens_no_path_of_no_edges(method):
    """Cycles of weight 0, but for rounding, through blocks of the closure."""
    n, seen = 130, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        h, (i, j) = 1000 * rng.random(n), rng.integers(0, n, (2, 2 * n))
        w = np.full((n, n), INF)
        w[i, j] = np.where(rng.random(2 * n) < 0.6, 0, 1e-12 * rng.random(2 * n)) + h[i] - h[j]
        np.fill_diagonal(w, INF)
        with contextlib.suppress(NegativeCycleError):  # one whose exact sum is below 0
            assert (np.diagonal(shortest_paths(w, method)) == 0).all()
            seen += 1
    assert seen > 5


@pytest.mark.parametrize("method", ["FW", "J", "E"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_predecessors_lead_to_the_source_where_cycles_weigh_nothing(method, dtype):
    """But for rounding, by which their vertices would be each other's predecessors."""
    followed = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 90))
        h = rng.random(n).astype(dtype)
        steps = rng.integers(0, 3, (n, n)) * (rng.random((n, n)) < 0.5) / 10
        w = np.where(rng.random((n, n)) < 4 / n, steps + h - h[:, None], INF).astype(dtype)
        np.fill_diagonal(w, INF)
        try:
            lengths, before = shortest_paths(w, method, return_predecessors=True)
        except NegativeCycleError:
            continue
        for i, j in zip(*np.nonzero(lengths < INF), strict=True):
            stops = path(before, i, j)
            length = sum(float(w[u, v]) for u, v in itertools.pairwise(stops))
            assert length == pytest.approx(lengths[i, j], abs=1e-5)
            followed += 1
    assert followed > 100


def test_what_is_chosen_and_why():
    ends = np.random.default_rng(0).integers(3000, size=(2, 3000))
    few = sparse.coo_array((np.ones(3000), tuple(ends)), shape=(3000, 3000))
    assert explain_shortest_paths(few, indices=0).method == "D"
    assert explain_shortest_paths(-few, indices=0).method == "J"
    assert explain_shortest_paths(-few, indices=0, unweighted=True).method == "D"
    dense = explain_shortest_paths(np.ones((300, 300)))
    assert (dense.method, dense.n, dense.edges, dense.sources) == ("FW", 300, 90000, 300)
    assert "by blocks" in dense.reason and "300 vertices, 90,000 edges" in str(dense)
    assert explain_shortest_paths(few, "BF").method == "J"
    assert explain_shortest_paths(np.ones((3, 3), int)).reason.endswith("integers that saturate")
    assert explain_shortest_paths(np.ones((2, 3, 3))).reason.endswith("a batch")
    seconds = []
    for threads in (1, 4):
        with tropical.options(threads=threads):
            reason = explain_shortest_paths(dense_of(few)).reason
        assert "s by search" in reason
        seconds.append(float(reason.split(" s by blocks")[0]))
    assert seconds[0] > 2 * seconds[1]  # as shown, of one digit


def dense_of(graph):
    dense = graph.toarray()
    return np.where(dense == 0, INF, dense)


def test_refuses():
    two, nan = np.ones((2, 2)), "w: expected numbers, got a NaN"
    check_refused(
        shortest_paths,
        (ValueError, r"w: expected \(..., n, n\), got \(2, 3\)", np.zeros((2, 3))),
        (ValueError, r"w: expected \(n, n\), got \(2, 3\)", sparse.csr_array((2, 3))),
        (ValueError, r"w: expected .* got \(3,\)", [1.0, 2, 3]),
        (ValueError, f"{nan}; inf says that there is no edge", [[np.nan]]),
        (ValueError, nan, sparse.csr_array([[np.nan]])),
        (ValueError, "w: expected weights of minplus .*, got -inf", [[-INF]]),
        (TypeError, "complex128", [[1j]]),
        (TypeError, "w: expected real numbers, got dtype complex128", sparse.csr_array([[1j]])),
        (TypeError, "object", [[None]]),
        (ValueError, "expected one of auto, BF, FW, D, J, E, got 'X'", two, "X"),
        (ValueError, "method: expected 'J' for negative weights", [[-1.0]], "D"),
        (ValueError, "method: expected 'FW' for integers that saturate, got 'J'", [[1]], "J"),
        (ValueError, "method: expected 'FW' for a batch, got 'D'", np.ones((2, 1, 1)), "D"),
    )
    check_refused(
        lambda indices, method="auto": shortest_paths(two, method, indices=indices),
        (ValueError, "indices: expected -2 <= index < 2, got 2", [0, 2]),
        (ValueError, "indices: expected -2 <= index < 2, got -3", -3),
        (TypeError, "indices: expected integers, got dtype float64", 0.5),
        (TypeError, "indices: .* <U1; a vertex is given by its position, from 0", ["a", "b"]),
        (ValueError, "indices: expected None, as method 'FW'", 0, "FW"),
    )


def test_rich_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich.progress", None)
    with pytest.raises(ImportError, match=r"rich.progress is not installed"):
        shortest_paths(np.ones((2, 2)), progress=True)


def test_path():
    before = [[-9999, 0, 1], [-9999, -9999, 1], [-9999, -9999, -9999]]
    assert path(before, 0, 2) == [0, 1, 2] == path(before[0], 0, 2)
    assert path(before, 2, 0) == [] and path(np.array(before), np.int32(1), 1) == [1]
    for i, j in ((3, 0), (0, 3), (-1, 0)):
        with pytest.raises(IndexError, match=r"expected 0 <= [ij] < 3, got"):
            path(before, i, j)
    position = "expected a vertex's position, got"
    shape = r"predecessors: expected \(n, n\), .*, got \(2, 3\)"
    check_refused(
        path,
        (TypeError, f"i: {position} 'a'", before, "a", 0),
        (TypeError, f"j: {position} 0.5", before, 0, 0.5),
        (ValueError, shape, before[:2], 0, 1),
        (ValueError, "expected paths from 2 in its row, got paths from 0", before[0], 2, 1),
        (ValueError, "lead from 0 to", [1, 0, -9999], 2, 0),  # in a circle
    )


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_weight_may_be_a_function(kind):
    """As networkx calls it; it was ignored once, and every edge weighed 1."""
    nx = pytest.importorskip("networkx", reason="networkx is optional")
    rng = np.random.default_rng(7)
    graph = getattr(nx, kind)()
    graph.add_nodes_from(range(9))
    for u, v in rng.integers(9, size=(30, 2)).tolist():
        graph.add_edge(u, v, km=int(rng.integers(1, 9)))

    def weight(u, v, attributes):
        several = attributes.values() if graph.is_multigraph() else [attributes]
        km = min(edge["km"] for edge in several)
        return None if km == 8 else km + u  # another weight for each direction

    want = dict(nx.all_pairs_dijkstra_path_length(graph, weight=weight))
    length = shortest_paths(graph, weight=weight)
    for u, v in itertools.product(range(9), range(9)):
        assert length[u, v] == want[u].get(v, np.inf), (u, v)


@pytest.mark.parametrize("indices", [[3, 0, 2], [2, 2], 1, np.array([4, 3, 2, 1, 0])])
def test_path_of_chosen_rows(indices):
    """Rows in another order once gave no path where there is one."""
    w = graphs.random_graph(np.random.default_rng(5), 5, dtype="int32")
    _, before = shortest_paths(w, indices=indices, return_predecessors=True)
    whole = shortest_paths(w, return_predecessors=True)[1]
    for i, j in itertools.product(np.atleast_1d(indices), range(5)):
        assert path(before, i, j, indices=indices) == path(whole, i, j)
    with pytest.raises(ValueError, match="i: expected one of indices, got 9"):
        path(np.full((1, 10), -9999), 9, 1, indices=[3])
    if np.ndim(indices) and len(indices) == 5:
        with pytest.raises(ValueError, match="expected paths from 0 in its row, got paths from 4"):
            path(before, 0, 4)
    elif np.ndim(indices):
        with pytest.raises(ValueError, match=r"expected \(n, n\), or"):
            path(before, 0, 4)


@pytest.mark.parametrize("old", ["Choice", "Legs", "k_leg_paths"])
def test_old_names_still_work_and_name_the_new_ones(old):
    with pytest.warns(
        DeprecationWarning, match=f"tropical.graph.{old} is now tropical.graph."
    ) as w:
        found = getattr(tropical.graph, old)
    assert found.__name__ == str(w[0].message).rpartition(".")[2]


def test_calls_that_are_split(monkeypatch):
    """So that Ctrl-C is heard; the answer is the same, ties included."""
    w = graphs.random_graph(np.random.default_rng(10), 400, dtype="int32")
    want = shortest_paths(w, return_predecessors=True)
    batch = np.stack([w[:50, :50]] * 6).reshape(2, 3, 50, 50)
    for module in ("star", "predecessors"):
        monkeypatch.setattr(f"tropical.graph.{module}.most_work", lambda a: 1)
    monkeypatch.setattr("tropical.graph.predecessors.MOST_DEPTH", 40)
    np.testing.assert_array_equal(shortest_paths(w, return_predecessors=True), want)
    np.testing.assert_array_equal(shortest_paths(w), want[0])
    one = shortest_paths(w[:50, :50])
    np.testing.assert_array_equal(shortest_paths(batch), np.broadcast_to(one, batch.shape))


def test_progress(capsys):
    w = graphs.random_graph(np.random.default_rng(9), 200)
    for options in ({}, {"return_predecessors": True}, {"method": "D"}):
        shares = []
        shortest_paths(w, progress=shares.append, **options)
        assert shares == sorted(shares) and shares[-1] == 1
    shortest_paths(w, progress=True)
    assert shortest_paths(np.stack([w, w]), progress=shares.append).shape == (2, 200, 200)


SCIPY_ARRAY = [[0, 1, 2, 0], [0, 0, 0, 1], [2, 0, 0, 3], [0, 0, 0, 0]]  # of SciPy's manual


@pytest.mark.parametrize("function", [shortest_paths, explain_shortest_paths, minimax_paths])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_zeros_for_no_edge(function, dtype):
    """SciPy's way of saying it in an array: every length would be 0."""
    w = np.array(SCIPY_ARRAY, dtype)
    for graph in (w, np.stack([w, w]), np.zeros((3, 3), dtype)):
        with pytest.warns(UserWarning, match=r"^w: most elements are 0, .*csr_array\(w\)") as seen:
            function(graph)
        assert seen[0].filename == __file__


def test_zeros_that_are_edges():
    """No warning: where edges are missing, where few are 0, where 0 is said to be no edge."""
    w = np.array(SCIPY_ARRAY, float)
    missing = w.copy()
    missing[0, 3] = INF
    shortest_paths(missing)
    shortest_paths(w != 0)
    shortest_paths(np.ma.masked_equal(w, 0))
    shortest_paths([[0, 1, 1], [0, 0, 0], [1, 1, 0]])  # half of them
    shortest_paths([[0]])
    shortest_paths(np.zeros((0, 0)))
    widest_paths(w)
    for matrix in (sparse.csr_array(w), sparse.coo_array(w)):
        np.testing.assert_array_equal(shortest_paths(matrix), csgraph.shortest_path(w))
