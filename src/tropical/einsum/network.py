"""The steps of an einsum: read the subscripts, check the operands, find a path, follow it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical import semirings
from tropical.arrays import Array, check_out, is_stored, narrowed, promote, unmasked, widened

from . import counting, order
from .arrays import Arrays
from .counting import Counted
from .pairwise import Choice, Term, contract, ones
from .subscripts import Index, Subscripts, resolve, resolve_once, split, trim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tropical.semirings import Semiring

Where: TypeAlias = dict[Any, NDArray[np.intp]]


def compute(
    subscripts: Any,
    operands: Sequence[Any],
    semiring: str | Semiring,
    out: Array | None,
    optimize: Any,
    return_argmax: bool,
    return_counts: bool,
) -> Any:
    """Return what `einsum` returns; the parameters are those of `einsum`."""
    ring = semirings.get(semiring)
    if return_argmax and not ring.selective:
        raise ValueError(f"return_argmax: expected a selective semiring, got {ring.name}")
    if return_counts:
        counting.check(ring)
    inputs, output, arrays = split((subscripts, *operands))
    whole, dtype = _operands(arrays, ring, return_counts)
    read = resolve_once(inputs, output, tuple(term.values.shape for term in whole))
    if out is not None:
        check_out("out", out, read.shape(), dtype)
    choices: list[Choice] | None = [] if return_argmax else None
    if any(read.sizes[index] == 0 for index in read.summed()):
        values = np.full(read.shape(), ring.zero(dtype), whole[0].values.dtype)
        counts = np.zeros(read.shape(), np.int64) if return_counts else None
        result = Term(read.output, values, counts)
    else:
        result = _contract(whole, read, ring, optimize, choices)
    values = narrowed(result.values, dtype if is_stored(dtype, ring) else None)[()]
    if out is not None:
        out[...] = values
        values = out
    best = values if result.counts is None else Counted(values, result.counts[()])
    return best if choices is None else (best, _where(choices, read))


def contracted(
    subscripts: Any,
    operands: Sequence[Any],
    ring: Semiring,
    optimize: Any,
    arrays: Arrays,
    read_operands: Callable[[Sequence[Any]], Sequence[Any]],
) -> Any:
    """Return the einsum of arrays of any library.

    Parameters
    ----------
    subscripts, operands, optimize
        Those of `einsum`.
    ring : Semiring
    arrays : Arrays
        What the library does with its arrays.
    read_operands : callable
        Returns the operands as arrays of one dtype, which the semiring has.
    """
    inputs, output, given = split((subscripts, *operands))
    values = read_operands(given)
    read = resolve(inputs, output, tuple(tuple(x.shape) for x in values))
    if any(read.sizes[index] == 0 for index in read.summed()):
        return arrays.full(values[0], read.shape(), ring, "zero")
    terms = [Term((), x, None, arrays) for x in values]
    return _contract(terms, read, ring, optimize, None).values


def path(subscripts: str, shapes: Sequence[tuple[int, ...]], optimize: Any) -> order.Path:
    """Return the path that `optimize` means, for operands of these shapes."""
    blanks = [np.broadcast_to(np.int8(0), shape) for shape in shapes]
    inputs, output, _ = split((subscripts, *blanks))
    read = resolve(inputs, output, tuple(map(tuple, shapes)))
    own = [trim(x, i, read.sizes)[1] for x, i in zip(blanks, read.inputs, strict=True)]
    return order.find(own, read.output, read.sizes, optimize)


def _operands(
    arrays: Sequence[Any], ring: Semiring, counted: bool
) -> tuple[list[Term], np.dtype[Any]]:
    """Return the operands as arrays of one dtype, and the dtype of the result.

    The operands have counts if these are asked for. They are float32 for a dtype of `ring.stored`:
    what is between two products is not rounded.
    """
    values = []
    for i, array in enumerate(arrays):
        if isinstance(array, Counted) and not counted:
            raise TypeError(
                f"operand {i}: expected an array, got Counted, which needs return_counts=True"
            )
        bare = array.values if isinstance(array, Counted) else array
        values.append(unmasked(f"operand {i}", bare))
    try:
        dtype = np.result_type(*values)
    except TypeError:
        found = ", ".join(f"operand {i} has dtype {x.dtype}" for i, x in enumerate(values))
        raise TypeError(f"einsum: no common dtype: {found}") from None
    ring.zero(dtype)  # raises for those that the semiring lacks
    computed = np.float32 if is_stored(dtype, ring) else dtype
    terms = []
    for i, (array, value) in enumerate(zip(arrays, values, strict=True)):
        value = promote(widened(value, ring), computed, ring)
        given = array.counts if isinstance(array, Counted) else None
        counts = counting.counts_of(value, given, ring, i) if counted else None
        terms.append(Term((), value, counts))
    return terms, dtype


def _contract(
    whole: Sequence[Term],
    read: Subscripts,
    ring: Semiring,
    optimize: Any,
    choices: list[Choice] | None,
) -> Term:
    """Contract the operands along a path; return the result with its axes in order."""
    terms = []
    for indices, term in zip(read.inputs, whole, strict=True):
        values, own = trim(term.values, indices, read.sizes, term.arrays)
        counts = None if term.counts is None else trim(term.counts, indices, read.sizes)[0]
        terms.append(Term(own, values, counts, term.arrays))
    needed = Counter(index for term in terms for index in term.indices)  # by how many
    needed.update(read.output)
    for step in order.find([term.indices for term in terms], read.output, read.sizes, optimize):
        taken = [terms[i] for i in step]
        for i in sorted(step, reverse=True):
            del terms[i]
        terms.append(_fold(taken, needed, ring, choices))
    return terms[0].arranged(read.output)


def _fold(
    taken: Sequence[Term], needed: Counter[Index], ring: Semiring, choices: list[Choice] | None
) -> Term:
    """Contract some terms from left to right; `needed` counts how many terms need each index."""
    product, *rest = taken
    needed.subtract(product.indices)
    if not rest:
        summed = tuple(index for index in product.indices if not needed[index])
        rest = [ones(product, summed, ring)]
        needed.update(summed)
    for term in rest:
        needed.subtract(term.indices)
        keep = {index for index in (*product.indices, *term.indices) if needed[index]}
        product = contract(product, term, keep, ring, choices)
    needed.update(product.indices)
    return product


def _where(choices: Sequence[Choice], read: Subscripts) -> Where:
    """Return the value of each summed index: trace back from the last product to the first."""
    grid = np.ix_(*(np.arange(read.sizes[index]) for index in read.output))
    values: dict[Index, Array] = dict(zip(read.output, grid, strict=True))
    for choice in reversed(choices):
        attained = choice.attained[tuple(values[index] for index in choice.indices)]
        found = np.unravel_index(attained.astype(np.intp), choice.lengths)
        values.update(zip(choice.summed, found, strict=True))
    none = np.intp(-1)  # where the sum is empty
    return {
        index: np.broadcast_to(values.get(index, none), read.shape()).astype(np.intp)[()]
        for index in read.summed()
    }
