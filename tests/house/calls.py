"""Calls as users write them, for mypy alone: those that it must accept, and those that it must not.

An `ignore` that no error needs is an error itself (`warn_unused_ignores`).
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import GemmWorkspace, einsum, explain, gemm, graph, nn, options, semirings, ufunc
from tropical.autograd import Tensor

if TYPE_CHECKING:
    from typing_extensions import assert_type


def calls() -> None:
    narrow, wide = np.ones((2, 2), np.float32), np.ones((2, 2), np.float64)
    two, index = np.int64(2), np.zeros((2, 2), np.intp)

    # The result has the dtype of its operands; of two dtypes, or of lists, mypy knows none.
    assert_type(gemm(narrow, narrow), NDArray[np.float32])
    print(gemm(narrow, wide) + 1.0, gemm(index.astype(np.int8), index) + 1)
    print(gemm([[1, 2]], [[1], [2]], semiring=semirings.minplus) + 1)

    # Integers of NumPy.
    gemm(narrow, wide, threads=two, return_argmax=False)
    explain(two, two, two, threads=two, batch=two)
    GemmWorkspace().reserve(two, two, two, threads=two)
    tropical.set_num_threads(two)
    with options(threads=two):
        einsum("ij,jk->ik", narrow, wide)
    gemm(narrow, wide, threads="two")  # type: ignore[call-overload]

    # An array of the caller for the index.
    print(gemm(narrow, narrow, return_argmax=True, out=(narrow, index))[1].max())
    print(gemm(narrow, wide, return_argmax=True, out=(None, index))[1].max())
    gemm(narrow, narrow, out=(narrow, index))  # type: ignore[call-overload]

    # Names.
    assert_type(semirings.maxplus, semirings.Semiring)
    assert_type(ufunc.minplus_multiply, np.ufunc)
    print(semirings.nonsense)  # type: ignore[attr-defined]
    print(ufunc.nonsense)  # type: ignore[attr-defined]
    print(graph.nonsense)  # type: ignore[attr-defined]
    print(tropical.nonsense)  # type: ignore[attr-defined]


class Masked(nn.Module):
    def forward(self, x: Tensor, mask: Tensor, *, scale: float = 1.0) -> Tensor:
        return x * mask * scale
