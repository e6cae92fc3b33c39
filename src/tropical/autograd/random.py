"""The generator behind dropout and initialisers, unless they are given another."""

from __future__ import annotations

import contextlib
import copy
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
    """Return the generator that everything random here uses by default."""
    return _generator if _instead.generator is None else _instead.generator


@contextlib.contextmanager
def drawing_from(source: np.random.Generator) -> Iterator[np.random.Generator]:
    """In a ``with`` block, let this thread draw from a copy of `source`, by default."""
    before, _instead.generator = _instead.generator, copy.deepcopy(source)
    try:
        yield _instead.generator
    finally:
        _instead.generator = before


def seed(number: int | None = None) -> None:
    """Start the default generator anew.

    Parameters
    ----------
    number : int, optional
        The same number gives the same masks and weights; without one the operating system chooses.

    Examples
    --------
    >>> from tropical import autograd
    >>> autograd.seed(0)
    >>> first = autograd.generator().random()
    >>> autograd.seed(0)
    >>> first == autograd.generator().random()
    True
    """
    _generator.bit_generator.state = np.random.default_rng(number).bit_generator.state
