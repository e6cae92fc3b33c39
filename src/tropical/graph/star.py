"""Kleene stars of matrices over semirings: Floyd and Warshall's algorithm by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import _core, semirings
from tropical.arrays import Array, check_square, is_kind
from tropical.foreign import answers_alike

from .edges import matrix_of
from .progress import most_work, split
from .reachability import reach

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .edges import GraphLike
    from .progress import Report

__all__ = ["DivergenceError", "closure"]


class DivergenceError(ValueError):
    """A matrix has no star: a cycle of its graph improves with every round."""


@answers_alike
def closure(
    a: GraphLike,
    semiring: str | Semiring = "minplus",
    *,
    overwrite: bool = False,
    progress: Report | None = None,
) -> Array:
    """Return the Kleene star ``one (+) a (+) a (x) a (+) ...`` of square matrices.

    Element (i, j) is the sum, over all paths from i to j, of the product of the path's edges: the
    length of the shortest path for minplus, the capacity of the widest for maxmin, whether there
    is a path for orand.

    Parameters
    ----------
    a : array_like (..., n, n), sparse array (n, n) or networkx graph
        Edges, the semiring's zero where there is no edge. Leading axes are a batch of graphs. The
        dtype must be one of the semiring's, `Semiring.stored` included. A sparse array and a
        networkx graph are read as by `shortest_paths`.
    semiring : str or Semiring, default "minplus"
        Any but plustimes and logplus, whose stars are series.
    overwrite : bool, default False
        Compute in `a` itself, which must be a writeable array.
    progress : callable, optional
        A function that is called now and then with the share that is done, up to 1.

    Returns
    -------
    ndarray, (..., n, n)
        The star, of the dtype of `a`.

    Raises
    ------
    DivergenceError
        If a cycle improves with every round, such as one of negative length for minplus.
    ValueError
        If `a` is not square, holds a NaN, or holds a negative number where the semiring has none.
    TypeError
        If the dtype of `a` is not one of the semiring's, or `a` is a masked array.

    Notes
    -----
    Floyd and Warshall's algorithm by blocks (G. Venkataraman, S. Sahni and S. Mukhopadhyaya, "A
    blocked all-pairs shortest-paths algorithm", Journal of Experimental Algorithmics 8, 2003), for
    blocks of up to 512 vertices by halves of halves. All but the smallest are matrix products.

    Stars of float16 and bfloat16 (`Semiring.stored`) are computed in float32, block by block, and
    rounded once for each block of vertices: an element is exact if those of all parts of its path
    are numbers of the dtype.

    A sum or product beyond the dtype becomes infinite (the dtype's greatest or least integer). If
    that is the semiring's zero, it also means "no path": pass a wider dtype if paths may be that
    long.

    If Ctrl-C, an error in `progress` or a `DivergenceError` ends the call, `a` is unchanged; with
    `overwrite`, `a` is then between `a` and its star.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph import closure
    >>> inf = np.inf
    >>> closure([[inf, 7.0, 2.0], [inf, inf, 1.0], [inf, 3.0, inf]])
    array([[ 0.,  5.,  2.],
           [inf,  0.,  1.],
           [inf,  3.,  0.]])
    """
    ring = semirings.get(semiring)
    given = matrix_of(a, ring)
    matrix = given if overwrite else np.array(given, order="C")
    if overwrite and matrix is not a:
        raise TypeError(f"overwrite: a must be an array, got {type(a).__name__}")
    if not overwrite:
        matrix = matrix.astype(matrix.dtype.newbyteorder("="), copy=False)
    check_matrix(matrix, ring)
    if progress and not callable(progress):
        raise TypeError(f"progress: expected a function, got {type(progress).__name__}")
    star_in_place(matrix, ring, progress or (lambda share: None))
    return matrix


def check_matrix(a: Array, ring: Semiring) -> None:
    """Raise the errors of `closure` unless `a` may have a star."""
    check_square("a", a)
    check_elements(a, ring)
    # The core checks the semiring, the dtype and that `a` is writeable: here for an empty block.
    _core.star(a[..., :0, :0], ring)


def check_elements(a: Array, ring: Semiring) -> None:
    """Raise ValueError for a NaN, and for a negative number where the semiring has none."""
    if not a.size:
        return
    least = _least(a) if a.dtype.name in ring.stored else a.min()
    if np.isnan(least):
        raise ValueError("a: expected numbers, got a NaN")
    if ring.nonnegative and least < 0:
        raise ValueError(f"a: expected numbers of 0 or more for {ring.name}, got {least}")


def _least(a: Array) -> Any:
    """Return the least element of matrices of two bytes an element, NaN if one is NaN.

    NumPy compares float32 ten times as fast; so some rows at once are float32.
    """
    rows = max(2**18 * a.shape[-2] // a.size, 1)
    return np.min(
        [
            a[..., first : first + rows, :].astype(np.float32).min()
            for first in range(0, a.shape[-2], rows)
        ]
    )


def star_in_place(a: Array, ring: Semiring, progress: Report) -> None:
    """Replace `a` (..., n, n), which `closure` has checked, by its star."""
    if is_kind(a.dtype, "bool"):
        reach(a, a, progress)
        i = np.arange(a.shape[-1])
        a[..., i, i] = True
        return
    parts = list(split(a, most_work(a)))
    done, total = 0, len(parts) * a.shape[-1] ** 3
    for part in parts:
        for products in _star(part, ring):
            done += products
            if done < total:
                progress(done / total)
    progress(1.0)


def _star(a: Array, ring: Semiring) -> Iterator[int]:
    """Replace `a` (..., n, n) by its star: all paths through a block of vertices, then the next.

    Yields how many of the n^3 products of elements of a matrix each step took.
    """
    blocks = cut(a.shape[-1], block_size(a.shape[-1]))
    for block in blocks:
        corner = a[..., block, block]
        if not _core.star(corner, ring):
            check_divergence(corner, ring)
            raise DivergenceError(
                f"a: has no {ring.name} star, a cycle improves by less than {a.dtype} can tell"
            )
        yield corner.shape[-1] ** 3
        others = [other for other in blocks if other != block]
        for columns in others:
            panel = a[..., block, columns]
            yield add_product(panel, corner, panel.copy(), ring)
        for rows in others:
            left = a[..., rows, block].copy()
            yield add_product(a[..., rows, :], left, a[..., block, :], ring)


def block_size(n: int) -> int:
    """Return how many vertices each block of `closure` has, for a matrix (n, n)."""
    count = max(-(-n // _core.MOST_STAR_SIZE), 1)  # of blocks
    return max(-(-n // count // _core.STAR_SIZE), 1) * _core.STAR_SIZE


def cut(n: int, size: int) -> list[slice]:
    """Return slices of `size` vertices, the last one of what is left of n; one if n is 0."""
    return [slice(start, min(start + size, n)) for start in range(0, max(n, 1), size)]


def add_product(out: Array, a: Array, b: Array, ring: Semiring) -> int:
    """Compute ``out = out (+) a (x) b``; return the products of elements in one matrix."""
    _core.gemm(a, b, semiring=ring, out=out, accumulate=True)
    return int(out.shape[-2] * out.shape[-1] * a.shape[-1])


def check_divergence(a: Array, ring: Semiring, name: str = "a") -> None:
    """Raise DivergenceError where an element of the diagonal of a star is not one.

    `name` is the name of the argument.
    """
    diagonal = np.diagonal(a, axis1=-2, axis2=-1)
    better = diagonal != ring.one(np.float32 if a.dtype.name in ring.stored else a.dtype)
    if better.any():
        raise DivergenceError(
            f"{name}: has no {ring.name} star, a cycle improves to {diagonal[better][0]} and "
            "further with every round"
        )
