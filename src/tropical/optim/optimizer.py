"""What all optimizers share: parameters, steps over pieces of them, states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.autograd import Tensor
from tropical.autograd.tensor import walk_back
from tropical.nn.checks import not_negative
from tropical.nn.state import matching

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tropical.autograd.graph import Absorb

Array: TypeAlias = NDArray[Any]

PIECE = 1 << 16  # elements: three arrays of them and the scratch fit in a common L2


class Optimizer:
    """What all optimizers share; subclasses define `coefficients` and `update`.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update: leaves that require grad, with writeable, contiguous data.
    lr : float
        The learning rate; may be changed at any time.
    weight_decay : float
        ``weight_decay * p`` is added to every gradient.
    states : int
        How many arrays like itself each parameter needs.

    Attributes
    ----------
    steps : list of int
        How often each parameter was updated.
    decoupled : bool
        Of the class: whether `update` sees to `weight_decay` itself.

    Raises
    ------
    ValueError
        If there is no parameter, one is given twice, is no such leaf, or a number is out of range.

    Notes
    -----
    A subclass sets what its `coefficients` are made of before it calls this constructor, which
    counts them.
    """

    decoupled = False

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float, states: int
    ) -> None:
        not_negative(lr=lr, weight_decay=weight_decay)
        self.lr = lr
        self.weight_decay = weight_decay
        self.parameters = _leaves(parameters)
        self.steps = [0] * len(self.parameters)
        self.states = [tuple(np.zeros_like(p.data) for _ in range(states)) for p in self.parameters]
        self._kinds = [(p.shape, p.dtype) for p in self.parameters]
        length = min(PIECE, max(p.size for p in self.parameters))
        count = 1 + len(self.coefficients(1))
        self._scratch = {
            dtype: (np.empty(length, dtype), np.empty(length, dtype)) for _, dtype in self._kinds
        }
        # NumPy makes an array of each Python float that it computes with; of these it makes none.
        self._coefficients = {
            dtype: tuple(np.zeros((), dtype) for _ in range(count)) for _, dtype in self._kinds
        }

    def zero_grad(self) -> None:
        """Forget the gradients: set them to None."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Update every parameter that has a gradient.

        Raises
        ------
        ValueError
            If the data of one is no longer writeable, contiguous and of the shape and dtype that
            it had, or its gradient is of another shape; nothing is changed then.
        TypeError
            If a gradient is no Tensor.
        """
        known = None  # most parameters were updated equally often, and share their coefficients
        for number in self._moving():
            self.steps[number] += 1
            needed = self._kinds[number][1], self.steps[number]
            if needed != known:
                self._set_coefficients(*needed)
                known = needed
            self._update(number)

    def minimize(self, loss: Tensor) -> None:
        """Walk back from a loss and take a step; no gradient is kept.

        Equivalent to `zero_grad`, `Tensor.backward`, `step` and `zero_grad`, up to rounding. `SGD`
        without momentum and weight decay adds the gradient of a weight of `autograd.linear` to the
        weight in the product that computes it, if the weight is used once, and updates biases in
        the walk, too; not so where hooks or `autograd.checkpoint` take part, which might look.

        Parameters
        ----------
        loss : Tensor
            One number. Nothing but a parameter itself may refer to its data: not a view of it, and
            not ``parameter.detach()``, from which `loss` was also computed.

        Raises
        ------
        RuntimeError, ValueError
            As `Tensor.backward` and `step` do, before any parameter is changed.
        """
        for number in range(len(self.parameters)):
            self._check_data(number)
        self.zero_grad()
        walk_back(loss, "minimize", absorb=self._absorber())
        self.step()
        self.zero_grad()

    def _absorber(self) -> Absorb | None:
        """Return what takes gradients in during the walk, for `minimize`."""
        return None

    def _moving(self) -> list[int]:
        """Return which parameters have a gradient, all of them checked."""
        moving = []
        for number, p in enumerate(self.parameters):
            if p.grad is None:
                continue
            self._check_data(number)
            if not isinstance(p.grad, Tensor):
                raise TypeError(
                    f"parameters[{number}]: its grad must be a Tensor, not {type(p.grad).__name__}"
                )
            if p.grad.shape != p.shape:
                raise ValueError(
                    f"parameters[{number}]: has shape {p.shape}, its gradient {p.grad.shape}"
                )
            moving.append(number)
        return moving

    def _check_data(self, number: int) -> None:
        data, (shape, dtype) = self.parameters[number].data, self._kinds[number]
        if data.shape != shape or data.dtype != dtype or not data.flags.carray:
            raise ValueError(
                f"parameters[{number}]: its data must be writeable, contiguous {dtype} of "
                f"shape {shape}, as before; is {data.dtype} of shape {data.shape}"
            )

    def _set_coefficients(self, dtype: np.dtype[Any], steps: int) -> None:
        values = (self.weight_decay, *self.coefficients(steps))
        for array, value in zip(self._coefficients[dtype], values, strict=True):
            array[...] = value

    def _update(self, number: int) -> None:
        p = self.parameters[number]
        assert p.grad is not None
        data, gradient = p.data, p.grad.data
        decayed, scratch = self._scratch[data.dtype]
        decay, *coefficients = self._coefficients[data.dtype]
        flat = [a.reshape(-1) for a in (data, gradient, *self.states[number])]
        for start in range(0, data.size, PIECE):
            piece, g, *own = [a[start : start + PIECE] for a in flat]
            if self.weight_decay and not self.decoupled:
                room = decayed[: piece.size]
                np.multiply(piece, decay, out=room)
                g = np.add(room, g, out=room)
            self.update(coefficients, scratch[: piece.size], piece, g, *own)

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return the numbers that `update` needs for the steps-th update of a parameter."""
        raise NotImplementedError

    def update(
        self, coefficients: Sequence[Array], scratch: Array, p: Array, g: Array, *states: Array
    ) -> None:
        """Update a piece of a parameter in place.

        Parameters
        ----------
        coefficients : sequence of arrays, ()
            What the method of this name returned, in the dtype of p.
        scratch, p, g : array, (n,)
            Room for anything, the piece, and its gradient, decay included; g is not to be changed.
        *states : array, (n,)
            What the optimizer remembers of the piece.
        """
        raise NotImplementedError

    def state_dict(self) -> dict[str, Array]:
        """Return copies of what the optimizer remembers, by name, for an ``.npz`` file."""
        state = {
            "optimizer": np.array(type(self).__name__),
            "steps": np.array(self.steps),
            "lr": np.array(self.lr),
        }
        for number, arrays in enumerate(self.states):
            state.update({f"{number}.{i}": array.copy() for i, array in enumerate(arrays)})
        return state

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Take over what another optimizer of this kind and these parameters remembered.

        Raises
        ------
        ValueError
            If it is of another kind, a name is missing or unknown, a shape differs, or the rate or
            a count of steps is out of range; nothing is changed then.
        TypeError
            If an array cannot be cast to the dtype that is wanted; nothing is changed then.
        """
        kind, own = str(state.get("optimizer")), type(self).__name__
        if kind != own:
            raise ValueError(f"state: is of the optimizer {kind}, {own} is wanted")
        arrays = matching(state, self.state_dict())
        lr, steps = float(arrays["lr"]), arrays["steps"].tolist()
        not_negative(lr=lr, steps=min(steps))
        self.lr, self.steps = lr, steps
        for number, own_arrays in enumerate(self.states):
            for i, array in enumerate(own_arrays):
                np.copyto(array, arrays[f"{number}.{i}"], casting="same_kind")


def _leaves(parameters: Iterable[Any]) -> list[Tensor]:
    """Return the parameters as a list, checked."""
    leaves = list(parameters)
    if not leaves:
        raise ValueError("parameters: there are none")
    if len({id(p) for p in leaves}) < len(leaves):
        raise ValueError("parameters: one is given twice")
    for number, p in enumerate(leaves):
        leaf = isinstance(p, Tensor) and p.requires_grad and p.is_leaf
        if not (leaf and p.data.flags.carray):
            raise ValueError(
                f"parameters[{number}]: must be a leaf that requires grad, with writeable, "
                "contiguous data"
            )
    return leaves
