"""Sizes of chunks for products and stars."""

from __future__ import annotations

from math import ceil, isqrt, sqrt

import numpy as np
from numpy.typing import DTypeLike

from tropical.extras import require

from .products import EXTRA

# Chunks of which a thread has memory: four of a task, and what comes, goes and waits.
CHUNKS = 16
MOST = 4096  # products of larger chunks are no faster, and take long to repeat


def suggest_chunks(
    n: int, dtype: DTypeLike = "float32", *, memory: int | str = "2 GiB", workers: int = 1
) -> int:
    """Return the side of square chunks for products and stars of matrices (n, n).

    Parameters
    ----------
    n : int
        Rows and columns, at least 0.
    dtype : dtype, default "float32"
        The dtype of the elements.
    memory : int or str, default "2 GiB"
        Bytes that a thread of a worker may use: the worker's limit over its threads. A str as Dask
        writes it.
    workers : int, default 1
        Threads that compute at the same time, of all workers together.

    Returns
    -------
    int
        At most n (1 if n is 0), and the greatest side with which 16 chunks fit into `memory`,
        each thread has four chunks of the result to compute, and no side exceeds 4,096. The chunks
        are about equally large.

    Raises
    ------
    ValueError
        If `n` is negative, `workers` is less than 1, or `memory` holds no 16 elements.
    NotInstalledError
        Without Dask.

    Notes
    -----
    A product of chunks of side s takes 2 s**3 operations, and Dask some milliseconds for its tasks:
    from about s = 1,024 on, the products take most of the time. If the suggestion is much less, use
    fewer workers or give them more memory.

    Examples
    --------
    >>> from tropical.interop.dask import suggest_chunks
    >>> suggest_chunks(100_000, memory="4 GB", workers=64)
    4000
    >>> suggest_chunks(10_000, "float64", memory="4 GB", workers=2)
    3334
    """
    most = require("dask.utils", EXTRA).parse_bytes(memory) // (CHUNKS * np.dtype(dtype).itemsize)
    if n < 0:
        raise ValueError(f"n: expected 0 or more, got {n}")
    if workers < 1:
        raise ValueError(f"workers: expected 1 or more, got {workers}")
    if most < 1:
        raise ValueError(f"memory: expected room for {CHUNKS} elements, got {memory}")
    least_count = ceil(2 * sqrt(workers))  # a side, so that there are four chunks for each
    count = max(ceil(n / min(isqrt(most), MOST)), min(least_count, n), 1)
    return max(ceil(n / count), 1)
