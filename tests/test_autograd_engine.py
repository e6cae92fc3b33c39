"""The engine: graphs, walks, hooks, checkpoints, errors."""

import gc
import threading
import weakref

import numpy as np
import pytest

from tropical import autograd
from tropical.autograd import (
    GraphReleasedError,
    Tensor,
    checkpoint,
    enable_grad,
    grad,
    is_grad_enabled,
    no_grad,
)


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
        thread = threading.Thread(target=lambda: other.append(is_grad_enabled()))
        thread.start()
        thread.join()
    assert other == [True]


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
    with pytest.raises(ValueError, match=r"gradient: is needed, this tensor of shape \(2,\)"):
        (x * 2).backward()
    with pytest.raises(ValueError, match=r"gradient: has shape \(3,\), this tensor \(2,\)"):
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
    with pytest.raises(RuntimeError, match="grad: this tensor does not require grad"):
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
    with pytest.raises(ValueError, match=r"shape \(2,\) by one of \(1,\)"):
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
    assert calls == [False]
    y.backward()
    assert calls == [False, True]
    np.testing.assert_array_equal(x.grad.data, wanted[0])
    np.testing.assert_array_equal(w.grad.data, wanted[1])


def test_checkpoint_reaches_parameters_inside():
    w = leaf(3.0)
    x = Tensor([2.0])
    checkpoint(lambda t: t * w, x).backward()
    assert w.grad.item() == 2
    with no_grad():
        assert not checkpoint(lambda t: t * w, x).requires_grad


def test_checkpoint_draws_the_same_masks():
    x = Tensor(np.ones(1000), requires_grad=True)
    autograd.seed(5)
    y = checkpoint(lambda t: autograd.dropout(t, 0.5), x)
    after = autograd.generator().random()
    y.backward(np.ones(1000))
    np.testing.assert_array_equal(x.grad.data, y.data)
    autograd.seed(5)
    autograd.dropout(x, 0.5)
    assert autograd.generator().random() == after


def test_checkpoint_inside_checkpoint():
    x = leaf(0.5)
    checkpoint(lambda a: checkpoint(lambda b: b.exp(), a) * a, x).backward()
    assert x.grad.item() == pytest.approx(np.exp(0.5) * 1.5)


def test_checkpoint_refuses():
    x = leaf(1.0)
    with pytest.raises(TypeError, match="must return a Tensor, returned float"):
        checkpoint(lambda t: 1.0, x)
    with pytest.raises(RuntimeError, match="create_graph=True"):
        checkpoint(lambda t: t * t, x).backward(create_graph=True)


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
    with pytest.raises(TypeError, match="is not taken for an array"):
        np.asarray(leaf(1.0))


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
    with pytest.raises(TypeError, match="is a Tensor already"):
        Tensor(Tensor(1.0))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: autograd.clip(x, 2.0, 1.0), ValueError, "low = 2.0 is above high = 1.0"),
        (lambda x: x.sum(axis=5), ValueError, "axis: there is no axis 5 in 2 dimensions"),
        (lambda x: x.sum(axis=(0, 0)), ValueError, "names an axis twice"),
        (lambda x: x.transpose(0, 0), ValueError, "is no order of the 2 axes"),
        (lambda x: autograd.concatenate([]), ValueError, "need at least one"),
        (lambda x: autograd.stack([]), ValueError, "need at least one"),
        (lambda x: x.astype("int32"), TypeError, "float32 or float64, not int32"),
        (lambda x: autograd.cross_entropy(x, [0]), ValueError, r"shape \(1,\) does not fit"),
        (lambda x: autograd.cross_entropy(x, [0, 3]), ValueError, r"lie in 0..2, got 0..3"),
        (lambda x: autograd.cross_entropy(x, [-1, 0]), ValueError, r"lie in 0..2, got -1..0"),
        (lambda x: autograd.cross_entropy(x, [0.0, 1.0]), TypeError, "must be integers"),
        (lambda x: autograd.cross_entropy(x, [0, 1], reduction="no"), ValueError, "not 'no'"),
        (lambda x: autograd.mse(x, [1.0]), ValueError, r"is not that of x, \(2, 3\)"),
        (lambda x: autograd.dropout(x, 1.0), ValueError, r"\[0, 1\), got 1.0"),
        (lambda x: autograd.linear(x, x, activation="tan"), ValueError, "not 'tan'"),
        (lambda x: autograd.matmul(x, x), ValueError, "2, 3"),
        (lambda x: autograd.matmul(x, x.T, semiring="no"), ValueError, "no"),
        (lambda x: autograd.matmul(x, x.T, semiring="orand"), TypeError, "has no gradient"),
        (lambda x: autograd.matmul(x, 2.0), ValueError, "0-D"),
        (lambda x: autograd.conv2d(x, x), ValueError, "channels, height, width"),
        (lambda x: autograd.max_pool2d(x, 2), ValueError, "channels, height, width"),
        (lambda x: autograd.batch_norm(x[0]), ValueError, "channels"),
        (lambda x: autograd.batch_norm(x[:1]), ValueError, "two values a channel"),
        (lambda x: autograd.batch_norm(x, training=False), ValueError, "are needed"),
        (lambda x: autograd.embedding(x, [2]), IndexError, "rows are 0..1, got 2..2"),
        (lambda x: autograd.embedding(x, [0.5]), TypeError, "must be integers"),
    ],
)
def test_errors_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call(Tensor(np.ones((2, 3)), requires_grad=True))


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"kernel": 3, "padding": 2}, "more than half of the window"),
        ({"kernel": 9}, "smaller than the window"),
        ({"kernel": 0}, "kernel: an int or two, at least 1"),
        ({"kernel": (1, 2, 3)}, "kernel: an int or two"),
        ({"kernel": 2, "stride": 0}, "stride: an int or two"),
    ],
)
def test_bad_windows(keywords, message):
    with pytest.raises(ValueError, match=message):
        autograd.max_pool2d(np.ones((1, 1, 4, 4)), **keywords)


def test_eight_threads_with_graphs_of_their_own():
    failures = []

    def work(number):
        try:
            for _ in range(20):
                x = Tensor(np.full((20, 20), float(number)), requires_grad=True)
                (x @ x).sum().backward()
                np.testing.assert_array_equal(x.grad.data, np.full((20, 20), 40.0 * number))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
