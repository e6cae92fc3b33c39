"""Kleene stars, against Floyd and Warshall's loops in NumPy."""

import graphs
import numpy as np
import pytest
from layouts import read_only
from support import check_refused

import tropical
from tropical import _core, semirings
from tropical.graph import DivergenceError, closure, matrix_power

IDEMPOTENT = [ring for ring in semirings.ALL if ring.exact]


def loops(a, ring):
    """Floyd and Warshall's, a product of a column and a row at a time."""
    star = a.copy()
    n = a.shape[-1]
    i = np.arange(n)
    star[..., i, i] = ring.add_ufunc(star[..., i, i], ring.one(a.dtype))
    for k in range(n):
        column, row = star[..., :, k, None], star[..., None, k, :]
        if ring.multiply in ("+", "x"):
            zero = ring.zero(a.dtype)
            none = (column == zero) | (row == zero)
            wide = np.float64 if a.dtype.kind == "f" else np.int64
            numbers = (np.where(none, 0, side).astype(wide) for side in (column, row))
            product = ring.multiply_ufunc(*numbers)
            if a.dtype.kind != "f":
                product = np.clip(product, np.iinfo(a.dtype).min, np.iinfo(a.dtype).max)
            product = np.where(none, a.dtype.type(zero), product.astype(a.dtype))
        else:
            product = ring.multiply_ufunc(column, row)
        star = ring.add_ufunc(star, product)
    return star


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 16, 33, 63, 64, 65, 100, 128, 200, 257])
@pytest.mark.parametrize("ring", IDEMPOTENT, ids=lambda ring: ring.name)
def test_closure(ring, n):
    degrees = (1.2, 4, n)
    for place, dtype in enumerate(ring.dtypes):
        # The loops take seconds: of large graphs one for each dtype.
        for degree in degrees if n <= 65 else degrees[place % 3 : place % 3 + 1]:
            a = graphs.random_graphs(ring, dtype, n, 0, degree=degree)
            found = closure(a, ring)
            assert found.dtype == a.dtype
            np.testing.assert_array_equal(found, loops(a, ring), err_msg=f"{dtype} {degree}")


@pytest.mark.parametrize("n", [513, 700, pytest.param(2049, marks=pytest.mark.slow)])
def test_large_matrices(n):
    """Few vertices are on paths, so the loops need few steps."""
    few = np.random.default_rng(n).permutation(n)[:40]
    place = (..., few[:, None], few)
    i = np.arange(n)
    batch = (2,) if n < 1000 else ()
    for ring, dtype in ((semirings.minplus, "float32"), (semirings.maxmin, "int16")):
        a = np.full((*batch, n, n), ring.zero(dtype), dtype)
        a[place] = graphs.random_graphs(ring, dtype, 40, 6, batch)
        want = a.copy()
        want[..., i, i] = ring.one(dtype)
        want[place] = loops(a[place], ring)
        np.testing.assert_array_equal(closure(a, ring), want)
        turned = a.T.copy().T
        np.testing.assert_array_equal(closure(turned, ring, overwrite=True), want)


@pytest.mark.parametrize("n", [5, 64, 90])
def test_batches(n):
    for ring in IDEMPOTENT:
        a = graphs.random_graphs(ring, ring.dtypes[0], n, 1, (2, 3))
        np.testing.assert_array_equal(closure(a, ring), loops(a, ring))
    many = graphs.random_graphs(semirings.minplus, "float32", 6, 2, (5000,))
    np.testing.assert_array_equal(closure(many), loops(many, semirings.minplus))


@pytest.mark.parametrize("n", [8, 64, 150])
@pytest.mark.parametrize("layout", ["c", "fortran", "strided", "reversed", "batch inside"])
def test_in_place_in_any_layout(layout, n):
    ring = semirings.minplus
    a = graphs.random_graphs(ring, "float64", n, 3, (2,))
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


@pytest.mark.parametrize(
    "n, batch", [(0, ()), (1, (2,)), (65, (3,)), (513, ()), (700, (2,)), (1100, ())]
)
@pytest.mark.parametrize("ring", IDEMPOTENT, ids=lambda ring: ring.name)
def test_symmetric(ring, n, batch):
    dtypes = (*ring.dtypes, *(d for d in ring.stored if d == "float16"))
    for dtype in dtypes if n < 600 else dtypes[n // 400 % 2 :: 2]:  # 700 and 1100 share them
        computed = "float32" if dtype in ring.stored else dtype
        a = graphs.random_graphs(ring, computed, n, 5, batch, degree=2).astype(dtype)
        a = ring.add_ufunc(a, a.swapaxes(-1, -2))
        want = closure(a, ring)
        found = closure(a, ring, symmetric=True)
        np.testing.assert_array_equal(found, want, err_msg=dtype)
        assert found.dtype == a.dtype
        columns = np.asfortranarray(a) if a.ndim == 2 else a
        assert closure(columns, ring, symmetric=True, overwrite=True) is columns
        np.testing.assert_array_equal(columns, want, err_msg=dtype)


@pytest.mark.slow
def test_symmetric_where_sums_round():
    rng = np.random.default_rng(3)
    for dtype, n in (("float32", 300), ("float64", 1100)):
        a = rng.random((n, n)).astype(dtype) ** 8
        a = np.minimum(a, a.T)
        shares = []
        found = closure(a, symmetric=True, progress=shares.append)
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_allclose(found, closure(a), rtol=32 * np.finfo(dtype).eps)
        assert shares == sorted(shares) and shares[-1] == 1
        # The paths of undirected graphs are found so.
        one_way = np.where(np.tri(n, dtype=bool), np.inf, a)
        undirected = tropical.graph.shortest_paths(one_way, directed=False, method="FW")
        np.testing.assert_array_equal(undirected, found)


def test_symmetric_refuses():
    a = np.zeros((2, 600, 600))
    a[1, 599, 3] = 7
    message = r"a: .*symmetric matrix, got 0.0 at row 3, column 599, and 7.0 at row 599, column 3"
    with pytest.raises(ValueError, match=message):
        closure(a, symmetric=True, overwrite=True)
    assert a.sum() == 7
    edge = np.full((600, 600), np.inf)
    edge[3, 599] = edge[599, 3] = -1
    with pytest.raises(DivergenceError, match="no minplus star"):
        closure(edge, symmetric=True)


@pytest.mark.parametrize("n", [3, 64, 130, 600])
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


@pytest.mark.parametrize("ring", semirings.ALL, ids=lambda ring: ring.name)
def test_sparse_arrays_and_graphs_of_networkx(ring):
    sparse = pytest.importorskip("scipy.sparse")
    nx = pytest.importorskip("networkx")
    ends, weights = ([0, 1, 3, 3], [1, 2, 0, 4]), [0.5, 0.0, 0.25, 1.0]  # a stored 0 is an edge
    dense = np.full((5, 5), ring.zero(ring.dtypes[0]), ring.dtypes[0])
    dense[ends] = True if ring.name == "orand" else weights
    named = nx.DiGraph()
    named.add_nodes_from("abcde")
    named.add_weighted_edges_from(
        ("abcde"[i], "abcde"[j], w) for i, j, w in zip(*ends, weights, strict=True)
    )
    coo = sparse.coo_array((np.array(weights, np.float32), ends), shape=(5, 5))
    functions = [lambda a: matrix_power(a, 2, ring)]
    if ring.name not in ("plustimes", "logplus"):
        functions.append(lambda a: closure(a, ring))
    for function in functions:
        want = function(dense)
        for graph in (coo, coo.tocsr(), sparse.csc_matrix(coo), named):
            np.testing.assert_array_equal(function(graph), want)
        assert function(coo).dtype == want.dtype
    wrong = sparse.csr_array((2, 3), dtype=np.float64)
    with pytest.raises(ValueError, match=r"a: expected \(n, n\), got \(2, 3\)"):
        matrix_power(wrong, 2, ring)
    with pytest.raises(TypeError, match="overwrite: a must be an array, got csr_array"):
        closure(coo.tocsr(), overwrite=True)


def test_refuses():
    negative = "a: expected numbers of 0 or more for maxtimes, got -1"
    check_refused(
        closure,
        (ValueError, r"a: expected \(..., n, n\), got \(2, 3\)", np.zeros((2, 3))),
        (ValueError, "a: expected numbers, got a NaN", [[np.nan]]),
        (ValueError, negative, [[-1.0]], "maxtimes"),
        (ValueError, "expected an idempotent one, got plustimes", [[1.0]], "plustimes"),
        (ValueError, "expected an idempotent one, got logplus", [[1.0]], "logplus"),
        (TypeError, "complex128", [[1j]]),
        (TypeError, "dtype <U1 is not supported over minplus", [["a"]]),
        (TypeError, "dtype object is not supported", np.array([[1, None], [2, 3]], object)),
    )
    for overwrite in (False, True):
        with pytest.raises(TypeError, match="a is a masked array"):
            closure(np.ma.masked_array(np.zeros((2, 2)), np.eye(2)), overwrite=overwrite)
    with pytest.raises(TypeError, match="overwrite: a must be an array, got list"):
        closure([[1.0]], overwrite=True)
    frozen = read_only(np.zeros((2, 2)))
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
    a = graphs.random_graphs(semirings.minplus, "float32", 520, 4)
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
    a = graphs.random_graphs(semirings.maxplus, "float32", 333, 5) * np.float32(0.1)
    want = closure(a, "maxplus")
    for threads in (1, 2, 5):
        with tropical.options(threads=threads):
            np.testing.assert_array_equal(closure(a, "maxplus"), want)


def test_star_of_small_matrices_says_what_it_takes():
    for wrong in (np.zeros((513, 513)), np.zeros(3), np.zeros((2, 3))):
        with pytest.raises(ValueError, match=r"a: expected shape \(.*n\) with n <= 512"):
            _core.star(wrong, "minplus")
