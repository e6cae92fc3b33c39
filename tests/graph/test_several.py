"""The k shortest paths and numbers of shortest paths, against networkx."""

import itertools

import numpy as np
import pytest
from support import check_refused

from tropical.graph import NegativeCycleError, count_shortest_paths, k_shortest_paths

nx = pytest.importorskip("networkx", reason="the other paths")
sparse = pytest.importorskip("scipy.sparse", reason="sparse graphs")

INF = np.inf


def random_graph(seed, n, m, least=0, most=4, kind=nx.MultiDiGraph):
    """Small whole weights: many ties, loops and parallel edges."""
    rng = np.random.default_rng(seed)
    graph = kind()
    graph.add_nodes_from(range(n))
    for i, j in rng.integers(0, n, (m, 2)).tolist():
        graph.add_edge(i, j, weight=int(rng.integers(least, most)))
    return graph


def simple(graph):
    """The lightest of parallel edges, no loops."""
    found = nx.DiGraph() if graph.is_directed() else nx.Graph()
    found.add_nodes_from(graph)
    for i, j, weight in graph.edges(data="weight"):
        if i != j and weight <= found.get_edge_data(i, j, {"weight": INF})["weight"]:
            found.add_edge(i, j, weight=weight)
    return found


def length_of(graph, path):
    return sum(graph[i][j]["weight"] for i, j in itertools.pairwise(path))


@pytest.mark.parametrize("kind", [nx.MultiDiGraph, nx.MultiGraph])
@pytest.mark.parametrize("seed", range(12))
def test_all_paths(kind, seed):
    """Every path without loops once, the shortest first."""
    graph = random_graph(seed, 6, 12, kind=kind)
    one = simple(graph)
    for i, j in itertools.permutations(range(6), 2):
        got = list(k_shortest_paths(graph, i, j))
        want = sorted(length_of(one, path) for path in nx.all_simple_paths(one, i, j))
        assert [length for length, _ in got] == want
        assert [length_of(one, path) for _, path in got] == want
        paths = {tuple(path) for _, path in got}
        assert len(paths) == len(got) and all(len(set(p)) == len(p) for p in paths)
        assert list(k_shortest_paths(graph, i, j, 2)) == got[:2]


@pytest.mark.parametrize("seed", range(4))
def test_like_networkx(seed):
    rng = np.random.default_rng(seed)
    graph = nx.grid_2d_graph(7, 8)
    nx.set_edge_attributes(graph, {e: float(rng.random()) for e in graph.edges}, "weight")
    graph = nx.convert_node_labels_to_integers(graph)
    want = list(itertools.islice(nx.shortest_simple_paths(graph, 0, 55, "weight"), 60))
    got = list(k_shortest_paths(graph, 0, -1, 60))
    np.testing.assert_allclose([x for x, _ in got], [length_of(graph, p) for p in want])
    assert [p for _, p in got] == want
    csr = nx.to_scipy_sparse_array(graph, format="csr")
    assert list(k_shortest_paths(csr, 0, 55, 60)) == got


def test_negative_weights():
    """Loops aside, negative weights are weights."""
    found = 0
    for seed in range(60):
        graph = random_graph(seed, 6, 12, least=-1, kind=nx.DiGraph)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        try:
            got = list(k_shortest_paths(graph, 0, 5))
        except NegativeCycleError:
            continue
        want = sorted(length_of(graph, path) for path in nx.all_simple_paths(graph, 0, 5))
        assert [length for length, _ in got] == want
        found += bool(want) and min(w for *_, w in graph.edges(data="weight")) < 0
    assert found > 3


def test_ends():
    w = np.array([[INF, 1.0], [INF, INF]])
    assert list(k_shortest_paths(w, 0, 0)) == [(0.0, [0])]
    assert list(k_shortest_paths(w, 1, 0)) == []
    assert list(k_shortest_paths(w, 0, 1, 0)) == []
    assert list(k_shortest_paths(w, 0, 1, directed=False)) == [(1.0, [0, 1])]
    assert list(k_shortest_paths(w.astype("float32") * 7, 0, 1, unweighted=True)) == [(1, [0, 1])]
    assert list(k_shortest_paths(np.array([[3, 2], [1, 1]]), 0, 1)) == [(2.0, [0, 1])]
    check_refused(
        k_shortest_paths,
        (ValueError, "k: expected 0 or more, got -1", w, 0, 1, -1),
        (TypeError, "k: expected an integer, got 0.5", w, 0, 1, 0.5),
        (ValueError, "target: expected -2 <= index < 2, got 2", w, 0, 2),
        (TypeError, "source: expected an integer", w, [0], 1),
        (TypeError, "source: expected an integer", w, None, 1),
        (ValueError, r"w: expected \(n, n\)", np.ones((2, 3, 3)), 0, 1),
    )


def counted(graph, i, j):
    if not nx.has_path(graph, i, j):
        return 0
    return len(list(nx.all_shortest_paths(graph, i, j, "weight")))


@pytest.mark.parametrize("kind", [nx.MultiDiGraph, nx.MultiGraph])
@pytest.mark.parametrize("least", [0, 1])
def test_counts(kind, least):
    """Edges of weight 0 lead between vertices that are equally far."""
    counts = circular = 0
    for seed in range(40):
        graph = random_graph(seed, 8, 14, least, kind=kind)
        one = simple(graph)
        free = nx.DiGraph((i, j) for i, j, x in one.to_directed().edges(data="weight") if x == 0)
        if not nx.is_directed_acyclic_graph(free):
            circular += 1
            with pytest.raises(ValueError, match="w: expected no cycle of weight 0"):
                count_shortest_paths(graph)
            continue
        want = [[counted(one, i, j) for j in range(8)] for i in range(8)]
        np.testing.assert_array_equal(count_shortest_paths(graph), want)
        got = count_shortest_paths(graph, indices=[[3], [-1]], targets=[2, 2, 5])
        np.testing.assert_array_equal(got, np.array(want)[[[3], [7]]][..., [2, 2, 5]])
        near = nx.floyd_warshall_numpy(one, range(8)) <= 3
        np.testing.assert_array_equal(count_shortest_paths(graph, limit=3), want * near)
        counts += 1
    assert counts and (least or circular)


def test_counts_of_a_grid():
    grid = nx.grid_2d_graph(12, 12)
    assert count_shortest_paths(grid, indices=0, targets=143) == 705432
    w = np.where(nx.to_numpy_array(grid) > 0, np.float32(1), np.float32(INF))
    assert count_shortest_paths(w)[0, 143] == 705432
    assert count_shortest_paths(np.zeros((0, 0))).shape == (0, 0)
    check_refused(
        lambda options: count_shortest_paths(w, **options),
        (ValueError, "limit: expected 0 or more", {"limit": -1}),
        (ValueError, "targets: expected", {"targets": 200}),
    )
    with pytest.raises(ValueError, match="w: expected weights of 0 or more, got -1"):
        count_shortest_paths([[-1.0]])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", ">i4"])
def test_counts_in_arrays_of_integers(dtype):
    w = np.full((4, 4), np.iinfo(dtype).max, dtype)
    w[[0, 0, 1, 2], [1, 2, 3, 3]] = [1, 2, 2, 1]
    want = [[1, 1, 1, 2], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    np.testing.assert_array_equal(count_shortest_paths(w), want)
    np.testing.assert_array_equal(count_shortest_paths(w, unweighted=True), want)
    assert count_shortest_paths(w, indices=0, targets=3, limit=2) == 0


def test_paths_that_part_at_a_hub():
    """All paths but the last bar a neighbor of the hub; to look each up in turn would take long."""
    routes = 5000
    middle, weights = np.arange(2, routes + 2), np.arange(1.0, routes + 1)
    ends = np.append(np.zeros(routes, int), middle), np.append(middle, np.ones(routes, int))
    graph = sparse.csr_array((np.append(weights, np.ones(routes)), ends), (routes + 2,) * 2)
    found = list(k_shortest_paths(graph, 0, 1))
    assert found == [(i + 2, [0, i + 2, 1]) for i in range(routes)]
