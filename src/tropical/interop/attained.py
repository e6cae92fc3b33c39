"""What the gradients of products over semirings need, whoever computes them."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import semirings
from tropical.autograd import memory_mode

if TYPE_CHECKING:
    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]

# Elements; more take so long to compute that new memory does not matter.
MOST_POOLED = 1 << 22


def pooled(elements: int) -> AbstractContextManager[object]:
    """Return a context in which so many elements of NumPy's come from the pool.

    Each step of a training takes the same memory and gives it back. The system's allocator returns
    megabytes to the system, and clearing them anew takes as long as a product of 512 x 512.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.interop.attained import pooled
    >>> with pooled(1000):
    ...     x = np.zeros(1000)
    """
    return memory_mode("pool") if elements <= MOST_POOLED else nullcontext()


def check_differentiable(ring: Semiring) -> None:
    """Raise NotImplementedError over a semiring whose gradients are not written.

    Examples
    --------
    >>> from tropical import semirings
    >>> from tropical.interop.attained import check_differentiable
    >>> check_differentiable(semirings.logplus)
    Traceback (most recent call last):
    NotImplementedError: gemm has no gradient over logplus (logaddexp, +)
    """
    if not ring.selective and ring.name != "plustimes":
        raise NotImplementedError(f"gemm has no gradient over {ring}")


def attained(a: Array, b: Array, semiring: str) -> tuple[Array, Array]:
    """Return the product over a selective semiring, and which p attains each of its elements.

    Parameters
    ----------
    a : ndarray, (..., m, k)
        Left operand.
    b : ndarray, (..., k, n)
        Right operand.
    semiring : str
        Its name.

    Returns
    -------
    c : ndarray, (..., m, n)
        The product.
    index : ndarray of intp, (..., m, n)
        The first p that attains the element, or k where it is the semiring's zero: what no product
        attains depends on none.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.interop.attained import attained
    >>> attained(np.array([[1.0, 2.0]]), np.array([[3.0, -np.inf], [2.0, -np.inf]]), "maxplus")
    (array([[  4., -inf]]), array([[0, 2]]))
    """
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    with pooled(math.prod(batch) * a.shape[-2] * b.shape[-1]):
        c, index = tropical.gemm(a, b, semiring=semiring, return_argmax=True)
    none = c == semirings.get(semiring).zero(c.dtype)
    if none.any():  # rarely: gradients then need no mask
        index[none] = a.shape[-1]
    return c, index
