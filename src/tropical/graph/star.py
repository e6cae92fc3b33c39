"""Kleene stars of matrices over semirings: Floyd and Warshall's algorithm by blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tropical import _core, semirings
from tropical.arrays import Array, check_square, is_kind

from .edges import matrix_of
from .progress import most_work, share_of, split
from .reachability import reach

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .edges import GraphLike
    from .progress import Report

__all__ = ["DivergenceError", "closure"]


class DivergenceError(ValueError):
    """A matrix has no star: a cycle of its graph improves with every round."""


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
        dtype must be one of the semiring's. A sparse array and a networkx graph are read as by
        `shortest_paths`.
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
    blocked all-pairs shortest-paths algorithm", Journal of Experimental Algorithmics 8, 2003). All
    blocks but the smallest are matrix products.

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
    if is_kind(a.dtype, "floating") and np.isnan(np.min(a, initial=np.inf)):
        raise ValueError("a: expected numbers, got a NaN")
    if ring.nonnegative and a.size and a.min() < 0:
        raise ValueError(f"a: expected numbers of 0 or more for {ring.name}, got {a.min()}")
    # The core checks the semiring, the dtype and that `a` is writeable: here for an empty block.
    _core.star(a[..., :0, :0], ring)


def star_in_place(a: Array, ring: Semiring, progress: Report) -> None:
    """Replace `a` (..., n, n), which `closure` has checked, by its star."""
    if is_kind(a.dtype, "bool"):
        reach(a, a, progress)
        i = np.arange(a.shape[-1])
        a[..., i, i] = True
        return
    parts = list(split(a, most_work(a)))
    for done, part in enumerate(parts):
        _star(part, ring, share_of(progress, done, len(parts)))
        progress((done + 1) / len(parts))


def _star(a: Array, ring: Semiring, progress: Report) -> None:
    n = a.shape[-1]
    if n <= _core.STAR_SIZE:
        _core.star(a, ring)
        check_divergence(a, ring)
        return
    size = 64 if n <= 512 else 128 if n <= 2048 else 256
    for start in range(0, n, size):
        block = slice(start, start + size)
        corner = a[..., block, block]
        _star(corner, ring, lambda share: None)
        _add_product(a[..., block, :], corner.copy(), a[..., block, :].copy(), ring)
        left, right = a[..., :, block].copy(), a[..., block, :].copy()
        for rows in (slice(0, start), slice(start + size, n)):
            _add_product(a[..., rows, :], left[..., rows, :], right, ring)
        if start + size < n:
            progress((start + size) / n)


def _add_product(out: Array, a: Array, b: Array, ring: Semiring) -> None:
    step = max(most_work(a) // max(2 * b.size, 1), 64)
    for start in range(0, out.shape[-2], step):
        rows = slice(start, start + step)
        _core.gemm(a[..., rows, :], b, semiring=ring, out=out[..., rows, :], accumulate=True)


def check_divergence(a: Array, ring: Semiring) -> None:
    """Raise DivergenceError where an element of the diagonal of a star is not one."""
    diagonal = np.diagonal(a, axis1=-2, axis2=-1)
    better = diagonal != ring.one(a.dtype)
    if better.any():
        raise DivergenceError(
            f"a: has no {ring.name} star, a cycle improves to {diagonal[better][0]} and further "
            "with every round"
        )
