"""What the gradients of products over semirings need, whoever computes them."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

import tropical
from tropical import semirings

Array: TypeAlias = NDArray[Any]


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
    c, index = tropical.gemm(a, b, semiring=semiring, return_argmax=True)
    none = c == semirings.get(semiring).zero(c.dtype)
    if none.any():  # rarely: a mask for each product would take longer than all this
        index[none] = a.shape[-1]
    return c, index
