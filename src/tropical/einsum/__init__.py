"""Sums of products of arrays over semirings, written as in `numpy.einsum`.

``tropical.einsum`` is the function of this name, not this package. Start reading in `network`.
The rest of the package is imported when it is first used, so that `import tropical` stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tropical.foreign import answers_alike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tropical.semirings import Semiring

    from .counting import Counted

__all__ = ["Counted", "einsum"]


if not TYPE_CHECKING:  # a type checker would take every name for one of the module

    def __getattr__(name: str) -> Any:
        if name == "Counted":
            from .counting import Counted

            return Counted
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@answers_alike
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    semiring: str | Semiring = "maxplus",
    out: NDArray[Any] | None = None,
    optimize: Any = True,
    return_argmax: bool = False,
    return_counts: bool = False,
) -> Any:
    """Sum products of arrays over indices, as `numpy.einsum` does, over a semiring.

    ``einsum("ij,jk->ik", a, b)`` is ``gemm(a, b)``. As in NumPy, there can be any number of
    operands, an index can repeat in an operand (the diagonal), and ellipses and broadcasting work.

    Parameters
    ----------
    subscripts : str
        The indices of each operand and, after ``->``, of the result. Without ``->`` the result has
        the indices that occur once, sorted. An index is a letter from a to z or A to Z, or any
        character beyond ASCII. The other form puts labels after each operand, and the labels of the
        result last: ``einsum(a, ["i", "j"], b, ["j", "k"], ["i", "k"])``. Any hashable object is a
        label.
    *operands : array_like
        Of a dtype of the semiring (`Semiring.dtypes`); promoted to one dtype as by
        `numpy.result_type`. If that is float16 or bfloat16 (`Semiring.stored`), all products are
        float32, and the result is rounded once. With `return_counts` also `Counted`.
    semiring : str or Semiring, default "maxplus"
        The operations that replace + and x.
    out : ndarray, optional
        An array for the result, of the same shape and dtype. It may overlap operands.
    optimize : bool, str, sequence or path optimizer, default True
        The order in which more than two operands are contracted. True: opt_einsum finds the order.
        For 100 operands and more, cotengra finds the order; it searches for longer than greedily
        only if that can save time. If neither package is installed, NumPy's greedy search finds
        the order. False: from left to right. A string names a strategy of opt_einsum. An object is
        a path optimizer of opt_einsum or cotengra. A sequence is the path itself, as
        `numpy.einsum_path` and opt_einsum return it.
    return_argmax : bool, default False
        Return also the configuration of the summed indices that attains each element.
    return_counts : bool, default False
        Return also the number of configurations that attain each element, as `Counted`; for
        maxplus and minplus only. Each element of an operand that is `Counted` stands for as many
        equal terms.

    Returns
    -------
    result : ndarray or Counted
        `out`, if that is given; otherwise a new array, or a scalar if the result has no index.
    where : dict, with `return_argmax`
        For each summed index an array of intp of the result's shape: the value of the index that
        attains each element, or -1 if the sum is empty. If several configurations attain an
        element, the order of contraction decides between them.

    Raises
    ------
    ValueError
        If subscripts, shapes, `out` or `optimize` are wrong, or the semiring has no argmax or
        counts.
    TypeError
        If the semiring is not defined for a dtype, or `out` has another dtype than the result.
    OverflowError
        With `return_counts`, if a count may reach 2**62, if integers could saturate, or if an
        optimum is the infinity that is not the semiring's zero.
    NotInstalledError
        If `optimize` needs opt_einsum, and it is not installed.

    Notes
    -----
    Each step is one batched `gemm` of two operands. If (x) rounds floats or saturates integers, the
    last bits of a result of three or more operands depend on the order of contraction.

    The configuration comes from the argmax of each step, traced back. The counts are sums over the
    terms that attain each optimum: J.-G. Liu, L. Wang and P. Zhang, "Tropical tensor network
    for ground states of spin glasses", Physical Review Letters 126, 2021; J.-G. Liu, X. Gao,
    M. Cain, M. D. Lukin and S.-T. Wang, "Computing solution space properties of combinatorial
    optimization problems via generic tensor networks", SIAM Journal on Scientific Computing 45,
    2023. Two terms count as equal if their rounded sums are equal, so weights should be integers.

    Examples
    --------
    >>> import numpy as np
    >>> import tropical
    >>> a = np.array([[0.0, 2.0], [1.0, 5.0]])
    >>> tropical.einsum("ij,jk->ik", a, a)
    array([[ 3.,  7.],
           [ 6., 10.]])
    >>> tropical.einsum("ii", a)  # the best of the diagonal
    np.float64(5.0)
    >>> best, where = tropical.einsum("ij,jk->ik", a, a, return_argmax=True)
    >>> where["j"]
    array([[1, 1],
           [1, 1]])
    >>> tropical.einsum("i,j->", [1, 1], [2, 3], semiring="minplus", return_counts=True)
    Counted(values=np.int64(3), counts=np.int64(2))
    """
    from .network import compute

    return compute(subscripts, operands, semiring, out, optimize, return_argmax, return_counts)
