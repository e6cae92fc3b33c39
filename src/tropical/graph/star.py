"""Kleene stars of matrices over semirings: Floyd and Warshall's algorithm by blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core, semirings
from tropical.arrays import unmasked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]

__all__ = ["DivergenceError", "closure"]


NO_PREDECESSOR = -9999  # as in scipy.sparse.csgraph
MOST_DEPTH = 2048  # of a product of predecessors in one call of the core, which hears no Ctrl-C
ROW_BITS = 1 << 33  # of rows looked at in one call of the core: a tenth of a second


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
        If its dtype is not one of the semiring's, or it is a masked array.

    Notes
    -----
    Floyd and Warshall's algorithm by blocks (G. Venkataraman, S. Sahni and S. Mukhopadhyaya, "A
    blocked all-pairs shortest-paths algorithm", Journal of Experimental Algorithmics 8, 2003), all
    but the smallest of which are products.

    Interrupted, by Ctrl-C or an error in `progress`, it leaves `a` as it was, or with `overwrite`
    between `a` and its star.

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
    given = unmasked("a", a)
    matrix = given if overwrite else np.array(given, order="C")
    if overwrite and matrix is not a:
        raise TypeError(f"overwrite: a must be an array, got {type(a).__name__}")
    if not overwrite:
        matrix = matrix.astype(matrix.dtype.newbyteorder("="), copy=False)
    _check(matrix, ring)
    star_in_place(matrix, ring, progress or (lambda share: None))
    return matrix


def star_in_place(a: Array, ring: Semiring, progress: Callable[[float], object]) -> None:
    """Turn `a` (..., n, n), which `closure` would take, into its star."""
    if ring.name == "orand":
        reach(a, a, progress)
        i = np.arange(a.shape[-1])
        a[..., i, i] = True
        return
    parts = list(_parts(a, _most_work(a)))
    for done, part in enumerate(parts):
        _star(part, ring, partial(_report, progress, done, len(parts)))
        progress((done + 1) / len(parts))


def reach(edges: Array, paths: Array, progress: Callable[[float], object]) -> None:
    """Let `paths` (..., n, n) say where there is a path, of one edge or more; both are of bool.

    So an element of the diagonal says whether there is a cycle. The or-and star is this, and the
    diagonal True. `paths` may be `edges`.
    """
    small = edges.shape[-1] <= _core.STAR_SIZE
    work = _most_work(edges) if small else 0
    parts = list(zip(_parts(edges, work), _parts(paths, work), strict=True))
    for done, (edge, path) in enumerate(parts):
        if small:
            star = edge.copy()
            _core.star(star, "orand")
            path[...] = _core.gemm(edge, star, semiring="orand")
        elif edge.size:
            _reach(edge, path, partial(_report, progress, done, len(parts)))
        progress((done + 1) / len(parts))


def _reach(edges: Array, paths: Array, progress: Callable[[float], object]) -> None:
    """As `reach`: by components, unless so many edges are between them that these take too long.

    The time of Warshall's algorithm depends little on them, see Decisions.
    """
    if abs(edges.strides[0]) < abs(edges.strides[1]):  # paths the other way round, along memory
        edges, paths = edges.T, paths.T
    n = len(edges)
    components = _core.Components(edges)
    while components.left and (rows := components.most_rows - components.rows) > 0:
        components.advance(min(max(ROW_BITS // n, 1), rows))
        progress(1 - components.left / n)
    if not components.left:
        components.store(paths)
        return
    known = 1 - components.left / n
    graph = _core.BitGraph(edges)
    for strip in range(graph.strips):
        graph.pass_(strip)
        progress(known + (1 - known) * strip / graph.strips)
    graph.store(paths)


def _report(progress: Callable[[float], object], done: int, parts: int, share: float) -> None:
    progress((done + share) / parts)


def _most_work(a: Array) -> int:
    """Return how many operations one call of the core may do: it hears Ctrl-C after it.

    One thread does them in half a second at most, but for careful integers without AVX2.
    """
    return 1 << (31 if a.dtype.kind == "i" else 33)


def _parts(a: Array, work: int) -> Iterator[Array]:
    """Yield batches of matrices that together are `a`, each small enough or a single one."""
    if a.ndim == 2 or 2 * a.size * a.shape[-1] <= work:
        yield a
        return
    axis = int(np.argmax(a.shape[:-2]))
    if a.shape[axis] == 1:
        yield a[(0,) * (a.ndim - 2)]
        return
    for half in np.array_split(a, 2, axis):
        yield from _parts(half, work)


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


def star_with_predecessors(
    a: Array,
    ring: Semiring,
    before: NDArray[np.int32],
    progress: Callable[[float], object] = lambda share: None,
) -> None:
    """Replace a matrix by its star, and say on which paths it is.

    Parameters
    ----------
    a : ndarray, (n, n)
        Becomes its star; writeable, C-contiguous, as `closure` wants it.
    ring : Semiring
        One that selects.
    before : ndarray of int32, (n, n)
        The last vertex before j on the path of element (i, j): at first i where there is an edge,
        `NO_PREDECESSOR` elsewhere. Kept so.
    progress : callable
        As for `closure`.

    Raises
    ------
    DivergenceError
        As for `closure`; `a` and `before` are in between then.

    Notes
    -----
    Of equal paths the one that Floyd and Warshall's loops find first would do, but not any: where
    zeros or ties are about, two vertices could each be said to come before the other. So a block of
    rows is worked on in the loops' order (`_core.eliminate`); what other rows then take from it is
    a product, of which a path counts only where it is better than what was known. Halves of halves
    make such products few and large, which saves looking up predecessors.
    """
    if not len(a):
        return
    i = np.arange(len(a))
    better = np.maximum if ring.add == "max" else np.minimum
    a[i, i] = better(a[i, i], ring.one(a.dtype))
    _take_paths_within(a, before, ring, (0, len(a)), progress)
    np.fill_diagonal(before, NO_PREDECESSOR)  # who stays has come from nowhere
    _check_cycles(a, ring)


def _take_paths_within(
    a: Array,
    before: NDArray[np.int32],
    ring: Semiring,
    vertices: tuple[int, int],
    progress: Callable[[float], object],
) -> None:
    """Let these rows take all paths through these vertices."""
    start, stop = vertices
    step = _core.STAR_SIZE
    if stop - start <= step:
        _core.eliminate(a[start:stop], ring, before[start:stop], start)
        progress(stop / len(a))
        return
    middle = start + (stop - start + step) // (2 * step) * step
    halves = (start, middle), (middle, stop)
    for via, other in (halves, halves[::-1]):
        _take_paths_within(a, before, ring, via, progress)
        _take_paths_through(a, before, ring, via, other)


def _take_paths_through(
    a: Array,
    before: NDArray[np.int32],
    ring: Semiring,
    via: tuple[int, int],
    rows: tuple[int, int],
) -> None:
    """Let rows take the paths through vertices whose rows have all they can."""
    depth = min(via[1] - via[0], MOST_DEPTH)
    step = max(_most_work(a) // (2 * depth * len(a)), 128)
    for first in range(*rows, step):
        part = slice(first, min(first + step, rows[1]))
        left = a[part, slice(*via)].copy()
        for start in range(0, left.shape[1], depth):
            middle = slice(via[0] + start, min(via[0] + start + depth, via[1]))
            _core.relax(
                left[:, start : start + depth],
                a[middle],
                ring,
                a[part],
                before[part],
                before[middle],
            )


def _add_product(out: Array, a: Array, b: Array, ring: Semiring) -> None:
    step = max(_most_work(a) // max(2 * b.size, 1), 64)
    for start in range(0, out.shape[-2], step):
        rows = slice(start, start + step)
        _core.gemm(a[..., rows, :], b, semiring=ring, out=out[..., rows, :], accumulate=True)


def _check_cycles(a: Array, ring: Semiring) -> None:
    """Raise where an element of the diagonal is better than staying."""
    diagonal = np.diagonal(a, axis1=-2, axis2=-1)
    better = diagonal != ring.one(a.dtype)
    if better.any():
        raise DivergenceError(
            f"a: has no {ring.name} star, a cycle improves to {diagonal[better][0]} and further "
            "with every round"
        )
