"""Scores and likelihoods of chains in JAX, with gradients."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import sequence
from tropical.sequence.gradients import log_likelihood_and_gradients, viterbi_and_gradients

from .products import native
from .weighted import Array, jax, jnp, varying

if TYPE_CHECKING:
    from collections.abc import Callable


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
        Scores of the states at each step. Those of float16 and bfloat16 count as float32, in
        `initial` and `transition`, too.
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
        As for `tropical.sequence.crf_log_likelihood`; JAX wraps most of them in a JaxRuntimeError.

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
    model = _floats(initial, transition, emission)
    value, _ = _crf(*model, jnp.asarray(native(states)), _lengths(model, lengths))
    return value


def log_likelihood(
    initial: Array, transition: Array, emission: Array, lengths: Array | None = None
) -> Array:
    """Return the logarithm of the probability of all observations, differentiable once.

    Parameters
    ----------
    initial, transition, emission, lengths
        As for `crf_log_likelihood`.

    Returns
    -------
    jax.Array, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.log_likelihood`; JAX wraps most of them in a JaxRuntimeError.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> from tropical.interop.jax import log_likelihood
    >>> def value(initial):
    ...     return log_likelihood(initial, jnp.zeros((2, 2)), jnp.zeros((3, 2)))
    >>> jax.grad(value)(jnp.log(jnp.array([0.75, 0.25])))
    Array([0.75, 0.25], dtype=float32)
    """
    model = _floats(initial, transition, emission)
    value, _ = _likelihood(*model, _lengths(model, lengths))
    return value


def viterbi(
    initial: Array, transition: Array, emission: Array, lengths: Array | None = None
) -> tuple[Array, Array]:
    """Return the most likely path of each sequence, and its score, differentiable once.

    Parameters
    ----------
    initial, transition, emission, lengths
        As for `crf_log_likelihood`.

    Returns
    -------
    paths : jax.Array of int, (..., t)
    scores : jax.Array, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.viterbi`; JAX wraps most of them in a JaxRuntimeError.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> from tropical.interop.jax import viterbi
    >>> emission = jnp.array([[0.0, 2.0], [0.0, 1.0], [3.0, 0.0]])
    >>> def score(transition):
    ...     path, value = viterbi(jnp.zeros(2), transition, emission)
    ...     return value, path
    >>> jax.grad(score, has_aux=True)(jnp.eye(2))
    (Array([[0., 0.],
           [1., 1.]], dtype=float32), Array([1, 1, 0], dtype=int32))
    """
    model = _floats(initial, transition, emission)
    scores, (paths,) = _viterbi(*model, _lengths(model, lengths))
    return paths, scores


def _floats(*model: Array) -> list[Array]:
    parts = [jnp.asarray(native(x)) for x in model]
    # Integers become floats. No chain is computed in float16 or bfloat16.
    dtype = jnp.promote_types(jnp.result_type(*parts, float), jnp.float32)
    return [x.astype(dtype) for x in parts]


def _lengths(model: list[Array], lengths: Array | None) -> Array:
    emission = model[2]
    if emission.ndim < 2:
        raise ValueError(f"emission: expected (..., t, s), got {emission.shape}")
    if lengths is not None:
        return jnp.asarray(native(lengths))
    return jnp.full(emission.shape[:-2], emission.shape[-2], jnp.int32)


@cache
def _called(function: Callable[..., Any], dtypes: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function that XLA calls, the same for equal calls: JAX compiles each once."""

    def call(*arrays: Any) -> tuple[Any, ...]:
        return tuple(map(np.asarray, function(*map(np.asarray, arrays)), dtypes))

    return call


def _new(
    function: Callable[..., Any], *, states: bool = False, paths: bool = False
) -> Callable[..., Any]:
    """Return the differentiable form of a function of values, gradients and perhaps paths."""
    index = jax.dtypes.canonicalize_dtype(np.int64)

    def call(*operands: Array) -> tuple[Array, ...]:
        emission = operands[2]
        batch, (steps, count) = emission.shape[:-2], emission.shape[-2:]
        shapes = batch, (*batch, count), (*batch, count, count), emission.shape
        kinds = [jax.ShapeDtypeStruct(shape, emission.dtype) for shape in shapes]
        if paths:
            kinds.append(jax.ShapeDtypeStruct((*batch, steps), index))

        compute = _called(function, tuple(kind.dtype for kind in kinds))
        results = jax.pure_callback(compute, tuple(kinds), *operands, vmap_method="sequential")
        return varying(results, *operands)

    def value(*operands: Array) -> tuple[Array, tuple[Array, ...]]:
        known = call(*operands)
        return known[0], tuple(known[4:])

    def forward(*operands: Array) -> tuple[Any, tuple[Array, ...]]:
        known = call(*operands)
        return (known[0], tuple(known[4:])), tuple(known[1:4])

    def backward(gradients: tuple[Array, ...], given: Array) -> tuple[Array | None, ...]:
        to_initial, to_transition, to_emission = gradients
        g = given[0]
        return (
            jnp.tensordot(g, to_initial, g.ndim),
            jnp.tensordot(g, to_transition, g.ndim),
            g[..., None, None] * to_emission,
            *(None for _ in range(1 + states)),
        )

    made: Any = jax.custom_vjp(value)
    made.defvjp(forward, backward)
    # The gradient of an operand that all devices of shard_map share is a sum over them.
    return lambda *operands: made(*varying(operands, *operands))


_crf = _new(sequence.crf_log_likelihood, states=True)
_likelihood = _new(log_likelihood_and_gradients)
_viterbi = _new(viterbi_and_gradients, paths=True)
