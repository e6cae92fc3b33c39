"""The engine, layers and optimizers against PyTorch's, in float64."""

import copy
import functools

import numpy as np
import pytest

from tropical import autograd, nn, optim
from tropical.autograd import Tensor, grad

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
F = torch.nn.functional

GRAPHS = 240
RNG = np.random.default_rng


def theirs_of(array, requires_grad=True):
    return torch.tensor(np.asarray(array, np.float64), requires_grad=requires_grad)


def array_of(x):
    return x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x.data)


def assert_close(got, want, note="", rtol=1e-6):
    """Alike to `rtol` of the largest element; where all cancel, rounding errors are left."""
    got, want = array_of(got), array_of(want)
    assert got.shape == want.shape, note
    scale = max(np.abs(want[np.isfinite(want)]).max(initial=0.0), 1e-5)
    np.testing.assert_allclose(got, want, rtol=0, atol=rtol * scale, err_msg=str(note))


# --- random graphs ---
#
# An operation takes a generator and the shapes of its inputs and returns the two functions, ours
# and theirs, of as many tensors; or None where the shapes do not suit it.


def plain(ours, theirs=None, when=lambda *shapes: True):
    def make(rng, *shapes):
        return (ours, theirs or ours) if when(*shapes) else None

    return make


def broadcastable(a, b):
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


def elementwise(ours, theirs=None):
    return plain(ours, theirs, broadcastable)


def multipliable(a, b):
    if not a or not b or a[-1] != (b[-2] if len(b) > 1 else b[0]):
        return False
    return broadcastable(a[:-2], b[:-2])


def some_axes(rng, shape):
    """None, one axis (perhaps counted from the end) or several; None too of 0-D."""
    kind = rng.integers(3)
    if not shape or kind == 0:
        return None
    if kind == 1:
        return int(rng.integers(-len(shape), len(shape)))
    return tuple(rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)].tolist())


def reduction(name, theirs):
    def make(rng, shape):
        axis, keep = some_axes(rng, shape), bool(rng.integers(2))
        dim = tuple(range(len(shape))) if axis is None else axis
        return (
            lambda x: getattr(autograd, name)(x, axis, keepdims=keep),
            (lambda x: theirs(x, dim, keep)) if shape else lambda x: theirs(x[None], 0, False),
        )

    return make


def torch_variance(x, dim, keep):
    return torch.var(x, dim, correction=0, keepdim=keep)


def reshape(rng, shape):
    size = int(np.prod(shape))
    divisor = int(rng.choice([d for d in range(1, size + 1) if size % d == 0]))
    new = (divisor, -1) if rng.integers(2) else (-1,)
    return lambda x: autograd.reshape(x, new), lambda x: torch.reshape(x, new)


def transpose(rng, shape):
    axes = tuple(rng.permutation(len(shape)).tolist())
    return lambda x: autograd.transpose(x, axes), lambda x: x.permute(axes)


def spread(rng, shape):
    front = (int(rng.integers(1, 4)), *(int(rng.integers(1, 4)) if n == 1 else n for n in shape))
    return lambda x: autograd.broadcast_to(x, front), lambda x: x.expand(front)


def index(rng, shape):
    if not shape:
        return (lambda x: x[None],) * 2
    kind, n = rng.integers(6), shape[0]
    rows = rng.integers(0, n, 3)
    if kind == 0:
        i = (int(rng.integers(n)), ...)
    elif kind == 1:
        i = (..., slice(int(rng.integers(shape[-1])), None), None)
    elif kind == 2:
        i = (slice(None, None, 2),)
    elif kind == 3 and len(shape) > 1:
        i = (rows, rng.integers(0, shape[1], 3))
    elif kind == 4:
        i = (rng.permutation(n) < max(n // 2, 1),)  # a mask
    else:
        i = (rows,)
    return lambda x: x[i], lambda x: x[tuple(map(as_torch, i))]


def as_torch(part):
    return torch.from_numpy(part) if isinstance(part, np.ndarray) else part


def pad(rng, shape):
    if not shape:
        return None
    widths = rng.integers(0, 3, (len(shape), 2)).tolist()
    flat = [n for pair in reversed(widths) for n in pair]
    return (
        lambda x: autograd.pad(x, widths, 0.5),
        lambda x: F.pad(x, flat, value=0.5),
    )


def joined(rng, a, b):
    if not a or len(a) != len(b):
        return None
    fitting = [i for i in range(len(a)) if a[:i] + a[i + 1 :] == b[:i] + b[i + 1 :]]
    if not fitting:
        return None
    axis = int(rng.choice(fitting))
    return (
        lambda x, y: autograd.concatenate([x, y, x], axis),
        lambda x, y: torch.cat([x, y, x], axis),
    )


def stacked(rng, a, b):
    if a != b:
        return None
    axis = int(rng.integers(-len(a) - 1, len(a) + 1))
    return lambda x, y: autograd.stack([x, y], axis), lambda x, y: torch.stack([x, y], axis)


def along(ours, theirs):
    def make(rng, shape):
        if not shape:
            return None
        axis = int(rng.integers(-len(shape), len(shape)))
        return lambda x: ours(x, axis), lambda x: theirs(x, axis)

    return make


def choice(rng, a, b):
    if not broadcastable(a, b):
        return None
    condition = rng.random(np.broadcast_shapes(a, b)) < 0.5
    return (
        lambda x, y: autograd.where(condition, x, y),
        lambda x, y: torch.where(torch.from_numpy(np.asarray(condition)), x, y),
    )


def classified(rng, shape):
    if len(shape) != 2:
        return None
    targets = rng.integers(0, shape[1], shape[0])
    how = str(rng.choice(["mean", "sum"]))
    return (
        lambda x: autograd.cross_entropy(x, targets, reduction=how),
        lambda x: F.cross_entropy(x, torch.from_numpy(targets), reduction=how),
    )


def squared(rng, a, b):
    how = str(rng.choice(["mean", "sum"]))
    if a != b:
        return None
    return (
        lambda x, y: autograd.mse(x, y, reduction=how),
        lambda x, y: F.mse_loss(x, y, reduction=how),
    )


def in_layer(rng, a, b):
    if not a or len(b) != 2 or a[-1] != b[1]:
        return None
    bias = rng.standard_normal(b[0])
    act = [None, "relu"][rng.integers(2)]

    def theirs(x, w):
        y = F.linear(x, w, theirs_of(bias, False))
        return torch.relu(y) if act else y

    return lambda x, w: autograd.linear(x, w, bias, activation=act), theirs


def powers(rng, shape):
    number = [2, 3, 0.5, -1.0][rng.integers(4)]
    return (lambda x: (abs(x) + 0.5) ** number,) * 2


UNARY = [
    plain(lambda x: -x),
    plain(lambda x: x * 0.7 + 0.3),
    plain(lambda x: 2 - x),
    plain(lambda x: 1 / (1 + x * x)),
    plain(abs),
    plain(autograd.exp, torch.exp),
    plain(lambda x: (abs(x) + 0.5).log()),
    plain(lambda x: (x * x + 0.5).sqrt()),
    plain(autograd.tanh, torch.tanh),
    plain(autograd.sigmoid, torch.sigmoid),
    plain(autograd.relu, torch.relu),
    plain(autograd.gelu, functools.partial(F.gelu, approximate="tanh")),
    plain(lambda x: x.clip(-0.7, 0.9)),
    plain(autograd.layer_norm, lambda x: F.layer_norm(x, x.shape[-1:]), lambda shape: shape),
    plain(
        autograd.batch_norm,
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda shape: 2 <= len(shape) <= 4 and np.prod(shape) >= 2 * shape[1],
    ),
    powers,
    reduction("sum", torch.sum),
    reduction("mean", torch.mean),
    reduction("max", torch.amax),
    reduction("min", torch.amin),
    reduction("logsumexp", torch.logsumexp),
    reduction("var", torch_variance),
    reshape,
    transpose,
    spread,
    index,
    index,
    pad,
    along(autograd.softmax, torch.softmax),
    along(autograd.log_softmax, torch.log_softmax),
    classified,
]
BINARY = [
    elementwise(lambda x, y: x + y),
    elementwise(lambda x, y: x - y),
    elementwise(lambda x, y: x * y),
    elementwise(lambda x, y: x / (y * y + 0.5)),
    elementwise(lambda x, y: (abs(x) + 0.5) ** y),
    elementwise(autograd.maximum, torch.maximum),
    elementwise(autograd.minimum, torch.minimum),
    choice,
    *[plain(lambda x, y: x @ y, None, multipliable)] * 3,
    joined,
    stacked,
    squared,
    in_layer,
]
LENGTHS = [1, 2, 3, 4]


class Graph:
    """The same operations on the same leaves in both, drawn by a seed."""

    def __init__(self, seed):
        self.rng = rng = RNG(seed)
        rank = int(rng.integers(0, 5))
        base = rng.choice(LENGTHS, rank)
        self.leaves = []
        for _ in range(rng.integers(3, 7)):
            shape = np.where(rng.random(rank) < 0.3, 1, base)[rng.integers(rank + 1) :]
            if rng.random() < 0.3:  # a matrix, for products
                shape = rng.choice(LENGTHS, 2)
            values = np.asarray(rng.standard_normal(tuple(shape)))
            self.leaves.append((Tensor(values, requires_grad=True), theirs_of(values)))
        self.values = list(self.leaves)
        self.kinds = 0
        wanted = int(rng.integers(5, 26))
        while self.kinds < wanted:
            self.grow()

    def grow(self):
        rng = self.rng
        operations, inputs = (UNARY, 1) if rng.random() < 0.5 else (BINARY, 2)
        # Late values and early ones: chains as well as shared parts.
        numbers = [
            int(max(rng.integers(len(self.values), size=rng.integers(1, 4)))) for _ in range(inputs)
        ]
        chosen = [self.values[i] for i in numbers]
        pair = operations[rng.integers(len(operations))](rng, *(ours.shape for ours, _ in chosen))
        if pair is None:
            return
        ours = pair[0](*(x for x, _ in chosen))
        theirs = pair[1](*(x for _, x in chosen))
        assert ours.shape == tuple(theirs.shape)
        if not 0 < ours.size <= 600:
            return
        assert_close(ours, theirs, f"value {len(self.values)}")
        if np.abs(ours.data).max() > 4:  # keep it safe
            ours, theirs = autograd.tanh(ours * 0.25), torch.tanh(theirs * 0.25)
        self.values.append((ours, theirs))
        self.kinds += 1

    def loss(self):
        """A weighted mean of every value, so that all take part."""
        losses = []
        for side in (0, 1):
            draw = RNG(99).standard_normal
            total = 0.0
            for pair in self.values:
                weights = np.asarray(draw(pair[0].shape))
                weights = theirs_of(weights, False) if side else weights
                total = total + (pair[side] * weights).mean()
            losses.append(total)
        return losses

    def watch(self):
        """Hooks that scale gradients and retained gradients, the same on both sides."""
        seen = ([], [])
        inner = self.values[len(self.leaves) :]
        for number in self.rng.choice(len(inner), min(3, len(inner)), replace=False):
            for side, x in enumerate(inner[number]):
                x.register_hook(lambda g, side=side: seen[side].append(array_of(g).copy()))
                x.register_hook(lambda g: g * 1.5)
                if number % 2:
                    x.retain_grad()
        for side, x in enumerate(self.leaves[0]):
            x.register_hook(lambda g, side=side: seen[side].append(array_of(g).copy()))
            x.register_hook(lambda g: g * -2.0)
        return seen


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_random_graph(seed):
    graph = Graph(seed)
    seen = graph.watch() if seed % 3 == 0 else ([], [])
    ours, theirs = graph.loss()
    assert_close(ours, theirs, "loss")
    ours.backward()
    theirs.backward()
    for number, (x, y) in enumerate(graph.values):
        assert (x.grad is None) is (not y.is_leaf and not y.retains_grad), number
        if x.grad is not None:
            assert_close(x.grad, y.grad, f"gradient {number} of {x.shape}")
    for got, want in zip(*(sorted(s, key=lambda g: (g.size, np.abs(g).sum())) for s in seen),
                         strict=True):  # fmt: skip
        assert_close(got, want, "what a hook saw")


@pytest.mark.parametrize("seed", range(1000, 1060))
def test_random_graph_of_second_order(seed):
    graph = Graph(seed)
    ours, theirs = graph.loss()
    leaves = [[pair[side] for pair in graph.leaves] for side in (0, 1)]
    first = (
        grad(ours, leaves[0], create_graph=True),
        torch.autograd.grad(theirs, leaves[1], create_graph=True),
    )
    for got, want in zip(*first, strict=True):
        assert_close(got, want, "first order")
    # The leaves themselves as well: of some the slopes are constant.
    ours = sum((g * g * 0.5).sum() for g in (*first[0], *leaves[0]))
    theirs = sum((g * g * 0.5).sum() for g in (*first[1], *leaves[1]))
    ours.backward()
    theirs.backward()
    for number, (x, y) in enumerate(graph.leaves):
        assert_close(x.grad, y.grad, f"second order {number}")


def test_random_graphs_are_of_every_size_and_share_parts():
    sizes = [Graph(seed).kinds for seed in range(0, GRAPHS, 8)]
    assert min(sizes) <= 8 and max(sizes) >= 22
    ranks = {x.ndim for seed in range(0, GRAPHS, 8) for x, _ in Graph(seed).leaves}
    assert ranks >= {0, 1, 2, 3}


@pytest.mark.parametrize("retain_first", [True, False])
def test_retained_gradients_are_those_after_hooks(retain_first):
    """As those of leaves are, whichever was asked for first."""
    for x in (Tensor([1.0, 2.0], requires_grad=True), theirs_of([1.0, 2.0])):
        y = x * 3
        if retain_first:
            y.retain_grad()
        y.register_hook(lambda g: g * 2)
        if not retain_first:
            y.retain_grad()
        y.sum().backward()
        assert array_of(x.grad).tolist() == [6, 6]
        assert array_of(y.grad).tolist() == [2, 2], type(x)


# --- every operation ---


def compare(ours, theirs, *arrays, rtol=1e-9):
    """Values and gradients of both, by one random gradient."""
    x = [Tensor(np.array(a, np.float64), requires_grad=True) for a in arrays]
    y = [theirs_of(a) for a in arrays]
    got, want = ours(*x), theirs(*y)
    assert_close(got, want, "value", rtol)
    gradient = np.asarray(RNG(9).standard_normal(got.shape))
    got.backward(gradient)
    want.backward(theirs_of(gradient, False))
    for number, (a, b) in enumerate(zip(x, y, strict=True)):
        assert_close(a.grad, b.grad, f"gradient {number}", rtol)


def R(*shape, seed=0):
    return RNG(seed).standard_normal(shape)


P = np.abs(R(3, 4, seed=5)) + 0.5
MASK = R(3, 4, seed=6) > 0
OPERATIONS = {
    "absolute": (torch.abs, [R(3, 4)]),
    "add": (torch.add, [R(3, 4), R(4)]),
    "broadcast_to": (
        (lambda x: autograd.broadcast_to(x, (2, 3, 4)), lambda x: x.expand(2, 3, 4)),
        [R(3, 1)],
    ),
    "cast": (
        (lambda x: x.astype("float32").astype("float64"), lambda x: x.float().double()),
        [R(3, 4)],
    ),
    "clip": (
        (lambda x: autograd.clip(x, -0.5, 0.5), lambda x: torch.clamp(x, -0.5, 0.5)),
        [R(3, 4)],
    ),
    "concatenate": (
        (lambda a, b: autograd.concatenate([a, b], -1), lambda a, b: torch.cat([a, b], -1)),
        [R(3, 4), R(3, 2)],
    ),
    "divide": (torch.div, [R(3, 4), P]),
    "exp": (torch.exp, [R(3, 4)]),
    "gelu": (functools.partial(F.gelu, approximate="tanh"), [R(3, 4) * 4]),
    "log": (torch.log, [P]),
    "log_softmax": (functools.partial(torch.log_softmax, dim=-1), [R(3, 4) * 20]),
    "logsumexp": (
        (lambda x: autograd.logsumexp(x, 0), lambda x: torch.logsumexp(x, 0)),
        [R(3, 4) * 20],
    ),
    "matmul": (torch.matmul, [R(5, 1, 3, 4), R(2, 4, 6)]),
    "max": ((lambda x: autograd.max(x, 1), lambda x: torch.amax(x, 1)), [R(3, 4)]),
    "maximum": (torch.maximum, [R(3, 4), R(4, seed=1)]),
    "mean": ((lambda x: autograd.mean(x, 1), lambda x: torch.mean(x, 1)), [R(3, 4)]),
    "min": ((lambda x: autograd.min(x, 1), lambda x: torch.amin(x, 1)), [R(3, 4)]),
    "minimum": (torch.minimum, [R(3, 4), R(4, seed=1)]),
    "multiply": (torch.mul, [R(3, 1), R(4)]),
    "negative": (torch.neg, [R(3, 4)]),
    "pad": (
        (
            lambda x: autograd.pad(x, ((1, 2), (0, 3)), 2.0),
            lambda x: F.pad(x, (0, 3, 1, 2), value=2.0),
        ),
        [R(3, 4)],
    ),
    "power": (torch.pow, [P, R(4)]),
    "relu": (torch.relu, [R(3, 4)]),
    "reshape": ((lambda x: x.reshape(2, -1), lambda x: x.reshape(2, -1)), [R(3, 4)]),
    "sigmoid": (torch.sigmoid, [R(3, 4) * 9]),
    "softmax": (functools.partial(torch.softmax, dim=-1), [R(3, 4) * 20]),
    "sqrt": (torch.sqrt, [P]),
    "stack": (
        (lambda a, b: autograd.stack([a, b], 1), lambda a, b: torch.stack([a, b], 1)),
        [R(3, 4), R(3, 4)],
    ),
    "subtract": (torch.sub, [R(3, 4), R(3, 1)]),
    "sum": ((lambda x: autograd.sum(x, (0, 2)), lambda x: torch.sum(x, (0, 2))), [R(2, 3, 4)]),
    "getitem": (
        (lambda x: autograd.getitem(x, [2, 0, 2]), lambda x: x[torch.tensor([2, 0, 2])]),
        [R(3, 4)],
    ),
    "squeeze": ((lambda x: autograd.squeeze(x, 1), lambda x: x.squeeze(1)), [R(3, 1, 4)]),
    "swapaxes": (
        (lambda x: autograd.swapaxes(x, 0, 2), lambda x: x.swapaxes(0, 2)),
        [R(2, 3, 4)],
    ),
    "tanh": (torch.tanh, [R(3, 4) * 4]),
    "transpose": (
        (lambda x: autograd.transpose(x, 2, 0, 1), lambda x: x.permute(2, 0, 1)),
        [R(2, 3, 4)],
    ),
    "var": (
        (lambda x: autograd.var(x, 1), lambda x: torch.var(x, 1, correction=0)),
        [R(3, 4)],
    ),
    "where": (
        (
            lambda a, b: autograd.where(MASK, a, b),
            lambda a, b: torch.where(torch.from_numpy(MASK), a, b),
        ),
        [R(3, 4), R(4)],
    ),
    "linear": (F.linear, [R(2, 3, 4), R(5, 4), R(5)]),
    "mse": (F.mse_loss, [R(3, 4), R(3, 4, seed=1)]),
    "cross_entropy": (
        (
            lambda x: autograd.cross_entropy(x, [1, 3, 3]),
            lambda x: F.cross_entropy(x, torch.tensor([1, 3, 3])),
        ),
        [R(3, 4) * 20],
    ),
    "embedding": (
        (
            lambda w: autograd.embedding(w, [[0, 2], [2, 2]]),
            lambda w: F.embedding(torch.tensor([[0, 2], [2, 2]]), w),
        ),
        [R(3, 4)],
    ),
    "layer_norm": (
        (
            lambda x, w, b: autograd.layer_norm(x, w, b, eps=1e-3),
            lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-3),
        ),
        [R(2, 3, 4), R(4), R(4)],
    ),
    "batch_norm": (
        (
            lambda x, w, b: autograd.batch_norm(x, w, b, eps=1e-3),
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True, eps=1e-3),
        ),
        [R(5, 3, 4, 2), R(3), R(3)],
    ),
    "dropout": (
        (
            lambda x: autograd.dropout(x * 1.0, 0.4, training=False),
            lambda x: F.dropout(x * 1.0, 0.4, training=False),
        ),
        [R(3, 4)],
    ),
    "conv2d": (
        (
            lambda x, w, b: autograd.conv2d(x, w, b, stride=(2, 1), padding=(0, 2)),
            lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(0, 2)),
        ),
        [R(2, 3, 7, 6), R(4, 3, 3, 2), R(4)],
    ),
    "max_pool2d": (F.max_pool2d, [R(2, 3, 7, 6)]),
    "avg_pool2d": (F.avg_pool2d, [R(2, 3, 7, 6)]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name):
    functions, arrays = OPERATIONS[name]
    if isinstance(functions, tuple):
        compare(*functions, *arrays)
    elif "pool" in name:
        ours = getattr(autograd, name)
        for kernel, stride, padding in [(2, None, 0), (3, 2, 1), ((3, 2), (1, 3), (1, 1))]:
            compare(
                functools.partial(ours, kernel=kernel, stride=stride, padding=padding),
                functools.partial(functions, kernel_size=kernel, stride=stride, padding=padding),
                *arrays,
            )
    else:
        compare(getattr(autograd, name), functions, *arrays)


def test_a_number_may_be_padded():
    compare(lambda x: autograd.pad(x, 0), lambda x: F.pad(x, []), 2.0)


def test_every_operation_is_compared():
    others = {
        *("GradientError", "GraphReleasedError", "Handle", "MemoryStats", "ProductTime", "Tensor"),
        *("check_gradients", "checkpoint", "enable_grad", "generator", "grad", "is_grad_enabled"),
        *("no_grad", "seed", "time_products"),
    }
    names = {name for name in autograd.__all__ if "memory" not in name}
    assert names - others == set(OPERATIONS)


def test_batch_norm_keeps_the_same_statistics():
    ours, theirs = (
        nn.BatchNorm(3, momentum=0.3, dtype="float64"),
        torch.nn.BatchNorm2d(3, momentum=0.3, dtype=torch.float64),
    )
    for seed in range(3):
        x = R(4, 3, 5, 2, seed=seed) * 3 + 1
        assert_close(ours(x), theirs(theirs_of(x)), rtol=1e-12)
    assert_close(ours.running_mean, theirs.running_mean.numpy(), rtol=1e-12)
    assert_close(ours.running_var, theirs.running_var.numpy(), rtol=1e-12)
    compare(ours.eval(), theirs.eval(), x)


# --- kinks, ties, what is not finite ---

NAN, INF = float("nan"), float("inf")


def both_sides(ours, theirs, arrays):
    """Value and gradients of the sum, of each side."""
    x = [Tensor(np.array(a, np.float64), requires_grad=True) for a in arrays]
    y = [theirs_of(a) for a in arrays]
    with np.errstate(all="ignore"):
        got = ours(*x)
        got.backward(np.ones(got.shape))
    want = theirs(*y)
    want.backward(torch.ones_like(want))
    return (
        [got.data, *(a.grad.data for a in x)],
        [array_of(want), *(array_of(b.grad) for b in y)],
    )


ALIKE = {
    "relu at 0": (autograd.relu, torch.relu, [[-1.0, -0.0, 0.0, 1.0, INF, -INF]]),
    "absolute at 0": (autograd.absolute, torch.abs, [[-0.0, 0.0, -INF, 1.0]]),
    "clip at its ends": (
        lambda x: autograd.clip(x, -1, 1),
        lambda x: torch.clamp(x, -1, 1),
        [[-INF, -1.0, 0.0, 1.0, 2.0, NAN]],
    ),
    "maximum, equal": (autograd.maximum, torch.maximum, [[1.0, 2, INF], [1.0, 3, INF]]),
    "minimum, equal": (autograd.minimum, torch.minimum, [[1.0, 2, -INF], [1.0, 3, -INF]]),
    "max, ties": (autograd.max, torch.max, [[2.0, 1, 2, 2]]),
    "max along, ties": (
        lambda x: autograd.max(x, 0),
        lambda x: torch.amax(x, 0),
        [[[2.0, 1], [2, 0]]],
    ),
    "min, ties": (autograd.min, torch.min, [[1.0, 1, 2]]),
    "max_pool2d, ties": (
        lambda x: autograd.max_pool2d(x, 2),
        lambda x: F.max_pool2d(x, 2),
        [np.zeros((1, 1, 4, 4))],
    ),
    "logsumexp with -inf": (
        autograd.logsumexp,
        lambda x: torch.logsumexp(x, 0),
        [[-INF, 0.0, 1.0]],
    ),
    "logsumexp with inf": (autograd.logsumexp, lambda x: torch.logsumexp(x, 0), [[INF, 1.0]]),
    "logsumexp with NaN": (autograd.logsumexp, lambda x: torch.logsumexp(x, 0), [[NAN, 1.0]]),
    "softmax of -inf": (autograd.softmax, lambda x: torch.softmax(x, 0), [[-INF, -INF]]),
    "softmax with -inf": (autograd.softmax, lambda x: torch.softmax(x, 0), [[-INF, 1.0, 2.0]]),
    "log_softmax with -inf": (
        autograd.log_softmax,
        lambda x: torch.log_softmax(x, 0),
        [[-INF, 1.0, 2.0]],
    ),
    "softmax with NaN": (autograd.softmax, lambda x: torch.softmax(x, 0), [[NAN, 1.0]]),
    "sqrt at 0": (autograd.sqrt, torch.sqrt, [[0.0, 4.0, -1.0]]),
    "log at 0": (autograd.log, torch.log, [[0.0, 1.0, -1.0]]),
    "divide by 0": (autograd.divide, torch.div, [[1.0, 0.0, 2.0], [0.0, 0.0, -0.0]]),
    "power at 0": (autograd.power, torch.pow, [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]),
    "power to 0": (lambda x: x**0, lambda x: x**0, [[0.0, 1.0, -2.0]]),
    "NaN through arithmetic": (
        lambda x, y: x * y + x / y - x,
        lambda x, y: x * y + x / y - x,
        [[NAN, 1.0], [1.0, NAN]],
    ),
    "NaN through functions": (
        lambda x: autograd.tanh(x) + autograd.sigmoid(x) + autograd.gelu(x) + autograd.exp(x),
        lambda x: torch.tanh(x) + torch.sigmoid(x) + F.gelu(x, approximate="tanh") + torch.exp(x),
        [[NAN, 1.0]],
    ),
    "NaN in a pool": (
        lambda x: autograd.avg_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 2),
        [[[[[NAN, 1.0], [2.0, 3.0]]]]],
    ),
    "one NaN in a max pool": (
        lambda x: autograd.max_pool2d(x, 2),
        lambda x: F.max_pool2d(x, 2),
        [[[[[1.0, NAN], [2.0, 3.0]]]]],
    ),
    "variance of one": (autograd.var, lambda x: torch.var(x, correction=0), [[3.0]]),
}


@pytest.mark.parametrize("name", ALIKE)
def test_special_values(name):
    ours, theirs = both_sides(*ALIKE[name][:2], ALIKE[name][2])
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


# Values agree everywhere; of the gradients, ours and theirs.
DIFFERENT = {
    # A NaN takes neither branch: no gradient passes. Theirs passes on what is not below the kink.
    "relu of NaN": (autograd.relu, torch.relu, [[NAN]], [[0.0]], [[1.0]]),
    "absolute of NaN": (autograd.absolute, torch.abs, [[NAN]], [[NAN]], [[0.0]]),
    "maximum with NaN": (
        autograd.maximum,
        torch.maximum,
        [[NAN, 1.0], [1.0, NAN]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[1.0, 1.0], [1.0, 1.0]],
    ),
    "max with NaN": (
        lambda x: autograd.max(x, 0),
        lambda x: torch.amax(x, 0),
        [[NAN, 1.0]],
        [[0.0, 0.0]],
        [[NAN, NAN]],
    ),
    # Documented: "the gradient for b is 0 where a <= 0".
    "power of a negative base": (
        autograd.power,
        torch.pow,
        [[-2.0], [3.0]],
        [[12.0], [0.0]],
        [[12.0], [NAN]],
    ),
    # Documented: "exp(x - y), 0 where x is -inf".
    "logsumexp of -inf": (
        autograd.logsumexp,
        lambda x: torch.logsumexp(x, 0),
        [[-INF, -INF]],
        [[0.0, 0.0]],
        [[NAN, NAN]],
    ),
    # Of several NaN in a window ours takes the first, theirs the last.
    "NaNs in a max pool": (
        lambda x: autograd.max_pool2d(x, 2),
        lambda x: F.max_pool2d(x, 2),
        [[[[[NAN, 1.0], [2.0, NAN]]]]],
        [[[[[1.0, 0.0], [0.0, 0.0]]]]],
        [[[[[0.0, 0.0], [0.0, 1.0]]]]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_special_gradients_in_which_we_differ(name):
    ours, theirs, arrays, got_wanted, want_wanted = DIFFERENT[name]
    got, want = both_sides(ours, theirs, arrays)
    np.testing.assert_array_equal(got[0], want[0])
    for a, b in zip(got[1:], got_wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(want[1:], want_wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_logsumexp_beside_infinity_does_not_warn():
    with np.errstate(all="warn"):
        assert autograd.logsumexp(np.array([INF, 800.0])) == INF
    assert torch.logsumexp(torch.tensor([INF, 800.0]), 0) == INF


def test_sigmoid_keeps_the_digits_of_small_values():
    x = np.array([-5.0, -20.0, -36.0, -40.0, -100.0, -700.0])
    np.testing.assert_allclose(autograd.sigmoid(x), torch.sigmoid(theirs_of(x, False)), rtol=1e-12)


# --- optimizers ---


PAIRS = [
    (optim.SGD, torch.optim.SGD, {"lr": 0.1}, {}),
    (optim.SGD, torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.3}, {}),
    (optim.SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}, {}),
    (optim.SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}, {}),
    (
        optim.SGD,
        torch.optim.SGD,
        {"lr": 0.1, "momentum": 0.5, "nesterov": True, "weight_decay": 0.3},
        {},
    ),
    *(
        pair
        for ours, theirs in [(optim.Adam, torch.optim.Adam), (optim.AdamW, torch.optim.AdamW)]
        for pair in [
            (ours, theirs, {}, {}),
            (ours, theirs, {"lr": 0.1, "betas": (0.5, 0.8), "weight_decay": 0.3}, {"eps": 0.01}),
            (ours, theirs, {"weight_decay": 0.0}, {}),
        ]
    ),
    (optim.Adagrad, torch.optim.Adagrad, {}, {}),
    (optim.Adagrad, torch.optim.Adagrad, {"lr": 0.5, "weight_decay": 0.3}, {"eps": 0.01}),
    (optim.RMSProp, torch.optim.RMSprop, {}, {}),
    (
        optim.RMSProp,
        torch.optim.RMSprop,
        {"lr": 0.1, "alpha": 0.5, "weight_decay": 0.3},
        {"eps": 0.01},
    ),
]
PAIR_IDS = [f"{ours.__name__} {options | more}" for ours, _, options, more in PAIRS]


def optimizers(ours, theirs, options, more, shapes=((3, 4), (), (5,))):
    arrays = [np.asarray(R(*shape, seed=i)) for i, shape in enumerate(shapes)]
    x, y = [nn.Parameter(a) for a in arrays], [theirs_of(a) for a in arrays]
    renamed = {"eps": more["eps"]} if more else {}
    return x, y, ours(x, **options, **renamed), theirs(y, **options, **more)


def give_gradients(x, y, step):
    for number, (a, b) in enumerate(zip(x, y, strict=True)):
        gradient = np.asarray(R(*a.shape, seed=100 * step + number))
        a.grad, b.grad = Tensor(gradient.copy()), theirs_of(gradient, False)


@pytest.mark.parametrize("pair", PAIRS, ids=PAIR_IDS)
def test_optimizer(pair):
    x, y, ours, theirs = optimizers(*pair)
    for step in range(1, 21):
        give_gradients(x, y, step)
        ours.step()
        theirs.step()
        for a, b in zip(x, y, strict=True):
            assert_close(a, b, step, rtol=1e-10)


@pytest.mark.parametrize("pair", PAIRS, ids=PAIR_IDS)
def test_a_parameter_whose_gradients_begin_later(pair):
    x, y, ours, theirs = optimizers(*pair)
    for step in range(1, 11):
        give_gradients(x, y, step)
        if step < 5:
            x[1].grad = y[1].grad = None
        ours.step()
        theirs.step()
    for a, b in zip(x, y, strict=True):
        assert_close(a, b, rtol=1e-10)


def test_defaults_are_the_same():
    for ours, theirs, options, more in [p for p in PAIRS if not p[2] and not p[3]]:
        *_, mine, other = optimizers(ours, theirs, options, more)
        group = other.param_groups[0]
        for name, key in [("lr", "lr"), ("eps", "eps"), ("betas", "betas"), ("alpha", "alpha")]:
            assert getattr(mine, name, None) == group.get(key), (ours, name)
        assert getattr(mine, "decay", mine.weight_decay) == group["weight_decay"]


@pytest.mark.parametrize(
    "factor, schedule",
    [
        (
            optim.step_decay(3, 0.5),
            lambda o: torch.optim.lr_scheduler.StepLR(o, step_size=3, gamma=0.5),
        ),
        (optim.step_decay(4), lambda o: torch.optim.lr_scheduler.StepLR(o, step_size=4)),
        (
            optim.cosine_decay(12),
            lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=12),
        ),
        (
            optim.cosine_decay(12, 0.2),
            lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=12, eta_min=0.1),
        ),
        (
            optim.warm_up(4),
            lambda o: torch.optim.lr_scheduler.LinearLR(o, start_factor=0.25, total_iters=3),
        ),
    ],
    ids=["step", "step, by default", "cosine", "cosine to 0.2", "warm up"],
)
def test_schedule(factor, schedule):
    x, y, ours, theirs = optimizers(optim.SGD, torch.optim.SGD, {"lr": 0.5}, {})
    ours_schedule, theirs_schedule = optim.Schedule(ours, factor), schedule(theirs)
    for step in range(13):
        assert ours.lr == pytest.approx(theirs.param_groups[0]["lr"], rel=1e-12, abs=1e-16), step
        give_gradients(x, y, step)
        ours.step()
        theirs.step()
        ours_schedule.step()
        theirs_schedule.step()
    for a, b in zip(x, y, strict=True):
        assert_close(a, b, rtol=1e-12)


@pytest.mark.parametrize("most", [0.1, 1.0, 1e3])
def test_clip_grad_norm(most):
    x, y, *_ = optimizers(optim.SGD, torch.optim.SGD, {"lr": 0.5}, {})
    give_gradients(x, y, 1)
    norm = optim.clip_grad_norm(x, most)
    want = torch.nn.utils.clip_grad_norm_(y, most).item()
    assert norm == pytest.approx(want, rel=1e-12)
    for a, b in zip(x, y, strict=True):
        assert_close(a.grad, b.grad, rtol=2e-6 / norm)  # theirs adds 1e-6 to the norm


def test_clip_grad_value():
    x, y, *_ = optimizers(optim.SGD, torch.optim.SGD, {"lr": 0.5}, {})
    give_gradients(x, y, 1)
    optim.clip_grad_value(x, 0.5)
    torch.nn.utils.clip_grad_value_(y, 0.5)
    for a, b in zip(x, y, strict=True):
        np.testing.assert_array_equal(a.grad.data, b.grad.numpy())


def test_clip_grad_norm_of_infinity():
    x, y = nn.Parameter(np.zeros(2)), theirs_of(np.zeros(2))
    x.grad, y.grad = Tensor([1.0, INF]), theirs_of([1.0, INF], False)
    with np.errstate(invalid="ignore"):
        assert optim.clip_grad_norm([x], 1.0) == torch.nn.utils.clip_grad_norm_([y], 1.0) == INF
    np.testing.assert_array_equal(x.grad.data, y.grad.numpy())


def test_clip_grad_norm_differs_where_a_gradient_is_nan():
    x, y = nn.Parameter(np.zeros(2)), theirs_of(np.zeros(2))
    x.grad, y.grad = Tensor([1.0, NAN]), theirs_of([1.0, NAN], False)
    assert np.isnan(optim.clip_grad_norm([x], 1.0))
    torch.nn.utils.clip_grad_norm_([y], 1.0)
    np.testing.assert_array_equal(x.grad.data, [1, NAN])  # left as they are
    np.testing.assert_array_equal(y.grad.numpy(), [NAN, NAN])


# --- training ---


def layers_alike(ours, theirs):
    """Give theirs the parameters of ours."""
    with torch.no_grad():
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            b.copy_(torch.from_numpy(a.data.copy()))


def train(ours, theirs, ours_optimizer, theirs_optimizer, x, targets, count=50):
    losses = []
    for _ in range(count):
        ours_optimizer.zero_grad()
        theirs_optimizer.zero_grad()
        loss = autograd.cross_entropy(ours(x), targets)
        other = F.cross_entropy(theirs(theirs_of(x, False)), torch.from_numpy(targets))
        loss.backward()
        other.backward()
        optim.clip_grad_norm(ours.parameters(), 1e9)
        ours_optimizer.step()
        theirs_optimizer.step()
        assert loss.item() == pytest.approx(other.item(), rel=1e-6)
        losses.append(loss.item())
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert_close(a, b, rtol=1e-6)
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize(
    "ours_kind, theirs_kind, options",
    [
        (optim.SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        (optim.AdamW, torch.optim.AdamW, {"lr": 0.01}),
        (optim.RMSProp, torch.optim.RMSprop, {"lr": 0.003}),
    ],
)
def test_a_perceptron_is_trained_alike(ours_kind, theirs_kind, options):
    rng = RNG(0)
    ours = nn.Sequential(
        nn.Linear(6, 16, dtype="float64", rng=rng),
        nn.ReLU(),
        nn.Linear(16, 12, dtype="float64", rng=rng),
        nn.BatchNorm(12, dtype="float64"),
        nn.GELU(),
        nn.LayerNorm(12, dtype="float64"),
        nn.Linear(12, 4, dtype="float64", rng=rng),
    )
    theirs = torch.nn.Sequential(
        torch.nn.Linear(6, 16),
        torch.nn.ReLU(),
        torch.nn.Linear(16, 12),
        torch.nn.BatchNorm1d(12),
        torch.nn.GELU(approximate="tanh"),
        torch.nn.LayerNorm(12),
        torch.nn.Linear(12, 4),
    ).double()
    layers_alike(ours, theirs)
    x = rng.standard_normal((40, 6))
    targets = (x[:, 0] > 0) + 2 * (x[:, 1] * x[:, 2] > 0).astype(np.int64)
    train(
        ours,
        theirs,
        ours_kind(ours.parameters(), **options),
        theirs_kind(theirs.parameters(), **options),
        x,
        targets,
    )


def test_a_small_network_of_images_is_trained_alike():
    rng = RNG(1)
    ours = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, dtype="float64", rng=rng),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, dtype="float64", rng=rng),
        nn.Tanh(),
        nn.AvgPool2d(2, stride=1),
        nn.Flatten(),
        nn.Linear(24, 3, dtype="float64", rng=rng),
    )
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(4, 6, 3, stride=2),
        torch.nn.Tanh(),
        torch.nn.AvgPool2d(2, stride=1),
        torch.nn.Flatten(),
        torch.nn.Linear(24, 3),
    ).double()
    layers_alike(ours, theirs)
    kept = copy.deepcopy(ours.state_dict())
    x, targets = rng.standard_normal((30, 1, 14, 14)), rng.integers(0, 3, 30)
    train(
        ours,
        theirs,
        optim.Adam(ours.parameters(), lr=0.01),
        torch.optim.Adam(theirs.parameters(), lr=0.01),
        x,
        targets,
    )
    assert all((kept[name] != p.data).any() for name, p in ours.named_parameters())
