"""Layer normalization against its definition in float64, for inputs in any layout."""

import numpy as np
import pytest
from layouts import read_only
from support import assert_all_same_bits, assert_same_bits

import tropical
from tropical import _core, autograd, nn
from tropical.autograd import Tensor

RNG = np.random.default_rng
SHAPES = [(1,), (5,), (3, 1), (4, 17), (2, 3, 33), (300, 7), (2, 5000), (260, 300)]
EPS = 1e-5


def definition(x, weight, bias):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + EPS) * weight + bias


def gradients(x, weight, g):
    """Of x, weight and bias."""
    centered = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + EPS)
    z, u = centered * scale, g * weight
    along = (u * z).mean(-1, keepdims=True)
    leading = tuple(range(x.ndim - 1))
    return scale * (u - u.mean(-1, keepdims=True) - z * along), (g * z).sum(leading), g.sum(leading)


def draw(shape, dtype, seed=0):
    rng = RNG(seed)
    x, g = rng.standard_normal((2, *shape)).astype(dtype)
    weight, bias = rng.standard_normal((2, shape[-1])).astype(dtype)
    return x, weight, bias, g


def compute(x, weight, bias, g):
    tensors = [Tensor(array, requires_grad=True) for array in (x, weight, bias)]
    y = autograd.layer_norm(*tensors)
    return [y.data, *(gradient.data for gradient in autograd.grad(y, tensors, g))]


def check(x, weight, bias, g):
    wide = [array.astype(np.float64) for array in (x, weight, bias, g)]
    want = definition(*wide[:3]), *gradients(wide[0], wide[1], wide[3])
    tolerance = 2e-5 if x.dtype == np.float32 else 1e-12
    for array, wanted in zip(compute(x, weight, bias, g), want, strict=True):
        assert array.dtype == x.dtype and array.flags.c_contiguous
        atol = tolerance * max(np.abs(wanted).max(), 1)
        np.testing.assert_allclose(array, wanted, rtol=tolerance, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_definition(shape, dtype):
    check(*draw(shape, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_mean_does_not_cancel_the_variance(dtype):
    x, weight, bias, g = draw((3, 400), dtype)
    x = x / 8 + 1000
    want = definition(x.astype(np.float64), weight, bias)
    tolerance = 2e-3 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(compute(x, weight, bias, g)[0], want, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_any_layout(dtype):
    x, weight, bias, g = draw((6, 10), dtype)
    want = compute(x, weight, bias, g)
    for change in (
        np.asfortranarray,
        read_only,
        lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
        lambda array: array[..., ::-1].copy()[..., ::-1],
    ):
        assert_all_same_bits(compute(*map(change, (x, weight, bias, g))), want)
    even = np.broadcast_to(g[:1, :1], g.shape)
    assert_all_same_bits(compute(x, weight, bias, even), compute(x, weight, bias, even.copy()))


def test_threads_give_the_same_bits():
    arrays = draw((700, 300), "float32")
    results = []
    for threads in (1, 3):
        with tropical.options(threads=threads):
            results.append(compute(*arrays))
    assert_all_same_bits(*results)


def test_weight_and_bias_may_be_absent_or_broadcast():
    x, weight, bias, _ = draw((4, 5), "float64")
    nothing, ones = np.zeros(5), np.ones(5)
    for given, whole in [
        ((), (ones, nothing)),
        ((weight,), (weight, nothing)),
        ((None, bias), (ones, bias)),
        ((2.0, bias[0]), (2 * ones, bias[0] + nothing)),
        ((weight.astype("f4"),), (weight.astype("f4"), nothing)),
        ((np.arange(20.0).reshape(4, 5),), (np.arange(20.0).reshape(4, 5), nothing)),
    ]:
        want = definition(x, *whole)
        np.testing.assert_allclose(autograd.layer_norm(x, *given), want, rtol=1e-10, atol=1e-12)
        got = autograd.layer_norm(Tensor(x), *given)
        np.testing.assert_allclose(got.data, want, rtol=1e-10, atol=1e-12)
    assert autograd.layer_norm(x.astype(">f8")).dtype == np.float64
    assert autograd.layer_norm(np.arange(6).reshape(2, 3)).dtype == np.float64
    assert autograd.layer_norm(np.zeros((0, 3))).shape == (0, 3)


def test_weights_of_another_length():
    """Which broadcast x to theirs."""
    x = np.ones((4, 1))
    for given in ((np.ones(3),), (None, np.ones(3)), (np.ones((2, 4, 1)),)):
        with pytest.raises(ValueError, match=r"(weight|bias): expected shape \(1,\), got \("):
            autograd.layer_norm(Tensor(x), *given)
    for layer, rows in (nn.LayerNorm(3), x), (nn.LayerNorm(1), np.ones((4, 3))):
        with pytest.raises(ValueError, match=r"x: expected \(\.\.\., [13]\), got \(4, [13]\)"):
            layer(rows)


def test_rows_are_apart():
    x, weight, bias, g = draw((5, 40), "float32")
    want = compute(x, weight, bias, g)
    x[1, 3], x[3, 0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        got = compute(x, weight, bias, g)
    for array, wanted in zip(got[:2], want[:2], strict=True):
        assert np.isnan(array[[1, 3]]).any(axis=1).all()
        assert_same_bits(array[[0, 2, 4]], wanted[[0, 2, 4]])


@pytest.mark.parametrize("eps", ["1e-5", None, [1e-5, 1e-5], 1j])
def test_refuses_eps(eps):
    x = np.ones((2, 3), np.float32)
    for function in (
        autograd.layer_norm,
        lambda x, eps: autograd.layer_norm(x, np.ones(3), eps=eps),  # not fused
        lambda x, eps: autograd.batch_norm(x, eps=eps),
    ):
        with pytest.raises(TypeError, match="eps: expected a number, got "):
            function(x, eps=eps)


def test_refuses():
    x, weight, bias, g = draw((4, 5), "float32")
    y, statistics, row = np.zeros_like(x), np.zeros((2, 4), "f4"), np.zeros(5, "f4")
    calls = [
        (_core.layer_norm, {"x": x, "weight": weight, "bias": bias, "eps": 0.1, "out": y}),
        (_core.layer_norm_gradient, {"g": g, "x": x, "weight": weight, "out": y}),
        (_core.layer_norm_weight_gradient, {"g": g, "x": x, "out": row}),
    ]
    for function, good in calls:
        good["statistics"] = statistics
        function(**good)
        for name, array in good.items():
            if name == "eps":
                continue
            cases = [
                (ValueError, "expected .*, got", array[:-1]),
                (ValueError, "expected .*, got", array[None]),
                (TypeError, "expected dtype float32", array.astype(int)),
                (ValueError, "C order", np.repeat(array, 2, axis=-1)[..., ::2]),
            ]
            if name in ("out", "statistics") and (name == "out" or function is _core.layer_norm):
                cases.append((ValueError, "expected a writeable array", read_only(array)))
            for error, message, wrong in cases:
                before = good["out"].copy()
                with pytest.raises(error, match=message) as info:
                    function(**{**good, name: wrong})
                if name != "x":  # whose shape the others must have
                    assert str(info.value).startswith(f"{name}: ")
                assert_same_bits(good["out"], before)
