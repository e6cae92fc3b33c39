"""The engine: graphs, walks, hooks, checkpoints, errors."""

import copy
import functools
import gc
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import numpy as np
import pytest
from support import in_threads, run_python

from tropical import autograd
from tropical.autograd import (
    GraphReleasedError,
    Tensor,
    check_gradients,
    checkpoint,
    enable_grad,
    grad,
    is_grad_enabled,
    no_grad,
    products,
    walk,
)

pytestmark = pytest.mark.portable

pool = functools.partial(autograd.max_pool2d, np.ones((1, 1, 4, 4)))
PAIR = "expected one or two ints"


def leaf(*values):
    return Tensor(np.array(values, dtype=np.float64), requires_grad=True)


def test_a_long_chain():
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1
    del y
    for _ in range(2):  # one that is never walked dies without recursion as well
        y = x
        for _ in range(50_000):
            y = y * 1.0
    del y


def test_a_graph_with_many_paths_is_walked_once_a_node():
    x = leaf(1.0)
    y = x
    for _ in range(60):  # 2 ** 60 paths
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_gradients_add_up_over_walks():
    x = leaf(1.0, 2.0)
    for count in (1, 2, 3):
        (x * 3).sum().backward()
        np.testing.assert_array_equal(x.grad.data, [3.0 * count] * 2)


def test_gradients_of_leaves_share_nothing():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = np.array([1.0, 1.0])
    (x + y).backward(seed)
    x.grad.data[0] = 7
    assert seed[0] == 1 and y.grad.data[0] == 1
    z = leaf(1.0, 2.0)
    z.backward(seed)
    z.grad.data[0] = 7
    assert seed[0] == 1
    # Views of one gradient.
    w = leaf(*range(6))
    w.reshape(2, 3).T.backward(np.ones((3, 2)))
    w.grad.data[0] = 7
    (w.reshape(2, 3).sum(axis=0)).backward(np.ones(3))
    assert w.grad.data[1] == 2


def test_a_released_graph_says_so():
    x = leaf(1.0)
    y = (x * x).exp()
    y.backward()
    before = x.grad.item()
    with pytest.raises(GraphReleasedError, match="released; call backward\\(retain_graph=True"):
        y.backward()
    with pytest.raises(RuntimeError, match="released"):
        (y * 2 + x).backward()
    assert x.grad.item() == before


def test_retain_graph():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8
    with pytest.raises(GraphReleasedError):
        y.backward()


def test_a_walk_that_fails_changes_no_leaf():
    x, w = leaf(1.0), leaf(1.0)
    early = x * 1.0
    early.backward()
    x.grad = None
    with pytest.raises(GraphReleasedError):
        (early + w * 1.0).backward()
    assert x.grad is None and w.grad is None


def test_no_grad_and_enable_grad():
    x = leaf(1.0)
    with no_grad():
        assert not is_grad_enabled()
        y = x * 2
        with enable_grad():
            z = x * 2
    assert is_grad_enabled()
    assert not y.requires_grad and z.requires_grad and y.is_leaf and not z.is_leaf

    @no_grad()
    def double(t):
        return t * 2

    assert not double(x).requires_grad and is_grad_enabled()
    with pytest.raises(ZeroDivisionError), no_grad():
        raise ZeroDivisionError
    assert is_grad_enabled()
    other = []
    with no_grad():
        in_threads(lambda _: other.append(is_grad_enabled()), 1)
    inherited = bool(getattr(sys.flags, "thread_inherit_context", 0))  # CPython without a GIL
    assert other == [not inherited]


def test_detach_shares_data_and_forgets():
    x = leaf(1.0)
    y = (x * 2).detach()
    assert not y.requires_grad
    (x * y).backward()
    assert x.grad.item() == 2
    assert x.detach().data is x.data


def test_retain_grad():
    x = leaf(3.0)
    y = x * x
    y.retain_grad()
    y.retain_grad()
    z = y * 2
    z.backward()
    assert y.grad.item() == 2 and x.grad.item() == 12 and z.grad is None
    x.retain_grad()  # nothing to do
    with pytest.raises(RuntimeError, match="does not require grad"):
        Tensor(1.0).retain_grad()


def test_requires_grad_can_be_set_on_leaves():
    x = Tensor([1.0])
    x.requires_grad = True
    (x * 2).backward()
    assert x.grad.item() == 2
    x.requires_grad = False
    assert not (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="computed from others"):
        (leaf(1.0) * 2).requires_grad = False


def test_backward_wants_a_gradient_that_fits():
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match=r"backward: expected a tensor of one element, .* \(2,\)"):
        (x * 2).backward()
    with pytest.raises(ValueError, match=r"gradient: expected shape \(2,\), got \(3,\)"):
        (x * 2).backward(np.ones(3))
    with pytest.raises(RuntimeError, match="does not require grad"):
        Tensor([1.0]).backward()
    (x * 2).backward(Tensor([1.0, 10.0]))
    np.testing.assert_array_equal(x.grad.data, [2, 20])


def test_grad_of_leaves_and_others():
    x, unused = leaf(3.0), leaf(1.0, 1.0)
    y = x * x
    z = y * y
    gx, gy, gu = grad(z, [x, y, unused])
    assert gx.item() == 4 * 27 and gy.item() == 18 and not gu.data.any() and gu.shape == (2,)
    assert x.grad is None and y.grad is None
    with pytest.raises(RuntimeError, match=r"inputs\[0\] does not require grad"):
        grad(x * 1, [Tensor(1.0)])
    with pytest.raises(RuntimeError, match="grad: output does not require grad"):
        grad(Tensor(1.0), [x])


def test_higher_orders():
    x = leaf(0.5)
    y = autograd.sigmoid(x)
    values = [y]
    for _ in range(4):
        values.append(grad(values[-1], [x], create_graph=True)[0])
    s = y.item()
    assert values[1].item() == pytest.approx(s * (1 - s))
    assert values[2].item() == pytest.approx(s * (1 - s) * (1 - 2 * s))
    assert values[3].item() == pytest.approx(s * (1 - s) * (1 - 6 * s + 6 * s * s))
    x.grad = None
    (x**3).backward(create_graph=True)
    x.grad.backward()
    assert x.grad.item() == pytest.approx(3 * 0.25 + 6 * 0.5)


def test_hooks_inspect_replace_and_go():
    x = leaf(1.0, 2.0)
    seen = []
    first = x.register_hook(lambda g: seen.append(g.data.copy()))
    second = x.register_hook(lambda g: g * 10)
    third = x.register_hook(lambda g: g.data + 1)
    (x * 2).sum().backward()
    np.testing.assert_array_equal(seen, [[2, 2]])
    np.testing.assert_array_equal(x.grad.data, [21, 21])
    for handle in (first, second, third, first):
        handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    np.testing.assert_array_equal(x.grad.data, [2, 2])
    assert len(seen) == 1


def test_a_hook_sees_the_whole_gradient_once():
    x = leaf(2.0)
    y = x * 3
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    x.register_hook(lambda g: seen.append(g.item()))
    (y * y + y + x).backward()
    assert seen == [13.0, 40.0]


def test_bad_hooks():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g[:1])
    with pytest.raises(ValueError, match=r"expected a gradient \(2,\), got \(1,\)"):
        x.sum().backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        Tensor(1.0).register_hook(print)


def test_hooks_in_a_recorded_walk():
    x = leaf(2.0)
    x.register_hook(lambda g: g * 2)
    (slope,) = grad(x**3, [x], create_graph=True)
    assert slope.item() == 24 and slope.requires_grad


def test_checkpoint_computes_the_same_and_keeps_less():
    calls = []

    def layer(x, w, scale):
        calls.append(is_grad_enabled())
        return (x @ w).tanh() * scale

    x, w = leaf(1.0, 2.0), Tensor(np.full((2, 2), 0.3), requires_grad=True)
    layer(x, w, 2.0).sum().backward()
    wanted = x.grad.data.copy(), w.grad.data.copy()
    x.grad = w.grad = None
    calls.clear()
    y = checkpoint(layer, x, w, 2.0).sum()
    assert len(calls) == 1
    y.backward()
    assert len(calls) == 2
    np.testing.assert_array_equal(x.grad.data, wanted[0])
    np.testing.assert_array_equal(w.grad.data, wanted[1])


def test_checkpoint_reaches_parameters_inside():
    w = leaf(3.0)
    x = Tensor([2.0])
    checkpoint(lambda t: t * w, x).backward()
    assert w.grad.item() == 2
    with no_grad():
        assert not checkpoint(lambda t: t * w, x).requires_grad


def dropped(x, **how):
    return checkpoint(lambda t: autograd.dropout(t, 0.5, **how), x)


def test_checkpoint_draws_the_same_masks():
    x = Tensor(np.ones(1000), requires_grad=True)
    autograd.seed(5)
    y, z = dropped(x), dropped(x)
    after = autograd.generator().random()
    y.backward(np.ones(1000))
    np.testing.assert_array_equal(x.grad.data, y.data)
    assert (y.data != z.data).any()
    autograd.seed(5)
    np.testing.assert_array_equal(dropped(x).data, y.data)
    dropped(x)
    assert autograd.generator().random() == after


def test_checkpoint_leaves_a_generator_of_ones_own_alone():
    x, rng = leaf(*np.ones(100)), autograd.generator()
    assert (dropped(x, rng=rng).data != dropped(x, rng=rng).data).any()


def twice_dropped(x, rng):
    return checkpoint(lambda t: dropped(autograd.dropout(t, 0.3, rng=rng), rng=rng), x)


@pytest.mark.parametrize("function", [dropped, twice_dropped])
@pytest.mark.parametrize("retain", [False, True])
def test_checkpoint_repeats_the_draws_of_any_generator(function, retain):
    """The user's generator draws as without checkpoints, and once."""
    x, rng, same = leaf(*np.ones(500)), np.random.default_rng(3), np.random.default_rng(3)
    y, z = function(x, rng=rng), function(x, rng=rng)
    want = autograd.dropout(np.ones(500), 0.3, rng=same) if function is twice_dropped else 1
    np.testing.assert_array_equal(y.data, want * autograd.dropout(np.ones(500), 0.5, rng=same))
    assert (y.data != z.data).any()
    state = rng.bit_generator.state
    for value in (z, y, y)[: 2 + retain]:
        (g,) = grad(value, [x], np.ones(500), retain_graph=retain)
        np.testing.assert_array_equal(g.data, value.data)
    assert rng.bit_generator.state == state


def test_seeds_inside_a_checkpoint_hold_inside():
    def function(t):
        autograd.seed(5)
        return autograd.dropout(t, 0.5)

    x = leaf(*np.ones(100))
    autograd.seed(1)
    first = autograd.generator().random(3)
    autograd.seed(1)
    y = checkpoint(function, x)
    y.backward(np.ones(100))
    np.testing.assert_array_equal(x.grad.data, y.data)
    autograd.seed(1)
    assert (autograd.generator().random(3) == first).all()


def test_a_parameter_made_in_a_checkpoint_gets_its_gradient():
    made = []

    def function(t):
        if not made:
            made.append(leaf(3.0))
        return t * made[0]

    checkpoint(function, Tensor(2.0)).backward()
    assert made[0].grad.item() == 2


def test_a_value_from_inside_a_checkpoint_may_stay_alive():
    w, kept = leaf(2.0), []

    def function(t):
        kept[:] = [t * w]
        kept[0].retain_grad()
        return kept[0] * kept[0]

    checkpoint(function, Tensor(3.0)).backward()
    assert w.grad.item() == 36 and kept[0].grad is None


def test_checkpoint_refuses_other_tensors():
    calls = []

    def function(t):
        calls.append(leaf(2.0))
        return t * calls[-1]

    with pytest.raises(RuntimeError, match=r"first call, 1 and .*, got others, 1 and"):
        checkpoint(function, Tensor(3.0)).backward()


def test_checkpoint_in_a_walk_of_two_threads():
    x, w = leaf(3.0), leaf(2.0)
    y = checkpoint(lambda t: t * w, x)

    def work(k):
        for _ in range(50):
            gradients = grad(y, [x, w], [k], retain_graph=True)
            assert [g.item() for g in gradients] == [2 * k, 3 * k]

    in_threads(work, 9)


def test_grad_computes_only_what_it_must_in_a_checkpoint(monkeypatch):
    count = Mock(wraps=products._gemm)
    monkeypatch.setattr(products, "_gemm", count)
    x, w = Tensor([[1.0, 2.0]], requires_grad=True), Tensor(np.eye(2), requires_grad=True)
    y = checkpoint(lambda t: t @ w, x).sum()
    count.reset_mock()
    grad(y, [x])
    assert count.call_count == 2  # again forward, and back to x


def test_grad_through_a_checkpoint_beside_a_graph_that_was_released():
    w = leaf(2.0)
    other = w * w
    x = leaf(3.0)
    y = checkpoint(lambda s, t: s * t, x, other)
    other.backward()
    assert grad(y, [x])[0].item() == 4


def test_hooks_are_called_in_the_same_order_each_time():
    orders = set()
    for _ in range(5):
        seen = []
        leaves = [leaf(float(i)) for i in range(8)]
        for number, x in enumerate(leaves):
            x.register_hook(lambda g, number=number, seen=seen: seen.append(number))
        checkpoint(lambda *several: sum(several[1:], several[0]), *leaves).backward()
        orders.add(tuple(seen))
    assert len(orders) == 1


def test_checkpoint_inside_checkpoint():
    x = leaf(0.5)
    checkpoint(lambda a: checkpoint(lambda b: b.exp(), a) * a, x).backward()
    assert x.grad.item() == pytest.approx(np.exp(0.5) * 1.5)


def test_checkpoint_keeps_nothing_of_the_inside():
    inner = []

    def function(t):
        middle = t.exp()
        inner.append(weakref.ref(middle.data))
        return (middle * middle).sum()

    x = leaf(0.5, 0.25)
    y = checkpoint(function, x)
    assert inner[0]() is None
    y.backward(retain_graph=True)
    assert inner[1]() is None
    x.grad = None
    y.backward()
    np.testing.assert_allclose(x.grad.data, 2 * np.exp([1.0, 0.5]))
    assert len(inner) == 3


def test_a_leaf_inside_and_outside_of_a_checkpoint_gets_one_gradient():
    w, seen = leaf(3.0), []
    w.register_hook(lambda g: seen.append(g.item()))
    computed = w * 2
    (checkpoint(lambda t: t * w * computed, Tensor(2.0)) + w).backward()
    assert w.grad.item() == 8 * 3 + 1  # of 4 w^2 + w
    assert seen == [25]


def test_grad_reaches_into_checkpoints():
    w, x = leaf(3.0), leaf(2.0)
    y = checkpoint(lambda t: t * t * w, x)
    for inputs, gradients in (([w], [4]), ([x], [12]), ([x, w], [12, 4]), ([w, x], [4, 12])):
        found = grad(y * 1, inputs, retain_graph=True)
        assert [g.item() for g in found] == gradients
    assert w.grad is None and x.grad is None


def test_second_order_through_checkpoint():
    w = Tensor([0.3, 0.7], requires_grad=True)
    autograd.check_gradients(
        lambda a, b: checkpoint(lambda s, t: (s * t * w).tanh() * s, a, b), [0.1, 0.2], [0.3, -0.4],
        order=2,
    )  # fmt: skip
    y = checkpoint(lambda a: (a * w).exp(), Tensor([1.0, 2.0])).sum()
    (slope,) = grad(y, [w], create_graph=True)
    (curve,) = grad(slope.sum(), [w])
    np.testing.assert_allclose(curve.data, [np.exp(0.3), 4 * np.exp(1.4)])


def test_checkpoint_of_what_needs_no_gradient():
    x = leaf(1.0)
    assert not checkpoint(lambda t: t * 2, Tensor(1.0)).requires_grad
    assert not checkpoint(lambda t: t.detach() * 2, x).requires_grad
    same = checkpoint(lambda t: t, x)
    (same * 3).backward()
    assert x.grad.item() == 3


def test_checkpoint_takes_arguments_as_they_were():
    x = leaf(2.0)
    y = checkpoint(lambda t: t * t, x)
    x.data = np.array([100.0])
    y.backward()
    assert x.grad.item() == 4


def test_checkpoints_of_several_threads_draw_their_own_masks():
    def work(_):
        for _ in range(20):
            x = Tensor(np.ones(50), requires_grad=True)
            y = checkpoint(lambda t: autograd.dropout(autograd.dropout(t, 0.3), 0.3), x)
            y.backward(np.ones(50))
            np.testing.assert_array_equal(x.grad.data, y.data)

    in_threads(work, 8)


def test_checkpoint_refuses_what_is_no_tensor():
    with pytest.raises(TypeError, match="expected a Tensor as the value, got float"):
        checkpoint(lambda t: 1.0, leaf(1.0))


@pytest.mark.parametrize(
    "first, then, message",
    [
        (lambda t, w: t * w, lambda t, w: t * 2, r"of the first call, 2 and .*, got 1 and"),
        (lambda t, w: t * 2, lambda t, w: t * w, r"of the first call, 1 and .*, got 2 and"),
        (
            lambda t, w: t * 1,
            lambda t, w: t.reshape(1, 1) * 1,
            r"of the first call, 1 and \(1,\), got .*\(1, 1\)",
        ),
        (
            lambda t, w: t * 2,
            lambda t, w: t * 3,
            "expected the value of the first call, got another",
        ),
        (lambda t, w: t * np.nan, lambda t, w: t * 0, "expected the value of the first call"),
    ],
)
def test_checkpoint_refuses_a_function_that_changes(first, then, message):
    x, w = leaf(1.0), leaf(2.0)
    functions = iter([first, then])
    y = checkpoint(lambda t: next(functions)(t, w), x)
    with pytest.raises(RuntimeError, match=message):
        y.backward()
    assert x.grad is None and w.grad is None


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_checkpoint_takes_equal_values_of_any_kind(value):
    x = leaf(1.0, 2.0)
    with np.errstate(invalid="ignore"):
        checkpoint(lambda t: t * np.array([value, 1.0]), x).sum().backward()
    np.testing.assert_array_equal(x.grad.data, [value, 1.0])


def test_draws_that_checkpoint_cannot_repeat_are_noticed():
    x, rng = leaf(*np.ones(1000)), np.random.default_rng(3)
    y = checkpoint(lambda t: t * (rng.random(1000) < 0.5), x)
    with pytest.raises(RuntimeError, match=r"draw from tropical.autograd.generator\(\) alone"):
        y.sum().backward()


def test_buffers_die_with_their_last_use():
    x = Tensor(np.ones(1000), requires_grad=True)
    product = x * 2.0
    value = product.exp()
    dead = weakref.ref(product.data)
    alive = weakref.ref(value.data)
    del product
    assert dead() is None  # exp's rule asks for its value only
    total = value.sum()
    del value
    assert alive() is not None
    total.backward()
    assert alive() is None


def test_graphs_are_no_garbage_cycles():
    gc.collect()
    gc.disable()
    try:
        x = Tensor(np.ones(10), requires_grad=True)
        y = (x * x).exp()
        y.retain_grad()
        data = weakref.ref(y.data)
        y.sum().backward()
        del y
        assert data() is None
        z = (x * x).exp()
        data = weakref.ref(z.data)
        del z
        assert data() is None
    finally:
        gc.enable()


def test_a_leaf_that_died_is_passed_over():
    x = leaf(1.0)
    y = leaf(2.0)
    z = x * y
    del y
    z.backward()
    assert x.grad.item() == 2


def test_what_numpy_users_expect():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    array = np.array([10.0, 20.0])
    for ours, theirs in [
        (x + array, x.data + array),
        (array - x, array - x.data),
        (2 / x, 2 / x.data),
        (array @ x, array @ x.data),
        (-x, -x.data),
        (+x, x.data),
        (abs(-x), x.data),
        (x.mean(0), x.data.mean(0)),
        (x.max(axis=1, keepdims=True), x.data.max(axis=1, keepdims=True)),
        (x[0], x.data[0]),
    ]:
        assert isinstance(ours, Tensor)
        np.testing.assert_array_equal(ours.data, theirs)
    assert len(x) == 2 and x.ndim == 2 and x.size == 4 and x.shape == (2, 2)
    assert (x > 2).dtype == bool and (x == x.data).all() and not (x != x).any()
    assert (x <= 2).sum() == 2 and (x >= 2).sum() == 3 and (x < 2).sum() == 1
    assert float(x[0, 0]) == 1 and bool(x[0, 0]) and x[1, 1].item() == 4
    assert np.asarray(x) is x.data and x.numpy() is x.data
    assert [row.data.tolist() for row in x] == [[1, 2], [3, 4]]
    assert x.argmax(1).tolist() == [1, 1]
    assert len({x, x}) == 1
    assert repr(Tensor([1.0], requires_grad=True)) == "Tensor([1.], requires_grad=True)"
    with pytest.raises(TypeError, match="iteration over a 0-D"):
        iter(Tensor(1.0))
    with pytest.raises(TypeError, match="does not convert to an array"):
        np.asarray(leaf(1.0))


NAMED = [  # functions of NumPy, with its names and its order of arguments
    ("sum", (0, None, None, True), {}),
    ("mean", (), {"axis": 1, "dtype": None, "out": None, "keepdims": True}),
    ("max", (1, None, True), {}),
    ("min", (), {"axis": (0, 1), "out": None, "keepdims": False}),
    ("var", (1, None, None, 1, True), {}),
    ("var", (), {"axis": 0, "ddof": 0.5}),
    ("var", (), {"ddof": 1, "keepdims": True}),
    ("clip", (), {"a_min": -0.5, "a_max": 0.5}),
    ("clip", (-0.5,), {"a_max": None}),
    ("clip", (), {"min": -0.5, "max": 0.5}),
    ("transpose", (), {"axes": (1, 0)}),
    ("transpose", (), {"axes": None}),
    ("reshape", (), {"shape": (3, -1)}),
    ("reshape", (6,), {"order": "C"}),
    ("squeeze", (), {"axis": ()}),
    ("swapaxes", (), {"axis1": 0, "axis2": -1}),
    ("broadcast_to", (), {"shape": (2, 2, 3)}),
    ("pad", (), {"pad_width": 1, "mode": "constant", "constant_values": 2.0}),
    *(
        ("pad", (widths, mode), {})
        for mode in ("edge", "reflect", "symmetric", "wrap")
        for widths in (0, 1, ((0, 2), (1, 0)), ((4, 5), (3, 7)))
    ),
]


@pytest.mark.parametrize("name, arguments, named", NAMED)
def test_arguments_are_named_as_in_numpy(name, arguments, named):
    array = np.random.default_rng(0).standard_normal((2, 3))
    x = Tensor(array, requires_grad=True)
    want = getattr(np, name)(array, *arguments, **named)
    functions = [
        functools.partial(getattr(autograd, name), x),
        functools.partial(getattr(autograd, name), array),
    ]
    if name not in ("broadcast_to", "pad"):  # NumPy calls the method
        functions.append(functools.partial(getattr(np, name), x))
    for function in functions:
        got = function(*arguments, **named)
        np.testing.assert_allclose(got.data if isinstance(got, Tensor) else got, want, rtol=1e-14)
        assert isinstance(got, Tensor) == (function.args[0] is x)
    check_gradients(lambda x: getattr(autograd, name)(x, *arguments, **named), array, order=2)


def test_methods_of_arrays():
    x = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    for flat in (x.flatten(), x.ravel(order="C"), autograd.concatenate([x[0], x[1]], axis=None)):
        assert flat.data.tolist() == [0, 1, 2, 3, 4, 5] and flat.requires_grad
    for copied in (x.flatten(), x.copy(), x.astype(x.dtype)):
        assert not np.shares_memory(copied.data, x.data)
    assert x.tolist() == x.data.tolist() and x.argmin() == 0
    row = x[:1]
    assert row.squeeze().shape == row.squeeze(0).shape == (3,)
    (row * row.gelu() * row.ravel() * row.swapaxes(0, 1)).sum().backward()
    out = np.empty(3, np.intp)
    assert np.argmax(x, 0, out) is out and out.tolist() == [1, 1, 1]
    assert np.argmin(x, axis=1, keepdims=True).tolist() == [[0], [0]]


def test_exponentials_of_no_elements():
    x = Tensor(np.zeros((3, 0)), requires_grad=True)
    for y in (x.logsumexp(1), autograd.softmax(x), autograd.log_softmax(x)):
        assert y.shape in ((3,), (3, 0)) and np.isneginf(y.data).all()
        (g,) = autograd.grad(y.sum(), [x])
        assert g.shape == (3, 0)


def test_what_a_tensor_is_made_of():
    assert Tensor([1, 2]).dtype == np.float64 and Tensor(True).item() == 1
    assert Tensor([1.0], dtype="float32").dtype == np.float32
    big = np.array([1.0], dtype=">f4")
    assert Tensor(big).dtype == np.dtype(np.float32) and Tensor(big).data.dtype.isnative
    array = np.ones(3)
    assert Tensor(array).data is array
    for bad in ([1j], ["a"], np.ones(2, np.float16), [None]):
        with pytest.raises(TypeError, match="float32 or float64"):
            Tensor(bad)
    with pytest.raises(TypeError, match="expected an array, got a Tensor"):
        Tensor(Tensor(1.0))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float16"])
def test_functions_of_integers_and_float16_do_not_wrap(dtype):
    greatest = (np.iinfo if dtype.startswith(("u", "i")) else np.finfo)(dtype).max
    x, targets = np.array([0, 3], dtype), np.array([greatest, 0], dtype)
    want = ((x.astype(np.float64) - targets.astype(np.float64)) ** 2).mean()
    assert autograd.mse(x, targets) == pytest.approx(want, rel=1e-6)
    assert autograd.softmax(x).dtype == ("float32" if dtype == "float16" else "float64")
    assert autograd.mse(np.ones(2, np.float32), np.ones(2, "int8")).dtype == np.float32


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: autograd.clip(x, 2.0, 1.0), ValueError, "at most max = 1.0, got 2.0"),
        (lambda x: x.clip(1.0, min=0.0), TypeError, "expected each limit once"),
        (lambda x: x.clip(a_max=1.0, max=1.0), TypeError, "expected each limit once"),
        (lambda x: x.clip(0, 1, x.data), TypeError, "out: expected None"),
        (lambda x: x.sum(0, "float32"), TypeError, "dtype: expected None, got 'float32'"),
        (lambda x: x.max(0, x.data), TypeError, "out: expected None"),
        (lambda x: x.sum(where=None), TypeError, "unexpected keyword argument 'where'"),
        (lambda x: x.squeeze(1), ValueError, "axis: expected an axis of length 1"),
        (lambda x: x.var(ddof=6), ValueError, "ddof: expected less than 6, .*, got 6"),
        (lambda x: x.reshape(3, 2, order="F"), ValueError, "order: expected 'C', got 'F'"),
        (lambda x: x.flatten("F"), ValueError, "order: expected 'C', got 'F'"),
        (lambda x: x.reshape(3, 2, shape=6), TypeError, "shape: expected one, got"),
        (lambda x: x.reshape(), TypeError, "shape: expected one, got"),
        (lambda x: x.transpose(1, 0, axes=(1, 0)), TypeError, "axes: expected one order, got"),
        (
            lambda x: autograd.pad(x, 1, "mean"),
            ValueError,
            "mode: expected \"constant\", .* 'mean'",
        ),
        (lambda x: x.sum(axis=5), ValueError, "axis: expected an axis of 2 dimensions, got 5"),
        (lambda x: x.sum(1.0), TypeError, "^axis: expected an integer or several, got 1.0"),
        (lambda x: x.sum(axis="x"), TypeError, "^axis: expected an integer or several, got 'x'"),
        (lambda x: x.sum(axis=(0, None)), TypeError, r"^axis: expected .* got \(0, None\)"),
        (lambda x: x.squeeze(1.0), TypeError, "^axis: expected an integer or several, got 1.0"),
        (lambda x: x.reshape(2.0, 3), TypeError, "^shape: expected an integer or several"),
        (lambda x: x.transpose("x", 0), TypeError, "^axes: expected an integer or several"),
        (lambda x: x.swapaxes(0, None), TypeError, "^axis2: expected an integer, got None"),
        (lambda x: autograd.softmax(x, 1.0), TypeError, "^axis: expected an integer, got 1.0"),
        (lambda x: autograd.stack([x], "x"), TypeError, "^axis: expected an integer, got 'x'"),
        (lambda x: autograd.broadcast_to(x, None), TypeError, "^shape: expected an integer or"),
        (lambda x: autograd.embedding(1.0, [0]), ValueError, r"^weight: expected \(rows, n\)"),
        (lambda x: x.register_hook(None), TypeError, "hook: expected a function, got NoneType"),
        (lambda x: x.sum(axis=(0, 0)), ValueError, r"different axes, got \(0, 0\)"),
        (lambda x: x.transpose(0, 0), ValueError, "expected an order of the 2 axes"),
        (lambda x: autograd.concatenate([]), ValueError, "expected at least one"),
        (lambda x: autograd.stack([]), ValueError, "expected at least one"),
        (lambda x: x.astype("int32"), TypeError, "float32 or float64, got int32"),
        (lambda x: autograd.cross_entropy(x, [0]), ValueError, r"got \(1,\) for \(2, 3\)"),
        (lambda x: autograd.cross_entropy(x, [0, 3]), ValueError, "from 0 to 2, got 0 to 3"),
        (lambda x: autograd.cross_entropy(x, [-1, 0]), ValueError, "from 0 to 2, got -1 to 0"),
        (lambda x: autograd.cross_entropy(x, [0.0, 1.0]), TypeError, "expected integers"),
        (lambda x: autograd.cross_entropy(x, [0, 1], reduction="no"), ValueError, "got 'no'"),
        (lambda x: autograd.mse(x, [1.0]), ValueError, r"expected \(2, 3\), the shape of x"),
        (lambda x: autograd.dropout(x, 1.0), ValueError, r"\[0, 1\), got 1.0"),
        (lambda x: autograd.linear(x, x, activation="tan"), ValueError, "got 'tan'"),
        (lambda x: autograd.matmul(x, x), ValueError, "2, 3"),
        (lambda x: autograd.matmul(x, x.T, semiring="no"), ValueError, "no"),
        (lambda x: autograd.matmul(x, x.T, semiring="orand"), TypeError, "with a gradient"),
        (lambda x: autograd.matmul(x, 2.0), ValueError, "0-D"),
        (lambda x: autograd.conv2d(x, x), ValueError, "channels, height, width"),
        (lambda x: autograd.max_pool2d(x, 2), ValueError, "channels, height, width"),
        (lambda _: pool(3, padding=2), ValueError, "at most half of the window"),
        (lambda _: pool(9), ValueError, "expected padded images of at least"),
        (lambda _: pool(0), ValueError, f"kernel: {PAIR} of at least 1"),
        (lambda _: pool((1, 2, 3)), ValueError, f"kernel: {PAIR}"),
        (lambda _: pool(2, stride=0), ValueError, f"stride: {PAIR}"),
        (lambda x: autograd.batch_norm(x[0]), ValueError, "channels"),
        (lambda x: autograd.batch_norm(x[:1]), ValueError, "two values a channel"),
        (lambda x: autograd.batch_norm(x, training=False), ValueError, "expected arrays"),
        (lambda x: autograd.embedding(x, [2]), IndexError, "rows from 0 to 1, got 2 to 2"),
        (lambda x: autograd.embedding(x, [0.5]), TypeError, "expected integers"),
    ],
)
def test_errors_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call(Tensor(np.ones((2, 3)), requires_grad=True))


def test_grad_takes_one_tensor_or_any_iterable():
    x = leaf(3.0)
    y = x * x
    assert [g.item() for g in grad(y, x, retain_graph=True)] == [6]
    assert [g.item() for g in grad(y, (t for t in [x, y]))] == [6, 1]
    with pytest.raises(TypeError, match=r"inputs\[1\]: expected a Tensor, got float"):
        grad(x * x, [x, 1.0])
    with pytest.raises(TypeError, match="output: expected a Tensor, got ndarray"):
        grad(x.data, [x])


def test_grad_walks_no_further_than_it_must():
    x, other = leaf(2.0), leaf(5.0)
    seen = []
    other.register_hook(lambda g: seen.append("other"))
    x.register_hook(lambda g: seen.append("x"))
    behind = x * x
    behind.register_hook(lambda g: seen.append("behind"))
    y = behind * 3
    z = y * other
    (gradient,) = grad(z, [y])
    assert gradient.item() == 5 and seen == []
    y.backward()  # what lies behind y has its buffers yet
    assert x.grad.item() == 12 and seen == ["behind", "x"]
    with pytest.raises(GraphReleasedError):
        grad(z, [other])


def test_grad_sees_what_hooks_replace():
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    assert [g.item() for g in grad(y * 1, [x, y])] == [30, 10]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_copies_are_leaves_of_their_own(copied):
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    y = copied(x)
    assert type(y) is Tensor and y.requires_grad and y.is_leaf
    np.testing.assert_array_equal(y.grad.data, [2, 4])
    (y * 3).sum().backward()
    np.testing.assert_array_equal(y.grad.data, [5, 7])
    np.testing.assert_array_equal(x.grad.data, [2, 4])
    with pytest.raises(RuntimeError, match="detach"):
        copied(x * 1)
    assert not copied(x.detach()).requires_grad


def test_in_place_only_where_nothing_is_recorded():
    x = leaf(1.0, 2.0)
    data = x.data
    with pytest.raises(RuntimeError, match="not changed in place"):
        x += 1
    with no_grad():
        x += 1
        x -= Tensor([0.5, 0.5])
        x *= 2
        x /= 4
        x **= 1
        x **= 2
        x **= 0.5
    assert x.data is data and x.is_leaf
    np.testing.assert_array_equal(data, [0.75, 1.25])
    with pytest.raises(RuntimeError, match="not changed in place"):
        x **= 2
    with pytest.raises(RuntimeError, match="not changed in place"):
        x @= x
    y = before = x * 1
    y += 1  # a new tensor: a graph may need the old values
    assert y is not before
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.data, [1, 1])
    with no_grad(), pytest.raises(TypeError):
        x += 1j


def test_a_leaf_frozen_for_a_while_is_the_same_leaf():
    x, seen = leaf(2.0), []
    x.register_hook(lambda g: seen.append(g.item()))
    y = x * x
    x.requires_grad = False
    assert not (x * x).requires_grad
    x.requires_grad = True
    y.backward()
    assert x.grad.item() == 4 and seen == [4]


def test_create_graph_records_where_nothing_else_is():
    x = leaf(2.0)
    y = x**3
    with no_grad():
        (slope,) = grad(y, x, create_graph=True)
        (curvature,) = grad(slope, x)
        assert not is_grad_enabled()
    assert curvature.item() == 12


def test_hooks_are_not_recorded_but_where_the_walk_is():
    x, recording = leaf(2.0), []
    x.register_hook(lambda g: recording.append(is_grad_enabled()))
    (x * x).backward()
    (x * x).backward(create_graph=True)
    assert recording == [False, True] and is_grad_enabled()


def test_second_order_of_powers_at_exponent_zero():
    a, b = leaf(2.0), leaf(0.0)
    of_a, of_b = grad(a**b, [a, b], create_graph=True)
    assert grad(of_a, [b])[0].item() == grad(of_b, [a])[0].item() == 0.5
    zero = leaf(0.0)
    assert [g.item() for g in grad(zero**b, [zero, b])] == [0, 0]


def product(semiring):
    return lambda a, b: autograd.matmul(a, b, semiring=semiring)


ROW, COLUMN = [[1.0, 1.0]], [[1.0], [1.0]]
NAN_ROW, NAN_COLUMN = [[1.0, np.nan]], [[1.0], [np.nan]]
GRADIENTS = {
    # name: (function, inputs, gradients of its sum)
    "maxtimes, no positive product": (
        lambda a: autograd.matmul(a, [[3.0], [4.0]], semiring="maxtimes"),
        [[[-1.0, -2.0], [1.0, -2.0]]],
        [[[0, 0], [3, 0]]],
    ),
    "maxmin, NaN first": (product("maxmin"), [NAN_ROW, COLUMN], [[[0, 1]], [[0], [0]]]),
    "maxmin, NaN second": (product("maxmin"), [ROW, NAN_COLUMN], [[[0, 0]], [[0], [1]]]),
    "minmax, NaN first": (product("minmax"), [NAN_ROW, COLUMN], [[[0, 1]], [[0], [0]]]),
    "minmax, NaN second": (product("minmax"), [ROW, NAN_COLUMN], [[[0, 0]], [[0], [1]]]),
    "minplus, ties": (
        lambda a: autograd.matmul(a, np.zeros((2, 2)), semiring="minplus"),
        [np.zeros((2, 2))],
        [[[2, 0], [2, 0]]],
    ),
    "max, ties": (lambda x: x.max(), [[2.0, 1.0, 2.0]], [[0.5, 0, 0.5]]),
    "maximum, ties": (autograd.maximum, [[1.0, 2.0]] * 2, [[0.5, 0.5]] * 2),
    "pool, ties": (
        lambda x: autograd.max_pool2d(x, 2),
        [np.zeros((1, 1, 2, 2))],
        [[[[[1, 0], [0, 0]]]]],
    ),
    "lists as operands": (
        lambda x: (x * [3.0, 4.0]) ** [1, 2] + [[1.0], [2.0]],
        [[1.0, 2.0]],
        [[6, 2 * 2 * 2 * 16]],
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_by_hand(name):
    function, inputs, wanted = GRADIENTS[name]
    tensors = [Tensor(np.array(x), requires_grad=True) for x in inputs]
    function(*tensors).sum().backward()
    for tensor, want in zip(tensors, wanted, strict=True):
        np.testing.assert_array_equal(tensor.grad.data, want)


@pytest.mark.parametrize(
    "function, reached",
    [
        (autograd.relu, [0, 1, 1]),
        (lambda x: x.clip(0, 2), [0, 1, 0]),
        (lambda x: autograd.maximum(x, 2), [0, 0, 1]),
        (lambda x: autograd.where(x.data > 2, 0, x), [1, 1, 0]),
        (lambda x: x.max(), [0, 0, 1]),
    ],
)
def test_what_no_gradient_reaches_is_zero_though_the_gradient_is_infinite(function, reached):
    x = leaf(-1.0, 1.0, 3.0)
    y = function(x)
    (found,) = grad(y, [x], np.full(y.shape, np.inf))
    np.testing.assert_array_equal(found.data, np.where(reached, np.inf, 0))


def test_zero_beside_infinity_has_no_gradient():
    a, b = (Tensor(x, requires_grad=True) for x in ([[np.inf, 1.0]], [[0.0], [0.0]]))
    g = Tensor([[1.0]], requires_grad=True)
    c = autograd.matmul(a, b, semiring="maxtimes")
    first = grad(c, (a, b), g, create_graph=True)
    second = grad(first[0].sum() + first[1].sum(), (a, b, g))
    assert not any(x.data.any() for x in (*first, *second))


@pytest.mark.parametrize("semiring", ["plustimes", "maxplus", "maxtimes", "maxmin"])
def test_lists_are_matrices(semiring):
    w = Tensor([[1.0], [2.0]], requires_grad=True)
    autograd.matmul([[1.0, 2.0]], w, semiring=semiring).sum().backward()
    autograd.matmul(w, [[1.0, 2.0]], semiring=semiring).sum().backward()
    assert w.grad.shape == (2, 1)


def test_integers_have_softmax_and_empty_lists_embeddings():
    np.testing.assert_allclose(autograd.softmax([[0, 0]]), [[0.5, 0.5]])
    assert autograd.cross_entropy(np.array([[0, 0]]), [1]) == pytest.approx(np.log(2))
    assert autograd.embedding(np.ones((3, 2)), []).shape == (0, 2)


def test_numbers_from_tensors():
    assert int(Tensor(3.7)) == 3 and f"{Tensor(3.14159):.2f}" == "3.14"
    assert f"{Tensor([1.0])}" == "[1.]"


def test_no_grad_as_a_decorator_of_what_calls_itself_and_runs_in_threads():
    inside, outside = threading.Event(), threading.Event()

    @no_grad()
    def function(first):
        if first:
            inside.set()
            assert outside.wait(10)
        return is_grad_enabled()

    def other():
        assert inside.wait(10)
        assert not function(False)
        outside.set()
        return is_grad_enabled()

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(function, True), pool.submit(other)]
        assert [r.result() for r in results] == [False, True]
    assert is_grad_enabled()


def test_leaves_get_contiguous_gradients_of_their_own():
    x = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    kept = []
    (x.T * np.asfortranarray(np.ones((3, 2)))).sum().backward()
    assert x.grad.data.flags.c_contiguous
    x.grad = None
    y, z = Tensor([1.0], requires_grad=True), Tensor([2.0], requires_grad=True)
    (y + z).backward(create_graph=True)
    assert not np.shares_memory(y.grad.data, z.grad.data) and y.grad.data.flags.writeable
    y.grad = None
    y.register_hook(lambda g: kept.append(g) or np.array([7.0], dtype=np.float32))
    (y * 1).backward()
    assert y.grad.dtype == np.float64 and y.grad.item() == 7


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x * 1j,
        lambda x: x * np.ones(1, dtype=np.longdouble),
        lambda x: autograd.where([True], x, 1j),
        lambda x: autograd.stack([x, np.array([1j])]),
        lambda x: x.detach() * 1j,
    ],
)
def test_results_that_are_no_floats_are_refused(call):
    with pytest.raises(TypeError, match="float32 or float64"):
        call(leaf(1.0))


def test_numpy_integers_stand_for_numbers():
    x = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    one = np.int64(1)
    assert x.reshape(np.int64(3), np.int32(2)).shape == x.reshape(np.array([3, 2])).shape == (3, 2)
    assert x.sum(one).shape == (2,) and x.transpose(one, np.int8(0)).shape == (3, 2)
    x[one].sum().backward()
    np.testing.assert_array_equal(x.grad.data, [[0, 0, 0], [1, 1, 1]])
    images = np.ones((1, 1, 4, 4))
    assert autograd.max_pool2d(images, np.int64(2), stride=(one, one)).shape == (1, 1, 3, 3)
    with pytest.raises(TypeError):
        x.sum(1.5)


def test_check_gradients_sees_small_gradients():
    with pytest.raises(autograd.GradientError):
        autograd.check_gradients(lambda t: t.detach() * 1e-5, [1.0, 2.0])
    autograd.check_gradients(lambda t: t * 1e-5, [1.0, 2.0], order=2)


def test_training_is_imported_when_used():
    printed = run_python("""
        import sys
        import tropical
        assert "tropical.autograd" not in sys.modules
        tropical.autograd.Tensor, tropical.nn.Linear, tropical.optim.SGD
        try:
            tropical.nothing
        except AttributeError as error:
            print(error)
    """)
    assert printed == "module 'tropical' has no attribute 'nothing'\n"


def test_generators_are_joined_once():
    parts = [leaf(1.0), leaf(2.0)]
    autograd.stack(p * 2 for p in parts).sum().backward()
    autograd.concatenate(p * 3 for p in parts).sum().backward()
    assert [p.grad.item() for p in parts] == [5, 5]


def test_arrays_alone_give_arrays():
    x, w = np.ones((2, 3)), np.ones((3, 3))
    for value in (
        autograd.linear(x, w, activation="relu"),
        autograd.matmul(x, w, semiring="maxplus"),
        autograd.matmul(x, w),
        autograd.dropout(x, 0.5),
        autograd.dropout(x, training=False),
        autograd.stack([x, x]),
    ):
        assert type(value) is np.ndarray


def test_operations_know_their_names():
    for name in autograd.__all__:
        value = getattr(autograd, name)
        if callable(value) and not isinstance(value, type):
            assert value.__name__ == name and value.__doc__, name


def test_time_products_still_works():
    def timed():
        with autograd.time_products() as clock:
            autograd.linear(Tensor([[1.0]]), [[2.0]]) @ [[2.0]]
        return clock

    with pytest.warns(DeprecationWarning, match="cProfile"):
        clock = timed()
    assert clock.calls == 2 and clock.seconds > 0


@pytest.mark.parametrize("setting", ["recording", "innermost_pass"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_pass_that_is_interrupted_while_it_changes_a_setting(monkeypatch, setting, at):
    """Python raises what the handler of a signal raises after the call that is running."""
    kept = getattr(walk, setting)
    changes = Mock(side_effect=kept.set)

    def interrupted(value):
        changes(value)
        if changes.call_count == at:
            raise KeyboardInterrupt

    x = leaf(1.0, 2.0)
    with monkeypatch.context() as patch:
        patch.setattr(walk, setting, Mock(get=kept.get, set=interrupted))
        with pytest.raises(KeyboardInterrupt):
            (x * x).sum().backward()
    assert is_grad_enabled() and walk.innermost_pass.get() is None
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.data.tolist() == [2, 4]


def test_tensors_are_read_through_dlpack():
    """By from_dlpack of NumPy, PyTorch and JAX, without a copy."""
    x = Tensor(np.arange(3.0))
    view = np.from_dlpack(x)
    assert np.shares_memory(view, x.data) and view.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"requires grad .* use data or detach\(\)"):
        np.from_dlpack(Tensor([1.0], requires_grad=True))
