"""Products of Dask arrays: a task for each pair of chunks, and a tree of (+) along k."""

from __future__ import annotations

from functools import partial
from math import isnan
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

import tropical
from tropical import semirings
from tropical.arrays import Array, check_product
from tropical.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.semirings import Semiring

# A product of two chunks with its argmax: values, index from the first of its k, and that k.
Attained: TypeAlias = tuple[Array, Array, int]


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
        Only with ``return_argmax=True``: the first p, of the whole k, whose product attains C[i, j].

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
    such products, two at a time. A chunk of an operand is read, and what Dask fuses with this is
    computed, once for each product that takes the chunk: persist an operand that is costly.

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
    da = require("dask.array", "'tropical-blas[dask]'")
    ring = semirings.get(semiring)
    a, b = da.asarray(a), da.asarray(b)
    _check(a, b)
    rows, columns = a if a.ndim > 1 else a[None, :], b if b.ndim > 1 else b[:, None]
    lengths = zip(rows.shape[-3::-1], columns.shape[-3::-1], strict=False)
    if any(1 not in (x, y) and (x < y or y < x) for x, y in lengths):  # NaN: unknown
        raise ValueError(f"a, b: expected batch axes that broadcast, got {a.shape} and {b.shape}")
    empty = tropical.gemm(rows._meta, columns._meta, semiring=ring, return_argmax=return_argmax)
    empties = empty if return_argmax else (empty,)
    batch = tuple(range(max(rows.ndim, columns.ndim) - 2))
    m, k, n = (len(batch) + i for i in range(3))
    name = f"tropical-gemm-{ring.name}"
    # Blocks that lack the axis k, which is 1 long: only the reduction sees them.
    terms = da.blockwise(
        _attained if return_argmax else tropical.gemm,
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
    total = da.reduction(
        terms,
        _same,
        partial(_added, add=partial(_best if return_argmax else _sum, ring=ring)),
        axis=0,
        concatenate=False,
        split_every=2,
        name=name,
        dtype=empties[0].dtype,
        meta=empties[0],
    )
    if not return_argmax:
        return _without_axes(total, a, b)
    parts = (
        total.map_blocks(itemgetter(i), dtype=one.dtype, meta=one, token=f"{name}-{part}")
        for i, (one, part) in enumerate(zip(empties, ("values", "index"), strict=True))
    )
    return tuple(_without_axes(part, a, b) for part in parts)


def _check(a: Any, b: Any) -> None:
    """Raise ValueError unless the last axes of two arrays are known and fit."""
    for name, x, axis in ("a", a, -1), ("b", b, -2 if b.ndim > 1 else 0):
        if x.ndim and isnan(x.shape[axis]):
            raise ValueError(
                f"{name}: expected known chunk sizes along k, got {x.chunks[axis]}; call "
                f"{name}.compute_chunk_sizes()"
            )
    check_product(a.shape, b.shape)


def _without_axes(product: Any, a: Any, b: Any) -> Any:
    """Return a product of matrices without the axes that 1-D operands were given."""
    if a.ndim == 1:
        product = product[..., 0, :]
    return product[..., 0] if b.ndim == 1 else product


def _attained(a: Array, b: Array, semiring: Semiring) -> Attained:
    """Return the product of two chunks, its argmax, and how long its k is."""
    return *tropical.gemm(a, b, semiring=semiring, return_argmax=True), a.shape[-1]


def _same(term: Any, axis: object, keepdims: bool) -> Any:
    """Return a product unchanged: what Dask's reduction does to each chunk first."""
    return term


def _added(terms: Any, axis: object, keepdims: bool, add: Callable[[Any, Any], Any]) -> Any:
    """Return the sum of a list of one or two products, or the array by which Dask asks for dtype."""
    if not isinstance(terms, list):
        return terms
    return add(*terms) if len(terms) == 2 else terms[0]


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
