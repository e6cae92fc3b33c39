"""Paths by elimination are those of other methods; `method="auto"` counts before it chooses."""

import itertools

import numpy as np
import pytest

import tropical
from tropical import _core
from tropical.graph import (
    NegativeCycleError,
    costs,
    counting,
    explain_shortest_paths,
    minimax_paths,
    other_paths,
    path,
    shortest_paths,
    widest_paths,
)
from tropical.graph.method import Choice

sp = pytest.importorskip("scipy.sparse", reason="whose arrays are searched")
INF = np.inf


def grid(side, dtype="float64", seed=0):
    vertex = np.arange(side * side).reshape(side, side)
    i, j = np.append(vertex[:, 1:], vertex[1:]), np.append(vertex[:, :-1], vertex[:-1])
    weights = np.random.default_rng(seed).integers(1, 100, len(i)).astype(dtype)
    one_way = sp.csr_array((weights, (i, j)), shape=(side * side,) * 2)
    return (one_way + one_way.T).tocsr()


def random_graph(n, degree, dtype="float64", least=0, seed=0):
    """Whole weights, so that sums are exact; those of `least` < 0 have no negative cycle."""
    rng = np.random.default_rng([seed, n, int(degree * 10)])
    i, j = rng.integers(0, n, (2, int(n * degree)))
    number = rng.integers(least, 1, n)
    weights = rng.integers(0, 9, len(i)) + number[i] - number[j]
    return sp.csr_array((weights.astype(dtype), (i, j)), shape=(n, n))


GRAPHS = [
    random_graph(40, degree, dtype, least, seed)
    for degree, dtype, least, seed in itertools.product(
        (0.5, 2, 8), ("float32", "float64"), (0, -9), (0, 1)
    )
]


def check_tree(graph, lengths, before, sources):
    dense = np.full(graph.shape, INF)
    edges = graph.tocoo()
    np.minimum.at(dense, edges.coords, edges.data)
    for row, source in enumerate(sources):
        for end in range(len(dense)):
            stops = path(before[row], source, end)
            assert bool(stops) == (lengths[row, end] < INF)
            assert sum(dense[u, v] for u, v in itertools.pairwise(stops)) == (
                lengths[row, end] if stops else 0
            )


@pytest.mark.parametrize("options", [
    {},
    {"indices": 3},
    {"indices": [[0, 5, 5], [-1, 2, 39]]},
    {"indices": []},
    {"targets": [4, 4, 0]},
    {"indices": [7, 1], "targets": [[3], [-2]]},
    {"limit": 6},
    {"indices": [1, 2, 3], "min_only": True},
    {"indices": [1, 2, 3], "min_only": True, "targets": [8, 9], "limit": 9},
    {"directed": False},
    {"unweighted": True},
])  # fmt: skip
def test_elimination_finds_what_searches_find(options):
    for graph in GRAPHS:
        undirected = not options.get("directed", True)
        if undirected and graph.data.min(initial=0) < 0:
            continue
        for form in (graph, graph.toarray() if options.get("unweighted") else None):
            if form is None:
                continue
            if not sp.issparse(form):
                form[form == 0] = INF
            want = shortest_paths(form, "J", **options)
            got = shortest_paths(form, "E", **options)
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_array_equal(got, want)
            auto = shortest_paths(form, **options)
            np.testing.assert_array_equal(auto, want)


def test_predecessors():
    for graph in GRAPHS:
        for sources in (None, [3, 0, 3]):
            lengths, before = shortest_paths(graph, "E", indices=sources, return_predecessors=True)
            assert before.dtype == np.int32 and before.shape == lengths.shape
            check_tree(graph, lengths, before, range(40) if sources is None else sources)
            if graph.data.min(initial=0) >= 0:
                bounded, tree = shortest_paths(
                    graph, "E", indices=sources, return_predecessors=True, limit=5
                )
                np.testing.assert_array_equal(bounded, np.where(lengths > 5, INF, lengths))
                assert ((tree == -9999) >= (bounded == INF)).all()
    nearest = shortest_paths(
        GRAPHS[0], "E", indices=[5, 2], min_only=True, return_predecessors=True, targets=[1, 2, 5]
    )
    want = shortest_paths(GRAPHS[0], "D", indices=[5, 2], min_only=True, targets=[1, 2, 5])
    np.testing.assert_array_equal(nearest[0], want)
    assert [table.shape for table in nearest] == [(3,), (40,), (3,)]


def test_negative_cycles():
    graph = sp.csr_array(([1.0, -3, 1, 1], ([0, 1, 2, 3], [1, 2, 0, 4])), shape=(6, 6))
    for options in ({}, {"indices": [1, 4]}, {"targets": 0}):
        with pytest.raises(NegativeCycleError) as caught:
            shortest_paths(graph, "E", **options)
        assert sorted(caught.value.cycle) == [0, 1, 2] and caught.value.weight == -1
    np.testing.assert_array_equal(
        shortest_paths(graph, "E", indices=3), shortest_paths(graph, "J", indices=3)
    )  # which does not reach the cycle
    loop = sp.csr_array(([-1.0], ([2], [2])), shape=(3, 3))
    with pytest.raises(NegativeCycleError):
        shortest_paths(loop, "E")


def test_what_elimination_is_not_for():
    for w in (np.ones((3, 3), np.int32), np.ones((2, 3, 3))):
        with pytest.raises(ValueError, match=r"^method: expected 'FW' for"):
            shortest_paths(w, "E")
    with pytest.raises(ValueError, match=r"^limit: expected None with predecessors"):
        shortest_paths(GRAPHS[2], "E", limit=2, return_predecessors=True)


def test_progress():
    shares = []
    shortest_paths(grid(30), "E", progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1


def test_grids_are_eliminated_where_many_paths_are_wanted():
    found = explain_shortest_paths(grid(60))
    assert found.method == "E" and "s by elimination, as estimated: it makes" in found.reason
    assert set(found.seconds) == {"FW", "D", "E"} and found.seconds["E"] == min(
        found.seconds.values()
    )
    core = _core.Elimination(3600, *grid(60).tocoo().coords)
    assert found.entries == core.entries
    assert f"{found.entries:,} entries with {found.operations:,} operations" in found.reason
    assert "Elimination of vertices (E)" in str(found)
    assert explain_shortest_paths(-grid(60), "E").reason == "it was asked for"
    for few in ({"indices": 0}, {"indices": [0, 1, 2]}, {"limit": 5}, {"min_only": True}):
        assert explain_shortest_paths(grid(60), **few).method == "D"
    assert explain_shortest_paths(grid(60), targets=range(100)).method == "E"


def test_few_paths_on_a_grid_are_enough():
    """A factor takes as long as 15 to 20 searches, but searches among weights of 1 are fast."""
    sources = np.arange(30)
    with tropical.options(threads=1):
        for side in (70, 141):
            assert explain_shortest_paths(grid(side), indices=sources).method == "E"
            assert explain_shortest_paths(grid(side), indices=sources[:8]).method == "D"
            ones = explain_shortest_paths(grid(side), indices=sources, unweighted=True)
            assert ones.method == "D"


def test_many_searches_in_an_expander():
    """From many sources, searches take less than they would one by one."""
    graph = random_graph(3000, 4)
    with tropical.options(threads=1):
        many = explain_shortest_paths(graph)
        few = explain_shortest_paths(graph, indices=range(100))
        longer = explain_shortest_paths(graph, return_predecessors=True)
        assert many.method == few.method == "D"
        assert many.seconds["D"] < 15 * few.seconds["D"] < longer.seconds["D"]


def test_elimination_is_given_up(monkeypatch):
    """Where it adds too many edges; and it is not begun where that is likely."""
    graph = random_graph(3000, 8)
    found = explain_shortest_paths(graph)
    assert found.method in ("FW", "D") and found.entries == 0 and set(found.seconds) == {"FW", "D"}
    assert found.reason.endswith("no elimination: it adds too many edges")
    few = explain_shortest_paths(graph, indices=range(60))
    assert few.reason.endswith("it most likely adds too many edges for so few paths")

    def refused(*_):
        raise AssertionError("for one source, no order is tried")

    monkeypatch.setattr(counting._core, "Elimination", refused)
    assert explain_shortest_paths(grid(300), indices=[5]).method == "D"


def test_steps_and_operations_bound_the_order():
    edges = grid(30).tocoo().coords
    whole = _core.Elimination(900, *edges)
    with pytest.raises(OverflowError, match="too many steps"):
        _core.Elimination(900, *edges, most_steps=3000)
    assert _core.Elimination(900, *edges, most_entries=whole.entries).entries == whole.entries
    with pytest.raises(OverflowError, match="too many edges"):
        _core.Elimination(900, *edges, most_entries=whole.entries, operation=1e-3)
    degree = np.diff(whole.start)
    some = whole.entries + int(1e-3 * (degree * (degree + 1)).sum()) + 1
    _core.Elimination(900, *edges, most_entries=some, operation=1e-3)


def test_edge_entries():
    graph = random_graph(50, 3)
    edges = graph.tocoo()
    core = _core.Elimination(50, *edges.coords)
    loops = edges.coords[0] == edges.coords[1]
    assert (core.edge_entries[loops] == -1).all() and (core.edge_entries[~loops] >= 0).all()
    pairs = {}
    for entry, i, j in zip(core.edge_entries, *edges.coords, strict=True):
        if i != j:
            assert pairs.setdefault(entry, {i, j}) == {i, j}


def test_balls():
    graph = grid(21)
    start, head = (x.astype(np.int32) for x in (graph.indptr, graph.indices))
    core = _core.Search(start, head, graph.data)
    assert core.ball(220, 5, 64) == (13, 8)
    assert core.ball(220, 1000, 3) == (25, 12)
    assert core.ball(220, 1000, 100) == (441, 0)
    with pytest.raises(ValueError, match=r"^center: expected a vertex, got 441"):
        core.ball(441, 1, 1)


@pytest.mark.parametrize("function", [widest_paths, minimax_paths])
def test_other_semirings(function, monkeypatch):
    graph = grid(60)
    for options in ({}, {"directed": False}, {"targets": [0, 5]}, {"indices": range(0, 3600, 9)}):
        got = function(graph, **options)
        with monkeypatch.context() as patch:
            patch.setattr(other_paths, "cheapest", lambda *_: Choice("D", ""))
            np.testing.assert_array_equal(got, function(graph, **options))
    values, before = function(graph, return_predecessors=True, indices=range(200))
    assert values.shape == before.shape == (200, 3600)


def test_auto_is_right_on_larger_graphs():
    for graph in (grid(40, "float32"), random_graph(900, 3), random_graph(900, 1, least=-9)):
        want = shortest_paths(graph, "J")
        for threads in (1, 3):
            with tropical.options(threads=threads):
                np.testing.assert_array_equal(shortest_paths(graph), want)


def test_no_closure_of_a_graph_whose_matrix_nobody_could_hold():
    """`explain` refuses so large a product."""
    for n in (1 << 26, (1 << 26) + 1, (1 << 31) - 1):
        assert (costs.closure_seconds(n, np.dtype(np.float64), False) < INF) == (n == 1 << 26)
