"""Best paths between vertices in JAX, with derivatives."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tropical import graph, semirings
from tropical.autograd import trees
from tropical.graph.all_pairs import sources_of

from .products import common
from .weighted import Array, jax, jnp, varying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from tropical.semirings import Semiring

_Key: TypeAlias = "tuple[tuple[int, ...], bytes] | None"
_Functions: TypeAlias = "tuple[Callable[[Any], Any], Callable[[Any], Any]]"


def closure(a: Array, semiring: str | Semiring = "minplus") -> Array:
    """Return the Kleene star of square matrices, as `tropical.graph.closure`, differentiable.

    Derivatives are those of `tropical.autograd.closure`: the gradient of an element goes to the
    arcs of its best path.

    Parameters
    ----------
    a : array_like, (..., n, n)
        Arcs, the semiring's zero where there is none.
    semiring : str or Semiring, default "minplus"
        Any but plustimes and logplus. Integers and booleans (orand) have no gradients.

    Returns
    -------
    jax.Array, (..., n, n)
        The star.

    Raises
    ------
    ValueError, TypeError
        As in `tropical.graph.closure`.
    JaxRuntimeError
        With the message of the `DivergenceError` that `tropical.graph.closure` raises: JAX turns
        errors of functions on the CPU into errors of its own.

    Examples
    --------
    >>> import jax
    >>> from tropical.interop.jax import closure
    >>> inf = jax.numpy.inf
    >>> roads = jax.numpy.array([[inf, 7, 2], [inf, inf, 1], [inf, 3, inf]])
    >>> jax.grad(lambda roads: closure(roads)[0, 1])(roads)  # 5, by way of 2
    Array([[0., 0., 1.],
           [0., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    ring = semirings.get(semiring)
    (a,), dtype = common("a", (a,), ring)
    _check_square("a", a)
    functions = _of_stars(ring.name)
    if not (ring.selective and jnp.issubdtype(a.dtype, jnp.floating)):
        return _values(functions[0], a, a.shape)
    return _along(a, ring, functions, a.shape[-1:], None).astype(dtype)


def shortest_paths(
    w: Array,
    method: str = "auto",
    *,
    directed: bool = True,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
) -> Array:
    """Return the lengths of shortest paths, as `tropical.graph.shortest_paths`, differentiable.

    The gradient of a length goes to the arcs of its path: it counts them.

    Parameters
    ----------
    w : array_like, (..., n, n)
        Weights of the arcs, of floats; +inf where there is none. Lengths of float16 and bfloat16
        are computed in float32 and rounded once.
    method, directed, indices, targets
        As in `tropical.graph.shortest_paths`; indices and targets are arrays of NumPy.

    Returns
    -------
    jax.Array, (..., n, n), or ``(..., *indices.shape, n)``
        The lengths; with `targets` the last axes are ``targets.shape``.

    Raises
    ------
    ValueError, TypeError
        As in `tropical.graph.shortest_paths`.
    JaxRuntimeError
        With the message of the `NegativeCycleError` that `tropical.graph.shortest_paths` raises.

    Examples
    --------
    >>> import jax
    >>> from tropical.interop.jax import shortest_paths
    >>> inf = jax.numpy.inf
    >>> roads = jax.numpy.array([[inf, 7, 2], [inf, inf, 1], [inf, 3, inf]])
    >>> jax.grad(lambda roads: shortest_paths(roads, indices=0, targets=1))(roads)
    Array([[0., 0., 1.],
           [0., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    (w,), dtype = common("w", (w,), semirings.minplus)
    _check_square("w", w)
    if not jnp.issubdtype(w.dtype, jnp.floating):
        raise TypeError(f"w: expected float32 or float64, got {w.dtype}")
    if not directed:
        turned = w.swapaxes(-1, -2)
        w = jnp.where(w <= turned, w, turned)
    indices, targets = sources_of(indices, w), sources_of(targets, w, "targets")
    functions = _of_lengths(method, _key(indices), _key(targets))
    rows = w.shape[-1:] if indices is None else np.shape(indices)
    return _along(w, semirings.minplus, functions, rows, targets).astype(dtype)


def _check_square(name: str, x: Array) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{name}: expected (..., n, n), got {x.shape}")


def _key(x: Any) -> _Key:
    """Return a shape and bytes in the place of an array of intp, which has no hash."""
    return None if x is None else (x.shape, x.tobytes())


def _array(key: _Key) -> Any:
    return None if key is None else np.frombuffer(key[1], np.intp).reshape(key[0])


# JAX compiles each function once and keeps it, so equal calls pass the same functions.


@lru_cache
def _of_stars(semiring: str) -> _Functions:
    plain, find = partial(graph.closure, semiring=semiring), partial(trees.star, semiring=semiring)
    return _called(plain, find)


@lru_cache
def _of_lengths(method: str, indices: _Key, targets: _Key) -> _Functions:
    options: Any = {"method": method, "indices": _array(indices), "targets": _array(targets)}
    return _called(partial(graph.shortest_paths, **options), partial(trees.shortest, **options))


def _called(plain: Callable[[Any], Any], find: Callable[[Any], Any]) -> _Functions:
    """Return functions that XLA calls: one of values, and one of values and predecessors."""

    def values_of(x: Any) -> Any:
        return np.asarray(plain(np.asarray(x)))

    def tree_of(x: Any) -> tuple[Any, Any]:
        values, before = find(np.asarray(x))
        return values, before.astype(np.int32)

    return values_of, tree_of


def _along(
    a: Array, ring: Semiring, functions: _Functions, rows: tuple[int, ...], targets: Any
) -> Array:
    """Return the values of paths, whose derivatives are those of the products of their arcs.

    Only derivatives need the second of the functions, which also returns predecessors.
    """
    n, batch = a.shape[-1], a.shape[:-2]
    shape = (*batch, *rows, *((n,) if targets is None else targets.shape))
    kinds = (
        jax.ShapeDtypeStruct(shape, a.dtype),
        jax.ShapeDtypeStruct((*batch, *rows, n), np.int32),
    )
    values_of, tree_of = functions

    def differentiable(x: Array) -> Array:
        fixed = jax.lax.stop_gradient(x)
        found = jax.pure_callback(tree_of, kinds, fixed, vmap_method="expand_dims")
        values, before = varying(found, x)
        flat = before.reshape(*batch, math.prod(rows), n)
        one, take = ring.one(a.dtype), jnp.take_along_axis
        result = trees.products(x, flat, ring, one, take, jnp.where, _ancestors(flat))
        result = jnp.where(flat > trees.NONE, result, 0).reshape(before.shape)
        if targets is not None:
            result = result[..., targets]
        return _replaced(result, values)

    function = jax.custom_jvp(lambda x: _values(values_of, x, shape))
    function.defjvp(lambda primals, tangents: jax.jvp(differentiable, primals, tangents))
    return function(a)


# Values with the derivatives of others, also where both are infinite.
_replaced: Any = jax.custom_jvp(lambda result, values: values)
_replaced.defjvp(lambda pair, tangents: (_replaced(*pair), tangents[0]))


def _ancestors(before: Array) -> Iterator[tuple[Array, Array]]:
    """Yield what `trees.ancestors` yields; all rounds, because XLA compiles them without data."""
    n = before.shape[-1]
    above = jnp.where(before > trees.NONE, before, jnp.arange(n))
    for _ in range(trees.rounds(n)):
        yield above, jnp.take_along_axis(before, above, -1) > trees.NONE
        above = jnp.take_along_axis(above, above, -1)


def _values(function: Callable[[Any], Any], a: Array, shape: tuple[int, ...]) -> Array:
    kind = jax.ShapeDtypeStruct(shape, a.dtype)
    return varying(jax.pure_callback(function, kind, a, vmap_method="expand_dims"), a)
