"""Predecessors of Kleene stars: every element is the product along the path that they name."""

import itertools

import graphs
import numpy as np
import pytest

import tropical
from tropical import _core, semirings
from tropical.graph import DivergenceError, closure, path
from tropical.graph.predecessors import star_with_predecessors

SELECTIVE = [ring for ring in semirings.ALL if ring.selective]


def star(w, ring):
    """The star and the predecessors of a matrix."""
    a = w.copy()
    edges = w != ring.zero(w.dtype)
    before = np.where(edges, np.arange(len(w), dtype=np.int32)[:, None], np.int32(-9999))
    star_with_predecessors(a, ring, before)
    return a, before


def check(w, ring, pairs):
    a, before = star(w, ring)
    np.testing.assert_array_equal(a, closure(w, ring))
    assert (np.diagonal(before) == -9999).all()
    graphs.assert_predecessors(before, a, w, ring, path, pairs)


@pytest.mark.parametrize("ring", SELECTIVE, ids=lambda ring: ring.name)
@pytest.mark.parametrize("n", [1, 2, 9, 64, 65, 130, 300])
def test_paths(ring, n, isa):
    rng = np.random.default_rng(n)
    for dtype in ("float32", "int8", "int64"):
        w = graphs.random_graphs(ring, dtype, n, 0, degree=5)
        check(w, ring, rng.integers(0, n, (200, 2)))


@pytest.mark.parametrize("ring", SELECTIVE, ids=lambda ring: ring.name)
@pytest.mark.parametrize("n", [64, 200])
def test_ties_everywhere(ring, n):
    """Edges of one weight that costs nothing, back and forth: all paths are equal."""
    rng = np.random.default_rng(n)
    there = rng.random((n, n)) < 3 / n
    weight = 3 if ring.multiply in ("min", "max") else ring.one("float64")
    w = np.where(there | there.T, weight, ring.zero("float64"))
    check(w, ring, rng.integers(0, n, (500, 2)))


def test_rounded_sums_have_paths_too():
    """In whichever order the sums were rounded, paths exist and are as long but for rounding."""
    rng = np.random.default_rng(0)
    w = rng.random((300, 300), np.float32)
    a, before = star(w, semirings.minplus)
    np.testing.assert_allclose(a, closure(w), rtol=1e-6)
    for i, j in rng.integers(0, 300, (300, 2)):
        length = sum(w[u, v] for u, v in itertools.pairwise(path(before, i, j)))
        np.testing.assert_allclose(a[i, j], length, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_weights_near_the_greatest_stay_beside_small_ones(dtype, isa):
    n, big = 200, np.iinfo(dtype).max - 1
    for name, sign in (("minplus", 1), ("maxplus", -1)):
        ring = semirings.get(name)
        w = np.full((n, n), ring.zero(dtype), dtype)
        w[:64, :64] = sign
        w[150, 10], w[10, 170], w[30, 180] = sign * big, sign, sign
        check(w, ring, [(150, 10), (0, 1), (0, 170), (5, 180), (150, 150)])


def test_threads_give_the_same_bits():
    w = graphs.random_graphs(semirings.maxmin, "float32", 333, 5)
    want = star(w, semirings.maxmin)
    for threads in (1, 2, 5):
        with tropical.options(threads=threads):
            for found, right in zip(star(w, semirings.maxmin), want, strict=True):
                np.testing.assert_array_equal(found, right)


def test_cycles_that_improve():
    w = np.full((100, 100), np.inf)
    w[3, 80], w[80, 3] = 1, -2
    with pytest.raises(DivergenceError):
        star(w, semirings.minplus)


def test_what_the_core_refuses():
    w, before = np.zeros((4, 4)), np.zeros((4, 4), np.int32)
    others = np.zeros((4, 4), np.int32)
    shared = np.lib.stride_tricks.as_strided(w, (4, 4), (0, 8))
    most = np.iinfo(np.intp).max

    def eliminate(a=w, before=before, first=0, ring="minplus"):
        _core.eliminate(a, ring, before, first)

    def relax(a=w, b=w, out=None, before=before, lookup=others, ring="minplus"):
        _core.relax(a, b, ring, w.copy() if out is None else out, before, lookup)

    for call, error, what in [
        (lambda: eliminate(before=before[:3]), ValueError, r"\(4, 4\), as a has, got \(3, 4\)"),
        (lambda: eliminate(before=before.astype("i8")), TypeError, "before: .*, got int64"),
        (lambda: eliminate(w > 0, ring="orand"), ValueError, "selective one, got orand"),
        (lambda: eliminate(w[:2], before[:2], 3), ValueError, "first: .* n = 2, got 3"),
        (lambda: eliminate(w[:2], before[:2], -1), ValueError, "got -1"),
        (lambda: eliminate(w[:2], before[:2], most), ValueError, f"got {most}"),
        (lambda: eliminate(shared), ValueError, "a: expected elements that share no memory"),
        (lambda: eliminate(before, before), ValueError, "before: .* apart from that of a"),
        (lambda: _core.star(shared, "minplus"), ValueError, "a: .* share no memory"),
        (lambda: relax(out=w), ValueError, "out: .* apart from that of a"),
        (lambda: relax(lookup=before), ValueError, "before: .* apart from that of lookup"),
        (lambda: relax(before, before, others.copy()), ValueError, "before: .* apart"),
        (lambda: relax(w[None], out=np.zeros((1, 4, 4))), ValueError, "relax: expected matrices"),
        (lambda: relax(ring="plustimes"), ValueError, "selective one, got plustimes"),
    ]:
        with pytest.raises(error, match=what):
            call()
        assert not w.any() and not before.any()
    before.flags.writeable = False
    with pytest.raises(ValueError, match="before: expected a writeable array"):
        eliminate()


@pytest.mark.parametrize("kernel", ["direct", "packed"])
@pytest.mark.parametrize("layout", ["fortran", "reversed", "spread", "rows apart"])
def test_relax_in_any_layout(layout, kernel, isa):
    rng = np.random.default_rng(0)
    lay = {
        "fortran": np.asfortranarray,
        "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
        "spread": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
        "rows apart": lambda x: np.pad(x, ((0, 0), (0, 5)))[:, :-5],
    }[layout]
    for m, n, k in [(1, 1, 1), (5, 7, 3), (40, 70, 65), (13, 130, 200)]:
        for dtype in ("float32", "int8"):
            arrays = [
                rng.integers(0, 40, shape).astype(dtype) for shape in ((m, k), (k, n), (m, n))
            ]
            tables = [rng.integers(0, 99, (rows, n), np.int32) for rows in (m, k)]
            laid = [lay(x) for x in (*arrays, *tables)]
            with tropical.options(kernel=kernel):
                for a, b, out, before, lookup in ((*arrays, *tables), laid):
                    _core.relax(a, b, "minplus", out, before, lookup)
            np.testing.assert_array_equal(laid[2], arrays[2])
            np.testing.assert_array_equal(laid[3], tables[0])


def test_no_steps_change_nothing_and_a_nan_stays_in_its_rows():
    out, before = np.ones((2, 3)), np.full((2, 3), 7, np.int32)
    _core.relax(np.zeros((2, 0)), np.zeros((0, 3)), "minplus", out, before, before[:0])
    assert (out == 1).all() and (before == 7).all()
    a = np.array([[np.nan, 0], [0, 0.5]])
    lookup = np.full((2, 3), 5, np.int32)
    lookup.flags.writeable = False
    _core.relax(a, np.zeros((2, 3)), "minplus", out, before, lookup)
    assert np.isnan(out[0]).all() and (out[1] == 0).all() and (before[1] == 5).all()


NARROW = [
    (ring, dtype)
    for ring in semirings.ALL
    if ring.selective and ring.multiply in ("+", "x")
    for dtype in ring.dtypes
    if np.dtype(dtype).kind in "iu"
]


@pytest.mark.parametrize("ring,dtype", NARROW, ids=lambda x: getattr(x, "name", x))
def test_relax_of_integers_that_saturate(ring, dtype, isa):
    """Results that a kernel finds void are in no matrix that is met again."""
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    low = 0 if ring.nonnegative else limits.min
    for m, k, n in [(1, 1, 1), (1, 2, 1), (2, 3, 1), (3, 9, 2), (4, 70, 3), (5, 4, 5), (1, 40, 40)]:
        for least, most in ((0, 9), (limits.max - 9, limits.max), (low, limits.max)):
            a, b, c = (
                np.where(
                    rng.random(shape) < 0.6,
                    rng.integers(least, most, shape, dtype, endpoint=True),
                    np.array(ring.zero(dtype), dtype),
                )
                for shape in ((m, k), (k, n), (m, n))
            )
            lookup = rng.integers(0, 99, (k, n)).astype(np.int32)
            before = rng.integers(100, 199, (m, n)).astype(np.int32)
            naive = {"kernel": "naive", "return_argmax": True}
            product, index = tropical.gemm(a, b, semiring=ring, **naive)
            wins = (ring.add_ufunc(product, c) != c) & (product != c)
            want = np.where(wins, np.take_along_axis(lookup, index, 0), before)
            found = c.copy()
            _core.relax(a, b, ring, found, before, lookup)
            np.testing.assert_array_equal(found, np.where(wins, product, c), f"{m, k, n, most}")
            np.testing.assert_array_equal(before, want, f"{m, k, n, most}")
