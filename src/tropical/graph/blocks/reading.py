"""Reading rows and columns of a matrix in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.arrays import Array

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .layout import Layout


class Blocks:
    """A square matrix on disk, which is read by slices."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._layout.n, self._layout.n

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self._layout.dtype

    def __getitem__(self, key: Any) -> Any:
        """Read rows and columns; `key` is one or two integers or slices without a step."""
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) > 2:
            raise IndexError(f"key: expected rows and columns, got {len(parts)} indices")
        ranges = [_range(part, self._layout.n) for part in (*parts, slice(None))[:2]]
        a = np.empty([len(part) for part in ranges], self.dtype)
        levels = self._layout.levels()
        for i, rows, into_rows in self._layout.overlaps(ranges[0]):
            for j, columns, into_columns in self._layout.overlaps(ranges[1]):
                block = self._layout.read(i, j, int(levels[i, j]))
                a[into_rows, into_columns] = block[rows, columns]
        squeezed = tuple(0 if not isinstance(part, slice) else slice(None) for part in parts)
        return a[squeezed]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Read the whole matrix into memory."""
        if copy is False:
            raise ValueError("copy: expected True or None for a matrix on disk, got False")
        a: Array = self[:, :]
        return a if dtype is None else a.astype(dtype, copy=False)


def _range(part: Any, n: int) -> range:
    """Return the rows or columns that an integer or a slice names."""
    if isinstance(part, slice):
        found = range(n)[part]
        if found.step != 1:
            raise IndexError(f"key: expected slices without a step, got {part}")
        return found
    if not isinstance(part, (int, np.integer)) or isinstance(part, bool):
        raise TypeError(f"key: expected integers or slices, got {type(part).__name__}")
    if not -n <= part < n:
        raise IndexError(f"key: expected {-n} <= index < {n}, got {part}")
    return range(int(part) % n, int(part) % n + 1)
