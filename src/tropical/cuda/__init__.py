"""The same semirings on NVIDIA's GPUs, for arrays of PyTorch, CuPy and JAX.

`tropical.gemm`, `tropical.einsum`, `tropical.graph.closure`, `tropical.graph.shortest_paths` and
`tropical.sequence.viterbi` call the functions of this package for arrays in the memory of a GPU.
The package needs the extra "cuda". Start to read in ``device/gemm.cuh``.
"""

from .chains import viterbi
from .contraction import einsum
from .own import OwnSemiring, semiring
from .paths import closure, shortest_paths
from .products import gemm
from .runtime import CompileError

__all__ = [
    "CompileError",
    "OwnSemiring",
    "closure",
    "einsum",
    "gemm",
    "semiring",
    "shortest_paths",
    "viterbi",
]
