"""Steps of optimizers in C++, against NumPy's operations in the same order: the same bits."""

import numpy as np
import pytest
from layouts import read_only
from support import assert_all_same_bits, assert_same_bits

import tropical
from tropical import _core

R = np.random.default_rng
LENGTHS = (0, 1, 3, 4, 7, 16, 33, 1000)


def sgd(p, g, s, lr):
    return p - g * lr, ()


def momentum(p, g, s, lr, momentum):
    v = s[0] * momentum + g
    return p - v * lr, (v,)


def nesterov(p, g, s, lr, momentum, ahead):
    v = s[0] * momentum + g
    return p - v * ahead - g * lr, (v,)


def adam(p, g, s, beta, fresh, gamma, share, scale, eps, rate):
    mean, square = s[0] * beta + g * fresh, s[1] * gamma + g * share * g
    return p - mean / (np.sqrt(square) * scale + eps) * rate, (mean, square)


def adamw(p, g, s, *of_adam_and_stays):
    *of_adam, stays = of_adam_and_stays
    return adam(p * stays, g, s, *of_adam)


def adagrad(p, g, s, lr, eps):
    total = s[0] + g * g
    return p - g / (np.sqrt(total) + eps) * lr, (total,)


def rmsprop(p, g, s, alpha, share, lr, eps):
    square = s[0] * alpha + g * share * g
    return p - g / (np.sqrt(square) + eps) * lr, (square,)


OF_ADAM = (0.9, 0.1, 0.999, 0.001, 31.6, 1e-8, 0.01)
CASES = {
    "sgd": (sgd, 0, (0.1,)),
    "momentum": (momentum, 1, (0.1, 0.9)),
    "nesterov": (nesterov, 1, (0.1, 0.9, 0.09)),
    "adam": (adam, 2, OF_ADAM),
    "adamw": (adamw, 2, (*OF_ADAM, 0.999)),
    "adagrad": (adagrad, 1, (0.1, 1e-10)),
    "rmsprop": (rmsprop, 1, (0.99, 0.01, 0.1, 1e-8)),
}
each = pytest.mark.parametrize("name", CASES)


def arrays(count, states, dtype, seed=0):
    draw = R(seed)
    p, g = draw.standard_normal((2, count)).astype(dtype)
    return p, g, tuple(draw.random((states, count)).astype(dtype))


def check(name, p, g, states, decay=0.0):
    """One step has the bits of NumPy's operations, and leaves g as it is."""
    formula, _, coefficients = CASES[name]
    kind = p.dtype.type
    decayed = p * kind(decay) + g.astype(p.dtype) if decay else g.astype(p.dtype)
    want, after = formula(p.copy(), decayed, states, *map(kind, coefficients))
    after, before = [a.copy() for a in after], g.copy()
    with tropical.options(threads=3):
        _core.optimizer_step(name, p, g, states, decay, coefficients)
    assert_same_bits(p, want)
    assert_all_same_bits(states, after)
    if not np.shares_memory(g, p):
        assert_same_bits(g, before)


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@each
def test_bits(name, dtype, decay):
    for count in (*LENGTHS, 100_001):
        p, g, states = arrays(count, CASES[name][1], dtype)
        for _ in range(3):
            check(name, p, g, states, decay)


@each
def test_gradients_of_any_kind(name):
    count = CASES[name][1]
    for change in (
        lambda g: g.astype("f8"),
        lambda g: g.astype(">f4"),
        lambda g: np.repeat(g, 2)[::2],
        lambda g: g[::-1],
        lambda g: np.broadcast_to(g[:1], g.shape),
        lambda g: np.frombuffer(b"x" + g.tobytes(), "f4", offset=1),
        read_only,
    ):
        p, g, states = arrays(33, count, "float32")
        check(name, p, change(g), states)


@each
def test_gradients_in_the_memory_of_the_parameter(name):
    for g_of in (lambda memory: memory[1:], lambda memory: memory[:-1]):
        memory, _, states = arrays(41, CASES[name][1], "float64")
        p, g = memory[1:], g_of(memory)
        check(name, p, g, tuple(state[1:] for state in states))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_states_do_not_stay_subnormal(dtype):
    tiny = np.finfo(dtype).smallest_subnormal * 100
    for name, (_, count, coefficients) in CASES.items():
        p, g, states = arrays(9, count, dtype)
        g[:] = 0
        for state in states:
            state[:] = tiny
        before = p.copy()
        _core.optimizer_step(name, p, g, states, 0.0, coefficients)
        assert not np.any(states), name
        if name != "adamw":
            assert_same_bits(p, before)


def test_small_eps_keeps_subnormal_squares():
    for dtype in ("float32", "float64"):
        square = np.full(9, np.finfo(dtype).smallest_subnormal * 1000)
        p, g, _ = arrays(9, 1, dtype)
        g[:] = 0
        before = p.copy()
        faults = _core.optimizer_step("rmsprop", p, g, (square,), 0.0, (0.99, 0.01, 0.1, 0.0))
        assert square.all() and not faults & ~4
        assert_same_bits(p, before)


@pytest.mark.parametrize("count", LENGTHS[1:])
def test_faults(count):
    def faults(p, g, square=1.0, eps=1e-8):
        arrays = [np.ones(count, "f4") for _ in range(3)]
        for array, value in zip(arrays, (p, g, square), strict=True):
            array[-1] = value
        coefficients = (0.5, 0.5, 0.1, eps)
        return _core.optimizer_step("rmsprop", *arrays[:2], (arrays[2],), 0.0, coefficients)

    assert faults(1, 1) == 0
    assert faults(1, 1e-30, 0.0, 0.0) & 1
    assert faults(1, 1e30) == 2
    assert faults(1, 0.0, 0.0, 0.0) == 8
    assert faults(1, 1, -3.0) == 8
    assert faults(np.nan, np.nan) == 0
    assert faults(1, np.inf) == 8


def test_refuses():
    p, g, states = arrays(4, 2, "float32")
    good = {"algorithm": "adam", "p": p, "g": g, "states": states, "decay": 0.0}
    good["coefficients"] = OF_ADAM
    for name, wrong, error, message in [
        ("algorithm", "lion", ValueError, "algorithm: expected one of sgd, .*, got 'lion'"),
        ("p", p.astype(int), TypeError, "p: expected dtype float32 or float64, got int64"),
        ("p", p.astype(">f4"), TypeError, "p: expected dtype .*, got >f4"),
        ("p", np.repeat(p, 2)[::2], ValueError, "p: expected an array in C order"),
        ("p", read_only(p), ValueError, "p: expected a writeable array"),
        ("g", g[:3], ValueError, r"g: expected shape \(4,\), as p has, got \(3,\)"),
        ("states", states[:1], ValueError, "states: expected 2 for adam, got 1"),
        ("states", (states[0], read_only(p)), ValueError, r"states\[1\]: expected a writeable"),
        ("states", (states[0], g[:3]), ValueError, r"states\[1\]: expected shape \(4,\)"),
        ("states", (states[0], g.astype("f8")), TypeError, r"states\[1\]: expected dtype float32"),
        ("coefficients", (1.0,), ValueError, "coefficients: expected 7 for adam, got 1"),
        ("coefficients", 0.1, TypeError, "coefficients: expected a tuple or a list, got 0.1"),
        ("coefficients", ("a",) * 7, TypeError, r"coefficients\[0\]: expected a number, got 'a'"),
        ("decay", "0", TypeError, "decay: expected a number, got '0'"),
        ("p", [1.0] * 4, TypeError, r"p: expected an array, got \[1.0, "),
        ("g", [1.0] * 4, TypeError, "g: expected an array, got"),
        ("g", g[None], ValueError, r"g: expected shape \(4,\), as p has, got \(1, 4\)"),
        ("g", g.astype(complex), TypeError, "g: expected real numbers, got complex128"),
        ("states", p, TypeError, "states: expected a tuple or a list, got array"),
        ("states", ([0.0] * 4, states[1]), TypeError, r"states\[0\]: expected an array, got"),
        ("states", (states[0], g.reshape(2, 2)), ValueError, r"states\[1\]: expected shape"),
        ("states", (p, states[1]), ValueError, r"states\[0\]: expected memory of its own, .* p"),
        ("states", states[:1] * 2, ValueError, r"states\[1\]: .* got that of states\[0\]"),
    ]:
        before = [array.copy() for array in (p, *states)]
        with pytest.raises(error, match=message):
            _core.optimizer_step(**{**good, name: wrong})
        assert_all_same_bits((p, *states), before)


def test_states_in_a_list():
    p, g, states = arrays(9, 2, "float32")
    q, others = p.copy(), tuple(state.copy() for state in states)
    _core.optimizer_step("adam", p, g, list(states), 0.0, list(OF_ADAM))
    _core.optimizer_step("adam", q, g, others, 0.0, OF_ADAM)
    assert_all_same_bits((p, *states), (q, *others))
