"""Kleene stars of matrices over semirings: Floyd and Warshall's algorithm by blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core, semirings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]

__all__ = ["DivergenceError", "closure"]


class DivergenceError(ValueError):
    """A matrix has no star: a cycle of its graph improves with every round."""


def closure(
    a: ArrayLike,
    semiring: str | Semiring = "minplus",
    *,
    overwrite: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Array:
    """Return the Kleene star ``one (+) a (+) a (x) a (+) ...`` of square matrices.

    Element (i, j) is the sum over all paths from i to j of the product of their edges: the length
    of the shortest for minplus, the capacity of the widest for maxmin, whether there is one for
    orand.

    Parameters
    ----------
    a : array_like, (..., n, n)
        Edges, the semiring's zero where there is none; a batch of graphs along the leading axes.
        float32, float64, int8, int16, int32 or int64; bool for orand.
    semiring : str or Semiring, default "minplus"
        Any but plustimes and logplus, whose stars are series.
    overwrite : bool, default False
        Compute in `a` itself, which must be a writeable array.
    progress : callable, optional
        Called now and then with the share that is done, up to 1.

    Returns
    -------
    ndarray, (..., n, n)
        The star, of the dtype of `a`.

    Raises
    ------
    DivergenceError
        If a cycle improves with every round, such as one of negative length for minplus.
    ValueError
        If `a` is not square, or holds a NaN, or for maxtimes a negative number.
    TypeError
        If its dtype is not one of the semiring's.

    Notes
    -----
    Floyd and Warshall's algorithm by blocks (G. Venkataraman, S. Sahni and S. Mukhopadhyaya, "A
    blocked all-pairs shortest-paths algorithm", Journal of Experimental Algorithmics 8, 2003), all
    but the smallest of which are products.

    Interrupted, it leaves `a` as it was, or with `overwrite` between `a` and its star.

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
    matrix = np.asarray(a) if overwrite else np.array(a, order="C")
    if overwrite and matrix is not a:
        raise TypeError(f"overwrite: a must be an array, got {type(a).__name__}")
    _check(matrix, ring)
    _star(matrix, ring, progress or (lambda share: None))
    return matrix


def _check(a: Array, ring: Semiring) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"a: has shape {a.shape}, (..., n, n) is wanted")
    if a.dtype.kind == "f" and np.isnan(np.min(a, initial=np.inf)):
        raise ValueError("a: holds a NaN")
    if ring.name == "maxtimes" and a.size and a.min() < 0:
        raise ValueError(f"a: numbers of maxtimes are not negative, got {a.min()}")
    # Of the right semiring and dtype, and writeable: what the smallest block says of none.
    _core.star(a[..., :0, :0], ring)


def _star(a: Array, ring: Semiring, progress: Callable[[float], object]) -> None:
    n = a.shape[-1]
    if n <= _core.STAR_SIZE:
        _core.star(a, ring)
        _check_cycles(a, ring)
        return
    size = _block_size(n, ring)
    for start in range(0, n, size):
        block = slice(start, start + size)
        corner = a[..., block, block]
        _star(corner, ring, lambda share: None)
        _add_product(a[..., block, :], corner.copy(), a[..., block, :].copy(), ring)
        left, right = a[..., :, block].copy(), a[..., block, :].copy()
        for rows in (slice(0, start), slice(start + size, n)):
            _add_product(a[..., rows, :], left[..., rows, :], right, ring)
        progress(min(start + size, n) / n)


def _block_size(n: int, ring: Semiring) -> int:
    if ring.name == "orand":  # whose products want many steps to a bit packed
        return 512 if n > 1024 else 64
    return 64 if n <= 512 else 128 if n <= 2048 else 256


def _add_product(out: Array, a: Array, b: Array, ring: Semiring) -> None:
    _core.gemm(a, b, semiring=ring, out=out, accumulate=True)


def _check_cycles(a: Array, ring: Semiring) -> None:
    """Raise where an element of the diagonal is better than staying."""
    diagonal = np.diagonal(a, axis1=-2, axis2=-1)
    better = diagonal != ring.one(a.dtype)
    if better.any():
        raise DivergenceError(
            f"a: has no {ring.name} star, a cycle improves to {diagonal[better][0]} and further "
            "with every round"
        )
