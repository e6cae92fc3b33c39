"""Convolution and deconvolution of sampled curves, and the bounds of network calculus."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike

import tropical
from tropical.arrays import Array, check_number, check_real, is_kind, unmasked

from . import convex
from .operands import dual, plus_ring, promote
from .residuals import differences, opposite

if TYPE_CHECKING:
    from tropical.semirings import Semiring

SMALL = 1 << 22  # additions that a product computes in the time that slopes take


def convolve(
    f: ArrayLike, g: ArrayLike, semiring: str | Semiring = "minplus", *, mode: str = "full"
) -> Array:
    """Return the convolution of two curves, ``c[t] = min_s f[s] + g[t - s]`` for minplus.

    The convolution of a flow and a service curve is a lower bound of the output. The convolution of
    two service curves is the service curve of both servers in a row. Repeated convolutions of an
    arrival curve with itself give the tightest equivalent arrival curve.

    Parameters
    ----------
    f : array_like, (..., n)
        Samples at t = 0, 1, ..., n - 1, at least one. Leading axes are a batch and broadcast.
    g : array_like, (..., m)
    semiring : {"minplus", "maxplus"}
        maxplus takes the maximum.
    mode : {"full", "curve"}
        "full": all n + m - 1 elements, as in numpy.convolve. "curve": the first min(n, m) elements,
        which do not depend on later samples.

    Returns
    -------
    ndarray, (..., n + m - 1) or (..., min(n, m))
        Of the dtype to which `f` and `g` promote.

    Raises
    ------
    ValueError
        If shapes do not match, a curve has no samples or holds a NaN, or the mode is unknown.
    TypeError
        If the dtype is not one of the semiring's.

    Notes
    -----
    J.-Y. Le Boudec and P. Thiran, "Network Calculus", Springer, 2001, section 3.1.

    n m additions, as one matrix product: with t = P u + v and s = P u - r, c is the product of
    f[P u - r] and g[v + r], both views of the padded curves. P is near the square root of the
    length.

    Long curves that are convex over minplus, or concave over maxplus, take n + m additions and the
    sorting of their slopes; the result has the same bits. Rounded samples must have this form
    exactly: samples of a line whose slope is not a sum of a few powers of 2 often do not.

    Examples
    --------
    >>> from tropical.spectral import convolve
    >>> convolve([0, 1, 4], [0, 3, 3])
    array([0, 1, 3, 4, 7])
    """
    ring = plus_ring(semiring)
    f, g = _curves(ring, f, g)
    n, m = f.shape[-1], g.shape[-1]
    if mode not in ("full", "curve"):
        raise ValueError(f"mode: expected 'full' or 'curve', got {mode!r}")
    return _convolution(f, g, 0, n + m - 1 if mode == "full" else min(n, m), ring)


def deconvolve(f: ArrayLike, g: ArrayLike, semiring: str | Semiring = "minplus") -> Array:
    """Return the deconvolution of two curves, ``d[t] = max_s f[t + s] - g[s]`` for minplus.

    The result is the least curve d with ``f <= convolve(d, g)``. The deconvolution of an arrival
    curve by a service curve is the arrival curve of the output.

    Parameters
    ----------
    f : array_like, (..., n)
    g : array_like, (..., m)
        As for `convolve`.
    semiring : {"minplus", "maxplus"}
        maxplus takes the minimum: the greatest d with ``f >= convolve(d, g)``.

    Returns
    -------
    ndarray, (..., n)
        At t = 0, ..., n - 1, from the given samples: s < min(m, n - t).

    Raises
    ------
    ValueError, TypeError
        As in `convolve`.

    Notes
    -----
    Le Boudec and Thiran (2001), section 3.1. `left_residual` says what ``inf - inf`` is, and how
    integers saturate.

    Examples
    --------
    A server of rate 3 and latency 2 turns a flow of burst 2 and rate 1 into one of burst 4:

    >>> import numpy as np
    >>> from tropical.spectral import deconvolve, rate_latency, token_bucket
    >>> t = np.arange(9)
    >>> deconvolve(token_bucket(2, 1, t), rate_latency(3, 2, t))[:5]
    array([4, 5, 6, 7, 8])
    """
    ring = plus_ring(semiring)
    f, g = _curves(ring, f, g)
    n, m = f.shape[-1], g.shape[-1]
    turned = opposite(g)[..., ::-1]
    return differences(f, lambda y: _convolution(y, turned, m - 1, n, dual(ring)), ring)


def _curves(ring: Semiring, f: ArrayLike, g: ArrayLike) -> list[Array]:
    f, g = promote(ring, f=f, g=g)
    for name, x in (("f", f), ("g", g)):
        if x.ndim == 0 or x.shape[-1] == 0:
            raise ValueError(f"{name}: expected one sample or more, got {x.shape}")
        _refuse_nan(name, x)
    try:
        np.broadcast_shapes(f.shape[:-1], g.shape[:-1])
    except (ValueError, RuntimeError):  # NumPy raises the second beyond 32 dimensions
        raise ValueError(
            f"g: expected a shape that broadcasts with f of shape {f.shape}, got {g.shape}"
        ) from None
    return [f, g]


def _refuse_nan(name: str, x: Array) -> None:
    if np.isnan(x).any():
        raise ValueError(f"{name}: expected numbers, got a NaN")


def _convolution(f: Array, g: Array, start: int, length: int, ring: Semiring) -> Array:
    """Return elements start to start + length of the full convolution of f (..., n), g (..., m).

    With width P: c[start + P u + v] is the sum over j of F[u, j] (x) G[j, v], F[u, j] = f[start +
    P u + P - 1 - j] and G[j, v] = g[v - P + 1 + j], j < m + P - 1, v < P, zero outside the curves.
    """
    if f.shape[-1] < g.shape[-1]:
        f, g = g, f
    if f.shape[-1] * g.shape[-1] > SMALL:
        merged = convex.convolution(f, g, start, length, ring)
        if merged is not None:
            return merged
    m = g.shape[-1]
    width = math.isqrt(length - 1) + 1
    rows, depth = -(-length // width), m + width - 1
    padded = _window(f, start - m + 1, (rows - 1) * width + depth, ring)
    item = padded.strides[-1]
    left = as_strided(
        padded[..., depth - 1 :],
        (*padded.shape[:-1], rows, depth),
        (*padded.strides[:-1], width * item, -item),
        writeable=False,
    )
    padded = _window(g, 1 - width, depth + width - 1, ring)
    right = as_strided(
        padded,
        (*padded.shape[:-1], depth, width),
        (*padded.strides, padded.strides[-1]),
        writeable=False,
    )
    c = tropical.gemm(left, right, semiring=ring)
    return c.reshape(*c.shape[:-2], rows * width)[..., :length]


def _window(x: Array, first: int, length: int, ring: Semiring) -> Array:
    """Return elements first to first + length of x (..., n); the semiring's zero outside of x."""
    window = np.full((*x.shape[:-1], length), ring.zero(x.dtype), x.dtype)
    low, high = max(first, 0), min(first + length, x.shape[-1])
    if low < high:
        window[..., low - first : high - first] = x[..., low:high]
    return window


def token_bucket(burst: float, rate: float, times: ArrayLike) -> Array:
    """Return the arrival curve of a flow behind a token bucket, ``burst + rate t`` for t > 0.

    Parameters
    ----------
    burst, rate : float
    times : array_like
        The times of the samples; the curve is 0 at time 0 and before.

    Raises
    ------
    TypeError
        If an argument is no real number, or holds none.

    Examples
    --------
    >>> from tropical.spectral import token_bucket
    >>> token_bucket(5, 2, [0, 1, 2])
    array([0, 7, 9])
    """
    check_number("burst", burst)
    check_number("rate", rate)
    t = _times(times, burst, rate)
    with np.errstate(invalid="ignore"):  # of an infinite rate at time 0
        return np.where(t > 0, burst + rate * t, 0)


def rate_latency(rate: float, latency: float, times: ArrayLike) -> Array:
    """Return the service curve of a server that starts late, ``rate max(t - latency, 0)``.

    Parameters
    ----------
    rate, latency : float
        A server of infinite rate delays the flow by the latency and does no more.
    times : array_like
        The times of the samples.

    Raises
    ------
    TypeError
        If an argument is no real number, or holds none.

    Examples
    --------
    >>> from tropical.spectral import rate_latency
    >>> rate_latency(3, 1, [0, 1, 2])
    array([0, 0, 3])
    """
    check_number("rate", rate)
    check_number("latency", latency)
    late = np.maximum(_times(times, float(rate) * float(latency), rate) - latency, 0)
    with np.errstate(invalid="ignore"):
        return np.where(late == 0, 0, rate * late)


def _times(given: ArrayLike, start: float, rate: float) -> Array:
    """Return times as an array; integers become int64, or float64 where ``rate t`` would wrap."""
    times = unmasked("times", given)
    check_real("times", times)
    if not is_kind(times.dtype, "integer"):
        return times
    longest = max(-float(times.min(initial=0)), float(times.max(initial=0)))
    wraps = not abs(float(start)) + abs(float(rate)) * longest < 2**62
    return times.astype(np.float64 if wraps else np.int64)


def backlog(arrival: ArrayLike, service: ArrayLike) -> float:
    """Return the largest backlog: the vertical deviation ``max_t arrival - service``.

    Parameters
    ----------
    arrival, service : array_like, (n,)
        Samples at the same times.

    Raises
    ------
    ValueError
        If the shapes are not one shape (n,), or a curve holds a NaN.
    TypeError
        If a curve has no real numbers.

    Notes
    -----
    Le Boudec and Thiran (2001), section 1.4. The samples must reach the time from which on service
    stays above arrival.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.spectral import backlog, rate_latency, token_bucket
    >>> t = np.arange(20)
    >>> backlog(token_bucket(5, 2, t), rate_latency(3, 4, t))
    13.0
    """
    early, late = _flow(arrival, service)
    if early.shape != late.shape:
        raise ValueError(f"service: expected {early.shape}, the shape of arrival, got {late.shape}")
    none = (late == np.inf) | (early == -np.inf)
    return float(np.max(np.where(none, -np.inf, early - np.where(none, 0, late))))


def delay(arrival: ArrayLike, service: ArrayLike) -> float:
    """Return the longest wait, in samples: the horizontal deviation of two curves.

    Parameters
    ----------
    arrival : array_like, (n,)
        Samples at t = 0, 1, ...
    service : array_like, (m,)
        Samples at the same times and perhaps later ones, never decreasing.

    Returns
    -------
    float
        The least d for which ``arrival[t] <= service[t + d]`` for all t; +inf if `service` has too
        few samples.

    Raises
    ------
    ValueError
        If a curve has no samples or holds a NaN, or `service` decreases.
    TypeError
        If a curve has no real numbers.

    Notes
    -----
    Le Boudec and Thiran (2001), section 1.4.

    Examples
    --------
    The latency, and the time of the burst and the first sample at the rate of the server:

    >>> import numpy as np
    >>> from tropical.spectral import delay, rate_latency, token_bucket
    >>> t = np.arange(100)
    >>> delay(token_bucket(600, 20, t), rate_latency(50, 7, t))
    19.0
    """
    early, late = _flow(arrival, service)
    if (late[1:] < late[:-1]).any():
        raise ValueError("service: expected a curve that never decreases")
    done = np.searchsorted(late, early)
    if done.max() == len(late):
        return math.inf
    return float(max(np.max(done - np.arange(len(early))), 0))


def _flow(arrival: ArrayLike, service: ArrayLike) -> list[Array]:
    """Return the curves as float64, or as integers of Python where float64 would round them."""
    curves = []
    for name, given in (("arrival", arrival), ("service", service)):
        x = unmasked(name, given)
        check_real(name, x)
        if x.ndim != 1 or x.size == 0:
            raise ValueError(f"{name}: expected (n,) with one sample or more, got {x.shape}")
        _refuse_nan(name, x)
        rounds = is_kind(x.dtype, "integer") and ((x > 2**53) | (x < -(2**53))).any()
        curves.append(x.astype(object if rounds else np.float64))
    return curves
