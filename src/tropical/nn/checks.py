"""Checks of arguments, by name, and what stands for one that was not given."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from tropical import autograd

Rng: TypeAlias = "np.random.Generator | None"


def not_negative(**values: float) -> None:
    """Raise ValueError unless these numbers are finite and at least 0."""
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name}: must be finite and not negative, got {value}")


def check_sizes(**sizes: Any) -> None:
    """Raise unless these are ints of at least 0."""
    for name, size in sizes.items():
        if not isinstance(size, (int, np.integer)):
            raise TypeError(f"{name}: must be an int, got {size!r}")
    not_negative(**sizes)


def float_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return float32 or float64; raise TypeError if it is another."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise TypeError(f"dtype: must be float32 or float64, got {kind}")
    return kind


def generator(rng: Rng) -> np.random.Generator:
    """Return the engine's generator where none is given."""
    if rng is None:
        return autograd.generator()
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng: must be a numpy.random.Generator, got {rng!r}")
    return rng
