"""The evolution of a (max, +) linear system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

import tropical
from tropical.arrays import Array, count_of

from .operands import plus_ring, promote, square_matrix

if TYPE_CHECKING:
    from tropical.graph.edges import GraphLike
    from tropical.semirings import Semiring


def schedule(
    a: GraphLike,
    x0: ArrayLike,
    steps: int,
    semiring: str | Semiring = "maxplus",
    *,
    inputs: ArrayLike | None = None,
) -> Array:
    """Return x(0) to x(steps) of ``x(k + 1) = a (x) x(k) (+) inputs(k)``.

    In a timed event graph x(k)[i] is the time of the k-th firing of transition i. The firing
    x(k + 1)[i] happens as soon as a[i, j] has passed since x(k)[j] for all j, and not before the
    input allows the firing.

    Parameters
    ----------
    a : array_like, sparse array or networkx graph, (n, n)
        Element (i, j) is the time from a firing of j to the next firing of i; the semiring's zero
        if i does not wait for j.
    x0 : array_like, (..., n)
        First firings; leading axes are a batch.
    steps : int
        The number of firings that follow.
    semiring : {"maxplus", "minplus"}
    inputs : array_like, broadcast to (..., steps, n), optional
        The earliest times of x(k + 1), such as a timetable. The term ``b (x) u`` of the usual form
        ``x(k + 1) = a (x) x(k) (+) b (x) u(k)`` is ``tropical.gemm(u, b.T)``.

    Returns
    -------
    ndarray, (..., steps + 1, n)
        Of the dtype to which `a`, `x0` and `inputs` promote.

    Raises
    ------
    ValueError
        If shapes do not match, `steps` is negative, or `a` holds NaN or the infinity that is not
        the semiring's zero.
    TypeError
        If the dtype is not one of the semiring's, or `steps` is no integer.

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
    given = {"a": square_matrix(a, ring), "x0": x0}
    steps = count_of("steps", steps)
    if inputs is not None:
        given["inputs"] = inputs
    matrix, first, *late = promote(ring, **given)
    n = len(matrix)
    if first.shape[-1:] != (n,):
        raise ValueError(f"x0: expected (..., {n}), got {first.shape}")
    try:
        waits = [np.broadcast_to(x, (*x.shape[:-2], steps, n)) for x in late]
        batch = np.broadcast_shapes(first.shape[:-1], *(x.shape[:-2] for x in waits))
    except (ValueError, RuntimeError):  # NumPy raises the second beyond 32 dimensions
        raise ValueError(
            f"inputs: expected a shape that broadcasts to (..., {steps}, {n}) with x0 of shape "
            f"{first.shape}, got {late[0].shape}"
        ) from None
    x = np.empty((*batch, steps + 1, n), matrix.dtype)
    x[..., 0, :] = first
    x[..., 1:, :] = waits[0] if waits else ring.zero(matrix.dtype)
    for k in range(steps):
        tropical.gemm(x[..., k, :], matrix.T, semiring=ring, out=x[..., k + 1, :], accumulate=True)
    return x
