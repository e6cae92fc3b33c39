"""Products of matrices in JAX: each tangent below its value."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import tropical
from tropical import semirings
from tropical.arrays import check_product
from tropical.autograd.winners import (
    attained_or_k,
    check_differentiable,
    is_logarithmic,
    needs_operands,
    parts,
)

from .weighted import Array, jax, jnp, shifted, varying, weighted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tropical.semirings import Semiring

Pair: TypeAlias = tuple[Array, Array]


def gemm(a: Array, b: Array, semiring: str | Semiring = "maxplus") -> Array:
    """Multiply matrices over a semiring, as `tropical.gemm`, differentiable.

    Gradients are those of `tropical.interop.torch.gemm`: over a selective semiring the gradient of
    an element goes to the first p that attains it; the semiring's zero has no gradient. Over
    logplus each term of a sum has the share of its exponential.

    Parameters
    ----------
    a : array_like, (..., m, k) or (k,)
        Left operand.
    b : array_like, (..., k, n) or (k,)
        Right operand. Vectors, batches and mixed dtypes are treated as by `jax.numpy.matmul`.
    semiring : str or Semiring, default "maxplus"
        Any semiring. Integers and booleans (orand) have no gradients.

    Returns
    -------
    jax.Array, (..., m, n)
        The product, of the operands' common dtype; of float16 and bfloat16 computed in float32.

    Raises
    ------
    TypeError
        If the semiring is not defined for the common dtype.
    ValueError
        If shapes do not fit or the semiring is unknown.

    Notes
    -----
    The product is a `jax.pure_callback`: JAX copies arrays of other devices to the CPU and back.
    The argmax is computed only for derivatives. `jax.vmap` makes one batched product.

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
    (a, b), dtype = common("a, b", (a, b), ring)
    check_product(a.shape, b.shape)
    row, column = a.ndim == 1, b.ndim == 1
    rank = max(a.ndim, b.ndim, 2)  # one rank, because vmap adds an axis in front of both
    a = a.reshape((1,) * (rank - a.ndim) + a.shape)
    b = b[:, None] if column else b
    b = b.reshape((1,) * (rank - b.ndim) + b.shape)
    c = _product(a, b, ring.name).astype(dtype)
    return c.reshape(
        c.shape[:-2] + (() if row else c.shape[-2:-1]) + (() if column else c.shape[-1:])
    )


def common(names: str, operands: Sequence[Any], ring: Semiring) -> tuple[list[Array], Any]:
    """Return operands as arrays of one dtype, which the semiring has, and the result's dtype.

    Those differ for float16 and bfloat16 (`Semiring.stored`), for which float32 is computed with:
    the caller rounds the result.
    """
    arrays = [_array(names, x, ring) for x in operands]
    dtype = result = jnp.result_type(*arrays)
    if dtype.name in ring.stored:
        dtype = jnp.dtype(jnp.float32)
    if dtype.name not in ring.dtypes:
        raise TypeError(
            f"{names}: expected a dtype of {ring.name} ({', '.join(ring.dtypes)}), got {dtype} "
            f"from {' and '.join(str(x.dtype) for x in arrays)}"
        )
    return [_promote(x, dtype, ring) for x in arrays], result


def _array(names: str, x: Any, ring: Semiring) -> Array:
    """Return `x` as an array of JAX, whose integers have 32 bits unless it is told otherwise.

    The semiring's zero and one stay what they are; other integers must fit.
    """
    x = native(x)
    if isinstance(x, jax.Array):
        return x
    array = np.asarray(x)
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    if array.dtype == dtype or array.dtype.kind not in "iu" or array.dtype.name not in ring.dtypes:
        return jnp.asarray(x)
    constants = [
        (array == constant(array.dtype), constant(dtype)) for constant in (ring.zero, ring.one)
    ]
    others = array[~np.logical_or.reduce([where for where, _ in constants])]
    limits, zero = np.iinfo(dtype), ring.zero(dtype)
    wrong = others[(others < limits.min) | (others > limits.max) | (others == zero)]
    if wrong.size:
        raise ValueError(
            f"{names}: expected integers that {dtype} holds beside its zero {zero}, as JAX's "
            f"option jax_enable_x64 is off, got {wrong[0]}"
        )
    narrow = array.astype(dtype)
    for where, constant in constants:
        narrow[where] = constant
    return jnp.asarray(narrow)


def native(x: Any) -> Any:
    """Return x, as an array if it holds one of JAX or one in another byte order than JAX takes."""
    if isinstance(x, jax.Array):
        return x
    if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(x)):
        return jnp.asarray(x)  # such as a list of traced numbers
    array = np.asanyarray(x)
    return x if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _promote(x: Array, dtype: Any, ring: Semiring) -> Array:
    """Return `x` in a wider dtype, as `tropical.arrays.promote` does for arrays of NumPy."""
    number = x.astype(dtype)
    if jnp.issubdtype(x.dtype, jnp.integer) and x.dtype != dtype and x.dtype.name in ring.dtypes:
        for constant in (ring.zero, ring.one):
            old, new = (np.asarray(constant(kind), kind) for kind in (x.dtype, dtype))
            number = jnp.where(x == old, new, number)
    return number


# --- of matrices, (..., m, k) and (..., k, n), of one rank and dtype ---


def _call(function: Callable[[Any, Any], Any], dtypes: Sequence[Any], a: Array, b: Array) -> Any:
    """Call a function of arrays within XLA; the results have these dtypes and the shape of c.

    JAX compiles each function once, so equal calls pass the same one, from a cache.
    """
    shape = (*jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    kinds = tuple(jax.ShapeDtypeStruct(shape, dtype) for dtype in dtypes)
    results = jax.pure_callback(function, kinds, a, b, vmap_method="expand_dims")
    return varying(results, a, b)


@cache
def _plain(semiring: str) -> Callable[[Any, Any], Any]:
    def call(x: Any, y: Any) -> tuple[Any]:
        return (tropical.gemm(np.asarray(x), np.asarray(y), semiring=semiring),)

    return call


@cache
def _with_index(semiring: str) -> Callable[[Any, Any], Any]:
    def call(x: Any, y: Any) -> tuple[Any, Any]:
        c, index = attained_or_k(np.asarray(x), np.asarray(y), semiring)
        return c, index.astype(np.int32)

    return call


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _product(a: Array, b: Array, semiring: str) -> Array:
    return _call(_plain(semiring), (a.dtype,), a, b)[0]


def _tangent(semiring: str, values: Pair, tangents: Pair) -> Pair:
    ring = semirings.get(semiring)
    check_differentiable(ring)
    if ring.selective:
        (c, _), (dc, _) = _tangent_attained(semiring, values, tangents)
        return c, dc
    if is_logarithmic(ring):
        return _tangent_logarithmic(semiring, values, tangents)
    (a, b), (da, db) = values, tangents
    return _product(a, b, semiring), jnp.matmul(da, b) + jnp.matmul(a, db)


def _tangent_logarithmic(semiring: str, values: Pair, tangents: Pair) -> Pair:
    (a, b), (da, db) = values, tangents
    c, a, b = _product(a, b, semiring), shifted(a, -1), shifted(b, -2)
    one, t = jnp.ones((1,) * a.ndim, a.dtype), -_product(a, b, semiring)
    return c, weighted(da, a, one, b, t) + weighted(one, a, db, b, t)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _attained(a: Array, b: Array, semiring: str) -> Pair:
    c, index = _call(_with_index(semiring), (a.dtype, np.dtype(np.int32)), a, b)
    return c, index


def _tangent_attained(semiring: str, values: Pair, tangents: Pair) -> tuple[Pair, Pair]:
    a, b = values
    c, index = _attained(a, b, semiring)
    none = np.zeros(index.shape, jax.dtypes.float0)
    if not a.shape[-1]:
        return (c, index), (jnp.zeros_like(c), none)
    return (c, index), (_at(index, semirings.get(semiring), values, tangents), none)


def _at(index: Array, ring: Semiring, values: Pair, tangents: Pair) -> Array:
    """Return the tangents of the winners at the index, 0 where the index is k."""
    attains = index < values[0].shape[-1]
    da, db = _pick(tangents, index)
    x = y = None
    if needs_operands(ring):  # in the backward pass, 0 times an infinite operand would be NaN
        x, y = (jnp.where(attains, z, 0) for z in _pick(values, index))
    to_a, to_b = parts(ring, da, db, x, y, lambda mask, d: jnp.where(mask, d, 0))
    return jnp.where(attains, to_a + to_b, 0)


def _pick(pair: Pair, index: Array) -> Pair:
    """Return the elements of a and b at the index, for each item of the batch; any if it is k."""
    a, b = (jnp.broadcast_to(x, index.shape[:-2] + x.shape[-2:]) for x in pair)
    index = jnp.minimum(index, a.shape[-1] - 1)
    return jnp.take_along_axis(a, index, axis=-1), jnp.take_along_axis(b, index, axis=-2)


_product.defjvp(_tangent)
_attained.defjvp(_tangent_attained)
