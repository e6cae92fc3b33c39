"""Products and closures by hand-written loops, compiled by numba.

LLVM vectorizes the innermost loops. Each function compiles a loop once, and raises `AbsentError`
without numba.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.measure import contenders
from tropical.measure.contenders import require

Array = NDArray[Any]
Product = Callable[[Array, Array, Array], Array]
Attained = Callable[[Array, Array, Array, Array], tuple[Array, Array]]


def limited(threads: int) -> Callable[[], AbstractContextManager[None]]:
    """Return a maker of contexts in which numba's loops use so many threads."""
    return functools.partial(contenders.limited, require("numba"), threads)


# Python's max and min treat NaN in a way that is not vectorized.
def _larger(x: Any, y: Any) -> Any:
    return x if x > y else y  # noqa: FURB136


def _smaller(x: Any, y: Any) -> Any:
    return x if x < y else y  # noqa: FURB136


_SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "x": lambda x, y: x * y,
    "max": _larger,
    "min": _smaller,
}


def compiles(*symbols: str) -> bool:
    """Return whether there are loops of the operations with these symbols."""
    return set(symbols) <= _SCALARS.keys()


@functools.cache
def product(multiply: str, add: str) -> Product:
    """Compile ``c = c (+) a (x) b``, by the symbols of the operations; the loop returns `c`."""
    numba = require("numba")
    times, plus = numba.njit(_SCALARS[multiply]), numba.njit(_SCALARS[add])

    def loop(a: Array, b: Array, c: Array) -> Array:
        for i in range(a.shape[0]):
            for p in range(a.shape[1]):
                x = a[i, p]
                for j in range(b.shape[1]):
                    c[i, j] = plus(times(x, b[p, j]), c[i, j])
        return c

    compiled: Product = numba.njit(loop)
    return compiled


@functools.cache
def attained(multiply: str, direction: int) -> Attained:
    """Compile ``c = c (+) a (x) b`` with the first index that attains each element.

    The loop returns `c` and `index`.

    `direction` is that of the semiring, 1 for max, -1 for min.
    """
    numba = require("numba")
    times, largest = numba.njit(_SCALARS[multiply]), direction > 0

    def loop(a: Array, b: Array, c: Array, index: Array) -> tuple[Array, Array]:
        for i in range(a.shape[0]):
            for p in range(a.shape[1]):
                x = a[i, p]
                for j in range(b.shape[1]):
                    y = times(x, b[p, j])
                    if (y > c[i, j]) if largest else (y < c[i, j]):
                        c[i, j] = y
                        index[i, j] = p
        return c, index

    compiled: Attained = numba.njit(loop)
    return compiled


@functools.cache
def logplus() -> Product:
    """Compile ``c = log(exp(a) @ exp(b))``: the maxima of a row, then the sums of exponentials."""
    numba = require("numba")

    def loop(a: Array, b: Array, c: Array) -> Array:
        for i in numba.prange(a.shape[0]):
            most = np.full(b.shape[1], -np.inf, a.dtype)
            total = np.zeros(b.shape[1], a.dtype)
            for p in range(a.shape[1]):
                x = a[i, p]
                for j in range(b.shape[1]):
                    y = x + b[p, j]
                    most[j] = y if y > most[j] else most[j]  # noqa: FURB136
            for p in range(a.shape[1]):
                x = a[i, p]
                for j in range(b.shape[1]):
                    total[j] += np.exp(x + b[p, j] - most[j])
            for j in range(b.shape[1]):
                c[i, j] = most[j] + np.log(total[j])
        return c

    compiled: Product = numba.njit(parallel=True)(loop)
    return compiled


@functools.cache
def floyd_warshall(*, in_turns: bool = False) -> Callable[[Array], Array]:
    """Compile the k-i-j loop on weights (n, n), which returns the lengths of paths.

    Rows run in parallel. The row of k is copied, so that LLVM knows that no store changes it. With
    AVX2, LLVM stores the minima in place by a mask, which takes some processors long; `in_turns`
    goes from one array to another and back instead, without masks. Both overwrite the weights.
    """
    numba = require("numba")
    prange = numba.prange

    def update(target: Array, row: Array, x: float, via: Array) -> None:
        for j in range(via.size):
            y = x + via[j]
            target[j] = y if y < row[j] else row[j]  # noqa: FURB136

    relax = numba.njit(fastmath=True)(update)

    def lengths(a: Array) -> Array:
        b = np.empty_like(a) if in_turns else a
        for k in range(a.shape[0]):
            via = a[k].copy()
            for i in prange(a.shape[0]):
                relax(b[i] if in_turns else a[i], a[i], a[i, k], via)
            if in_turns:
                a, b = b, a
        return a

    compiled: Callable[[Array], Array] = numba.njit(parallel=True, fastmath=True)(lengths)
    return compiled


@functools.cache
def warshall() -> Callable[[Array], None]:
    """Compile Warshall's loops on rows of bits, 64 in a word; the rows run in parallel."""
    numba = require("numba")
    prange = numba.prange

    def closure(words: Array) -> None:
        n, width = words.shape
        for k in range(n):
            word, bit = k >> 6, np.uint64(1) << np.uint64(k & 63)
            for i in prange(n):
                if i != k and words[i, word] & bit:
                    for j in range(width):
                        words[i, j] |= words[k, j]

    compiled: Callable[[Array], None] = numba.njit(parallel=True)(closure)
    return compiled
