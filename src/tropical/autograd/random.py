"""The default generator of dropout and initializers."""

from __future__ import annotations

import contextlib
import copy
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.arrays import read_count

if TYPE_CHECKING:
    from collections.abc import Iterator

_generator = np.random.default_rng()


class _Draws:
    """The generators of one call of a function by `checkpoint`.

    Parameters
    ----------
    first : dict
        Copies of the generators, None for the default one, from before their first use in the first
        call. Later calls draw from copies of these.
    outer : _Draws, optional
        The generators of the call in which this call is.
    """

    def __init__(self, first: dict[Any, np.random.Generator], outer: _Draws | None) -> None:
        self.first = first
        self.outer = outer
        self.own = {rng: copy.deepcopy(source) for rng, source in first.items()}

    def of(self, rng: np.random.Generator | None) -> np.random.Generator:
        """Return the generator that draws for `rng`, or for the default generator."""
        if rng not in self.own:
            self.own[rng] = source = _source(self.outer, rng)
            self.first[rng] = copy.deepcopy(source)
        return self.own[rng]


class _Active(threading.local):
    draws: _Draws | None = None


_active = _Active()


def _source(draws: _Draws | None, rng: np.random.Generator | None) -> np.random.Generator:
    if draws is not None:
        return draws.of(rng)
    return _generator if rng is None else rng


def generator() -> np.random.Generator:
    """Return the default generator; in a function that `checkpoint` calls, the call's generator."""
    return _source(_active.draws, None)


def chosen(rng: np.random.Generator | None) -> np.random.Generator:
    """Return `rng`, or the default generator for None; raise TypeError for anything else.

    In a function that `checkpoint` calls again, it draws the numbers of the first call.
    """
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng: expected a numpy.random.Generator, got {rng!r}")
    return _source(_active.draws, rng)


@contextlib.contextmanager
def repeated(first: dict[Any, np.random.Generator]) -> Iterator[None]:
    """Draw the same numbers in each ``with`` block that gets the same dict; see `_Draws`."""
    outer, _active.draws = _active.draws, _Draws(first, _active.draws)
    try:
        yield
    finally:
        _active.draws = outer


def seed(number: int | None = None) -> None:
    """Set the state of the default generator.

    Parameters
    ----------
    number : int, optional
        Equal numbers give equal masks and weights; by default the operating system draws a number.

    Raises
    ------
    TypeError
        If `number` is no integer.
    ValueError
        If `number` is negative.

    Examples
    --------
    >>> from tropical import autograd
    >>> autograd.seed(0)
    >>> first = autograd.generator().random()
    >>> autograd.seed(0)
    >>> first == autograd.generator().random()
    True
    """
    if number is not None:
        number = read_count("number", number)
    generator().bit_generator.state = np.random.default_rng(number).bit_generator.state
