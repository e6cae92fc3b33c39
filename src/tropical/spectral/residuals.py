"""Residuation: the greatest solutions of inequalities a (x) x <= b."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

import tropical
from tropical.arrays import Array, is_kind

from .operands import dual, plus_ring, promote

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.semirings import Semiring


def left_residual(a: ArrayLike, b: ArrayLike, semiring: str | Semiring = "maxplus") -> Array:
    r"""Return ``a \ b``, the greatest x with ``a (x) x <= b``.

    Element j is ``min_i b[i] - a[i, j]``: the latest start of j such that each i, which follows
    a[i, j] after j, is done at b[i]. If ``a (x) x = b`` has a solution, the result is one.

    Parameters
    ----------
    a : array_like, (..., m, k)
    b : array_like, (m,) or (..., m, n)
        Leading axes broadcast.
    semiring : {"maxplus", "minplus"}
        minplus reverses the order: the least x with ``a (x) x >= b``, ``max_i b[i] - a[i, j]``.

    Returns
    -------
    ndarray, (..., k) or (..., k, n)
        Of the dtype to which `a` and `b` promote, a signed or floating one.

    Raises
    ------
    ValueError
        If shapes do not match.
    TypeError
        If the dtype is not one of maxplus.

    Notes
    -----
    Baccelli et al. (1992), sections 4.4 and 4.6; Butkovic (2010), chapter 3.

    The definition says what ``inf - inf`` is: -inf (x) x = -inf <= b holds for all x, and so does
    a (x) x <= +inf. So both ``b - (-inf)`` and ``+inf - a`` are +inf, for every b and a. The least
    and the greatest value of an integer dtype are -inf and +inf, and integers saturate as in
    `tropical.gemm`: x is the greatest for which ``gemm(a, x) <= b``. NaN in column j of `a` makes
    x[j] NaN; NaN in column j of `b` makes column j of x NaN.

    Examples
    --------
    Two jobs end at 10 and 12. When must the steps that they wait for start at the latest?

    >>> import numpy as np
    >>> from tropical.spectral import left_residual
    >>> left_residual([[3.0, 5.0], [-np.inf, 4.0]], [10.0, 12.0])
    array([7., 5.])
    """
    ring = plus_ring(semiring)
    a, b = promote(ring, a=a, b=b)
    if a.ndim < 2:
        raise ValueError(f"a: expected (..., m, k), got {a.shape}")
    if b.shape[-2:][:1] != a.shape[-2:-1]:
        raise ValueError(
            f"b: expected (m,) or (..., m, n) with a of shape {a.shape}, got {b.shape}"
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
        ``x[i, j] = min_p b[i, p] - a[j, p]``; otherwise as in `left_residual`.

    Raises
    ------
    ValueError, TypeError
        As in `left_residual`.

    Examples
    --------
    >>> from tropical.spectral import right_residual
    >>> right_residual([[1, 2], [0, 5]], [[4, 4]])
    array([[ 2, -1]])
    """
    ring = plus_ring(semiring)
    a, b = promote(ring, a=a, b=b)
    if a.ndim < 2:
        raise ValueError(f"a: expected (..., k, n), got {a.shape}")
    if b.shape[-1:] != a.shape[-1:]:
        raise ValueError(
            f"b: expected (n,) or (..., m, n) with a of shape {a.shape}, got {b.shape}"
        )
    turned = np.swapaxes(opposite(a), -1, -2)
    return differences(b, lambda y: tropical.gemm(y, turned, semiring=dual(ring)), ring)


def opposite(a: Array) -> Array:
    """Return ``-a``; for integers ``-a - 1``, which maps each infinity to the other."""
    return -a if is_kind(a.dtype, "floating") else ~a


def differences(b: Array, product: Callable[[Array], Array], ring: Semiring) -> Array:
    """Return the product over the dual semiring of `b` and ``-a``; `product` has `opposite` of a.

    For integers this is ``product(b + 1)``; the top stays unchanged. One number would become the
    top, or wrap, by ``+ 1``: this number has a product of its own, and ``+ 1`` comes afterwards.
    """
    if is_kind(b.dtype, "floating"):
        return product(b)
    least, greatest = np.iinfo(b.dtype).min, np.iinfo(b.dtype).max
    top, last = (greatest, greatest - 1) if ring.direction > 0 else (least, greatest)
    is_last = b == last
    result = product(np.where(is_last, top, b + ((b != top) & ~is_last)).astype(b.dtype))
    if not is_last.any():
        return result
    late = product(np.where(is_last, b, top).astype(b.dtype))
    late = late + ((late != least) & (late != greatest))
    return np.asarray(dual(ring).add_ufunc(result, late))
