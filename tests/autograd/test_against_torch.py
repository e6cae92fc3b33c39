"""The engine, layers and optimizers against PyTorch's, in float64."""

import copy
import functools
import itertools

import numpy as np
import pytest
from support import NO_OPERATIONS, OPTIMIZERS

from tropical import autograd, nn, optim
from tropical.autograd import Tensor, grad

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
F, schedulers = torch.nn.functional, torch.optim.lr_scheduler

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


def both_sides(ours, theirs, arrays, draw=np.ones):
    """Value and gradients of each side, by the gradient `draw(shape)`."""
    x = [Tensor(np.array(a, np.float64), requires_grad=True) for a in arrays]
    y = [theirs_of(a) for a in arrays]
    got, want = ours(*x), theirs(*y)
    gradient = np.asarray(draw(got.shape))
    got.backward(gradient)
    want.backward(theirs_of(gradient, False))
    return (
        [got.data, *(a.grad.data for a in x)],
        [array_of(want), *(array_of(b.grad) for b in y)],
    )


def compare(ours, theirs, *arrays):
    """Values and gradients of both, by one random gradient."""
    results = both_sides(ours, theirs, arrays, RNG(9).standard_normal)
    for number, (got, want) in enumerate(zip(*results, strict=True)):
        assert_close(got, want, f"value and gradients: {number}", 1e-9)


def R(*shape, seed=0):
    return RNG(seed).standard_normal(shape)


def floyd_warshall(w):
    lengths = torch.where(torch.eye(len(w), dtype=torch.bool), 0.0, w)
    for k in range(len(w)):
        lengths = torch.minimum(lengths, lengths[:, k, None] + lengths[k])
    return lengths


def over_paths(add):
    """The sum over all paths of a chain, where `add` adds the rows of a matrix, or a vector."""

    def total(initial, transition, emission):
        sums = initial + emission[0]
        for emitted in emission[1:]:
            sums = add(sums[:, None] + transition, 0) + emitted
        return add(sums, 0)

    return total


def crf(initial, transition, emission):
    """The log-likelihood of the states 1, 0, 2, 1."""
    states = [1, 0, 2, 1]
    weight = initial[1] + sum(emission[t, state] for t, state in enumerate(states))
    weight = weight + sum(transition[a, b] for a, b in itertools.pairwise(states))
    return weight - over_paths(torch.logsumexp)(initial, transition, emission)


P = np.abs(R(3, 4, seed=5)) + 0.5
MASK = R(3, 4, seed=6) > 0
WINDOWS = {"stride": (2, 1), "padding": (0, 2)}
X = [R(3, 4)]
# By name: theirs, the inputs and, where one is needed, our function or its keywords.
OPERATIONS = {
    "absolute": (torch.abs, X),
    "add": (torch.add, [R(3, 4), R(4)]),
    "broadcast_to": (lambda x: x.expand(2, 3, 4), [R(3, 1)], {"shape": (2, 3, 4)}),
    "cast": (lambda x: x.float().double(), X, lambda x: x.astype("float32").astype("float64")),
    "closure": (floyd_warshall, [np.abs(R(6, 6)) + 0.1]),
    "shortest_paths": (
        lambda w: floyd_warshall(w)[[0, 2]],
        [np.abs(R(6, 6)) + 0.1],
        {"indices": [0, 2]},
    ),
    "einsum": (
        functools.partial(torch.einsum, "ij,jk,k->ki"),
        [R(3, 4), R(4, 5), R(5)],
        functools.partial(autograd.einsum, "ij,jk,k->ki"),
    ),
    "crf_log_likelihood": (
        crf,
        [R(3), R(3, 3), R(4, 3)],
        functools.partial(autograd.crf_log_likelihood, states=[1, 0, 2, 1]),
    ),
    "log_likelihood": (over_paths(torch.logsumexp), [R(3), R(3, 3), R(4, 3)]),
    "viterbi": (
        over_paths(torch.amax),
        [R(3), R(3, 3), R(4, 3)],
        lambda *model: autograd.viterbi(*model)[1],
    ),
    "clip": (lambda x: torch.clamp(x, -0.5, 0.5), X, {"min": -0.5, "max": 0.5}),
    "concatenate": (
        lambda a, b: torch.cat([a, b], -1),
        [R(3, 4), R(3, 2)],
        lambda a, b: autograd.concatenate([a, b], -1),
    ),
    "divide": (torch.div, [R(3, 4), P]),
    "exp": (torch.exp, X),
    "gelu": (functools.partial(F.gelu, approximate="tanh"), [R(3, 4) * 4]),
    "log": (torch.log, [P]),
    "log_softmax": (functools.partial(torch.log_softmax, dim=-1), [R(3, 4) * 20]),
    "logsumexp": (functools.partial(torch.logsumexp, dim=0), [R(3, 4) * 20], {"axis": 0}),
    "matmul": (torch.matmul, [R(5, 1, 3, 4), R(2, 4, 6)]),
    "max": (functools.partial(torch.amax, dim=1), X, {"axis": 1}),
    "maximum": (torch.maximum, [R(3, 4), R(4, seed=1)]),
    "mean": (functools.partial(torch.mean, dim=1), X, {"axis": 1}),
    "min": (functools.partial(torch.amin, dim=1), X, {"axis": 1}),
    "minimum": (torch.minimum, [R(3, 4), R(4, seed=1)]),
    "multiply": (torch.mul, [R(3, 1), R(4)]),
    "negative": (torch.neg, X),
    "pad": (
        functools.partial(F.pad, pad=(0, 3, 1, 2), value=2.0),
        X,
        {"pad_width": ((1, 2), (0, 3)), "constant_values": 2.0},
    ),
    "power": (torch.pow, [P, R(4)]),
    "relu": (torch.relu, X),
    "reshape": (lambda x: x.reshape(2, -1), X, lambda x: x.reshape(2, -1)),
    "sigmoid": (torch.sigmoid, [R(3, 4) * 9]),
    "softmax": (functools.partial(torch.softmax, dim=-1), [R(3, 4) * 20]),
    "sqrt": (torch.sqrt, [P]),
    "stack": (
        lambda a, b: torch.stack([a, b], 1),
        [R(3, 4), R(3, 4)],
        lambda a, b: autograd.stack([a, b], 1),
    ),
    "subtract": (torch.sub, [R(3, 4), R(3, 1)]),
    "sum": (functools.partial(torch.sum, dim=(0, 2)), [R(2, 3, 4)], {"axis": (0, 2)}),
    "getitem": (lambda x: x[torch.tensor([2, 0, 2])], X, {"index": [2, 0, 2]}),
    "squeeze": (lambda x: x.squeeze(1), [R(3, 1, 4)], {"axis": 1}),
    "swapaxes": (lambda x: x.swapaxes(0, 2), [R(2, 3, 4)], {"axis1": 0, "axis2": 2}),
    "tanh": (torch.tanh, [R(3, 4) * 4]),
    "transpose": (
        lambda x: x.permute(2, 0, 1),
        [R(2, 3, 4)],
        lambda x: autograd.transpose(x, 2, 0, 1),
    ),
    "var": (functools.partial(torch.var, dim=1, correction=0), X, {"axis": 1}),
    "where": (
        functools.partial(torch.where, torch.from_numpy(MASK)),
        [R(3, 4), R(4)],
        functools.partial(autograd.where, MASK),
    ),
    "linear": (F.linear, [R(2, 3, 4), R(5, 4), R(5)]),
    "mse": (F.mse_loss, [R(3, 4), R(3, 4, seed=1)]),
    "cross_entropy": (
        functools.partial(F.cross_entropy, target=torch.tensor([1, 3, 3])),
        [R(3, 4) * 20],
        {"targets": [1, 3, 3]},
    ),
    "embedding": (
        functools.partial(F.embedding, torch.tensor([[0, 2], [2, 2]])),
        X,
        {"indices": [[0, 2], [2, 2]]},
    ),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-3),
        [R(2, 3, 4), R(4), R(4)],
        {"eps": 1e-3},
    ),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True, eps=1e-3),
        [R(5, 3, 4, 2), R(3), R(3)],
        {"eps": 1e-3},
    ),
    "dropout": (
        lambda x: F.dropout(x * 1.0, 0.4, training=False),
        X,
        lambda x: autograd.dropout(x * 1.0, 0.4, training=False),
    ),
    "conv2d": (
        functools.partial(F.conv2d, **WINDOWS),
        [R(2, 3, 7, 6), R(4, 3, 3, 2), R(4)],
        WINDOWS,
    ),
}
POOLS = {"max_pool2d": F.max_pool2d, "avg_pool2d": F.avg_pool2d}
POOL_WINDOWS = [(2, None, 0), (3, 2, 1), ((3, 2), (1, 3), (1, 1))]


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name):
    theirs, arrays, *how = OPERATIONS[name]
    ours = getattr(autograd, name)
    if how:
        ours = how[0] if callable(how[0]) else functools.partial(ours, **how[0])
    compare(ours, theirs, *arrays)


@pytest.mark.parametrize("kernel, stride, padding", POOL_WINDOWS)
@pytest.mark.parametrize("name", POOLS)
def test_pool(name, kernel, stride, padding):
    compare(
        lambda x: getattr(autograd, name)(x, kernel, stride=stride, padding=padding),
        lambda x: POOLS[name](x, kernel, stride, padding),
        R(2, 3, 7, 6),
    )


def test_a_number_may_be_padded():
    compare(lambda x: autograd.pad(x, 0), lambda x: F.pad(x, []), 2.0)


def test_every_operation_is_compared():
    names = {name for name in autograd.__all__ if "memory" not in name}
    assert names - NO_OPERATIONS == {*OPERATIONS, *POOLS}


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


# Functions that have different names or arguments.
NAMED = {
    "clip": (lambda x: autograd.clip(x, -1, 1), lambda x: torch.clamp(x, -1, 1)),
    "max along": (lambda x: autograd.max(x, 0), lambda x: torch.amax(x, 0)),
    "power": (autograd.power, torch.pow),
    "power to 0": (lambda x: x**0,) * 2,
    "variance": (autograd.var, lambda x: torch.var(x, correction=0)),
    "logsumexp": (autograd.logsumexp, lambda x: torch.logsumexp(x, 0)),
    "softmax": (autograd.softmax, lambda x: torch.softmax(x, 0)),
    "log_softmax": (autograd.log_softmax, lambda x: torch.log_softmax(x, 0)),
    "max_pool2d": (lambda x: autograd.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 2)),
    "avg_pool2d": (lambda x: autograd.avg_pool2d(x, 2), lambda x: F.avg_pool2d(x, 2)),
    "arithmetic": (lambda x, y: x * y + x / y - x,) * 2,
    "functions": (
        lambda x: autograd.tanh(x) + autograd.sigmoid(x) + autograd.gelu(x) + autograd.exp(x),
        lambda x: torch.tanh(x) + torch.sigmoid(x) + F.gelu(x, approximate="tanh") + torch.exp(x),
    ),
}
ALIKE = [
    ("relu", [[-1.0, -0.0, 0.0, 1.0, INF, -INF]]),
    ("absolute", [[-0.0, 0.0, -INF, 1.0]]),
    ("clip", [[-INF, -1.0, 0.0, 1.0, 2.0, NAN]]),
    ("maximum", [[1.0, 2, INF], [1.0, 3, INF]]),
    ("minimum", [[1.0, 2, -INF], [1.0, 3, -INF]]),
    ("max", [[2.0, 1, 2, 2]]),
    ("max along", [[[2.0, 1], [2, 0]]]),
    ("min", [[1.0, 1, 2]]),
    ("max_pool2d", [np.zeros((1, 1, 4, 4))]),
    ("logsumexp", [[-INF, 0.0, 1.0]]),
    ("logsumexp", [[INF, 1.0]]),
    ("logsumexp", [[NAN, 1.0]]),
    ("softmax", [[-INF, -INF]]),
    ("softmax", [[-INF, 1.0, 2.0]]),
    ("log_softmax", [[-INF, 1.0, 2.0]]),
    ("softmax", [[NAN, 1.0]]),
    ("sqrt", [[0.0, 4.0, -1.0]]),
    ("log", [[0.0, 1.0, -1.0]]),
    ("divide", [[1.0, 0.0, 2.0], [0.0, 0.0, -0.0]]),
    ("power", [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]),
    ("power to 0", [[0.0, 1.0, -2.0]]),
    ("arithmetic", [[NAN, 1.0], [1.0, NAN]]),
    ("functions", [[NAN, 1.0]]),
    ("avg_pool2d", [[[[[NAN, 1.0], [2.0, 3.0]]]]]),
    ("max_pool2d", [[[[[1.0, NAN], [2.0, 3.0]]]]]),
    ("variance", [[3.0]]),
]


def special_values(name, arrays):
    functions = NAMED.get(name) or (getattr(autograd, name), getattr(torch, name))
    with np.errstate(all="ignore"):
        return both_sides(*functions, arrays)


@pytest.mark.parametrize("name, arrays", ALIKE)
def test_special_values(name, arrays):
    for got, want in zip(*special_values(name, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


# Values agree everywhere; of the gradients, ours and theirs.
DIFFERENT = [
    # A NaN takes neither branch: no gradient passes. Theirs passes on what is not below the kink.
    ("relu", [[NAN]], [[0.0]], [[1.0]]),
    ("absolute", [[NAN]], [[NAN]], [[0.0]]),
    ("maximum", [[NAN, 1.0], [1.0, NAN]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]),
    ("max along", [[NAN, 1.0]], [[0.0, 0.0]], [[NAN, NAN]]),
    # Documented: "the gradient for b is 0 where a <= 0".
    ("power", [[-2.0], [3.0]], [[12.0], [0.0]], [[12.0], [NAN]]),
    # Documented: "exp(x - y), 0 where x is -inf".
    ("logsumexp", [[-INF, -INF]], [[0.0, 0.0]], [[NAN, NAN]]),
    # Of several NaN in a window ours takes the first, theirs the last.
    (
        "max_pool2d",
        [[[[[NAN, 1.0], [2.0, NAN]]]]],
        [[[[[1.0, 0.0], [0.0, 0.0]]]]],
        [[[[[0.0, 0.0], [0.0, 1.0]]]]],
    ),
]


@pytest.mark.parametrize("name, arrays, of_ours, of_theirs", DIFFERENT)
def test_special_gradients_in_which_we_differ(name, arrays, of_ours, of_theirs):
    (value, *ours), (other_value, *theirs) = special_values(name, arrays)
    np.testing.assert_array_equal(value, other_value)
    for got, want in zip([*ours, *theirs], [*of_ours, *of_theirs], strict=True):
        np.testing.assert_array_equal(got, want)


def test_logsumexp_beside_infinity_does_not_warn():
    with np.errstate(all="warn"):
        assert autograd.logsumexp(np.array([INF, 800.0])) == INF
    assert torch.logsumexp(torch.tensor([INF, 800.0]), 0) == INF


def test_sigmoid_keeps_the_digits_of_small_values():
    x = np.array([-5.0, -20.0, -36.0, -40.0, -100.0, -700.0])
    np.testing.assert_allclose(autograd.sigmoid(x), torch.sigmoid(theirs_of(x, False)), rtol=1e-12)


# --- optimizers ---

IDS = [f"{name} {options}" for name, options in OPTIMIZERS]


def optimizers(name, options, shapes=((3, 4), (), (5,))):
    arrays = [np.asarray(R(*shape, seed=i)) for i, shape in enumerate(shapes)]
    x, y = [nn.Parameter(a) for a in arrays], [theirs_of(a) for a in arrays]
    theirs = getattr(torch.optim, "RMSprop" if name == "RMSProp" else name)
    return x, y, getattr(optim, name)(x, **options), theirs(y, **options)


def give_gradients(x, y, step):
    for number, (a, b) in enumerate(zip(x, y, strict=True)):
        gradient = np.asarray(R(*a.shape, seed=100 * step + number))
        a.grad, b.grad = Tensor(gradient.copy()), theirs_of(gradient, False)


def assert_parameters_close(x, y, note="", rtol=1e-10):
    for a, b in zip(x, y, strict=True):
        assert_close(a, b, note, rtol)


@pytest.mark.parametrize("begins", [1, 5])
@pytest.mark.parametrize("name, options", OPTIMIZERS, ids=IDS)
def test_optimizer(name, options, begins):
    """Gradients of the second parameter begin at step `begins`."""
    x, y, ours, theirs = optimizers(name, options)
    for step in range(1, 21):
        give_gradients(x, y, step)
        if step < begins:
            x[1].grad = y[1].grad = None
        ours.step()
        theirs.step()
        assert_parameters_close(x, y, step)


@pytest.mark.parametrize("name", [name for name, options in OPTIMIZERS if not options])
def test_defaults_are_the_same(name):
    *_, ours, theirs = optimizers(name, {})
    group = theirs.param_groups[0]
    for key in ("lr", "eps", "betas", "alpha"):
        assert getattr(ours, key, None) == group.get(key), key
    assert getattr(ours, "decay", ours.weight_decay) == group["weight_decay"]


@pytest.mark.parametrize(
    "factor, theirs_kind, options",
    [
        (optim.step_decay(3, 0.5), schedulers.StepLR, {"step_size": 3, "gamma": 0.5}),
        (optim.step_decay(4), schedulers.StepLR, {"step_size": 4}),
        (optim.cosine_decay(12), schedulers.CosineAnnealingLR, {"T_max": 12}),
        (optim.cosine_decay(12, 0.2), schedulers.CosineAnnealingLR, {"T_max": 12, "eta_min": 0.1}),
        (optim.warm_up(4), schedulers.LinearLR, {"start_factor": 0.25, "total_iters": 3}),
    ],
    ids=["step", "step, by default", "cosine", "cosine to 0.2", "warm up"],
)
def test_schedule(factor, theirs_kind, options):
    x, y, ours, theirs = optimizers("SGD", {"lr": 0.5})
    ours_schedule, theirs_schedule = optim.Schedule(ours, factor), theirs_kind(theirs, **options)
    for step in range(13):
        assert ours.lr == pytest.approx(theirs.param_groups[0]["lr"], rel=1e-12, abs=1e-16), step
        give_gradients(x, y, step)
        ours.step()
        theirs.step()
        ours_schedule.step()
        theirs_schedule.step()
    assert_parameters_close(x, y, rtol=1e-12)


def clipped():
    """Parameters of both with the same gradients."""
    x, y, *_ = optimizers("SGD", {"lr": 0.5})
    give_gradients(x, y, 1)
    return x, y


@pytest.mark.parametrize("most", [0.1, 1.0, 1e3])
def test_clip_grad_norm(most):
    x, y = clipped()
    norm = optim.clip_grad_norm(x, most)
    want = torch.nn.utils.clip_grad_norm_(y, most).item()
    assert norm == pytest.approx(want, rel=1e-12)
    for a, b in zip(x, y, strict=True):
        assert_close(a.grad, b.grad, rtol=2e-6 / norm)  # theirs adds 1e-6 to the norm


def test_clip_grad_value():
    x, y = clipped()
    optim.clip_grad_value(x, 0.5)
    torch.nn.utils.clip_grad_value_(y, 0.5)
    for a, b in zip(x, y, strict=True):
        np.testing.assert_array_equal(a.grad.data, b.grad.numpy())


@pytest.mark.parametrize(
    "special, of_ours, of_theirs",
    [
        (INF, [0, NAN], [0, NAN]),
        (NAN, [1, NAN], [NAN, NAN]),  # ours are left as they are
    ],
)
def test_clip_grad_norm_of_what_is_not_finite(special, of_ours, of_theirs):
    x, y = nn.Parameter(np.zeros(2)), theirs_of(np.zeros(2))
    x.grad, y.grad = Tensor([1.0, special]), theirs_of([1.0, special], False)
    with np.errstate(invalid="ignore"):
        norms = optim.clip_grad_norm([x], 1.0), torch.nn.utils.clip_grad_norm_([y], 1.0).item()
    np.testing.assert_array_equal(norms, [special, special])
    np.testing.assert_array_equal(x.grad.data, of_ours)
    np.testing.assert_array_equal(y.grad.numpy(), of_theirs)


# --- training ---


def networks(*pairs):
    """The networks of both, of layers in pairs, with the same parameters."""
    ours, theirs = zip(*pairs, strict=True)
    ours, theirs = nn.Sequential(*ours), torch.nn.Sequential(*theirs).double()
    with torch.no_grad():
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            b.copy_(torch.from_numpy(a.data.copy()))
    return ours, theirs


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
    assert_parameters_close(ours.parameters(), theirs.parameters(), rtol=1e-6)
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
    made = {"dtype": "float64", "rng": rng}
    ours, theirs = networks(
        (nn.Linear(6, 16, **made), torch.nn.Linear(6, 16)),
        (nn.ReLU(), torch.nn.ReLU()),
        (nn.Linear(16, 12, **made), torch.nn.Linear(16, 12)),
        (nn.BatchNorm(12, dtype="float64"), torch.nn.BatchNorm1d(12)),
        (nn.GELU(), torch.nn.GELU(approximate="tanh")),
        (nn.LayerNorm(12, dtype="float64"), torch.nn.LayerNorm(12)),
        (nn.Linear(12, 4, **made), torch.nn.Linear(12, 4)),
    )
    x = rng.standard_normal((40, 6))
    targets = (x[:, 0] > 0) + 2 * (x[:, 1] * x[:, 2] > 0).astype(np.int64)
    ours_optimizer = ours_kind(ours.parameters(), **options)
    train(ours, theirs, ours_optimizer, theirs_kind(theirs.parameters(), **options), x, targets)


def test_a_small_network_of_images_is_trained_alike():
    rng = RNG(1)
    made = {"dtype": "float64", "rng": rng}
    ours, theirs = networks(
        (nn.Conv2d(1, 4, 3, padding=1, **made), torch.nn.Conv2d(1, 4, 3, padding=1)),
        (nn.ReLU(), torch.nn.ReLU()),
        (nn.MaxPool2d(2), torch.nn.MaxPool2d(2)),
        (nn.Conv2d(4, 6, 3, stride=2, **made), torch.nn.Conv2d(4, 6, 3, stride=2)),
        (nn.Tanh(), torch.nn.Tanh()),
        (nn.AvgPool2d(2, stride=1), torch.nn.AvgPool2d(2, stride=1)),
        (nn.Flatten(), torch.nn.Flatten()),
        (nn.Linear(24, 3, **made), torch.nn.Linear(24, 3)),
    )
    kept = copy.deepcopy(ours.state_dict())
    x, targets = rng.standard_normal((30, 1, 14, 14)), rng.integers(0, 3, 30)
    adam, other = (
        kind(network.parameters(), lr=0.01)
        for kind, network in ((optim.Adam, ours), (torch.optim.Adam, theirs))
    )
    train(ours, theirs, adam, other, x, targets)
    assert all((kept[name] != p.data).any() for name, p in ours.named_parameters())
