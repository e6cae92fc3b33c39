"""`_core.linear`, act(x @ weight.T + bias): near the exact one; bits of gemm started from bias."""

import functools
import inspect
import itertools

import layouts
import numpy as np
import oracle
import pytest
import support
from support import KERNELS, THREADS, assert_same_bits, remainders, values

import tropical
from tropical._core import linear

DTYPES = ["float32", "float64"]
# (m, n, k); the last ones have several blocks of k in every kernel.
SHAPES = [(1, 1, 1), (5, 7, 9), (33, 65, 40), (64, 10, 128), (130, 90, 33), (1, 999, 300)]
SHAPES += [(999, 1, 300), (3, 2, 5000), (40, 130, 2500), (250, 3, 700)]


@functools.cache
def sample(m, n, k, dtype):
    """x (m, k), weight (n, k), bias (n,), act's argument and how far from it rounding may lead."""
    x, weight, bias = values((m, k), dtype, 1), values((n, k), dtype, 2), values((n,), dtype, 3)
    product, bound = oracle.plustimes(x, weight.T)
    exact = product + bias.astype(product.dtype)
    slack = bound + 2 * np.finfo(dtype).eps * (abs(bias) + abs(product))
    for array in (x, weight, bias):
        array.flags.writeable = False
    return x, weight, bias, exact, slack


def started(x, weight, bias, relu=False, **how):
    """The same by gemm, accumulating to the bias, and NumPy."""
    rows = (*x.shape[:-1], len(weight))
    out = np.zeros(rows, x.dtype) if bias is None else np.broadcast_to(bias, rows).copy()
    tropical.gemm(x, weight.T, semiring="plustimes", out=out, accumulate=True, **how)
    return np.where(out < 0, x.dtype.type(0), out) if relu else out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_near_the_exact_sum(isa, dtype, kernel, shape):
    """Every element of a poisoned `out`, with and without ReLU."""
    x, weight, bias, exact, slack = sample(*shape, dtype)
    out = np.full(exact.shape, np.nan, dtype)
    assert linear(x, weight, bias, out=out, kernel=kernel) is out
    assert np.all(abs(out - exact) <= slack)
    out[...] = np.nan
    assert linear(x, weight, bias, relu=True, out=out, kernel=kernel) is out
    assert np.all(abs(out - np.maximum(exact, 0)) <= slack)
    assert exact.size < 9 or 0 < np.count_nonzero(out) < out.size
    support.ran["kernel", kernel or "chosen"] += 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("relu", [False, True])
def test_remainders_are_exact_for_small_integers(isa, dtype, kernel, relu):
    rows, cols, shapes = remainders("plustimes", dtype, kernel="packed")
    x, weight = values((rows, 9), dtype, 3, "ties"), values((cols, 9), dtype, 4, "ties")
    bias = values((cols,), dtype, 5, "ties")
    for m, n in shapes:
        k = (m + n) % 10
        want = x[:m, :k] @ weight[:n, :k].T + bias[:n]
        got = linear(x[:m, :k], weight[:n, :k], bias[:n], relu=relu, kernel=kernel)
        want = np.maximum(want, 0) if relu else want
        assert_same_bits(got + 0, want + 0, f"{m, n, k}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_of_gemm_that_accumulates_to_the_bias(isa, dtype, kernel, shape):
    x, weight, bias, _, _ = sample(*shape, dtype)
    workspace = tropical.GemmWorkspace()
    for given, relu in itertools.product((bias, None), (False, True)):
        want = started(x, weight, given, relu, kernel=kernel, threads=1)
        for threads in THREADS:
            got = linear(x, weight, given, relu=relu, kernel=kernel, threads=threads)
            assert_same_bits(got, want, f"{relu} {threads}")
        got = linear(x, weight, given, relu=relu, kernel=kernel, workspace=workspace)
        assert_same_bits(got, want, relu)
        with tropical.options(kernel=kernel, threads=2):
            assert_same_bits(linear(x, weight, given, relu=relu), want, relu)


def biases(bias):
    """The same in memory with every kind of stride."""
    yield bias
    yield bias[::-1].copy()[::-1]
    yield np.repeat(bias, 3)[::3]
    yield layouts.unaligned(bias[None])[0]
    yield bias.astype(bias.dtype.newbyteorder(">"))
    for side in ("before", "after"):
        yield layouts.guarded(bias[None], side)[0]
        yield layouts.guarded(bias[None], side, "gaps")[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(33, 65, 40), (70, 5, 300), (2, 131, 600)], ids=str)
def test_layouts(isa, dtype, kernel, shape):
    x, weight, bias, _, _ = sample(*shape, dtype)
    want = linear(x, weight, bias, relu=True, kernel=kernel)
    for given in biases(bias):
        assert_same_bits(linear(x, weight, given, relu=True, kernel=kernel), want, given.strides)
    for number, lay in enumerate(layouts.LAYOUTS):
        other = layouts.LAYOUTS[number - 3]
        got = linear(lay(x), other(weight), bias, relu=True, kernel=kernel, threads=1 + number % 3)
        assert_same_bits(got, want, lay.__name__)
    for number, lay in enumerate(layouts.WRITEABLE):
        out = lay(np.full(want.shape, np.nan, dtype))
        given = list(biases(bias))[number % 9]
        assert linear(x, weight, given, relu=True, kernel=kernel, out=out) is out
        assert_same_bits(out, want, lay.__name__)
    for side, order in itertools.product(("before", "after"), ("C", "F", "reversed", "gaps")):
        near = [layouts.guarded(array, side, order) for array in (x, weight, want)]
        near[2][...] = np.nan
        linear(near[0], near[1], bias, relu=True, kernel=kernel, out=near[2])
        assert_same_bits(near[2], want, side, order)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_leading_axes_are_a_batch_of_rows(isa, dtype, kernel):
    _, weight, bias, _, _ = sample(5, 70, 30, dtype)
    x = values((4, 3, 6, 30), dtype, 8)
    want = linear(x.reshape(-1, 30), weight, bias, relu=True, kernel=kernel).reshape(4, 3, 6, 70)
    for axes in itertools.permutations(range(4)):
        view = x.transpose(axes).copy().transpose(np.argsort(axes))
        out = np.full([want.shape[i] for i in axes], np.nan, dtype).transpose(np.argsort(axes))
        for threads in (1, 3):
            got = linear(view, weight, bias, relu=True, kernel=kernel, threads=threads)
            assert_same_bits(got, want, axes)
        linear(view, weight, bias, relu=True, kernel=kernel, out=out)
        assert_same_bits(out, want, axes)
    got = linear(x[::-2, :, ::3], weight, bias, relu=True, kernel=kernel)
    assert_same_bits(got, want[::-2, :, ::3])
    repeated = np.broadcast_to(x[0, 0, 0], (3, 2, 30))
    got = linear(repeated, weight, bias, relu=True, kernel=kernel)
    assert_same_bits(got, np.broadcast_to(want[0, 0, 0], (3, 2, 70)))
    assert_same_bits(linear(x[0, 0, 0], weight, bias, relu=True, kernel=kernel), want[0, 0, 0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_empty(isa, dtype, kernel):
    """Without steps act(bias) is the result; without rows or columns there is none."""
    bias = np.array([-1, 0, 2, np.nan, -np.inf, np.inf], dtype)
    weight = np.zeros((6, 0), dtype)
    for lead in [(), (1,), (4,), (3, 2)]:
        x = np.zeros((*lead, 0), dtype)
        rows = np.broadcast_to(bias, (*lead, 6))
        assert_same_bits(linear(x, weight, bias, kernel=kernel), rows)
        got = linear(x, weight, bias, relu=True, kernel=kernel, out=np.full_like(rows, np.nan))
        np.testing.assert_array_equal(got, np.maximum(rows, 0))
        assert_same_bits(linear(x, weight, relu=True, kernel=kernel), np.zeros_like(rows))
    for lead in [(0,), (3, 0), (0, 3)]:
        got = linear(np.zeros((*lead, 4), dtype), np.zeros((6, 4), dtype), bias, kernel=kernel)
        assert (got.shape, got.dtype) == ((*lead, 6), dtype)
    for k in (0, 4):
        none = np.zeros((0, k), dtype)
        got = linear(np.ones((3, k), dtype), none, np.zeros(0, dtype), relu=True, kernel=kernel)
        assert got.shape == (3, 0)
        assert linear(np.ones(k, dtype), none, kernel=kernel).shape == (0,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_nan_infinity_and_signed_zero(isa, dtype, kernel):
    """As NumPy has them: a NaN outlives ReLU, wherever it came from."""
    inf, nan = np.inf, np.nan
    x = np.array([[0, 1, 2], [inf, 1, 0], [nan, 0, 0], [inf, -inf, 1], [-1, 1, -1]], dtype)
    weight = np.array([[inf, 1, 2], [0, 1, 2], [1, 1, 2], [1, 1, nan], [-1, -1, -1]], dtype)
    bias = np.array([1, nan, -inf, inf, -0.0], dtype)
    for tall, wide in [(1, 1), (30, 1), (1, 40), (7, 30)]:
        a, w, c = np.tile(x, (tall, 1)), np.tile(weight, (wide, 1)), np.tile(bias, wide)
        with np.errstate(invalid="ignore"):
            want = np.einsum("ip,jp->ij", a, w) + c
        np.testing.assert_array_equal(linear(a, w, c, kernel=kernel), want)
        np.testing.assert_array_equal(
            linear(a, w, c, relu=True, kernel=kernel), np.maximum(want, 0)
        )
    zeros = np.zeros((40, 70), dtype)
    got = linear(zeros, zeros, np.full(40, -0.0, dtype), kernel=kernel)
    assert not np.signbit(got).any()  # -0 + 0


@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_relu_comes_after_all_blocks_of_k(isa, kernel):
    """Sums that change their sign in the last block; the bias counts once."""
    k = 2500
    x = np.ones((40, k), np.float32)
    weight = np.full((70, k), -1, np.float32)
    weight[::2, -1] = 2 * k
    weight[1::2] *= -1
    weight[1::2, -1] = -2 * k
    bias = np.arange(70, dtype=np.float32)
    want = np.broadcast_to(np.where(bias % 2 == 0, k + 1 + bias, 0).astype(np.float32), (40, 70))
    assert_same_bits(linear(x, weight, bias, relu=True, kernel=kernel), want)
    assert_same_bits(linear(x[:2], weight, bias, relu=True, kernel=kernel), want[:2])
    rows = np.ascontiguousarray(weight.T).T
    assert_same_bits(linear(x[:2], rows, bias, relu=True, kernel=kernel), want[:2])


def test_promotion():
    x, weight, bias, _, _ = sample(5, 7, 9, "float64")
    want = linear(x, weight, bias)
    assert_same_bits(linear(x.tolist(), weight.tolist(), bias.tolist()), want)
    for which in range(3):
        given = [x, weight, bias]
        given[which] = given[which].astype(np.float32)
        exact = [array.astype(np.float64) for array in given]
        assert_same_bits(linear(*given), linear(*exact), which)
    small = np.arange(9, dtype=np.int8)
    single = weight.astype(np.float32)
    assert_same_bits(linear(small, single), linear(small.astype(np.float32), single))
    out = np.empty((5, 7), np.float32)
    with pytest.raises(TypeError, match="out: expected dtype float64, got float32"):
        linear(x, weight, bias.astype(np.float32), out=out)


X, W, B = np.ones((4, 3), np.float32), np.ones((5, 3), np.float32), np.ones(5, np.float32)
SHAPES_NAMED = r"x has shape \(4, 3\), weight has shape "
ERRORS = [
    (lambda out: linear(X, W[:, :2], out=out), ValueError, SHAPES_NAMED + r"\(5, 2\)"),
    (lambda out: linear(X, W[0], out=out), ValueError, "weight must have two dimensions"),
    (lambda out: linear(X, W[None], out=out), ValueError, "weight must have two dimensions"),
    (lambda out: linear(X[0, 0], W, out=out), ValueError, "x must have at least one dimension"),
    (lambda out: linear(X, W, B[:4], out=out), ValueError, r"bias has shape \(4,\)"),
    (lambda out: linear(X, W, B[:1], out=out), ValueError, "one element for each row of weight"),
    (lambda out: linear(X, W, B[None], out=out), ValueError, r"bias has shape \(1, 5\)"),
    (lambda out: linear(X, W, 1.0, out=out), ValueError, r"bias has shape \(\)"),
    (lambda out: linear(X, W, "b", out=out), TypeError, "bias has dtype"),
    (lambda out: linear(X, W.astype(complex), out=out), TypeError, "weight has dtype complex128"),
    (
        lambda out: linear(X.astype(int), W.astype(int), out=out),
        TypeError,
        "float32 or float64, got int64",
    ),
    (lambda out: linear(X.astype("f2"), W.astype("f2"), out=out), TypeError, "float16"),
    (lambda out: linear(np.ma.array(X), W, out=out), TypeError, "x is a masked array"),
    (lambda out: linear(X, W, np.ma.array(B), out=out), TypeError, "bias is a masked array"),
    (lambda out: linear(X, W, out=out[:3]), ValueError, r"out: expected shape \(4, 5\)"),
    (lambda out: linear(X, W, out=out.tolist()), TypeError, "out: expected an array"),
    (lambda out: linear(X, W, B, out=layouts.read_only(out)), ValueError, "out: .* a writeable"),
    (lambda out: linear(X, W, out=out, kernel="fast"), ValueError, "unknown kernel 'fast'"),
    (lambda out: linear(X, W, out=out, threads=0), ValueError, "threads: expected at least 1"),
    (lambda out: linear(X, W, out=out, workspace=3), TypeError, "expected a GemmWorkspace"),
    (lambda out: linear(X, W, out=out, relu=np.ones(2)), ValueError, "ambiguous"),
    (lambda out: linear(X, W, B, out), TypeError, r"at most 3 positional .*\(x, weight, bias\)"),
    (lambda out: linear(X, out=out), TypeError, r"linear\(\) missing .* 'weight'"),
    (lambda out: linear(X, W, x=X, out=out), TypeError, "multiple values for argument 'x'"),
    (lambda out: linear(X, W, semiring="maxplus"), TypeError, "unexpected keyword .*'semiring'"),
]


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_errors(call, kind, message):
    out = np.full((4, 5), 7, np.float32)
    with pytest.raises(kind, match=message):
        call(out)
    assert (out == 7).all()


def test_workspace_is_used():
    workspace = tropical.GemmWorkspace()
    x, weight, bias, _, _ = sample(40, 130, 2500, "float32")
    for _ in range(3):
        linear(x, weight, bias, kernel="packed", workspace=workspace)
    assert workspace.nbytes > 0 and workspace.allocations == 1


def test_signature():
    names = list(inspect.signature(linear).parameters)
    assert names == ["x", "weight", "bias", "relu", "out", "threads", "kernel", "workspace"]
    assert linear.__module__ == "tropical._core"
