"""Paths in graphs whose weights are float16 or bfloat16: those of float32, rounded once."""

import networkx as nx
import numpy as np
import pytest
from support import STORED_DTYPES, assert_same_bits, random_bits

import tropical
from tropical import graph, semirings, spectral
from tropical.arrays import narrowed

# Each with the sign of the weights, and whether the graph may have cycles.
FUNCTIONS = {
    "shortest_paths": (graph.shortest_paths, np.inf, True),
    "widest_paths": (graph.widest_paths, -np.inf, True),
    "minimax_paths": (graph.minimax_paths, np.inf, True),
    "longest_paths": (graph.longest_paths, -np.inf, False),
}
OPTIONS = [
    {},
    {"indices": [3, 1], "targets": [0, 5]},
    {"indices": 2, "targets": 4},
    {"indices": [0, 9], "min_only": True, "return_predecessors": True},
    {"return_predecessors": True},
]


def weights(n, dtype, none, cycles=True):
    """Fractions, whose sums no dtype of two bytes has; a third of the edges lack."""
    bits = random_bits((n, n), 5)
    w = (1 + (bits % np.uint64(1000)).astype(np.float32) / 128).astype(dtype)
    w[bits % np.uint64(3) == 0] = none
    return w if cycles else np.where(np.tri(n, dtype=bool), np.array(none, dtype), w)


def assert_rounded_once(got, want, dtype):
    """`got` is what float32 gives, its values rounded to `dtype`, its tables unchanged."""
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    assert got[0].dtype == dtype
    assert_same_bits(np.asarray(got[0]), want[0].astype(dtype))
    for table, other in zip(got[1:], want[1:], strict=True):
        np.testing.assert_array_equal(table, other)


@pytest.mark.parametrize("dtype", STORED_DTYPES)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_paths(name, options, dtype):
    function, none, cycles = FUNCTIONS[name]
    for n in (12, 600):  # one block of the closure, and more
        w = weights(n, dtype, none, cycles)
        before = w.copy()
        got = function(w, **options)
        assert_rounded_once(got, function(w.astype(np.float32), **options), dtype)
        assert_same_bits(w, before)


@pytest.mark.parametrize("dtype", STORED_DTYPES)
@pytest.mark.parametrize("method", ["FW", "D", "J", "E"])
def test_methods(method, dtype):
    w = weights(40, dtype, np.inf)
    want = graph.shortest_paths(w.astype(np.float32), method)
    assert_rounded_once(graph.shortest_paths(w, method), want, dtype)
    assert graph.explain_shortest_paths(w, method).dtype == dtype.name


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_other_functions(dtype):
    w = weights(20, dtype, np.inf)
    wide = w.astype(np.float32)
    got, want = (graph.k_edge_paths(x, 3) for x in (w, wide))
    assert_rounded_once(got.values, want.values, dtype)
    assert got.path(0, 7) == want.path(0, 7)
    for n in (0, 1, 5):
        power = graph.matrix_power(w, n, "minplus")
        assert_rounded_once(power, graph.matrix_power(wide, n, "minplus"), dtype)
    assert list(graph.k_shortest_paths(w, 0, 7, 5)) == list(graph.k_shortest_paths(wide, 0, 7, 5))
    for function in (graph.count_shortest_paths, graph.eccentricity, graph.betweenness):
        np.testing.assert_array_equal(function(w), function(wide))
    for made in (graph.Searcher, graph.factorize):
        assert_same_bits(made(w).lengths([0, 3]), made(wide).lengths([0, 3]))


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_masked_and_unweighted(dtype):
    w = weights(15, dtype, 1)
    masked = np.ma.masked_array(w, w == 1)
    want = graph.shortest_paths(np.ma.masked_array(w.astype(np.float32), w == 1))
    assert_rounded_once(graph.shortest_paths(masked), want, dtype)
    w = weights(15, dtype, np.inf)
    steps = graph.shortest_paths(w.astype(np.float32), unweighted=True, directed=False)
    assert_rounded_once(graph.shortest_paths(w, unweighted=True, directed=False), steps, dtype)


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_where_paths_lead(dtype):
    w = weights(12, dtype, 0, cycles=False)
    for options in ({}, {"limit": 2}, {"indices": [3, 1]}):
        want = graph.transitive_closure(w.astype(np.float32), **options)
        np.testing.assert_array_equal(graph.transitive_closure(w, **options), want)


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_limits_are_those_of_float32(dtype):
    """A length is compared before it is rounded."""
    w = np.full((3, 3), np.inf, dtype)
    w[0, 1], w[1, 2] = 2048, 1  # 2049 is no number of either dtype
    assert graph.shortest_paths(w, indices=0, targets=2, limit=2048.5) == np.inf
    assert graph.shortest_paths(w, indices=0, targets=2, limit=2049) == 2048


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_lengths_beyond_the_dtype(dtype):
    w = np.full((3, 3), np.inf, dtype)
    w[0, 1] = w[1, 2] = 3e38 if dtype.name == "bfloat16" else 6e4
    lengths, before = graph.shortest_paths(w, return_predecessors=True)
    assert lengths[0, 2] == np.inf
    if dtype.name == "float16":  # float32 has the length
        assert graph.path(before, 0, 2) == [0, 1, 2]


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_small_negative_lengths_are_positive_zeros(dtype):
    tiny = np.array([-0.0, -1e-40, 1e-40], np.float32)
    assert not np.signbit(narrowed(tiny, dtype)[narrowed(tiny, dtype) == 0]).any()


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_overwrite_is_ignored(dtype):
    w = weights(10, dtype, np.inf)
    before = w.copy()
    graph.shortest_paths(w, "FW", overwrite=True)
    assert_same_bits(w, before)


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_refused(dtype):
    """What computes in other dtypes names the remedy."""
    w = np.zeros((2, 2), dtype)
    for call in (
        lambda: spectral.eigenvectors(w),
        lambda: spectral.left_residual(w, w),
        lambda: spectral.maximum_cycle_mean(w),
    ):
        with pytest.raises(TypeError, match=rf"{dtype.name} is not supported here.*float32"):
            call()
    with pytest.raises(TypeError, match="plustimes"):
        tropical.einsum("ij,jk", w, w, semiring="plustimes")


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_constants(dtype):
    """Those of float32, with which graphs without edges are filled."""
    for ring in semirings.ALL:
        if dtype.name in ring.stored:
            assert ring.zero(dtype) == ring.zero("float32"), ring
            assert ring.one(dtype) == ring.one("float32"), ring
        else:
            with pytest.raises(TypeError, match="not supported"):
                ring.zero(dtype)


def test_graphs_without_a_dtype_are_float64():
    assert graph.shortest_paths(nx.path_graph(3)).dtype == np.float64
