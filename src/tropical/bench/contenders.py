"""What is timed: `tropical.gemm`, the register-only ceiling, and rivals where they are installed.

All operands are seeded, and every page of operands and results is touched before anything is timed.
A contender that cannot run here raises `AbsentError`, whose message says what is missing.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import _core, extras
from tropical.bench.timing import Contender

__all__ = [
    "LAYOUTS",
    "AbsentError",
    "NotInstalledError",
    "blas_libraries",
    "ceiling",
    "copying",
    "in_layout",
    "micro_kernel",
    "numpy_matmul",
    "numpy_max",
    "operands",
    "operations",
    "ours",
    "packing",
    "require",
    "require_threads",
    "torch_matmul",
    "tropical_gemm",
    "with_settings",
]

# OpenBLAS's workers spin for some 2^28 cycles after a call before they sleep: 0.1 s.
SPIN = 0.15

# Which of a and b lies in memory column by column: so does the transpose of a C-contiguous array.
LAYOUTS = {
    "plain": (False, False),
    "a.T": (True, False),
    "b.T": (False, True),
    "Fortran": (True, True),
}


class AbsentError(RuntimeError):
    """A contender that cannot run here; the message says why."""


class NotInstalledError(AbsentError, extras.NotInstalledError):
    """A contender's package is missing; the message says how to get it."""


def require(module: str, install: str = "'tropical-blas[bench]'") -> Any:
    """Import a module that is no dependency of ours, or raise NotInstalledError."""
    try:
        return extras.require(module, install)
    except extras.NotInstalledError as error:
        raise NotInstalledError(error) from error


def operands(
    m: int, k: int, n: int, dtype: str = "float32", *, batch: tuple[int, ...] = (), seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return random `a` (*batch, m, k) and `b` (*batch, k, n), C-contiguous.

    Floats lie in [0, 1), integers in [-20, 20] (sums of two saturate in no dtype, nor do the
    products take the careful kernel), half of the booleans are true.

    Examples
    --------
    >>> a, b = operands(2, 3, 4, "int8")
    >>> a.shape, b.shape, a.dtype
    ((2, 3), (3, 4), dtype('int8'))
    """
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> NDArray[Any]:
        if np.dtype(dtype).kind == "f":
            return rng.random(shape).astype(dtype)
        if np.dtype(dtype).kind == "b":
            return rng.random(shape) < 0.5
        return rng.integers(-20, 21, shape).astype(dtype)

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


def _result(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
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

    Threads, kernel and instruction set are chosen around the sample, not in each call.

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
    out = _result(a, b)

    # As one types it: functools.partial would build the keywords anew for each call.
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

    One call takes about 0.5 ms, so that the call itself costs nothing beside it.
    """
    _require_isa(isa)
    context = functools.partial(tropical.options, isa=isa)
    repeats, elapsed, work = 1, 0, 0
    with context():
        while elapsed < 500_000:
            repeats *= 2
            start = time.perf_counter_ns()
            work = run(repeats)
            elapsed = time.perf_counter_ns() - start
    return Contender(name, functools.partial(run, repeats), work, context)


def ceiling(semiring: str, dtype: str = "float32", *, isa: str | None = None) -> Contender:
    """Make a contender of the register-only loop: one core's rate if nothing had to be loaded."""
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
    """Make a contender of copying so many bytes, the least that packing has to do."""
    source, target = np.ones((2, nbytes), np.uint8)
    return Contender("copying", functools.partial(np.copyto, target, source), nbytes)


def micro_kernel(semiring: str, dtype: str, k: int) -> Contender:
    """Make a contender of the packed micro-kernel alone, `k` steps deep, on warm packed panels."""
    return _counted("micro-kernel", functools.partial(_core.micro_kernel, semiring, dtype, k))


@functools.cache
def _limit_threads() -> Callable[..., AbstractContextManager[object]]:
    """Return threadpoolctl's limiter; finding the libraries once, as it takes milliseconds."""
    limit: Callable[..., AbstractContextManager[object]]
    limit = require("threadpoolctl").ThreadpoolController().limit
    return limit


def blas_libraries() -> list[str]:
    """List NumPy's (and others') loaded BLAS: which kernels it chose matters; empty if unknown."""
    try:
        pools = require("threadpoolctl").threadpool_info()
    except AbsentError:
        return []
    fields = ("internal_api", "version", "architecture")
    return [
        " ".join(str(pool.get(field, "")) for field in fields)
        for pool in pools
        if pool["user_api"] == "blas" and pool["internal_api"] != "tropical"
    ]


def numpy_matmul(a: NDArray[Any], b: NDArray[Any], *, threads: int = 1) -> Contender:
    """Make a contender of NumPy's matmul (OpenBLAS in its wheels), limited by threadpoolctl."""
    return Contender(
        "numpy",
        functools.partial(np.matmul, a, b, out=_result(a, b)),
        operations(a, b),
        functools.partial(_limit_threads(), limits=threads, user_api="blas"),
        settle=SPIN if threads > 1 else 0.0,
    )


def numpy_max(b: NDArray[Any]) -> Contender:
    """Make a contender of ``b.max()``, the plainest way to read `b`; its work is in bytes."""
    return Contender("b.max()", b.max, b.nbytes)


def tropical_gemm(a: NDArray[Any], b: NDArray[Any], *, return_argmax: bool = False) -> Contender:
    """Make a contender of max-plus by the Rust package tropical-gemm, on one thread.

    3-D operands take its batched call, which always returns the argmax too. The package reads
    RAYON_NUM_THREADS at its first use, so that is set here for good; in a process that has used
    the package before, it keeps the threads that it had.
    """
    os.environ["RAYON_NUM_THREADS"] = "1"
    module = require("tropical_gemm")
    if a.ndim == 3:
        function = "maxplus_matmul_batched_with_argmax"
    else:
        function = "maxplus_matmul_with_argmax" if return_argmax else "maxplus_matmul_2d"
    suffix = {"float32": "", "float64": "_f64", "int32": "_i32", "int64": "_i64"}[a.dtype.name]
    return Contender(
        f"tropical-gemm {importlib.metadata.version('tropical-gemm')}",
        functools.partial(getattr(module, function + suffix), a, b),
        operations(a, b),
    )


def torch_matmul(a: NDArray[Any], b: NDArray[Any], *, threads: int = 1) -> Contender:
    """Make a contender of PyTorch's matmul (MKL in its x86-64 wheels)."""
    torch = require("torch", install="torch")
    left, right, out = map(torch.from_numpy, (a, b, _result(a, b)))

    @contextmanager
    def limit() -> Iterator[None]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    context: Callable[[], AbstractContextManager[None]] = limit
    return Contender(
        "torch",
        functools.partial(torch.matmul, left, right, out=out),
        operations(a, b),
        context,
        settle=SPIN if threads > 1 else 0.0,
    )
