"""Residuation: the greatest solutions of inequalities a (x) x <= b."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

import tropical

from .operands import Array, dual, plus_ring, promote

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.semirings import Semiring


def left_residual(a: ArrayLike, b: ArrayLike, semiring: str | Semiring = "maxplus") -> Array:
    r"""Return ``a \ b``, the greatest x with ``a (x) x <= b``.

    Element j is ``min_i b[i] - a[i, j]``: the latest that j may start for each i, which follows it
    by a[i, j], to be done at b[i]. If ``a (x) x = b`` has a solution, this is one.

    Parameters
    ----------
    a : array_like, (..., m, k)
    b : array_like, (m,) or (..., m, n)
        Leading axes are broadcast.
    semiring : {"maxplus", "minplus"}
        minplus has the order turned round: the least x with ``a (x) x >= b``,
        ``max_i b[i] - a[i, j]``.

    Returns
    -------
    ndarray, (..., k) or (..., k, n)
        Of the dtype to which `a` and `b` promote: float32, float64, int8, int16, int32 or int64.

    Raises
    ------
    ValueError
        If shapes do not fit.
    TypeError
        If the dtype is not one of the semiring's.

    Notes
    -----
    Baccelli et al. (1992), sections 4.4 and 4.6; Butkovic (2010), chapter 3.

    What ``inf - inf`` is follows from the definition: -inf (x) x = -inf <= b holds for all x, and
    so does a (x) x <= +inf, so both ``b - (-inf)`` and ``+inf - a`` are +inf, for every b and a.
    Integers have -inf and +inf as their least and greatest value, and saturate as `tropical.gemm`
    does: x is the greatest for which ``gemm(a, x) <= b``. NaN in column j of `a` makes x[j] NaN,
    NaN in column j of `b` that of x.

    Examples
    --------
    Two jobs end at 10 and 12. The latest starts of what they wait for:

    >>> import numpy as np
    >>> from tropical.spectral import left_residual
    >>> left_residual([[3.0, 5.0], [-np.inf, 4.0]], [10.0, 12.0])
    array([7., 5.])
    """
    ring = plus_ring(semiring)
    a, b = promote(ring, a=a, b=b)
    if a.ndim < 2:
        raise ValueError(f"a: has shape {a.shape}, (..., m, k) is wanted")
    if b.shape[-2:][:1] != a.shape[-2:-1]:
        raise ValueError(
            f"b: has shape {b.shape}, (m,) or (..., m, n) is wanted with a of shape {a.shape}"
        )
    turned = np.swapaxes(opposite(a), -1, -2)
    return differences(b, lambda y: tropical.gemm(turned, y, semiring=dual(ring)), ring)


def right_residual(a: ArrayLike, b: ArrayLike, semiring: str | Semiring = "maxplus") -> Array:
    """Return ``b / a``, the greatest x with ``x (x) a <= b``.

    Parameters
    ----------
    a : array_like, (..., k, n)
    b : array_like, (n,) or (..., m, n)
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    ndarray, (..., k) or (..., m, k)
        ``x[i, j] = min_p b[i, p] - a[j, p]``; see `left_residual` for all else.

    Raises
    ------
    ValueError, TypeError
        As `left_residual`.

    Examples
    --------
    >>> from tropical.spectral import right_residual
    >>> right_residual([[1, 2], [0, 5]], [[4, 4]])
    array([[ 2, -1]])
    """
    ring = plus_ring(semiring)
    a, b = promote(ring, a=a, b=b)
    if a.ndim < 2:
        raise ValueError(f"a: has shape {a.shape}, (..., k, n) is wanted")
    if b.shape[-1:] != a.shape[-1:]:
        raise ValueError(
            f"b: has shape {b.shape}, (n,) or (..., m, n) is wanted with a of shape {a.shape}"
        )
    turned = np.swapaxes(opposite(a), -1, -2)
    return differences(b, lambda y: tropical.gemm(y, turned, semiring=dual(ring)), ring)


def opposite(a: Array) -> Array:
    """Return ``-a``, for integers ``-a - 1``, which turns their infinities into each other."""
    return -a if a.dtype.kind == "f" else ~a


def differences(b: Array, product: Callable[[Array], Array], ring: Semiring) -> Array:
    """Return the product over the dual semiring of `b` and ``-a``; `product` has `opposite` of a.

    For integers that is ``product(b + 1)``, where the top stays what it is. The one number that
    ``+ 1`` would make the top, or wrap, gets its 1 after a product of its own.
    """
    if b.dtype.kind == "f":
        return product(b)
    least, greatest = np.iinfo(b.dtype).min, np.iinfo(b.dtype).max
    top, last = (greatest, greatest - 1) if ring.add == "max" else (least, greatest)
    is_last = b == last
    result = product(np.where(is_last, top, b + ((b != top) & ~is_last)).astype(b.dtype))
    if not is_last.any():
        return result
    late = product(np.where(is_last, b, top).astype(b.dtype))
    late = late + ((late != least) & (late != greatest))
    greatest_of = np.minimum if ring.add == "max" else np.maximum
    return np.asarray(greatest_of(result, late))
