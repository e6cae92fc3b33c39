"""Everything that `python -m tropical bench` can put side by side, by name.

A maker takes ``(a, b, semiring, threads)`` and returns a contender, or raises `AbsentError` with
the reason why it does not take part: not installed, another semiring, too large.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.bench import contenders
from tropical.bench.contenders import AbsentError, operations, require
from tropical.bench.timing import Contender

__all__ = ["RIVALS", "Array"]

Array = NDArray[Any]
Maker = Callable[[Array, Array, str, int], Contender]

# Scalar kernels take minutes beyond this many products, broadcasting gigabytes.
MOST_SCALAR, MOST_BROADCAST = 1024**3, 256**3

# What a semiring's symbols are in NumPy; PyTorch has the same names.
UFUNCS = {"+": np.add, "x": np.multiply, "max": np.maximum, "min": np.minimum}


def _refuse_large(what: str, a: Array, b: Array, most: int) -> None:
    products = operations(a, b) // 2
    if products > most:
        raise AbsentError(f"{what}: {products:,} products are more than the {most:,} it is given")


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
        raise AbsentError(f"knows plustimes alone, not {semiring}")


def _numpy(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    _ordinary(semiring)
    return contenders.numpy_matmul(a, b, threads=threads)


def _torch(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    _ordinary(semiring)
    return contenders.torch_matmul(a, b, threads=threads)


@functools.cache
def _scipy_blas() -> tuple[Any, Callable[[], AbstractContextManager[object]]]:
    """SciPy's BLAS, another than NumPy's, and what limits it (and NumPy's) to one thread."""
    blas = require("scipy.linalg.blas")
    limit = require("threadpoolctl").ThreadpoolController().limit
    return blas, functools.partial(limit, limits=1, user_api="blas")


def _scipy(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    _ordinary(semiring)
    _one_thread("scipy's BLAS, which is not limited here,", threads)
    blas, limit = _scipy_blas()
    function = {"float32": "sgemm", "float64": "dgemm"}.get(a.dtype.name)
    if function is None:
        raise AbsentError(f"BLAS has no {a.dtype.name}")
    gemm, left, right = getattr(blas, function), b.T, a.T  # BLAS wants columns, and has them here

    def call() -> Array:
        result: Array = gemm(1.0, left, right).T
        return result

    return Contender("scipy", call, operations(a, b), limit)


def _selective(semiring: str) -> tuple[np.ufunc, np.ufunc]:
    """(x) and (+) of a semiring over which broadcasting makes sense: matmul does plustimes."""
    known = tropical.semirings.get(semiring)
    if not known.selective:
        raise AbsentError(f"is there for semirings that select, not for {semiring}")
    return UFUNCS[known.multiply], UFUNCS[known.add]


def _numpy_broadcast(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    multiply, add = _selective(semiring)
    _one_thread("broadcasting", threads)
    _refuse_large("broadcasting", a, b, MOST_BROADCAST)

    def call() -> Array:
        result: Array = add.reduce(multiply(a[:, :, None], b[None]), axis=1)
        return result

    return Contender("numpy-broadcast", call, operations(a, b))


def _torch_broadcast(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    multiply, add = _selective(semiring)
    _refuse_large("broadcasting", a, b, MOST_BROADCAST)
    torch = require("torch", install="torch")
    combine = getattr(torch, multiply.__name__)
    reduce = torch.amax if add is np.maximum else torch.amin
    left, right = torch.from_numpy(a)[:, :, None], torch.from_numpy(b)[None]
    limited = contenders.torch_matmul(a, b, threads=threads)

    def call() -> object:
        return reduce(combine(left, right), dim=1)

    return Contender(
        "torch-broadcast", call, operations(a, b), limited.context, settle=limited.settle
    )


@functools.cache
def _numba_loop(semiring: str) -> Callable[[Array, Array, Array], None]:
    """Compile the i-k-j loop, which LLVM vectorizes along j: the best that one writes by hand."""
    numba = require("numba")

    # Python's max and min look at NaN in a way that is not vectorized.
    def larger(x: Any, y: Any) -> Any:
        return x if x > y else y  # noqa: FURB136

    def smaller(x: Any, y: Any) -> Any:
        return x if x < y else y  # noqa: FURB136

    functions: dict[str, Callable[[Any, Any], Any]] = {
        "+": lambda x, y: x + y,
        "x": lambda x, y: x * y,
        "max": larger,
        "min": smaller,
    }
    known = tropical.semirings.get(semiring)
    multiply, add = numba.njit(functions[known.multiply]), numba.njit(functions[known.add])

    def loop(a: Array, b: Array, c: Array) -> None:
        for i in range(a.shape[0]):
            for p in range(a.shape[1]):
                x = a[i, p]
                for j in range(b.shape[1]):
                    c[i, j] = add(multiply(x, b[p, j]), c[i, j])

    compiled: Callable[[Array, Array, Array], None] = numba.njit(loop)
    return compiled


@functools.cache
def _numba_log_loop() -> Callable[[Array, Array, Array], None]:
    """Compile logplus as one writes it by hand: a row's maxima, then the sums of exponentials."""
    numba = require("numba")

    def loop(a: Array, b: Array, c: Array) -> None:
        for i in numba.prange(a.shape[0]):
            most = np.full(b.shape[1], -np.inf, a.dtype)
            total = np.zeros(b.shape[1], a.dtype)
            for p in range(a.shape[1]):
                x = a[i, p]
                for j in range(b.shape[1]):
                    y = x + b[p, j]
                    most[j] = y if y > most[j] else most[j]  # noqa: FURB136
            for p in range(a.shape[1]):
                x = a[i, p]
                for j in range(b.shape[1]):
                    total[j] += np.exp(x + b[p, j] - most[j])
            for j in range(b.shape[1]):
                c[i, j] = most[j] + np.log(total[j])

    compiled: Callable[[Array, Array, Array], None] = numba.njit(parallel=True)(loop)
    return compiled


def _numba_logplus(a: Array, b: Array, threads: int) -> Contender:
    loop, numba = _numba_log_loop(), require("numba")
    contenders.require_threads(threads)
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)

    def call() -> Array:
        loop(a, b, c)
        return c

    @contextmanager
    def limit() -> Iterator[None]:
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        try:
            yield
        finally:
            numba.set_num_threads(before)

    context: Callable[[], AbstractContextManager[None]] = limit
    return Contender("numba", call, operations(a, b), context)


def _numba(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    if semiring == "logplus":
        return _numba_logplus(a, b, threads)
    _one_thread("the numba loop", threads)
    if a.dtype.kind != "f":
        raise AbsentError("the numba loop is there for floats")
    loop = _numba_loop(semiring)
    zero = tropical.semirings.get(semiring).zero(a.dtype)
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)

    def call() -> Array:
        c.fill(zero)
        loop(a, b, c)
        return c

    return Contender("numba", call, operations(a, b))


def _tropical_gemm(a: Array, b: Array, semiring: str, threads: int) -> Contender:
    _one_thread("tropical-gemm, whose threads cannot be changed later,", threads)
    if semiring != "maxplus" or a.dtype.name not in ("float32", "float64", "int32", "int64"):
        raise AbsentError(f"compared in maxplus of 32 and 64 bits, not in {semiring} {a.dtype}")
    contender = contenders.tropical_gemm(a, b)
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
