"""Bounded searches: targets, limits, the nearest source; against SciPy and our closure."""

import itertools
import pickle
import sys

import graphs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import check_refused, run_python

import tropical
from tropical import _core, graph, semirings
from tropical.graph import (
    NegativeCycleError,
    Searcher,
    explain_shortest_paths,
    minimax_paths,
    path,
    shortest_paths,
    widest_paths,
)

sparse = pytest.importorskip("scipy.sparse", reason="sparse graphs")
csgraph = pytest.importorskip("scipy.sparse.csgraph", reason="the other searches")

INF = np.inf
BEST = {"minplus": shortest_paths, "maxmin": widest_paths, "minmax": minimax_paths}


def dense(graph, none=INF):
    """The best of parallel edges; `none` where there is no edge."""
    a = np.full(graph.shape, none)
    source, target = np.repeat(np.arange(len(a)), np.diff(graph.indptr)), graph.indices
    (np.minimum if none == INF else np.maximum).at(a, (source, target), graph.data)
    return a


def check_tree(graph, before, first, lengths, sources):
    """The path of predecessors to each vertex has the length, and begins at the first vertex."""
    a = dense(graph)
    for j in np.flatnonzero(lengths < INF):
        stops = [int(j)]
        while before[stops[-1]] >= 0:
            stops.append(int(before[stops[-1]]))
            assert len(stops) <= len(a)
        assert stops[-1] == first[j] and stops[-1] in sources
        assert sum(a[v, u] for u, v in itertools.pairwise(stops)) == pytest.approx(lengths[j])
    assert (before[lengths == INF] == -9999).all() and (first[lengths == INF] == -9999).all()


@pytest.mark.filterwarnings("ignore:w. most elements are 0")
@given(st.data())
@settings(max_examples=200)
def test_like_scipy(data):
    n = data.draw(st.integers(1, 9))
    graph = graphs.random_csr(data.draw(st.integers(0, 99)), n, data.draw(st.integers(0, 30)))
    vertices = st.lists(st.integers(-n, n - 1), min_size=1, max_size=4)
    sources, targets = data.draw(vertices), data.draw(vertices)
    limit = data.draw(st.sampled_from([0, 3, 7.5, INF]))
    where = np.mod(sources, n)
    want = csgraph.dijkstra(graph, indices=where, limit=limit)
    for w, method in itertools.product((graph, dense(graph)), ("auto", "D", "J", "E")):
        got = shortest_paths(w, method, indices=sources, limit=limit)
        np.testing.assert_array_equal(got, want)
        got = shortest_paths(w, method, indices=sources, targets=targets, limit=limit)
        np.testing.assert_array_equal(got, want[:, targets])
        options = {"indices": sources, "limit": limit, "min_only": True}
        got, before, first = shortest_paths(w, method, return_predecessors=True, **options)
        np.testing.assert_array_equal(got, want.min(axis=0))
        check_tree(graph, before, first, got, where)
        got, before, first = shortest_paths(
            w, method, targets=targets, return_predecessors=True, **options
        )
        np.testing.assert_array_equal(got, want.min(axis=0)[targets])
        assert before.shape == (n,) and first.shape == (len(targets),)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("n, m", [(400, 1600), (2000, 8000), (2000, 2000)])
def test_many_sources_are_each_source(n, m, negative, dtype):
    """From 32 sources at once, or not; sums of fractions would show another order of sums."""
    graph = graphs.random_csr(1, n, m, dtype)
    if negative:  # without a cycle, and whole
        source = np.repeat(np.arange(n), np.diff(graph.indptr))
        graph.data = np.where(source < graph.indices, graph.data - 4, INF).astype(dtype)
    else:
        graph.data = (graph.data / 7).astype(dtype)
    sources = np.random.default_rng(3).integers(0, n, (3, 101))
    with tropical.options(threads=2):
        many = shortest_paths(graph, "J", indices=sources)
        assert not np.isinf(many).all()
    for i, row in zip(sources.flat, many.reshape(-1, n), strict=True):
        np.testing.assert_array_equal(row, shortest_paths(graph, "J", indices=i))
    if not negative:
        widest = widest_paths(graph, indices=sources)
        np.testing.assert_array_equal(widest[1, 5], widest_paths(graph, indices=sources[1, 5]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("ring", BEST)
@pytest.mark.parametrize("directed", [True, False])
def test_sparse_is_dense(ring, dtype, directed):
    """A search of a sparse graph finds what the closure of a matrix finds."""
    function, none = BEST[ring], tropical.semirings.get(ring).zero("float64")
    for seed, (n, m) in enumerate([(1, 0), (1, 3), (2, 3), (20, 30), (60, 200)]):
        graph = graphs.random_csr(seed, n, m, dtype)
        rng = np.random.default_rng(seed)
        sources, targets = rng.integers(0, n, (2, 3)), rng.integers(0, n, 4)
        limit = float(none) if seed % 2 else 4
        matrix = dense(graph, none)
        how = {"indices": sources, "directed": directed, "return_predecessors": True}
        values, before = function(graph, limit=limit, **how)
        assert values.dtype == (dtype if dtype == "float32" else "float64")
        everything = function(np.array(matrix), directed=directed, overwrite=True)
        worse = everything > limit if none == INF else everything < limit
        want = np.where(worse, none, everything)[sources]
        np.testing.assert_array_equal(values, want)
        np.testing.assert_array_equal(function(matrix, limit=limit, **how)[0], want)
        some = function(graph, limit=limit, targets=targets, **how)
        np.testing.assert_array_equal(some[0], want[..., targets])
        for (k, j), value in np.ndenumerate(some[0][0]):
            i = int(sources[0, k])
            stops = path(before[0, k], i, int(targets[j]))
            assert bool(stops) == (value != none)
            stops = path(some[1][0, k], i, int(targets[j]))
            assert bool(stops) == (value != none)
            both = matrix if directed else tropical.semirings.get(ring).add_ufunc(matrix, matrix.T)
            edges = [both[u, v] for u, v in itertools.pairwise(stops)]
            if edges:
                assert {"minplus": sum, "maxmin": min, "minmax": max}[ring](edges) == value
        nearest = function(graph, indices=sources, min_only=True, limit=limit, directed=directed)
        best = want.reshape(-1, n)
        np.testing.assert_array_equal(nearest, best.min(0) if none == INF else best.max(0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_negative_weights(dtype):
    """As without them: potentials, which a path of any source may need."""
    for seed in range(20):
        w = graphs.random_graph(np.random.default_rng(seed), 8, dtype=dtype, negative=True)
        graph = sparse.csr_array(np.where(w < INF, 1, 0))
        graph.data = w[w < INF]
        try:
            want = shortest_paths(w)
        except NegativeCycleError:
            with pytest.raises(NegativeCycleError):
                Searcher(graph)
            continue
        searcher = Searcher(graph)
        close = {"rtol": 1e-4, "atol": 1e-5}
        got = shortest_paths(graph, targets=[3, 3], indices=[1, 2])
        np.testing.assert_allclose(got, want[[1, 2]][:, [3, 3]], **close)
        np.testing.assert_allclose(searcher.lengths([1, 2], [3, 3]), got, **close)
        got = shortest_paths(graph, indices=[1, 2], limit=2)
        np.testing.assert_allclose(got, np.where(want > 2.00001, INF, want)[[1, 2]], **close)
        got, _, first = shortest_paths(
            graph, indices=[1, 2], min_only=True, return_predecessors=True
        )
        np.testing.assert_allclose(got, want[[1, 2]].min(axis=0), **close)
        for j in np.flatnonzero(got < INF):
            assert want[first[j], j] == pytest.approx(got[j], rel=1e-4, abs=1e-5)
        with pytest.raises(ValueError, match="limit: expected None with predecessors"):
            shortest_paths(graph, limit=2, return_predecessors=True)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads):
    graph = graphs.random_csr(5, 500, 3000)
    want = csgraph.dijkstra(graph)
    with tropical.options(threads=threads):
        got, before = shortest_paths(graph, "D", return_predecessors=True)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(before, shortest_paths(graph, "D", return_predecessors=True)[1])


def test_searcher():
    graph = graphs.random_csr(1, 300, 900, "float32")
    want = csgraph.dijkstra(graphs.random_csr(1, 300, 900))
    searcher = Searcher(graph)
    graph.data[:] = -1  # of which the searcher has a copy
    for one in (searcher, pickle.loads(pickle.dumps(searcher))):
        for _ in range(2):  # the second search finds clean memory
            np.testing.assert_array_equal(one.lengths(7, [[8, 7]]), want[7, [[8, 7]]])
            np.testing.assert_array_equal(
                one.lengths([[3]], limit=5), np.where(want > 5, INF, want)[[[3]]]
            )
        np.testing.assert_array_equal(one.lengths(), want)
        assert one.lengths(7, 7) == 0 and one.path(7, -293) == [7]
        for j in range(20):
            assert one.path(7, j) == path(one.lengths(7, return_predecessors=True)[1], 7, j)
    assert repr(searcher) == "<Searcher of 300 vertices, 900 edges, minplus, float32>"
    assert Searcher(np.zeros((0, 0))).lengths().shape == (0, 0)
    two = np.array([[0, 0.5], [0.25, 0]])
    np.testing.assert_array_equal(Searcher(two, "maxtimes").lengths(0), [1, 0.5])
    assert Searcher(np.array([[3, 4], [4, 4]]), directed=False).dtype == "float64"


@pytest.mark.parametrize("function", [shortest_paths, explain_shortest_paths])
def test_refuses_options(function):
    graph = graphs.random_csr(2, 5, 9)
    check_refused(
        lambda options: function(graph, **options),
        (ValueError, "limit: expected 0 or more, got -1", {"limit": -1}),
        (ValueError, "limit: expected a number, got nan", {"limit": np.nan}),
        (TypeError, "limit: expected a number, got 'far'", {"limit": "far"}),
        (ValueError, "targets: expected -5 <= index < 5, got 5", {"targets": [5]}),
        (TypeError, "targets: expected integers, got dtype float64", {"targets": [0.5]}),
        (ValueError, "indices: expected at least one", {"indices": [], "min_only": True}),
    )


def test_refuses():
    graph = graphs.random_csr(2, 5, 9)
    nan = graph.copy()
    nan.data[3] = np.nan
    check_refused(
        Searcher,
        (ValueError, "graph: expected numbers, got a NaN", nan),
        (ValueError, "semiring: expected a selective one, got plustimes", graph, "plustimes"),
        (ValueError, "graph: expected edges that improve no path of maxplus", graph, "maxplus"),
        (ValueError, r"graph: expected \(n, n\), got \(2, 3, 3\)", np.ones((2, 3, 3))),
    )
    with pytest.raises(ValueError, match="w: expected numbers, got a NaN"):
        shortest_paths(nan, indices=0, targets=0)
    assert shortest_paths(graph, indices=[], targets=[]).shape == (0, 0)


def test_arrays_that_lie():
    """The core reads the arrays in place, and trusts nothing that it reads."""
    start, head, weight = np.array([0, 1, 2]), np.array([1, 0], np.int32), np.ones(2)
    out = np.empty(2)

    def search(start=start, head=head, weight=weight, sources=(0,), targets=None, out=out):
        sources = np.array(sources, np.int32)
        core = _core.Search(start, head, weight)
        core.best_first("minplus", sources, None, False, targets, INF, out, None, None, None)
        return out.tolist()

    assert search() == [0, 1]
    assert search(start=np.array([0, 5, 2])) == [0, INF]
    assert search(start=np.array([-1, 1, 2], np.int32)) == [0, INF]
    for changed, message in [
        ({"head": np.array([2, 0], np.int32)}, "w: expected edges between its vertices"),
        ({"head": np.array([-1, 0], np.int32)}, "w: expected edges between its vertices"),
        ({"weight": -np.ones(2)}, "w: an edge improves"),
        ({"sources": (2,)}, "sources: expected vertices from 0 to 1, got 2"),
        ({"targets": np.array([-1], np.int32)}, "targets: expected vertices"),
        ({"out": np.empty(3)}, "out: expected 2 elements"),
        ({"start": np.zeros(0, np.int64)}, r"start: expected shape \(n \+ 1,\)"),
        ({"weight": np.ones(3)}, r"weight: expected shape \(2,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            search(**changed)
    for changed in (
        {"start": start * 1.0},
        {"head": head.astype(np.int64)},
        {"weight": weight[::-1]},
    ):
        with pytest.raises(TypeError):
            search(**changed)


CORRUPTED = {
    "a negative index": ([0, 1, 1, 1], [-1]),
    "too large an index": ([0, 1, 1, 1], [7]),
    "an index of more than 32 bits": ([0, 1, 1, 1], [2**32 + 1]),
    "starts that fall": ([0, 1, 0, 1], [1]),
    "starts from 1": ([1, 1, 1, 1], [1]),
}
PATHS = {
    "auto": shortest_paths,
    "D": lambda w: shortest_paths(w, "D", indices=0),
    "unweighted": lambda w: shortest_paths(w, unweighted=True),
    "FW": lambda w: shortest_paths(w, "FW"),
    "E": lambda w: shortest_paths(w, "E"),
    "undirected": lambda w: shortest_paths(w, directed=False),
    "closure": graph.closure,
    "widest": widest_paths,
    "longest": graph.longest_paths,
    "k edges": lambda w: graph.k_edge_paths(w, 1),
    "reachable": graph.transitive_closure,
    "loopless": lambda w: list(graph.k_shortest_paths(w, 0, 1)),
    "searcher": lambda w: graph.Searcher(w).lengths(0),
}


@pytest.mark.skipif(sys.maxsize < 2**40, reason="needs 64-bit addresses")
@pytest.mark.parametrize("function", PATHS.values(), ids=PATHS)
def test_more_vertices_than_int32_numbers(function):
    """The core would read the head 2**31 + 5 as a negative number."""
    n = 2**31
    w = sparse.coo_array(([1.0], ([3], [n - 1])), shape=(n, n))
    with pytest.raises(ValueError, match=f": expected at most {n - 1} vertices, got {n}"):
        function(w)


@pytest.mark.big
@pytest.mark.skipif(sys.maxsize < 2**40, reason="needs 64-bit addresses")
def test_starts_of_more_vertices_than_int32_numbers():
    n = 2**31
    start, none = np.zeros(n + 1, np.intp), np.zeros(0)  # nobody touches `start`
    message = f"start: expected at most {n - 1} vertices, got {n}"
    with pytest.raises(ValueError, match=message):
        _core.Search(start, none.astype(np.int32), none)
    with pytest.raises(ValueError, match=message):
        _core.betweenness(start, [], None, [], False, none, None)


@pytest.mark.parametrize("function", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("case", CORRUPTED)
def test_corrupted_arrays_of_scipy(case, function):
    """SciPy lets a user write to them, and looks at them no more."""
    if "starts" in case and function in (PATHS["D"], PATHS["unweighted"]):
        return  # they leave out what is no range of edges
    start, head = map(np.array, CORRUPTED[case])
    w = sparse.csr_array((3, 3))
    w.indptr, w.indices, w.data = start, head, np.ones(1)
    with pytest.raises(ValueError, match=r"expected (edges between|vertices from|4 starts)"):
        function(w)


def test_corrupted_arrays_where_python_leaves_assertions_out():
    code = """
        import numpy as np, scipy.sparse as sparse
        from tropical.graph import closure
        w = sparse.csr_array((3, 3))
        w.indptr, w.indices, w.data = np.array([0, 1, 1, 1]), np.array([-1], np.int32), np.ones(1)
        try:
            closure(w)
        except ValueError as error:
            print(error)
    """
    said = run_python(code, PYTHONOPTIMIZE="1")
    assert "w: expected edges between its vertices, 0 to 2, got -1" in said


def test_edges_that_potentials_would_make_infinite():
    """They are refused, not taken for none."""
    w = sparse.csr_array(([1e308, -1e308], ([0, 2], [1, 1])), (3, 3))
    assert graph.factorize(w).lengths(0).tolist() == [0, 1e308, INF]
    two = sparse.csr_array(([5e307, 5e307, -1e308], ([0, 1, 3], [1, 2, 2])), (4, 4))
    with pytest.raises(ValueError, match="negative weights overflow float64"):
        Searcher(two)
    for function in (
        Searcher,
        lambda w: shortest_paths(w, "J"),
        lambda w: shortest_paths(w, return_predecessors=True),
        lambda w: list(graph.k_shortest_paths(w, 0, 1)),
    ):
        with pytest.raises(ValueError, match="negative weights overflow float64"):
            function(w)


@pytest.mark.parametrize("least", [-1, 1])
@pytest.mark.parametrize("method", ["auto", "D", "J", "BF", "E"])
def test_one_source_and_one_target(method, least):
    w = np.array([[np.inf, least], [2, np.inf]])
    if method == "D" and least < 0:
        return
    assert shortest_paths(w, method, indices=0, targets=1) == least
    large = np.pad(w, (0, 199), constant_values=np.inf)
    assert shortest_paths(large, method, indices=0, targets=1) == least
    searcher = Searcher(w)
    assert searcher.lengths(0, 1) == least
    assert list(searcher.path(0, 1)) == [0, 1]


def test_a_path_leads_from_one_vertex_to_another():
    searcher = Searcher(graphs.random_csr(2, 5, 9))
    check_refused(
        searcher.path,
        (TypeError, r"^source: expected an integer, got \[0\]", [0], 1),
        (TypeError, "^source: expected an integer, got None", None, 1),
        (TypeError, "^target: expected integers, got dtype float64", 0, 1.5),
        (ValueError, "^target: expected -5 <= index < 5, got 5", 0, 5),
    )


@pytest.mark.parametrize("dtype", [">f8", ">f4"])
def test_the_other_order_of_bytes(dtype):
    w = np.array([[np.inf, -1], [2, np.inf]], dtype)
    assert Searcher(w).lengths(0, 1) == -1
    for method in ("auto", "FW", "J", "BF"):
        assert shortest_paths(w, method)[0, 1] == -1


@pytest.mark.parametrize("function", [widest_paths, minimax_paths])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_the_nearest_source_is_where_the_path_begins(function, dtype):
    """Also where the paths from several sources are equally good."""
    rng = np.random.default_rng(0)
    zero = semirings.get("maxmin" if function is widest_paths else "minmax").zero(dtype)
    for _ in range(300):
        w = rng.integers(-3, 3, (5, 5)).astype(dtype)
        w[rng.random((5, 5)) < 0.6] = zero
        indices = rng.permutation(5)[: rng.integers(1, 5)]
        options = {"indices": indices, "min_only": True, "return_predecessors": True}
        values, before, sources = function(w, **options)
        every = function(w, indices=indices)
        for j in range(5):
            if sources[j] < 0:
                assert values[j] == zero
                continue
            way = path(before, int(sources[j]), j)
            assert way[0] == sources[j] and way[-1] == j
            assert values[j] == every[indices.tolist().index(sources[j]), j]


def test_closed_edges_are_no_edges_where_edges_are_counted():
    roads = sparse.csr_array(np.array([[0, INF, 1], [0, 0, 1], [1, 0, 0]]))
    want = shortest_paths(roads, unweighted=True)
    assert want[0, 1] == INF
    for options in ({"targets": [0, 1, 2]}, {"limit": 5}, {"targets": [1, 2], "limit": 5}):
        got = shortest_paths(roads, unweighted=True, indices=0, **options)
        np.testing.assert_array_equal(got, want[0, options.get("targets", [0, 1, 2])])
