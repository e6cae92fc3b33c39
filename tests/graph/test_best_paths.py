"""Widest, minimax, longest paths, reachability, powers and paths of k edges, by enumeration."""

import functools
import itertools
import math

import graphs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import check_refused

import tropical
from tropical import _core, semirings
from tropical.graph import (
    CycleError,
    DivergenceError,
    closure,
    k_edge_paths,
    longest_paths,
    matrix_power,
    minimax_paths,
    path,
    reachability,
    transitive_closure,
    widest_paths,
)

SELECTIVE = [ring for ring in semirings.ALL if ring.selective]
CASES = [(ring, dtype) for ring in SELECTIVE for dtype in ring.dtypes]
NAMES = [f"{ring.name} {dtype}" for ring, dtype in CASES]
BOTTLENECKS = [(widest_paths, semirings.maxmin), (minimax_paths, semirings.minmax)]


def acyclic(rng, n, dtype="float64"):
    """Edges from a vertex to later ones in some order, of any sign; none is maxplus' zero."""
    order = rng.permutation(n)
    w = graphs.random_graph(rng, n, "minmax", dtype, negative=True)
    later = np.less.outer(order, order) & (w != semirings.minmax.zero(dtype))
    return np.where(later, w, semirings.maxplus.zero(dtype)).astype(dtype)


@pytest.mark.parametrize("ring,dtype", CASES, ids=NAMES)
def test_stars_are_the_best_of_all_paths(ring, dtype):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 5):
        for density in (0.3, 0.7):
            w = graphs.random_graph(rng, n, ring, dtype, density)
            np.testing.assert_array_equal(closure(w, ring), graphs.enumerated(w, ring))


@pytest.mark.parametrize("function,ring", BOTTLENECKS, ids=["widest", "minimax"])
@pytest.mark.parametrize("dtype", semirings.maxmin.dtypes)
def test_bottlenecks(function, ring, dtype):
    rng = np.random.default_rng(1)
    for n, directed in itertools.product((1, 4, 5), (True, False)):
        w = graphs.random_graph(rng, n, ring, dtype, negative=True)
        both = w if directed else ring.add_ufunc(w, w.T)
        before = w.copy()
        values, tree = function(w, directed=directed, return_predecessors=True)
        assert values.dtype == dtype
        np.testing.assert_array_equal(values, graphs.enumerated(both, ring))
        np.testing.assert_array_equal(values, function(w, directed=directed))
        graphs.assert_predecessors(tree, values, both, ring, path)
        np.testing.assert_array_equal(w, before)
        rows, trees = function(w, directed=directed, indices=[0, 0], return_predecessors=True)
        np.testing.assert_array_equal(rows, values[[0, 0]])
        np.testing.assert_array_equal(trees, tree[[0, 0]])
        if directed:
            assert function(w, overwrite=True) is w
            np.testing.assert_array_equal(w, values)


@pytest.mark.parametrize("dtype", semirings.maxplus.dtypes)
def test_longest(dtype):
    rng = np.random.default_rng(2)
    ring = semirings.maxplus
    for n in (0, 1, 5, 6):
        w = acyclic(rng, n, dtype)
        lengths, tree = longest_paths(w, return_predecessors=True)
        assert lengths.dtype == dtype
        np.testing.assert_array_equal(lengths, graphs.enumerated(w, ring))
        graphs.assert_predecessors(tree, lengths, w, ring, path)
        assert longest_paths(w, overwrite=True) is w
        np.testing.assert_array_equal(w, lengths)


def test_longest_paths_name_a_cycle():
    rng = np.random.default_rng(3)
    for n in (1, 3, 40):
        w = acyclic(rng, n)
        order = rng.permutation(n)[: max(n // 2, 1)]
        w[order, np.roll(order, -1)] = -1.5  # also a cycle that makes nothing longer
        batch = np.stack([acyclic(rng, n), w])
        with pytest.raises(CycleError, match=r"w\[1\]: expected .* got the cycle") as caught:
            longest_paths(batch)
        edges = list(itertools.pairwise([*caught.value.cycle, caught.value.cycle[0]]))
        weights = [w[edge] for edge in edges]
        assert np.isfinite(weights).all() and math.fsum(weights) == caught.value.weight
        assert len(set(caught.value.cycle)) == len(edges)
    assert isinstance(caught.value, DivergenceError)
    check_refused(
        longest_paths,
        (CycleError, "w: expected a graph without cycles, got the cycle 0 -> 0", [[0.0]]),
        (ValueError, r"w: expected weights of maxplus .*, got inf", [[np.inf]]),
    )


@pytest.mark.parametrize("function", [widest_paths, minimax_paths, longest_paths])
def test_limits_of_batches(function):
    rng = np.random.default_rng(4)
    batch = np.stack([acyclic(rng, 5), acyclic(rng, 5)])
    if function is minimax_paths:
        batch = -batch
    got = function(batch, limit=1.5)
    np.testing.assert_array_equal(got, [function(w, limit=1.5) for w in batch])
    assert not np.array_equal(got, function(batch))


def test_other_kinds_of_graphs():
    sparse = pytest.importorskip("scipy.sparse", reason="its arrays")
    nx = pytest.importorskip("networkx", reason="its graphs")
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 5), (1, 2, 4), (0, 2, 3)], weight="seats")
    stored = nx.to_scipy_sparse_array(graph, weight="seats", format="csr")
    for got in (widest_paths(graph, weight="seats"), widest_paths(stored)):
        np.testing.assert_array_equal(
            got, [[np.inf, 5, 4], [-np.inf, np.inf, 4], [-np.inf] * 2 + [np.inf]]
        )
    assert minimax_paths(stored)[0, 2] == 3 and longest_paths(stored)[0, 2] == 9
    two = nx.MultiDiGraph()
    two.add_weighted_edges_from([(0, 1, 5), (0, 1, 7)])
    assert (widest_paths(two)[0, 1], minimax_paths(two)[0, 1]) == (7, 5)
    for kind in (graph, stored, nx.to_numpy_array(graph)):
        np.testing.assert_array_equal(transitive_closure(kind), np.triu(np.ones((3, 3)), 1))
    assert sparse.csr_array(([0.0], [1], [0, 1, 1]), shape=(2, 2)).nnz == 1
    assert transitive_closure(sparse.csr_array(([0.0], [1], [0, 1, 1]), shape=(2, 2)))[0, 1]


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40, 130])
def test_transitive_closure_is_networkx_own(n):
    nx = pytest.importorskip("networkx", reason="the other transitive closure")
    rng = np.random.default_rng(n)
    for density in (1 / max(n, 1), 3 / max(n, 1)):
        there = rng.random((n, n)) < density
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from(np.argwhere(there))
        for reflexive in (False, True, None):
            want = nx.to_numpy_array(nx.transitive_closure(graph, reflexive)) if n else there
            for a in (there, there * 2.5, np.asfortranarray(there)):
                before = a.copy()
                got = transitive_closure(a, reflexive=reflexive)
                assert got.dtype == np.bool_
                np.testing.assert_array_equal(got, want)
                np.testing.assert_array_equal(a, before)
        assert transitive_closure(there, overwrite=True) is there


@functools.cache
def warshall(n, degree):
    """A random graph of that mean degree, or of three layers, and where it has paths."""
    rng = np.random.default_rng(n)
    there = rng.random((n, n)) < (0.5 if degree == "layers" else degree / n)
    if degree == "layers":  # an edge leads to the next one, and no path makes another needless
        layer = rng.integers(3, size=n)
        there &= layer[:, None] + 1 == layer
    paths = there.copy()
    for k in range(n):
        paths |= paths[:, k, None] & paths[k]
    return there, paths


@pytest.mark.parametrize("n", [65, 128, 130, 257, 513, 1030])
def test_reachability_on_every_instruction_set(isa, n):
    """Remainders around strips and groups of vertices; layouts; the diagonal tells of cycles."""
    for degree in (0.9, 1.3, 3, "layers"):
        there, want = warshall(n, degree)
        room = np.zeros((n, 2 * n), bool)[:, ::-2]
        for a in (there.copy(), np.array(there, order="F"), room):
            a[...] = there
            np.testing.assert_array_equal(transitive_closure(a), want)
        assert transitive_closure(room, overwrite=True) is room
        np.testing.assert_array_equal(room, want)
        with tropical.options(threads=3):
            np.testing.assert_array_equal(closure(there, "orand"), want | np.eye(n, dtype=bool))


@pytest.mark.parametrize("degree, by_warshall", [(3, False), (100, False), ("layers", True)])
def test_who_closes_a_graph(monkeypatch, degree, by_warshall):
    """Components, unless there are too many edges between them; that shares grow all the same."""
    used, shares = [], []
    real = _core.BitGraph
    monkeypatch.setattr(_core, "BitGraph", lambda a: used.append(a) or real(a))
    monkeypatch.setattr(reachability, "ROW_BITS", 50 * 1030)
    there, want = warshall(1030, degree)
    np.testing.assert_array_equal(transitive_closure(there, progress=shares.append), want)
    assert bool(used) == by_warshall
    assert len(shares) > 3 and shares == sorted(shares) and shares[-1] == 1


@pytest.mark.parametrize("kind", [_core.BitGraph, _core.Components])
def test_what_graphs_of_bits_refuse(kind):
    for wrong in (np.zeros((2, 3), bool), np.zeros(3, bool)):
        with pytest.raises(ValueError, match=r"a: expected shape \(n, n\), got \(\d,"):
            kind(wrong)
    with pytest.raises(ValueError, match="a: expected dtype bool, got float64"):
        kind(np.zeros((2, 2)))
    graph = kind(np.zeros((70, 70), bool))
    if kind is _core.BitGraph:
        with pytest.raises(IndexError, match=r"strip: expected 0 to \d, got 9"):
            graph.pass_(9)
        assert kind(np.zeros((0, 0), bool)).strips == 0
    else:
        with pytest.raises(ValueError, match="store: expected no vertex left, got 70"):
            graph.store(np.zeros((70, 70), bool))
        for threads, most in ((1, 8192 + 4096 * 32), (2, 8192 + 4096 * 16)):
            with tropical.options(threads=threads):
                assert kind(np.zeros((4096, 4096), bool)).most_rows == most
        graph.advance(1000)
        assert (graph.left, graph.rows, kind(np.zeros((0, 0), bool)).left) == (0, 70, 0)
    with pytest.raises(ValueError, match=r"the graph's n = 70, got \(3, 3\)"):
        graph.store(np.zeros((3, 3), bool))
    with pytest.raises(ValueError, match="a: expected a writeable array"):
        graph.store(np.broadcast_to(np.bool_(0), (70, 70)))


def test_transitive_closure_of_batches_and_masks():
    rng = np.random.default_rng(4)
    many = rng.random((3, 2, 20, 20)) < 0.06
    got = transitive_closure(many)
    for item in np.ndindex(3, 2):
        np.testing.assert_array_equal(got[item], transitive_closure(many[item]))
    masked = np.ma.masked_array(np.ones((2, 2)), [[True, False], [True, True]])
    np.testing.assert_array_equal(transitive_closure(masked), [[False, True], [False, False]])


def test_transitive_closure_refuses():
    check_refused(
        transitive_closure,
        (ValueError, r"a: expected \(..., n, n\), got \(2, 3\)", np.zeros((2, 3))),
        (ValueError, "a: expected finite numbers, got inf", [[np.inf]]),
        (ValueError, "a: expected finite numbers, got nan", [[np.nan]]),
        (TypeError, "a: expected numbers or booleans, got dtype <U1", [["a"]]),
    )


@given(st.sampled_from(semirings.ALL), st.integers(0, 9), st.integers(1, 5), st.integers(0, 99))
@settings(max_examples=80)
def test_powers(ring, power, n, seed):
    rng = np.random.default_rng(seed)
    dtype = ring.dtypes[-1]  # whole numbers, or booleans
    a = rng.integers(0, 2, (2, n, n)).astype(dtype)
    want = np.broadcast_to(
        np.where(np.eye(n, dtype=bool), ring.one(dtype), ring.zero(dtype)), a.shape
    )
    for _ in range(power):
        want = tropical.gemm(want.astype(dtype), a, semiring=ring)
    got = matrix_power(a, power, ring)
    assert got.dtype == a.dtype and got is not a and not np.shares_memory(got, a)
    np.testing.assert_allclose(got, want, rtol=0, atol=0 if ring.exact else 1e-14)


def test_powers_are_numpy_own():
    a = np.random.default_rng(5).integers(-3, 4, (4, 4))
    for n in range(6):
        np.testing.assert_array_equal(matrix_power(a, n, "plustimes"), np.linalg.matrix_power(a, n))
        assert matrix_power(a.astype(">i4"), n, "plustimes").dtype == np.int32


def test_powers_without_a_semiring():
    a = np.array([[0.0, 3.0], [2.0, 1.0]])
    with pytest.warns(DeprecationWarning, match="semiring: expected a semiring, got none") as seen:
        got = matrix_power(a, 3)
    assert seen[0].filename == __file__ and (got == matrix_power(a, 3, "maxplus")).all()


def test_powers_refuse():
    zeros = np.zeros((2, 2))
    check_refused(
        lambda a, n: matrix_power(a, n, "maxplus"),
        (ValueError, r"a: expected \(..., n, n\), got \(2, 3\)", np.zeros((2, 3)), 2),
        (ValueError, "n: expected 0 or more, got -1", zeros, -1),
        (TypeError, r"n: expected an integer, got 1\.5", zeros, 1.5),
        *((TypeError, "complex128", zeros.astype(complex), n) for n in range(3)),
        *(
            (TypeError, "a is a masked array", np.ma.array(zeros, mask=np.eye(2)), n)
            for n in range(3)
        ),
    )


def test_the_first_power_is_a_copy():
    a = np.ones((2, 2))

    class Lent:
        """Not an array, but with the memory of one."""

        __array_interface__ = a.__array_interface__

    for lender in (a, Lent()):
        assert not np.shares_memory(matrix_power(lender, 1, "minplus"), a)


def sequences(n, i, j, legs):
    """Every sequence of `legs` edges from i to j."""
    if legs == 0:
        return [(i,)] if i == j else []
    return [(i, *b, j) for b in itertools.product(range(n), repeat=legs - 1)]


@pytest.mark.parametrize("ring,dtype", CASES, ids=NAMES)
def test_k_legs(ring, dtype):
    rng = np.random.default_rng(6)
    n = 4
    for k, at_most in itertools.product((0, 1, 3), (False, True)):
        w = graphs.random_graph(rng, n, ring, dtype, 0.5)
        found = k_edge_paths(w, k, semiring=ring, at_most=at_most)
        assert found.predecessors.shape == (k, n, n) and found.values.dtype == dtype
        for i, j in itertools.product(range(n), repeat=2):
            every = [s for h in range(k + 1) if h == k or at_most for s in sequences(n, i, j, h)]
            best = graphs.best_of((graphs.product(s, w, ring) for s in every), ring, dtype)
            assert found.values[i, j] == best
            stops = found.path(i, j)
            if best == ring.zero(dtype):
                assert stops == []
                continue
            assert tuple(stops) in every and graphs.product(stops, w, ring) == best
            if at_most:
                fewest = min(len(s) for s in every if graphs.product(s, w, ring) == best)
                assert len(stops) == fewest


def test_k_legs_of_batches():
    rng = np.random.default_rng(7)
    w = np.stack([graphs.random_graph(rng, 5) for _ in range(3)])
    shares = []
    many = k_edge_paths(w, 4, progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1]
    for item in range(3):
        one = k_edge_paths(w[item], 4)
        np.testing.assert_array_equal(many.values[item], one.values)
        assert many.path(0, 1, (item,)) == one.path(0, 1)
    check_refused(
        many.path,
        (IndexError, r"item: expected a graph of a batch \(3,\), got \(\)", 0, 1),
        (IndexError, "item", 0, 1, (0, 0)),
        (IndexError, "3", 0, 1, (3,)),
        (IndexError, "j: expected 0 <= j < 5, got -1", 0, -1, (0,)),
        (IndexError, "i: expected 0 <= i < 5, got 5", 5, 0, (0,)),
    )


def test_k_legs_refuse():
    with pytest.raises(ValueError, match="semiring: expected a selective one, got orand"):
        k_edge_paths([[True]], 2, semiring="orand")
    check_refused(
        k_edge_paths,
        (ValueError, "k: expected 0 or more, got -1", [[1.0]], -1),
        (ValueError, "w: expected numbers, got a NaN", [[np.nan]], 1),
    )
