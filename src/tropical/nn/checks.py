"""Checks of arguments by name."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from tropical.arrays import check_number

Rng: TypeAlias = "np.random.Generator | None"


def not_negative(**values: float) -> None:
    """Raise TypeError or ValueError unless the values are finite numbers of at least 0."""
    for name, value in values.items():
        check_number(name, value)
        if not 0 <= value < math.inf:
            raise ValueError(f"{name}: expected a finite number that is not negative, got {value}")


def check_sizes(**sizes: Any) -> None:
    """Raise TypeError or ValueError unless the sizes are ints of at least 0."""
    for name, size in sizes.items():
        if not isinstance(size, (int, np.integer)):
            raise TypeError(f"{name}: expected an int, got {size!r}")
    not_negative(**sizes)


def check_shape(shape: Any, least: int = 0) -> None:
    """Raise TypeError or ValueError unless `shape` is a tuple of at least `least` sizes."""
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"shape: expected a tuple of ints, got {type(shape).__name__}")
    if len(shape) < least:
        raise ValueError(f"shape: expected at least {least} sizes, got {len(shape)}")
    check_sizes(**{f"shape[{axis}]": size for axis, size in enumerate(shape)})


def float_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return `dtype`; raise TypeError unless it is float32 or float64."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise TypeError(f"dtype: expected float32 or float64, got {kind}")
    return kind
