"""Forward and backward through a product in PyTorch: ours beside tropical-gemm's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tropical
from tropical.bench.contenders import operands, require, require_threads
from tropical.bench.timing import Contender

__all__ = ["STEPS", "torch_step"]


def _ours() -> Callable[[Any, Any], Any]:
    module = require("tropical.interop.torch", install="torch")
    function: Callable[[Any, Any], Any] = module.gemm
    return function


def _tropical_gemm() -> Callable[[Any, Any], Any]:
    """Return its function for matrices, which scatters in Rust and is the fastest that it has."""
    function: Callable[[Any, Any], Any] = require("tropical_gemm.pytorch").tropical_maxplus_matmul
    return function


STEPS = {"tropical": _ours, "tropical-gemm": _tropical_gemm}


def torch_step(
    name: str, n: int = 512, dtype: str = "float32", *, threads: int = 1, backward: bool = True
) -> Contender:
    """Make a contender of a max-plus product of n x n tensors, and of both its gradients.

    tropical-gemm takes note of `threads` in a process that has not used it yet only.

    Parameters
    ----------
    name : {"tropical", "tropical-gemm"}
        Whose.
    n : int, default 512
        Rows and columns.
    dtype : {"float32", "float64"}
        Of the tensors.
    threads : int, default 1
        The most threads.
    backward : bool, default True
        Else forward only, where no gradient is asked for.

    Raises
    ------
    AbsentError
        If PyTorch or tropical-gemm is not installed, or threads cannot be had.
    """
    require_threads(threads)
    torch = require("torch", install="torch")
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    product = STEPS[name]()
    a, b = (torch.from_numpy(x).requires_grad_() for x in operands(n, n, n, dtype))
    g = torch.ones(n, n, dtype=a.dtype)

    def step() -> None:
        a.grad = b.grad = None
        product(a, b).backward(g)

    def forward() -> None:
        with torch.no_grad():
            product(a, b)

    @contextmanager
    def limit() -> Iterator[None]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            with tropical.options(threads=threads):
                yield
        finally:
            torch.set_num_threads(before)

    return Contender(name, step if backward else forward, 2.0 * n**3, limit)
