"""Batches of chains: the checked arguments of all functions, and one step of a whole batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tropical
from tropical.arrays import Array, is_kind, promote, unmasked

if TYPE_CHECKING:
    from tropical.semirings import Semiring


SPAN = 16  # steps from one rescaling to the next: rescaling each step takes half the time of a step


class Scaled(NamedTuple):
    """Sums of chains near 0, which float32 holds exactly enough, however long the chains are.

    Attributes
    ----------
    sums : (t, b, s) array
        The logarithms minus `offset`. -inf beyond the ends of sequences.
    offset : (t, b) float64 array
        It changes every `SPAN` steps.
    """

    sums: Array
    offset: NDArray[np.float64]

    def rescale(self, step: int, before: int, count: int) -> None:
        """Take on the offset of the step `before`; every `SPAN` steps make the greatest sum 0."""
        offset = self.offset[step, :count]
        offset[...] = self.offset[before, :count]
        if step % SPAN == 0:
            sums = self.sums[step, :count]
            most = sums.max(axis=-1, keepdims=True)
            most[most == -np.inf] = 0
            sums -= most
            offset += most[:, 0]

    def logarithms(self) -> Array:
        """Return the logarithms, (t, b, s), in place of the sums."""
        np.add(self.sums, self.offset[..., None], out=self.sums, casting="same_kind")
        return self.sums


@dataclass(frozen=True)
class Chains:
    """A batch of b sequences of t steps over s states, the longest first.

    At step i the first ``active[i]`` sequences have not ended. Nothing reads a sequence beyond its
    length.

    Attributes
    ----------
    batch : tuple of int
        The shape of the batch, b in all.
    order : (b,) intp array or None
        The position of each sequence in the batch; None if the sequences keep their order.
    lengths : (b,) intp array
        Descending.
    active : list of int
        For each step the number of sequences that are longer; then a last 0.
    initial : (b, s) array
    transition : (s, s) or (b, s, s) array
        One for all sequences, or one for each.
    emission : (b, t, s) array
        In the order of the batch.
    workspace : GemmWorkspace
        The packing memory of all products.
    """

    batch: tuple[int, ...]
    order: NDArray[np.intp] | None
    lengths: NDArray[np.intp]
    active: list[int]
    initial: Array
    transition: Array
    emission: Array
    workspace: tropical.GemmWorkspace

    def emitted(self, step: int, count: int) -> Array:
        """Return the emissions of the first `count` sequences at a step, (count, s)."""
        which = slice(count) if self.order is None else self.order[:count]
        emitted: Array = self.emission[which, step]
        return emitted

    def per_step(self) -> Scaled:
        """Return empty sums, contiguous in each step; -inf where sequences ended, offsets 0."""
        _, steps, states = self.emission.shape
        numbers: Array = np.empty((steps, len(self.lengths), states), self.emission.dtype)
        for step, count in enumerate(self.active[:-1]):
            numbers[step, count:] = -np.inf
        return Scaled(numbers, np.zeros(numbers.shape[:2]))

    def multiply(self, rows: Array, semiring: Semiring, out: Array, *, back: bool = False) -> None:
        """Set `out` (m, s) to each row of `rows` (m, s) times its transition or the transpose."""
        matrix = self.transition.swapaxes(-1, -2) if back else self.transition
        if matrix.ndim == 3:
            matrix, rows, out = matrix[: len(rows)], rows[:, None], out[:, None]
        tropical.gemm(rows, matrix, semiring=semiring, out=out, workspace=self.workspace)

    def forward(self, semiring: Semiring) -> Scaled:
        """Return the sum over all paths to each state at each step.

        The score of a path is a sum of logarithms; `semiring` adds the paths.
        """
        scaled = self.per_step()
        sums = scaled.sums
        for step, count in enumerate(self.active[:-1]):
            here = sums[step, :count]
            if step == 0:
                here[...] = self.initial[:count]
            else:
                self.multiply(sums[step - 1, :count], semiring, here)
            here += self.emitted(step, count)
            if step:
                scaled.rescale(step, step - 1, count)
        return scaled

    def total(self, scaled: Scaled, semiring: Semiring) -> Array:
        """Return the sum over all whole paths, (b,), from `forward`; 0 for chains of no steps."""
        some = self.lengths > 0
        ends = self.lengths[some] - 1, np.flatnonzero(some)
        last = scaled.sums[ends]
        total = np.zeros(len(some), last.dtype)
        sums = tropical.gemm(last, np.zeros(last.shape[1], last.dtype), semiring=semiring)
        total[some] = sums + scaled.offset[ends]
        return total

    def as_given(self, x: Array) -> Array:
        """Return `x` (b, ...) in the order and shape of the batch, (*batch, ...)."""
        if self.order is not None:
            x, moved = np.empty_like(x), x
            x[self.order] = moved
        return x.reshape((*self.batch, *x.shape[1:]))


def read(
    log_initial: ArrayLike | None,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None,
) -> Chains:
    """Check and broadcast the arguments of `viterbi`, which describes the errors."""
    given = {
        "log_transition": unmasked("log_transition", log_transition),
        "log_emission": unmasked("log_emission", log_emission),
    }
    if log_initial is not None:
        given["log_initial"] = unmasked("log_initial", log_initial)
    dtype = _common_dtype(given)
    given = {name: promote(x, dtype, "maxplus") for name, x in given.items()}
    emission = given["log_emission"]
    if emission.ndim < 2 or emission.shape[-1] == 0:
        raise ValueError(f"log_emission: expected (..., steps, states), got {emission.shape}")
    steps, states = emission.shape[-2:]
    transition = given["log_transition"]
    _check_shape("log_transition", transition, (states, states))
    initial = np.asarray(given.get("log_initial", np.zeros(states)), dtype)
    _check_shape("log_initial", initial, (states,))
    length = _lengths(lengths, steps)
    try:
        batch = np.broadcast_shapes(
            initial.shape[:-1], transition.shape[:-2], emission.shape[:-2], length.shape
        )
    except (ValueError, RuntimeError):  # NumPy raises the second beyond 32 dimensions
        raise ValueError(
            f"log_initial {initial.shape}, log_transition {transition.shape}, log_emission "
            f"{emission.shape} and lengths {length.shape}: expected batches that broadcast"
        ) from None
    one_sequence = (initial.ndim, emission.ndim, length.ndim) == (1, 2, 0)
    if steps > 2 and one_sequence and transition.shape[:-2] == (steps - 1,):
        raise ValueError(
            f"log_transition: expected ({states}, {states}) for all steps, got {transition.shape}: "
            "one matrix for each step is not supported; if it is a batch, give log_emission "
            "the same batch"
        )
    _check_values("log_transition", transition)
    _check_values("log_initial", initial)
    _check_values("log_emission", emission, length)
    items = math.prod(batch)
    order, length = _longest_first(np.broadcast_to(length, batch).reshape(-1))

    def spread(x: Array, *tail: int) -> Array:
        flat = np.broadcast_to(x, (*batch, *tail)).reshape(items, *tail)
        return flat if order is None else flat[order]

    return Chains(
        batch=batch,
        order=order,
        lengths=length,
        active=[*np.searchsorted(-length, -np.arange(steps)).tolist(), 0],
        initial=spread(initial, states),
        transition=(
            transition.reshape(states, states)
            if transition.size == states * states
            else spread(transition, states, states)
        ),
        emission=np.broadcast_to(emission, (*batch, steps, states)).reshape(items, steps, states),
        workspace=tropical.GemmWorkspace(),
    )


def _common_dtype(given: dict[str, Array]) -> np.dtype[Any]:
    dtype = np.result_type(*given.values())
    if is_kind(dtype, "bool", "integer"):
        return np.dtype(np.float64)
    if dtype.name not in ("float32", "float64"):
        names = ", ".join(f"{name} has {x.dtype}" for name, x in given.items())
        raise TypeError(f"expected float32 or float64: {names}")
    return np.dtype(dtype.type)


def _check_shape(name: str, x: Array, tail: tuple[int, ...]) -> None:
    if x.shape[-len(tail) :] != tail:
        wanted = ", ".join(map(str, tail))
        raise ValueError(
            f"{name}: expected (..., {wanted}), as log_emission has {tail[0]} states, got {x.shape}"
        )


def _lengths(lengths: ArrayLike | None, steps: int) -> NDArray[np.intp]:
    if lengths is None:
        return np.full((), steps, np.intp)
    length = unmasked("lengths", lengths)
    if not is_kind(length.dtype, "integer") and length.size:
        raise TypeError(f"lengths: expected integers, got {length.dtype}")
    if length.size and (length.min() < 0 or length.max() > steps):
        worst = length.min() if length.min() < 0 else length.max()
        raise ValueError(f"lengths: expected 0 to {steps}, the steps of log_emission, got {worst}")
    return length.astype(np.intp)


def _check_values(name: str, x: Array, lengths: NDArray[np.intp] | None = None) -> None:
    """Raise ValueError for NaN and +inf within the lengths of the sequences."""
    if np.max(x, initial=-np.inf) < np.inf:  # False for a NaN
        return
    wrong = ~(x < np.inf)
    if lengths is not None:
        wrong = wrong & (np.arange(x.shape[-2]) < lengths[..., None])[..., None]
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        value = np.broadcast_to(x, wrong.shape)[at]
        raise ValueError(f"{name}: expected logarithms of probabilities, got {value} at {at}")


def _longest_first(
    lengths: NDArray[np.intp],
) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    if np.all(lengths[1:] <= lengths[:-1]):
        return None, lengths
    order = np.argsort(-lengths, kind="stable")
    return order, lengths[order]
