"""What the functions here take: one of two semirings, a square matrix over it, its arcs."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import semirings
from tropical.arrays import unmasked
from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]


def plus_ring(semiring: str | Semiring) -> Semiring:
    """Return maxplus or minplus; raise ValueError for others."""
    ring = semirings.get(semiring)
    if ring.name not in ("maxplus", "minplus"):
        raise ValueError(f"semiring: is {ring.name}, maxplus or minplus is wanted")
    return ring


def dual(ring: Semiring) -> Semiring:
    """Return minplus for maxplus, and the other way round."""
    return semirings.get("minplus" if ring.name == "maxplus" else "maxplus")


def square_matrix(a: ArrayLike, ring: Semiring) -> Array:
    """Return `a` as an array; raise where it is no weighted graph, with ring's zero for no arc."""
    matrix = unmasked("a", a)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a: has shape {matrix.shape}, (n, n) is wanted")
    zero = ring.zero(matrix.dtype)
    if matrix.dtype.kind == "f":
        for wrong in (np.isnan(matrix), matrix == -zero):
            if wrong.any():
                i, j = np.argwhere(wrong)[0]
                raise ValueError(f"a: holds {matrix[i, j]} at ({i}, {j}), which is no weight")
    return matrix


def promote(ring: Semiring, **given: ArrayLike) -> list[Array]:
    """Return arrays of one dtype, as numpy.result_type has it; infinities stay what they are.

    An integer dtype has them as its least and its greatest value, which another dtype has not.
    """
    arrays = [unmasked(name, x) for name, x in given.items()]
    dtype = np.result_type(*arrays)
    zero, top = ring.zero(dtype), dual(ring).zero(dtype)
    promoted = []
    for x in arrays:
        if x.dtype != dtype and x.dtype.kind == "i":
            ends = x == ring.zero(x.dtype), x == dual(ring).zero(x.dtype)
            x = np.select(ends, [dtype.type(zero), dtype.type(top)], x.astype(dtype))
        promoted.append(np.asarray(x, dtype))
    return promoted


class Arcs(NamedTuple):
    """The m arcs of a graph: from `tails` (ascending) to `heads`, with their `weights`."""

    tails: NDArray[np.intp]
    heads: NDArray[np.intp]
    weights: Array

    def where(self, chosen: Array) -> Arcs:
        """Return the chosen ones, by a mask or by their positions."""
        return Arcs(self.tails[chosen], self.heads[chosen], self.weights[chosen])


def arcs_of(matrix: Array, ring: Semiring) -> Arcs:
    """Return an arc from i to j for each element (i, j) that is not the semiring's zero."""
    tails, heads = np.nonzero(matrix != ring.zero(matrix.dtype))
    return Arcs(tails, heads, matrix[tails, heads])
