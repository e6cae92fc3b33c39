"""Predecessors of factors: trees whose paths are as long as the lengths say."""

import graphs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import run_python

import tropical
from tropical.graph import factorize, path, shortest_paths
from tropical.graph.result import Result
from tropical.graph.weights import Weights

nx = pytest.importorskip("networkx", reason="whose graphs are factorized")
sp = pytest.importorskip("scipy.sparse", reason="whose arrays are factorized")


def check_trees(w, ring, lengths, before, sources, exact=True):
    """Each row is a tree from its source, along edges of `w`, on which the products fit."""
    zero = ring.zero(w.dtype)
    n = w.shape[1]
    for row, (source, values) in enumerate(zip(sources, lengths, strict=True)):
        tree = before[row]
        reached = values != zero
        reached[source] = False
        assert np.array_equal(tree >= 0, reached) and (tree[~reached] == -9999).all()
        v = np.nonzero(reached)[0]
        u = tree[v]
        assert (w[u, v] != zero).all()
        products = ring.multiply_ufunc(values[u], w[u, v])
        if exact:
            assert np.array_equal(products, values[v])
        else:
            np.testing.assert_allclose(products, values[v], rtol=1e-5, atol=1e-5)
        above = np.where(tree < 0, np.arange(n), tree)  # by pointer doubling, to the roots
        for _ in range(n.bit_length()):
            above = above[above]
        assert (above[reached] == source).all()


@pytest.mark.parametrize("name, dtype", graphs.FACTORS)
def test_predecessors_are_trees(isa, name, dtype):
    ring = tropical.semirings.get(name)
    rng = np.random.default_rng(3)
    for w in graphs.thin_and_dense(rng, (1, 2, 5, 40, 130), name, dtype):
        factor = factorize(w, name)
        sources = rng.integers(0, len(w), 70)
        lengths, before = factor.predecessors(sources, return_lengths=True)
        assert np.array_equal(lengths, factor.lengths(sources))
        check_trees(w, ring, lengths, before, sources)
        both = ring.add_ufunc(w, w.T)
        factor = factorize(w, name, directed=False)
        lengths, before = factor.predecessors(return_lengths=True)
        check_trees(both, ring, lengths, before, range(len(w)))


@given(st.integers(1, 60), st.floats(0, 0.3), st.integers(0, 2**32 - 1), st.booleans())
def test_zero_cycles(n, density, seed, whole):
    """Many edges of weight 0, negative ones, and cycles of weight 0 among both."""
    rng = np.random.default_rng(seed)
    h = rng.integers(-5, 5, n) if whole else rng.normal(size=n)
    w = np.where(rng.random((n, n)) < density, rng.integers(0, 3, (n, n)) // 2 * 1.0, np.inf)
    w += h[:, None] - h + (0 if whole else 1e-12)
    factor = factorize(w)
    lengths, before = factor.predecessors(return_lengths=True)
    ring = tropical.semirings.minplus
    check_trees(w, ring, lengths, before, range(n), exact=whole)


def test_all_weights_zero():
    grid = nx.grid_2d_graph(20, 30)
    nx.set_edge_attributes(grid, 0, "weight")
    factor = factorize(grid)
    lengths, before = factor.predecessors([0, 77], return_lengths=True)
    assert not lengths.any()
    w = np.where(nx.to_numpy_array(grid, weight=None) > 0, 0.0, np.inf)
    check_trees(w, tropical.semirings.minplus, lengths, before, [0, 77])


def test_integers_that_saturate():
    w = np.full((5, 5), 32767, np.int16)
    w[0, 1], w[1, 2], w[2, 3], w[0, 4] = 20000, 12000, 767, 1
    lengths, before = factorize(w).predecessors(0, return_lengths=True)
    assert lengths.tolist() == [0, 20000, 32000, 32767, 1]
    assert before.tolist() == [-9999, 0, 1, -9999, 0]


def test_paths_are_scipys():
    """Of weights without ties, to the bit."""
    rng = np.random.default_rng(8)
    w = sp.random_array((400, 400), density=0.01, rng=rng, format="csr")
    want, trees = shortest_paths(w, "D", return_predecessors=True)
    for dtype in ("f4", "f8"):
        lengths, before = factorize(w.astype(dtype)).predecessors(return_lengths=True)
        np.testing.assert_allclose(lengths, want, rtol=1e-6)
        assert np.array_equal(before, trees)


def test_parallel_edges_and_loops():
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from(
        [(0, 1, 5), (0, 1, 2), (1, 1, 0), (1, 2, 1), (1, 2, 7), (2, 2, 3)]
    )
    lengths, before = factorize(graph).predecessors(0, return_lengths=True)
    assert lengths.tolist() == [0, 2, 3] and before.tolist() == [-9999, 0, 1]


def test_bits_do_not_depend_on_threads():
    w = np.where(np.random.default_rng(1).random((200, 200)) < 0.03, 1.0, -np.inf)
    want = factorize(w, "maxmin").predecessors()
    for threads in (2, 3, 7):
        with tropical.options(threads=threads):
            assert np.array_equal(factorize(w, "maxmin").predecessors(), want)


def test_shapes_and_out():
    factor = factorize(nx.path_graph(6))
    lengths, before = factor.predecessors([[1, -2]], return_lengths=True)
    assert lengths.shape == before.shape == (1, 2, 6) and path(before[0, 1], 4, 0) == [
        4,
        3,
        2,
        1,
        0,
    ]
    assert factor.predecessors(3).tolist() == [1, 2, 3, -9999, 3, 4]
    assert factor.predecessors([]).shape == (0, 6)
    out = np.zeros((6, 2), np.int32).T
    assert factor.predecessors([1, 4], out=out) is out and np.array_equal(out, before[0])
    found = factor.predecessors([1, 4], out=(None, out), return_lengths=True)
    assert found[1] is out and np.array_equal(found[0], lengths[0])
    for wrong, error, message in (
        (np.zeros((2, 6)), TypeError, "out: expected an array of int32, got float64"),
        (np.zeros((2, 5), "i4"), ValueError, r"out: expected shape \(2, 6\), got \(2, 5\)"),
    ):
        with pytest.raises(error, match=message):
            factor.predecessors([1, 4], out=wrong)
    with pytest.raises(TypeError, match="out: expected a pair"):
        factor.predecessors([1, 4], out=out, return_lengths=True)
    same = np.zeros((2, 6), np.int32)
    with pytest.raises(ValueError, match="share memory"):
        factorize(nx.path_graph(6)).predecessors([1, 4], out=(same, same), return_lengths=True)
    with pytest.raises(ValueError, match="sources: expected -6 <= index < 6, got 6"):
        factor.predecessors(6)


def test_another_thread_updates_the_factor_meanwhile(monkeypatch):
    """A tree is one of the old weights or of the new ones: between two looks at them comes one."""
    factor, arrays = factorize(nx.cycle_graph(5)), Weights.arrays
    want = factor.predecessors()

    def updated(weights):
        factor.update([9, 1, 1, 1, 1])
        return arrays.fget(weights)

    with monkeypatch.context() as patch:
        patch.setattr(Weights, "arrays", property(updated))
        assert np.array_equal(factor.predecessors(), want)
    assert factor.predecessors(0).tolist() == [-9999, 2, 3, 4, 0]


def test_out_that_another_thread_writes_to():
    """What the core reads back from `out` is no index before it is checked."""
    run_python("""
        import threading, numpy as np, scipy.sparse as sparse
        from tropical.graph import factorize
        n, (i, j) = 2000, np.random.default_rng(0).integers(0, 2000, (2, 3000))
        ends = np.append(i, j), np.append(j, i)
        factor = factorize(sparse.csr_array((np.zeros(6000), ends), (n, n)))  # cycles of weight 0
        out, done = np.zeros((200, n), np.int32), threading.Event()
        def spoil():
            while not done.is_set(): out[:] = 1 << 30
        thread = threading.Thread(target=spoil)
        thread.start()
        for _ in range(5):
            factor.predecessors(np.arange(200), out=out)
        done.set()
        thread.join()
    """)


def test_out_at_an_odd_address():
    """The core reads vertices there; a copy is made."""
    out = np.zeros(2 * 6 * 4 + 1, np.uint8)[1:].view(np.int32).reshape(2, 6)
    assert not np.shares_memory(Result(out, out.shape, out.dtype).table(2, 6), out)
    factor = factorize(nx.path_graph(6))
    assert factor.predecessors([1, 4], out=out) is out
    assert np.array_equal(out, factor.predecessors([1, 4]))
