"""The order in which a network of many operands is contracted."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from string import ascii_letters
from typing import Any, TypeAlias

import numpy as np

from tropical.extras import require

from .subscripts import MOST_REMEMBERED, Index, Indices

Path: TypeAlias = list[tuple[int, ...]]
INSTALL = "'tropical-blas[einsum]'"
MANY = 100  # operands from which cotengra's longer search may pay
# cotengra's search takes about a millisecond for each operand, in which a core computes as many
# products. No array of a greedy order may have more elements than this.
SEARCH, MOST_ELEMENTS = 10**6, 10**7


def find(
    inputs: Sequence[Indices], output: Indices, sizes: dict[Index, int], optimize: Any
) -> Path:
    """Return the operands that each step takes from the list; its result goes to the end.

    Parameters
    ----------
    inputs, output, sizes
        As in `Subscripts`.
    optimize : bool, str, sequence or path optimizer
        See `tropical.einsum`.
    """
    if not isinstance(optimize, bool | str | Sequence) and not callable(optimize):
        raise TypeError(
            "optimize: expected a bool, the name of a strategy, a path or a path optimizer, got "
            f"{optimize!r}"
        )
    if isinstance(optimize, Sequence) and not isinstance(optimize, str):
        return _checked(optimize, len(inputs))
    if len(inputs) <= 2 or optimize is False:
        return [tuple(range(len(inputs)))]
    if optimize is True and len(inputs) <= MOST_REMEMBERED:
        return list(_of_few(tuple(inputs), output, tuple(sizes.items())))
    return _searched(inputs, output, sizes, optimize)


# Of small arrays, the search takes longer than the products.
@functools.lru_cache(maxsize=256)
def _of_few(
    inputs: tuple[Indices, ...], output: Indices, sizes: tuple[tuple[Index, int], ...]
) -> Path:
    return _searched(inputs, output, dict(sizes), True)


def _searched(
    inputs: Sequence[Indices], output: Indices, sizes: dict[Index, int], optimize: Any
) -> Path:
    installed = importlib.util.find_spec
    if optimize is True and len(inputs) >= MANY and installed("cotengra"):
        return _checked(_of_many(inputs, output, sizes), len(inputs))
    shapes = [tuple(sizes[index] for index in indices) for indices in inputs]
    if installed("opt_einsum") or optimize is not True or len(sizes) > len(ascii_letters):
        opt_einsum = require("opt_einsum", INSTALL)
        text = _text(inputs, output, {x: opt_einsum.get_symbol(i) for i, x in enumerate(sizes)})
        try:
            path, _ = opt_einsum.contract_path(text, *shapes, shapes=True, optimize=optimize)
        except KeyError as error:
            if not isinstance(optimize, str):
                raise
            raise ValueError(f"optimize: {error.args[0]}") from None
    else:
        text = _text(inputs, output, dict(zip(sizes, ascii_letters, strict=False)))
        blanks = [np.broadcast_to(np.int8(0), shape) for shape in shapes]
        path, _ = np.einsum_path(text, *blanks, optimize=("greedy", 2**62))
    return _checked(path, len(inputs))


def _of_many(inputs: Sequence[Indices], output: Indices, sizes: dict[Index, int]) -> Any:
    """Return cotengra's greedy path if its contraction takes less time than a longer search."""
    cotengra = require("cotengra", INSTALL)
    tree = cotengra.array_contract_tree(inputs, output, sizes, optimize="greedy")
    if tree.contraction_cost() <= SEARCH * len(inputs) and tree.max_size() <= MOST_ELEMENTS:
        return tree.get_path()
    return cotengra.array_contract_path(inputs, output, sizes)


def _text(inputs: Sequence[Indices], output: Indices, letter: dict[Index, str]) -> str:
    terms = ["".join(letter[index] for index in indices) for indices in (*inputs, output)]
    return f"{','.join(terms[:-1])}->{terms[-1]}"


def _checked(given: Sequence[Any], n: int) -> Path:
    try:
        path = [tuple(step) for step in given if step != "einsum_path"]  # with which NumPy's begin
    except TypeError:
        raise TypeError(f"optimize: expected a path of tuples of numbers, got {given!r}") from None
    for number, step in enumerate(path):
        if not step or len(set(step)) < len(step) or not all(i in range(n) for i in step):
            raise ValueError(
                f"optimize: step {number} of the path takes {step}, but there are {n} operands"
            )
        n -= len(step) - 1
    if n > 1:
        raise ValueError(f"optimize: the path leaves {n} operands uncontracted")
    return path or [(0,)]
