"""Searches of the networkx backend from some nodes, against networkx itself."""

import itertools
import math
from random import Random

import pytest
from test_networkx_backend import (
    KINDS,
    WEIGHTS,
    approximately,
    backend,
    compare,
    compare_errors,
    graph,
    installed,
    length,
    nx,
    ours,
    refused,
    same_types,
    theirs,
)

LENGTHS = ["single_source_dijkstra_path_length", "shortest_path_length"]
CUTOFFS = [None, 0, 5, 7.5, -1, math.inf, 2**27]


def check_path(made, path, start, want):
    assert path[0] in start
    assert math.isclose(length(made, path), want, rel_tol=1e-12)


def check_searches(made, source, cutoff):
    how = {"cutoff": cutoff, "weight": "weight"}
    got, want = compare("single_source_dijkstra_path_length", made, source, **how)
    assert list(got.values()) == approximately(sorted(want.values()))
    paths = ours("single_source_dijkstra_path", made, source, **how)
    assert paths.keys() == want.keys()
    for node, path in paths.items():
        assert path[-1] == node
        check_path(made, path, [source], want[node])
    both = ours("single_source_dijkstra", made, source, **how)
    assert both == (got, paths)
    for target in made:
        if target in want:
            one, path = ours("single_source_dijkstra", made, source, target, **how)
            assert one == approximately(want[target]) and path[-1] == target
            check_path(made, path, [source], want[target])
        else:
            compare_errors(
                nx.NetworkXNoPath, "single_source_dijkstra", made, source, target, cutoff
            )


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_from_one_node(kind, weights):
    for seed, cutoff in enumerate(CUTOFFS):
        if weights == "fraction" and cutoff is not None:
            cutoff /= 10
        made = graph(kind, weights, edges=24, seed=seed, missing=0.1 * (seed % 2))
        check_searches(made, list(made)[seed], cutoff)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_from_several_nodes(kind, weights):
    for seed, cutoff in enumerate(CUTOFFS):
        made = graph(kind, weights, edges=24, seed=seed)
        sources = Random(seed).sample(list(made), 3)
        for some in (set(sources), sources + sources[:1]):
            got, want = compare("multi_source_dijkstra_path_length", made, some, cutoff)
            assert list(got.values()) == approximately(sorted(want.values()))
            paths = ours("multi_source_dijkstra_path", made, some, cutoff)
            assert paths.keys() == want.keys()
            for node, path in paths.items():
                check_path(made, path, some, want[node])
            assert ours("multi_source_dijkstra", made, some, None, cutoff) == (got, paths)
        for target in want:
            one, path = ours("multi_source_dijkstra", made, some, target, cutoff)
            assert one == approximately(want[target])
            check_path(made, path, some, one)


@pytest.mark.parametrize("kind", KINDS)
def test_from_all_nodes_within_a_cutoff(kind):
    names = ["all_pairs_dijkstra_path_length", "all_pairs_dijkstra_path", "all_pairs_dijkstra"]
    for weights, cutoff in itertools.product(("whole", "fraction"), (0, 0.5, 6, -1)):
        made = graph(kind, weights, edges=24)
        got, _ = compare(names[0], made, cutoff=cutoff)
        paths = ours(names[1], made, cutoff=cutoff)
        for source, row in paths.items():
            assert row.keys() == got[source].keys()
            for node, path in row.items():
                check_path(made, path, [source], got[source][node])
        both = ours(names[2], made, cutoff=cutoff)
        assert both == {node: (got[node], paths[node]) for node in made}
        if isinstance(cutoff, int):
            compare("all_pairs_shortest_path_length", made, cutoff=cutoff)


@pytest.mark.parametrize("weights", ["whole", "mixed", "fraction"])
@pytest.mark.parametrize("kind", KINDS)
def test_between_two_nodes(kind, weights):
    made = graph(kind, weights, edges=20)
    for weight in ("weight", "absent"):
        for source, target in itertools.product(made, made):
            pair = made, source, target, weight
            try:
                want = theirs("dijkstra_path_length", *pair)
            except nx.NetworkXNoPath:
                for name in (
                    *("dijkstra_path", "dijkstra_path_length", "bidirectional_dijkstra"),
                    *("shortest_path", "shortest_path_length"),
                ):
                    compare_errors(nx.NetworkXNoPath, name, *pair)
                continue
            got = ours("dijkstra_path_length", *pair)
            assert got == approximately(want) == ours("shortest_path_length", *pair)
            assert weights == "mixed" or weight == "weight" or same_types(got, want)
            both, way = ours("bidirectional_dijkstra", *pair)
            assert both == got
            for path in (ours("dijkstra_path", *pair), ours("shortest_path", *pair), way):
                assert (path[0], path[-1]) == (source, target)
                if weight == "weight":
                    check_path(made, path, [source], want)
                else:
                    assert len(path) == want + 1


def test_sources_and_targets_that_are_not_there():
    made = nx.DiGraph([(0, 1, {"weight": 2}), (2, 1, {"weight": 2})])
    missing, none = nx.NodeNotFound, nx.NetworkXNoPath
    for name in ("single_source_dijkstra", *LENGTHS, "single_source_dijkstra_path"):
        arguments = (None, "weight") if name == "shortest_path_length" else ()
        compare_errors(missing, name, made, 7, *arguments)
    for name in ("dijkstra_path", "dijkstra_path_length", "bidirectional_dijkstra"):
        compare_errors(missing, name, made, 7, 0)
        compare_errors(missing, name, made, 7, 7)
        compare_errors((missing, none), name, made, 0, 7)
    for name in ("shortest_path", "shortest_path_length"):
        compare_errors((missing, none), name, made, 0, 7, "weight")
        compare_errors(missing, name, made, 7, 0, "weight")
    for name in ("multi_source_dijkstra", "multi_source_dijkstra_path_length"):
        compare_errors(missing, name, made, {0, 7})
        compare_errors(ValueError, name, made, set())
    compare_errors(none, "single_source_dijkstra", made, 0, 7)
    made.add_edge(1, 0, weight=-3)  # of which networkx may complain on its way to nowhere
    with pytest.raises(NotImplementedError, match="weight: weights are negative"):
        ours("dijkstra_path", made, 0, 7)


def test_what_networkx_itself_must_do():
    cutoff = "cutoff is no number that is supported"
    for wrong in (math.nan, "3", 10**400, 2**53):
        assert refused("all_pairs_dijkstra", cutoff=wrong) == cutoff
        assert refused("single_source_dijkstra", 0, None, wrong) == cutoff
    assert refused("all_pairs_shortest_path_length", cutoff=1.5) == cutoff
    assert refused("multi_source_dijkstra", iter([0])) == "sources are no collection"
    attribute = "weight is not the name of an attribute"
    assert refused("dijkstra_path", 0, 1, lambda u, v, data: 1) == attribute
    assert "None" in refused("shortest_path", 0, 1) and "None" in refused("shortest_path")
    assert refused("shortest_path", 0, 1, "weight", "bellman-ford") == "method is not supported"
    assert refused("harmonic_centrality", sources=[0]) == "sources is not supported"
    hidden = nx.DiGraph([(0, 1, {"weight": None}), (1, 2, {"weight": -1})])
    for weight in ("weight", None):
        hidden[0][1]["weight"] = weight
        with pytest.raises(NotImplementedError, match="weight: weights "):
            ours("dijkstra_path", hidden, 0, 1)
        hidden[0][1]["weight"] = 1


def test_where_a_search_is_faster():
    should, made = backend.should_run, nx.grid_2d_graph(40, 40)
    ends = (0, 0), (8, 8)
    assert should("single_source_dijkstra", (made, ends[0]), {}) is True
    for arguments in ((made, *ends), (made, ends[0], None, 3)):
        assert "short search" in should("single_source_dijkstra", arguments, {})
        converted = backend.convert_from_nx(made), *arguments[1:]
        assert should("single_source_dijkstra", converted, {}) is True
    small = nx.grid_2d_graph(9, 9)
    assert "below 1000" in should("single_source_dijkstra", (small, ends[0]), {})
    few = nx.disjoint_union_all([nx.complete_graph(5)] * 200)
    assert "few nodes" in should("single_source_dijkstra", (few, 0), {})


@installed
@pytest.mark.filterwarnings("ignore:Note. conversions:UserWarning")
def test_networkx_dispatches_searches():
    made = graph(nx.Graph, n=40, edges=150, connected=True)
    source, target, *_ = made
    options = {"source": source, "target": target, "weight": "weight"}
    want = theirs("shortest_path_length", made, **options)
    assert nx.shortest_path_length(made, **options, backend="tropical") == want
    with nx.config.backend_priority(algos=["tropical"]):
        assert nx.shortest_path_length(made, **options) == want
        options["weight"] = lambda u, v, data: None if data.get("weight", 0) > 4 else 1
        try:
            want = theirs("shortest_path_length", made, **options)
        except nx.NetworkXNoPath:
            want = None
        if want is not None:
            assert nx.shortest_path_length(made, **options) == want
        assert nx.has_path(made, source, target)
