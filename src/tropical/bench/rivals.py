"""The rivals of `tropical.gemm`, by name.

A maker takes ``(a, b, semiring, threads)`` and returns a contender, or raises `AbsentError` with
the reason: not installed, another semiring, too large.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.bench import numba_loops
from tropical.measure import contenders
from tropical.measure.contenders import AbsentError, operations, require, result_like
from tropical.measure.timing import Contender
from tropical.semirings import Semiring

Array = NDArray[Any]
Maker = Callable[[Array, Array, str, int], Contender]

# OpenBLAS's workers spin for some 2^28 cycles after a call before they sleep: 0.1 s.
SPIN = 0.15

# Beyond so many products, scalar kernels take minutes, and broadcasting takes gigabytes.
MOST_SCALAR, MOST_BROADCAST = 1024**3, 256**3


@functools.cache
def _limit_blas() -> Callable[..., AbstractContextManager[object]]:
    """Return threadpoolctl's limiter; the search for libraries takes milliseconds, so cache it."""
    limit: Callable[..., AbstractContextManager[object]]
    limit = require("threadpoolctl").ThreadpoolController().limit
    return functools.partial(limit, user_api="blas")


def blas_libraries() -> list[str]:
    """List the loaded BLAS libraries and the kernels that each one chose; empty if unknown."""
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


def numpy_matmul(a: Array, b: Array, *, threads: int = 1) -> Contender:
    """Make a contender of NumPy's matmul (OpenBLAS in its wheels), limited by threadpoolctl."""
    return Contender(
        "numpy",
        functools.partial(np.matmul, a, b, out=result_like(a, b)),
        operations(a, b),
        functools.partial(_limit_blas(), limits=threads),
        settle=SPIN if threads > 1 else 0.0,
    )


def numpy_max(b: Array) -> Contender:
    """Make a contender of ``b.max()``, the plainest way to read `b`; its work is in bytes."""
    return Contender("b.max()", b.max, b.nbytes)


def torch_threads(threads: int) -> Callable[[], AbstractContextManager[None]]:
    """Return a maker of contexts in which PyTorch uses so many threads."""
    return functools.partial(contenders.limited, require("torch", install="torch"), threads)


def torch_matmul(a: Array, b: Array, *, threads: int = 1) -> Contender:
    """Make a contender of PyTorch's matmul (MKL in its x86-64 wheels)."""
    context = torch_threads(threads)
    torch = require("torch", install="torch")
    left, right, out = map(torch.from_numpy, (a, b, result_like(a, b)))
    call = functools.partial(torch.matmul, left, right, out=out)
    settle = SPIN if threads > 1 else 0.0
    return Contender("torch", call, operations(a, b), context, settle=settle)


def tropical_gemm(a: Array, b: Array, *, return_argmax: bool = False) -> Contender:
    """Make a contender of max-plus by the Rust package tropical-gemm, on one thread.

    3-D operands take its batched call, which always returns the argmax too. The package reads
    RAYON_NUM_THREADS at its first use, so this function sets the variable for good. In a process
    that has used the package before, the package keeps its threads.
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


def _refuse_large(what: str, a: Array, b: Array, most: int) -> None:
    products = operations(a, b) // 2
    if products > most:
        raise AbsentError(f"{what}: {products:,} products are more than the limit of {most:,}")


def _one_thread(what: str, threads: int) -> None:
    if threads > 1:
        raise AbsentError(f"{what} runs on one thread")


def _kernel(kernel: str | None, a: Array, b: Array, semiring: str, threads: int) -> Contender:
    if kernel in ("naive", "tiled"):
        _refuse_large(kernel, a, b, MOST_SCALAR)
    name = kernel or "tropical"
    return contenders.ours(a, b, semiring, name=name, threads=threads, kernel=kernel)


def _ordinary(semiring: str) -> None:
    if semiring != "plustimes":
        raise AbsentError(f"computes plustimes only, not {semiring}")


def _numpy(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    _ordinary(semiring)
    return numpy_matmul(a, b, threads=threads)


def _torch(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    _ordinary(semiring)
    return torch_matmul(a, b, threads=threads)


def _scipy(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    """Make a contender of SciPy's BLAS, which is not the BLAS of NumPy."""
    _ordinary(semiring)
    _one_thread("scipy's BLAS, which is not limited here,", threads)
    function = {"float32": "sgemm", "float64": "dgemm"}.get(a.dtype.name)
    if function is None:
        raise AbsentError(f"BLAS has no {a.dtype.name}")
    gemm = getattr(require("scipy.linalg.blas"), function)
    left, right = b.T, a.T  # BLAS takes matrices by columns

    def call() -> Array:
        result: Array = gemm(1.0, left, right).T
        return result

    return Contender(
        "scipy", call, operations(a, b), functools.partial(_limit_blas(), limits=threads)
    )


def _selective(semiring: str) -> Semiring:
    """Return a selective semiring; raise AbsentError for another one."""
    known = tropical.semirings.get(semiring)
    if not known.selective:
        raise AbsentError(f"computes selective semirings only, not {semiring}")
    return known


def _numpy_broadcast(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    known = _selective(semiring)
    _one_thread("broadcasting", threads)
    _refuse_large("broadcasting", a, b, MOST_BROADCAST)

    def call() -> Array:
        result: Array = known.add_ufunc.reduce(known.multiply_ufunc(a[:, :, None], b[None]), axis=1)
        return result

    return Contender("numpy-broadcast", call, operations(a, b))


def _torch_broadcast(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    known = _selective(semiring)
    _refuse_large("broadcasting", a, b, MOST_BROADCAST)
    context = torch_threads(threads)
    torch = require("torch", install="torch")
    combine = getattr(torch, known.multiply_ufunc.__name__)
    reduce = torch.amax if known.direction > 0 else torch.amin
    left, right = torch.from_numpy(a)[:, :, None], torch.from_numpy(b)[None]

    def call() -> object:
        return reduce(combine(left, right), dim=1)

    settle = SPIN if threads > 1 else 0.0
    return Contender("torch-broadcast", call, operations(a, b), context, settle=settle)


def _numba(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    """Make a contender of the loops in `numba_loops`."""
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    if semiring == "logplus":
        contenders.require_threads(threads)
        log_loop = numba_loops.logplus()
        call: Callable[[], object] = functools.partial(log_loop, a, b, c)
        return Contender("numba", call, operations(a, b), numba_loops.limited(threads))
    _one_thread("the numba loop", threads)
    if a.dtype.kind != "f":
        raise AbsentError(f"the numba loop takes floats only, not {a.dtype}")
    known = tropical.semirings.get(semiring)
    loop, zero = numba_loops.product(known.multiply, known.add), known.zero(a.dtype)

    def fill_and_loop() -> Array:
        c.fill(zero)
        return loop(a, b, c)

    return Contender("numba", fill_and_loop, operations(a, b))


def _tropical_gemm(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    _one_thread("tropical-gemm, whose threads cannot be changed later,", threads)
    if semiring != "maxplus" or a.dtype.name not in ("float32", "float64", "int32", "int64"):
        raise AbsentError(f"compared in maxplus of 32 and 64 bits only, not {semiring} {a.dtype}")
    contender = tropical_gemm(a, b)
    return Contender("tropical-gemm", contender.call, contender.work)


RIVALS: dict[str, Maker] = {
    "tropical": functools.partial(_kernel, None),
    "naive": functools.partial(_kernel, "naive"),
    "tiled": functools.partial(_kernel, "tiled"),
    "direct": functools.partial(_kernel, "direct"),
    "packed": functools.partial(_kernel, "packed"),
    "numpy": _numpy,
    "numpy-broadcast": _numpy_broadcast,
    "scipy": _scipy,
    "torch": _torch,
    "torch-broadcast": _torch_broadcast,
    "numba": _numba,
    "tropical-gemm": _tropical_gemm,
}
