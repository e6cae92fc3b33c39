"""Kleene stars of matrices over semirings: Floyd and Warshall's algorithm by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import _core, semirings
from tropical.arrays import Array, check_square, is_stored
from tropical.foreign import answers_alike

from .edges import matrix_of
from .progress import most_work, split
from .reachability import reach

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .edges import GraphLike
    from .progress import Report


class DivergenceError(ValueError):
    """A matrix has no star: a cycle of its graph improves with every round."""


@answers_alike
def closure(
    a: GraphLike,
    semiring: str | Semiring = "minplus",
    *,
    symmetric: bool = False,
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
    symmetric : bool, default False
        Whether `a` equals its transpose, as for an undirected graph. Then half of the products
        are enough, and the star equals its transpose.
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
        If `a` is not square, holds a NaN, holds a negative number where the semiring has none, or
        is not symmetric with ``symmetric=True``.
    TypeError
        If the dtype of `a` is not one of the semiring's, or `a` is a masked array.

    Notes
    -----
    Floyd and Warshall's algorithm by blocks (G. Venkataraman, S. Sahni and S. Mukhopadhyaya, "A
    blocked all-pairs shortest-paths algorithm", Journal of Experimental Algorithmics 8, 2003), for
    blocks of up to 512 vertices by halves of halves. All but the smallest are matrix products. Of a
    symmetric matrix, the blocks on the diagonal and above are computed, in rows of up to 256. Where
    sums round, the two ways along a path may round otherwise, so that a symmetric star has other
    last bits.

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
    if symmetric:
        check_symmetric(matrix)
    if progress and not callable(progress):
        raise TypeError(f"progress: expected a function, got {type(progress).__name__}")
    star_in_place(matrix, ring, progress or (lambda share: None), symmetric)
    return matrix


def check_matrix(a: Array, ring: Semiring) -> None:
    """Raise the errors of `closure` unless `a` may have a star."""
    check_square("a", a)
    # The core checks the semiring, the dtype and that `a` is writeable: here for an empty block.
    _core.star(a[..., :0, :0], ring)
    check_elements(a, ring)


def check_symmetric(a: Array) -> None:
    """Raise ValueError unless each matrix of `a` (..., n, n) equals its transpose."""
    blocks = cut(a.shape[-1], _core.STAR_SIZE)  # of which two fit a cache
    for rows in blocks:
        for columns in blocks:
            above = a[..., rows, columns]
            if rows.start <= columns.start and (above != _turned(a[..., columns, rows])).any():
                wrong = np.argwhere(above != _turned(a[..., columns, rows]))[0]
                item, i, j = tuple(wrong[:-2]), wrong[-2] + rows.start, wrong[-1] + columns.start
                raise ValueError(
                    f"a: expected a symmetric matrix, got {a[(*item, i, j)]} at row {i}, column "
                    f"{j}, and {a[(*item, j, i)]} at row {j}, column {i}"
                )


def check_elements(a: Array, ring: Semiring) -> None:
    """Raise ValueError for a NaN, and for a negative number where the semiring has none."""
    if not a.size:
        return
    least = _least(a) if is_stored(a.dtype, ring) else a.min()
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


def star_in_place(a: Array, ring: Semiring, progress: Report, symmetric: bool = False) -> None:
    """Replace `a` (..., n, n), which `closure` has checked, by its star."""
    if ring == semirings.orand:
        reach(a, a, progress)
        i = np.arange(a.shape[-1])
        a[..., i, i] = True
        return
    parts = list(split(a, most_work(a)))
    done, total = 0, len(parts) * a.shape[-1] ** 3
    by_halves = symmetric and a.shape[-1] > _core.MOST_STAR_SIZE
    for part in parts:
        for products in (_symmetric_star if by_halves else _star)(part, ring):
            done += products
            if done < total:
                progress(done / total)
        if symmetric:
            _mirror(part)
    progress(1.0)


def _star(a: Array, ring: Semiring) -> Iterator[int]:
    """Replace `a` (..., n, n) by its star: all paths through a block of vertices, then the next.

    Yields how many of the n^3 products of elements of a matrix each step took.
    """
    blocks = cut(a.shape[-1], block_size(a.shape[-1]))
    for block in blocks:
        corner = a[..., block, block]
        yield _star_of_corner(corner, ring)
        others = [other for other in blocks if other != block]
        for columns in others:
            panel = a[..., block, columns]
            yield add_product(panel, corner, panel.copy(), ring)
        for rows in others:
            left = a[..., rows, block].copy()
            yield add_product(a[..., rows, :], left, a[..., block, :], ring)


def _star_of_corner(corner: Array, ring: Semiring) -> int:
    """Replace a block on the diagonal by its star; return the products of elements it took."""
    if not _core.star(corner, ring):
        check_divergence(corner, ring)
        raise DivergenceError(
            f"a: has no {ring.name} star, a cycle improves by less than {corner.dtype} can tell"
        )
    return int(corner.shape[-1] ** 3)


def _symmetric_star(a: Array, ring: Semiring) -> Iterator[int]:
    """Do as `_star` does for matrices that equal their transposes, but for what `_mirror` mends.

    What lies below the halves of blocks on the diagonal is not up to date. It is read above them:
    the rows of a block, up to the block, are columns there.
    """
    n = a.shape[-1]
    blocks = cut(n, block_size(n))
    for block in blocks:
        left, right = slice(0, block.start), slice(block.stop, n)
        first, second = _halves([block])
        a[..., second, first] = _turned(a[..., first, second])
        corner = a[..., block, block]
        yield _star_of_corner(corner, ring)
        columns, rows = a[..., left, block], a[..., block, right]
        columns_before, rows_before = columns.copy(), rows.copy()
        _core.gemm(columns_before, _turned(corner), semiring=ring, out=columns)
        _core.gemm(corner, rows_before, semiring=ring, out=rows)
        for part in _halves(blocks):
            if part.stop <= block.start:
                before = columns_before[..., part, :]
                upward = _turned(columns[..., part.start :, :])
                add_product(a[..., part, part.start : block.start], before, upward, ring)
                add_product(a[..., part, right], before, rows, ring)
            elif part.start >= block.stop:
                behind = slice(part.start - block.stop, None)
                before = _turned(rows_before[..., part.start - block.stop : part.stop - block.stop])
                add_product(a[..., part, part.start :], before, rows[..., behind], ring)
            yield (part.stop - part.start) * n * (block.stop - block.start)


def _halves(blocks: list[slice]) -> Iterator[slice]:
    """Yield the halves of blocks: on the diagonal, only half of what they cover is needed."""
    for block in blocks:
        middle = (block.start + block.stop) // 2
        yield slice(block.start, middle)
        yield slice(middle, block.stop)


def _mirror(a: Array) -> None:
    """Copy what is above the diagonal to below it."""
    for block in cut(a.shape[-1], _core.STAR_SIZE):
        corner = a[..., block, block]
        corner[...] = np.where(np.tri(corner.shape[-1], dtype=bool), _turned(corner), corner)
        a[..., block.stop :, block] = _turned(a[..., block, block.stop :])


def _turned(a: Array) -> Array:
    return a.swapaxes(-1, -2)


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
    better = diagonal != ring.one(a.dtype)
    if better.any():
        raise DivergenceError(
            f"{name}: has no {ring.name} star, a cycle improves to {diagonal[better][0]} and "
            "further with every round"
        )
