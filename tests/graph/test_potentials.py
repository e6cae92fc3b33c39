"""Potentials of sparse graphs with negative weights: against rounds over all edges."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import check_refused

from tropical import _core
from tropical.graph import NegativeCycleError, shortest_paths
from tropical.graph.bellman_ford import potentials
from tropical.graph.cycles import weight_of
from tropical.graph.edge_arrays import Edges, starts_of


def rounds(edges):
    """The potentials after n rounds over all edges, None if they still fall."""
    h = np.zeros(edges.n)
    for _ in range(edges.n + 1):
        before = h.copy()
        np.minimum.at(h, edges.target, h[edges.source] + edges.weight)
        if (h == before).all():
            return h
    return None


def assert_negative_cycle(error, edges):
    cycle = error.cycle
    assert len(set(cycle)) == len(cycle) and error.weight < 0
    known = dict.fromkeys(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    assert all(arc in known for arc in itertools.pairwise([*cycle, cycle[0]]))
    assert error.weight == weight_of(edges, cycle)


def arcs(n, *triples):
    source, target, weight = np.array(triples, float).reshape(-1, 3).T
    return Edges(n, source.astype(np.intp), target.astype(np.intp), weight)


@given(st.data())
@settings(max_examples=300)
def test_potentials(data):
    n = data.draw(st.integers(1, 9))
    vertex, weight = st.integers(0, n - 1), st.integers(-3, 9)
    edges = arcs(n, *data.draw(st.lists(st.tuples(vertex, vertex, weight), max_size=30)))
    want = rounds(edges)
    try:
        got = potentials(edges)
    except NegativeCycleError as error:
        assert want is None
        assert_negative_cycle(error, edges)
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(8))
def test_large_graphs(seed):
    """With potentials that are far from 0, and in half of them one cycle of weight -1."""
    rng = np.random.default_rng(seed)
    n, m = 3000, 12_000
    p, ends = rng.integers(-5000, 5000, n), rng.integers(0, n, (2, m))
    weight = p[ends[1]] - p[ends[0]] + rng.integers(0, 4, m)
    if seed % 2:
        loop = rng.permutation(n)[:700]
        ends = np.append(ends, [loop, np.roll(loop, -1)], axis=1)
        steps = p[np.roll(loop, -1)] - p[loop]
        steps[7] -= 1
        weight = np.append(weight, steps)
    edges = Edges(n, *ends, weight.astype(float))
    if seed % 2:
        with pytest.raises(NegativeCycleError) as caught:
            potentials(edges)
        assert_negative_cycle(caught.value, edges)
    else:
        np.testing.assert_array_equal(potentials(edges), rounds(edges))


@pytest.mark.parametrize("order", ["forward", "backward", "shuffled"])
@pytest.mark.parametrize("closed", [None, 9.0, -9.0])
def test_a_chain_takes_one_look_at_each_edge(order, closed):
    """Rounds over all edges would take 10^10 of them; so does a queue in a wrong order."""
    n = 100_000
    vertices = np.arange(n)
    if order != "forward":
        vertices = (
            vertices[::-1] if order == "backward" else np.random.default_rng(1).permutation(n)
        )
    source, target, weight = vertices[:-1], vertices[1:], np.full(n - 1, -1.0)
    if closed is not None:  # from the sixth vertex to the first
        source, target = np.append(source, vertices[5]), np.append(target, vertices[0])
        weight = np.append(weight, closed)
    by_source = np.argsort(source, kind="stable")
    edges = Edges(n, source, target, weight)
    search = _core.Potentials(starts_of(edges), target[by_source], weight[by_source], np.arange(n))
    search.advance(5 * n)
    if closed == -9:
        assert sorted(search.cycle) == sorted(vertices[:6])
        return
    assert search.done and search.cycle == []
    np.testing.assert_array_equal(search.values[vertices], -np.arange(n))
    pytest.importorskip("scipy", reason="Johnson's algorithm")
    lengths = shortest_paths(edges, "J", indices=vertices[0])
    np.testing.assert_array_equal(lengths[vertices], -np.arange(n))


def test_only_what_the_sources_reach_counts():
    pytest.importorskip("scipy", reason="Johnson's algorithm")
    apart = arcs(5, (0, 1, -4), (1, 2, 3), (3, 4, -1), (4, 3, 0), (3, 0, 1))
    np.testing.assert_array_equal(
        shortest_paths(apart, "J", indices=[[0], [1]]),
        [[[0, -4, -1, np.inf, np.inf]], [[np.inf, 0, 3, np.inf, np.inf]]],
    )
    for reaching in (3, [0, 4], None):
        with pytest.raises(NegativeCycleError) as caught:
            shortest_paths(apart, "J", indices=reaching)
        assert sorted(caught.value.cycle) == [3, 4]


@pytest.mark.parametrize("seed", range(20))
def test_cycles_of_no_weight_but_for_rounding(seed):
    """Every cycle weighs 0, but for rounding: the search goes on without such a cycle."""
    rng = np.random.default_rng(seed)
    n = 60
    p, ends = rng.random(n), rng.integers(0, n, (2, 400))
    edges = Edges(n, *ends, p[ends[1]] - p[ends[0]])
    try:
        h = potentials(edges)
    except NegativeCycleError as error:
        assert_negative_cycle(error, edges)  # the exact sum
    else:
        assert (h[ends[1]] <= h[ends[0]] + edges.weight + 1e-13).all()


@pytest.mark.parametrize("last", [0, 1, 2.0**40])
def test_sums_that_cancel(last):
    """Doubles lose 2**-60 beside 1, so that a cycle of weight 0 or above may seem negative."""
    tiny = 2.0**-60
    weights = np.array([-1.0, tiny, 1.0, -tiny + last * 2.0**-100])
    for weight in itertools.permutations(weights):
        edges = arcs(4, *zip(range(4), [1, 2, 3, 0], weight, strict=True))
        assert weight_of(edges, [0, 1, 2, 3]) >= 0
        potentials(edges)


def test_the_weight_of_a_long_cycle_with_parallel_edges():
    n = 50_000
    cycle = np.random.default_rng(3).permutation(n)
    source, target = np.tile(cycle, 2), np.tile(np.roll(cycle, -1), 2)
    other = Edges(n, np.append(source, cycle), np.append(target, cycle), np.full(3 * n, -0.5))
    assert weight_of(other, cycle.tolist()) == -n / 2
    other.weight[:n] = -0.1
    other.weight[n] = 9
    assert weight_of(other, cycle.tolist()) == pytest.approx(-(n - 1) / 2 - 0.1)


def test_the_core_refuses():
    start, target, weight = np.array([0, 1, 1]), np.array([1]), np.array([1.0])
    check_refused(
        _core.Potentials,
        (ValueError, "start: expected shape .* int32", start.astype("i4"), target, weight, target),
        (ValueError, "start: expected shape", start[None], target, weight, target),
        (ValueError, "start: expected numbers that rise from 0 to 1", start[1:], target, weight,
         target),
        (ValueError, "start: expected numbers that rise", start[[0, 1, 0, 1]], target, weight,
         target),
        (ValueError, "start: expected numbers that rise", start[:0], target, weight, target),
        (ValueError, r"weight: expected shape \(1,\)", start, target, np.ones(2), target),
        (ValueError, "weight: expected .* float64, got .* float32", start, target,
         np.ones(1, "f4"), target),
        (ValueError, "target: expected vertices from 0 to 1, got 2", start, target + 1, weight,
         target),
        (ValueError, "sources: expected vertices from 0 to 1, got -1", start, target, weight,
         target - 2),
    )  # fmt: skip
    empty = _core.Potentials(np.array([0]), target[:0], weight[:0], target[:0])
    empty.advance(1)
    assert empty.done and empty.values.shape == (0,)
