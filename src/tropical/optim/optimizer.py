"""The base class of optimizers: parameters, states, and steps over pieces of both."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical import _core
from tropical.autograd import Tensor
from tropical.autograd.backward import walk_back
from tropical.autograd.value import note_change
from tropical.nn.checks import not_negative
from tropical.nn.state import apart, matching
from tropical.npz import check_mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from tropical.autograd.walk import Absorb

Array: TypeAlias = NDArray[Any]

PIECE = 1 << 16  # elements: three arrays of them and the scratch fit in a common L2

# What makes NumPy meet each fault of `_core.optimizer_step`, in the order of its bits.
_FAULTS: tuple[Callable[[], Any], ...] = (
    lambda: np.divide(1.0, 0.0),
    lambda: np.multiply(1e300, 1e300),
    lambda: np.multiply(1e-300, 1e-300),
    lambda: np.subtract(np.inf, np.inf),
)


class Optimizer:
    """The base class of optimizers; subclasses define `coefficients` and `update`.

    Parameters
    ----------
    parameters : iterable of Tensors
        The parameters to update: leaves that require grad, with writeable, contiguous data, in C or
        in Fortran order.
    lr : float
        The learning rate, an attribute that may change at any time.
    weight_decay : float
        ``weight_decay * p`` is added to every gradient.
    states : int
        The number of arrays of its own shape that each parameter needs.

    Attributes
    ----------
    steps : list of int
        The number of updates of each parameter.
    decoupled : bool
        An attribute of the class: whether `update` itself applies `weight_decay`.
    hyperparameters : tuple of str
        An attribute of the class: the names of the attributes that `state_dict` keeps.

    Raises
    ------
    ValueError
        If there is no parameter, a parameter comes twice or is not such a leaf, or a number is out
        of range.
    TypeError
        If `parameters` is one Tensor, or holds anything else.

    Notes
    -----
    A subclass sets the attributes that its hyperparameters name before it calls this constructor,
    which checks the hyperparameters.

    The optimizers of this package update a parameter in one pass over parameter, gradient and
    states, in C++, and each operation rounds as in NumPy. In a step, subnormal numbers (in float32,
    those below 1.2e-38) count as 0, unless `eps` is so small that they could matter beside it: an
    old mean of gradients that have become 0 would stay subnormal for ever, and make a step take 60
    times as long. An `update` of a subclass gets pieces of the parameters that fit in cache.
    """

    decoupled = False
    hyperparameters: ClassVar[tuple[str, ...]] = ("lr", "weight_decay")

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float, states: int
    ) -> None:
        self.lr = lr
        self.weight_decay = weight_decay
        self.check({name: getattr(self, name) for name in self.hyperparameters})
        self.parameters: list[Tensor] = _leaves(parameters)
        self.steps: list[int] = [0] * len(self.parameters)
        self.states: list[tuple[Array, ...]] = self._zeros(states)
        self._kinds = [(p.shape, p.dtype) for p in self.parameters]
        # Arrays of an update in pieces, by dtype: none until the first one.
        self._scratch: dict[np.dtype[Any], tuple[Array, Array]] = {}
        self._coefficients: dict[np.dtype[Any], tuple[Array, ...]] = {}

    def _zeros(self, count: int) -> list[tuple[Array, ...]]:
        """Return the first states of all parameters, `count` for each."""
        return [tuple(np.zeros_like(p.data) for _ in range(count)) for p in self.parameters]

    def zero_grad(self) -> None:
        """Set the gradients to None."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Update every parameter that has a gradient.

        Raises
        ------
        ValueError
            If the data of a parameter is read-only or not contiguous, if its shape or dtype has
            changed, or if the gradient has another shape; nothing is changed then.
        TypeError
            If a gradient is not a Tensor.

        Notes
        -----
        If `coefficients` or `update` raises an error, or NumPy does because of `numpy.errstate`, no
        parameter and no state changes. An interruption can leave some parameters stepped.
        """
        moving = self._moving()
        with _WarningsAfter() as errors:
            self._step(moving, errors.may_raise)

    def minimize(self, loss: Tensor) -> None:
        """Run the backward pass of a loss and take a step; keep no gradient.

        Equivalent to `Tensor.backward`, `step` and `zero_grad`, up to rounding: the gradients of
        earlier backward passes count. `SGD` without momentum and weight decay updates the
        parameters of `autograd.linear` in the backward pass: the product that computes the gradient
        of a weight adds it to the weight. This needs a parameter that is used once and has no
        gradient yet, and a pass in which no code of others runs and NumPy raises no error: without
        hooks, checkpoints, rules from outside the package, and ``numpy.errstate(over="raise")``.

        Parameters
        ----------
        loss : Tensor
            One number. It must not depend on other tensors with the data of a parameter, such as a
            view or ``parameter.detach()``.

        Raises
        ------
        RuntimeError, ValueError
            As `Tensor.backward` and `step` do, before any parameter changes. If a gradient rule
            raises an error, no parameter and no `grad` changes; but an index that was changed after
            its use may be found out of bounds after some parameters have changed.
        """
        for number in range(len(self.parameters)):
            self._check_data(number)
        self._moving()  # checks the gradients of earlier passes
        before = [p.grad for p in self.parameters]
        with _WarningsAfter() as errors:
            try:
                absorb = None if errors.may_raise else self._absorber()
                walk_back(loss, "minimize", absorb=absorb)
                if moving := self._moving():
                    self._step(moving, errors.may_raise)
            except BaseException:
                for p, grad in zip(self.parameters, before, strict=True):
                    p.grad = grad
                raise
            self.zero_grad()

    def _absorber(self) -> Absorb | None:
        """Return a function that uses gradients in the backward pass of `minimize`, or None."""
        return None

    def _moving(self) -> list[int]:
        """Return the numbers of the parameters with a gradient; check these parameters."""
        moving = []
        for number, p in enumerate(self.parameters):
            if p.grad is None:
                continue
            self._check_data(number)
            if not isinstance(p.grad, Tensor):
                raise TypeError(
                    f"parameters[{number}].grad: expected a Tensor, got {type(p.grad).__name__}"
                )
            if p.grad.shape != p.shape:
                raise ValueError(
                    f"parameters[{number}].grad: expected shape {p.shape}, got {p.grad.shape}"
                )
            moving.append(number)
        return moving

    def _check_data(self, number: int) -> None:
        """Raise ValueError unless a parameter can take a step."""
        data, (shape, dtype) = self.parameters[number].data, self._kinds[number]
        if data.shape != shape or data.dtype != dtype or not _dense(data):
            layout = "" if _dense(data) else ", read-only or not contiguous"
            raise ValueError(
                f"parameters[{number}].data: expected writeable, contiguous {dtype} of shape "
                f"{shape}, as before, got {data.dtype} of shape {data.shape}{layout}"
            )

    def _step(self, moving: list[int], careful: bool) -> None:
        """Update parameters; `careful`: NumPy may raise an error in the middle."""
        for number in moving:
            self._lay_states(number)
        # Most parameters have as many updates, and so the same coefficients.
        ahead = {self.steps[number] + 1 for number in moving}
        coefficients = {steps: self.coefficients(steps) for steps in ahead}
        foreign = (type(self).update, type(self).coefficients)
        careful = careful or not all(f.__module__.startswith("tropical.") for f in foreign)
        with self._all_or_none(moving) if careful else contextlib.nullcontext():
            if type(self).update is Optimizer.update:
                self._update_whole(moving, coefficients)
            else:
                self._update_in_pieces(moving, coefficients)
        for number in moving:
            if (node := self.parameters[number].node) is not None:
                note_change(node)

    def _lay_states(self, number: int) -> None:
        """Put the states of a parameter into the order of its data, which may have changed."""
        order: Any = "C" if self.parameters[number].data.flags.c_contiguous else "F"
        self.states[number] = tuple([np.asarray(a, order=order) for a in self.states[number]])

    @contextlib.contextmanager
    def _all_or_none(self, moving: list[int]) -> Iterator[None]:
        """Undo the steps of a block that an error ends."""
        steps = self.steps.copy()
        arrays = [a for n in moving for a in (self.parameters[n].data, *self.states[n])]
        copies = [a.copy() for a in arrays]
        try:
            yield
        except BaseException:
            self.steps = steps
            for array, copy in zip(arrays, copies, strict=True):
                array[...] = copy
            raise

    def _update_whole(self, moving: list[int], coefficients: Mapping[int, Sequence[float]]) -> None:
        """Update parameters by our own formula, each in one pass."""
        formula, decay = self._formula(), 0.0 if self.decoupled else self.weight_decay
        faults = 0
        for number in moving:
            self.steps[number] += 1
            p, own = self.parameters[number], coefficients[self.steps[number]]
            assert p.grad is not None
            data, gradient, *own_states = _in_c_order(p.data, p.grad.data, *self.states[number])
            faults |= _core.optimizer_step(formula, data, gradient, own_states, decay, own)
        _meet(faults)

    def _update_in_pieces(
        self, moving: list[int], coefficients: Mapping[int, Sequence[float]]
    ) -> None:
        """Update parameters by the method of a subclass."""
        if not self._scratch:
            self._make_scratch(1 + len(next(iter(coefficients.values()), ())))
        known = None
        for number in moving:
            self.steps[number] += 1
            needed = self._kinds[number][1], self.steps[number]
            if needed != known:
                self._set_coefficients(needed[0], coefficients[needed[1]])
                known = needed
            self._update(number)

    def _make_scratch(self, count: int) -> None:
        length = min(PIECE, max(p.size for p in self.parameters))
        for _, dtype in self._kinds:
            self._scratch[dtype] = np.empty(length, dtype), np.empty(length, dtype)
            # NumPy would make an array of each Python float in a computation, but not of these.
            self._coefficients[dtype] = tuple(np.zeros((), dtype) for _ in range(count))

    def _set_coefficients(self, dtype: np.dtype[Any], coefficients: Sequence[float]) -> None:
        values = (self.weight_decay, *coefficients)
        for array, value in zip(self._coefficients[dtype], values, strict=True):
            array[...] = value

    def _update(self, number: int) -> None:
        p = self.parameters[number]
        assert p.grad is not None
        data, gradient = p.data, p.grad.data
        decayed, scratch = self._scratch[data.dtype]
        decay, *coefficients = self._coefficients[data.dtype]
        flat = [a.reshape(-1) for a in _in_c_order(data, gradient, *self.states[number])]
        for start in range(0, data.size, PIECE):
            piece, g, *own = [a[start : start + PIECE] for a in flat]
            if self.weight_decay and not self.decoupled:
                room = decayed[: piece.size]
                np.multiply(piece, decay, out=room)
                g = np.add(room, g, out=room)
            self.update(coefficients, scratch[: piece.size], piece, g, *own)

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ValueError unless the values of all `hyperparameters`, by name, are in range."""
        not_negative(lr=values["lr"], weight_decay=values["weight_decay"])

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return the numbers that `update` needs for the steps-th update of a parameter."""
        raise NotImplementedError

    def _formula(self) -> str:
        """Return the name that the formula of `update` has in `_core.optimizer_step`."""
        raise NotImplementedError

    def update(
        self, coefficients: Sequence[Array], scratch: Array, p: Array, g: Array, *states: Array
    ) -> None:
        """Update a piece of a parameter in place.

        Parameters
        ----------
        coefficients : sequence of arrays, ()
            The result of the method `coefficients`, in the dtype of p.
        scratch, p, g : array, (n,)
            Scratch memory, the piece, and the gradient of the piece with the decay; g must not
            change.
        *states : array, (n,)
            The states of the piece.
        """
        _meet(_core.optimizer_step(self._formula(), p, g, states, 0.0, coefficients))

    def state_dict(self) -> dict[str, Array]:
        """Return hyperparameters and copies of the states by name, for an ``.npz`` file."""
        state = {"optimizer": np.array(type(self).__name__), "steps": np.array(self.steps)}
        for name in self.hyperparameters:
            value = getattr(self, name)
            kind = bool if isinstance(value, (bool, np.bool_)) else float
            state[name] = np.array(value, dtype=kind)
        for number, arrays in enumerate(self.states):
            state.update({f"{number}.{i}": array.copy() for i, array in enumerate(arrays)})
        return state

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Load the hyperparameters and states of an optimizer of this kind, for these parameters.

        Raises
        ------
        ValueError
            If the kind differs, a name is missing or unknown, a shape differs, or a number is out
            of range; nothing is changed then.
        TypeError
            If an array does not cast to the dtype of its target; nothing is changed then.
        """
        check_mapping("state", state)
        kind, own = str(state.get("optimizer")), type(self).__name__
        if kind != own:
            raise ValueError(f"state: expected that of {own}, got that of {kind}")
        own_state = self.state_dict()
        own_states = [array for arrays in self.states for array in arrays]
        arrays = apart(matching(state, own_state), own_states)
        steps = arrays["steps"].tolist()
        values = {name: arrays[name].tolist() for name in self.hyperparameters}
        self.check(values)
        not_negative(steps=min(steps))
        for name, value in values.items():
            setattr(self, name, tuple(value) if isinstance(value, list) else value)
        self.steps = steps
        for number, own_arrays in enumerate(self.states):
            for i, array in enumerate(own_arrays):
                np.copyto(array, arrays[f"{number}.{i}"])


def _meet(faults: int) -> None:
    """Handle the faults of a step as `numpy.errstate` says, as if NumPy had computed the step."""
    for bit, meet in enumerate(_FAULTS):
        if faults >> bit & 1:
            meet()


class _WarningsAfter:
    """Warn of floating-point errors after the block, as a filter may make errors of warnings.

    Attributes
    ----------
    may_raise : bool
        Whether floating-point errors call code in the block, which may raise an error.
    """

    def __init__(self) -> None:
        handling = np.geterr()
        self.may_raise = not {"ignore", "warn"}.issuperset(handling.values())
        states: Any = {kind: "call" for kind, how in handling.items() if how == "warn"}
        self.found: dict[str, int] = {}
        self.handling = np.errstate(**states, call=self.found.setdefault)

    def __enter__(self) -> Self:
        self.handling.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.handling.__exit__(kind, error, traceback)
        if kind is None:
            for name in self.found:
                warnings.warn(f"{name} encountered in a step", RuntimeWarning, stacklevel=3)


def _dense(array: Array) -> bool:
    """Return whether an array is writeable and has its elements side by side, in any order."""
    return bool(array.flags.behaved and array.flags.forc)


def _in_c_order(data: Array, *others: Array) -> tuple[Array, ...]:
    """Return arrays of one shape as they are, or all transposed if that puts `data` in C order."""
    if data.flags.c_contiguous:
        return data, *others
    return data.T, *(other.T for other in others)


def _leaves(parameters: Iterable[Any]) -> list[Tensor]:
    """Return the parameters as a list, checked."""
    if isinstance(parameters, Tensor) or not np.iterable(parameters):
        raise TypeError(f"parameters: expected several Tensors, got {type(parameters).__name__}")
    leaves = list(parameters)
    if not leaves:
        raise ValueError("parameters: expected at least one, got none")
    if len({id(p) for p in leaves}) < len(leaves):
        raise ValueError("parameters: expected different tensors, got one twice")
    for number, p in enumerate(leaves):
        if not isinstance(p, Tensor):
            raise TypeError(f"parameters[{number}]: expected a Tensor, got {type(p).__name__}")
        if not (p.requires_grad and p.is_leaf and _dense(p.data)):
            raise ValueError(
                f"parameters[{number}]: expected a leaf that requires grad, with writeable, "
                "contiguous data"
            )
    return leaves
