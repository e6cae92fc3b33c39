"""Products, stars and paths of Dask arrays, against those of the whole arrays."""

import itertools
import sys
from collections import Counter
from math import ceil

import graphs
import numpy as np
import pytest
from support import EXACT, assert_same_bits, check_refused, values

import tropical
from tropical import graph, semirings, ufunc
from tropical.extras import NotInstalledError
from tropical.interop.dask import closure, gemm, shortest_paths, suggest_chunks

dask = pytest.importorskip("dask", reason="dask is optional")
da = pytest.importorskip("dask.array", reason="dask is optional")
get_dependencies, key_split = dask.core.get_dependencies, dask.utils.key_split


def chunked(shape, dtype, chunks, seed=1, kind="edge"):
    x = values(shape, dtype, seed, kind)
    return x, da.from_array(x, chunks=chunks)


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_bits_are_those_of_gemm(semiring, dtype):
    a, lazy_a = chunked((23, 31), dtype, (7, 9), 1)
    b, lazy_b = chunked((31, 12), dtype, (10, 5), 2)
    got = gemm(lazy_a, lazy_b, semiring=semiring)
    want = tropical.gemm(a, b, semiring=semiring)
    assert (got.shape, got.dtype, got.chunks[1]) == (want.shape, want.dtype, (5, 5, 2))
    assert_same_bits(got.compute(), want)


@pytest.mark.parametrize(
    "left, right",
    [
        (((5,), 2), ((5,), 3)),
        (((5,), 2), ((5, 7), 3)),
        (((6, 5), 4), ((5,), 2)),
        (((4, 6, 5), (3, 4, 2)), ((5,), 2)),
        (((5,), 2), ((4, 5, 6), (3, 2, 4))),
        (((4, 6, 5), (3, 4, 2)), ((5, 7), 4)),
        (((4, 6, 5), (3, 4, 2)), ((4, 5, 7), (2, 5, 3))),
        (((2, 1, 6, 5), (1, 1, 4, 2)), ((4, 5, 7), (2, 5, 3))),
        (((6, 0), 4), ((0, 7), 3)),
        (((0, 6), 4), ((6, 7), 3)),
    ],
)
def test_vectors_batches_and_nothing(left, right):
    a, lazy_a = chunked(left[0], "float32", left[1], 1)
    b, lazy_b = chunked(right[0], "float32", right[1], 2)
    got = gemm(lazy_a, lazy_b, semiring="minplus")
    want = tropical.gemm(a, b, semiring="minplus")
    assert got.shape == want.shape
    assert_same_bits(got.compute(), want)


def test_mixed_operands():
    a, lazy = chunked((6, 5), "int16", 4)
    b = values((5, 3), "float32", 2)
    assert_same_bits(gemm(lazy, b).compute(), tropical.gemm(a, b))
    assert_same_bits(gemm(a.tolist(), lazy.T).compute(), tropical.gemm(a.tolist(), a.T))


def test_operands_of_other_libraries():
    pandas, x = pytest.importorskip("pandas"), np.abs(values((4, 4), "float32", 3))
    torch = pytest.importorskip("torch")
    for other in (pandas.DataFrame(x), torch.tensor(x)):
        got = gemm(other, da.from_array(x, chunks=3), semiring="minplus")
        assert_same_bits(got.compute(), tropical.gemm(x, x, semiring="minplus"))
        assert_same_bits(closure(other).compute(), graph.closure(x))
        assert_same_bits(shortest_paths(other).compute(), graph.closure(x))
    with pytest.raises(TypeError, match=r"b: expected an array, got .* that requires"):
        gemm(x, torch.tensor(x, requires_grad=True))


def test_sums_that_round():
    a, lazy_a = chunked((40, 300), "float64", 64, 1, "plain")
    b, lazy_b = chunked((300, 30), "float64", 64, 2, "plain")
    np.testing.assert_allclose(gemm(lazy_a, lazy_b, semiring="plustimes"), a @ b, rtol=1e-10)


def test_errors_come_before_the_computation():
    x = da.ones((4, 5), chunks=2)
    batch = r"batch axes that broadcast, got \(2, 1, 1\)"
    check_refused(
        gemm,
        (ValueError, r"got \(4, 5\) and \(4, 5\)", x, x),
        (ValueError, r"got \(\) and \(4, 5\)", da.asarray(1.0), x),
        (ValueError, batch, da.ones((2, 1, 1)), da.ones((3, 1, 1))),
        (TypeError, "uint8", x.astype("u1"), x.T.astype("u1")),
    )
    with pytest.raises(ValueError, match="abacus"):
        gemm(x, x.T, semiring="abacus")


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array", None)  # makes its import fail
    with pytest.raises(NotInstalledError, match="dask"):
        gemm([[1.0]], [[1.0]])


SELECTIVE = [
    (ring, dtype)
    for ring, dtype in EXACT
    if semirings.get(ring).selective and dtype in ("float32", "int16")
]


@pytest.mark.parametrize("kind", ["ties", "nan", "edge"])
@pytest.mark.parametrize("semiring,dtype", SELECTIVE)
def test_the_argmax_is_the_first_of_the_whole_k(semiring, dtype, kind):
    """With ties, NaN, rows of zeros, chunks of nothing, and more chunks than one run of sums."""
    a, b = values((9, 41), dtype, 1, kind), values((41, 7), dtype, 2, kind)
    a[3] = semirings.get(semiring).zero(dtype)
    inner = (3, 0, 4, 1, 1, 9, 5, 2, 6, 0, 10)
    lazy_a = da.from_array(a, chunks=((4, 5), inner))
    lazy_b = da.from_array(b, chunks=(inner, 3))
    got = gemm(lazy_a, lazy_b, semiring=semiring, return_argmax=True)
    want = tropical.gemm(a, b, semiring=semiring, return_argmax=True)
    for one, other in zip(got, want, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert_same_bits(one.compute(), other)
    assert_same_bits(gemm(lazy_a, lazy_b, semiring=semiring).compute(), want[0])


def test_the_argmax_of_nothing():
    values, index = gemm(da.ones((3, 0)), da.ones((0, 2)), return_argmax=True)
    assert_same_bits(values.compute(), np.full((3, 2), -np.inf))
    assert_same_bits(index.compute(), np.full((3, 2), -1))


def test_the_argmax_of_vectors_and_batches():
    a, lazy_a = chunked((4, 6, 5), "float32", (3, 4, 2), 1)
    b, lazy_b = chunked((5,), "float32", 2, 2)
    index = gemm(lazy_a, lazy_b, return_argmax=True)[1]
    assert_same_bits(index.compute(), tropical.gemm(a, b, return_argmax=True)[1])


@pytest.mark.parametrize("axis", range(3))
def test_an_empty_chunk_beside_a_length_of_one(axis):
    """As `compute_chunk_sizes` leaves it behind a mask."""
    shape = [2, 3, 5]
    shape[axis] = 1
    x, y = values(shape, "float32", 1), values((2, shape[2], 4), "float32", 2)
    chunks = [(0, 1) if length == 1 else (length,) for length in shape]
    got = gemm(da.from_array(x, chunks=chunks), da.from_array(y))
    want = tropical.gemm(x, y)
    assert got.shape == want.shape
    assert_same_bits(got.compute(), want)


def test_unknown_chunks():
    a, lazy = chunked((8, 6), "float32", 4)
    rows = lazy[lazy[:, 0] > 0]
    assert_same_bits(gemm(rows, lazy.T).compute(), tropical.gemm(a[a[:, 0] > 0], a.T))
    check_refused(
        gemm,
        (ValueError, r"a: expected known chunk sizes along k, got \(nan, nan\)", rows.T, lazy),
        (ValueError, r"b: expected known chunk sizes along k", lazy.T, rows),
    )
    with pytest.raises(
        ValueError,
        match=r"(?s)a: expected known chunk sizes, got shape .*; call a\.compute_chunk_sizes",
    ):
        closure(rows)


def names(array, **options):
    """How many tasks of each name run after Dask's optimizations."""
    (optimized,) = dask.optimize(array, **options)
    return Counter(key_split(key) for key in dict(optimized.dask))


def test_names_culls_and_meta():
    x = da.from_array(values((12, 12), "float32"), chunks=3)
    product = gemm(x, x, semiring="minplus")
    assert type(product._meta) is np.ndarray and product._meta.dtype == np.float32
    assert set(names(product)) >= {"tropical-gemm-minplus", "tropical-sum-minplus"}
    assert names(product)["tropical-gemm-minplus"] == 64
    assert names(product[:3, :3])["tropical-gemm-minplus"] <= 4
    star = closure(x + 200, "minplus")
    assert set(names(star)) >= {f"tropical-{kind}-minplus" for kind in ("row", "star", "update")}
    assert names(star[:3, :3]).total() < names(star).total()
    assert product.name == gemm(x, x, semiring="minplus").name != gemm(x, x).name


class OnDisk:
    """What h5py and Zarr offer: an array that is not in memory."""

    def __init__(self, x):
        self.x, self.shape, self.dtype, self.ndim = x, x.shape, x.dtype, x.ndim

    def __getitem__(self, part):
        return self.x[part]


def read(x, chunks, inline=True):
    """An array whose chunks are read by each task that takes them."""
    return da.from_array(OnDisk(x), chunks, inline_array=inline)


@pytest.mark.parametrize("semiring,dtype", [*EXACT, ("plustimes", "float32")])
def test_a_task_that_reads_its_operands_takes_a_run_of_products(semiring, dtype):
    """19 chunks along k are runs of 8, 8 and 3; the last axes have chunks of other sizes."""
    rounds = (semiring, dtype) == ("plustimes", "float32")
    kind = "plain" if rounds else "edge"
    a, b = values((9, 39), dtype, 1, kind), values((39, 17), dtype, 2, kind)
    inner = (2,) * 18 + (3,)
    x, y = read(a, ((4, 5), inner)), read(b, (inner, (1,) * 17), inline=False)
    product = gemm(x, y, semiring=semiring)
    want = tropical.gemm(a, b, semiring=semiring)
    if rounds:
        np.testing.assert_allclose(product.compute(), want, rtol=1e-4, atol=1e-4)
    else:
        assert_same_bits(product.compute(), want)
    tasks = names(product)
    assert tasks[f"tropical-gemm-{semiring}"] == 2 * 17 * 3
    if semirings.get(semiring).selective:
        got = gemm(x, y, semiring=semiring, return_argmax=True)
        want = tropical.gemm(a, b, semiring=semiring, return_argmax=True)
        for one, other in zip(dask.compute(*got), want, strict=True):
            assert_same_bits(one, other)


def test_an_array_times_itself_is_read_within_the_tasks():
    """In both roles, also transposed, but not where its chunks have to be cut anew."""
    a = values((24, 24), "float32")
    x, want = read(a, 3), tropical.gemm(a, a, semiring="minplus")
    square = gemm(x, x, semiring="minplus")
    assert set(names(square)) == {
        "tropical-gemm-minplus-tropical-product-minplus",
        "tropical-product-minplus",
    }
    assert_same_bits(square.compute(), want)
    turned = gemm(x.T, x + 1, semiring="minplus")
    assert_same_bits(turned.compute(), tropical.gemm(a.T, a + 1, semiring="minplus"))
    cut = gemm(x, x.rechunk(((24,), (3,) * 8)), semiring="minplus")
    assert_same_bits(cut.compute(), want)
    assert names(cut)["tropical-gemm-minplus"] == 8 * 8 * 8
    both = dask.compute(square + x, cut)  # nor do keys of the two collide
    assert_same_bits(both[0], want + a)
    assert_same_bits(both[1], want)


def test_a_task_takes_one_product_of_chunks_that_others_compute():
    """Else a task would need 16 chunks before it could start."""
    a = values((12, 12), "float32")
    x = read(a, 1).persist(scheduler="synchronous")
    product = gemm(x, x, semiring="minplus")
    assert names(product)["tropical-gemm-minplus"] == 12**3
    assert_same_bits(product.compute(), tropical.gemm(a, a, semiring="minplus"))
    few = gemm(read(a, 3), read(a, 3), semiring="minplus")
    assert names(few)["tropical-gemm-minplus"] == 4**3


OF_ONE_ARRAY = {
    "gemm": lambda x: gemm(x, x),
    "argmax": lambda x: gemm(x, x, return_argmax=True),
    "closure": closure,
    "shortest_paths": shortest_paths,
    "undirected": lambda x: shortest_paths(x, directed=False),
}


@pytest.mark.parametrize("function", OF_ONE_ARRAY.values(), ids=OF_ONE_ARRAY)
def test_arrays_computed_at_once_stay_apart(function):
    """No task of one array has the name of another array's task."""
    x = da.from_array(values((12, 12), "float32") ** 2 + 1, chunks=5)
    lazy = function(x), function(x + 3)
    apart = [dask.compute(one)[0] for one in lazy]
    together = dask.compute(*lazy)
    for one, other in zip(apart, together, strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(*together)


def test_no_task_takes_more_than_two_chunks():
    """12 chunks a side: also, no warning says that there are more products than chunks."""
    x = da.from_array(values((12, 12), "float32"), chunks=1)
    tasks = dict(gemm(x, x).dask)
    assert max(len(get_dependencies(tasks, key)) for key in tasks) == 2
    tasks = dict(closure(x).dask)
    assert max(len(get_dependencies(tasks, key)) for key in tasks) == 3


STARS = [
    (ring.name, dtype)
    for ring in semirings.ALL
    if ring.idempotent and ring.exact
    for dtype in ring.dtypes
    if dtype in ("float32", "int32", "bool")
]


@pytest.mark.parametrize("semiring,dtype", STARS)
@pytest.mark.parametrize("chunks", [7, (3, 11), ((1, 20, 4), (1, 20, 4)), 25])
def test_stars(semiring, dtype, chunks):
    a = graphs.random_graphs(semirings.get(semiring), dtype, 25, 3, degree=8)
    got = closure(da.from_array(a, chunks=chunks), semiring)
    want = graph.closure(a, semiring)
    assert (got.dtype, got.chunks[0]) == (want.dtype, got.chunks[1])
    assert_same_bits(got.compute(), want)


def test_stars_of_batches_of_nothing_and_of_foreign_bytes():
    a = graphs.random_graphs(semirings.minplus, "float64", 25, 3, (5,), degree=8)
    lazy = da.from_array(a.astype(">f8"), chunks=(2, 9, 10))
    assert_same_bits(closure(lazy).persist().compute(), graph.closure(a))
    assert closure(da.zeros((0, 0))).compute().shape == (0, 0)
    for rows, columns in itertools.product(((0,), (0, 0), (0, 0, 0)), repeat=2):
        for function, batch in itertools.product((closure, shortest_paths), ((), ((1, 2),))):
            nothing = da.zeros((3, 0, 0)[-2 - len(batch) :], chunks=(*batch, rows, columns))
            assert function(nothing).compute().shape == nothing.shape
    assert closure(da.zeros((9, 100), chunks=(9, 4))[:, :9]).chunks == ((6, 3), (6, 3))


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
@pytest.mark.parametrize("options", [{}, {"directed": False}, {"unweighted": True}])
def test_shortest_paths(dtype, options):
    w = graphs.random_graphs(semirings.minplus, "float32", 30, 3, degree=10)
    w = np.isfinite(w) if dtype == "bool" else w
    if dtype == "int16":
        w = np.where(np.isinf(w), np.iinfo("i2").max, w).astype("i2")
    got = shortest_paths(da.from_array(w, chunks=(8, 7)), **options)
    want = graph.shortest_paths(w, "FW", **options)
    assert got.dtype == want.dtype
    assert_same_bits(got.compute(), want)


def test_negative_weights():
    w = graphs.random_graphs(semirings.minplus, "float64", 30, 3, degree=10)
    height = np.arange(30.0) ** 2 % 17
    w += height[:, None] - height
    lazy = da.from_array(w, chunks=8)
    assert_same_bits(shortest_paths(lazy).compute(), graph.shortest_paths(w, "FW"))
    w[3, 20], w[20, 3] = 1, -2
    with pytest.raises(graph.DivergenceError, match="w: has a cycle of negative weight"):
        shortest_paths(da.from_array(w, chunks=8)).compute()
    with pytest.raises(graph.DivergenceError, match="no minplus star"):
        closure(da.from_array(w, chunks=8)).compute()


def test_stars_refuse():
    x = da.ones((6, 6), chunks=4)
    check_refused(
        closure,
        (ValueError, r"a: expected \(..., n, n\), got \(6, 5\)", x[:, :5]),
        (ValueError, "plustimes", x, "plustimes"),
        (ValueError, "abacus", x, "abacus"),
        (TypeError, "complex", x.astype("c16")),
        (TypeError, "masked", da.ma.masked_equal(x, 2)),
    )
    check_refused(
        shortest_paths,
        (ValueError, r"w: expected \(..., n, n\), got \(6,\)", x[0]),
        (ValueError, r"w: expected \(..., n, n\), got \(\)", x[0, 0]),
    )


@pytest.mark.parametrize(
    "function, semiring, wrong, message",
    [
        (closure, "minplus", np.nan, "a: expected numbers, got a NaN"),
        (closure, "maxtimes", -1.0, "a: expected numbers of 0 or more"),
        (shortest_paths, None, np.nan, "w: expected numbers, got a NaN"),
        (shortest_paths, None, -np.inf, "w: expected weights of minplus"),
    ],
)
def test_every_chunk_is_checked(function, semiring, wrong, message):
    a = np.ones((9, 9))
    a[1, 8] = wrong
    lazy = function(da.from_array(a, chunks=3), *filter(None, [semiring]))
    with pytest.raises(ValueError, match=message):
        lazy.compute()


@pytest.mark.parametrize("n", [0, 1, 5, 1000, 33_333])
@pytest.mark.parametrize("workers", [1, 3, 64])
def test_suggested_chunks(n, workers):
    size = suggest_chunks(n, "float64", memory="100 MB", workers=workers)
    assert 1 <= size <= max(n, 1)
    assert size**2 * 8 * 16 <= 100e6
    assert ceil(n / size) ** 2 >= min(4 * workers, n) or n == 0


def test_suggested_chunks_refuse():
    check_refused(
        suggest_chunks,
        (ValueError, "n: expected 0 or more, got -1", -1),
        (TypeError, "abacus", 5, "abacus"),
    )
    with pytest.raises(ValueError, match=r"workers: .* got 0"):
        suggest_chunks(5, workers=0)
    with pytest.raises(ValueError, match=r"memory: .* got 9"):
        suggest_chunks(5, memory=9)


def test_ufuncs_by_apply_gufunc():
    """Dask knows no optional dimensions; told of two, it applies a ufunc over whole core axes."""
    a, lazy_a = chunked((8, 6, 5), "float32", (3, 6, 5), 1)
    b, lazy_b = chunked((8, 5, 4), "float32", (3, 5, 4), 2)
    got = da.apply_gufunc(ufunc.maxplus, "(n,k),(k,m)->(n,m)", lazy_a, lazy_b)
    assert_same_bits(got.compute(), tropical.gemm(a, b))
    with pytest.raises(ValueError, match="signature"):
        ufunc.maxplus(lazy_a, lazy_b)
