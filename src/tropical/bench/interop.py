"""A product in PyTorch and its backward pass: ours beside tropical-gemm's and PyTorch's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import tropical
from tropical.bench.rivals import torch_threads
from tropical.measure.contenders import operands, require, require_threads
from tropical.measure.timing import Contender


def _ours(semiring: str = "maxplus") -> Callable[[Any, Any], Any]:
    module = require("tropical.interop.torch", install="torch")
    return partial(module.gemm, semiring=semiring)


def _tropical_gemm() -> Callable[[Any, Any], Any]:
    """Return the package's fastest function for matrices, whose gradients are computed in Rust."""
    function: Callable[[Any, Any], Any] = require("tropical_gemm.pytorch").tropical_maxplus_matmul
    return function


def _logsumexp() -> Callable[[Any, Any], Any]:
    """Return PyTorch's logsumexp of the broadcast sum, which has n**3 elements."""
    return lambda a, b: (a[:, :, None] + b).logsumexp(1)


STEPS: dict[str, Callable[[], Callable[[Any, Any], Any]]] = {
    "tropical": _ours,
    "tropical-gemm": _tropical_gemm,
    "tropical over logplus": partial(_ours, "logplus"),
    "logsumexp": _logsumexp,
}


def torch_step(name: str, n: int = 512, *, threads: int = 1, backward: bool = True) -> Contender:
    """Make a contender of a product of (n, n) tensors over maxplus or logplus, and both gradients.

    `name` is a key of `STEPS`. tropical-gemm reads `threads` at its first use in a process only.
    """
    require_threads(threads)
    torch = require("torch", install="torch")
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    product = STEPS[name]()
    a, b = (torch.from_numpy(x).requires_grad_() for x in operands(n, n, n))
    g = torch.ones(n, n)

    def step() -> None:
        a.grad = b.grad = None
        product(a, b).backward(g)

    def forward() -> None:
        with torch.no_grad():
            product(a, b)

    @contextmanager
    def limit() -> Iterator[None]:
        with torch_threads(threads)(), tropical.options(threads=threads):
            yield

    return Contender(name, step if backward else forward, 2.0 * n**3, limit)
