"""What is timed: `tropical.gemm`, the register-only ceiling, and parts of the core alone.

All operands are seeded, and every page of operands and results is touched before anything is timed.
A contender that cannot run here raises `AbsentError`, whose message says what is missing.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import _core, extras
from tropical.arrays import is_kind
from tropical.measure.timing import Contender

# Which of a and b lies in memory column by column: so does the transpose of a C-contiguous array.
LAYOUTS = {
    "plain": (False, False),
    "a.T": (True, False),
    "b.T": (False, True),
    "Fortran": (True, True),
}


class AbsentError(RuntimeError):
    """A contender cannot run on this machine; the message says why."""


class NotInstalledError(AbsentError, extras.NotInstalledError):
    """A contender's package is missing; the message says how to get it."""


def require(module: str, install: str = "'tropical-blas[bench]'") -> Any:
    """Import an optional module, or raise NotInstalledError."""
    try:
        return extras.require(module, install)
    except extras.NotInstalledError as error:
        raise NotInstalledError(error) from error


def operands(
    m: int, k: int, n: int, dtype: str = "float32", *, batch: tuple[int, ...] = (), seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return random `a` (*batch, m, k) and `b` (*batch, k, n), C-contiguous.

    Floats lie in [0, 1). Integers lie in [-20, 20], or in [0, 40] without a sign: sums of two
    saturate in no dtype, and products do not need the careful kernel. Half of the booleans are
    true.

    Examples
    --------
    >>> a, b = operands(2, 3, 4, "int8")
    >>> a.shape, b.shape, a.dtype
    ((2, 3), (3, 4), dtype('int8'))
    """
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> NDArray[Any]:
        if is_kind(dtype, "floating"):
            return rng.random(shape).astype(dtype)
        if is_kind(dtype, "bool"):
            return rng.random(shape) < 0.5
        least = max(-20, np.iinfo(dtype).min)
        return rng.integers(least, least + 41, shape).astype(dtype)

    return draw(*batch, m, k), draw(*batch, k, n)


def in_layout(layout: str, a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return `a` (m, k) and `b` (k, n) with the same values, laid out as `LAYOUTS` says."""
    fortran_a, fortran_b = LAYOUTS[layout]
    return (
        np.asfortranarray(a) if fortran_a else a,
        np.asfortranarray(b) if fortran_b else b,
    )


def operations(a: NDArray[Any], b: NDArray[Any]) -> int:
    """Count scalar operations, two per product, of `a` (*batch, m, k) by `b` (*batch, k, n).

    Examples
    --------
    >>> operations(np.ones((5, 2, 3)), np.ones((5, 3, 4)))
    240
    """
    return 2 * int(a.size) * int(b.shape[-1])


def result_like(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return an array for the product of `a` (*batch, m, k) by `b` (*batch, k, n)."""
    return np.ones((*a.shape[:-1], b.shape[-1]), a.dtype)


def ours(
    a: NDArray[Any],
    b: NDArray[Any],
    semiring: str = "maxplus",
    *,
    name: str = "tropical",
    threads: int = 1,
    kernel: str | None = None,
    isa: str | None = None,
    return_argmax: bool = False,
) -> Contender:
    """Make a contender of `tropical.gemm` with ``out=``.

    Threads, kernel and instruction set are chosen once for a sample, not in each call.

    Raises
    ------
    AbsentError
        If this CPU lacks `isa`, or this process may use fewer cores than `threads`.

    Examples
    --------
    >>> a, b = operands(2, 3, 4)
    >>> ours(a, b, "minplus").call().shape
    (2, 4)
    """
    _require_isa(isa)
    require_threads(threads)
    out = result_like(a, b)

    # As a user types it: functools.partial would build the keywords anew for each call.
    def plain() -> object:
        return tropical.gemm(a, b, semiring=semiring, out=out)

    def argmax() -> object:
        return tropical.gemm(a, b, semiring=semiring, out=out, return_argmax=True)

    return Contender(
        name,
        argmax if return_argmax else plain,
        operations(a, b),
        functools.partial(tropical.options, kernel=kernel, isa=isa, threads=threads),
    )


def our_call(
    call: Callable[[], object], work: float = 1.0, name: str = "tropical", threads: int = 1
) -> Contender:
    """Make a contender of a call of ours on so many threads.

    Raises
    ------
    AbsentError
        If this process may use fewer cores than `threads`.
    """
    require_threads(threads)
    return Contender(name, call, work, functools.partial(tropical.options, threads=threads))


@contextmanager
def limited(library: Any, threads: int) -> Iterator[None]:
    """Let `library`, PyTorch or numba, use so many threads in a ``with`` block."""
    before = library.get_num_threads()
    library.set_num_threads(threads)
    try:
        yield
    finally:
        library.set_num_threads(before)


def with_settings(contender: Contender, name: str, settings: dict[str, int]) -> Contender:
    """Return the same call, run with some of the scheduler's settings changed."""

    @contextmanager
    def context() -> Iterator[None]:
        before = _core.settings()
        with contender.context():
            _core.set_settings({**before, **settings})
            try:
                yield
            finally:
                _core.set_settings(before)

    return replace(contender, name=name, context=context)


def require_threads(threads: int) -> None:
    """Raise AbsentError if this process may use fewer cores than `threads`."""
    cores = _core.config()["cores"]
    if threads > cores:
        raise AbsentError(f"{threads} threads need as many cores, this process may use {cores}")


def _require_isa(isa: str | None) -> None:
    config = _core.config()
    usable = [name for name in config["isa_built"] if name in config["isa_supported"]]
    if isa is not None and isa not in usable:
        raise AbsentError(f"no {isa} here (there is {', '.join(usable)})")


def _counted(name: str, run: Callable[[int], int], isa: str | None = None) -> Contender:
    """Make a contender of a C++ loop, `run(repeats)`, that returns how many operations it did.

    One call takes about 0.5 ms, so the overhead of the call is negligible.
    """
    _require_isa(isa)
    context = functools.partial(tropical.options, isa=isa)
    repeats, elapsed, work = 1, 0, 0
    with context():
        while elapsed < 500_000:
            repeats *= 2
            times = []
            for _ in range(2):  # the other one, where the system took the processor from one
                start = time.perf_counter_ns()
                work = run(repeats)
                times.append(time.perf_counter_ns() - start)
            elapsed = min(times)
    return Contender(name, functools.partial(run, repeats), work, context)


def ceiling(semiring: str, dtype: str = "float32", *, isa: str | None = None) -> Contender:
    """Make a contender of the register-only loop: the rate of one core without memory access."""
    return _counted("ceiling", functools.partial(_core.ceiling, semiring, dtype), isa)


def packing(
    semiring: str, dtype: str, operand: Literal["a", "b"], length: int, depth: int
) -> Contender:
    """Make a contender of packing alone: of `a` (length, depth) or of `b` (depth, length).

    Its work is in bytes read.
    """
    run = functools.partial(_core.packing, semiring, dtype, operand, length, depth)
    return _counted("packing", run)


def copying(nbytes: int) -> Contender:
    """Make a contender of copying so many bytes: the least work of packing."""
    source, target = np.ones((2, nbytes), np.uint8)
    return Contender("copying", functools.partial(np.copyto, target, source), nbytes)


def micro_kernel(semiring: str, dtype: str, k: int) -> Contender:
    """Make a contender of the packed micro-kernel alone, `k` steps deep, on warm packed panels."""
    return _counted("micro-kernel", functools.partial(_core.micro_kernel, semiring, dtype, k))
