"""The networkx backend, against networkx itself: graphs of every kind, weights of every kind."""

import inspect
import itertools
import math
import re
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import entry_points
from random import Random

import numpy as np
import pytest
from support import run_python

from _tropical_networkx import FUNCTIONS as TABLE
from _tropical_networkx import get_info

nx = pytest.importorskip("networkx", reason="the backend is networkx's")
backend = pytest.importorskip("tropical.interop.networkx")

installed = pytest.mark.skipif(
    not entry_points(group="networkx.backends", name="tropical"),
    reason="networkx finds the backend of an installed distribution only",
)
KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
FUNCTIONS = [name for name in TABLE if hasattr(backend, name) and hasattr(nx, name)]
WEIGHTED = sorted(name for name in set(FUNCTIONS) - set(backend.searches.__all__)
                  if "weight" in inspect.signature(getattr(backend, name)).parameters)  # fmt: skip
PATHS = ["johnson", "all_pairs_dijkstra_path", "all_pairs_bellman_ford_path"]
DIJKSTRA = sorted(set(WEIGHTED) - {"johnson"} - {
    name for name in WEIGHTED if "floyd" in name or "bellman" in name})  # fmt: skip
WEIGHTS = {
    "whole": lambda random: random.randint(0, 9),
    "long": lambda random: random.randint(2**25, 2**30),
    "whole float": lambda random: float(random.randint(1, 9)),
    "mixed": lambda random: random.choice([True, 2, 3.0, np.int64(4), np.float64(5)]),
    "fraction": lambda random: random.random(),
}


def label(i):
    return [i, f"node {i}", (i, i + 1), frozenset([i]), i + 0.5][i % 5]


def graph(kind, weights="whole", n=14, edges=45, seed=0, connected=False, missing=0.1):
    """A random graph of labels of many types, some edges without a weight, and loops."""
    random = Random(f"{kind.__name__} {weights} {seed}")
    made = kind()
    made.add_nodes_from(random.sample([label(i) for i in range(n)], n))
    nodes = list(made)
    ends = [(random.choice(nodes), random.choice(nodes)) for _ in range(edges)]
    if connected:
        ends += itertools.pairwise([*nodes, nodes[0]])
    for tail, head in ends:
        weight = WEIGHTS[weights](random)
        made.add_edge(tail, head, **({"weight": weight} if random.random() >= missing else {}))
    return made


def ours(name, made, *args, **kwargs):
    call = inspect.signature(getattr(backend, name)).bind(made, *args, **kwargs)
    call.apply_defaults()  # as networkx does
    assert backend.can_run(name, call.args, call.kwargs) is True
    return unrolled(getattr(backend, name)(backend.convert_from_nx(made), *args, **kwargs))


def theirs(name, made, *args, **kwargs):
    return unrolled(getattr(nx, name)(made, *args, backend="networkx", **kwargs))


def unrolled(result):
    return dict(result) if hasattr(result, "__next__") else result


def approximately(want):
    """`want`, whose numbers may differ by rounding."""
    if isinstance(want, dict):
        return {key: approximately(value) for key, value in want.items()}
    if isinstance(want, list | tuple):
        return type(want)(map(approximately, want))
    return pytest.approx(want, rel=1e-12) if isinstance(want, float) else want


def same_types(got, want):
    if isinstance(want, dict):
        return all(same_types(got[key], want[key]) for key in want)
    return type(got) is type(want)


def compare(name, made, *args, **kwargs):
    """Our result and theirs, which are equal but for rounding."""
    got, want = ours(name, made, *args, **kwargs), theirs(name, made, *args, **kwargs)
    assert got == approximately(want)
    return got, want


def compare_errors(kind, name, made, *args):
    """We and they raise an error of the same kind with the same message."""
    with pytest.raises(kind) as want:
        theirs(name, made, *args)
    with pytest.raises(type(want.value), match=f"^{re.escape(str(want.value))}$"):
        ours(name, made, *args)


def length(made, path):
    function = nx.algorithms.shortest_paths.weighted._weight_function(made, "weight")
    return sum(function(u, v, made.adj[u][v]) for u, v in itertools.pairwise(path))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    [
        "floyd_warshall",
        "all_pairs_dijkstra_path_length",
        "all_pairs_bellman_ford_path_length",
        "closeness_centrality",
        "harmonic_centrality",
    ],
)
def test_lengths_and_centralities(name, kind, weights):
    attribute = {"distance": "weight"} if name.endswith("centrality") else {}
    for missing in (0, 0.1):
        made = graph(kind, weights, edges=20, missing=missing)
        got, want = compare(name, made, **attribute)
        assert attribute or weights == "mixed" or missing or same_types(got, want)
    if not attribute:
        assert list(got) == list(want)
        distances = [list(row.values()) for row in got.values()]
        assert name == "floyd_warshall" or distances == [sorted(row) for row in distances]


@pytest.mark.parametrize("kind", KINDS)
def test_unweighted(kind):
    made = graph(kind, edges=20)
    for name in ("all_pairs_shortest_path_length", "closeness_centrality", "harmonic_centrality"):
        compare(name, made)
    for name in set(WEIGHTED) & {"floyd_warshall", "all_pairs_dijkstra_path_length"}:
        for weight in (None, "absent"):
            got, want = compare(name, made, weight=weight)
            assert got == want and same_types(got, want)
    if not made.is_directed():
        compare("global_efficiency", made)


@pytest.mark.parametrize("weights", ["whole", "mixed", "fraction"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PATHS)
def test_paths_are_shortest(name, kind, weights):
    made = graph(kind, weights, edges=22)
    lengths = theirs("floyd_warshall", made)
    got, want = ours(name, made), theirs(name, made)
    assert list(got) == list(want)
    for source, paths in got.items():
        assert paths.keys() == want[source].keys()
        for target, path in paths.items():
            assert (path[0], path[-1]) == (source, target)
            assert math.isclose(length(made, path), lengths[source][target], rel_tol=1e-12)
    both = ours("all_pairs_dijkstra", made)
    assert both == {node: (ours("all_pairs_dijkstra_path_length", made)[node], paths)
                    for node, paths in ours("all_pairs_dijkstra_path", made).items()}  # fmt: skip


@pytest.mark.parametrize("weights", ["whole", "fraction"])
@pytest.mark.parametrize("kind", KINDS)
def test_predecessors_lead_along_shortest_paths(kind, weights):
    made = graph(kind, weights, edges=22)
    before, lengths = ours("floyd_warshall_predecessor_and_distance", made)
    want_before, want = theirs("floyd_warshall_predecessor_and_distance", made)
    assert lengths == approximately(want)
    assert {u: last.keys() for u, last in before.items()} == {
        u: last.keys() for u, last in want_before.items()
    }
    for source, last in before.items():
        for target in last:
            path = nx.reconstruct_path(source, target, before)
            if path:
                assert math.isclose(length(made, path), lengths[source][target], rel_tol=1e-12)
            else:
                assert last[target] == want_before[source][target] == source  # a loop


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_negative_weights_without_negative_cycles(kind):
    made = graph(kind, "whole", edges=40)
    random, height = Random(7), {}
    for node in made:
        height[node] = random.randint(-20, 20)
    for tail, head, data in made.edges(data=True):
        data["weight"] = data.get("weight", 1) + height[head] - height[tail]
    for name in ("floyd_warshall", "all_pairs_bellman_ford_path_length"):
        assert ours(name, made) == theirs(name, made)
    lengths = theirs("floyd_warshall", made)
    for name in ("johnson", "all_pairs_bellman_ford_path"):
        for source, paths in ours(name, made).items():
            for target, path in paths.items():
                assert length(made, path) == lengths[source][target]


def test_floyd_warshall_numpy():
    for kind, weights in itertools.product(KINDS, WEIGHTS):
        made = graph(kind, weights, edges=20)
        got, want = ours("floyd_warshall_numpy", made), theirs("floyd_warshall_numpy", made)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12)
        turned = list(made)[::-1]
        got = ours("floyd_warshall_numpy", made, turned)
        np.testing.assert_allclose(got, want[::-1, ::-1], rtol=1e-12)
    for wrong in (turned[1:], [*turned[1:], turned[1]], [*turned[1:], "stranger"]):
        compare_errors(nx.NetworkXError, "floyd_warshall_numpy", made, wrong)


MEASURES = [
    "average_shortest_path_length",
    "barycenter",
    "center",
    "diameter",
    "eccentricity",
    "periphery",
    "radius",
    "wiener_index",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MEASURES)
def test_measures(name, kind):
    for seed, weights in enumerate(WEIGHTS):
        made = graph(kind, weights, seed=seed, connected=True, missing=0)
        for weight in (None, "weight"):
            if weight and weights == "fraction" and name in ("barycenter", "center", "periphery"):
                with pytest.raises(NotImplementedError, match="weight: weights are fractions"):
                    ours(name, made, weight=weight)
            else:
                got, want = compare(name, made, weight=weight)
                assert same_types(got, want) or weights == "mixed"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["average_shortest_path_length", "barycenter", "wiener_index"])
def test_whole_sums_are_exact_or_left_to_networkx(name, kind):
    made = nx.cycle_graph(6, kind)
    for tail, head, data in made.edges(data=True):
        data["weight"] = 2**50 - 1 - ((tail, head) == (0, 1))
    with pytest.raises(NotImplementedError, match=r"^weight: a sum of lengths is .*, 2\*\*53 is"):
        ours(name, made, weight="weight")
    for *_, data in made.edges(data=True):
        data["weight"] //= 2**6
    assert ours(name, made, weight="weight") == theirs(name, made, weight="weight")
    for *_, data in made.edges(data=True):
        data["weight"] = 2.0**50 - 0.25
    if name != "barycenter":
        compare(name, made, weight="weight")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MEASURES)
def test_measures_of_what_is_not_connected(name, kind):
    for made in (graph(kind, edges=6), kind([(0, 1), (2, 3), (3, 4), (4, 2), (1, 0), (2, 2)])):
        if name == "wiener_index":
            assert ours(name, made) == theirs(name, made) == math.inf
            continue
        compare_errors(nx.NetworkXException, name, made)


@pytest.mark.parametrize("weights", ["long", "whole float", "fraction"])
@pytest.mark.parametrize("kind", KINDS)
def test_betweenness(kind, weights):
    made = graph(kind, weights, edges=30)
    both = ("betweenness_centrality", "edge_betweenness_centrality")
    for name, weight, normalized in itertools.product(both, (None, "weight"), (True, False)):
        options = {"weight": weight, "normalized": normalized}
        got, want = compare(name, made, **options)
        assert list(got) == list(want) and same_types(got, want)
        if backend.measures.SAMPLES:
            compare(name, made, k=5, seed=3, **options)
            compare(name, made, k=14, seed=3, **options)
    compare("betweenness_centrality", made, endpoints=True, weight="weight")


@pytest.mark.parametrize("weight", [0, -1, 0.0])
def test_betweenness_is_left_to_networkx_where_paths_have_no_number(weight):
    made = nx.Graph([(0, 1), (1, 2, {"weight": weight})])
    for name in ("betweenness_centrality", "edge_betweenness_centrality"):
        with pytest.raises(NotImplementedError, match=r"^weight: weights are 0 or less$"):
            ours(name, made, weight="weight")
        compare(name, made)


@pytest.mark.parametrize("reflexive", [False, True, None])
@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_transitive_closure(kind, reflexive):
    for seed in range(4):
        made = graph(kind, edges=9 + 6 * seed, seed=seed)
        got = ours("transitive_closure", made, reflexive=reflexive)
        want = theirs("transitive_closure", made, reflexive=reflexive)
        assert type(got) is kind
        assert (got._node, got._adj, got.graph) == (want._node, want._adj, want.graph)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_transitive_closure_of_dags(kind):
    loose = graph(kind, edges=60)
    rank = {node: i for i, node in enumerate(loose)}
    made = kind((u, v) for u, v in loose.edges() if rank[u] < rank[v])
    got, want = ours("transitive_closure_dag", made), theirs("transitive_closure_dag", made)
    assert got._adj == want._adj
    compare_errors(nx.NetworkXUnfeasible, "transitive_closure_dag", loose)


def test_graphs_of_one_node():
    for kind in KINDS:
        made = kind()
        made.add_node("only")
        for name in sorted(FUNCTIONS):
            if backend.can_run(name, (made,), {}) is True and name != "global_efficiency":
                got, want = ours(name, made), theirs(name, made)
                if name.startswith("transitive"):
                    got, want = got._adj, want._adj
                assert np.array_equal(got, want) if name.endswith("numpy") else got == want


def test_negative_cycles():
    made = nx.DiGraph([("a", "b"), ("b", "a")])
    made.add_edge("a", "b", weight=-3)
    for name in ("johnson", "all_pairs_bellman_ford_path", "all_pairs_bellman_ford_path_length"):
        with pytest.raises(nx.NetworkXUnbounded, match=r"^Negative cycle detected\.$"):
            ours(name, made)
    for name in ("floyd_warshall", "floyd_warshall_numpy"):  # networkx does not notice
        with pytest.raises(NotImplementedError, match=r"weight: .*cycle"):
            ours(name, made)
    made.add_edge("a", "b", weight=-3.5)  # a cycle by rounding only, it may be
    with pytest.raises(NotImplementedError, match=r"weight: .*cycle"):
        ours("all_pairs_bellman_ford_path_length", made)
    for name in ("johnson", "floyd_warshall_predecessor_and_distance"):
        with pytest.raises(NotImplementedError, match="weight: weights are negative fractions"):
            ours(name, made)


@pytest.mark.parametrize(
    "weight",
    [Fraction(1, 3), Decimal(1), None, "7", 1j, np.float32(0.1), np.int8(1),
     math.nan, math.inf, -math.inf, 10**400, 2**53],
    ids=repr,
)  # fmt: skip
def test_weights_that_only_networkx_takes(weight):
    made = nx.Graph([(0, 1), (1, 2)])
    made.add_edge(0, 2, weight=weight)
    for name in WEIGHTED:
        if name not in ("transitive_closure", "transitive_closure_dag"):
            with pytest.raises(NotImplementedError, match=r"^weight: "):
                ours(name, made, weight="weight")


@pytest.mark.parametrize("name", DIJKSTRA)
def test_negative_weights_are_left_to_their_dijkstra(name):
    made = nx.cycle_graph(5, nx.DiGraph)
    made.add_edge(0, 1, weight=-2)
    with pytest.raises(NotImplementedError, match=r"weight: weights are (negative|0 or less)"):
        ours(name, made, weight="weight")


def refused(name, *args, graph=None, **kwargs):
    made = nx.cycle_graph(4, nx.DiGraph) if graph is None else graph
    return backend.can_run(name, (made, *args), kwargs)


def test_what_cannot_run_says_why():
    attribute = "is not the name of an attribute"
    assert refused("eccentricity", 0) == "v is not supported"
    wrong = "no number of nodes" if backend.measures.SAMPLES else "not supported"
    assert refused("betweenness_centrality", k=2.5) == f"k is {wrong}"
    assert refused("diameter", usebounds=True) == "usebounds is not supported"
    assert refused("barycenter", attr="sum") == "attr is not supported"
    assert refused("johnson", weight=lambda u, v, data: 1) == f"weight {attribute}"
    assert refused("closeness_centrality", distance=7) == f"distance {attribute}"
    assert refused("transitive_closure", 1) == "reflexive is not True, False or None"
    assert "undirected" in refused("transitive_closure", graph=nx.Graph([(0, 1)]))
    assert refused("johnson", graph=nx.Graph()) == "an empty graph"
    assert refused("johnson", graph=[1, 2]) == "G is a list"
    assert refused("center", graph=nx.path_graph(5)) == "it may be a tree"
    assert refused("center", graph=nx.path_graph(5), weight="weight") is True
    both_ways = nx.DiGraph([(0, 1), (1, 0)]).to_undirected(as_view=True)
    for view in (both_ways, both_ways.subgraph([0, 1]), backend.convert_from_nx(both_ways)):
        assert "undirected view of a directed graph" in refused("johnson", graph=view)
    assert refused("johnson", graph=nx.path_graph(5).subgraph([0, 1])) is True
    assert "turbo" in refused("johnson", turbo=True)
    with pytest.raises(NotImplementedError, match="not a networkx graph: list"):
        backend.convert_from_nx([1, 2])


def test_what_should_not_run_says_why():
    should = backend.should_run
    assert should("johnson", (nx.complete_graph(30),), {}) is True
    assert should("johnson", (), {"G": nx.complete_graph(30), "weight": None}) is True
    assert "below 20" in should("johnson", (nx.complete_graph(7),), {})
    assert "small components" in should("johnson", (nx.empty_graph(50),), {})
    large = type("Large", (), {"__len__": lambda self: 5000, "number_of_edges": lambda self: 9999})
    assert should("floyd_warshall", (large(),), {}) is True
    assert should("transitive_closure", (large(),), {}) is True
    assert should("floyd_warshall", (nx.empty_graph(50),), {}) is True
    large.__len__ = lambda self: 20_000
    assert "above 10000" in should("johnson", (large(),), {})


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
def test_networkx_itself_runs_where_few_nodes_reach_each_other(kind):
    groups = nx.disjoint_union_all([nx.complete_graph(5)] * 60)  # nodes reach 5 of 300
    layers = nx.DiGraph((i, 150 + (i + j) % 150) for i in range(150) for j in range(9))
    for few in [groups, *([layers] if kind is not nx.Graph else [])]:
        few = kind(few)
        assert few.number_of_edges() > len(few)
        for graph in (few, backend.convert_from_nx(few)):
            got = backend.should_run("johnson", (graph,), {})
            assert got == "most nodes reach fewer than 12 of 300 nodes: networkx is faster"
            assert backend.should_run("transitive_closure", (graph,), {}) is True
            assert backend.should_run("floyd_warshall", (graph,), {}) is True
    for many in (
        nx.cycle_graph(300, kind),
        nx.disjoint_union_all([nx.complete_graph(20, kind)] * 15),
    ):
        assert backend.should_run("johnson", (many,), {}) is True


SUMS = {"closeness_centrality", "harmonic_centrality", "global_efficiency"}
SHARES = {"betweenness_centrality", "edge_betweenness_centrality"}
TO_ALL = {"eccentricity", "diameter", "wiener_index", "average_shortest_path_length"}


def test_measures_run_on_graphs_of_any_size():
    large = nx.path_graph(10_001)
    for name in SUMS | SHARES | TO_ALL:
        assert backend.should_run(name, (large,), {}) is True
        assert "below 20" in backend.should_run(name, (nx.path_graph(19),), {})
    assert "above 10000" in backend.should_run("johnson", (large,), {})


def test_networkx_measures_where_few_nodes_reach_each_other():
    should = backend.should_run
    pairs = nx.Graph((i, i + 500) for i in range(500))
    layers = nx.DiGraph((i, 500 + i) for i in range(500))
    loops = nx.disjoint_union_all([nx.cycle_graph(20, nx.DiGraph)] * 50)
    lonely = nx.empty_graph(1000)
    for name in SUMS:
        assert should(name, (pairs,), {}) is should(name, (loops,), {}) is True
        assert "fewer than 2 of 1000 nodes" in should(name, (layers,), {})
        assert "0 edges between 1000 nodes" in should(name, (lonely,), {})
    for name in SHARES:
        for made in (pairs, layers, loops, lonely):
            assert should(name, (made,), {}) is True
    for name in TO_ALL:
        assert "500 edges between" in should(name, (pairs,), {})
        for made in (loops, backend.convert_from_nx(loops)):
            assert "does not reach all others" in should(name, (made,), {})
        assert should(name, (nx.cycle_graph(1000, nx.DiGraph),), {}) is True


def test_functions_are_those_of_the_table_and_have_the_signatures_of_networkx():
    dispatched = nx.utils.backends._registered_algorithms
    renamed = {"barycenter", "centroid"}  # by networkx 3.7
    names = {name for name in dispatched if hasattr(backend, name)}
    assert names | renamed == set(TABLE) and len(names & renamed) == 1
    assert set(get_info()["functions"]) == set(TABLE)
    for name in names:
        signatures = [
            [(p.name, p.default) for p in inspect.signature(function).parameters.values()]
            for function in (getattr(backend, name), dispatched[name].orig_func)
        ]
        mine, others = signatures
        assert mine[: len(others)] == others
        assert mine[len(others) :] in ([], [("sp", None)])  # which networkx 3.7 added


def test_views_and_attributes():
    made = graph(nx.DiGraph, edges=50)
    for view in (made.subgraph(list(made)[:9]), made.reverse(copy=False)):
        assert ours("floyd_warshall", view) == theirs("floyd_warshall", view)
    for number, (_, _, data) in enumerate(made.edges(data=True)):
        data["cost"] = number % 7
    converted = backend.convert_from_nx(made)
    for weight in ("cost", "weight", None, "cost"):
        assert backend.floyd_warshall(converted, weight) == theirs("floyd_warshall", made, weight)
    assert backend.convert_to_nx(converted) is made and backend.convert_to_nx(7) == 7
    assert backend.can_run("johnson", (converted,), {}) is True


@installed
@pytest.mark.filterwarnings("ignore:Note. conversions:UserWarning")
def test_networkx_dispatches_to_us_and_takes_over_what_we_refuse():
    made = graph(nx.DiGraph, n=25, edges=150, connected=True)
    want = theirs("floyd_warshall", made)
    assert nx.floyd_warshall(made, backend="tropical") == want
    made.add_edge(*list(made)[:2], weight=0)  # which clears networkx's cache of conversions
    want = theirs("floyd_warshall", made)
    assert nx.floyd_warshall(made, backend="tropical") == want
    with nx.config.backend_priority(algos=["tropical"]):
        assert nx.floyd_warshall(made) == want
        assert nx.diameter(made, weight="weight") == theirs("diameter", made, weight="weight")
        assert dict(nx.shortest_path_length(made, weight="weight")) == {
            node: {to: x for to, x in row.items() if x < math.inf} for node, row in want.items()
        }
        made.add_edge(*list(made)[:2], weight=Fraction(1, 3))
        assert nx.floyd_warshall(made) == theirs("floyd_warshall", made)
    with pytest.raises(NotImplementedError):
        nx.floyd_warshall(made, backend="tropical")
    closed = nx.transitive_closure(made, backend="tropical")
    assert closed._adj == theirs("transitive_closure", made)._adj
    assert nx.number_of_edges(closed) == 25 * 25


@installed
def test_views_follow_the_graph_behind_them():
    made = nx.complete_graph(9, nx.DiGraph)
    views = made.subgraph(range(7)), made.reverse(copy=False)
    for _ in range(2):
        for view in views:
            got = nx.floyd_warshall(view, backend="tropical")
            assert got == theirs("floyd_warshall", view)
        made.remove_edges_from(list(made.edges)[::3])
        made.add_edge(10, 0)


@installed
def test_importing_networkx_does_not_import_us():
    run_python("import sys, networkx; assert 'tropical' not in sys.modules")
