"""The same semirings on NVIDIA's GPUs, for arrays of PyTorch, CuPy and JAX.

For arrays in the memory of a GPU, the functions of these names in `tropical`, `tropical.graph` and
`tropical.sequence` call the ones of this package, which needs the extra "cuda". Start to read in
``device/gemm.cuh``.
"""

from .chains import viterbi
from .contraction import einsum
from .own import OwnSemiring, semiring
from .paths import closure, minimax_paths, shortest_paths, widest_paths
from .products import gemm
from .runtime import CompileError

__all__ = [
    "CompileError",
    "OwnSemiring",
    "closure",
    "einsum",
    "gemm",
    "minimax_paths",
    "semiring",
    "shortest_paths",
    "viterbi",
    "widest_paths",
]
