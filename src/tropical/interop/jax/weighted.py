"""Weighted sums of exponentials, the derivatives over logplus, as a primitive of JAX.

The sums are linear in their factors u and v, so the primitive has a transpose: JAX's functions with
rules of the user have either tangents, or gradients, but no transpose under vmap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tropical.autograd import weighted as calculus
from tropical.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

jax: Any = require("jax", "'tropical-blas[jax]'")
jnp: Any = require("jax.numpy", "'tropical-blas[jax]'")
ad: Any = require("jax.interpreters.ad", "'tropical-blas[jax]'")
batching: Any = require("jax.interpreters.batching", "'tropical-blas[jax]'")
mlir: Any = require("jax.interpreters.mlir", "'tropical-blas[jax]'")
Primitive: Any = require("jax.extend.core", "'tropical-blas[jax]'").Primitive

Array: TypeAlias = Any  # jax.Array


def shifted(x: Array, axis: int) -> Array:
    """Return x minus its maxima along an axis, which count as constants; see `calculus.shift`."""
    most = jax.lax.stop_gradient(x).max(axis, keepdims=True, initial=-jnp.inf)
    return x - jnp.where(jnp.isinf(most), 0, most)


def weighted(u: Array, r: Array, v: Array, s: Array, t: Array) -> Array:
    """Return S(u, r, v, s, t) of `tropical.autograd.weighted`; all operands have one rank."""
    return _primitive.bind(*varying((u, r, v, s, t), u, r, v, s, t))


def varying(results: Any, *operands: Array) -> Any:
    """Return arrays that differ between the devices of `jax.shard_map` where an operand does.

    JAX takes what a callback returns, and constants, for the same on all devices.
    """
    axes = _axes(*operands)

    def cast(x: Array) -> Array:
        missing = tuple(sorted(axes - _axes(x), key=str))  # in one order in all processes
        if not missing:
            return x
        if hasattr(jax.lax, "pcast"):
            return jax.lax.pcast(x, missing, to="varying")
        return jax.lax.pvary(x, missing)  # an older name

    return jax.tree.map(cast, results)


def _axes(*arrays: Array) -> frozenset[str]:
    """Return the axes of the mesh of `jax.shard_map` along which an array differs."""
    axes: frozenset[str] = frozenset()
    for x in arrays if hasattr(jax, "typeof") else ():  # before JAX 0.6, types have no such axes
        kind = jax.typeof(x)
        kind = getattr(kind, "manual_axis_type", kind)  # the place of `vma` in JAX 0.10
        axes |= kind.varying if hasattr(kind, "varying") else getattr(kind, "vma", frozenset())
    return axes


def sum_to(x: Array, shape: Sequence[int]) -> Array:
    """Return x summed over the axes along which `shape` has length 1."""
    axes = tuple(i for i, n in enumerate(shape) if n == 1 != x.shape[i])
    return x.sum(axes, keepdims=True) if axes else x


def _shape(u: Array, r: Array, v: Array, s: Array, t: Array) -> tuple[int, ...]:
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (u, r, v, s, t)))
    return (*batch, r.shape[-2], s.shape[-1])


def _call(*arrays: Any) -> Any:
    return calculus.weighted(*map(np.asarray, arrays))


def _compute(*operands: Array) -> Array:
    kind = jax.ShapeDtypeStruct(_shape(*operands), operands[0].dtype)
    return varying(jax.pure_callback(_call, kind, *operands), *operands)


def _transpose(g: Array, u: Any, r: Array, v: Any, s: Array, t: Array) -> tuple[Any, ...]:
    if ad.is_undefined_primal(u):
        to_u = sum_to(weighted(g, t, v.mT, s.mT, r), u.aval.shape)
        return to_u, None, None, None, None
    assert ad.is_undefined_primal(v)
    to_v = sum_to(weighted(u.mT, r.mT, g, t, s), v.aval.shape)
    return None, None, to_v, None, None


def _batched(operands: Sequence[Array], dims: Sequence[int | None]) -> tuple[Array, int]:
    moved = [
        x[None] if dim is None else jnp.moveaxis(x, dim, 0)
        for x, dim in zip(operands, dims, strict=True)
    ]
    return weighted(*moved), 0


# fmt: off
_primitive = Primitive("tropical_weighted")
_primitive.def_impl(jax.jit(_compute))
_primitive.def_abstract_eval(
    lambda *operands: operands[0].update(shape=_shape(*operands), weak_type=False))
mlir.register_lowering(_primitive, mlir.lower_fun(_compute, multiple_results=False))
# Not [...] = ...: Sphinx imports this file with a stand-in for JAX, which knows calls alone.
batching.primitive_batchers.__setitem__(_primitive, _batched)
ad.primitive_transposes.__setitem__(_primitive, _transpose)
ad.defjvp(_primitive,
    lambda du, u, r, v, s, t: weighted(du, r, v, s, t),
    lambda dr, u, r, v, s, t: weighted(u * dr, r, v, s, t),
    lambda dv, u, r, v, s, t: weighted(u, r, dv, s, t),
    lambda ds, u, r, v, s, t: weighted(u, r, v * ds, s, t),
    lambda dt, u, r, v, s, t: weighted(u, r, v, s, t) * dt)
# fmt: on
