"""Products over semirings in JAX, under jit, grad and vmap.

XLA calls back to the CPU. The rules are tangents, which JAX transposes. They give gradients,
Jacobians in both modes, and higher orders.
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
