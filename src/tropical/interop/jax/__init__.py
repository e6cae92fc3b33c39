"""Products over semirings in JAX, under jit, grad and vmap.

XLA calls back to the CPU. The rules are tangents, which JAX transposes. They give gradients,
Jacobians in both modes, and higher orders.
"""

from .contraction import einsum
from .paths import closure, shortest_paths
from .products import gemm

__all__ = ["closure", "einsum", "gemm", "shortest_paths"]
