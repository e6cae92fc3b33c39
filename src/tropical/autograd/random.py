"""The generator behind dropout and initialisers, unless they are given another."""

from __future__ import annotations

import numpy as np

_generator = np.random.default_rng()


def generator() -> np.random.Generator:
    """Return the generator that everything random here uses by default."""
    return _generator


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
