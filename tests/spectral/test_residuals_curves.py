"""Residuals and convolutions of curves, against their definitions."""

import importlib
from itertools import repeat
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_same_bits, check_refused

import tropical
from tropical import semirings
from tropical.spectral import (
    backlog,
    convolve,
    deconvolve,
    delay,
    left_residual,
    rate_latency,
    right_residual,
    token_bucket,
)

RINGS = ("maxplus", "minplus")
DUAL = {"maxplus": "minplus", "minplus": "maxplus"}
DTYPES = semirings.maxplus.dtypes
EVERY = np.arange(-128, 128).astype(np.int8)


def bounds(product, b, ring):
    return product <= b if ring == "maxplus" else product >= b


@pytest.mark.parametrize("ring", RINGS)
def test_every_quotient_of_int8(ring):
    """The greatest x for which gemm(a, x) <= b, for all a and b."""
    products = np.stack([tropical.gemm([[a]], EVERY[None], semiring=ring)[0] for a in EVERY])
    best = np.max if ring == "maxplus" else np.min
    for b in EVERY:
        right = bounds(products, b, ring)
        want = [best(EVERY[row]) for row in right]
        np.testing.assert_array_equal(left_residual(EVERY[None], b[None], ring), want)
        np.testing.assert_array_equal(right_residual(EVERY[:, None], b[None], ring), want)


def test_every_quotient_of_infinities():
    """b - a over maxplus, by the definition."""
    values = [-inf, 0.0, inf]
    want = {(-inf, -inf): inf, (-inf, 0): inf, (-inf, inf): inf, (0, -inf): -inf, (0, 0): 0,
            (0, inf): inf, (inf, -inf): -inf, (inf, 0): -inf, (inf, inf): inf}  # fmt: skip
    for a in values:
        for b in values:
            assert left_residual([[a]], [b])[0] == want[a, b], (a, b)
            assert left_residual([[-a]], [-b], "minplus")[0] == -want[a, b]
    assert np.isnan(left_residual([[np.nan, 0]], [0.0])[0])
    assert np.isnan(right_residual([[0.0]], [[np.nan], [1]])).tolist() == [[True], [False]]


def values(shape, dtype, rng):
    """Numbers that saturate now and then, and both infinities."""
    if np.dtype(dtype).kind == "f":
        x = rng.integers(-9, 9, shape).astype(dtype)
        x[rng.random(shape) < 0.1], x[rng.random(shape) < 0.1] = -inf, inf
        return x
    ends = np.iinfo(dtype)
    near = rng.choice([ends.min, ends.min + 1, ends.max - 1, ends.max], shape)
    small = rng.integers(-9, 9, shape)
    return np.where(rng.random(shape) < 0.3, near, small).astype(dtype)


def quotient(a, b, ring):
    """The greatest x with a (x) x <= b, of two numbers of one dtype, in Python's numbers."""
    zero, top = semirings.get(ring).zero(a.dtype), semirings.get(DUAL[ring]).zero(a.dtype)
    if a == zero or b == top:
        return top
    return min(max(b.item() - a.item(), min(zero, top)), max(zero, top))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ring", RINGS)
def test_residual_of_matrices(ring, dtype):
    rng = np.random.default_rng(0)
    for m, k, n in ((1, 1, 1), (3, 2, 4), (5, 7, 1), (2, 40, 33)):
        a, b = values((m, k), dtype, rng), values((m, n), dtype, rng)
        x = left_residual(a, b, ring)
        assert x.dtype == dtype
        best = min if ring == "maxplus" else max
        want = [
            [best(map(quotient, column, known, repeat(ring))) for known in b.T] for column in a.T
        ]
        np.testing.assert_array_equal(x, want)
        assert bounds(tropical.gemm(a, x, semiring=ring), b, ring).all()
        np.testing.assert_array_equal(right_residual(a.T, b.T, ring), x.T)


@pytest.mark.parametrize("dtype", ["float64", "int8"])
def test_residual_of_vectors_and_batches(dtype):
    rng = np.random.default_rng(1)
    a, b = values((2, 1, 4, 3), dtype, rng), values((5, 4, 2), dtype, rng)
    x = left_residual(a, b)
    assert x.shape == (2, 5, 3, 2)
    for i in range(2):
        for j in range(5):
            np.testing.assert_array_equal(x[i, j], left_residual(a[i, 0], b[j]))
            np.testing.assert_array_equal(x[i, j, :, 0], left_residual(a[i, 0], b[j, :, 0]))
            np.testing.assert_array_equal(
                x[i, j, :, 0], right_residual(a[i, 0].T[:, ::-1], b[j, ::-1, 0])
            )
    assert left_residual(np.zeros((0, 2)), np.zeros(0)).tolist() == [inf, inf]
    assert left_residual(np.zeros((2, 0)), np.zeros((2, 3))).shape == (0, 3)


def test_infinities_survive_promotion():
    least = np.array([[-128, 1]], np.int8)
    ends = np.iinfo(np.int32)
    assert left_residual(least, np.array([5], np.int32)).tolist() == [ends.max, 4]
    assert left_residual(least, [5.0]).tolist() == [inf, 4]
    assert convolve(np.array([0, 127], np.int8), [0.5]).tolist() == [0.5, inf]


@settings(max_examples=50)
@given(st.data())
def test_galois(data):
    numbers = st.one_of(st.integers(-20, 20).map(float), st.sampled_from([-inf, inf]))
    m, k = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))

    def draw(*shape):
        size = int(np.prod(shape))
        return np.array(data.draw(st.lists(numbers, min_size=size, max_size=size))).reshape(shape)

    a, x, b = draw(m, k), draw(k), draw(m)
    below = (tropical.gemm(a, x) <= b).all()
    assert below == (x <= left_residual(a, b)).all()
    once = left_residual(a, b)
    np.testing.assert_array_equal(left_residual(a, tropical.gemm(a, once)), once)


@pytest.mark.parametrize("function", [left_residual, right_residual])
def test_residuals_refuse(function):
    wrong = r"b: expected .* a of shape \(2, 2\), got \(3,\)"
    check_refused(
        function,
        (ValueError, r"a: expected \(..., ., .\), got \(2,\)", [1, 2], [1, 2]),
        (ValueError, wrong, np.zeros((2, 2)), np.zeros(3)),
        (ValueError, r"b: expected .* got \(\)", [[1.0]], 1.0),
        (TypeError, "b is a masked array", [[1.0]], np.ma.ones(1)),
        (ValueError, "expected maxplus or minplus, got maxtimes", [[1.0]], [1.0], "maxtimes"),
        (TypeError, "bool", [[True]], [True]),
    )


def full_convolution(f, g, ring):
    plus = semirings.get(ring)
    n, m = len(f), len(g)
    c = np.full(n + m - 1, plus.zero(f.dtype), f.dtype)
    for s in range(n):
        moved = tropical.gemm(f[s : s + 1, None], g[None], semiring=ring)[0]
        c[s : s + m] = plus.add_ufunc(c[s : s + m], moved)
    return c


def loop_deconvolution(f, g, ring):
    best = min if ring == "maxplus" else max
    return [best(map(quotient, g, f[t:], repeat(ring))) for t in range(len(f))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ring", RINGS)
def test_convolutions(ring, dtype):
    rng = np.random.default_rng(2)
    sizes = [(1, 1), (1, 5), (5, 1), (2, 2), (7, 4), (4, 7), (16, 16), (50, 83), (100, 101)]
    for n, m in sizes:
        f, g = values(n, dtype, rng), values(m, dtype, rng)
        c = convolve(f, g, ring)
        assert c.dtype == dtype
        np.testing.assert_array_equal(c, full_convolution(f, g, ring))
        np.testing.assert_array_equal(convolve(g, f, ring, mode="curve"), c[: min(n, m)])
        d = deconvolve(f, g, ring)
        assert d.dtype == dtype
        np.testing.assert_array_equal(d, loop_deconvolution(f, g, ring))
        assert bounds(convolve(d, g, ring)[:n], f, ring).all()


def convex_curve(n, dtype, seed, ring="minplus", step=9):
    """Samples with equal slopes now and then; floats have slopes that differ in the last bits."""
    rng = np.random.default_rng(seed)
    slopes = np.sort(rng.integers(-step, step, n))
    if np.dtype(dtype).kind == "f":
        slopes = np.sort(slopes + rng.choice([0.0, 0.1, 1e-7, 2.0**-52], n))
    curve = np.cumsum(slopes)
    return (curve if ring == "minplus" else -curve).astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("ring", RINGS)
def test_convex_curves_have_the_bits_of_the_definition(ring, dtype, monkeypatch):
    """Rounding may make a curve no longer convex: then the product computes it."""
    module, merged = importlib.import_module("tropical.spectral.curves"), []
    real = module.convex.convolution
    monkeypatch.setattr(
        module.convex, "convolution", lambda *a: merged.append(real(*a)) or merged[-1]
    )
    for seed, (n, m) in enumerate([(1, 1), (1, 7), (2, 2), (9, 4), (30, 41), (200, 160)]):
        f, g = (convex_curve(k, dtype, seed + i, ring, 1 + 40 // n) for i, k in enumerate((n, m)))
        for function, *arguments in (
            (convolve, f, g, ring),
            (convolve, g, f, ring),
            (deconvolve, -f, g, ring),
            (deconvolve, np.stack([-f, -f]), g, ring),
            (convolve, np.stack([f, f])[:, None], np.stack([g, g, g]), ring),
        ):
            monkeypatch.setattr(module, "SMALL", 1 << 60)
            want = function(*arguments)
            monkeypatch.setattr(module, "SMALL", 0)
            assert_same_bits(function(*arguments), want, function, n, m)
    assert sum(x is not None for x in merged) >= 12


@pytest.mark.parametrize(
    "curve",
    [
        [-(2.0**-60), 1.0, 2.0],  # the first slope is greater by 2 ** -60, rounded it is 1
        [0.0, -1.0, 5.0, 6.0],
        [0.0, 1.0, 2.0, np.inf],
        [-1e308, 1e308, 1.7e308, 1.7e308],
        np.array([0, 1, 127], np.int8),
        np.array([-(2**62), 2**62, 2**62 + 1]),
    ],
)
def test_curves_that_are_not_convex_or_not_finite(curve):
    convex = importlib.import_module("tropical.spectral.convex")
    f, g = np.array(curve), np.array([0, 1, 3], np.asarray(curve).dtype)
    assert convex.convolution(f, g, 0, len(f) + 2, semirings.minplus) is None


def test_convex_curves_are_not_multiplied(monkeypatch):
    """100,000 samples: 10 ** 10 additions otherwise."""
    monkeypatch.setattr(tropical, "gemm", None)
    t = np.arange(100_000)
    both = convolve(rate_latency(5, 700, t), rate_latency(3, 400, t), mode="curve")
    np.testing.assert_array_equal(both, rate_latency(3, 1100, t))
    flow = deconvolve(token_bucket(7, 2, t), rate_latency(3, 400, t))
    assert flow[:3].tolist() == [807, 809, 811]


def test_curves_in_batches_and_any_strides():
    rng = np.random.default_rng(3)
    f, g = rng.integers(0, 99, (2, 1, 30)), rng.integers(0, 99, (3, 20))
    c, d = convolve(f, g), deconvolve(f, g)
    assert c.shape == (2, 3, 49) and d.shape == (2, 3, 30)
    for i in range(2):
        for j in range(3):
            np.testing.assert_array_equal(c[i, j], convolve(f[i, 0], g[j]))
            np.testing.assert_array_equal(d[i, j], deconvolve(f[i, 0], g[j]))
    long = rng.random(80)
    np.testing.assert_array_equal(
        convolve(long[::-2], long[3::5]), convolve(long[::-2].copy(), long[3::5].copy())
    )


def test_curves_of_network_calculus():
    t = np.arange(60)
    arrival, service = token_bucket(9, 2, t), rate_latency(5, 7, t)
    assert arrival[0] == 0 and arrival.dtype == service.dtype == int
    assert token_bucket(0.5, 1, [1, 2]).tolist() == [1.5, 2.5]
    # Two servers in a row: the slower rate, the sum of the latencies.
    both = convolve(service, rate_latency(3, 4, t), mode="curve")
    np.testing.assert_array_equal(both, rate_latency(3, 11, t))
    assert backlog(arrival, service) == 9 + 2 * 7
    assert deconvolve(arrival, service)[0] == 23
    np.testing.assert_array_equal(deconvolve(arrival, service)[:20], 23 + 2 * t[:20])
    assert delay(arrival, service) == 9  # what has come by t = 1 is served by t = 7 + 11 / 5
    late = np.append(service, np.full(9, service[-1]))
    assert delay(arrival, service[:20]) == inf
    assert delay(arrival, late) == delay(arrival, service)
    assert delay([0, 1], [5, 5]) == 0
    assert backlog([1.0, inf], [inf, inf]) == -inf
    assert backlog([inf], [3]) == inf


def test_a_server_of_infinite_rate_only_delays():
    late = rate_latency(np.inf, 2, np.arange(6))
    assert token_bucket(3, np.inf, [0, 1]).tolist() == [0, np.inf]
    assert late.tolist() == [0, 0, 0, np.inf, np.inf, np.inf]
    flow = token_bucket(5, 1, np.arange(6))
    assert convolve(flow, late, mode="curve").tolist() == [0, 0, 0, 6, 7, 8]
    assert delay(flow, late) == 2


@pytest.mark.parametrize("dtype", ["u1", "i1", "u8", "i8"])
def test_sampled_curves_do_not_wrap(dtype):
    times = np.arange(4, dtype=dtype)
    assert rate_latency(100, 2, times).tolist() == [0, 0, 0, 100]
    assert token_bucket(100, 100, times).tolist() == [0, 200, 300, 400]
    assert rate_latency(2**62, 1, times).tolist() == [0, 0, 2.0**62, 2.0**63]
    assert token_bucket(2**62, 2**61, times).tolist() == [0, 1.5 * 2**62, 2.0**63, 2.5 * 2**62]


def test_backlog_of_what_is_infinite():
    assert backlog([-np.inf, 3.0], [-np.inf, 1.0]) == 2
    assert backlog([np.inf, 3.0], [np.inf, 1.0]) == 2
    assert backlog([-np.inf], [-np.inf]) == -np.inf
    assert backlog([1.0], [-np.inf]) == np.inf


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_deviations_of_integers_that_float64_rounds(dtype):
    most = int(np.iinfo(dtype).max)
    arrival, service = np.array([most, most - 2], dtype), np.array([most - 3, most - 2], dtype)
    assert backlog(arrival, service) == 3
    assert backlog(service, arrival[::-1]) == -1
    assert delay(arrival, service) == inf
    assert delay(service[::-1], np.array([most - 3, most - 2, most], dtype)) == 1
    with pytest.raises(ValueError, match="never decreases"):
        delay(arrival, arrival)
    assert backlog(arrival, [0.5, 0.5]) == float(most)
    assert delay(arrival, [0.0, np.inf]) == 1


def test_curves_refuse():
    for function in (convolve, deconvolve):
        f, g = np.zeros((2, 3)), np.zeros((3, 3))
        check_refused(
            function,
            (ValueError, r"f: expected one sample or more, got \(0,\)", [], [1]),
            (ValueError, r"g: expected one sample or more, got \(\)", [1], 1),
            (ValueError, "expected maxplus or minplus, got orand", [1], [1], "orand"),
            (ValueError, r"g: expected .* broadcasts .* got \(3, 3\)", f, g),
            (ValueError, "g: expected numbers, got a NaN", [1.0, 2.0], [0.0, np.nan]),
            (TypeError, "f is a masked array", np.ma.ones(2), [1.0]),
            (TypeError, "complex", [1j], [1]),
        )
    with pytest.raises(ValueError, match=r"mode: expected .* got 'same'"):
        convolve([1], [1], mode="same")
    empty = ValueError, r"arrival: expected .* got \(0,\)", [], [1]
    nan = ValueError, "service: expected numbers, got a NaN", [1], [np.nan]
    shape = r"service: expected \(1,\), the shape of arrival, got \(2,\)"
    check_refused(backlog, empty, nan, (ValueError, shape, [1], [1, 2]))
    falls = ValueError, "service: expected a curve that never decreases", [1], [2, 1]
    check_refused(delay, empty, nan, falls)


@pytest.mark.parametrize("wrong", [1j, "abc", None, ["a", "b"]], ids=str)
def test_curves_take_real_numbers_alone(wrong):
    """They dropped imaginary parts, or let NumPy say what its ufuncs lack."""
    for bound in (backlog, delay):
        check_refused(bound, (TypeError, "arrival: expected real numbers", [wrong], [1]))
        check_refused(bound, (TypeError, "service: expected real numbers", [1], [wrong]))
    for name, arguments in (
        ("burst", (token_bucket, wrong, 1, [1])),
        ("rate", (token_bucket, 1, wrong, [1])),
        ("rate", (rate_latency, wrong, 1, [1])),
        ("latency", (rate_latency, 1, wrong, [1])),
    ):
        check_refused(arguments[0], (TypeError, f"^{name}: expected a number", *arguments[1:]))
    for curve in (token_bucket, rate_latency):
        check_refused(curve, (TypeError, "times: expected real numbers", 1, 1, wrong))
