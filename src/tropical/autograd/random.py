"""The default generator of dropout and initializers."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_generator = np.random.default_rng()


class _Instead(threading.local):
    generator: np.random.Generator | None = None


_instead = _Instead()


def generator() -> np.random.Generator:
    """Return the default generator; in a function that `checkpoint` calls, the call's generator."""
    return _generator if _instead.generator is None else _instead.generator


def chosen(rng: np.random.Generator | None) -> np.random.Generator:
    """Return `rng`, or the default generator for None; raise TypeError for anything else."""
    if rng is None:
        return generator()
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng: expected a numpy.random.Generator, got {rng!r}")
    return rng


@contextlib.contextmanager
def drawing_from(source: np.random.Generator) -> Iterator[None]:
    """Make `source` the default generator of this thread in a ``with`` block."""
    before, _instead.generator = _instead.generator, source
    try:
        yield
    finally:
        _instead.generator = before


def seed(number: int | None = None) -> None:
    """Set the state of the default generator.

    Parameters
    ----------
    number : int, optional
        Equal numbers give equal masks and weights; by default the operating system draws a number.

    Examples
    --------
    >>> from tropical import autograd
    >>> autograd.seed(0)
    >>> first = autograd.generator().random()
    >>> autograd.seed(0)
    >>> first == autograd.generator().random()
    True
    """
    generator().bit_generator.state = np.random.default_rng(number).bit_generator.state
