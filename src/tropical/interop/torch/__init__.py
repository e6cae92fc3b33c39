"""Products over semirings as operators of PyTorch, with gradients, under its compiler and vmap.

Tensors share their memory with the products. If PyTorch records the backward pass, gradients are
results of operators that have gradients themselves.
"""

from .chains import crf_log_likelihood, log_likelihood, viterbi
from .contraction import einsum
from .paths import closure, shortest_paths
from .products import gemm

__all__ = [
    "closure",
    "crf_log_likelihood",
    "einsum",
    "gemm",
    "log_likelihood",
    "shortest_paths",
    "viterbi",
]
