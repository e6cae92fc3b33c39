"""Products of Dask arrays, chunk by chunk.

Dask computes generalized ufuncs by ``dask.array.apply_gufunc``, which has no optional dimensions.
So ``tropical.ufunc.maxplus`` refuses Dask arrays. It could not divide a long sum either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.arrays import check_product
from tropical.extras import require

if TYPE_CHECKING:
    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]


def gemm(a: Any, b: Any, *, semiring: str | Semiring = "maxplus") -> Any:
    """Multiply matrices over a semiring, lazily, in the chunks of the operands.

    Parameters
    ----------
    a : dask.array.Array or array_like, (..., m, k) or (k,)
        Left operand.
    b : dask.array.Array or array_like, (..., k, n) or (k,)
        Right operand. 1-D operands and batches are treated as by `numpy.matmul`.
    semiring : str or Semiring, default "maxplus"
        As for `tropical.gemm`.

    Returns
    -------
    dask.array.Array, (..., m, n)
        The chunks are those of the rows of `a` and the columns of `b`. A task computes one chunk
        from a row of chunks of `a` and a column of chunks of `b`, which it needs at the same time.

    Raises
    ------
    ValueError
        If shapes do not fit, an operand is 0-D, or the semiring is unknown.
    TypeError
        If the semiring is not defined for the operands' common dtype.
    NotInstalledError
        Without Dask.

    Notes
    -----
    The result is that of `tropical.gemm`, bit by bit, if sums do not round. Else the order of the
    sum differs: it adds the chunks of k one after the other.

    Examples
    --------
    >>> import dask.array as da
    >>> from tropical.interop.dask import gemm
    >>> legs = da.from_array([[0, 4, 9], [4, 0, 3], [9, 3, 0]], chunks=2)
    >>> gemm(legs, legs, semiring="minplus").compute()
    array([[0, 4, 7],
           [4, 0, 3],
           [7, 3, 0]])
    """
    da = require("dask.array", "'tropical-blas[dask]'")
    a, b = da.asarray(a), da.asarray(b)
    check_product(a.shape, b.shape)
    rows, columns = a if a.ndim > 1 else a[None, :], b if b.ndim > 1 else b[:, None]
    lengths = zip(rows.shape[-3::-1], columns.shape[-3::-1], strict=False)
    if any(1 not in (x, y) and (x < y or y < x) for x, y in lengths):  # NaN: unknown
        raise ValueError(f"a, b: expected batch axes that broadcast, got {a.shape} and {b.shape}")
    kind = tropical.gemm(np.empty(0, a.dtype), np.empty(0, b.dtype), semiring=semiring).dtype
    batch = tuple(range(max(rows.ndim, columns.ndim) - 2))
    m, k, n = (len(batch) + i for i in range(3))
    product = da.blockwise(
        _product,
        (*batch, m, n),
        rows,
        (*batch[len(batch) + 2 - rows.ndim :], m, k),
        columns,
        (*batch[len(batch) + 2 - columns.ndim :], k, n),
        semiring=semiring,
        dtype=kind,
        meta=np.empty((0,) * (len(batch) + 2), kind),
    )
    if a.ndim == 1:
        product = product[..., 0, :]
    return product[..., 0] if b.ndim == 1 else product


def _product(rows: list[Array], columns: list[Array], semiring: str | Semiring) -> Array:
    """Return the product of a row of chunks and a column of chunks."""
    total = tropical.gemm(rows[0], columns[0], semiring=semiring)
    for a, b in zip(rows[1:], columns[1:], strict=True):
        tropical.gemm(a, b, semiring=semiring, out=total, accumulate=True)
    return total
