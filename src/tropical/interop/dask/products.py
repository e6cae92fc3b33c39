"""Products of Dask arrays: a task for each pair of chunks, and a tree of (+) along k."""

from __future__ import annotations

import warnings
from functools import partial
from math import isnan
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

import tropical
from tropical import semirings
from tropical.arrays import Array, check_product, narrowed
from tropical.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.semirings import Semiring

# A product of two chunks with its argmax: values, index from the first of its k, and that k.
Attained: TypeAlias = tuple[Array, Array, int]
Key: TypeAlias = tuple[Any, ...]
EXTRA = "'tropical-blas[dask]'"
RUN = 8  # products that are added one by one


@overload
def gemm(
    a: Any, b: Any, *, semiring: str | Semiring = "maxplus", return_argmax: Literal[False] = False
) -> Any: ...
@overload
def gemm(
    a: Any, b: Any, *, semiring: str | Semiring = "maxplus", return_argmax: Literal[True]
) -> tuple[Any, Any]: ...
def gemm(
    a: Any, b: Any, *, semiring: str | Semiring = "maxplus", return_argmax: bool = False
) -> Any:
    """Multiply matrices over a semiring, lazily, in the chunks of the operands.

    Parameters
    ----------
    a : dask.array.Array or array_like, (..., m, k) or (k,)
        Left operand.
    b : dask.array.Array or array_like, (..., k, n) or (k,)
        Right operand. 1-D operands and batches are treated as by `numpy.matmul`.
    semiring : str or Semiring, default "maxplus"
        As for `tropical.gemm`.
    return_argmax : bool, default False
        Return the index as well, as `tropical.gemm` does.

    Returns
    -------
    C : dask.array.Array, (..., m, n)
        The chunks are those of the rows of `a` and the columns of `b`.
    index : dask.array.Array of intp, (..., m, n)
        Only with ``return_argmax=True``: the first p of the whole k that attains C[i, j].

    Raises
    ------
    ValueError
        If shapes do not fit, an operand is 0-D, the semiring is unknown or has no argmax, or the
        sizes of the chunks along k are unknown.
    TypeError
        If the semiring is not defined for the operands' common dtype.
    NotInstalledError
        Without Dask.

    Notes
    -----
    A task multiplies one chunk of `a` and one chunk of `b`: it holds three chunks. Other tasks add
    two such products: a tree of sums along k. A chunk of an operand is read once for each product
    that takes it, together with what Dask fuses with the reading: persist an operand that is costly
    to compute.

    The results are those of `tropical.gemm`, bit by bit, except over plustimes and logplus, whose
    sums round: the order of the sum differs.

    Examples
    --------
    >>> import dask.array as da
    >>> from tropical.interop.dask import gemm
    >>> legs = da.from_array([[0, 4, 9], [4, 0, 3], [9, 3, 0]], chunks=2)
    >>> lengths, via = gemm(legs, legs, semiring="minplus", return_argmax=True)
    >>> lengths.compute()
    array([[0, 4, 7],
           [4, 0, 3],
           [7, 3, 0]])
    >>> via.compute()
    array([[0, 0, 1],
           [0, 1, 1],
           [1, 1, 2]])
    """
    da = require("dask.array", EXTRA)
    ring = semirings.get(semiring)
    a, b = da.asarray(a), da.asarray(b)
    _check(a, b)
    rows, columns = a if a.ndim > 1 else a[None, :], b if b.ndim > 1 else b[:, None]
    lengths = zip(rows.shape[-3::-1], columns.shape[-3::-1], strict=False)
    if any(1 not in (x, y) and (x < y or y < x) for x, y in lengths):  # NaN: unknown
        raise ValueError(f"a, b: expected batch axes that broadcast, got {a.shape} and {b.shape}")
    dtype = np.result_type(a.dtype, b.dtype)
    stored = dtype if return_argmax and dtype.name in ring.stored else None
    if stored is not None:  # the argmax is that of float32, also between chunks
        rows, columns = rows.astype(np.float32), columns.astype(np.float32)
    multiply = _attained if return_argmax else tropical.gemm
    empty: Any = multiply(rows._meta, columns._meta, semiring=ring)
    empties: tuple[Array, ...] = empty[:2] if return_argmax else (empty,)
    batch = tuple(range(max(rows.ndim, columns.ndim) - 2))
    m, k, n = (len(batch) + i for i in range(3))
    name = f"tropical-gemm-{ring.name}"
    # Chunks that lack the axis k, which is 1 long: only `_total` sees them.
    with warnings.catch_warnings():  # Dask's, that there are more products than chunks
        warnings.simplefilter("ignore", da.PerformanceWarning)
        terms = da.blockwise(
            multiply,
            (k, *batch, m, n),
            rows,
            (*batch[len(batch) + 2 - rows.ndim :], m, k),
            columns,
            (*batch[len(batch) + 2 - columns.ndim :], k, n),
            semiring=ring,
            adjust_chunks={k: 1},
            token=name,
            dtype=empties[0].dtype,
            meta=empties[0][None],
        )
    add = partial(_best if return_argmax else _sum, ring=ring)
    total = _total(terms, ring, add, meta=empties[0])
    if not return_argmax:
        return _without_axes(total, a, b)
    values, index = (
        map_chunks(itemgetter(i), total, f"{name}-{part}", one)
        for i, (one, part) in enumerate(zip(empties, ("values", "index"), strict=True))
    )
    return tuple(_without_axes(part, a, b) for part in (rounded(values, stored), index))


def map_chunks(function: Callable[..., Any], x: Any, prefix: str, meta: Array) -> Any:
    """Return an array of function(chunk) for each chunk, whose tasks have names with a prefix.

    Dask's ``map_blocks`` takes a whole name, and arrays with the same name are one array to Dask.
    """
    name = f"{prefix}-{require('dask.base', EXTRA).tokenize(function, x)}"
    return x.map_blocks(function, name=name, dtype=meta.dtype, meta=meta)


def rounded(x: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return numbers of float32 in a dtype of two bytes an element, as `narrowed` does."""
    if dtype is None:
        return x
    narrow = partial(narrowed, dtype=dtype)
    return map_chunks(narrow, x, "tropical-rounded", narrow(x._meta))


def _check(a: Any, b: Any) -> None:
    """Raise ValueError unless the last axes of two arrays are known and fit."""
    for name, x, axis in ("a", a, -1), ("b", b, -2 if b.ndim > 1 else 0):
        if x.ndim and isnan(x.shape[axis]):
            raise ValueError(
                f"{name}: expected known chunk sizes along k, got {x.chunks[axis]}; call "
                f"{name}.compute_chunk_sizes()"
            )
    check_product(a.shape, b.shape)


def _total(terms: Any, ring: Semiring, add: Callable[[Any, Any], Any], meta: Array) -> Any:
    """Return the sum of products (k, ..., m, n) along k, without this axis, in its order.

    A run of `RUN` products is added one by one, as they come, then the sums of the runs likewise.
    So few products wait for others, and the sums of many are not one chain of tasks.
    """
    da, base = require("dask.array", EXTRA), require("dask.base", EXTRA)
    token = base.tokenize(terms, add)
    name, part = (f"tropical-{kind}-{ring.name}-{token}" for kind in ("product", "sum"))
    tasks: dict[Key, Any] = {}
    for place in np.ndindex(terms.numblocks[1:]):
        level: list[Key] = [(terms.name, p, *place) for p in range(terms.numblocks[0])]
        depth = 0
        while len(level) > 1:
            sums = []
            for start in range(0, len(level), RUN):
                total, *others = level[start : start + RUN]
                for p, other in enumerate(others):
                    key = part, depth, start, p, *place
                    tasks[key] = add, total, other
                    total = key
                sums.append(total)
            level, depth = sums, depth + 1
        tasks[(name, *place)] = level[0]  # the same under another name
    layers = require("dask.highlevelgraph", EXTRA).HighLevelGraph
    whole = layers.from_collections(name, tasks, [terms])
    return da.Array(whole, name, terms.chunks[1:], meta=meta)


def _without_axes(product: Any, a: Any, b: Any) -> Any:
    """Return a product of matrices without the axes that 1-D operands were given."""
    if a.ndim == 1:
        product = product[..., 0, :]
    return product[..., 0] if b.ndim == 1 else product


def _attained(a: Array, b: Array, semiring: Semiring) -> Attained:
    """Return the product of two chunks, its argmax, and how long its k is."""
    return *tropical.gemm(a, b, semiring=semiring, return_argmax=True), a.shape[-1]


def _sum(first: Array, second: Array, ring: Semiring) -> Array:
    """Return the sum of two products."""
    with np.errstate(all="ignore"):  # gemm warns of nothing, either
        total: Array = ring.add_ufunc(first, second)
    return total


def _best(first: Attained, second: Attained, ring: Semiring) -> Attained:
    """Return the better of two products, element by element, and where it is attained."""
    (values, index, before), (others, other_index, k) = first, second
    if before == 0 or k == 0:  # a product of nothing, whose index is -1
        return second if before == 0 else first
    later = ring.better(others, values) | (np.isnan(others) & ~np.isnan(values))
    return (
        np.where(later, others, values),
        np.where(later, other_index + before, index),
        before + k,
    )
