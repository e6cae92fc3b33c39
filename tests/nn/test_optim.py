"""Optimizers against their formulas, schedules, clipping."""

import contextlib
import math

import numpy as np
import pytest
from support import OPTIMIZERS, assert_all_same_bits, assert_same_bits, unchanged

from tropical import autograd, nn, optim
from tropical.autograd import Tensor, memory_mode, memory_stats, reset_memory_stats
from tropical.autograd.operation import Operation

RNG = np.random.default_rng
NAN = float("nan")
NOT_NEGATIVE = "expected a finite number that is not negative"
FRACTION = r"expected a number in \[0, 1\)"


# --- formulas, in float64: each takes p, the gradient, the number of the step and its states ---


def sgd(p, g, t, s, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
    g = g + weight_decay * p
    s["v"] = momentum * s.get("v", 0) + g
    return p - lr * (g + momentum * s["v"] if nesterov else s["v"])


def adam(p, g, t, s, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    g = g + weight_decay * p
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g**2
    mean, square = s["m"] / (1 - betas[0] ** t), s["v"] / (1 - betas[1] ** t)
    return p - lr * mean / (np.sqrt(square) + eps)


def adamw(p, g, t, s, lr=1e-3, weight_decay=0.01, **options):
    return adam(p, g, t, s, lr, **options) - lr * weight_decay * p


def adagrad(p, g, t, s, lr=1e-2, eps=1e-10, weight_decay=0.0):
    g = g + weight_decay * p
    s["sum"] = s.get("sum", 0) + g**2
    return p - lr * g / (np.sqrt(s["sum"]) + eps)


def rmsprop(p, g, t, s, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0):
    g = g + weight_decay * p
    s["mean"] = alpha * s.get("mean", 0) + (1 - alpha) * g**2
    return p - lr * g / (np.sqrt(s["mean"]) + eps)


FORMULAS = {
    optim.SGD: sgd,
    optim.Adam: adam,
    optim.AdamW: adamw,
    optim.Adagrad: adagrad,
    optim.RMSProp: rmsprop,
}
CASES = [(getattr(optim, name), options) for name, options in OPTIMIZERS]
IDS = [f"{kind.__name__} {options}" for kind, options in CASES]
# One of each, states and decay included.
EACH = [CASES[4], CASES[6], CASES[9], CASES[13], CASES[15]]
each = pytest.mark.parametrize("kind, options", EACH, ids=[kind.__name__ for kind, _ in EACH])


def parameters(*shapes, dtype="float64", seed=0):
    draw = RNG(seed).standard_normal
    return [nn.Parameter(np.asarray(draw(shape)).astype(dtype)) for shape in shapes]


def give_gradients(several, seed):
    draw = RNG(seed).standard_normal
    for p in several:
        p.grad = Tensor(np.asarray(draw(p.shape)).astype(p.dtype))


def steps(optimizer, numbers):
    for number in numbers:
        give_gradients(optimizer.parameters, 100 + number)
        optimizer.step()


def stepped(*shapes, kind=optim.Adam, **options):
    """An optimizer of new parameters, after two steps."""
    optimizer = kind(parameters(*shapes), **options)
    steps(optimizer, range(2))
    return optimizer


def bits(several):
    return [p.data.copy() for p in several]


@contextlib.contextmanager
def refused(optimizer, error, message):
    """The block raises this, and changes no parameter and no state."""
    before = bits(optimizer.parameters)
    with unchanged(optimizer), pytest.raises(error, match=message):
        yield
    assert_all_same_bits(bits(optimizer.parameters), before)


class Reference:
    """What the formula makes of these parameters, in float64."""

    def __init__(self, kind, options, several):
        self.formula, self.options, self.several = FORMULAS[kind], dict(options), several
        self.values = [p.data.astype(np.float64) for p in several]
        self.states = [{} for _ in several]
        self.steps = [0] * len(several)

    def step(self, **tolerance):
        """One step with the gradients that there are; the parameters have made it already."""
        for i, p in enumerate(self.several):
            if p.grad is not None:
                self.steps[i] += 1
                at = self.values[i], p.grad.data.astype(np.float64), self.steps[i], self.states[i]
                self.values[i] = self.formula(*at, **self.options)
            np.testing.assert_allclose(p.data, self.values[i], **tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind, options", CASES, ids=IDS)
def test_formula(kind, options, dtype):
    several = parameters((3, 4), (), (5,), (0, 2), dtype=dtype)
    optimizer, reference = kind(several, **options), Reference(kind, options, several)
    arrays = [p.data for p in several]
    tolerance = {"rtol": 1e-11} if dtype == "float64" else {"rtol": 2e-5, "atol": 4e-6}
    for t in range(1, 21):
        give_gradients(several, t)
        gradients = [p.grad.data.copy() for p in several]
        optimizer.step()
        assert_all_same_bits([p.grad.data for p in several], gradients)
        reference.step(**tolerance)
        assert all(p.data is a and p.dtype == dtype for p, a in zip(several, arrays, strict=True))


@pytest.mark.parametrize(
    "kind, options",
    [(optim.RMSProp, {"alpha": 0.0}), (optim.Adam, {"betas": (0.0, 0.0)})],
    ids=["RMSProp", "Adam"],
)
@pytest.mark.parametrize("dtype, small", [("float32", 1e-5), ("float64", 1e-9)])
def test_what_is_to_be_forgotten_leaves_no_rounding_errors(kind, options, dtype, small):
    """A small gradient after a large one: what remembers nothing steps by lr whatever the size."""
    p = nn.Parameter(np.zeros(1, dtype))
    optimizer = kind([p], lr=1.0, eps=small / 1000, **options)
    for size in (1.0, small):
        p.data[:] = 0
        p.grad = Tensor(np.full(1, size, dtype))
        optimizer.step()
        assert p.data[0] == pytest.approx(-1, rel=2e-3)


@pytest.mark.parametrize("kind", [optim.RMSProp, optim.Adam])
def test_mean_squares_are_never_negative(kind):
    p = nn.Parameter(np.zeros(1000, np.float32))
    optimizer = kind([p])
    for scale in (1e3, 0.0, 1e-3, 1e3, 1e-20, 0.0):
        p.grad = Tensor((RNG(0).standard_normal(1000) * scale).astype(np.float32))
        optimizer.step()
        assert (optimizer.states[0][-1] >= 0).all() and np.isfinite(p.data).all()


@each
def test_each_parameter_counts_its_own_steps(kind, options):
    _, second = several = parameters((3,), (2, 2))
    optimizer, reference = kind(several, **options), Reference(kind, options, several)
    for number in range(6):
        give_gradients(several, number)
        if number % 3 < 2:
            second.grad = None
        optimizer.step()
        reference.step(rtol=1e-12)
    assert optimizer.steps == reference.steps == [6, 2]
    assert optimizer.state_dict()["steps"].tolist() == [6, 2]


@each
def test_the_rate_may_be_changed_at_any_time(kind, options):
    several = parameters((5,))
    optimizer, reference = kind(several, **options), Reference(kind, options, several)
    for t, rate in enumerate((0.5, 0.0, 0.25, np.float64(0.1)), start=1):
        optimizer.lr = reference.options["lr"] = rate
        give_gradients(several, t)
        optimizer.step()
        reference.step(rtol=1e-12)


@each
def test_parameters_of_both_dtypes(kind, options):
    mixed = [*parameters(4), *parameters(3, dtype="float32")]
    alone = [parameters(4), parameters(3, dtype="float32")]
    steps(kind(mixed, **options), range(5))
    for number, one in enumerate(alone):
        optimizer = kind(one, **options)
        for step in range(5):
            give_gradients(mixed, 100 + step)
            one[0].grad = mixed[number].grad
            optimizer.step()
        assert_same_bits(one[0].data, mixed[number].data)


@pytest.mark.parametrize("piece", [1, 7, 12, 13])
@each
def test_pieces_do_not_change_bits(kind, options, piece, monkeypatch):
    results = []
    for size in (optim.optimizer.PIECE, piece):
        monkeypatch.setattr(optim.optimizer, "PIECE", size)
        several = parameters((5, 5), 3, (2, 3, 2), 13)
        steps(kind(several, **options), range(4))
        results.append(bits(several))
    assert_all_same_bits(*results)


@pytest.mark.parametrize("order", ["fortran", "strided", "broadcast"])
@each
def test_gradients_in_any_order(kind, options, order):
    values = RNG(1).standard_normal((4, 6))
    gradient = {
        "fortran": np.asfortranarray(values),
        "strided": np.repeat(values, 2, axis=1)[:, ::2],
        "broadcast": np.broadcast_to(values[:1], (4, 6)),
    }[order]
    results = []
    for one in (gradient, np.ascontiguousarray(gradient)):
        (p,) = parameters((4, 6))
        p.grad = Tensor(one)
        optimizer = kind([p], **options)
        optimizer.step()
        optimizer.step()
        results.append(p.data)
    assert_same_bits(*results)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@each
def test_a_step_makes_no_array(kind, options, dtype):
    with memory_mode("off"):
        optimizer = kind(parameters((300, 400), 7, dtype=dtype), **options)
        give_gradients(optimizer.parameters, 1)
        for _ in range(2):
            reset_memory_stats()
            before = memory_stats().live_bytes
            optimizer.step()
            assert memory_stats().allocations == 0
            assert memory_stats().peak_live_bytes == memory_stats().live_bytes == before


@each
def test_gradients_of_layers_need_no_copies(kind, options):
    """What backward leaves lies as the weight does, however the layer used it."""
    x = RNG(0).standard_normal((2, 2, 6, 5)).astype(np.float32)
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3),
        nn.BatchNorm(3),
        nn.Flatten(),
        nn.Linear(36, 8),
        nn.LayerNorm(8),
        nn.TropicalLinear(8, 4),
    )
    model(x).sum().backward()
    kind(model.parameters(), **options).step()
    for name, p in model.named_parameters():
        assert p.grad.data.strides == p.data.strides, name


@each
def test_gradients_of_another_dtype(kind, options):
    ours, theirs = (parameters((3, 5), dtype="float32") for _ in range(2))
    one, other = kind(ours, **options), kind(theirs, **options)
    gradient = RNG(1).standard_normal((3, 5))
    for _ in range(3):
        ours[0].grad, theirs[0].grad = Tensor(gradient), Tensor(gradient.astype("f4"))
        one.step()
        other.step()
    assert_same_bits(ours[0].data, theirs[0].data)


@each
def test_a_subclass_may_use_the_update_of_its_base(kind, options):
    """Pieces that a subclass passes on have the bits of whole parameters."""

    class Own(kind):
        def update(self, coefficients, scratch, p, g, *states):
            assert p.size == g.size == scratch.size and all(c.ndim == 0 for c in coefficients)
            super().update(coefficients, scratch, p, g, *states)

    own, plain = (parameters((7, 9), 3, dtype="float32") for _ in range(2))
    steps(Own(own, **options), range(4))
    steps(kind(plain, **options), range(4))
    assert_all_same_bits(bits(own), bits(plain))


def test_means_of_gradients_that_stay_away_become_zero():
    """They would be subnormal for ever, and a step would take 60 times as long."""
    (p,) = parameters(8, dtype="float32")
    optimizer = optim.Adam([p])
    give_gradients([p], 0)
    optimizer.step()
    p.grad = Tensor(np.zeros(8, "f4"))
    for _ in range(1000):
        optimizer.step()
    assert not optimizer.states[0][0].any() and optimizer.states[0][1].all()


def test_faults_are_those_of_numpy():
    p = nn.Parameter(np.zeros(3))
    optimizer = optim.Adam([p], eps=0.0)
    p.grad = Tensor(np.zeros(3))
    with pytest.warns(RuntimeWarning, match="invalid value encountered in a step"):
        optimizer.step()
    p.grad = Tensor(np.full(3, 1e200))
    with np.errstate(over="ignore"):
        optimizer.step()
    assert optimizer.steps == [2]


# --- states ---


@pytest.mark.parametrize("kind, options", CASES, ids=IDS)
def test_restored_states_continue_identically(kind, options, tmp_path):
    several = parameters((3, 4), 5)
    optimizer = kind(several, **options)
    steps(optimizer, range(5))
    optimizer.lr *= 0.5
    values = bits(several)
    nn.save_arrays(tmp_path / "o.npz", optimizer.state_dict())
    steps(optimizer, range(5, 10))
    others = [nn.Parameter(value) for value in values]
    other = kind(others, **options)
    steps(kind(parameters((3, 4), 5), **options), range(3))  # states are nobody else's
    other.load_state_dict(nn.load_arrays(tmp_path / "o.npz"))
    steps(other, range(5, 10))
    assert_all_same_bits(bits(others), bits(several))
    assert other.steps == [10, 10]
    assert other.lr == optimizer.lr and type(other.lr) is float


def test_states_are_copies():
    optimizer = stepped(3)
    state = optimizer.state_dict()
    assert list(state) == [
        *("optimizer", "steps", "lr", "weight_decay", "betas", "eps", "0.0", "0.1")
    ]
    with unchanged(optimizer):
        for array in state.values():
            array[...] = 7
    again = optimizer.state_dict()
    with unchanged(optimizer):
        optimizer.load_state_dict(again)
        for array in again.values():
            array[...] = 7


@pytest.mark.parametrize("kind, options", CASES, ids=IDS)
def test_states_bring_their_hyperparameters(kind, options):
    """Loaded by an optimizer with others, they are those of the optimizer that was saved."""
    several = parameters((3, 4), 5)
    optimizer = kind(several, **options)
    steps(optimizer, range(2))
    others = [nn.Parameter(value) for value in bits(several)]
    own = {"momentum": 0.25} if "momentum" in options else {}
    if kind in (optim.Adam, optim.AdamW):
        own |= {"betas": (0.1, 0.2)}
    if kind is optim.RMSProp:
        own |= {"alpha": 0.75}
    if kind is not optim.SGD:
        own |= {"eps": 1.0}
    other = kind(others, lr=7, weight_decay=0.5, **own)
    other.load_state_dict(optimizer.state_dict())
    for name in kind.hyperparameters:
        value = getattr(other, name)
        assert value == getattr(optimizer, name) and type(value) in (float, bool, tuple), name
    steps(optimizer, range(2, 4))
    steps(other, range(2, 4))
    assert_all_same_bits(bits(others), bits(several))


def moved(state):
    """The state with other counts and arrays; its numbers stay in range."""
    return {
        name: array + 1 if name == "steps" or name[0].isdigit() else array
        for name, array in state.items()
    }


def without_none(state):
    return {name: array for name, array in state.items() if array is not None}


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"0.1": None}, ValueError, r"state: missing \['0.1'\], unknown \[\]"),
        ({"1.0": np.zeros(3)}, ValueError, r"state: missing \[\], unknown \['1.0'\]"),
        ({"0.1": np.zeros(4)}, ValueError, r"state: 0.1: expected shape \(3,\), got \(4,\)"),
        ({"steps": np.zeros(2)}, ValueError, r"state: steps: expected shape \(1,\), got \(2,\)"),
        ({"steps": np.array([-1])}, ValueError, f"steps: {NOT_NEGATIVE}, got -1"),
        ({"lr": np.array(np.nan)}, ValueError, f"lr: {NOT_NEGATIVE}, got nan"),
        ({"lr": np.array(np.inf)}, ValueError, f"lr: {NOT_NEGATIVE}, got inf"),
        ({"eps": np.array(-1.0)}, ValueError, f"eps: {NOT_NEGATIVE}, got -1"),
        ({"betas": np.array([0.5, 1.0])}, ValueError, rf"betas\[1\]: {FRACTION}, got 1"),
        ({"betas": None}, ValueError, r"state: missing \['betas'\], unknown \[\]"),
        (
            {"optimizer": np.array("AdamW")},
            ValueError,
            "state: expected that of Adam, got that of AdamW",
        ),
        ({"optimizer": None}, ValueError, "state: expected that of Adam, got that of None"),
        ({"0.1": np.full(3, "a")}, TypeError, "state: 0.1: expected .*, got <U1"),
        ({"lr": np.array("a")}, TypeError, "state: lr: expected .*, got <U1"),
        ({"steps": np.array(["a"])}, TypeError, "state: steps: expected .*, got <U1"),
    ],
)
def test_states_that_do_not_fit_change_nothing(change, error, message):
    optimizer = stepped(3)
    state = without_none(moved(optimizer.state_dict()) | change)
    with refused(optimizer, error, message):
        optimizer.load_state_dict(state)


# --- which parameters ---


@each
def test_parameters_without_gradient_are_untouched(kind, options):
    still, moving = parameters(3, 3)
    optimizer = kind([still, moving], **options)
    before = bits([still, moving])
    states = optimizer.state_dict()
    for number in range(3):
        give_gradients([moving], number)
        optimizer.step()
    assert_same_bits(still.data, before[0])
    assert (moving.data != before[1]).all()
    for name, array in optimizer.state_dict().items():
        if name.startswith("0."):
            assert_same_bits(array, states[name])
    optimizer.zero_grad()
    assert still.grad is None and moving.grad is None
    optimizer.step()


def test_momentum_and_nesterov_may_be_set_later():
    several, others = parameters(3, 2), parameters(3, 2)
    later, first = optim.SGD(several, 0.1), optim.SGD(others, 0.1, momentum=0.5, nesterov=True)
    later.momentum, later.nesterov = 0.5, np.True_
    for optimizer in (later, first):
        steps(optimizer, range(3))
    assert_all_same_bits(bits(several), bits(others))
    first.load_state_dict(later.state_dict())
    assert first.nesterov is True


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_a_state_brings_its_momentum(momentum):
    several = parameters(3, 2)
    saved = optim.SGD(several, 0.1, momentum=momentum)
    steps(saved, range(2))
    others = [nn.Parameter(p.data.copy()) for p in several]
    loaded = optim.SGD(others, 0.1, momentum=0.5 - momentum)
    with refused(loaded, ValueError, "state: steps: expected shape"):
        loaded.load_state_dict(saved.state_dict() | {"steps": np.zeros(1)})
    loaded.load_state_dict(saved.state_dict())
    for optimizer in (saved, loaded):
        steps(optimizer, range(3))
    assert_all_same_bits(bits(several), bits(others))


def test_zero_gradients_are_gradients():
    (p,) = parameters(3)
    optimizer = optim.SGD([p], 0.1, momentum=0.9, weight_decay=0.5)
    wanted = p.data.copy()
    p.grad = Tensor(np.zeros(3))
    optimizer.step()
    np.testing.assert_allclose(p.data, wanted * 0.95)


def leaf(*shape):
    return Tensor(np.ones(shape), requires_grad=True)


def leaf_with_gaps():
    return Tensor(np.ones((3, 4))[:, ::2], requires_grad=True)


@each
@pytest.mark.parametrize(
    "make, message",
    [
        (list, "parameters: expected at least one"),
        (lambda: [leaf(2), *[leaf(3)] * 2], "parameters: expected different tensors"),
        (lambda: [leaf(2), leaf(2) * 2], r"parameters\[1\]: expected a leaf"),
        (lambda: [Tensor([1.0])], r"parameters\[0\]: expected a leaf that requires grad"),
        (lambda: [leaf_with_gaps()], r"parameters\[0\]: .*contiguous data"),
    ],
)
def test_wrong_parameters(kind, options, make, message):
    with pytest.raises(ValueError, match=message):
        kind(make(), **options)


@pytest.mark.parametrize(
    "given, message",
    [
        (leaf(3), "parameters: expected several Tensors, got Tensor"),
        (5, "parameters: expected several Tensors, got int"),
        ([leaf(2), {"params": [leaf(3)]}], r"parameters\[1\]: expected a Tensor, got dict"),
        (nn.Linear(1, 1).named_parameters(), r"parameters\[0\]: expected a Tensor, got tuple"),
    ],
)
def test_parameters_of_another_type(given, message):
    with pytest.raises(TypeError, match=message):
        optim.SGD(given, 0.1)


ADAMS = (optim.Adam, optim.AdamW)
WRONG_NUMBERS = [
    # kinds, option, wrong values, message
    (FORMULAS, "lr", (-0.1, NAN, math.inf), f"lr: {NOT_NEGATIVE}"),
    (FORMULAS, "weight_decay", (-1.0, NAN, math.inf), f"weight_decay: {NOT_NEGATIVE}"),
    (
        (*ADAMS, optim.Adagrad, optim.RMSProp),
        "eps",
        (-1.0, NAN, math.inf),
        f"eps: {NOT_NEGATIVE}",
    ),
    ([optim.Adam], "betas", (0.9, (0.9,), (0.9, 0.99, 0.999)), "betas: expected two numbers"),
    ([optim.SGD], "momentum", (1.0, -0.1, NAN), f"momentum: {FRACTION}"),
    ([optim.SGD], "nesterov", (True,), "momentum: expected more than 0"),
    (ADAMS, "betas", ((1.0, 0.9), (-0.1, 0.9)), rf"betas\[0\]: {FRACTION}"),
    (ADAMS, "betas", ((0.9, 1.0), (0.9, NAN)), rf"betas\[1\]: {FRACTION}"),
    ([optim.RMSProp], "alpha", (1.0, -0.1, NAN), f"alpha: {FRACTION}"),
]


@pytest.mark.parametrize(
    "kind, name, wrong, message",
    [
        (kind, name, wrong, message)
        for kinds, name, several, message in WRONG_NUMBERS
        for kind in kinds
        for wrong in several
    ],
)
def test_wrong_numbers(kind, name, wrong, message):
    with pytest.raises(ValueError, match=message) as error:
        kind(parameters(2), **{"lr": 1.0, name: wrong})
    if NOT_NEGATIVE in message:
        assert f"got {wrong}" in str(error.value)


@pytest.mark.parametrize(
    "data, message",
    [
        (np.ones((3, 8))[:, ::2], "contiguous"),
        (np.ones((3, 5)), "parameters"),
        (np.ones((3, 4), np.float32), "parameters"),
    ],
    ids=["strided", "of another shape", "of another dtype"],
)
@each
def test_other_data_is_refused_before_anything_changes(kind, options, data, message):
    optimizer = stepped(2, (3, 4), 2, kind=kind, **options)
    optimizer.parameters[1].data = data
    give_gradients(optimizer.parameters, 0)
    with refused(optimizer, ValueError, message):
        optimizer.step()


@each
def test_wrong_gradients_are_refused_before_anything_changes(kind, options):
    optimizer = stepped(2, (3, 4), kind=kind, **options)
    wrong = optimizer.parameters[1]
    for shape in ((4,), (4, 3), ()):
        wrong.grad = Tensor(np.ones(shape))
        message = r"parameters\[1\].grad: expected shape \(3, 4\), got"
        with refused(optimizer, ValueError, message):
            optimizer.step()
    wrong.grad = Tensor(np.ones((3, 4)))
    wrong.data.flags.writeable = False
    with refused(optimizer, ValueError, r"parameters\[1\].data: expected writeable"):
        optimizer.step()


def test_other_contiguous_data_is_taken():
    (p,) = parameters(3)
    optimizer = optim.SGD([p], 0.5)
    p.data = np.array([1.0, 2.0, 3.0])
    p.grad = Tensor([2.0, 2.0, 2.0])
    optimizer.step()
    assert p.data.tolist() == [0, 1, 2]


@pytest.mark.parametrize("minimized", [True, False])
@each
def test_layouts_of_a_weight_change_no_bit(kind, options, minimized):
    """A weight in C order, in Fortran order, and in one after the other."""
    x = RNG(0).standard_normal((7, 5)).astype(np.float32)
    results = []
    for orders in ("CCC", "FFF", "CFC", "FCF"):
        layer = nn.Linear(5, 3, rng=RNG(1))
        optimizer = kind(layer.parameters(), **options)
        for order in orders:
            layer.weight.data = np.array(layer.weight.data, order=order)
            loss = (layer(x) ** 2.0).sum()
            if minimized:
                optimizer.minimize(loss)
                continue
            loss.backward()
            assert layer.weight.grad.data.strides == layer.weight.data.strides
            optimizer.step()
            optimizer.zero_grad()
        results.append(layer.weight.data)
    assert_all_same_bits(results[1:], results[:1] * 3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind, options", CASES, ids=IDS)
def test_minimize_is_backward_and_step(kind, options, dtype):
    rng = RNG(0)

    def network():
        return nn.Sequential(
            nn.Linear(6, 5, rng=RNG(1), dtype=dtype),
            nn.ReLU(),
            nn.LayerNorm(5, dtype=dtype),
            nn.Linear(5, 3, bias=False, rng=RNG(2), dtype=dtype),
        )

    networks = network(), network()
    one, other = (kind(network.parameters(), **options) for network in networks)
    for _ in range(4):
        x, targets = rng.standard_normal((2, 7, 6)).astype(dtype), rng.integers(0, 3, 14)
        losses = [
            autograd.cross_entropy(autograd.reshape(network(Tensor(x)), (14, 3)), targets)
            for network in networks
        ]
        one.minimize(losses[0])
        losses[1].backward()
        other.step()
        other.zero_grad()
    rtol, atol = (1e-5, 1e-8) if dtype == "float32" else (1e-12, 0)  # sums may cancel
    for a, b in zip(*(network.parameters() for network in networks), strict=True):
        np.testing.assert_allclose(a.data, b.data, rtol=rtol, atol=atol)
        assert a.grad is None
    assert one.steps == other.steps == [4] * len(one.parameters)


@pytest.mark.parametrize("kind, options", CASES, ids=IDS)
def test_minimize_counts_the_gradients_of_earlier_passes(kind, options):
    layers = [nn.Linear(3, 2, rng=RNG(1), dtype="float64") for _ in range(2)]
    one, other = (kind(layer.parameters(), **options) for layer in layers)
    for x in RNG(2).standard_normal((3, 2, 4, 3)):
        losses = [[(layer(part) ** 2).sum() for part in x] for layer in layers]
        losses[0][0].backward()
        one.minimize(losses[0][1])
        for loss in losses[1]:
            loss.backward()
        other.step()
        other.zero_grad()
    for a, b in zip(*(layer.parameters() for layer in layers), strict=True):
        np.testing.assert_allclose(a.data, b.data, rtol=1e-12)
        assert a.grad is None


@pytest.mark.parametrize("momentum, makes", [(0.0, False), (0.5, True)])
def test_minimize_makes_no_gradient_of_a_weight(momentum, makes):
    model = nn.Linear(500, 300, rng=RNG(0))
    optimizer = optim.SGD(model.parameters(), 0.1, momentum=momentum)
    with memory_mode("pool"):
        loss = model(Tensor(np.ones((2, 500), np.float32))).sum()
        reset_memory_stats()
        before = memory_stats().live_bytes
        optimizer.minimize(loss)
        assert (memory_stats().peak_live_bytes - before >= model.weight.data.nbytes) == makes


@pytest.mark.parametrize("once", [True, False])
def test_minimize_of_weights_used_twice_or_with_hooks(once):
    weight = Tensor(np.eye(2), requires_grad=True)
    seen = []
    if once:
        weight.register_hook(lambda g: seen.append(g.data.copy()) or 2 * g)
    x = Tensor([[1.0, 2.0]])
    y = autograd.linear(x, weight)
    if not once:
        y = autograd.linear(y, weight)
    optim.SGD([weight], 0.5).minimize(y.sum())
    gradient = [[2.0, 4.0], [2.0, 4.0]]
    np.testing.assert_array_equal(weight.data, np.eye(2) - 0.5 * np.array(gradient))
    assert len(seen) == once


def looked_at(data, hooked):
    """Two layers, and a function between them that looks at the data of the second."""
    first, second = (Tensor(np.full((2, 2), data), requires_grad=True) for data in data)
    x = Tensor([[1.0, 2.0]])
    if hooked:
        h = autograd.linear(x, first)
        h.register_hook(lambda g: g * np.abs(second.data).max())
    else:
        h = autograd.checkpoint(lambda t: autograd.linear(t, first) * second.data.max(), x)
    return [first, second], autograd.linear(h, second).sum()


@pytest.mark.parametrize("hooked", [True, False])
def test_minimize_changes_nothing_that_is_looked_at_in_the_walk(hooked):
    one, loss = looked_at((1.0, 2.0), hooked)
    optim.SGD(one, 1.0).minimize(loss)
    other, loss = looked_at((1.0, 2.0), hooked)
    loss.backward()
    optim.SGD(other, 1.0).step()
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.data, b.data)


def test_minimize_whose_hook_fails_changes_nothing():
    weights = [Tensor(np.ones((2, 2)), requires_grad=True) for _ in range(2)]
    h = autograd.linear(Tensor([[1.0, 2.0]]), weights[0])
    h.register_hook(lambda g: g.data.reshape(2, 1))
    optimizer = optim.SGD(weights, 0.1)
    with pytest.raises(ValueError, match="hook: expected a gradient"):
        optimizer.minimize(autograd.linear(h, weights[1]).sum())
    assert all((w.data == 1).all() for w in weights) and optimizer.steps == [0, 0]


def test_minimize_leaves_updates_to_those_who_define_them():
    class Frozen(optim.SGD):
        def update(self, *_):
            pass

    weight = Tensor(np.ones((1, 2)), requires_grad=True)
    Frozen([weight], 0.1).minimize(autograd.linear(np.ones((1, 2)), weight).sum())
    assert (weight.data == 1).all()


def test_minimize_takes_rates_of_numpy():
    weight = nn.Linear(2, 1, rng=RNG(0))
    before = weight.bias.data.copy()
    optimizer = optim.SGD(weight.parameters(), np.float64(0.5))
    optimizer.minimize(weight(np.ones((1, 2), np.float32)).sum())
    np.testing.assert_array_equal(weight.bias.data, before - np.float32(0.5))
    assert weight.weight.dtype == weight.bias.dtype == np.float32


def test_gradients_that_are_no_tensors_are_refused():
    weight = Tensor([1.0], requires_grad=True)
    weight.grad = np.ones(1)
    optimizer = optim.SGD([weight], 0.1)
    with pytest.raises(TypeError, match=r"parameters\[0\].grad: expected a Tensor, got ndarray"):
        optimizer.step()
    assert optimizer.steps == [0]


def test_minimize_uses_weights_before_it_changes_them():
    weights = [Tensor(np.full((2, 2), 0.5), requires_grad=True) for _ in range(3)]
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    y = x
    for weight in weights:
        y = autograd.linear(y, weight)
    optim.SGD(weights, 100.0).minimize(y.sum())
    np.testing.assert_array_equal(x.grad.data, [[1.0, 1.0]])


def test_minimize_changes_nothing_if_it_cannot():
    model = nn.Sequential(nn.Linear(3, 3, rng=RNG(0)), nn.Linear(3, 1, rng=RNG(0)))
    optimizer, x = optim.SGD(model.parameters(), 0.1), np.ones((4, 3), np.float32)
    loss = model(x).sum()
    loss.backward()
    last = model[1].bias
    with unchanged(model):
        with pytest.raises(autograd.GraphReleasedError):
            optimizer.minimize(loss)
        with pytest.raises(ValueError, match=r"minimize: expected a tensor of one .*\(4, 1\)"):
            optimizer.minimize(model(x))
        with pytest.raises(RuntimeError, match="minimize: this tensor does not require grad"):
            optimizer.minimize(Tensor(1.0))
        loss = model(x).sum()
        last.data = last.data.astype(np.float64)
        with pytest.raises(ValueError, match=r"parameters\[3\].data: expected"):
            optimizer.minimize(loss)
        last.data = last.data.astype(np.float32)


# --- schedules ---


def rates(factor, count, lr=0.5):
    optimizer = optim.SGD(parameters(1), lr)
    schedule = optim.Schedule(optimizer, factor)
    result = []
    for _ in range(count):
        result.append(optimizer.lr)
        schedule.step()
    assert schedule.steps == count
    return result


def test_step_decay():
    want = [0.5] * 3 + [0.05] * 3 + [0.005] * 3
    np.testing.assert_allclose(rates(optim.step_decay(3), 9), want, rtol=1e-14)
    want = [0.5 * 0.3**t for t in range(6)]
    np.testing.assert_allclose(rates(optim.step_decay(1, 0.3), 6), want, rtol=1e-14)


@pytest.mark.parametrize("least", [0.0, 0.2])
def test_cosine_decay(least):
    want = [0.5 * (least + (1 - least) * (1 + math.cos(math.pi * t / 8)) / 2) for t in range(9)]
    got = rates(optim.cosine_decay(8, least), 15)
    np.testing.assert_allclose(got[:9], want, rtol=1e-14)
    assert got[0] == 0.5 and got[8:] == [0.5 * least] * 7
    assert sorted(got, reverse=True) == got


def test_warm_up():
    np.testing.assert_allclose(
        rates(optim.warm_up(4), 8), [0.125, 0.25, 0.375, *[0.5] * 5], rtol=1e-15
    )
    assert rates(optim.warm_up(1), 3) == [0.5] * 3


def test_schedules_compose():
    after = optim.cosine_decay(6, 0.1)
    got = rates(optim.warm_up(3, optim.warm_up(2, after)), 14)
    want = [0.5 * f for f in (1 / 3, 2 / 3, 1, 1 / 2, 1, *map(after, range(9)))]
    np.testing.assert_allclose(got, want, rtol=1e-14)
    assert rates(lambda step: 1 / (1 + step), 3) == [0.5, 0.25, 0.5 / 3]


def test_a_schedule_takes_the_rate_at_its_making_as_full():
    optimizer = optim.SGD(parameters(1), 1.0)
    optimizer.lr = 0.25
    schedule = optim.Schedule(optimizer, optim.step_decay(1, 0.5))
    schedule.step()
    assert optimizer.lr == 0.125


@pytest.mark.parametrize("lr", [0.1, 1])
def test_a_restored_schedule_goes_on_as_if_nothing_had_been(lr, tmp_path):
    """The rate of the optimizer may be an integer."""

    def begin(lr=0.5):
        optimizer = optim.SGD(parameters(1), lr)
        return optimizer, optim.Schedule(optimizer, optim.warm_up(2, optim.cosine_decay(6)))

    optimizer, schedule = begin()
    for _ in range(4):
        schedule.step()
    nn.save_arrays(tmp_path / "s.npz", schedule.state_dict())
    nn.save_arrays(tmp_path / "o.npz", optimizer.state_dict())
    other, restored = begin(lr)
    other.load_state_dict(nn.load_arrays(tmp_path / "o.npz"))
    restored.load_state_dict(nn.load_arrays(tmp_path / "s.npz"))
    for _ in range(5):
        assert other.lr == optimizer.lr and restored.steps == schedule.steps
        schedule.step()
        restored.step()


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"base_lr": None}, ValueError, r"state: missing \['base_lr'\]"),
        ({"more": np.array(1)}, ValueError, r"unknown \['more'\]"),
        ({"steps": np.array(-1)}, ValueError, f"steps: {NOT_NEGATIVE}"),
        ({"steps": np.array(1.5)}, TypeError, "state: steps: expected int64, got float64"),
        ({"base_lr": np.array(NAN)}, ValueError, f"base_lr: {NOT_NEGATIVE}"),
        ({"base_lr": np.zeros(2)}, ValueError, r"state: base_lr: expected shape \(\), got \(2,\)"),
    ],
)
def test_states_that_do_not_fit_leave_the_schedule(change, error, message):
    optimizer = optim.SGD(parameters(1), 0.5)
    schedule = optim.Schedule(optimizer, optim.step_decay(1, 0.5))
    schedule.step()
    state = without_none({"steps": np.array(7), "base_lr": np.array(2.0)} | change)
    with pytest.raises(error, match=message):
        schedule.load_state_dict(state)
    assert (schedule.steps, schedule.base_lr, optimizer.lr) == (1, 0.5, 0.25)


@pytest.mark.parametrize("make", [optim.step_decay, optim.cosine_decay, optim.warm_up])
def test_schedules_want_a_step_at_least(make):
    for wrong in (0, -3):
        with pytest.raises(ValueError, match=f"at least 1, got {wrong}"):
            make(wrong)


# --- clipping ---


def with_gradients(*gradients, dtype="float64"):
    result = []
    for gradient in gradients:
        p = nn.Parameter(np.zeros(np.shape(gradient), dtype))
        p.grad = Tensor(np.array(gradient, dtype))
        result.append(p)
    return result


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_clip_grad_norm(dtype):
    several = [
        *with_gradients([[3.0, 0.0]], 4.0, [[0.0, 12.0]], dtype=dtype),
        *parameters(2, dtype=dtype),
    ]
    several[2].grad = Tensor(np.array([[0.0], [12.0]], dtype).T)
    arrays = [p.grad.data for p in several[:3]]
    assert optim.clip_grad_norm(several, 20.0) == 13
    assert optim.clip_grad_norm(several, 13.0) == 13  # not above it
    assert [a.tolist() for a in arrays] == [[[3, 0]], 4, [[0, 12]]]
    assert optim.clip_grad_norm(iter(several), 6.5) == 13
    assert several[3].grad is None
    for p, array, want in zip(several, arrays, ([[1.5, 0]], 2, [[0, 6]]), strict=False):
        assert p.grad.data is array and array.dtype == dtype
        np.testing.assert_allclose(array, want, rtol=1e-6)
    assert optim.clip_grad_norm(several, 0.0) == pytest.approx(6.5)
    assert not any(array.any() for array in arrays)


def test_clip_grad_norm_of_nothing():
    assert optim.clip_grad_norm([], 1.0) == 0
    assert optim.clip_grad_norm(parameters(3), 1.0) == 0
    (p,) = with_gradients([0.0, 0.0])
    assert optim.clip_grad_norm([p], 1.0) == 0 and optim.clip_grad_norm([p], 0.0) == 0
    assert p.grad.data.tolist() == [0, 0]
    (empty,) = with_gradients(np.zeros((0, 3)))
    assert optim.clip_grad_norm([empty], 1.0) == 0


@pytest.mark.parametrize(
    "gradients, most, norm, want",
    [
        (([1.0, NAN], [2.0]), 1.0, NAN, ([1, NAN], [2])),  # left as they are: the norm tells
        (([1.0, math.inf], [2.0]), math.inf, math.inf, ([1, math.inf], [2])),
        (([1.0, math.inf], [2.0]), 1.0, math.inf, ([0, NAN], [0])),
        (([math.inf], [NAN]), 1.0, NAN, ([math.inf], [NAN])),
    ],
)
def test_clip_grad_norm_of_what_is_not_finite(gradients, most, norm, want):
    several = with_gradients(*gradients)
    np.testing.assert_equal(optim.clip_grad_norm(several, most), norm)
    for p, one in zip(several, want, strict=True):
        np.testing.assert_array_equal(p.grad.data, one)


@pytest.mark.parametrize(
    "dtype, size",
    [*(("float32", s) for s in (1e30, 1e-30)), *(("float64", s) for s in (1e200, 1e-200, 1e-300))],
)
def test_clip_grad_norm_neither_overflows_nor_vanishes(dtype, size):
    several = with_gradients([3 * size, 4 * size], [[12 * size]], dtype=dtype)
    assert optim.clip_grad_norm(several, size) == pytest.approx(13 * size, rel=1e-6)
    for p, want in zip(several, ([3, 4], [[12]]), strict=True):
        np.testing.assert_allclose(p.grad.data, np.array(want) * (size / 13), rtol=1e-6)


def test_one_parameter_may_be_clipped_alone():
    (p,) = with_gradients([[3.0, 4.0], [0.0, 0.0]])
    assert optim.clip_grad_norm(p, 1.0) == 5
    np.testing.assert_allclose(p.grad.data, [[0.6, 0.8], [0, 0]])
    optim.clip_grad_value(p, 0.7)
    np.testing.assert_allclose(p.grad.data, [[0.6, 0.7], [0, 0]])


def test_clip_grad_norm_of_many_elements():
    (p,) = with_gradients(np.full(1_000_000, 0.1), dtype="float32")
    assert optim.clip_grad_norm([p], 1.0) == pytest.approx(100, rel=1e-4)
    assert np.linalg.norm(p.grad.data.astype(np.float64)) == pytest.approx(1, rel=1e-4)


def test_clip_grad_value():
    several = [*with_gradients([[-3.0, 0.5]], 4.0), *parameters(2)]
    several[1].grad.data[...] = np.inf
    array = several[0].grad.data
    optim.clip_grad_value(several, 1.0)
    assert several[0].grad.data is array
    assert array.tolist() == [[-1, 0.5]] and several[1].grad.item() == 1
    (p,) = with_gradients([np.nan, -np.inf, 1.0])
    optim.clip_grad_value([p], 0.5)
    np.testing.assert_array_equal(p.grad.data, [np.nan, -0.5, 0.5])
    optim.clip_grad_value([p], 0.0)
    np.testing.assert_array_equal(p.grad.data, [np.nan, 0, 0])


@pytest.mark.parametrize(
    "clip, name", [(optim.clip_grad_norm, "max_norm"), (optim.clip_grad_value, "clip_value")]
)
def test_clipping_refuses(clip, name):
    for wrong in (-1.0, NAN):
        with pytest.raises(ValueError, match=f"{name}: expected at least 0, got"):
            clip(parameters(1), wrong)


def test_a_gradient_of_two_parameters_is_scaled_once():
    a, b = with_gradients([3.0, 4.0], [0.0, 0.0])
    b.grad = a.grad
    assert optim.clip_grad_norm([a, b], 0.5) == pytest.approx(math.sqrt(50))
    np.testing.assert_allclose(a.grad.data, np.array([3, 4]) * 0.5 / math.sqrt(50))


@pytest.mark.parametrize("create_graph", [False, True])
def test_clipping_scales_each_gradient_once(create_graph):
    a, b = (nn.Parameter(np.zeros(2)) for _ in range(2))
    (a + b).backward([3.0, 4.0], create_graph=create_graph)
    assert optim.clip_grad_norm([a, b], 0.5) == pytest.approx(math.sqrt(50))
    for p in (a, b):
        np.testing.assert_allclose(p.grad.data, np.array([3, 4]) * 0.5 / math.sqrt(50))


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_sums_can_be_clipped(create_graph):
    p = nn.Parameter(np.zeros((2, 2)))
    p.sum().backward(create_graph=create_graph)
    assert optim.clip_grad_norm([p], 1.0) == 2
    optim.clip_grad_value([p], 0.25)
    assert p.grad.data.tolist() == [[0.25, 0.25]] * 2


# --- errors in the middle: all parameters take a step, or none ---


def failing(g):
    raise ArithmeticError("no gradient")


def two_layers():
    """Two layers with an operation between them, whose rule the test gives, and their input."""
    weights = [Tensor(np.full((2, 2), 0.5), requires_grad=True) for _ in range(2)]

    def loss(rule):
        h = autograd.linear(np.ones((1, 2)), weights[0])
        return autograd.linear(Operation(lambda x: -x, rule)(h), weights[1]).sum()

    return weights, loss


@pytest.mark.parametrize("early", [False, True])
@each
def test_a_rule_that_fails_leaves_parameters_and_gradients(kind, options, early):
    weights, loss = two_layers()
    plain = {"momentum": 0.0, "nesterov": False, "weight_decay": 0.0} if kind is optim.SGD else {}
    optimizer = kind(weights, **{**options, **plain})
    if early:
        loss(lambda g: -g).backward()
    before = [(w.data.copy(), w.grad) for w in weights]
    with unchanged(optimizer), pytest.raises(ArithmeticError, match="no gradient"):
        optimizer.minimize(loss(failing))
    for w, (data, grad) in zip(weights, before, strict=True):
        assert_same_bits(w.data, data)
        assert w.grad is grad


@pytest.mark.parametrize("step", [optim.SGD.step, lambda o: o.minimize(o.loss)])
@pytest.mark.parametrize("how", ["raise", "warn"])
def test_floating_point_errors_leave_no_half_step(how, step):
    """A warning, here an error, comes after the step, and an error undoes the step."""
    weights, loss = two_layers()
    weights[0].data *= 1e200
    weights[1].data[...] = 1e150
    optimizer = optim.SGD(weights, 1e10)
    optimizer.loss = autograd.divide(loss(lambda g: -g), 1e-150)
    if step is optim.SGD.step:
        optimizer.loss.backward()
    before = [w.data.copy() for w in weights]
    error = {"raise": FloatingPointError, "warn": RuntimeWarning}[how]
    with np.errstate(over=how), pytest.raises(error, match="overflow encountered"):
        step(optimizer)
    moved = [(w.data != data).any() for w, data in zip(weights, before, strict=True)]
    assert moved == [how == "warn"] * 2
    assert optimizer.steps == [how == "warn"] * 2


@pytest.mark.parametrize("method", ["update", "coefficients"])
def test_an_update_that_fails_changes_nothing(method):
    class Failing(optim.Adam):
        calls = 0

    def fail(self, *arguments):
        self.calls += 1
        if self.calls == 3:
            raise ArithmeticError("no update")
        return getattr(optim.Adam, method)(self, *arguments)

    setattr(Failing, method, fail)
    several = parameters((3,), (4,))
    optimizer = Failing(several)
    give_gradients(several[:1], 0)
    optimizer.step()
    give_gradients(several, 1)
    before = bits(several)
    optimizer.calls = 1
    with unchanged(optimizer), pytest.raises(ArithmeticError, match="no update"):
        optimizer.step()
    assert_all_same_bits(bits(several), before)


def test_loading_states_of_the_optimizer_itself():
    p = Tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.Adam([p])
    p.grad = Tensor([3.0, 4.0])
    optimizer.step()
    first, second = optimizer.states[0]
    want = second.copy(), first.copy()
    optimizer.load_state_dict({**optimizer.state_dict(), "0.0": second, "0.1": first})
    assert_same_bits(first, want[0])
    assert_same_bits(second, want[1])
