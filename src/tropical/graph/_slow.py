"""A stand-in, until the core computes predecessors: Floyd and Warshall's loops in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .star import DivergenceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tropical.semirings import Semiring

ADD = {"min": np.minimum, "max": np.maximum}


def star_with_predecessors(
    a: NDArray[Any],
    ring: Semiring,
    before: NDArray[np.int32],
    progress: Callable[[float], object],
) -> None:
    """Turn `a` (n, n) into its star and `before` (n, n) into the predecessors of its paths."""
    n = len(a)
    add, zero = ADD[ring.add], ring.zero(a.dtype)
    i = np.arange(n)
    a[i, i] = add(a[i, i], ring.one(a.dtype))
    for k in range(n):
        column, row = a[:, k, None], a[None, k, :]
        if ring.multiply == "+":
            none = (column == zero) | (row == zero)
            wide = np.float64 if a.dtype.kind == "f" else np.int64
            product = np.where(none, 0, column).astype(wide) + np.where(none, 0, row).astype(wide)
            if a.dtype.kind == "i":
                product = np.clip(product, np.iinfo(a.dtype).min, np.iinfo(a.dtype).max)
            product = np.where(none, a.dtype.type(zero), product.astype(a.dtype))
        elif ring.multiply == "x":
            product = column * row
        else:
            product = ADD[ring.multiply](column, row)
        better = add(product, a) != a
        a[better] = product[better]
        before[better] = np.broadcast_to(before[k], (n, n))[better]
        progress((k + 1) / n)
    if (np.diagonal(a) != ring.one(a.dtype)).any():
        raise DivergenceError(f"a: has no {ring.name} star")
