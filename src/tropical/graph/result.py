"""Where a function writes its result: into a new array, or into an argument `out`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tropical.arrays import Array, check_out


class Result:
    """An array for a result: `out`, checked, or a new one.

    Parameters
    ----------
    out : ndarray or None
    shape : tuple of int
    dtype : numpy.dtype
    """

    def __init__(self, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._out = out
        if out is None:
            self._array: Array = np.empty(shape, dtype)
        else:
            check_out("out", out, shape, dtype)
            self._array = out.view(np.ndarray)
        in_place = self._array.flags.c_contiguous and self._array.flags.aligned
        self._computed = self._array if in_place else np.empty(shape, dtype)

    def table(self, rows: int, columns: int) -> Array:
        """Return the memory to compute in, as a matrix (rows, columns)."""
        return self._computed.reshape(rows, columns)

    def finished(self) -> Array:
        """Return the result after the computation: the object `out`, if that was given."""
        if self._computed is not self._array:
            self._array[...] = self._computed
        return self._array if self._out is None else self._out
