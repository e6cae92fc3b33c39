"""Likelihoods of chains in JAX, with gradients."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tropical import sequence
from tropical.extras import require

jax = require("jax", "'tropical-blas[jax]'")
jnp = require("jax.numpy", "'tropical-blas[jax]'")

Array: TypeAlias = Any  # jax.Array


def crf_log_likelihood(
    initial: Array, transition: Array, emission: Array, states: Array, lengths: Array | None = None
) -> Array:
    """Return the log-likelihood of states in a conditional random field, differentiable once.

    Parameters
    ----------
    initial : array_like, (s,)
        Scores of the first states.
    transition : array_like, (s, s)
        Element (i, j): the score of state j behind state i.
    emission : array_like, (..., t, s)
        Scores of the states at each step.
    states : array_like of int, (..., t)
        They are not read beyond the lengths.
    lengths : array_like of int, (...), optional
        The steps of each sequence. Default: t.

    Returns
    -------
    jax.Array, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.crf_log_likelihood`; under jit JAX wraps them.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> from tropical.interop.jax import crf_log_likelihood
    >>> def value(emission):
    ...     return crf_log_likelihood(jnp.zeros(2), jnp.zeros((2, 2)), emission, jnp.array([0, 1]))
    >>> jax.grad(value)(jnp.zeros((2, 2)))
    Array([[ 0.5, -0.5],
           [-0.5,  0.5]], dtype=float32)
    """
    parts = [jnp.asarray(x) for x in (initial, transition, emission)]
    dtype = jnp.result_type(*parts)
    states = jnp.asarray(states)
    if lengths is None:
        lengths = jnp.full(states.shape[:-1], states.shape[-1], jnp.int32)
    return _crf(*(x.astype(dtype) for x in parts), states, jnp.asarray(lengths))


def _call(*operands: Array) -> tuple[Array, ...]:
    emission = operands[2]
    batch, count = emission.shape[:-2], emission.shape[-1]
    shapes = batch, (*batch, count), (*batch, count, count), emission.shape
    kinds = tuple(jax.ShapeDtypeStruct(shape, emission.dtype) for shape in shapes)

    def compute(*arrays: Array) -> tuple[Any, ...]:
        known = sequence.crf_log_likelihood(*map(np.asarray, arrays))
        return tuple(np.asarray(x) for x in known)

    results: tuple[Array, ...] = jax.pure_callback(
        compute, kinds, *operands, vmap_method="sequential"
    )
    return results


def _value(*operands: Array) -> Array:
    return _call(*operands)[0]


def _forward(*operands: Array) -> tuple[Array, tuple[Array, ...]]:
    value, *gradients = _call(*operands)
    return value, tuple(gradients)


def _backward(gradients: tuple[Array, ...], g: Array) -> tuple[Array | None, ...]:
    to_initial, to_transition, to_emission = gradients
    return (
        jnp.tensordot(g, to_initial, g.ndim),
        jnp.tensordot(g, to_transition, g.ndim),
        g[..., None, None] * to_emission,
        None,
        None,
    )


_crf: Any = jax.custom_vjp(_value)
_crf.defvjp(_forward, _backward)
