"""Elimination: the lengths of a factor are those of closures, for every order and kind of graph."""

import contextlib
import copy
import pickle
import re
import subprocess
import sys

import graphs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from support import SANITIZED, in_threads, interrupted, run_python

import tropical
from tropical.extras import NotInstalledError
from tropical.graph import (
    DivergenceError,
    Factor,
    NegativeCycleError,
    Searcher,
    closure,
    elimination,
    factorize,
    nearest_facilities,
    shortest_paths,
)
from tropical.graph.available import available_bytes
from tropical.graph.elimination import ENTRY_BYTES

nx = pytest.importorskip("networkx", reason="whose graphs are factorized")
sp = pytest.importorskip("scipy.sparse", reason="whose arrays are factorized")


def two_ways(w, ring):
    return ring.add_ufunc(w, w.T)


@pytest.mark.parametrize("name, dtype", graphs.FACTORS)
def test_lengths_are_those_of_the_closure(name, dtype):
    """To the bit, as the weights are small whole numbers and powers of 2."""
    ring = tropical.semirings.get(name)
    rng = np.random.default_rng(3)
    for w in graphs.thin_and_dense(rng, (1, 2, 5, 40, 130), name, dtype):
        want = closure(w, name)
        factor = factorize(w, name)
        assert factor.dtype == dtype and np.array_equal(factor.closure(), want)
        undirected = factorize(w, name, directed=False)
        assert np.array_equal(undirected.closure(), closure(two_ways(w, ring), name))
        assert undirected.nbytes * 2 == factorize(two_ways(w, ring), name).nbytes


FAMILIES = {
    "path": nx.path_graph(200),
    "cycle": nx.cycle_graph(97),
    "star": nx.star_graph(400),
    "clique": nx.complete_graph(40),
    "tree": nx.balanced_tree(3, 4),
    "grid": nx.grid_2d_graph(17, 13),
    "wheel": nx.wheel_graph(60),
    "lollipop": nx.lollipop_graph(20, 50),
    "power law": nx.barabasi_albert_graph(150, 3, seed=1),
    "expander": nx.random_regular_graph(4, 120, seed=1),
    "pieces": nx.disjoint_union_all([nx.path_graph(k) for k in (1, 1, 2, 5, 30)]),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ordering", ["auto", "given", "random"])
def test_families(family, ordering):
    graph, rng = FAMILIES[family], np.random.default_rng(5)
    n = len(graph)
    order = {"auto": "auto", "given": np.arange(n), "random": rng.permutation(n)}[ordering]
    weights = rng.integers(1, 100, graph.number_of_edges())
    for edge, weight in zip(graph.edges, weights, strict=True):
        graph.edges[edge]["weight"] = int(weight)
    want = shortest_paths(graph)
    factor = factorize(graph, ordering=order)
    assert not factor.directed and np.array_equal(factor.closure(), want)
    assert np.array_equal(factorize(graph.to_directed(), ordering=order).closure(), want)
    assert np.array_equal(factorize(graph, weight=lambda u, v, d: d["weight"]).closure(), want)
    some = rng.integers(-n, n, (3, 2))
    assert np.array_equal(factor.lengths(some, some[0]), want[some][..., some[0]])
    for sources, lengths in factor.rows(block=7):
        assert len(sources) <= 7 and np.array_equal(lengths, want[sources])


@given(st.integers(0, 60), st.floats(0, 0.3), st.integers(0, 2**32 - 1), st.booleans())
def test_random_orders_and_negative_weights(n, density, seed, directed):
    rng = np.random.default_rng(seed)
    h = rng.integers(-50, 50, n)
    w = np.where(rng.random((n, n)) < density, rng.integers(0, 30, (n, n)) * 1.0, np.inf)
    if directed:  # no cycle of negative weight
        w += h[:, None] - h
    order = rng.permutation(n)
    factor = factorize(w, directed=directed, ordering=order)
    assert np.array_equal(factor.closure(), shortest_paths(w, "FW", directed=directed))


def test_rounding_makes_no_negative_cycle():
    """The exact sum of this cycle is 0, but 1 + 2**-53 + 2**-53 is rounded to 1."""
    w = np.full((4, 4), np.inf)
    w[0, 1], w[1, 2], w[2, 3], w[3, 0] = 1, 2.0**-53, 2.0**-53, -1 - 2.0**-52
    factor = factorize(w, ordering=[1, 2, 0, 3])
    np.testing.assert_allclose(factor.closure(), shortest_paths(w), atol=1e-15)


def test_rounding_shortens_no_path_of_no_edges():
    """Among differences of potentials, all cycles have the weight 0, but for rounding."""
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        h = 1000 * rng.random(9)
        w = np.where(rng.random((9, 9)) < 0.5, h[:, None] - h, np.inf)
        with contextlib.suppress(NegativeCycleError):  # one whose exact sum is below 0
            factor = factorize(w)
            whole, _ = factor.predecessors(return_lengths=True)
            for lengths in (factor.lengths(), whole, shortest_paths(w, "E")):
                assert (np.diagonal(lengths) == 0).all()
            assert (factor.lengths([3, 5, 3], [3, 1, 3, 5])[[0, 0, 1, 2], [0, 2, 3, 0]] == 0).all()
            assert nearest_facilities(factor, 4)[0][4] == 0
            seen += 1
    assert seen > 5


def test_negative_cycles_are_named():
    w = sp.csr_array(np.array([[0, 1.0, 0], [0, 0, -3.0], [1.0, 0, 0]]))
    with pytest.raises(NegativeCycleError, match=r"-1: .*->") as caught:
        factorize(w)
    assert sorted(caught.value.cycle) == [0, 1, 2]
    with pytest.raises(NegativeCycleError):
        factorize(sp.csr_array(np.array([[-1.0]])))
    with pytest.raises(NegativeCycleError):  # forth and back
        factorize(np.array([[np.inf, -1.0], [np.inf, np.inf]]), directed=False)
    with pytest.raises(DivergenceError, match=r"no maxplus star.*vertex"):
        factorize(np.array([[-np.inf, 2.0], [3.0, -np.inf]]), "maxplus")


def test_bits_do_not_depend_on_threads_or_blocks(isa):
    rng = np.random.default_rng(9)
    w = rng.lognormal(size=(300, 300))
    w[rng.random(w.shape) > 0.02] = np.inf
    sources = rng.permutation(300)[:77]
    whole = factorize(w).lengths(sources)
    for threads in (1, 2, 3, 7):
        with tropical.options(threads=threads):
            factor = factorize(w)
            assert factor.lengths(sources).tobytes() == whole.tobytes()
            assert factor.lengths(sources[5:6]).tobytes() == whole[5:6].tobytes()
    np.testing.assert_allclose(whole, shortest_paths(w)[sources], rtol=1e-14)


@pytest.mark.skipif(sys.platform != "linux" or SANITIZED, reason="measures memory")
def test_memory_of_threads():
    """A thread touches only what its subtrees need, not a number for each vertex."""
    run_python("""
        import resource, numpy as np, tropical
        from tropical import _core
        n, threads = 400_000, 32
        line = np.arange(n, dtype=np.int32)
        core = _core.Elimination(n, line[:-1], line[1:], line)
        up, weights = np.zeros(core.entries), np.ones(n - 1)
        with tropical.options(threads=threads):
            tropical.gemm(np.ones((500, 500)), np.ones((500, 500)))  # makes the threads
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            core.eliminate(weights, up, up, "minplus")
        used = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        assert used < 8 * n * threads / 3, used
    """)


@pytest.mark.slow
def test_long_chain():
    """No recursion over the tree, which is as high as the chain is long in this order."""
    n = 1_000_000
    chain = sp.csr_array((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    factor = factorize(chain, ordering=np.arange(n))
    assert np.array_equal(factor.lengths(0), np.arange(n))
    assert factor.lengths(n - 1, 0) == np.inf
    assert factor.explain().height == n


def test_update():
    rng = np.random.default_rng(2)
    graph = sp.random_array((80, 80), density=0.05, rng=rng, format="csr")
    factor = factorize(graph)
    graph.data[:] = rng.random(len(graph.data))
    factor.update(graph.data)
    assert np.array_equal(factor.closure(), factorize(graph).closure())
    before = factor.closure()
    for wrong, message in (
        (graph.data[1:], "weights: expected shape"),
        (np.full_like(graph.data, np.nan), "NaN"),
        (-graph.data, "cycle of weight"),
    ):
        with pytest.raises(ValueError, match=message):
            factor.update(wrong)
        assert np.array_equal(factor.closure(), before)


def test_out():
    factor = factorize(nx.path_graph(6))
    want = factor.lengths([1, 4])
    for out in (np.zeros((2, 6)), np.zeros((6, 2)).T, np.zeros((2, 12))[:, ::2]):
        assert factor.lengths([1, 4], out=out) is out and np.array_equal(out, want)
    read_only = np.zeros((2, 6))
    read_only.flags.writeable = False
    for wrong, error, message in (
        (np.zeros((2, 5)), ValueError, r"out: expected shape \(2, 6\), got \(2, 5\)"),
        (np.zeros((2, 6), "f4"), TypeError, "out: expected an array of float64, got float32"),
        ([0.0], TypeError, "out: expected an array of float64, got list"),
        (read_only, ValueError, "out: expected a writeable array"),
        (sliding_window_view(np.zeros(7), 6, writeable=True), ValueError, "out: .* no memory"),
        (np.ma.zeros((2, 6)), TypeError, "out is a masked array"),
    ):
        with pytest.raises(error, match=message):
            factor.lengths([1, 4], out=wrong)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda f: f.lengths(6), ValueError, "sources: expected -6 <= index < 6, got 6"),
        (lambda f: f.lengths(0, [-7]), ValueError, "targets: expected -6 <= index < 6, got -7"),
        (lambda f: f.lengths(0.5), TypeError, "sources: expected integers"),
        (lambda f: f.rows(block=0), ValueError, "block: expected 1 or more, got 0"),
        (lambda f: f.rows(block="2"), TypeError, "block: expected an integer, got '2'"),
        (lambda f: f.rows(block=1.5), TypeError, "block: expected an integer, got 1.5"),
        (lambda f: f.path(None, 0), TypeError, "i: expected an integer, got None"),
        (lambda f: factorize(np.ones((2, 3))), ValueError, "expected"),
        (lambda f: factorize(np.ones((2, 2, 2))), ValueError, r"graph: expected \(n, n\)"),
        (lambda f: factorize(np.ones((2, 2)), "plustimes"), ValueError, "an idempotent one"),
        (lambda f: factorize([[np.nan]]), ValueError, "NaN"),
        (lambda f: factorize([[1j]]), TypeError, "complex"),
        (lambda f: factorize(np.ones((2, 2), "u1")), TypeError, r"graph: expected .*got uint8"),
        (lambda f: factorize([[1.0]], ordering="best"), ValueError, "ordering: expected 'auto'"),
        (lambda f: factorize(np.ones((2, 2)), ordering=[0, 0]), ValueError, "each of 2 vertices"),
        (lambda f: factorize([[1.0]], ordering=[1]), ValueError, "ordering: expected -1 <= index"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(factorize(nx.path_graph(6)))


def test_update_closes_edges():
    factor = factorize(nx.cycle_graph(5))
    factor.update([np.inf, 1, 1, 1, 1])  # in the order of the edges, the first from 0 to 1
    assert factor.lengths(0).tolist() == [0, 4, 3, 2, 1]
    factor.update(np.full(5, np.inf))
    assert factor.lengths(0).tolist() == [0, *[np.inf] * 4]
    factor.update(np.ones(5, int))
    assert factor.lengths(0).tolist() == [0, 1, 2, 2, 1]


@pytest.mark.parametrize("ordering", ["auto", "given"])
@pytest.mark.parametrize("graph", [nx.complete_graph(40), nx.random_regular_graph(6, 300, seed=1)])
def test_memory_limit(monkeypatch, ordering, graph):
    order = "auto" if ordering == "auto" else np.arange(len(graph))
    plan = factorize(graph, ordering=order).explain()
    needed = (ENTRY_BYTES + 8) * plan.entries
    monkeypatch.setattr(elimination, "available_bytes", lambda: needed)
    factorize(graph, ordering=order)
    monkeypatch.setattr(elimination, "available_bytes", lambda: needed - 1)
    message = f"graph: elimination adds more than {plan.entries - 1:,} edges, which do not fit"
    with pytest.raises(MemoryError, match=message):
        factorize(graph, ordering=order)


def test_available_bytes():
    machine = available_bytes()
    assert 1 << 20 < machine < 1 << 60
    # The limit counts what is mapped already: AddressSanitizer alone maps 20 TB.
    code = """if True:
        import resource
        from pathlib import Path
        from tropical.graph.available import available_bytes
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (1 << 28)
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        print(available_bytes())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert 0 < int(done.stdout) <= 1 << 28


@pytest.mark.slow
def test_memory_error_comes_early(monkeypatch):
    """A random graph of 10^5 vertices of degree 10 would take hundreds of gigabytes."""
    n = 100_000
    ends = np.random.default_rng(1).integers(0, n, (2, 5 * n))
    graph = sp.csr_array((np.ones(5 * n), tuple(ends)), shape=(n, n))
    monkeypatch.setattr(elimination, "available_bytes", lambda: 1 << 28)
    with pytest.raises(MemoryError, match="shortest_paths finds paths"):
        factorize(graph)


def test_pickle_and_text():
    factor = factorize(FAMILIES["grid"], directed=False)
    again = pickle.loads(pickle.dumps(factor))
    assert np.array_equal(again.closure(), factor.closure())
    assert repr(again) == "<Factor of 221 vertices, undirected, minplus, float64>"
    plan = factor.explain()
    assert plan == again.explain() and plan.nbytes == factor.nbytes == 8 * plan.entries
    assert str(plan).startswith("221 vertices, ") and "a row of lengths" in str(plan)
    assert plan.row_operations == 4 * plan.entries and 0 < plan.row_seconds < 1


class NamedFactor(Factor):
    pass


class NamedSearcher(Searcher):
    pass


@pytest.mark.parametrize("kind", [NamedFactor, NamedSearcher])
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_keep_the_class_and_attributes(kind, copied):
    one = kind(np.array([[np.inf, 2.0, 9.0], [-1.0, np.inf, 3.0], [5.0, -2.0, np.inf]]))
    one.name = "Rome"
    other = copied(one)
    assert type(other) is kind and other.name == "Rome" and repr(other) == repr(one)
    assert np.array_equal(other.lengths(), one.lengths()) and other.path(0, 2) == one.path(0, 2)


def test_threads_share_a_factor():
    factor = factorize(FAMILIES["grid"])
    want = factor.closure()

    def compute(_):
        for _ in range(5):
            assert np.array_equal(factor.closure(), want)

    in_threads(compute, 8)


def test_signals_are_heard():
    factor = factorize(nx.path_graph(100_000))
    interrupted(lambda: factor.lengths(np.zeros(1 << 23, np.int64), [0]), 0.1)
    assert factor.lengths(0, 5) == 5


def random_graph_of(n, m):
    ends = np.random.default_rng(1).integers(0, n, (2, m)).astype(np.int32)
    return sp.csr_array((np.ones(m, np.float32), tuple(ends)), shape=(n, n))


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.4, 1.2, 2.5])
def test_signals_are_heard_during_construction(seconds):
    """Order and structure; the whole takes minutes."""
    late = interrupted(lambda: factorize(random_graph_of(60_000, 300_000)), seconds)
    assert late < 3, "seconds after the signal, on a loaded machine"


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", ["minplus", "maxmin", "orand"])
def test_save_and_load(tmp_path, directed, name):
    graph = FAMILIES["grid"].to_directed() if directed else FAMILIES["grid"]
    factor = factorize(graph, name)
    factor.update_edges(0, 1, 0 if name == "orand" else 3)
    file = tmp_path / "grid"
    factor.save(file)
    again = Factor.load(file)
    assert repr(again) == repr(factor) and again.explain() == factor.explain()
    assert again.closure().tobytes() == factor.closure().tobytes()
    assert again.path(3, 100) == factor.path(3, 100)


def test_files_of_other_things(tmp_path):
    file = tmp_path / "some.npz"
    np.savez(file, a=np.arange(3))
    with pytest.raises(ValueError, match=r"some\.npz: expected a file of Factor.save"):
        Factor.load(file)
    factorize(nx.path_graph(3)).save(file)
    arrays = dict(np.load(file))
    for change, message in (
        ({"version": np.array(99)}, "expected version 1 at most, got 99"),
        ({"version": np.array("one")}, "expected a file of Factor.save"),
        ({"order": np.array([0, 0, 1])}, "expected a file of Factor.save .*order"),
        ({"target": np.array([7, 1])}, "expected a file of Factor.save .*target"),
        ({"source": np.array([7])}, "expected a file of Factor.save"),
        ({"source": np.array([0, np.nan])}, "expected a file of Factor.save .*float64"),
        ({"semiring": np.array("none")}, "expected a file of Factor.save"),
        ({"weight": np.array([1, 2], complex)}, "expected a file of Factor.save"),
        ({"weight": np.array([1.0])}, "expected a file of Factor.save"),
    ):
        np.savez(file, **arrays | change)
        with pytest.raises(ValueError, match=r"some\.npz: " + message):
            Factor.load(file)
    del arrays["order"]
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match=r"some\.npz: expected a file of Factor.save .*order"):
        Factor.load(file)
    file.write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"some\.npz: expected an undamaged"):
        Factor.load(file)
    with pytest.raises(FileNotFoundError, match=re.escape(f"'{tmp_path}/none/some.npz'")):
        factorize(nx.path_graph(3)).save(tmp_path / "none" / "some.npz")
    with pytest.raises(FileNotFoundError):
        Factor.load(tmp_path / "none")


@pytest.mark.parametrize("family", FAMILIES)
def test_metis(family):
    pytest.importorskip("pymetis", reason="the order of METIS")
    graph = FAMILIES[family]
    factor = factorize(graph, ordering="metis")
    assert np.array_equal(factor.closure(), shortest_paths(graph))


def test_metis_makes_few_entries():
    pytest.importorskip("pymetis", reason="the order of METIS")
    grid = nx.grid_2d_graph(60, 60)
    metis = factorize(grid, ordering="metis").explain()
    auto = factorize(grid).explain()
    assert metis.entries < 1.4 * auto.entries
    for graph in (np.full((3, 3), np.inf), np.full((1, 1), np.inf), np.full((0, 0), np.inf)):
        assert factorize(graph, ordering="metis").closure().shape == graph.shape


def test_metis_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(NotInstalledError, match="pymetis is not installed"):
        factorize(nx.path_graph(4), ordering="metis")


@pytest.mark.parametrize("graph", [np.zeros((0, 0)), np.array([[np.inf]]), np.array([[0.0]])])
def test_tiny_graphs(graph):
    factor, n = factorize(graph), len(graph)
    assert factor.closure().tolist() == [[0.0]] * n
    assert factor.predecessors().tolist() == [[-9999]] * n
    assert [factor.path(i, i) for i in range(n)] == [[0]] * n
    assert factor.explain().height == n
    with pytest.raises(ValueError, match="i: expected"):
        factor.path(n, 0)


def test_copies_have_weights_of_their_own():
    factor = factorize(nx.cycle_graph(2000))
    other = copy.copy(factor)
    factor.update_edges(0, 1, 500)
    assert (factor.lengths(0, 1), other.lengths(0, 1)) == (500, 1)
    weights = np.ones(2000)
    factor.update(weights)
    factor.update_edges(0, 1, 500)
    assert weights[0] == 1


def test_progress():
    graph = nx.grid_2d_graph(20, 25)
    shares = []
    factor = factorize(graph, progress=shares.append)
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.1
    assert len(shares) > 10
    assert shares[-1] == 1
    np.testing.assert_array_equal(factor.lengths(0), factorize(graph).lengths(0))

    def fail(share):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        factorize(graph, progress=fail)
