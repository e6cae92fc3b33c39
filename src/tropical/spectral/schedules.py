"""The evolution of a (max, +) linear system."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

import tropical

from .operands import Array, plus_ring, promote, square_matrix

if TYPE_CHECKING:
    from tropical.semirings import Semiring


def schedule(
    a: ArrayLike,
    x0: ArrayLike,
    steps: int,
    semiring: str | Semiring = "maxplus",
    *,
    inputs: ArrayLike | None = None,
) -> Array:
    """Return x(0) to x(steps) of ``x(k + 1) = a (x) x(k) (+) inputs(k)``.

    In a timed event graph x(k)[i] is when transition i fires for the k-th time: x(k + 1)[i] is
    a[i, j] after x(k)[j] for whichever j is the last, and no sooner than the input allows.

    Parameters
    ----------
    a : array_like, (n, n)
        Element (i, j) is the time from a firing of j to the next of i that waits for it; the
        semiring's zero where none does.
    x0 : array_like, (..., n)
        First firings; a batch of them along the leading axes.
    steps : int
        How many firings follow.
    semiring : {"maxplus", "minplus"}
    inputs : array_like, broadcast to (..., steps, n), optional
        What else x(k + 1) waits for, such as a timetable; ``b (x) u`` of the usual form
        ``x(k + 1) = a (x) x(k) (+) b (x) u(k)`` is ``tropical.gemm(u, b.T)``.

    Returns
    -------
    ndarray, (..., steps + 1, n)
        Of the dtype to which `a`, `x0` and `inputs` promote.

    Raises
    ------
    ValueError
        If shapes do not fit, `steps` is negative, or `a` holds NaN or the infinity that is not the
        semiring's zero.
    TypeError
        If the dtype is not one of the semiring's, or `steps` no integer.

    Notes
    -----
    Baccelli et al. (1992), section 2.5.

    Examples
    --------
    Two lines whose trains wait for each other:

    >>> from tropical.spectral import schedule
    >>> schedule([[3, 7], [2, 4]], [0, 0], 4)
    array([[ 0,  0],
           [ 7,  4],
           [11,  9],
           [16, 13],
           [20, 18]])
    """
    ring = plus_ring(semiring)
    square_matrix(a, ring)
    steps = operator.index(steps)
    if steps < 0:
        raise ValueError(f"steps: is {steps}, 0 or more is wanted")
    given = {"a": a, "x0": x0} if inputs is None else {"a": a, "x0": x0, "inputs": inputs}
    matrix, first, *late = promote(ring, **given)
    n = len(matrix)
    if first.shape[-1:] != (n,):
        raise ValueError(f"x0: has shape {first.shape}, (..., {n}) is wanted")
    try:
        waits = [np.broadcast_to(x, (*x.shape[:-2], steps, n)) for x in late]
        batch = np.broadcast_shapes(first.shape[:-1], *(x.shape[:-2] for x in waits))
    except ValueError:
        raise ValueError(
            f"inputs: has shape {late[0].shape}, which is not broadcast to {steps} steps of {n} "
            f"with x0 of shape {first.shape}"
        ) from None
    x = np.empty((*batch, steps + 1, n), matrix.dtype)
    x[..., 0, :] = first
    x[..., 1:, :] = waits[0] if waits else ring.zero(matrix.dtype)
    for k in range(steps):
        tropical.gemm(x[..., k, :], matrix.T, semiring=ring, out=x[..., k + 1, :], accumulate=True)
    return x
