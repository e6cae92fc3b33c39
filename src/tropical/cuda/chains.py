"""Best paths of hidden Markov models on a GPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tropical import semirings
from tropical.semirings import Semiring

from . import kernels
from .libraries import Library, in_library_context, library_of, refuse
from .products import promoted


@in_library_context
def viterbi(
    log_initial: Any,
    log_transition: Any,
    log_emission: Any,
    lengths: Any = None,
    *,
    symbols: None = None,
    concatenated: bool = False,
    per_step: bool = False,
    semiring: str | Semiring = "maxplus",
) -> tuple[Any, Any]:
    """Return the most likely path of states of each sequence on a GPU, and its score.

    As `tropical.sequence.viterbi`, which calls this function for such arrays.

    Parameters
    ----------
    log_initial : array, (..., s)
        Scores of the states at the first step, of PyTorch, CuPy or JAX.
    log_transition : array, (..., s, s)
        Element (i, j): the score of state j after state i.
    log_emission : array, (..., t, s)
        Scores of the observation at each step, given the state.
    lengths : array of int64, (...), optional
        The number of steps of each sequence, at most t.
    symbols, concatenated, per_step
        As by default: a GPU takes padded sequences and one matrix.
    semiring : str or Semiring, default "maxplus"
        One whose sums are one of their terms.

    Returns
    -------
    paths : array of int64, (..., t)
        States; -1 beyond the length of a sequence, and everywhere if no path is possible.
    scores : array, (...)
        Scores of the paths, of the operands' dtype; of integers without a sign in the next dtype
        that has one.

    Raises
    ------
    ValueError
        If shapes do not match, a length is out of range, or the semiring is not selective.
    TypeError
        If the dtypes differ or are none of the semiring's.
    NotImplementedError
        If an argument is given that a GPU does not take.
    NotInstalledError, RuntimeError
        As of `gemm`.

    Notes
    -----
    One block of threads computes a sequence, a thread a state. Of equal scores the lowest state
    wins. Sums of integers are int64, and scores saturate. Unlike on the CPU, no score is subtracted
    on the way: float32 rounds as long sums do.
    """
    refuse(None, symbols=symbols)
    refuse(False, concatenated=concatenated, per_step=per_step)
    ring = semirings.get(semiring)
    if not ring.selective:
        raise ValueError(f"semiring: expected a selective one, got {ring.name}")
    operands = {
        "log_initial": log_initial,
        "log_transition": log_transition,
        "log_emission": log_emission,
    }
    library = library_of(**operands, **({} if lengths is None else {"lengths": lengths}))
    dtype, score_dtype = _dtypes(library, operands, ring)
    operands = {name: promoted(library, x, dtype, ring) for name, x in operands.items()}
    log_initial, log_transition, log_emission = operands.values()
    shapes = {name: tuple(x.shape) for name, x in operands.items()}
    s = shapes["log_initial"][-1] if log_initial.ndim else 0
    if (
        not s
        or shapes["log_transition"][-2:] != (s, s)
        or log_emission.ndim < 2
        or shapes["log_emission"][-1] != s
    ):
        raise ValueError(f"expected (..., s), (..., s, s) and (..., t, s), got {shapes}")
    t = shapes["log_emission"][-2]
    try:
        batch = np.broadcast_shapes(
            shapes["log_initial"][:-1],
            shapes["log_transition"][:-2],
            shapes["log_emission"][:-2],
            () if lengths is None else tuple(lengths.shape),
        )
    except ValueError as error:
        raise ValueError(f"expected batches that broadcast, got {shapes}: {error}") from None
    count = math.prod(batch)

    def each(x: Any, *axes: int) -> Any:
        return library.copied(library.expanded(x, (*batch, *axes)))

    initial, emission = each(log_initial, s), each(log_emission, t, s)
    shared = log_transition.ndim == 2
    transition = library.copied(log_transition) if shared else each(log_transition, s, s)
    if lengths is not None and not library.dtype(lengths).startswith(("int", "uint")):
        raise TypeError(f"lengths: expected integers, got {library.dtype(lengths)}")
    if lengths is None:
        steps = library.full(log_initial, batch, "int64", t)
    else:
        steps = each(library.converted(lengths, "int64"))
        if count and (bool((steps < 0).any()) or bool((steps > t).any())):
            raise ValueError(f"lengths: expected 0 to {t}, the number of steps")
    for name, x in operands.items():
        wrong = _refused(x, ring, dtype)
        if name == "log_emission" and lengths is not None:
            within = library.arange(x, t) < steps[..., None]
            wrong = wrong & within[..., None]
        if bool(wrong.any()):
            raise ValueError(
                f"{name}: expected numbers of {ring}, got a NaN, or an infinity that is neither "
                "zero nor one"
            )
    paths = library.empty(log_initial, (*batch, t), "int64")
    scores = library.empty(log_initial, batch, dtype)
    before = library.empty(log_initial, (count, t, s), "int32")
    best = library.empty(log_initial, (count, 2, s), dtype)
    addresses = [
        library.view(x).address
        for x in (initial, transition, emission, steps, paths, scores, before, best)
    ]
    if count:
        library.runtime(log_initial).launch(
            kernels.viterbi(ring, dtype), count, [*addresses, s, t, s, 0 if shared else s * s]
        )
    scores = library.finish(scores)
    if score_dtype != dtype:
        scores = _saturated(library, scores, score_dtype)
    return library.finish(paths), scores


def _dtypes(library: Library, operands: dict[str, Any], ring: Semiring) -> tuple[str, str]:
    """Return the dtypes of sums and of scores: a sum of integers stays exact, as on the CPU."""
    given = {name: library.dtype(x) for name, x in operands.items()}
    dtype = given["log_initial"]
    for name, other in given.items():
        if other != dtype:
            raise TypeError(f"{name}: expected {dtype}, the dtype of log_initial, got {other}")
    if dtype not in ring.dtypes:
        known = ", ".join(ring.dtypes)
        raise TypeError(f"log_initial: expected a dtype of {ring.name} ({known}), got {dtype}")
    if dtype.startswith("float"):
        return dtype, dtype
    signed = np.result_type(dtype, np.int8).name
    return ("int64" if ring.multiply == "+" else signed), signed


def _saturated(library: Library, x: Any, dtype: str) -> Any:
    """Return integers in a narrower dtype: beyond its range the nearest one that it has."""
    limits = np.iinfo(dtype)
    least, most = (
        library.full(x, (), library.dtype(x), int(limit)) for limit in (limits.min, limits.max)
    )
    x = library.where(x < least, least, library.where(x > most, most, x))
    return library.converted(x, dtype)


def _refused(x: Any, ring: Semiring, dtype: str) -> Any:
    """Return which elements are a NaN, or an infinity that is neither zero nor one."""
    refused = x != x
    for infinity in (-math.inf, math.inf):
        if dtype.startswith("float") and infinity not in (ring.zero(dtype), ring.one(dtype)):
            refused = refused | (x == infinity)
    return refused
