"""What the functions of this package take: maxplus or minplus, and square matrices over it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tropical import semirings
from tropical.arrays import Array, check_computed, is_kind, unmasked
from tropical.graph.edges import GraphLike, matrix_of
from tropical.semirings import Semiring

_RINGS = [ring for ring in semirings.ALL if ring.selective and ring.multiply_ufunc is np.add]


def plus_ring(semiring: str | Semiring) -> Semiring:
    """Return maxplus or minplus; raise ValueError for other semirings."""
    ring = semirings.get(semiring)
    if ring not in _RINGS:
        known = " or ".join(own.name for own in _RINGS)
        raise ValueError(f"semiring: expected {known}, got {ring.name}")
    return ring


def dual(ring: Semiring) -> Semiring:
    """Return minplus for maxplus, and maxplus for minplus."""
    return next(other for other in _RINGS if other.direction == -ring.direction)


def square_matrix(a: GraphLike, ring: Semiring) -> Array:
    """Return `a` as an array; raise unless `a` is the matrix of a weighted graph."""
    matrix = matrix_of(a, ring)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a: expected (n, n), got {matrix.shape}")
    check_computed("a", matrix.dtype, ring)
    zero = ring.zero(matrix.dtype)
    if is_kind(matrix.dtype, "floating"):
        for wrong in (np.isnan(matrix), matrix == -zero):
            if wrong.any():
                i, j = np.argwhere(wrong)[0]
                raise ValueError(f"a: expected weights, got {matrix[i, j]} at ({i}, {j})")
    return matrix


def promote(ring: Semiring, **given: ArrayLike) -> list[Array]:
    """Return arrays of one dtype, that of numpy.result_type; an infinity stays an infinity.

    The least and the greatest value of an integer dtype are its infinities. They become those of
    the common dtype. The least value of an unsigned dtype is 0, a number like others.
    """
    arrays = [unmasked(name, x) for name, x in given.items()]
    dtype = np.result_type(*arrays)
    check_computed(", ".join(given), dtype, ring)
    ring.zero(dtype)  # raises TypeError where the semiring has no such dtype
    promoted = []
    for x in arrays:
        number = x.astype(dtype, copy=False)
        for end in (ring, dual(ring)) if x.dtype != dtype and is_kind(x.dtype, "integer") else ():
            if {x.dtype.name, dtype.name} <= set(end.dtypes):
                number = np.where(x == end.zero(x.dtype), dtype.type(end.zero(dtype)), number)
        promoted.append(number)
    return promoted
