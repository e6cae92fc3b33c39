"""`out` and `accumulate`: identity, strides; errors leave all as it was."""

import functools
import itertools

import numpy as np
import oracle
import pytest
from layouts import read_only
from support import EXACT, KERNELS, assert_same_bits, check, example, values

import tropical

pytestmark = pytest.mark.portable

SIZE = (21, 75, 13)
SHAPES = [(1, 1, 1), (9, 40, 1), (3, 2, 700), (70, 1, 50), (1, 70, 50), (45, 150, 70)]


@functools.lru_cache(maxsize=64)
def added(m, n, k, semiring, dtype):
    """Operands, something to add to, and the sum by the oracle."""
    a, b, _ = example(m, n, k, semiring, dtype)
    start = values((m, n), dtype, 9, "nan")
    return a, b, start, oracle.gemm(a, b, semiring, start)


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_accumulate(isa, semiring, dtype, kernel):
    how = {"kernel": kernel, "accumulate": True}
    for shape in SHAPES:
        a, b, start, want = added(*shape, semiring, dtype)
        for threads, order in itertools.product((1, 3), "CF"):
            out = start.copy(order)
            assert check(a, b, semiring, want, threads=threads, out=out, **how) is out


# Views (3, m, n) of an array m (3, 2 m, 3 n).
EMPTY_SUMS_INTO = {
    "rows": lambda c, m, n: c[:, :m, :n],
    "every other row": lambda c, m, n: c[:, ::2, :n],
    "columns": lambda c, m, n: c.reshape(3, 3 * n, 2 * m)[:, :n, :m].swapaxes(1, 2),
    "spread": lambda c, m, n: c[:, 1::2, 2::3],
    "reversed": lambda c, m, n: c[:, :m, :n][:, ::-1, ::-1],
    "reversed columns": lambda c, m, n: c.reshape(3, 3 * n, -1)[:, :n, :m].swapaxes(1, 2)[:, ::-1],
    "one behind the other": lambda c, m, n: c.reshape(-1)[: 3 * m * n].reshape(3, m, n),
    "batch last": lambda c, m, n: c.reshape(-1)[: 3 * m * n].reshape(m, n, 3).transpose(2, 0, 1),
}


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_empty_sums(isa, semiring, dtype, kernel):
    """k == 0: zero, or `out` (+) zero when accumulating, whatever `out` held."""
    a, b = np.ones((3, 0), dtype), np.ones((0, 4), dtype)
    start = values((3, 4), dtype, 3, "edge")
    zero = np.full((3, 4), oracle.SEMIRINGS[semiring].zero(dtype))
    check(a, b, semiring, zero, kernel=kernel)
    check(a, b, semiring, zero, kernel=kernel, out=start.copy())
    want = oracle.gemm(a, b, semiring, start)
    check(a, b, semiring, want, kernel=kernel, out=start.copy(), accumulate=True)


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("views", EMPTY_SUMS_INTO)
def test_empty_sums_with_any_strides(semiring, dtype, views):
    """All of `out`, and nothing between its elements."""
    m, n = 5, 37
    memory = values((3, 2 * m, 3 * n), dtype, 3, "edge")
    a, b = np.ones((3, m, 0), dtype), np.ones((3, 0, n), dtype)
    zero = oracle.SEMIRINGS[semiring].zero(dtype)
    want, got = memory.copy(), memory.copy()
    EMPTY_SUMS_INTO[views](want, m, n)[...] = zero
    tropical.gemm(a, b, semiring=semiring, out=EMPTY_SUMS_INTO[views](got, m, n))
    assert_same_bits(got, want, views)
    start = EMPTY_SUMS_INTO[views](memory.copy(), m, n)
    for items in (slice(None), slice(1, 2)):
        got, want = memory.copy(), memory.copy()
        EMPTY_SUMS_INTO[views](want, m, n)[items] = oracle.gemm(
            a[items], b[items], semiring, start[items]
        )
        out = EMPTY_SUMS_INTO[views](got, m, n)[items]
        tropical.gemm(a[items], b[items], semiring=semiring, out=out, accumulate=True)
        assert_same_bits(got, want, views, "accumulate", items)


def test_empty_sums_have_no_index():
    a, b = np.ones((3, 5, 0)), np.ones((3, 0, 7))
    index = np.ones((3, 7, 10), np.intp)
    tropical.gemm(a, b, return_argmax=True, out=(None, index[..., ::2].swapaxes(1, 2)))
    assert (index[..., ::2] == -1).all()
    assert (index[..., 1::2] == 1).all()


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("kernel", KERNELS)
def test_old_content_never_matters(isa, semiring, dtype, kernel):
    m, n, k = SIZE
    a, b, c = example(m, n, k, semiring, dtype)
    for fill in values((6,), dtype, 1, "nan").tolist() + (
        [np.nan, np.inf, -np.inf] if "f" in dtype else []
    ):
        check(a, b, semiring, c, kernel=kernel, out=np.full((m, n), fill, dtype))


@pytest.mark.parametrize("kernel", KERNELS)
def test_out_of_a_batch(isa, kernel):
    a, b = values((4, 5, 7, 6), "float32", 1), values((5, 6, 9), "float32", 2)
    want = oracle.gemm(a, b, "maxplus")
    start = values(want.shape, "float32", 3)
    for axes in itertools.permutations(range(4)):
        out = np.empty([want.shape[i] for i in axes], np.float32).transpose(np.argsort(axes))
        check(a, b, "maxplus", want, out=out, kernel=kernel)
        out[...] = start
        both = np.maximum(start, want)
        check(a, b, "maxplus", both, out=out, kernel=kernel, accumulate=True, threads=2)


A, B = values((4, 5), "float32", 1), values((5, 6), "float32", 2)
WRONG_OUT = {
    "shape": (np.ones((4, 5), np.float32), ValueError, r"\(4, 5\)"),
    "transposed": (np.ones((6, 4), np.float32), ValueError, r"\(6, 4\)"),
    "too many dimensions": (np.ones((1, 4, 6), np.float32), ValueError, r"\(1, 4, 6\)"),
    "dtype": (np.ones((4, 6), np.float64), TypeError, "float64"),
    "integers": (np.ones((4, 6), np.int32), TypeError, "int32"),
    "byte order": (np.ones((4, 6), ">f4"), (TypeError, ValueError), "out"),
    "read-only": (read_only(np.ones((4, 6), np.float32)), ValueError, "out"),
    "a list": ([[1.0] * 6] * 4, TypeError, "out"),
}


@pytest.mark.parametrize("wrong", WRONG_OUT)
@pytest.mark.parametrize("accumulate", [False, True])
def test_wrong_out(wrong, accumulate):
    out, error, match = WRONG_OUT[wrong]
    before = np.array(out)
    with pytest.raises(error, match=match):
        tropical.gemm(A, B, out=out, accumulate=accumulate)
    assert_same_bits(np.asarray(out), before)


ERRORS = {
    "shapes": (ValueError, {"a": A[:, :4]}),
    "operand dtype": (TypeError, {"a": A.astype(complex)}),
    "scalar": (ValueError, {"b": np.float32(1)}),
    "semiring": (ValueError, {"semiring": "maxmax"}),
    "semiring type": ((TypeError, ValueError), {"semiring": 3}),
    "kernel": (ValueError, {"kernel": "fast"}),
    "kernel type": (TypeError, {"kernel": 3}),
    "threads": (ValueError, {"threads": 0}),
    "negative threads": (ValueError, {"threads": -1}),
    "threads type": (TypeError, {"threads": 1.5}),
    "workspace": (TypeError, {"workspace": "large"}),
    "argmax of plustimes": (ValueError, {"semiring": "plustimes", "return_argmax": True}),
    "argmax and accumulate": (ValueError, {"accumulate": True, "return_argmax": True}),
    "dtype of orand": (TypeError, {"semiring": "orand"}),
    "keyword": (TypeError, {"semirings": "maxplus"}),
}


@pytest.mark.parametrize("wrong", ERRORS)
def test_errors_leave_everything_unchanged(wrong):
    error, change = ERRORS[wrong]
    out = np.ones((4, 6), np.float32)
    arguments = {"a": A.copy(), "b": B.copy(), "out": out, **change}
    copies = {name: np.array(arguments[name]) for name in ("a", "b", "out")}
    a, b = arguments.pop("a"), arguments.pop("b")
    with pytest.raises(error):
        tropical.gemm(a, b, **arguments)
    for got, name in ((a, "a"), (b, "b"), (out, "out")):
        assert_same_bits(got, copies[name], name)


def test_errors_of_conversion_are_numpys():
    class Stopped:
        def __array__(self, dtype=None, copy=None):
            raise KeyboardInterrupt

    with pytest.raises(ValueError, match=r"a: .*inhomogeneous"):
        tropical.gemm([[1, 2], [3]], B)
    with pytest.raises(ValueError, match=r"b: .*inhomogeneous"):
        tropical.gemm(A, [[1, 2], [3]])
    with pytest.raises(KeyboardInterrupt):
        tropical.gemm(Stopped(), B)


def test_errors_of_dtypes_show_both():
    for a, b in ((A.astype(complex), B), (A, B.astype("f4,f4"))):
        with pytest.raises(TypeError) as error:
            tropical.gemm(a, b)
        assert str(a.dtype) in str(error.value) and str(b.dtype) in str(error.value)


def test_masked_arrays_are_refused():
    masked = np.ma.array(A, mask=A > 0)
    for name, how in (("a", {"a": masked, "b": B}), ("b", {"a": A, "b": masked.T})):
        with pytest.raises(TypeError, match=f"{name} is a masked array"):
            tropical.gemm(**how)
    out = np.ma.zeros((4, 6), np.float32)
    with pytest.raises(TypeError, match="out is a masked array"):
        tropical.gemm(A, B, out=out)


def test_accumulate_needs_out():
    with pytest.raises(ValueError, match="out"):
        tropical.gemm(A, B, accumulate=True)


def test_unknown_semiring_lists_the_known():
    with pytest.raises(ValueError, match="maxmax") as error:
        tropical.gemm(A, B, semiring="maxmax")
    assert all(name in str(error.value) for name in oracle.SEMIRINGS)


@pytest.mark.parametrize("name", ["maxplus", "max_plus", "_max_plus_", tropical.semirings.maxplus])
def test_names_of_semirings(name):
    check(A, B, name, oracle.gemm(A, B, "maxplus"))


def test_positional_arguments_are_the_operands():
    with pytest.raises(TypeError):
        tropical.gemm(A, B, "maxplus")
