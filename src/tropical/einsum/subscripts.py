"""The subscripts of an einsum: the indices of each operand and of the result.

An index is a letter in the text form, any hashable label in the interleaved form, or an `Under` for
a dimension under an ellipsis.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from .arrays import NUMPY, Arrays

Index: TypeAlias = Hashable
Indices: TypeAlias = tuple[Index, ...]


@dataclass(frozen=True)
class Under:
    """The index of a dimension under an ellipsis, counted from the right."""

    place: int

    def __repr__(self) -> str:
        return f"'...'[{-1 - self.place}]"


class Subscripts(NamedTuple):
    """The indices of each operand and of the result, and the length of each index.

    Calls share what `resolve_once` remembers, so nobody may change it.
    """

    inputs: Sequence[Indices]
    output: Indices
    sizes: dict[Index, int]

    def shape(self) -> tuple[int, ...]:
        """Return the shape of the result."""
        return tuple(self.sizes[index] for index in self.output)

    def summed(self) -> Indices:
        """Return the indices that the result lacks, in the order in which they appear."""
        return tuple(index for index in self.sizes if index not in self.output)


def split(
    arguments: Sequence[Any],
) -> tuple[tuple[Indices, ...], Indices | None, list[Any]]:
    """Return the indices of the operands, the indices of the result or None, and the operands.

    Both forms are read: ``("ij,jk->ik", a, b)`` and ``(a, [0, 1], b, [1, 2], [0, 2])``. An ellipsis
    is still one of the indices.
    """
    if not arguments:
        raise ValueError("subscripts: expected subscripts and operands, got nothing")
    if not isinstance(arguments[0], str):
        pairs = len(arguments) // 2
        if not pairs:
            raise TypeError(
                f"subscripts: expected a string, or labels after each operand, got {arguments[0]!r}"
            )
        inputs = tuple(_listed(labels) for labels in arguments[1 : 2 * pairs : 2])
        output = _listed(arguments[-1]) if len(arguments) % 2 else None
        return inputs, output, list(arguments[: 2 * pairs : 2])
    text = "".join(arguments[0].split())
    left, arrow, right = text.partition("->")
    inputs = tuple(_lettered(term, text) for term in left.split(","))
    output = _lettered(right, text) if arrow else None
    if len(inputs) != len(arguments) - 1:
        raise ValueError(
            f"subscripts: {text!r} names {len(inputs)} operands, got {len(arguments) - 1}"
        )
    return inputs, output, list(arguments[1:])


def _listed(labels: Any) -> Indices:
    try:
        indices = tuple(labels)
        hash(indices)
    except TypeError:
        raise TypeError(f"subscripts: expected a sequence of labels, got {labels!r}") from None
    if indices.count(...) > 1:
        raise ValueError(f"subscripts: expected one ellipsis at most, got {labels!r}")
    return indices


def _lettered(term: str, text: str) -> Indices:
    head, dots, tail = term.partition("...")
    for letter in head + tail:
        if letter.isascii() and not letter.isalpha():
            raise ValueError(
                f"subscripts: expected letters and ellipses, got {letter!r} in {text!r}"
            )
    return (*head, ..., *tail) if dots else tuple(head)


def resolve(
    inputs: tuple[Indices, ...], output: Indices | None, shapes: tuple[tuple[int, ...], ...]
) -> Subscripts:
    """Give ellipses their dimensions, the result its indices, and each index its length."""
    expanded = [_expand(indices, i, len(shapes[i])) for i, indices in enumerate(inputs)]
    counts = Counter(index for indices in expanded for index in indices)
    places = sorted((index.place for index in counts if isinstance(index, Under)), reverse=True)
    dots = tuple(map(Under, places))
    if output is None:
        once = [index for index, n in counts.items() if n == 1 and not isinstance(index, Under)]
        output = (*dots, *_sorted(once))
    elif ... in output:
        at = output.index(...)
        output = (*output[:at], *dots, *output[at + 1 :])
    elif dots:
        raise ValueError(
            f"subscripts: expected an ellipsis in the result for the {len(dots)} dimensions under "
            "the ellipses of the operands"
        )
    sizes = _sizes(expanded, shapes)
    for index in output:
        if index not in sizes:
            raise ValueError(f"subscripts: index {index!r} of the result is in no operand")
        if output.count(index) > 1:
            raise ValueError(f"subscripts: index {index!r} is twice in the result")
    return Subscripts(expanded, output, sizes)


def _sorted(labels: list[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        raise TypeError(
            f"subscripts: labels such as {labels[0]!r} and {labels[-1]!r} cannot be sorted; give "
            "the labels of the result"
        ) from None


def _expand(indices: Indices, operand: int, ndim: int) -> Indices:
    dots = ndim - len(indices) + 1
    if ... not in indices:
        if dots == 1:
            return indices
    elif dots >= 0:
        at = indices.index(...)
        return (*indices[:at], *map(Under, reversed(range(dots))), *indices[at + 1 :])
    named = len(indices) - (... in indices)
    raise ValueError(f"operand {operand}: expected {named} dimensions, got {ndim}")


# For small arrays, reading the subscripts takes longer than the products.
_resolve_once = functools.lru_cache(maxsize=256)(resolve)
MOST_REMEMBERED = 8  # operands; the subscripts of large networks would fill the memory


def resolve_once(
    inputs: tuple[Indices, ...], output: Indices | None, shapes: tuple[tuple[int, ...], ...]
) -> Subscripts:
    """Do as `resolve`, and remember the result if there are few operands."""
    few = len(inputs) <= MOST_REMEMBERED
    return (_resolve_once if few else resolve)(inputs, output, shapes)


def _sizes(inputs: Sequence[Indices], shapes: Sequence[tuple[int, ...]]) -> dict[Index, int]:
    """Return the length of each index; an operand with length 1 along an index is repeated."""
    sizes: dict[Index, int] = {}
    seen: dict[Index, int] = {}  # the operand that gave the length
    for i, (indices, shape) in enumerate(zip(inputs, shapes, strict=True)):
        own: dict[Index, int] = {}
        for index, length in zip(indices, shape, strict=True):
            if own.setdefault(index, length) != length:
                raise ValueError(
                    f"operand {i}: expected one length along index {index!r}, got {own[index]} and "
                    f"{length}"
                )
        for index, length in own.items():
            known = sizes.setdefault(index, 1)
            if length not in (1, known) and known != 1:
                raise ValueError(
                    f"index {index!r}: expected one length, got {known} in operand "
                    f"{seen[index]} and {length} in operand {i}"
                )
            if known == 1:
                sizes[index], seen[index] = length, i
    return sizes


def trim(
    array: Any, indices: Indices, sizes: dict[Index, int], arrays: Arrays = NUMPY
) -> tuple[Any, Indices]:
    """Return a view in which each index is one axis, without axes of length 1 that are repeated."""
    whole = [sizes[index] for index in indices] == list(array.shape)
    if whole and len(set(indices)) == len(indices):
        return array, indices
    repeated = [n == 1 != sizes[index] for index, n in zip(indices, array.shape, strict=True)]
    array = array[tuple(0 if gone else slice(None) for gone in repeated)]
    indices = tuple(index for index, gone in zip(indices, repeated, strict=True) if not gone)
    while len(set(indices)) < len(indices):
        index = next(index for index in indices if indices.count(index) > 1)
        first = indices.index(index)
        second = indices.index(index, first + 1)
        array = arrays.diagonal(array, first, second)
        rest = indices[:first] + indices[first + 1 : second] + indices[second + 1 :]
        indices = (*rest, index)
    return array, indices
