"""Stars and shortest paths of Dask arrays: Floyd and Warshall's algorithm, chunk by chunk."""

from __future__ import annotations

from functools import partial
from math import isnan, isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import tropical
from tropical import graph, semirings
from tropical.arrays import Array, check_square, stored_dtype
from tropical.extras import require
from tropical.graph.edges import check_weights
from tropical.graph.star import check_elements

from .products import EXTRA, lazy, map_chunks, rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tropical.semirings import Semiring

    from .products import Key


def closure(a: Any, semiring: str | Semiring = "minplus") -> Any:
    """Return the Kleene star of square matrices, as `tropical.graph.closure`, lazily.

    Parameters
    ----------
    a : dask.array.Array or array_like, (..., n, n)
        Edges, the semiring's zero where there is no edge. If rows and columns have the same chunks,
        the star has these; else `a` is rechunked, into squares of as many elements as the largest
        chunk of rows and columns.
    semiring : str or Semiring, default "minplus"
        Any but plustimes and logplus.

    Returns
    -------
    dask.array.Array, (..., n, n)
        The star, of the dtype of `a`.

    Raises
    ------
    ValueError
        If `a` is not square, its shape is unknown, or the semiring is unknown or has no star. When
        the star is computed: if `a` holds a NaN, or a negative number where the semiring has none.
    DivergenceError
        When the star is computed: if a cycle improves with every round.
    TypeError
        If the dtype of `a` is not one of the semiring's, or `a` has masked or sparse chunks.
    NotInstalledError
        Without Dask.

    Notes
    -----
    Floyd and Warshall's algorithm by blocks (see `tropical.graph.closure`). With c chunks a side,
    each of c rounds has c * c tasks, of which all but one are products that hold four chunks.

    The star is that of `tropical.graph.closure`, bit by bit, where no (x) rounds or saturates: for
    (max, min), (min, max) and (or, and), and for integers and floats that hold every sum. Else the
    last bits may differ: a path's edges are added in an order that depends on the chunks. Chunks of
    float16 and bfloat16 become float32, and the star is rounded once.

    Examples
    --------
    >>> import dask.array as da
    >>> from tropical.interop.dask import closure
    >>> inf = float("inf")
    >>> a = da.from_array([[inf, 7.0, 2.0], [inf, inf, 1.0], [inf, 3.0, inf]], chunks=2)
    >>> closure(a).compute()
    array([[ 0.,  5.,  2.],
           [inf,  0.,  1.],
           [inf,  3.,  0.]])
    """
    ring = semirings.get(semiring)
    stored = stored_dtype(a := lazy("a", a))
    a = _squares("a", a if stored is None else a.astype(np.float32))
    a = map_chunks(partial(_checked, ring=ring), a, f"tropical-check-{ring.name}", a._meta)
    return rounded(_star(a, ring, partial(graph.closure, semiring=ring)), stored)


def shortest_paths(w: Any, *, directed: bool = True, unweighted: bool = False) -> Any:
    """Return the lengths of the shortest paths between all pairs of vertices, lazily.

    Parameters
    ----------
    w : dask.array.Array or array_like, (..., n, n)
        Weights of the edges from i to j, which may be negative; +inf (in an integer array the
        greatest value of the dtype) where there is no edge. The dtype is one of minplus, or bool:
        True is an edge of weight 1. Chunks as in `closure`.
    directed : bool, default True
        False: each edge leads in both directions, with the lesser of two weights.
    unweighted : bool, default False
        Count edges: each edge weighs 1.

    Returns
    -------
    dask.array.Array, (..., n, n)
        The lengths, as those of `tropical.graph.shortest_paths`; `closure` says when the bits are
        the same.

    Raises
    ------
    ValueError, TypeError, NotInstalledError
        As in `closure`; also, when the lengths are computed, if a weight is -inf.
    DivergenceError
        When the lengths are computed: if there is a cycle of negative weight. The error names no
        cycle, as no task has the whole graph. A cycle of weight 0 whose weights are fractions, some
        of them negative, can seem negative by rounding.

    Examples
    --------
    >>> import dask.array as da
    >>> from tropical.interop.dask import shortest_paths
    >>> inf = float("inf")
    >>> w = da.from_array([[inf, 7.0, 2.0], [7.0, inf, 1.0], [2.0, 1.0, inf]], chunks=2)
    >>> shortest_paths(w).compute()
    array([[0., 3., 2.],
           [3., 0., 1.],
           [2., 1., 0.]])
    """
    da = require("dask.array", EXTRA)
    ring = semirings.minplus
    w = lazy("w", w)
    if w.dtype == bool:
        w = da.where(w, 1.0, ring.zero("float64"))
    stored = stored_dtype(w)
    w = _squares("w", w if stored is None else w.astype(np.float32))
    w = map_chunks(partial(_weights, unweighted=unweighted), w, "tropical-weights", w._meta)
    if not directed:
        w = da.minimum(w, w.swapaxes(-1, -2))
    return rounded(_star(w, ring, _lengths), stored)


def _squares(name: str, a: Any) -> Any:
    """Return arrays (..., n, n) whose rows and columns have the same chunks."""
    if a.ndim > 1 and any(isnan(n) for n in a.shape[-2:]):
        raise ValueError(
            f"{name}: expected known chunk sizes, got shape {a.shape}; call "
            f"{name}.compute_chunk_sizes()"
        )
    check_square(name, a)
    rows, columns = a.chunks[-2:]
    if rows == columns:
        return a
    if not a.shape[-1]:  # Dask's rechunk returns an array of nothing as it is
        chunks = (*a.chunks[:-2], (0,), (0,))
        return require("dask.array", EXTRA).zeros_like(a, chunks=chunks)
    size = max(isqrt(max(rows) * max(columns)), 1)
    return a.rechunk({a.ndim - 2: size, a.ndim - 1: size})


def _star(a: Any, ring: Semiring, star: Callable[[Array], Array]) -> Any:
    """Return the stars of an array in square chunks; `star` computes that of a chunk."""
    da, base = require("dask.array", EXTRA), require("dask.base", EXTRA)
    meta = graph.closure(a._meta, ring)  # raises the errors of the dtype and the semiring
    token = base.tokenize(a, ring, star)
    name = f"tropical-closure-{ring.name}-{token}"
    tasks: dict[Key, tuple[Any, ...]] = {}
    rounds = a.numblocks[-1]
    for item in np.ndindex(a.numblocks[:-2]):
        newest = {(i, j): (a.name, *item, i, j) for i in range(rounds) for j in range(rounds)}
        for via in range(rounds):
            for i, j, kind, task in _round(via, rounds, newest, ring, star):
                key = f"tropical-{kind}-{ring.name}-{token}", via, *item, i, j
                newest[i, j] = key if via < rounds - 1 else (name, *item, i, j)
                tasks[newest[i, j]] = task
    layers = require("dask.highlevelgraph", EXTRA).HighLevelGraph
    return da.Array(layers.from_collections(name, tasks, [a]), name, a.chunks, meta=meta)


def _round(
    via: int,
    rounds: int,
    newest: dict[tuple[int, int], Key],
    ring: Semiring,
    star: Callable[[Array], Array],
) -> Iterator[tuple[int, int, str, tuple[Any, ...]]]:
    """Yield (i, j, kind, task) for each chunk, which takes the paths through the chunk `via`.

    `newest` has the key of each chunk; it changes as the tasks are yielded.
    """
    others = [i for i in range(rounds) if i != via]
    yield via, via, "star", (star, newest[via, via])
    for j in others:
        yield via, j, "row", (_through, newest[via, j], newest[via, via], newest[via, j], ring)
    for i in others:
        left = newest[i, via]  # before this round, as `via`'s row has the paths within `via`
        for j in range(rounds):
            yield i, j, "update", (_through, newest[i, j], left, newest[via, j], ring)


def _through(values: Array, left: Array, right: Array, ring: Semiring) -> Array:
    """Return ``values (+) left (x) right``; tasks may not write to what other tasks read."""
    return tropical.gemm(left, right, semiring=ring, out=values.copy(), accumulate=True)


def _checked(a: Array, ring: Semiring) -> Array:
    """Return a chunk of a closure in the machine's byte order, after the checks of its elements."""
    check_elements(a, ring)
    return a.astype(a.dtype.newbyteorder("="), copy=False)


def _weights(w: Array, unweighted: bool) -> Array:
    """Return a chunk of weights in the machine's byte order, after the checks of its elements."""
    check_weights(w, semirings.minplus)
    if unweighted:
        w = np.where(w == semirings.minplus.zero(w.dtype), w, w.dtype.type(1))
    return w.astype(w.dtype.newbyteorder("="), copy=False)


def _lengths(w: Array) -> Array:
    """Return the star of a chunk of weights."""
    try:
        return graph.closure(w, semirings.minplus)
    except graph.DivergenceError as error:
        raise graph.DivergenceError(
            "w: has a cycle of negative weight, or of weight 0 but for rounding; "
            "tropical.graph.shortest_paths names the cycle"
        ) from error
