"""Cycle means, eigenvectors and periods, against their definitions in exact arithmetic."""

from fractions import Fraction
from itertools import pairwise
from math import gcd, inf, lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import check_refused

import tropical
from tropical import semirings
from tropical.spectral import (
    critical_graph,
    cycle_times,
    cyclicity,
    eigenvectors,
    maximum_cycle_mean,
    schedule,
    transient,
)

RINGS = ("maxplus", "minplus")
METHODS = ("howard", "karp")
KINDS = ("whole", "normal", "wide", "tenths", "float32", "int8", "int64")


def weights(shape, kind, rng):
    if kind == "whole":
        return rng.integers(-3, 3, shape).astype(float)
    if kind == "wide":
        return rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, shape)
    if kind == "tenths":  # cycles that tie in decimals, and differ as they are
        return rng.integers(-3, 3, shape) * 0.1 + 0.3
    if kind.startswith("int"):
        ends = np.iinfo(kind)
        return rng.integers(ends.min, ends.max, shape, kind, endpoint=True)
    return rng.normal(size=shape).astype("float32" if kind == "float32" else "float64")


def graphs(ring, n, kind, seed):
    rng = np.random.default_rng((seed, n))
    w = weights((n, n), kind, rng)
    there = rng.random((n, n)) < rng.random()
    return np.where(there, w, semirings.get(ring).zero(w.dtype)).astype(w.dtype)


def exactly(a, ring):
    """`a` in Fractions, to be maximised; None where there is no arc."""
    zero, sign = semirings.get(ring).zero(a.dtype), 1 if ring == "maxplus" else -1
    return [[None if x == zero else sign * Fraction(x) for x in row] for row in a.tolist()]


def times(a, b):
    def element(row, column):
        sums = [x + y for x, y in zip(row, column, strict=True) if None not in (x, y)]
        return max(sums, default=None)

    return [[element(row, column) for column in zip(*b, strict=True)] for row in a]


def powers(a, most):
    n = len(a)
    found = [[[Fraction(0) if i == j else None for j in range(n)] for i in range(n)]]
    for _ in range(most):
        found.append(times(found[-1], a))
    return found


def best_mean(walks):
    n = len(walks[0])
    around = [walks[k][i][i] for k in range(1, n + 1) for i in range(n)]
    lengths = [k for k in range(1, n + 1) for _ in range(n)]
    means = [x / k for x, k in zip(around, lengths, strict=True) if x is not None]
    return max(means, default=None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ring", RINGS)
def test_cycle_mean_and_critical_graph(ring, kind):
    """An arc is critical if a closed walk of at most n arcs through it has the greatest mean."""
    sign = 1 if ring == "maxplus" else -1
    for seed in range(12):
        for n in range(7):
            a = graphs(ring, n, kind, seed)
            exact = exactly(a, ring)
            walks = powers(exact, n)
            best = best_mean(walks)
            for method in METHODS:
                mean, cycle, found = maximum_cycle_mean(a, ring, method=method)
                if best is None:
                    assert (mean, cycle, found) == (-inf * sign, [], None)
                    continue
                assert found == sign * best and mean == float(found)
                assert cycle[0] == min(cycle) and len(set(cycle)) == len(cycle)
                weight = sum(exact[i][j] for i, j in pairwise([*cycle, cycle[0]]))
                assert weight == best * len(cycle)
            want = np.zeros((n, n), bool)
            for i, j in np.argwhere(a != semirings.get(ring).zero(a.dtype)):
                back = [(walks[k][j][i], k + 1) for k in range(n)]
                want[i, j] = any(x is not None and x + exact[i][j] == best * k for x, k in back)
            np.testing.assert_array_equal(critical_graph(a, ring), want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("n", [30, 100])
def test_methods_agree(dtype, n):
    rng = np.random.default_rng(n)
    dense = (rng.random((n, n)) * 1e6).astype(dtype)
    sparse = np.where(rng.random((n, n)) < 2 / n, dense, semirings.minplus.zero(dtype))
    ring = np.roll(np.where(np.eye(n), dense, semirings.minplus.zero(dtype)), 1, axis=1)
    for a in (dense, sparse.astype(dtype), ring.astype(dtype)):
        howard, karp = (maximum_cycle_mean(a, "minplus", method=method) for method in METHODS)
        assert howard.exact == karp.exact
    assert howard.cycle == karp.cycle == list(range(n))


@pytest.mark.parametrize("method", METHODS)
def test_a_lollipop(method):
    """Policies that are far from the best cycle, and must be led to it along one path."""
    n = 60
    a = np.full((n, n), -inf)
    i = np.arange(n - 1)
    a[i, i + 1], a[i + 1, i] = 0, -1000
    a[n - 1, n - 1], a[0, 0] = 1, 0.5
    assert maximum_cycle_mean(a, method=method) == (1, [n - 1], 1)


def test_what_floats_hide():
    """Two cycles whose means differ by less than float64 can tell from their sums."""
    tiny = 2.0**-52
    a = np.array([[-inf, 1.0, -inf], [1.0 + tiny, -inf, -inf], [-inf, 0.0, 1.0]])
    for method in METHODS:
        assert maximum_cycle_mean(a, method=method).exact == 1 + Fraction(tiny) / 2
    assert critical_graph(a).sum() == 2
    a[2, 2] += tiny
    assert maximum_cycle_mean(a).cycle == [2]
    big = np.array([[2**62 + 1, 2**62], [2**62 + 3, 2**62 + 1]])
    assert maximum_cycle_mean(big) == (2.0**62, [0, 1], 2**62 + Fraction(3, 2))
    assert maximum_cycle_mean([[5e-324]]).mean == 5e-324
    assert maximum_cycle_mean([[1e308, 1.5e308], [1.5e308, 0]]).mean == 1.5e308
    wide = np.zeros((8, 8))  # for which a unit is so large that the greatest rounds to infinity
    wide[0, 0] = np.finfo("f8").max
    assert maximum_cycle_mean(wide).mean == wide[0, 0]


@pytest.mark.parametrize("ring", RINGS)
def test_cycle_times(ring):
    sign, none = (1, -inf) if ring == "maxplus" else (-1, inf)
    two_classes = sign * np.array([[2.0, 0, -inf], [-inf, 3, -inf], [0, -inf, 1]])
    assert cycle_times(two_classes, ring).tolist() == [3 * sign, 3 * sign, 3 * sign]
    assert cycle_times([[none, 1], [none, none]], ring).tolist() == [none, none]
    assert cycle_times(np.zeros((0, 0)), ring).shape == (0,)
    for seed in range(8):
        a = graphs(ring, 6, "whole", seed)
        x = schedule(a, np.zeros(6), 1240, ring)
        for rate, first, last in zip(cycle_times(a, ring), x[400], x[1240], strict=True):
            # 840 is a multiple of every length of a cycle.
            assert rate == none if last == none else rate == (last - first) / 840


def connected(ring, n, kind, seed):
    a = graphs(ring, n, kind, seed)
    rng = np.random.default_rng((seed, n))
    order = rng.permutation(n)
    a[order, np.roll(order, 1)] = weights(n, kind, rng)
    return a


def test_eigenvectors_of_large_integers():
    """Rounded once, at the end."""
    none = np.iinfo(np.int64).min
    a = np.array([[none, 2**52 + 1, none], [none, none, 2**52], [2**52 + 1, 2**51, none]])
    np.testing.assert_allclose(eigenvectors(a).vectors[:, 0], [0, -1 / 3, 1 / 3], rtol=1e-15)
    b = np.array([[2**60 + 1, 2**60 + 7], [2**60 - 3, 2**60]])
    assert eigenvectors(b).vectors.tolist() == [[0], [-5]]
    assert eigenvectors(b - 2**61).vectors.tolist() == [[0], [-5]]
    c = np.array([[2**62 + 1, 2**62 + 7], [2**62 + 3, 2**62]])  # with a mean of two edges
    assert eigenvectors(c).vectors.tolist() == [[0], [-2]]


def test_eigenvectors():
    for ring in RINGS:
        plus = semirings.get(ring)
        for seed in range(20):
            for n in (1, 2, 5, 9):
                for kind in ("whole", "normal", "float32"):
                    a = connected(ring, n, kind, seed)
                    value, vectors = eigenvectors(a, ring)
                    product = tropical.gemm(a.astype(float), vectors, semiring=plus)
                    np.testing.assert_allclose(product, value + vectors, rtol=0, atol=1e-13)
                    assert value == maximum_cycle_mean(a, ring).mean
                    graph = critical_graph(a, ring)
                    assert (vectors[graph.any(axis=1)] == 0).any(axis=0).all()


def test_the_basis_of_an_eigenspace():
    a = np.array([[2.0, -3, 0], [-5, 2, 1], [0, 0, 1]])
    value, vectors = eigenvectors(a)
    assert value == 2
    np.testing.assert_array_equal(vectors, [[0, -4], [-3, 0], [-2, -2]])
    value, vectors = eigenvectors([[3, 7, 0], [2, 4, 8], [1, 1, 3]])
    assert value == 16 / 3
    np.testing.assert_array_equal(vectors, [[0], [-5 / 3], [-13 / 3]])


def test_what_has_no_eigenvectors():
    without = "a: expected a cycle, got a graph without one"
    check_refused(
        eigenvectors,
        (ValueError, "no path leads from 1 to 0; cycle_times", [[1.0, 1.0], [-inf, 1.0]]),
        (ValueError, r"small enough for sums of paths, got 1e\+308", [[1e308]]),
        (ValueError, without, np.zeros((0, 0))),
        (ValueError, without, [[-inf]]),
        (ValueError, without, [[-inf, 1.0], [-inf, -inf]]),
    )
    with pytest.raises(ValueError, match="a: expected an irreducible matrix"):
        transient([[1.0, -inf], [-inf, 1.0]])


def brute_cyclicity(graph):
    """Of each connected part the greatest common divisor of lengths of closed walks."""
    n = len(graph)
    lengths = [0] * n
    walk = np.eye(n, dtype=bool)
    reach = np.eye(n, dtype=bool)
    for k in range(1, 2 * n + 1):
        walk = (walk.astype(int) @ graph.astype(int)) > 0
        reach |= walk
        lengths = [gcd(old, k) if walk[i, i] else old for i, old in enumerate(lengths)]
    return lcm(*(length for length in lengths if length))


def brute_transient(a, c, ring):
    exact = exactly(a, ring)
    mean = best_mean(powers(exact, len(a)))
    normal = [[None if x is None else x - mean for x in row] for row in exact]
    found = powers(normal, c)
    while found[-1] != found[-1 - c]:  # from one repetition on all repeat
        found.append(times(found[-1], normal))
    return len(found) - 1 - c


@pytest.mark.parametrize("ring", RINGS)
def test_periods(ring):
    seen = set()
    for seed in range(24):
        for n in (1, 2, 4, 6):
            a = connected(ring, n, "whole" if seed % 2 else "int8", seed)
            c = cyclicity(a, ring)
            assert c == brute_cyclicity(critical_graph(a, ring))
            if seed % 2:
                k = transient(a, ring)
                assert k == brute_transient(a, c, ring)
                seen.add((c, k))
    assert len(seen) > 15


def test_cyclicity_of_two_rings():
    n = 5
    a = np.full((n, n), -inf)
    for ring in ((0, 1), (2, 3, 4)):
        a[ring, np.roll(ring, -1)] = 1
    assert cyclicity(a) == 6
    a[1, 2] = a[2, 1] = 0
    assert cyclicity(a) == 6
    x = schedule(a, np.arange(n), transient(a) + 12)
    np.testing.assert_array_equal(x[-7] + 6, x[-1])
    assert cyclicity(np.full((3, 3), -inf)) == 1


def test_a_long_transient():
    assert transient([[10**6, 1], [0, 10**6 - 1]]) == 2 * 10**6 - 1
    assert transient([[5]]) == 0
    with pytest.raises(ValueError, match="a: expected multiples of a unit"):
        transient(np.random.default_rng(0).random((9, 9)))


@settings(max_examples=60)
@given(st.data())
def test_laws(data):
    n = data.draw(st.integers(1, 5))
    numbers = st.integers(-50, 50) | st.none()
    rows = data.draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=n, max_size=n))
    a = np.array([[-inf if x is None else x for x in row] for row in rows])
    mean = maximum_cycle_mean(a).exact
    assert maximum_cycle_mean(a.T).exact == mean
    assert maximum_cycle_mean(-a, "minplus").exact == (None if mean is None else -mean)
    if mean is not None:
        assert maximum_cycle_mean(a + 7).exact == mean + 7
        assert maximum_cycle_mean(3 * a).exact == 3 * mean
        cube = tropical.gemm(tropical.gemm(a, a), a)
        assert maximum_cycle_mean(cube).exact == 3 * mean


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_schedule(ring, dtype):
    rng = np.random.default_rng(1)
    a = rng.integers(-9, 9, (4, 4)).astype(dtype)
    a[0, 1] = a[2, 2] = semirings.get(ring).zero(dtype)
    first = rng.integers(-9, 9, (2, 3, 4)).astype(dtype)
    inputs = rng.integers(-9, 40, (3, 5, 4)).astype(dtype)
    best = np.maximum if ring == "maxplus" else np.minimum
    for late in (None, inputs):
        x = schedule(a, first, 5, ring, inputs=late)
        assert x.shape == (2, 3, 6, 4) and x.dtype == dtype
        want = first
        for k in range(5):
            want = tropical.gemm(a, want[..., None], semiring=ring)[..., 0]
            want = want if late is None else best(want, late[:, k])
            np.testing.assert_array_equal(x[..., k + 1, :], want)


def test_schedule_of_other_shapes_and_dtypes():
    assert schedule([[1]], [5], 0).tolist() == [[5]]
    assert schedule(np.zeros((0, 0)), [], 2).shape == (3, 0)
    assert schedule([[1]], np.zeros((0, 1)), 2).shape == (0, 3, 1)
    assert schedule([[1.0]], [5], 1, inputs=[[9]]).tolist() == [[5], [9]]
    assert schedule([[1.0]], [5], 2, inputs=[9]).tolist() == [[5], [9], [10]]
    # The zero of int8 is that of int64 once they meet.
    a = np.array([[-128, 1], [2, -128]], np.int8)
    ends = np.iinfo(np.int64)
    x = schedule(a, np.array([ends.min, 0]), 2)
    assert x.tolist() == [[ends.min, 0], [1, ends.min], [ends.min, 3]]
    for wrong, message in (
        ({"x0": [1, 2]}, r"x0: expected \(..., 1\), got \(2,\)"),
        ({"x0": 3}, r"x0: expected \(..., 1\), got \(\)"),
        ({"steps": -1}, "steps: expected 0 or more, got -1"),
        ({"inputs": [[1], [2]]}, r"inputs: expected .* got \(2, 1\)"),
        ({"x0": np.zeros((2, 1)), "inputs": np.zeros((3, 1, 1))}, r"x0 of shape \(2, 1\)"),
    ):
        with pytest.raises(ValueError, match=message):
            schedule(**{"a": [[1]], "x0": [0], "steps": 1, **wrong})
    with pytest.raises(TypeError, match=r"steps: expected an integer, got 1\.5"):
        schedule([[1]], [0], 1.5)


@pytest.mark.parametrize(
    "function",
    [maximum_cycle_mean, critical_graph, cycle_times, cyclicity, eigenvectors, transient],
)
def test_refuses(function):
    shapes = (2, 3), (3,), (2, 2, 2), ()
    check_refused(
        function,
        *((ValueError, r"a: expected \(n, n\), got \(", np.ones(shape)) for shape in shapes),
        (TypeError, "a is a masked array", np.ma.ones((2, 2))),
        (ValueError, r"a: expected weights, got nan at \(0, 1\)", [[1.0, np.nan], [1.0, 1.0]]),
        (ValueError, r"a: expected weights, got inf at \(0, 0\)", [[inf]]),
        (ValueError, r"a: expected weights, got -inf at \(0, 0\)", [[-inf]], "minplus"),
        (ValueError, "semiring: expected maxplus or minplus, got maxmin", [[1.0]], "maxmin"),
        (TypeError, "bool", [[True]]),
        (TypeError, "complex128", [[1j]]),
    )


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize(
    "function",
    [maximum_cycle_mean, critical_graph, cycle_times, cyclicity, eigenvectors, transient,
     lambda a, ring: schedule(a, np.zeros(3), 4, ring)],
)  # fmt: skip
def test_sparse_arrays_and_graphs_of_networkx(function, ring):
    sparse = pytest.importorskip("scipy.sparse")
    nx = pytest.importorskip("networkx")
    ends, weights = ([0, 1, 2, 2], [1, 2, 0, 1]), [2.0, 0.0, 5.0, 1.0]
    dense = np.full((3, 3), semirings.get(ring).zero("float64"))
    dense[ends] = weights
    named = nx.DiGraph()
    named.add_weighted_edges_from(zip(*ends, weights, strict=True))
    coo = sparse.coo_array((weights, ends), shape=(3, 3))

    def parts(result):
        return result if isinstance(result, tuple) else (result,)

    want = function(dense, ring)
    for graph in (coo, sparse.csr_matrix(coo), named):
        for x, y in zip(parts(function(graph, ring)), parts(want), strict=True):
            np.testing.assert_array_equal(x, y)
    with pytest.raises(ValueError, match=r"a: expected \(n, n\), got \(2, 3\)"):
        function(sparse.csr_array((2, 3)), ring)


def test_refuses_another_method():
    with pytest.raises(ValueError, match="method: expected 'howard' or 'karp', got 'lawler'"):
        maximum_cycle_mean([[1.0]], method="lawler")
