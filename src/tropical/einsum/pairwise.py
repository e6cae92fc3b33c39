"""The sum of products of two operands: one batched gemm.

The indices are in four groups: the batch (in both operands and kept), the contracted indices (in
both and summed), and the rest of each operand. An index that only one operand has, and that is not
kept, is summed before.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tropical import _core
from tropical.arrays import Array

from .arrays import NUMPY, Arrays
from .counting import Counted, product_counts

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .subscripts import Index, Indices


class Term(NamedTuple):
    """An array, the index of each axis, the counts if they are asked for, and the library."""

    indices: Indices
    values: Any
    counts: Array | None = None
    arrays: Arrays = NUMPY

    def arranged(self, *groups: Sequence[Index]) -> Term:
        """Return the term with its axes in the order of the groups.

        Each group but the first is merged to one axis.
        """
        order = [index for group in groups for index in group]
        axes = [self.indices.index(index) for index in order]
        lengths = [[self.length(index) for index in group] for group in groups]
        shape = (*lengths[0], *(math.prod(group) for group in lengths[1:]))
        return self._replace(
            indices=tuple(order),
            values=self.arrays.arranged(self.values, axes, shape),
            counts=None if self.counts is None else NUMPY.arranged(self.counts, axes, shape),
        )

    def length(self, index: Index) -> int:
        """Return the length of the axis of `index`."""
        return int(self.values.shape[self.indices.index(index)])


class Choice(NamedTuple):
    """The values of the summed indices that attain each element of a product."""

    indices: Indices
    summed: Indices
    lengths: tuple[int, ...]
    attained: Array  # the values of all summed indices as one number, in the C order of `lengths`


def contract(
    a: Term, b: Term, keep: Collection[Index], ring: Semiring, choices: list[Choice] | None
) -> Term:
    """Return the product of two terms, summed over all indices that are not in `keep`.

    The configuration that attains each element is appended to `choices`, unless `choices` is None.
    """
    a = reduce(a, {*keep, *b.indices}, ring, choices)
    b = reduce(b, {*keep, *a.indices}, ring, choices)
    if math.prod(_lengths(a, _only(a, b))) > math.prod(_lengths(b, _only(b, a))):
        a, b = b, a  # wide rather than high: rows are vectors
    of_a, of_b = _by_stride(a), _by_stride(b)
    shared = [index for index in of_b if index in a.indices]
    batch = [index for index in shared if index in keep]
    summed = [index for index in shared if index not in keep]
    rows = [index for index in of_a if index not in shared]
    columns = [index for index in of_b if index not in shared]
    indices = (*batch, *rows, *columns)
    shape = (*_lengths(b, batch), *_lengths(a, rows), *_lengths(b, columns))
    left, right = a.arranged(batch, rows, summed), b.arranged(batch, summed, columns)
    if choices is None or not summed:
        values = a.arrays.product(left.values, right.values, ring)
    else:
        values, attained = _core.gemm(left.values, right.values, semiring=ring, return_argmax=True)
        lengths = _lengths(b, summed)
        small = attained.astype(np.min_scalar_type(math.prod(lengths) - 1)).reshape(shape)
        choices.append(Choice(indices, tuple(summed), lengths, small))
    if left.counts is None or right.counts is None:
        return Term(indices, values.reshape(shape), None, a.arrays)
    pair = Counted(left.values, left.counts), Counted(right.values, right.counts)
    return Term(indices, values.reshape(shape), product_counts(*pair, values, ring).reshape(shape))


def reduce(
    term: Term, keep: Collection[Index], ring: Semiring, choices: list[Choice] | None
) -> Term:
    """Return a term summed over all its indices that are not in `keep`."""
    summed = tuple(index for index in term.indices if index not in keep)
    return contract(term, ones(term, summed, ring), keep, ring, choices) if summed else term


def ones(term: Term, indices: Indices, ring: Semiring) -> Term:
    """Return the semiring's one along some indices of a term."""
    shape = _lengths(term, indices)
    one = term.arrays.full(term.values, shape, ring, "one")
    counts = None if term.counts is None else np.broadcast_to(np.int64(1), shape)
    return Term(indices, one, counts, term.arrays)


def _only(a: Term, b: Term) -> list[Index]:
    return [index for index in a.indices if index not in b.indices]


def _lengths(term: Term, indices: Sequence[Index]) -> tuple[int, ...]:
    return tuple(term.length(index) for index in indices)


def _by_stride(term: Term) -> list[Index]:
    """Return the indices in the order of their axes in memory; so axes merge without a copy."""
    strides = term.arrays.strides(term.values)
    axes = sorted(range(len(strides)), key=strides.__getitem__, reverse=True)
    return [term.indices[axis] for axis in axes]
