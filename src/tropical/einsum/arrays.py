"""What a contraction does with arrays, for NumPy and for libraries with gradients.

Whoever differentiates a product of two matrices differentiates contractions: all other steps only
move elements.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tropical import _core, ufunc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tropical.semirings import Semiring

# Products with k = 1 and so few elements, in batches of so many, are taken element by element.
MOST_ELEMENTS, LEAST_ITEMS = 8, 16


class Arrays(Protocol):
    """The arrays of one library; `shape` and basic indexing are those of NumPy in every library."""

    def product(self, a: Any, b: Any, ring: Semiring) -> Any:
        """Return the products of (..., m, k) and (..., k, n), of the same batch."""

    def arranged(self, x: Any, axes: Sequence[int], shape: Sequence[int]) -> Any:
        """Return x with its axes in this order, then in this shape."""

    def diagonal(self, x: Any, first: int, second: int) -> Any:
        """Return x with two axes as one, the last; only equal indices stay."""

    def strides(self, x: Any) -> Sequence[int]:  # pyright: ignore[reportReturnType]
        """Return the distances of neighbors in memory, in any unit."""

    def full(self, x: Any, shape: Sequence[int], ring: Semiring, which: str) -> Any:
        """Return an array of the semiring's "zero" or "one", of the dtype of x; it is only read."""


class NumPy:
    """Arrays of NumPy."""

    def product(self, a: Any, b: Any, ring: Semiring) -> Any:
        """Return the products of (..., m, k) and (..., k, n), of the same batch."""
        *batch, m, k = a.shape
        n = b.shape[-1]
        if k > 1 or m * n > MOST_ELEMENTS or math.prod(batch) < LEAST_ITEMS:
            return _core.gemm(a, b, semiring=ring)
        products = getattr(ufunc, f"{ring.name}_multiply")(a, b)
        if ring.nonnegative:  # a sum begins with the zero, which beats what is out of the domain
            products = ring.add_ufunc(products, ring.zero(products.dtype))
        return products

    def arranged(self, x: Any, axes: Sequence[int], shape: Sequence[int]) -> Any:
        """Return a view, unless axes that merge do not lie one after the other in memory."""
        return x.transpose(axes).reshape(shape)

    def diagonal(self, x: Any, first: int, second: int) -> Any:
        """Return a view."""
        return np.diagonal(x, 0, first, second)

    def strides(self, x: Any) -> Sequence[int]:
        """Return the distances in bytes, without their signs."""
        return [abs(stride) for stride in x.strides]

    def full(self, x: Any, shape: Sequence[int], ring: Semiring, which: str) -> Any:
        """Return one number in memory, repeated."""
        return np.broadcast_to(np.array(getattr(ring, which)(x.dtype), x.dtype), shape)


NUMPY = NumPy()
