"""The calculus of winners: derivatives of products over selective semirings, for every engine.

Over a selective semiring each element of c is one of the products that the sum runs over: the
winner, x (x) y with x = a[i, p] and y = b[p, j] for the first p that attains the sum. So c[i, j]
depends only on x and y. An element that is the semiring's zero has no winner and depends on
nothing. The engine, PyTorch and JAX differ only in how they gather x and y and add gradients up.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import semirings
from tropical.memory import memory_mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]

# A larger array takes so long to compute that the cost of new memory does not matter.
MOST_POOLED = 1 << 22


def pooled(elements: int) -> AbstractContextManager[object]:
    """Return a context in which NumPy takes an array of so many elements from the pool.

    Each training step takes the same memory and gives it back. The system's allocator returns
    megabytes to the system. To clear them again takes as long as a product of 512 x 512.
    """
    return memory_mode("pool") if elements <= MOST_POOLED else nullcontext()


def is_ordinary(ring: Semiring) -> bool:
    """Return whether the product is that of linear algebra: a sum of all products."""
    return ring.add_ufunc is np.add


def is_logarithmic(ring: Semiring) -> bool:
    """Return whether the product is that of linear algebra on exponentials: `weighted`."""
    return ring.add_ufunc is np.logaddexp


def check_differentiable(ring: Semiring) -> None:
    """Raise NotImplementedError for a semiring without gradients.

    Examples
    --------
    >>> from tropical import semirings
    >>> from tropical.autograd.winners import check_differentiable
    >>> check_differentiable(semirings.orand)
    Traceback (most recent call last):
    NotImplementedError: gemm has no gradient over orand (or, and)
    """
    if not (ring.selective or is_ordinary(ring) or is_logarithmic(ring)):
        raise NotImplementedError(f"gemm has no gradient over {ring}")


def attained(a: Array, b: Array, ring: Semiring) -> tuple[Array, Array, Array | None]:
    """Return the product, the p of each winner, and where there is a winner.

    Parameters
    ----------
    a : ndarray, (..., m, k)
        Left operand.
    b : ndarray, (..., k, n)
        Right operand.
    ring : Semiring
        A selective one.

    Returns
    -------
    c : ndarray, (..., m, n)
        The product.
    index : ndarray of intp, (..., m, n)
        The first p that attains the element.
    won : ndarray of bool, (..., m, n), or None
        Whether the element has a winner; None if all have one, which is the usual case.
    """
    c, index = tropical.gemm(a, b, semiring=ring.name, return_argmax=True)
    won = c != ring.zero(c.dtype)
    return c, index, None if won.all() else won


def attained_or_k(a: Array, b: Array, semiring: str) -> tuple[Array, Array]:
    """Return the product and the p of each winner, or k where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd.winners import attained_or_k
    >>> attained_or_k(np.array([[1.0, 2.0]]), np.array([[3.0, -np.inf], [2.0, -np.inf]]), "maxplus")
    (array([[  4., -inf]]), array([[0, 2]]))
    """
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    with pooled(math.prod(batch) * a.shape[-2] * b.shape[-1]):
        c, index, won = attained(a, b, semirings.get(semiring))
    if won is not None:
        index[~won] = a.shape[-1]
    return c, index


def needs_operands(ring: Semiring) -> bool:
    """Return whether the derivative of x (x) y depends on x and y; that of x + y does not."""
    return ring.multiply_ufunc is not np.add


def is_product(ring: Semiring) -> bool:
    """Return whether x (x) y is the ordinary product, and not one of x and y."""
    return ring.multiply_ufunc is np.multiply


def is_first(ring: Semiring, x: Any, y: Any) -> Any:
    """Return where x (x) y is x and not y, for a (x) that is min or max; x if they are equal."""
    if ring.multiply_ufunc not in (np.minimum, np.maximum):
        raise NotImplementedError(f"semiring: expected a (x) whose derivative is known, got {ring}")
    return (x <= y if ring.multiply_ufunc is np.minimum else x >= y) | (x != x)


def parts(
    ring: Semiring, dx: Any, dy: Any, x: Any, y: Any, where: Callable[[Any, Any], Any]
) -> tuple[Any, Any]:
    """Return the two parts of the derivative of x (x) y.

    Parameters
    ----------
    ring : Semiring
        The semiring of (x).
    dx, dy : array
        The tangents of x and y. In the backward pass both are the gradient of x (x) y, and the
        parts are the gradients of x and y.
    x, y : array
        The operands of the winners; unused unless `needs_operands`.
    where : callable
        ``where(mask, d)`` returns d where the mask holds, else 0.
    """
    if not needs_operands(ring):
        return dx, dy
    if is_product(ring):
        return dx * y, dy * x
    first = is_first(ring, x, y)
    return where(first, dx), where(~first, dy)
