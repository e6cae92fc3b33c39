"""The generator behind dropout and initialisers, unless they are given another."""

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
    """Return the generator that everything random here uses by default.

    In a function that `checkpoint` calls, it is one for this call.
    """
    return _generator if _instead.generator is None else _instead.generator


@contextlib.contextmanager
def drawing_from(source: np.random.Generator) -> Iterator[None]:
    """In a ``with`` block, let this thread draw from `source`, by default."""
    before, _instead.generator = _instead.generator, source
    try:
        yield
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
    generator().bit_generator.state = np.random.default_rng(number).bit_generator.state
