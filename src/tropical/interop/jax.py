"""Products over semirings in JAX, under jit, grad and vmap: each tangent below its value.

XLA calls back to the CPU. The rules are those of forward mode (`jax.custom_jvp`), which JAX
transposes: gradients, Jacobians either way and higher orders all come of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import tropical
from tropical import semirings
from tropical.extras import require
from tropical.interop.attained import attained, check_differentiable

if TYPE_CHECKING:
    from tropical.semirings import Semiring

jax = require("jax", "'tropical-blas[jax]'")
jnp = require("jax.numpy", "'tropical-blas[jax]'")

Array: TypeAlias = Any  # jax.Array
Pair: TypeAlias = tuple[Array, Array]

__all__ = ["gemm"]


def gemm(a: Array, b: Array, semiring: str | Semiring = "maxplus") -> Array:
    """Multiply matrices over a semiring, as `tropical.gemm`, differentiable.

    Gradients go where those of `tropical.interop.torch.gemm` go: over a selective semiring to the
    first p that attains an element, nowhere where that is the semiring's zero.

    Parameters
    ----------
    a : array_like, (..., m, k) or (k,)
        Left operand.
    b : array_like, (..., k, n) or (k,)
        Right operand. Vectors, batches and mixed dtypes are treated as by `jax.numpy.matmul`.
    semiring : str or Semiring, default "maxplus"
        Any. Integers, booleans (orand) and logplus have no gradients.

    Returns
    -------
    jax.Array, (..., m, n)
        The product, of the operands' common dtype.

    Raises
    ------
    TypeError
        If that dtype is not the semiring's.
    ValueError
        If shapes do not fit or the semiring is unknown.

    Notes
    -----
    The product is a `jax.pure_callback`: arrays on another device are brought to the CPU and back.
    The argmax is computed only where a derivative is asked for. Mapped by `jax.vmap` it is one
    batched product.

    Examples
    --------
    >>> import jax
    >>> from tropical.interop.jax import gemm
    >>> legs = jax.numpy.array([[0.0, 4.0, 9.0], [4.0, 0.0, 3.0], [9.0, 3.0, 0.0]])
    >>> jax.grad(lambda legs: gemm(legs, legs, "minplus")[0, 2])(legs)  # 7, by way of 1
    Array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    """
    ring = semirings.get(semiring)
    a, b = jnp.asarray(a), jnp.asarray(b)
    dtype = jnp.result_type(a, b)
    if dtype.name not in ring.dtypes:
        raise TypeError(
            f"dtype {dtype} is none of {ring.name}, which takes {', '.join(ring.dtypes)}: a has "
            f"{a.dtype}, b has {b.dtype}"
        )
    _check_shapes(a, b)
    row, column = a.ndim == 1, b.ndim == 1
    rank = max(a.ndim, b.ndim, 2)  # equal, so that vmap's axes lie over each other
    a = a.reshape((1,) * (rank - a.ndim) + a.shape).astype(dtype)
    b = b[:, None] if column else b
    b = b.reshape((1,) * (rank - b.ndim) + b.shape).astype(dtype)
    c = _product(a, b, ring.name)
    return c.reshape(
        c.shape[:-2] + (() if row else c.shape[-2:-1]) + (() if column else c.shape[-1:])
    )


def _check_shapes(a: Array, b: Array) -> None:
    if not a.ndim or not b.ndim:
        raise ValueError(f"a and b need a dimension, got shapes {a.shape} and {b.shape}")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ValueError(
            "the last axis of a and the last but one of b differ: a has shape "
            f"{a.shape}, b has shape {b.shape}"
        )


# --- of matrices, (..., m, k) and (..., k, n), of one rank and dtype ---


def _call(function: Any, dtypes: tuple[Any, ...], a: Array, b: Array) -> Any:
    """Call a function of arrays from within XLA; its results, of these dtypes, are like C."""
    shape = (*jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    kinds = tuple(jax.ShapeDtypeStruct(shape, dtype) for dtype in dtypes)

    def call(x: Array, y: Array) -> tuple[Any, ...]:
        results = function(np.asarray(x), np.asarray(y))
        return tuple(y.astype(dtype, copy=False) for y, dtype in zip(results, dtypes, strict=True))

    return jax.pure_callback(call, kinds, a, b, vmap_method="expand_dims")


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _product(a: Array, b: Array, semiring: str) -> Array:
    return _call(lambda x, y: (tropical.gemm(x, y, semiring=semiring),), (a.dtype,), a, b)[0]


def _tangent(semiring: str, values: Pair, tangents: Pair) -> Pair:
    ring = semirings.get(semiring)
    check_differentiable(ring)
    if ring.selective:
        (c, _), (dc, _) = _tangent_attained(semiring, values, tangents)
        return c, dc
    (a, b), (da, db) = values, tangents
    return _product(a, b, semiring), jnp.matmul(da, b) + jnp.matmul(a, db)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _attained(a: Array, b: Array, semiring: str) -> Pair:
    c, index = _call(partial(attained, semiring=semiring), (a.dtype, np.dtype(np.int32)), a, b)
    return c, index


def _tangent_attained(semiring: str, values: Pair, tangents: Pair) -> tuple[Pair, Pair]:
    a, b = values
    c, index = _attained(a, b, semiring)
    none = np.zeros(index.shape, jax.dtypes.float0)
    if not a.shape[-1]:
        return (c, index), (jnp.zeros_like(c), none)
    return (c, index), (_at(index, semirings.get(semiring).multiply, values, tangents), none)


def _at(index: Array, multiply: str, values: Pair, tangents: Pair) -> Array:
    """Return the tangents of the products at the index, 0 where that is k."""
    attains = index < values[0].shape[-1]
    to_a, to_b = _pick(tangents, index)
    if multiply != "+":
        x, y = _pick(values, index)
        if multiply == "x":  # backwards, 0 from what is not attained would meet an inf
            x, y = jnp.where(attains, x, 0), jnp.where(attains, y, 0)
            to_a, to_b = to_a * y, x * to_b
        else:
            chosen = (x <= y if multiply == "min" else x >= y) | jnp.isnan(x)
            to_a, to_b = jnp.where(chosen, to_a, 0), jnp.where(chosen, 0, to_b)
    return jnp.where(attains, to_a + to_b, 0)


def _pick(pair: Pair, index: Array) -> Pair:
    """Return the elements of a and b, repeated along the batch, at the index; any if that is k."""
    a, b = (jnp.broadcast_to(x, index.shape[:-2] + x.shape[-2:]) for x in pair)
    index = jnp.minimum(index, a.shape[-1] - 1)
    return jnp.take_along_axis(a, index, axis=-1), jnp.take_along_axis(b, index, axis=-2)


_product.defjvp(_tangent)
_attained.defjvp(_tangent_attained)
