"""The gradient of every operation, of first and second order, against finite differences."""

import inspect
import math
from functools import partial

import numpy as np
import pytest
from gradients import definition, weights_of
from support import NO_OPERATIONS

import tropical
from tropical import autograd, semirings
from tropical.autograd import GradientError, Tensor, check_gradients
from tropical.autograd.operation import Operation

RINGS = [ring.name for ring in semirings.ALL if "float64" in ring.dtypes]


def draws(seed=1):
    return np.random.default_rng(seed).standard_normal


def positive(*shape):
    return np.random.default_rng(2).random(shape) + 0.5


R, INF = draws(), np.inf
CASES = {
    # name: (function, inputs)
    "add": (autograd.add, [R((3, 4)), R(4)]),
    "subtract": (autograd.subtract, [R((3, 1)), R((2, 1, 4))]),
    "multiply": (autograd.multiply, [R((3, 4)), R(())]),
    "divide": (autograd.divide, [R((3, 1)), positive(1, 4)]),
    "power": (autograd.power, [positive(3, 1), R((1, 4))]),
    "power by a number": (lambda x: x**3, [R(5)]),
    "power by zero": (lambda x: x**0 + x**1, [R(5)]),
    "power of a number": (lambda x: 2.5**x, [R(5)]),
    "power by an array": (lambda x: x ** np.array([0.0, 2.0, 3.0]), [R(3)]),
    "maximum": (autograd.maximum, [R((3, 4)), R(4)]),
    "minimum": (autograd.minimum, [R((3, 4)), R(4)]),
    "negative": (autograd.negative, [R(3)]),
    "absolute": (autograd.absolute, [R((3, 4))]),
    "exp": (autograd.exp, [R((3, 4))]),
    "log": (autograd.log, [positive(3, 4)]),
    "sqrt": (autograd.sqrt, [positive(3, 4)]),
    "tanh": (autograd.tanh, [R((3, 4))]),
    "sigmoid": (autograd.sigmoid, [R((3, 4))]),
    "relu": (autograd.relu, [R((3, 4))]),
    "gelu": (autograd.gelu, [R((3, 4))]),
    "clip": (lambda x: autograd.clip(x, -0.5, 0.5), [R(9)]),
    "clip below": (lambda x: x.clip(min=0.1), [R(9)]),
    "where": (lambda a, b: autograd.where([True, False, True], a, b), [R((2, 3)), R(3)]),
    "reshape": (lambda x: x.reshape(2, -1), [R((3, 4))]),
    "transpose": (lambda x: x.transpose(1, 2, 0), [R((3, 4, 2))]),
    "T": (lambda x: x.T, [R((3, 4, 2))]),
    "broadcast_to": (lambda x: autograd.broadcast_to(x, (5, 3, 4)), [R((3, 1))]),
    "cast": (lambda x: x.astype("float64"), [R(3)]),
    "squeeze": (lambda x: autograd.squeeze(x, 1) * 2, [R((3, 1, 2))]),
    "swapaxes": (lambda x: autograd.swapaxes(x, 0, -1) * 2, [R((3, 2))]),
    "clip to arrays": (
        lambda x: autograd.clip(
            x, np.array([[-0.5], [0.125]], np.float32), np.array([0.25, 0.875, 5.0], np.float32)
        ),
        [R((3,))],
    ),
    "getitem": (lambda x: autograd.getitem(x, (slice(1), -1)), [R((3, 4))]),
    "slice": (lambda x: x[1:, ::-2], [R((3, 4))]),
    "new axis": (lambda x: x[None, ..., 1], [R((3, 4))]),
    "rows, one twice": (lambda x: x[[0, 0, 2]], [R((3, 4))]),
    "elements, one twice": (lambda x: x[[0, 0, 2], [1, 1, 0]], [R((3, 4))]),
    "mask": (lambda x: x[x > 0], [R((3, 4))]),
    "iteration": (lambda x: sum(row * i for i, row in enumerate(x)), [R((3, 4))]),
    "concatenate": (lambda a, b: autograd.concatenate([a, b, a], 1), [R((3, 4)), R((3, 2))]),
    "stack": (lambda a, b: autograd.stack([a, b], -1), [R((3, 4)), R((3, 4))]),
    "closure": (lambda x: autograd.closure(x * x + 1), [R((4, 4))]),
    "shortest_paths": (
        lambda x: autograd.shortest_paths(x * x + 1, indices=[0, 2], targets=1),
        [R((4, 4))],
    ),
    "pad": (lambda x: autograd.pad(x, ((1, 2), (0, 1)), 3.0), [R((3, 4))]),
    "pad all": (lambda x: autograd.pad(x, 2), [R((3, 4))]),
    "softmax": (lambda x: autograd.softmax(x, 0), [R((3, 4))]),
    "log_softmax": (autograd.log_softmax, [R((3, 4))]),
    "cross_entropy": (lambda x: autograd.cross_entropy(x, [0, 2, 2]), [R((3, 4))]),
    "cross_entropy, sum": (
        lambda x: autograd.cross_entropy(x, [0, 2, 2], reduction="sum"),
        [R((3, 4))],
    ),
    "mse": (autograd.mse, [R((3, 4)), R((3, 4))]),
    "mse, sum": (lambda x, t: autograd.mse(x, t, reduction="sum"), [R(4), R(4)]),
    "layer_norm": (autograd.layer_norm, [R((3, 5)), R(5), R(5)]),
    "batch_norm": (autograd.batch_norm, [R((4, 3, 2, 2)), R(3), R(3)]),
    "batch_norm of rows": (autograd.batch_norm, [R((6, 3))]),
    "batch_norm, evaluated": (
        lambda x, w: autograd.batch_norm(
            x, w, running_mean=np.arange(3.0), running_var=np.ones(3), training=False
        ),
        [R((4, 3)), R(3)],
    ),
    "dropout": (lambda x: autograd.dropout(x, 0.3, rng=np.random.default_rng(0)), [R((3, 4))]),
    "embedding": (lambda w: autograd.embedding(w, [[0, 1], [1, 1]]), [R((3, 4))]),
    "var": (lambda x: autograd.var(x, 1), [R((3, 4))]),
    "vector of a matrix": (lambda a, b: a @ b, [R((3, 4)), R(4)]),
    "matrix by NumPy's": (lambda x: np.arange(6.0).reshape(2, 3) @ x, [R((3, 4))]),
}
CASES |= {
    f"linear {shape} {act}{'' if bias else ' without bias'}": (
        partial(autograd.linear, activation=act),
        [R(shape), R((4, 5)), *([R(4)] if bias else [])],
    )
    for act in (None, "relu")
    for shape in ((5,), (3, 5), (2, 3, 5))
    for bias in (True, False)
}
CASES |= {
    f"{name} over {axis} {keep}": (
        partial(getattr(autograd, name), axis=axis, keepdims=keep),
        [R((3, 2, 4))],
    )
    for axis in (None, 0, (0, 2), -1)
    for name in ("sum", "mean", "max", "min", "logsumexp")
    for keep in (False, True)
}
CASES |= {
    f"conv2d {stride} {padding}": (
        partial(autograd.conv2d, stride=stride, padding=padding),
        [R((2, 3, 5, 6)), R((4, 3, 3, 2)), R(4)],
    )
    for stride, padding in ((1, 0), (2, 1), ((2, 1), (0, 2)))
}
CASES |= {
    f"{name} {kernel} {stride} {padding}": (
        partial(getattr(autograd, name), kernel=kernel, stride=stride, padding=padding),
        [R((2, 2, 5, 6))],
    )
    for kernel, stride, padding in ((2, None, 0), (3, 2, 1), ((2, 3), (1, 2), (1, 0)))
    for name in ("max_pool2d", "avg_pool2d")
}
SHAPES = [
    ((3, 4), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((3, 4), (2, 4, 2)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((4,), (2, 4, 3)),
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_operation(name, order):
    function, inputs = CASES[name]
    check_gradients(function, *inputs, order=order, rtol=1e-4 if "norm" in name else 1e-5)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("a, b", SHAPES)
@pytest.mark.parametrize("ring", RINGS)
def test_product(ring, a, b, order):
    draw = positive if ring == "maxtimes" else lambda *shape: R(shape)
    check_gradients(
        lambda x, y: autograd.matmul(x, y, semiring=ring), draw(*a), draw(*b), order=order
    )


CONTRACTIONS = [
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("iij,jk->k", (2, 2, 3), (3, 2)),  # a diagonal
    ("ij,jk,kl->", (2, 3), (3, 2), (2, 2)),
    ("...ij,jk->...k", (2, 2, 3), (3, 2)),
    ("ij->ji", (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,kl->k", (2, 2), (2, 1)),
    ("i,i", (3,), (1,)),  # repeated
]


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("subscripts, shapes", [(text, shapes) for text, *shapes in CONTRACTIONS])
def test_contraction(subscripts, shapes, ring):
    arrays = [positive(*shape) + 0.1 * R(shape) for shape in shapes]
    function = partial(autograd.einsum, subscripts, semiring=ring)
    check_gradients(function, *arrays, order=2)
    want = tropical.einsum(subscripts, *arrays, semiring=ring)
    np.testing.assert_allclose(function(*map(Tensor, arrays)).data, want, rtol=1e-14)
    np.testing.assert_allclose(function(*arrays), want, rtol=1e-14)


def test_contraction_of_other_operands():
    x = Tensor(np.arange(4.0, dtype=np.float32).reshape(2, 2), requires_grad=True)
    mixed = autograd.einsum(x, [0, 1], np.ones(2), [1], [0], semiring="minplus")
    assert mixed.dtype == np.float64
    mixed.sum().backward()
    assert x.grad.dtype == np.float32 and x.grad.data.tolist() == [[1, 0], [1, 0]]
    nothing = autograd.einsum("ij->i", Tensor(np.zeros((2, 0))), semiring="maxplus")
    assert isinstance(nothing, Tensor) and nothing.data.tolist() == [-INF, -INF]
    with pytest.raises(TypeError, match="with a gradient, got orand"):
        autograd.einsum("ij,jk", x, x, semiring="orand")
    with pytest.raises(ValueError, match="index 'j': expected one length"):
        autograd.einsum("ij,jk", x, np.ones((3, 3)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 3), (5, 0)])
@pytest.mark.parametrize(
    "index",
    [
        np.array([4, 0, 0, -1, -5, 2, 0]),
        np.array([[1, 1, 3], [0, 1, -2]]),
        np.array([1, 1, 3], np.uint8),
        np.array([], np.intp),
        np.array(3),
        np.array([True, False, True, True, False]),
    ],
    ids=lambda index: f"{index.dtype} {index.shape}",
)
def test_rows_at_an_array_of_indices(shape, index, dtype):
    x = Tensor(np.arange(math.prod(shape), dtype=dtype).reshape(shape), requires_grad=True)
    y = x[index]
    np.testing.assert_array_equal(y.data, x.data[index])
    g = np.asarray(np.random.default_rng(0).integers(-9, 9, y.shape), dtype)
    want = np.zeros(shape, dtype)
    np.add.at(want, index, g)
    (got,) = autograd.grad(y, [x], g)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.data, want)
    with pytest.raises(IndexError):
        x[np.array([5])]


@pytest.mark.parametrize("x", [5, 0.5, np.float32(3)])
def test_numbers_have_no_rows(x):
    for index in (0, [0], np.array([0])):
        with pytest.raises(IndexError, match="too many indices"):
            autograd.getitem(x, index)
    np.testing.assert_array_equal(autograd.getitem(x, None), [x])


def test_likelihoods_of_conditional_random_fields():
    """Only of first order, as there is no second."""
    rng = np.random.default_rng(5)
    parts = [rng.standard_normal(shape) for shape in [(3,), (3, 3), (4, 5, 3)]]
    states = rng.integers(0, 3, (4, 5))
    lengths = [5, 1, 0, 3]

    def likelihood(initial, transition, emission):
        return autograd.crf_log_likelihood(initial, transition, emission, states, lengths)

    autograd.check_gradients(likelihood, *parts)


def score(*arguments):
    return autograd.viterbi(*arguments)[1]


@pytest.mark.parametrize("function", [autograd.log_likelihood, score])
def test_likelihoods_and_scores_of_chains(function):
    """Only of first order; a sequence without steps and an impossible one among them."""
    rng = np.random.default_rng(5)
    initial, transition, emission = (
        rng.standard_normal(shape) for shape in [(3,), (3, 3), (5, 5, 3)]
    )
    emission[4, 2] = -np.inf
    lengths = [5, 1, 0, 3, 5]
    x = Tensor(emission, requires_grad=True)
    function(initial, transition, x, lengths).sum().backward()
    np.testing.assert_array_equal(x.grad.data[4], 0)
    autograd.check_gradients(
        lambda *model: function(*model, lengths[:4]), initial, transition, emission[:4]
    )
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        autograd.grad(function(initial, transition, x, lengths)[0] ** 2, x, create_graph=True)


def test_chains_of_one_model():
    x, initial, transition = np.zeros((2, 4, 3)), np.zeros(3), np.zeros((3, 3))
    with pytest.raises(ValueError, match=r"initial: expected \(s,\) for all .* got \(2, 3\)"):
        autograd.log_likelihood(np.zeros((2, 3)), transition, x)
    with pytest.raises(ValueError, match=r"lengths: expected \(2,\), one for each .* got \(5, 1\)"):
        autograd.viterbi(initial, transition, x, np.ones((5, 1), int))
    with pytest.raises(TypeError, match="expected an array or numbers, got dict"):
        autograd.log_likelihood(initial, {}, x)


def test_every_operation_is_checked():
    here = inspect.getsource(inspect.getmodule(test_every_operation_is_checked))
    for name in set(autograd.__all__) - NO_OPERATIONS:
        assert "memory" in name or f'"{name}' in here or f"autograd.{name}" in here, name


@pytest.mark.parametrize("order", [1, 2])
def test_wrong_gradients_are_found(order, monkeypatch):
    wrong = Operation(np.sin, lambda g, x: g * x)
    with pytest.raises(
        GradientError, match=r"first order, input 0, element \(0,\): the gradient is 0"
    ):
        check_gradients(wrong, [0.0, 0.5], order=order)


def test_wrong_second_order_is_found():
    # The rule is right in value, but hides from the walk that it depends on x.
    hiding = Operation(np.sin, lambda g, x: g * np.cos(x.data if isinstance(x, Tensor) else x))
    check_gradients(hiding, [0.3, 0.5])
    with pytest.raises(GradientError, match="second order"):
        check_gradients(hiding, [0.3, 0.5], order=2)


def doubled(x):
    return 2 * x


def added(x, y):
    return x + y


F32 = np.ones(3, np.float32)


@pytest.mark.parametrize("through", [lambda y: y, lambda y: autograd.exp(y) + 1])
@pytest.mark.parametrize(
    "value, inputs, rule, error, message",
    [
        (doubled, [F32], lambda g: g[:2], ValueError, r"x: expected shape \(3,\), got \(2,\)"),
        (doubled, [F32], lambda g: g[None], ValueError, r"x: expected shape \(3,\), got \(1, 3\)"),
        (doubled, [F32], lambda g: g * np.ones(3), TypeError, "x: expected float32, got float64"),
        (doubled, [F32], lambda g: g.tolist(), TypeError, "x: expected an ndarray, got list"),
        (doubled, [F32], lambda g: 2.0, TypeError, "x: expected an ndarray, got float"),
        (doubled, [F32], lambda g: None, TypeError, "x: expected an ndarray, got NoneType"),
        (added, [F32, np.ones((2, 3))], lambda g: g[:, 0], ValueError,
         r"x: expected shape \(2, 3\) or \(3,\), got \(2,\)"),
        (added, [F32, np.ones((2, 3))], lambda g: g > 0, TypeError,
         "x: expected float32 or float64, got bool"),
    ],
)  # fmt: skip
def test_rules_of_others_are_checked(value, inputs, rule, error, message, through):
    several = len(inputs) > 1
    rules = (rule, lambda g: g) if several else (rule,)
    operation = Operation(value, *rules, broadcasts=several)
    x, *others = (Tensor(a, requires_grad=True) for a in inputs)
    loss = operation(through(x), *others).sum()
    with pytest.raises(error, match=f"^{value.__name__}: gradient of {message}$"):
        loss.backward()
    assert x.grad is None


def test_recorded_rules_return_tensors():
    operation = Operation(lambda x: x * x, lambda g, x: 2 * g.data * x.data)
    x = Tensor([1.0, 2.0], requires_grad=True)
    place = r"^operation at .*test_autograd_gradients.py:\d+: gradient of x: expected a Tensor"
    with pytest.raises(TypeError, match=place):
        autograd.grad(operation(x).sum(), [x], create_graph=True)


def test_rules_of_others_are_fitted():
    """Sums over broadcast axes and casts are the engine's, as for its own rules."""
    operation = Operation(np.multiply, lambda g, b: g * b, lambda g, a: g * a, broadcasts=True)
    a, b = Tensor(F32, requires_grad=True), Tensor(np.ones((2, 1)), requires_grad=True)
    operation(a, b).sum().backward()
    assert (a.grad.dtype, a.grad.tolist()) == (np.float32, [2.0] * 3)
    assert (b.grad.dtype, b.grad.tolist()) == (np.float64, [[3.0], [3.0]])


NO_ARRAYS = ["generator", "set", "dict", "NoneType"]


@pytest.mark.parametrize("kind", NO_ARRAYS)
@pytest.mark.parametrize(
    "function",
    [
        *("sum", "mean", "max", "logsumexp", "exp", "relu", "squeeze", "transpose"),
        lambda x: autograd.reshape(x, 1),
        lambda x: autograd.stack([x]),
        lambda x: autograd.pad(x, 1),
        lambda x: autograd.clip(x, 0, 1),
    ],
)
def test_what_is_no_array_is_refused(function, kind):
    """NumPy makes an array of one object of it, and some functions would return the object."""
    function = getattr(autograd, function) if isinstance(function, str) else function
    value = {"generator": (i for i in (1, 2)), "set": {1}, "dict": {1: 2}, "NoneType": None}[kind]
    with pytest.raises(TypeError, match=f"expected an array or numbers, got {kind}"):
        function(value)


@pytest.mark.parametrize("b", [np.uint64(10**18), autograd.Tensor(np.ones(1))])
def test_objects_are_refused_before_anything_is_computed(b):
    """NumPy would compute with Python's integers, here one of 10**19 digits."""
    with pytest.raises(TypeError, match="expected an array or numbers, got an array of objects"):
        autograd.power(np.array([[10**30, 1]], object), b)


def test_integers_of_more_than_64_bits():
    with pytest.raises(TypeError, match="expected an integer of 64 bits, got one of 100 bits"):
        autograd.power(10**30, np.uint64(10**18))
    assert autograd.power(autograd.Tensor(np.ones(1)), 10**30).data == 1


def test_order_of_checks():
    with pytest.raises(ValueError, match="order: expected 1 or 2, got 3"):
        check_gradients(autograd.exp, [1.0], order=3)


@pytest.mark.parametrize("ring", RINGS[1:])
def test_what_no_product_attains_has_no_gradient(ring):
    """The second column is the semiring's zero: b has nothing else there."""
    zero = tropical.semirings.get(ring).zero("float64")
    a = Tensor([[1.0, 2.0], [4.0, 3.0]], requires_grad=True)
    b = Tensor([[5.0, zero], [0.5, zero]], requires_grad=True)
    c = autograd.matmul(a, b, semiring=ring)
    assert (c.data[:, 1] == zero).all()
    c[:, 1].sum().backward()
    assert not a.grad.data.any() and not b.grad.data.any()
    autograd.matmul(a, b, semiring=ring)[:, 0].sum().backward()
    assert a.grad.data.any() or b.grad.data.any()


def test_a_function_without_gradient_has_zeros():
    check_gradients(lambda x: Tensor(np.ones(3)) + (x.data > 0), [0.5, -0.5, 1.0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtypes_stay(dtype):
    for name, (function, inputs) in CASES.items():
        if name in ("cast", "matrix by NumPy's", "power by an array", "batch_norm, evaluated"):
            continue
        tensors = [Tensor(np.asarray(x, dtype=dtype), requires_grad=True) for x in inputs]
        value = function(*tensors)
        assert value.dtype == dtype, name
        value.backward(np.ones(value.shape))
        for tensor in tensors:
            assert tensor.grad.dtype == dtype, name
            assert tensor.grad.shape == tensor.shape, name


def test_mixed_dtypes_promote_and_gradients_return():
    a = Tensor(np.ones((2, 3), np.float32), requires_grad=True)
    b = Tensor(np.ones((3, 2), np.float64), requires_grad=True)
    for value in (a @ b, a + b.T, a * b.T, autograd.concatenate([a, b.T])):
        assert value.dtype == np.float64
        a.grad = b.grad = None
        value.sum().backward()
        assert a.grad.dtype == np.float32 and b.grad.dtype == np.float64


def test_infinities():
    x = Tensor([-np.inf, 0.0, 1.0], requires_grad=True)
    autograd.logsumexp(x).backward()
    np.testing.assert_allclose(x.grad.data, [0, 1 / (1 + np.e), np.e / (1 + np.e)])
    nothing = Tensor([-np.inf, -np.inf], requires_grad=True)
    value = autograd.logsumexp(nothing)
    assert value.item() == -np.inf
    far = Tensor([1000.0, -1000.0], requires_grad=True)
    for function in (autograd.sigmoid, autograd.tanh, autograd.softmax, autograd.log_softmax):
        function(far).sum().backward()
        assert np.isfinite(far.grad.data).all()


@pytest.mark.parametrize("ring", RINGS)
def test_empty_sums(ring):
    a, b = (Tensor(np.ones((2, n)), requires_grad=True) for n in (0, 3))
    result = autograd.einsum("ij,kl->ik", a, b, semiring=ring)
    assert (result.data == semirings.get(ring).zero("float64")).all()
    result.sum().backward()
    assert a.grad.shape == (2, 0) and not b.grad.data.any()


@pytest.mark.parametrize("ring", RINGS)
def test_empty_products(ring):
    a = Tensor(np.zeros((2, 0)), requires_grad=True)
    b = Tensor(np.zeros((0, 3)), requires_grad=True)
    autograd.matmul(a, b, semiring=ring).backward(np.ones((2, 3)))
    assert a.grad.shape == (2, 0) and b.grad.shape == (0, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spread", [1, 30, 3000])
def test_logplus_of_any_range(spread, dtype):
    rng = np.random.default_rng(spread)
    arrays = rng.normal(1e4, spread, (2, 6, 5)), rng.normal(-1e4, spread, (5, 7))
    arrays[0][:, 1, :3] = arrays[0][0, 2] = arrays[1][:, 4] = arrays[1][0, :2] = -INF
    a, b = (Tensor(x.astype(dtype), requires_grad=True) for x in arrays)
    c = autograd.matmul(a, b, semiring="logplus")
    want_c, *wants = definition(a.data, b.data, "logplus")
    np.testing.assert_allclose(c.data, want_c, rtol=2 * np.finfo(dtype).eps)
    c.backward(weights_of(c.data))
    close = 10 * (spread + 10) * np.finfo(dtype).eps  # the logarithms round, but not their offset
    for x, want in zip((a, b), wants, strict=True):
        np.testing.assert_allclose(x.grad.data, want, rtol=close, atol=close)
        assert not x.grad.data[np.isinf(x.data)].any()


def test_logplus_differentiates_twice_where_exponentials_underflow():
    a = 1000 * R((3, 4))
    b = np.stack([-a[0], 1 - a[0], -a[1]], 1)
    check_gradients(partial(autograd.matmul, semiring="logplus"), a, b, order=2, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_logplus_of_a_wide_range_without_elements(batch, dtype):
    a = Tensor(np.array([[0, -2000], [-2000, 0]], dtype), requires_grad=True)
    b = Tensor(np.zeros((*batch, 2, 0), dtype), requires_grad=True)
    c = autograd.matmul(a, b, semiring="logplus")
    c.backward(np.ones_like(c.data))
    assert not a.grad.data.any() and b.grad.shape == b.shape and a.grad.dtype == dtype


def test_logplus_of_mixed_dtypes():
    a = Tensor(np.array([[1, 2]], np.float32), requires_grad=True)
    autograd.matmul(a, [[2], [1]], semiring="logplus").sum().backward()
    assert a.grad.dtype == np.float32 and a.grad.data.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logplus_of_a_number_far_above_the_sum(dtype):
    """Beside -inf in the other operand a number of any size has no share."""
    far = 3 * np.log(np.finfo(dtype).max)
    a, b = np.array([[far, 0], [0, -1]], dtype), np.array([[-INF, -INF], [0, 1]], dtype)
    for x, y in (a, b), (b.T, a.T):
        x, y = (Tensor(z, requires_grad=True) for z in (x, y))
        autograd.matmul(x, y, semiring="logplus").sum().backward()
        for z in (x, y):
            np.testing.assert_allclose(np.sort(z.grad.data, axis=None), [0, 0, 2, 2], rtol=1e-4)
            np.testing.assert_array_equal(z.grad.data[0, 0], 0)


def test_infinite_sums_have_no_gradient():
    a = Tensor([[INF, 1.0], [-INF, -INF], [2.0, 3.0]], requires_grad=True)
    c = autograd.matmul(a, [[0.0, -INF], [0.0, 0.0]], semiring="logplus")
    np.testing.assert_allclose(c.data[:, 1], [1, -INF, 3])
    c.backward(np.full(c.shape, 2.0))
    e = 1 / (1 + np.e)
    np.testing.assert_allclose(a.grad.data, [[0, 2], [0, 0], [2 * e, 2 * (1 - e) + 2]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "a, b, of_a, of_b",
    [
        (0.0, -1.0, -INF, -INF),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 2.0, 0.0, 0.0),
        (INF, 0.0, 0.0, INF),
        (-2.0, 2.0, -4.0, 0.0),
    ],
)
def test_powers_at_the_edge(a, b, of_a, of_b, dtype):
    """The limits of the gradients, which were NaN."""
    base, exponent = (Tensor(np.array([x], dtype), requires_grad=True) for x in (a, b))
    with np.errstate(all="ignore"):
        (base**exponent).sum().backward()
        assert (base.grad.data[0], exponent.grad.data[0]) == (of_a, of_b)
        base.grad = exponent.grad = None
        (base**b).sum().backward()
        (a**exponent).sum().backward()
    assert (base.grad.data[0], exponent.grad.data[0]) == (of_a, of_b)
    assert base.grad.dtype == exponent.grad.dtype == dtype


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_the_least_numbers_at_exponent_zero(dtype):
    """1 / x is infinite, and the gradient was NaN."""
    least = np.finfo(dtype).smallest_subnormal
    x = Tensor(np.array([least, -least, 1 / np.finfo(dtype).max, 2], dtype), requires_grad=True)
    (x ** np.zeros(4, dtype)).sum().backward()
    assert x.grad.dtype == dtype and x.grad.data.tolist() == [0] * 4


@pytest.mark.parametrize("kind", ["int8", "uint8", "uint64", "int64"])
def test_integers_beside_tensors_do_not_wrap(kind):
    """Of any dtype they count as their values."""
    for exponent in (0, 1, 3):
        x = Tensor([3.0, 20.0], requires_grad=True)
        (x ** np.array([exponent], kind)).sum().backward()
        assert x.grad.data.tolist() == [exponent * z ** (exponent - 1) for z in (3.0, 20.0)]
    single = Tensor(np.array([3, 20], np.float32), requires_grad=True)
    (single ** np.array([3], kind)).sum().backward()
    assert single.grad.dtype == np.float32 and single.grad.data.tolist() == [27, 1200]
    x = Tensor([1.5], requires_grad=True)
    (np.array([100], kind) ** x).sum().backward()
    np.testing.assert_allclose(x.grad.data, 1000 * np.log(100), rtol=1e-14)
    few = np.array([0, 3, 100], kind)
    assert set(autograd.dropout(few, 0.5).tolist()) <= {0, 6, 200}
    np.testing.assert_allclose(autograd.sigmoid(few), 1 / (1 + np.exp(-few.astype(float))))
    np.testing.assert_allclose(autograd.logsumexp(few), 100)


def test_limits_are_arrays():
    with pytest.raises(TypeError, match="min, max: expected arrays, got a Tensor"):
        autograd.clip(Tensor([1.0]), Tensor(0.0), 1)
