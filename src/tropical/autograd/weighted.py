"""The calculus of logplus: weighted sums of exponentials, closed under differentiation.

    S(u, r, v, s, t)[i, j] = sum over p of u[i, p] v[p, j] exp(r[i, p] + s[p, j] + t[i, j])

Let c be the logplus product of a and b, and g its gradient. Term p of c[i, j] has the weight
exp(a[i, p] + b[p, j] - c[i, j]), which is at most 1. So the gradients of a and b are such sums:

    S(g, -c, 1, b.T, a)    and    S(1, a.T, g, -c, b)

With g for the gradient of S, the gradients of S are again such sums:

    u: S(g, t, v.T, s.T, r)    r: u times the gradient of u    t: g times S
    v: S(u.T, r.T, g, t, s)    s: v times the gradient of v
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tropical

from .winners import pooled

if TYPE_CHECKING:
    from collections.abc import Iterator

Array: TypeAlias = NDArray[Any]


def shift(x: Array, axis: int) -> Array:
    """Return the maxima along an axis, which stays with length 1; 0 where one is infinite.

    If a shift moves every row of a, and every column of b, the weights stay the same and round
    less: those of logarithms round by their distance from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd.weighted import shift
    >>> shift(np.array([[-1000.0, -1001.0], [-np.inf, -np.inf]]), -1)
    array([[-1000.],
           [    0.]])
    """
    most = x.max(axis, keepdims=True, initial=-np.inf)
    np.copyto(most, 0, where=np.isinf(most))
    return most


def weighted(u: Array, r: Array, v: Array, s: Array, t: Array) -> Array:
    """Return S(u, r, v, s, t), whatever the range of the exponents.

    Parameters
    ----------
    u, r : ndarray, (..., m, k)
        Factors and exponents of the rows. u broadcasts to r. All arrays have one dtype, float32 or
        float64, and batches broadcast.
    v, s : ndarray, (..., k, n)
        Factors and exponents of the columns. v broadcasts to s.
    t : ndarray, (..., m, n)
        Exponents of the elements.

    Returns
    -------
    ndarray, (..., m, n)
        The sums. An infinite exponent, of either sign, makes its terms 0, whatever the factors.

    Notes
    -----
    Where no product of factors and exponentials can underflow, this is one plus-times product.
    Otherwise float64 takes the place of float32. Where that underflows as well, this is logplus
    products, which are right in any range, of logarithms of the factors: one for each pair of
    signs that occurs, mostly one or two.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd.weighted import weighted
    >>> r, s, one = np.array([[0.0, -2000.0]]), np.array([[-2000.0], [0.0]]), np.ones((1, 1))
    >>> weighted(np.array([[3.0, -1.0]]), r, one, s, np.array([[2000.0]]))
    array([[2.]])
    """
    batch = np.broadcast_shapes(*(e.shape[:-2] for e in (u, r, v, s, t)))
    with pooled(math.prod(batch) * r.shape[-2] * s.shape[-1]), np.errstate(all="ignore"):
        return _weighted(u, r, v, s, t)


def _weighted(u: Array, r: Array, v: Array, s: Array, t: Array) -> Array:
    dtype = r.dtype
    r, s, t = (_without(e == np.inf, e, -np.inf) for e in (r, s, t))
    none = t == -np.inf
    of_rows, of_columns = shift(r, -1), shift(s, -2)
    rows, columns, scales = r - of_rows, s - of_columns, (t + of_rows) + of_columns
    sums: Any
    if _lowest(u, rows) + _lowest(v, columns) > np.log(np.finfo(dtype).tiny):
        sums = tropical.gemm(_numbers(u, rows), _numbers(v, columns), semiring="plustimes")
        sums = _without(sums == 0, sums * np.exp(scales, out=scales), 0)  # no term: any scale
    elif dtype == np.float32:
        wide = [e.astype(np.float64) for e in (u, r, v, s, t)]
        return _weighted(*wide).astype(np.float32)
    else:
        batches = ((*x.shape[:-2], 1, 1) for x in (u, v))
        sums = np.zeros(np.broadcast_shapes(scales.shape, *batches), dtype)
        for sign, left in _logarithms(u, rows):
            for other, right in _logarithms(v, columns):
                logs = tropical.gemm(left, right, semiring="logplus") + scales
                sums = sums + sign * other * np.exp(logs, out=logs)
    return _without(none, sums, 0)


def _without(mask: Array, x: Array, value: float) -> Array:
    """Return x with a value in the place of the elements of a mask."""
    return np.where(mask, np.asarray(value, x.dtype), x) if mask.any() else x


def _lowest(u: Array, r: Array) -> float:
    """Return a lower bound of the logarithms of u exp(r), of those that are not 0."""
    sizes = np.abs(u)
    found = []
    for x, nothing, initial in ((r, -np.inf, 0), (sizes, 0, 1)):
        least = x.min(initial=initial)
        found.append(x.min(initial=initial, where=x > nothing) if least == nothing else least)
    return float(found[0] + np.log(found[1]))


def _numbers(u: Array, r: Array) -> Array:
    """Return u exp(r)."""
    return _without(r == -np.inf, np.exp(r) * u, 0)


def _logarithms(u: Array, r: Array) -> Iterator[tuple[int, Array]]:
    """Return a sign and the logarithms of u exp(r) of this sign, for each sign that u has."""
    logs = _without(r == -np.inf, np.log(np.abs(u)) + r, -np.inf)
    negative = u < 0
    for sign, others in ((1, negative), (-1, ~negative)):
        if not others.all():
            yield sign, _without(others, logs, -np.inf)
