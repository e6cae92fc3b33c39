"""``precision=``: products in pieces of bfloat16, their bounds and bits, and who chooses them."""

import numpy as np
import pytest
from support import assert_same_bits, values

import tropical
from tropical import _core, config, nn, optim
from tropical.autograd import Tensor, conv2d, cross_entropy

PRECISIONS = ("bf16", "bf16x3", "bf16x6")
UNIT = 2.0**-24


def gemm(a, b, precision, **how):
    return tropical.gemm(a, b, semiring="plustimes", precision=precision, **how)


def bound(precision, k):
    return {
        "bf16": 2**-7 + 2**-15 + 1.01 * k * UNIT,
        "bf16x3": 3 * 2**-16 + (k / 2 + 8) * UNIT,
        "bf16x6": (k / 2 + 16) * UNIT,
    }[precision]


def rounded(x):
    """The nearest numbers of bfloat16, ties to even."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (13, 33, 7), (70, 5, 300), (40, 64, 2500)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e15])
def test_within_the_documented_bound(isa_or_amx, precision, shape, scale):
    m, n, k = shape
    a, b = values((m, k), "float32", 1) * np.float32(scale), values((k, n), "float32", 2)
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    sizes = abs(a).astype(float) @ abs(b).astype(float)
    assert np.all(abs(gemm(a, b, precision) - exact) <= bound(precision, k) * sizes)


def test_six_products_round_as_little_as_float32(isa_or_amx):
    a, b = values((60, 1000), "float32", 1), values((1000, 70), "float32", 2)
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    plain = abs(tropical.gemm(a, b, semiring="plustimes") - exact)
    assert abs(gemm(a, b, "bf16x6") - exact).max() <= 4 * plain.max()


def test_one_piece_is_the_number_rounded(isa_or_amx):
    a, b = values((20, 50), "float32", 1), values((50, 30), "float32", 2)
    assert_same_bits(gemm(a, b, "bf16"), gemm(rounded(a), rounded(b), "bf16"))
    x = values((1, 40), "float32", 3)
    assert_same_bits(gemm(np.ones((1, 1), np.float32), x, "bf16"), rounded(x))
    for precision in ("bf16x6", "float32"):
        assert_same_bits(gemm(np.ones((1, 1), np.float32), x, precision), x)


def computed_in_many_ways(a, b, precision):
    with np.errstate(all="ignore"):
        return [
            gemm(a, b, precision),
            gemm(a, b, precision, threads=3),
            np.stack([gemm(x, b, precision) for x in a]),
            gemm(a, b, precision, out=np.empty((47, 61, 3), np.float32).T),
            gemm(np.asfortranarray(a), np.asfortranarray(b), precision),
        ]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", ["plain", "edge", "nan"])
def test_the_same_bits_everywhere(precision, kind):
    """On every named instruction set; AMX has bits of its own, others for transposed products."""
    a, b = values((3, 61, 90), "float32", 1, kind), values((90, 47), "float32", 2, kind)
    results = []
    for name in config.config()["isa_supported"]:
        with tropical.options(isa=name):
            assert "amx" not in config.config()["bf16_products"]
            results += computed_in_many_ways(a, b, precision)
            with np.errstate(all="ignore"):
                of_transposes = gemm(b.T, np.swapaxes(a, 1, 2), precision)
            results.append(np.swapaxes(of_transposes, 1, 2))
    own = computed_in_many_ways(a, b, precision)
    for found in (results, own):
        for result in found[1:]:
            assert np.array_equal(np.isnan(result), np.isnan(found[0]))
            assert_same_bits(np.nan_to_num(result, nan=1.0), np.nan_to_num(found[0], nan=1.0))
    if "amx" not in config.config()["bf16_products"]:
        assert_same_bits(np.nan_to_num(own[0], nan=1.0), np.nan_to_num(results[0], nan=1.0))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_special_values(isa_or_amx, precision):
    most = np.finfo(np.float32).max
    a = [[np.inf, 1.1], [-np.inf, np.inf], [np.nan, 0], [most, 0], [1e-40, 0]]
    a = np.array(a, np.float32)
    b = np.array([[1.3, 0], [1.7, 1]], np.float32)
    got = gemm(a, b, precision)
    assert got[0, 0] == np.inf and np.isnan(got[0, 1])  # inf * 0
    assert np.isnan(got[1]).all() and np.isnan(got[2]).all()
    assert got[3, 0] == np.inf and got[3, 1] == 0
    assert_same_bits(got[4], np.zeros(2, np.float32))
    one = gemm(np.array([[most]], np.float32), np.ones((1, 1), np.float32), precision)
    # The two pieces of bf16x3 add up to more than the greatest number.
    assert precision == "bf16x3" or (np.isfinite(one).all() and abs(one / most - 1) < 2**-8)


def test_out_accumulate_and_workspace(isa_or_amx):
    a, b = values((30, 40), "float32", 1, "ties"), values((40, 50), "float32", 2, "ties")
    workspace = tropical.GemmWorkspace()
    out = np.ones((30, 50), np.float32)
    assert gemm(a, b, "bf16x3", out=out, accumulate=True, workspace=workspace) is out
    assert_same_bits(out, a @ b + 1)
    assert workspace.nbytes > 0
    square = values((40, 40), "float32", 3, "ties")
    want = square @ square
    assert_same_bits(gemm(square, square, "bf16", out=square) + 0, want + 0)
    assert_same_bits(gemm(a[:, :0], b[:0], "bf16"), np.zeros((30, 50), np.float32))


def test_errors():
    a, out = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match=r"precision: .*bf16x6, got 'bf8'"):
        gemm(a, a, "bf8", out=out)
    with pytest.raises(TypeError, match=r"precision: expected a name or None, got 16"):
        gemm(a, a, 16, out=out)
    with pytest.raises(ValueError, match=r"precision: .*'packed' for 'bf16', got 'naive'"):
        gemm(a, a, "bf16", kernel="naive", out=out)
    with pytest.raises(ValueError, match="precision"), tropical.options(precision="half"):
        pass
    assert not out.any()


def test_who_chooses():
    a = values((20, 20), "float32", 1)
    exact, coarse = gemm(a, a, "float32"), gemm(a, a, "bf16")
    assert not np.array_equal(exact, coarse)
    with tropical.options(precision="bf16"):
        assert_same_bits(tropical.gemm(a, a, semiring="plustimes"), coarse)
        assert_same_bits(gemm(a, a, "float32"), exact)
        named = tropical.gemm(a, a, semiring="plustimes", kernel="direct")
        assert_same_bits(named, tropical.gemm(a, a, semiring="plustimes", kernel="direct"))
        assert abs(named - exact).max() < 1e-4
        with tropical.options(precision="float32"):
            assert_same_bits(tropical.gemm(a, a, semiring="plustimes"), exact)
    with tropical.options(kernel="naive"):
        assert_same_bits(gemm(a, a, "bf16"), coarse)


def test_explain_says_what_runs(isa):
    plan = tropical.explain(64, 64, 64, semiring="plustimes", precision="bf16x3")
    assert (plan.kernel, plan.precision) == ("packed", "bf16x3")
    assert plan.instructions in config.config()["bf16_products"]
    assert f"{isa}, bf16x3 by {plan.instructions}" in str(plan)
    with tropical.options(fast_ring=True):
        large = tropical.explain(9000, 9000, 9000, semiring="plustimes", precision="bf16")
    assert large.levels == 0 and large.kc % 2 == 0
    plain = tropical.explain(64, 64, 64, semiring="plustimes")
    assert plain.precision is None and plain.instructions is None


def test_layers_learn_in_mixed_precision(isa):
    x = values((60, 20), "float32", 1)
    x /= abs(x).max()
    labels = x[:, :3].argmax(1)

    def train(precision):
        rng = np.random.default_rng(0)
        model = nn.Sequential(nn.Linear(20, 16, rng=rng), nn.ReLU(), nn.Linear(16, 3, rng=rng))
        optimizer = optim.SGD(model.parameters(), 0.5)
        with tropical.options(precision=precision):
            for _ in range(60):
                loss = cross_entropy(model(x), labels)
                optimizer.minimize(loss)
        return loss.item(), [p.data for p in model.parameters()]

    coarse, weights = train("bf16")
    fine, others = train("float32")
    assert abs(coarse - fine) < 0.05 and fine < 1
    assert all(w.dtype == np.float32 for w in weights)
    assert any(not np.array_equal(w, v) for w, v in zip(weights, others, strict=True))
    assert any(not np.array_equal(w, rounded(w)) for w in weights)  # master weights


def test_layers_with_bias_and_relu(isa_or_amx):
    x, weight, bias = (values(s, "float32", i) for i, s in enumerate([(9, 30), (21, 30), (21,)]))
    with tropical.options(precision="bf16"):
        got = _core.linear(x, weight, bias, relu=True)
    want = np.maximum(rounded(x).astype(float) @ rounded(weight).T.astype(float) + bias, 0)
    assert abs(got - want).max() < 1e-6 * want.max()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", [(40, 50), (300, 600)], ids=str)
def test_with_an_epilogue(isa_or_amx, precision, shape):
    m, n = shape
    a, b = values((m, 30), "float32", 1), values((30, n), "float32", 2)
    bias, tiny = values((n,), "float32", 3), np.float32(1e-30)
    product = gemm(a, b, precision)
    epilogue = tropical.Epilogue(bias=bias, activation="relu", mask="lower")
    want = np.tril(np.maximum(product + bias, 0))
    assert_same_bits(gemm(a, b, precision, epilogue=epilogue) + 0, want + 0)
    # Subnormal numbers count as 0 in products, not after them.
    small = tropical.Epilogue(scale=tiny * np.float32(1e-10))
    assert_same_bits(gemm(a, b, precision, epilogue=small), product * (tiny * np.float32(1e-10)))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [None, "direct"])
def test_convolutions_stay_in_float32(isa_or_amx, stride, kernel):
    arrays = values((2, 3, 9, 8), "float32", 1), values((4, 3, 3, 3), "float32", 2)

    def value_and_gradients():
        x, weight = (Tensor(array, requires_grad=True) for array in arrays)
        value = conv2d(x, weight, stride=stride)
        (value * value).sum().backward()
        return value.data, x.grad.data, weight.grad.data

    with tropical.options(kernel=kernel):
        want = value_and_gradients()
        with tropical.options(precision="bf16"):
            got = value_and_gradients()
    for x, y in zip(got, want, strict=True):
        assert_same_bits(x, y)
