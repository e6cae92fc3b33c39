"""return_argmax: the first p whose product attains C, under every rule and for every kernel."""

import functools
import itertools

import numpy as np
import oracle
import pytest
from layouts import LAYOUTS
from support import (
    KERNELS,
    SELECTIVE,
    THREADS,
    assert_all_same_bits,
    assert_same_bits,
    operands,
    ran,
    remainders,
    values,
)

import tropical

SHAPES = [
    (1, 1, 1),
    (40, 9, 3),
    (9, 40, 2),
    (5, 1, 9),
    (1, 37, 64),
    (7, 70, 65),
    (35, 18, 129),
    (20, 66, 300),
]
KINDS = ("plain", "ties", "edge", "nan", "zeros")


@functools.cache
def sample(m, n, k, semiring, dtype, kind):
    """(a, b, (C, index)) by the oracle."""
    a, b = operands(m, n, k, semiring, dtype, kind)
    return a, b, (oracle.gemm(a, b, semiring), oracle.argmax(a, b, semiring))


def check(a, b, semiring, want=None, **how):
    """tropical.gemm(..., return_argmax=True) has the bits of the oracle's C and index."""
    c, index = want or (oracle.gemm(a, b, semiring), oracle.argmax(a, b, semiring))
    got = tropical.gemm(a, b, semiring=semiring, return_argmax=True, **how)
    assert isinstance(got, tuple) and len(got) == 2
    note = semiring, a.shape, b.shape, how
    assert_same_bits(got[0], c, *note)
    assert_same_bits(got[1], index, "index", *note)
    ran["kernel", how.get("kernel") or "chosen"] += 1
    ran["threads", str(how.get("threads") or "default")] += 1
    return got


@pytest.mark.parametrize("semiring,dtype", SELECTIVE)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_first_index(isa, semiring, dtype, kernel):
    for (m, n, k), kind in itertools.product(SHAPES, KINDS):
        a, b, want = sample(m, n, k, semiring, dtype, kind)
        check(a, b, semiring, want, kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", SELECTIVE)
@pytest.mark.parametrize("m,n,k", [(1, 300, 127), (2, 75, 300), (4, 9, 2100), (1, 1, 5000)])
def test_few_rows(isa, semiring, dtype, m, n, k):
    """By rows of b, as long as steps fit into an element's bytes, or by its columns."""
    for kind in ("ties", "edge", "nan", "zeros"):
        a, b, want = sample(m, n, k, semiring, dtype, kind)
        check(a, b, semiring, want)
        check(a, np.asfortranarray(b), semiring, want)
        check(b.T, a.T, semiring, [x.T for x in want])
        for layout in LAYOUTS:
            check(layout(a), layout(b), semiring, want)
    windows = np.lib.stride_tricks.sliding_window_view(b.ravel()[: n + k - 1], n)
    check(a, windows[:k], semiring)


@pytest.mark.parametrize("semiring,dtype", SELECTIVE)
def test_remainders(isa, semiring, dtype):
    rows, cols, shapes = remainders(semiring, dtype, return_argmax=True)
    a, b = operands(rows, cols, 7, semiring, dtype, "ties")
    c, index = oracle.gemm(a, b, semiring), oracle.argmax(a, b, semiring)
    for (m, n), kernel in itertools.product(shapes, ("direct", "packed")):
        check(a[:m], b[:, :n], semiring, (c[:m, :n], index[:m, :n]), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", SELECTIVE)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_the_optimum_at_each_depth(isa, semiring, dtype, kernel):
    """Around every checkpoint and block of k: the best product alone, then attained twice."""
    s = oracle.SEMIRINGS[semiring]
    kc = tropical.explain(8, 33, 5000, dtype=dtype, semiring=semiring, kernel="packed").kc
    m, n, k = 3, 35, 2 * kc + 70
    depths = {0, 1, 63, 64, 126, 127, 128, 254, 255, 256, k - 2, k - 1}
    depths |= {kc - 1, kc, kc + 1, 2 * kc - 1, 2 * kc}
    for p, second in itertools.product(sorted(depths), (None, 1, 64, kc)):
        if second is None or p + second < k:
            a, b = np.full((m, k), s.zero(dtype)), np.full((k, n), s.zero(dtype))
            for q in (p, *(() if second is None else (p + second,))):
                a[:, q], b[q] = s.one(dtype), s.one(dtype)
            c = np.full((m, n), s.multiply(s.one(dtype), s.one(dtype)))
            check(a, b, semiring, (c, np.full((m, n), p)), kernel=kernel)


@pytest.mark.parametrize("dtype", ["float64", "int8"])
@pytest.mark.parametrize("kind", ["ties", "edge", "nan", "zeros"])
def test_a_large_c_by_few_rows(isa, dtype, kind):
    """Where a strip of C leaves the cache, direct computes a few rows after the other."""
    m, n, k = 67, 1 << 16, 2
    plan = tropical.explain(m, n, k, dtype=dtype, return_argmax=True, threads=1)
    assert plan.kernel == "direct" and plan.mc < m
    a, b, want = sample(m, n, k, "maxplus", dtype, kind)
    check(a, b, "maxplus", want, threads=1)
    assert_same_bits(tropical.gemm(a, b, threads=1), want[0])


@pytest.mark.parametrize("semiring,dtype", SELECTIVE)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_all_products_zero(isa, semiring, dtype, kernel):
    """The index is 0; and -1 where there are no products at all."""
    zero = oracle.SEMIRINGS[semiring].zero(dtype)
    a, b = np.full((9, 70), zero), np.full((70, 35), zero)
    want = np.full((9, 35), zero)
    check(a, b, semiring, (want, np.zeros((9, 35), np.intp)), kernel=kernel)
    check(a[:, :0], b[:0], semiring, (want, np.full((9, 35), -1, np.intp)), kernel=kernel)
    a[::2, ::2] = values((5, 35), dtype, 1, "bound")
    a[1::2, 1::2] = values((4, 35), dtype, 2, "bound")
    check(a, b, semiring, (want, np.zeros((9, 35), np.intp)), kernel=kernel)
    check(b.T, a.T, semiring, (want.T, np.zeros((35, 9), np.intp)), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", SELECTIVE)
def test_threads(isa, semiring, dtype):
    """Over rows, over columns, and over k where C is a single tile."""
    shapes = [(90, 130, 70), (1, 700, 200), (700, 1, 200), (3, 2, 200003)]
    assert tropical.explain(*shapes[-1], threads=2, return_argmax=True).threads == 2
    for shape in shapes:
        a, b, want = sample(*shape, semiring, dtype, "plain" if shape == shapes[-1] else "ties")
        for kernel, threads in itertools.product((None, *KERNELS), THREADS):
            check(a, b, semiring, want, kernel=kernel, threads=threads)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kernel", KERNELS)
def test_layouts(isa, layout, kernel):
    a, b, want = sample(21, 40, 130, "minplus", "float32", "ties")
    got, _ = check(layout(a), layout(b), "minplus", want, kernel=kernel)
    assert got.dtype == np.float32


@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_batches_vectors_and_empties(isa, kernel):
    a, b = values((5, 1, 7, 66), "int16", 1, "ties"), values((4, 66, 9), "int16", 2, "ties")
    want = oracle.gemm(a, b, "maxplus"), oracle.argmax(a, b, "maxplus")
    check(a, b, "maxplus", want, kernel=kernel)
    check(a, b, "maxplus", want, kernel=kernel, threads=3)
    for x, y, at in [(a[0, 0, 0], b[0], (0, 0, 0)), (a[0, 0], b[0][:, 1], (0, 0, np.s_[:], 1))]:
        check(x, y, "maxplus", (want[0][at], want[1][at]), kernel=kernel)
    check(a[:0], b, "maxplus", (want[0][:0], want[1][:0]), kernel=kernel)
    check(a[..., :0, :], b, "maxplus", (want[0][..., :0, :], want[1][..., :0, :]), kernel=kernel)


@pytest.mark.parametrize("shape", [(30, 20, 10), (30, 1, 10), (1, 40, 0)], ids=str)
def test_an_array_for_the_index(isa, shape):
    m, n, k = shape
    a, b = operands(m, n, k, "minplus", "float64", "ties")
    want = tropical.gemm(a, b, semiring="minplus", return_argmax=True)
    for order, given in itertools.product("CF", itertools.product((True, False), repeat=2)):
        room = np.full((m, n), np.nan, order=order), np.full((m, n), -7, order=order)
        out = tuple(x if g else None for x, g in zip(room, given, strict=True))
        got = tropical.gemm(a, b, semiring="minplus", return_argmax=True, out=out)
        assert_all_same_bits(got, want, order, given)
        assert all(x is y for x, y in zip(got, out, strict=True) if y is not None)
    vector = tropical.gemm(a[0], b, semiring="minplus", return_argmax=True, out=(None, room[1][0]))
    assert_all_same_bits(vector, (want[0][0], want[1][0]))


def test_an_array_for_the_index_that_overlaps():
    a, b = operands(30, 30, 30, "maxplus", "int64")
    want = tropical.gemm(a, b, return_argmax=True)
    got = tropical.gemm(a, b, return_argmax=True, out=(b, a))
    assert got[0] is b and got[1] is a
    assert_all_same_bits(got, want)


C, INDEX = np.zeros((2, 2)), np.zeros((2, 2), np.intp)
WRONG_OUT = [
    (ValueError, r"out: .*\(C, index\), got a tuple of 1", (C,)),
    (ValueError, r"out\[1\]: expected shape \(2, 2\), got \(1, 2\)", (C, INDEX[:1])),
    (TypeError, r"out\[1\]: expected dtype int64, got int32", (C, INDEX.astype(np.int32))),
    (TypeError, r"out\[0\]: expected dtype float64, got int64", (INDEX, C)),
    (TypeError, r"out\[1\]: expected an array, got \[", (None, [[0, 0], [0, 0]])),
    (ValueError, "out: .* share no memory", (C, C.view(np.intp))),
]


@pytest.mark.parametrize("error, message, out", WRONG_OUT)
def test_wrong_arrays_for_the_index(error, message, out):
    with pytest.raises(error, match=message):
        tropical.gemm(np.ones((2, 2)), np.ones((2, 2)), return_argmax=True, out=out)
    with pytest.raises(TypeError, match="out: expected an array, got "):
        tropical.gemm(np.ones((2, 2)), np.ones((2, 2)), out=out)
    assert not C.any() and not INDEX.any()


def test_out_is_returned_with_the_index():
    a, b = values((3, 4), "float32", 1), values((4, 5), "float32", 2)
    out = np.empty((3, 5), np.float32)
    c, _ = check(a, b, "maxplus", out=out)
    assert c is out


@pytest.mark.parametrize("semiring", ["plustimes", "orand", "logplus"])
def test_not_selective(semiring):
    x = np.ones((2, 2), bool if semiring == "orand" else float)
    with pytest.raises(ValueError, match=semiring):
        tropical.gemm(x, x, semiring=semiring, return_argmax=True)
