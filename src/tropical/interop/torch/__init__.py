"""Products over semirings as operators of PyTorch, with gradients, under its compiler and vmap.

Tensors share their memory with the products. If PyTorch records the backward pass, gradients are
results of operators that have gradients themselves.
"""

from .contraction import einsum
from .products import gemm

__all__ = ["einsum", "gemm"]
