"""Contractions in JAX: `tropical.einsum`, whose products have derivatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tropical import semirings
from tropical.einsum.network import contracted

from .products import common, gemm
from .weighted import Array, jnp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tropical.semirings import Semiring


class _Arrays:
    """Arrays of JAX, as `einsum` takes them."""

    def product(self, a: Array, b: Array, ring: Semiring) -> Array:
        return gemm(a, b, ring)

    def arranged(self, x: Array, axes: Sequence[int], shape: Sequence[int]) -> Array:
        return x.transpose(tuple(axes)).reshape(tuple(shape))

    def diagonal(self, x: Array, first: int, second: int) -> Array:
        return jnp.diagonal(x, 0, first, second)

    def strides(self, x: Array) -> Sequence[int]:
        return [math.prod(x.shape[axis + 1 :]) for axis in range(x.ndim)]

    def full(self, x: Array, shape: Sequence[int], ring: Semiring, which: str) -> Array:
        return jnp.full(tuple(shape), getattr(ring, which)(x.dtype), x.dtype)


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    semiring: str | Semiring = "maxplus",
    optimize: Any = True,
) -> Array:
    """Sum products of arrays over indices, as `tropical.einsum`, differentiable.

    Derivatives are those of `gemm`: two operands are contracted at a time. If several terms attain
    an element over a selective semiring, the order of contraction decides between them.

    Parameters
    ----------
    subscripts : str
        As in `tropical.einsum`; the form with labels after each operand works too.
    *operands : array_like
        Mixed dtypes promote as in `gemm`.
    semiring : str or Semiring, default "maxplus"
        Any semiring. Integers and booleans (orand) have no gradients.
    optimize : bool, str, sequence or path optimizer, default True
        The order of more than two operands, as in `tropical.einsum`.

    Returns
    -------
    jax.Array
        The sums.

    Raises
    ------
    ValueError, TypeError, NotInstalledError
        As in `tropical.einsum` and `gemm`.

    Examples
    --------
    >>> import jax
    >>> from tropical.interop.jax import einsum
    >>> stay = jax.numpy.array([[1.0, 2.0], [5.0, 3.0]])
    >>> jax.grad(lambda x: einsum("ij,jk,kl->", x, x, x))(stay)  # 1, 0, 1, 0: 5 + 2 + 5
    Array([[0., 1.],
           [2., 0.]], dtype=float32)
    """
    ring = semirings.get(semiring)

    dtype: Any = None

    def read(given: Sequence[Any]) -> Sequence[Array]:
        nonlocal dtype
        names = ", ".join(f"operand {number}" for number in range(len(given)))
        arrays, dtype = common(names, given, ring)
        return arrays

    result = contracted(subscripts, operands, ring, optimize, _Arrays(), read)
    return result.astype(dtype)
