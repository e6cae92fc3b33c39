"""Kleene stars, against Floyd and Warshall's loops in NumPy."""

import numpy as np
import pytest

import tropical
from tropical import _core, semirings
from tropical.graph import DivergenceError, closure

IDEMPOTENT = [ring for ring in semirings.ALL if ring.exact]


def graphs(ring, dtype, n, seed, batch=(), degree=4):
    """Random graphs without cycles that improve; their numbers are whole, so sums are exact."""
    rng = np.random.default_rng((seed, n))
    there = rng.random((*batch, n, n)) < degree / max(n, 1)
    if ring.name == "orand":
        return there
    low, high = {"maxplus": (-9, 0), "minplus": (0, 9), "maxtimes": (0, 1)}.get(ring.name, (-9, 9))
    weights = rng.integers(low, high, (*batch, n, n), endpoint=True).astype(dtype)
    return np.where(there, weights, ring.zero(dtype)).astype(dtype)


def loops(a, ring):
    """Floyd and Warshall's, a product of a column and a row at a time."""
    star = a.copy()
    n = a.shape[-1]
    i = np.arange(n)
    plus = {"max": np.maximum, "min": np.minimum, "or": np.logical_or}[ring.add]
    star[..., i, i] = plus(star[..., i, i], ring.one(a.dtype))
    for k in range(n):
        column, row = star[..., :, k, None], star[..., None, k, :]
        if ring.multiply == "+":
            zero = ring.zero(a.dtype)
            none = (column == zero) | (row == zero)
            wide = np.float64 if a.dtype.kind == "f" else np.int64
            product = np.where(none, 0, column).astype(wide) + np.where(none, 0, row).astype(wide)
            if a.dtype.kind == "i":
                product = np.clip(product, np.iinfo(a.dtype).min, np.iinfo(a.dtype).max)
            product = np.where(none, a.dtype.type(zero), product.astype(a.dtype))
        elif ring.multiply == "x":
            product = column * row
        else:
            times = {"max": np.maximum, "min": np.minimum, "and": np.logical_and}[ring.multiply]
            product = times(column, row)
        star = plus(star, product)
    return star


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 16, 33, 63, 64, 65, 100, 128, 200, 257])
@pytest.mark.parametrize("ring", IDEMPOTENT, ids=lambda ring: ring.name)
def test_closure(ring, n):
    for dtype in ring.dtypes:
        for degree in (1.2, 4, n):
            a = graphs(ring, dtype, n, 0, degree=degree)
            found = closure(a, ring)
            assert found.dtype == a.dtype
            np.testing.assert_array_equal(found, loops(a, ring), err_msg=f"{dtype} {degree}")


@pytest.mark.parametrize("n", [5, 64, 90])
def test_batches(n):
    for ring in IDEMPOTENT:
        a = graphs(ring, ring.dtypes[0], n, 1, (2, 3))
        np.testing.assert_array_equal(closure(a, ring), loops(a, ring))
    many = graphs(semirings.minplus, "float32", 6, 2, (5000,))
    np.testing.assert_array_equal(closure(many), loops(many, semirings.minplus))


@pytest.mark.parametrize("n", [8, 64, 150])
@pytest.mark.parametrize("layout", ["c", "fortran", "strided", "reversed", "batch inside"])
def test_in_place_in_any_layout(layout, n):
    ring = semirings.minplus
    a = graphs(ring, "float64", n, 3, (2,))
    want = loops(a, ring)
    room = {
        "c": lambda: np.empty((2, n, n)),
        "fortran": lambda: np.empty((n, n, 2), order="C").T,
        "strided": lambda: np.empty((2, 2 * n, 3 * n))[:, ::2, ::3],
        "reversed": lambda: np.empty((2, n, n))[:, ::-1, ::-1],
        "batch inside": lambda: np.moveaxis(np.empty((n, n, 2)), -1, 0),
    }[layout]()
    room[...] = a
    assert closure(room, ring, overwrite=True) is room
    np.testing.assert_array_equal(room, want)
    again = a.copy()
    closure(a, ring)
    np.testing.assert_array_equal(a, again)


def test_what_is_big_saturates():
    a = np.full((3, 3), 127, np.int8)
    a[0, 1] = a[1, 2] = 100
    np.testing.assert_array_equal(closure(a), [[0, 100, 127], [127, 0, 100], [127, 127, 0]])


@pytest.mark.parametrize("n", [3, 64, 130])
def test_cycles_that_improve(n):
    for name, sign in (("minplus", -1), ("maxplus", 1)):
        ring = semirings.get(name)
        for dtype in ("float64", "int32"):
            a = np.full((n, n), ring.zero(dtype), dtype)
            i = np.arange(n)
            a[i, (i + 1) % n] = 0
            closure(a, ring)  # a cycle of nothing is none
            a[n - 1, 0] = sign
            before = a.copy()
            with pytest.raises(DivergenceError, match=f"no {name} star"):
                closure(a, ring)
            np.testing.assert_array_equal(a, before)
    with pytest.raises(DivergenceError):
        closure(np.array([[1.5]]), "maxtimes")
    assert closure(np.array([[1e300]]), "maxmin") == np.inf


def test_refuses():
    with pytest.raises(ValueError, match=r"a: has shape \(2, 3\)"):
        closure(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="a: holds a NaN"):
        closure([[np.nan]])
    with pytest.raises(ValueError, match="maxtimes are not negative, got -1"):
        closure([[-1.0]], "maxtimes")
    for ring in ("plustimes", "logplus"):
        with pytest.raises(ValueError, match=f"{ring} is not idempotent"):
            closure([[1.0]], ring)
    with pytest.raises(TypeError, match="complex128"):
        closure([[1j]])
    for overwrite in (False, True):
        with pytest.raises(TypeError, match="a is a masked array"):
            closure(np.ma.masked_array(np.zeros((2, 2)), np.eye(2)), overwrite=overwrite)
    with pytest.raises(TypeError, match="overwrite: a must be an array, got list"):
        closure([[1.0]], overwrite=True)
    frozen = np.zeros((2, 2))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        closure(frozen, overwrite=True)
    closure(frozen)


def test_bytes_in_the_other_order():
    a = np.array([[9.0, 2.0], [3.0, 1.0]])
    other = a.astype(a.dtype.newbyteorder())
    np.testing.assert_array_equal(closure(other), closure(a))
    with pytest.raises(TypeError, match="dtype"):
        closure(other, overwrite=True)


def test_progress_and_interruption():
    a = graphs(semirings.minplus, "float32", 300, 4)
    shares = []
    closure(a, progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1 and len(shares) > 3

    def interrupt(share):
        raise KeyboardInterrupt

    before = a.copy()
    with pytest.raises(KeyboardInterrupt):
        closure(a, progress=interrupt)
    np.testing.assert_array_equal(a, before)
    with pytest.raises(KeyboardInterrupt):
        closure(a, overwrite=True, progress=interrupt)
    np.testing.assert_array_equal(closure(a), loops(before, semirings.minplus))


def test_threads_give_the_same_bits():
    a = graphs(semirings.maxplus, "float32", 333, 5) * np.float32(0.1)
    want = closure(a, "maxplus")
    for threads in (1, 2, 5):
        with tropical.options(threads=threads):
            np.testing.assert_array_equal(closure(a, "maxplus"), want)


def test_star_of_small_matrices_says_what_it_takes():
    for wrong in (np.zeros((65, 65)), np.zeros(3), np.zeros((2, 3))):
        with pytest.raises(ValueError, match="n at most 64"):
            _core.star(wrong, "minplus")
