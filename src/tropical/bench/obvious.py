"""What a user of NumPy or numba would write for a product: the obvious loop.

A point of `cliffs` should never be slower. Both makers raise `AbsentError` where they have no loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import numpy as np

from tropical import semirings
from tropical.bench import numba_loops
from tropical.bench.points import Array, Point
from tropical.bench.rivals import numpy_matmul
from tropical.measure.contenders import AbsentError, result_like
from tropical.measure.timing import Contender

FEW = 8  # steps of k for which one writes a loop over matrices
MOST = 1 << 20  # elements of the largest array that broadcasting makes here


def _in_one_array(point: Point, a: Array, b: Array) -> Callable[[], object]:
    """Return a call that makes all m * n * k products, then reduces them."""
    known, left, right = semirings.get(point.semiring), a[..., None, :], b.swapaxes(-1, -2)
    right = right[..., None, :, :]

    def attain() -> object:
        terms = known.multiply_ufunc(left, right)
        index = (terms.argmax if known.direction > 0 else terms.argmin)(axis=-1)
        return np.take_along_axis(terms, index[..., None], -1), index

    def logarithm() -> object:
        terms = left + right
        most = terms.max(axis=-1, keepdims=True)
        return np.log(np.exp(terms - most).sum(axis=-1)) + most[..., 0]

    def plain() -> object:
        return known.add_ufunc.reduce(known.multiply_ufunc(left, right), axis=-1)

    return attain if point.argmax else plain if known.exact else logarithm


@contextmanager
def _quietly(context: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    with context(), np.errstate(all="ignore"):
        yield


def with_numpy(point: Point) -> Contender:
    """Make a contender: matmul, few steps of k one by one, or all products in one array."""
    a, b = point.operands()
    known, work = semirings.get(point.semiring), 2 * point.products
    if known.add_ufunc in (np.add, np.logical_or):
        matmul = numpy_matmul(a, b)
        limited = functools.partial(_quietly, matmul.context)
        return Contender("numpy", matmul.call, work, limited)
    quiet = functools.partial(np.errstate, all="ignore")
    if known.exact and not point.argmax and 0 < point.k <= FEW:
        out = result_like(a, b)

        def steps() -> object:
            known.multiply_ufunc(a[..., :, :1], b[..., :1, :], out=out)
            for p in range(1, point.k):
                terms = known.multiply_ufunc(a[..., :, p : p + 1], b[..., p : p + 1, :])
                known.add_ufunc(out, terms, out=out)
            return out

        return Contender("numpy", steps, work, quiet)
    if point.products > MOST:
        raise AbsentError(f"broadcasting makes at most {MOST:,} elements here")
    return Contender("numpy", _in_one_array(point, a, b), work, quiet)


def with_numba(point: Point) -> Contender:
    """Make a contender of loops over contiguous matrices; raise AbsentError for other points."""
    known = semirings.get(point.semiring)
    if not numba_loops.compiles(known.multiply, known.add) or point.batch:
        raise AbsentError(f"no loop over {point.semiring}, and none for batches")
    if (point.a, point.b, point.out) != ("rows",) * 3:
        raise AbsentError("each layout would be compiled anew")
    a, b = point.operands()
    c, zero = result_like(a, b), known.zero(a.dtype)
    index = np.zeros(c.shape, np.intp)
    plain = numba_loops.product(known.multiply, known.add)
    attained = numba_loops.attained(known.multiply, known.direction) if point.argmax else None

    def call() -> object:
        c.fill(zero)
        if attained is None:
            return plain(a, b, c)
        index.fill(0)
        return attained(a, b, c, index)

    return Contender("numba", call, 2 * point.products)
