"""The checked arguments of all functions on chains: a batch of sequences, as C++ takes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core, semirings
from tropical.arrays import Array, is_kind, promote, unmasked
from tropical.extras import require
from tropical.semirings import Semiring


@dataclass(frozen=True)
class Batch:
    """Sequences over s states, in an order of their own, and the shapes of the results.

    Attributes
    ----------
    shape : tuple of int
        The shape of the batch, b sequences in all.
    steps : int or None
        Of each sequence in the results; None if sequences follow each other without padding.
    states : int
    lengths : (b,) intp array
    place : (b,) intp array
        The row of the results at which each sequence begins.
    dtype : dtype
        In which scores are computed.
    score_dtype : dtype
        Of the scores in the results; that of integers may be smaller than `dtype`.
    matrices : int
        The transitions of each chain: 1, or one for each step but the first.
    chains : _core.Chains
    edges : int or None
        Of sparse transitions.
    numbers : tuple of arrays
        All arguments that are scores.
    """

    shape: tuple[int, ...]
    steps: int | None
    states: int
    lengths: NDArray[np.intp]
    place: NDArray[np.intp]
    dtype: np.dtype[Any]
    score_dtype: np.dtype[Any]
    matrices: int
    chains: _core.Chains
    edges: int | None
    numbers: tuple[Array, ...]

    def exceeds_bounds(self) -> bool:
        """Return whether `bounded` changes a number."""
        bound, count = _bound(self.dtype), np.count_nonzero
        return any(
            count(x < -bound) > count(x == -np.inf) or count(x > bound) > count(x == np.inf)
            for x in self.numbers
        )

    @property
    def row_count(self) -> int:
        """The steps of all sequences in the results."""
        return int(self.lengths.sum()) if self.steps is None else len(self.lengths) * self.steps

    def rows(self, beyond: float) -> Array:
        """Return memory for results of each state at each step, (rows, s).

        The core fills it within the lengths, and it has the number `beyond` them.
        """
        shape = self.row_count, self.states
        if self.lengths.sum() == self.row_count:
            return np.empty(shape, self.dtype)
        return np.full(shape, beyond, self.dtype)

    def transitions(self) -> Array:
        """Return results for each transition of each sequence, 0."""
        one = (self.edges,) if self.edges is not None else (self.matrices, *(self.states,) * 2)
        return np.zeros((len(self.lengths), *one), self.dtype)

    def within(self) -> NDArray[np.bool_]:
        """Return which steps of padded sequences are within the lengths, (sequences, t)."""
        return _inside(self.steps or 0, self.lengths)

    def shaped(self, rows: Array) -> Array:
        """Return results of all steps in the shape of the batch."""
        if self.steps is None:
            return rows
        return rows.reshape((*self.shape, self.steps, *rows.shape[1:]))

    def paths(self, states: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return several paths (k, rows) of each sequence, (..., k, t); without padding (k, t)."""
        if self.steps is None:
            return states
        return np.ascontiguousarray(self.shaped(states.T).swapaxes(-1, -2))

    def scores(self, numbers: NDArray[np.float64]) -> Array:
        """Return one number for each sequence in the shape and dtype of the batch."""
        return self.each(numbers.astype(self.dtype))[()]

    def each(self, numbers: Array) -> Array:
        """Return one result for each sequence in the shape of the batch."""
        return numbers.reshape((*self.shape, *numbers.shape[1:]))


@dataclass(frozen=True)
class Layout:
    """What `viterbi` and its siblings are told beside the model."""

    lengths: ArrayLike | None = None
    symbols: ArrayLike | None = None
    concatenated: bool = False
    per_step: bool = False
    semiring: Semiring | None = None  # None: paths are added, as logarithms
    floating: bool = False  # integers become float64 over every semiring

    @property
    def ring(self) -> Semiring:
        """The semiring of the scores."""
        return self.semiring or semirings.logplus


def read(
    log_initial: ArrayLike | None,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    layout: Layout,
    *,
    within_bounds: bool = False,
) -> Batch:
    """Check and broadcast the arguments of `viterbi`, which describes the errors.

    `within_bounds`: floats are `bounded`.
    """
    sparse = _Sparse.of(log_transition) if hasattr(log_transition, "tocsc") else None
    given = {
        "log_transition": unmasked("log_transition", sparse.data if sparse else log_transition),
        "log_emission": unmasked("log_emission", log_emission),
    }
    if log_initial is not None:
        given["log_initial"] = unmasked("log_initial", log_initial)
    ring = layout.ring
    dtype = _common_dtype(given, integers=ring.selective and not layout.floating)
    with_integers = layout.semiring or semirings.maxplus  # with the zero of logplus
    given = {name: promote(x, dtype, with_integers) for name, x in given.items()}
    if within_bounds:
        given = {name: bounded(x) for name, x in given.items()}
    observed = _observe(given["log_emission"], layout)
    score_dtype = dtype
    if dtype.itemsize < 8 and _may_saturate(given, observed, ring):
        dtype = np.dtype(np.int64)
        given = {name: promote(x, dtype, ring) for name, x in given.items()}
        observed = _observe(given["log_emission"], layout)
    states = observed.rows.shape[1]
    transition = given["log_transition"]
    tail: tuple[int, ...] = (states, states)
    if sparse:
        tail = sparse.checked(states, layout)
    elif layout.per_step:
        tail = (max(observed.steps - 1, 0), states, states)
    _check_shape("log_transition", transition, tail)
    initial = np.asarray(given.get("log_initial", np.zeros(states, dtype)), dtype)
    _check_shape("log_initial", initial, (states,))
    batch = _common_batch(
        {
            "log_initial": (initial, 1),
            "log_transition": (transition, len(tail)),
            **observed.batches,
        }
    )
    _refuse_matrices_of_steps(initial, transition, observed, layout)
    if layout.concatenated:
        _refuse_more_models(batch, initial, transition, observed)
    moves = observed.lengths - 1 if layout.per_step else None
    _check_values("log_transition", transition, ring, moves, axes=2)
    _check_values("log_initial", initial, ring)
    observed.check_values()

    def spread(x: Array, *tail: int) -> Array:
        """Return one item, or one for each sequence."""
        if math.prod(x.shape[: x.ndim - len(tail)]) == 1:
            return _packed(x.reshape((1, *tail)))
        wide = np.broadcast_to(x, (*batch, *tail)).reshape((-1, *tail))
        return _packed(wide)

    def index(x: Array) -> NDArray[np.intp]:
        return np.array(np.broadcast_to(x, batch), np.intp).reshape(-1)

    lengths = index(observed.lengths)
    place = (
        index(observed.first) if layout.concatenated else np.arange(len(lengths)) * observed.steps
    )
    matrices = observed.steps - 1 if layout.per_step and observed.steps > 2 else 1
    if layout.per_step and observed.steps < 2:  # no matrix is used
        tail = (1, states, states)
        transition = np.zeros(tail, dtype)
    square = (-1, matrices, states, states)
    return Batch(
        shape=batch,
        steps=None if layout.concatenated else observed.steps,
        states=states,
        lengths=lengths,
        place=np.ascontiguousarray(place, np.intp),
        dtype=dtype,
        score_dtype=score_dtype,
        matrices=matrices,
        chains=_core.Chains(
            spread(initial, states),
            spread(transition, *tail).reshape((1, *tail) if sparse else square),
            observed.rows,
            index(observed.first),
            lengths,
            observed.symbols,
            sparse.edges if sparse else None,
        ),
        edges=len(sparse.data) if sparse else None,
        numbers=tuple(given.values()),
    )


@dataclass(frozen=True)
class _Sparse:
    """Sparse transitions: their logarithms by target and source, and the shape of the matrix."""

    data: Array
    edges: _core.ChainEdges
    shape: tuple[int, ...]

    @classmethod
    def of(cls, matrix: Any) -> _Sparse:
        """Read a sparse array of SciPy."""
        if matrix.ndim != 2:
            raise ValueError(f"log_transition: expected (s, s), got {matrix.shape}")
        columns = (_diagonals(matrix) if matrix.format == "dia" else matrix).tocsc(copy=True)
        columns.sort_indices()
        duplicates = matrix.format != "dia" and columns.nnz != matrix.nnz
        if duplicates or not columns.has_canonical_format:
            raise ValueError("log_transition: expected each transition once, got duplicates")
        if columns.shape[0] != columns.shape[1] or columns.shape[0] == 0:
            raise ValueError(f"log_transition: expected (s, s), got {columns.shape}")
        source = columns.indices.astype(np.intp)
        target = np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr))
        edges = _core.ChainEdges(columns.shape[0], source, target)
        return cls(columns.data, edges, columns.shape)

    def checked(self, states: int, layout: Layout) -> tuple[int]:
        """Return the shape of the logarithms."""
        if layout.per_step:
            raise ValueError("per_step: expected False beside sparse transitions")
        if self.shape != (states, states):
            raise ValueError(
                f"log_transition: expected ({states}, {states}), as log_emission has {states} "
                f"states, got {self.shape}"
            )
        return (len(self.data),)


def _diagonals(matrix: Any) -> Any:
    """Return all elements of stored diagonals, zeros too, which SciPy would leave out."""
    diagonal, column = np.indices(matrix.data.shape)
    row = column - matrix.offsets[diagonal]
    inside = (row >= 0) & (row < matrix.shape[0]) & (column < matrix.shape[1])
    places = row[inside], column[inside]
    return require("scipy.sparse", "'tropical-blas[graph]'").coo_array(
        (matrix.data[inside], places), matrix.shape
    )


@dataclass(frozen=True)
class Observed:
    """Emissions: one row for each step, or for each symbol.

    Attributes
    ----------
    rows : (rows, s) array
    symbols : intp array or None
        The row of each step; None if each step has its own.
    first : intp array
        Of each sequence: where its steps begin, in `symbols` or in `rows`.
    lengths : intp array
    steps : int
        The steps of each sequence in the arguments.
    batches : dict
        By the name of an argument: the array, and how many of its last axes are no batch.
    check_values : callable
        Raises ValueError for NaN and +inf within the lengths.
    """

    rows: Array
    symbols: NDArray[np.intp] | None
    first: NDArray[np.intp]
    lengths: NDArray[np.intp]
    steps: int
    batches: dict[str, tuple[Array, int]]
    check_values: Callable[[], None]


def _observe(emission: Array, layout: Layout) -> Observed:
    if layout.symbols is not None:
        return _observe_symbols(emission, unmasked("symbols", layout.symbols), layout)
    if emission.ndim < 2 or emission.shape[-1] == 0:
        raise ValueError(f"log_emission: expected (..., steps, states), got {emission.shape}")
    steps, states = emission.shape[-2:]
    lengths, first = _steps_of("log_emission", emission.shape[:-1], layout)
    return Observed(
        rows=_packed(emission).reshape(-1, states),
        symbols=None,
        first=first,
        lengths=lengths,
        steps=steps,
        batches={"log_emission": (emission, 2), "lengths": (lengths, 0)},
        check_values=lambda: _check_values(
            "log_emission", emission, layout.ring, None if layout.concatenated else lengths
        ),
    )


def _observe_symbols(table: Array, symbols: Array, layout: Layout) -> Observed:
    if table.ndim < 2 or table.shape[-2] == 0:
        raise ValueError(
            f"log_emission: expected (..., states, symbols) beside symbols, got {table.shape}"
        )
    if not is_kind(symbols.dtype, "integer") and symbols.size:
        raise TypeError(f"symbols: expected integers, got {symbols.dtype}")
    if symbols.ndim < 1:
        raise ValueError("symbols: expected (..., steps), got ()")
    states, known = table.shape[-2:]
    lengths, first = _steps_of("symbols", symbols.shape, layout)
    rows = symbols.astype(np.intp, copy=False)
    # One pass is enough for most: as unsigned numbers, negative ones are the greatest.
    if np.max(rows.view(np.uintp), initial=0) >= known:
        inside = True if layout.concatenated else _inside(symbols.shape[-1], lengths)
        why = f", as log_emission has {known} symbols"
        refuse_unknown("symbols", symbols, known, inside, why)
        rows = np.clip(rows, 0, known - 1)  # what is beyond the lengths is not read
    if math.prod(table.shape[:-2]) != 1:  # a table for each item of the batch
        tables = np.arange(math.prod(table.shape[:-2])).reshape(table.shape[:-2])
        if layout.concatenated:
            raise ValueError(
                "log_emission: expected (states, symbols) beside concatenated=True, got "
                f"{table.shape}"
            )
        rows = rows + known * tables[..., None]
        first = np.arange(math.prod(rows.shape[:-1])).reshape(rows.shape[:-1])
        first = first * rows.shape[-1]
    return Observed(
        rows=_packed(np.swapaxes(table, -1, -2)).reshape(-1, states),
        symbols=_packed(rows).reshape(-1),
        first=first,
        lengths=lengths,
        steps=symbols.shape[-1],
        batches={"log_emission": (table, 2), "symbols": (symbols, 1), "lengths": (lengths, 0)},
        check_values=lambda: _check_values("log_emission", table, layout.ring),
    )


def refuse_unknown(
    name: str, numbers: Array, count: int, inside: NDArray[np.bool_] | bool, why: str = ""
) -> None:
    """Raise ValueError for a number that is not from 0 to count - 1, of those that are `inside`."""
    wrong = ((numbers < 0) | (numbers >= count)) & inside
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        value = np.broadcast_to(numbers, wrong.shape)[at]
        raise ValueError(f"{name}: expected 0 to {count - 1}{why}, got {value} at {at}")


def _steps_of(
    name: str, shape: tuple[int, ...], layout: Layout
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the lengths, and the row at which each sequence of (..., steps) begins."""
    *batch, steps = shape
    if not layout.concatenated:
        first = np.arange(math.prod(batch)).reshape(batch) * steps
        return _lengths(layout.lengths, steps, name), first
    if batch:
        raise ValueError(
            f"{name}: expected one axis of steps beside concatenated=True, got the batch "
            f"{tuple(batch)}"
        )
    if layout.per_step:
        raise ValueError("per_step: expected False beside concatenated=True")
    lengths = _lengths(layout.lengths, steps, name)
    if lengths.ndim > 1:
        raise ValueError(
            f"lengths: expected (sequences,) beside concatenated=True, got {lengths.shape}"
        )
    lengths = lengths.reshape(-1)
    if lengths.sum() != steps:
        raise ValueError(
            f"lengths: expected a sum of {steps}, the steps of {name}, got {lengths.sum()}"
        )
    return lengths, np.cumsum(lengths) - lengths


def _packed(x: Array) -> Array:
    """Return x in C order, aligned."""
    packed = x.flags.c_contiguous and x.flags.aligned  # np.require takes longer to see that
    return x if packed else np.require(x, requirements=["C", "A"])


def _common_batch(batches: dict[str, tuple[Array, int]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(x.shape[: x.ndim - tail] for x, tail in batches.values()))
    except (ValueError, RuntimeError):  # NumPy raises the second beyond 32 dimensions
        *most, last = (f"{name} {x.shape}" for name, (x, _) in batches.items())
        raise ValueError(f"{', '.join(most)} and {last}: expected batches that broadcast") from None


def _refuse_matrices_of_steps(
    initial: Array, transition: Array, observed: Observed, layout: Layout
) -> None:
    one_sequence = initial.ndim == 1 and all(
        x.ndim == tail for x, tail in observed.batches.values()
    )
    steps = observed.steps
    matrices_of_steps = steps > 2 and transition.shape[:-2] == (steps - 1,)
    if one_sequence and matrices_of_steps and not layout.per_step:
        states = transition.shape[-1]
        raise ValueError(
            f"log_transition: expected ({states}, {states}) for all steps, got {transition.shape}: "
            "per_step=True takes one matrix for each step; if it is a batch, give log_emission "
            "the same batch"
        )


def _common_dtype(given: dict[str, Array], *, integers: bool) -> np.dtype[Any]:
    """Return the dtype to compute in; `integers`: they stay integers."""
    dtype = np.result_type(*given.values())
    if is_kind(dtype, "integer") and integers:
        signed = np.result_type(dtype, np.int8)
        if is_kind(signed, "integer"):
            return np.dtype(signed.type)
    if is_kind(dtype, "bool", "integer"):
        return np.dtype(np.float64)
    if dtype.type not in (np.float32, np.float64):
        names = ", ".join(f"{name} has {x.dtype}" for name, x in given.items())
        raise TypeError(f"expected float32 or float64: {names}")
    return np.dtype(dtype.type)


def bounded(x: Array) -> Array:
    """Return floats, but a bound in the place of finite ones beyond it: their sums are finite."""
    bound = _bound(x.dtype)
    return np.where(np.isinf(x), x, np.clip(x, -bound, bound))


def _bound(dtype: np.dtype[Any]) -> float:
    # Sixteen steps, after which the greatest score is taken out, add 33 numbers.
    return 2.0**120 if dtype == np.float32 else 2.0**1000


def _may_saturate(given: dict[str, Array], observed: Observed, ring: Semiring) -> bool:
    """Return whether sums along a sequence, of integers, may leave their dtype."""
    dtype = given["log_emission"].dtype
    if not is_kind(dtype, "integer") or ring not in (semirings.maxplus, semirings.minplus):
        return False
    steps = int(observed.lengths.max(initial=0))
    most = 0
    for name, x in given.items():
        zero = ring.zero(x.dtype)
        sizes = [abs(int(size)) for size in (x.min(initial=0), x.max(initial=0))]
        if abs(int(zero)) in sizes:
            numbers = x[x != zero]
            sizes = [abs(int(size)) for size in (numbers.min(initial=0), numbers.max(initial=0))]
        most += max(sizes) * (1 if name == "log_initial" else steps)
    return most >= np.iinfo(dtype).max


def _refuse_more_models(
    batch: tuple[int, ...], initial: Array, transition: Array, observed: Observed
) -> None:
    """Raise ValueError where several models would write to the rows of one sequence."""
    if batch != observed.lengths.shape:
        raise ValueError(
            f"concatenated: expected one model, or one for each of {observed.lengths.size} "
            f"sequences, got log_initial {initial.shape} and log_transition {transition.shape}; "
            "a matrix for each step needs per_step=True, without concatenated"
        )


def _check_shape(name: str, x: Array, tail: tuple[int, ...]) -> None:
    if x.shape[-len(tail) :] != tail:
        wanted = ", ".join(map(str, tail))
        raise ValueError(
            f"{name}: expected (..., {wanted}), as log_emission has {tail[-1]} states, got "
            f"{x.shape}"
        )


def _lengths(lengths: ArrayLike | None, steps: int, name: str) -> NDArray[np.intp]:
    if lengths is None:
        return np.full((), steps, np.intp)
    length = unmasked("lengths", lengths)
    if not is_kind(length.dtype, "integer") and length.size:
        raise TypeError(f"lengths: expected integers, got {length.dtype}")
    if length.size and (length.min() < 0 or length.max() > steps):
        worst = length.min() if length.min() < 0 else length.max()
        raise ValueError(f"lengths: expected 0 to {steps}, the steps of {name}, got {worst}")
    return length.astype(np.intp)


def _inside(steps: int, lengths: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which steps are within the lengths (...), as an array (..., steps)."""
    return np.arange(steps) < lengths[..., None]


def _check_values(
    name: str, x: Array, ring: Semiring, lengths: NDArray[np.intp] | None = None, axes: int = 1
) -> None:
    """Raise ValueError for NaN and infinities but zero and one, within the lengths.

    The last `axes` are those of one step.
    """
    if is_kind(x.dtype, "integer"):
        return
    allowed = [ring.zero(x.dtype), ring.one(x.dtype)]
    refused = [inf for inf in (-np.inf, np.inf) if inf not in allowed]
    # Of most arrays one pass is enough; comparisons are False for a NaN.
    least = x.min(initial=0) if -np.inf in refused else 0
    most = x.max(initial=0)
    if (most < np.inf or (np.inf not in refused and most == np.inf)) and least > -np.inf:
        return
    wrong = np.isnan(x) | np.isin(x, refused)
    if lengths is not None:
        wide: tuple[Any, ...] = (..., *(None,) * axes)
        wrong = wrong & _inside(x.shape[-1 - axes], lengths)[wide]
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        value = np.broadcast_to(x, wrong.shape)[at]
        expected = "logarithms of probabilities"
        if ring not in (semirings.maxplus, semirings.logplus):
            expected = f"numbers of {ring}"
        raise ValueError(f"{name}: expected {expected}, got {value} at {at}")
