"""`einsum`: subscripts read, operands checked, a path found and its steps taken."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical import semirings
from tropical.arrays import unmasked

from . import counting, order
from .counting import Counted
from .pairwise import Choice, Term, contract, ones
from .subscripts import Index, Subscripts, resolve, split, trim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]
Where: TypeAlias = dict[Any, NDArray[np.intp]]


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    semiring: str | Semiring = "maxplus",
    out: Array | None = None,
    optimize: Any = True,
    return_argmax: bool = False,
    return_counts: bool = False,
) -> Any:
    """Sum products of arrays over indices, as `numpy.einsum` does, over a semiring.

    ``einsum("ij,jk->ik", a, b)`` is ``gemm(a, b)``; any number of operands, indices that repeat in
    an operand (its diagonal), ellipses and broadcasting are as in NumPy.

    Parameters
    ----------
    subscripts : str
        The indices of each operand and, after ``->``, of the result; without ``->`` the result has
        those that occur once, sorted. Beside a to z and A to Z any letter beyond ASCII is an index.
        The other form puts the labels after each operand, and last those of the result:
        ``einsum(a, ["i", "j"], b, ["j", "k"], ["i", "k"])``; whatever hashes is a label.
    *operands : array_like
        float32, float64, int8, int16, int32 or int64, bool for orand; promoted to one dtype as by
        `numpy.result_type`. With `return_counts` also `Counted`.
    semiring : str or Semiring, default "maxplus"
        What takes the place of + and x.
    out : ndarray, optional
        Where the result goes: of its shape and dtype, and writeable. It may overlap operands.
    optimize : bool, str, sequence or path optimizer, default True
        In which order more than two operands are contracted. True: as opt_einsum finds it, or
        cotengra for 100 operands and more; NumPy's greedy search where neither is installed. False:
        from left to right. A string is a strategy of opt_einsum, an object its path optimizer
        (cotengra's are such), a sequence the path itself, as `numpy.einsum_path` and opt_einsum
        give it.
    return_argmax : bool, default False
        Return also the configuration of the summed indices that attains each element.
    return_counts : bool, default False
        Return also how many configurations attain each element, as `Counted`: over maxplus and
        minplus. An operand that is `Counted` itself stands for as many parallel terms.

    Returns
    -------
    result : ndarray or Counted
        A new array, a scalar where it has no index.
    where : dict, with `return_argmax`
        Of each summed index the value that attains each element: arrays of intp of the result's
        shape. Of several configurations that do, which one depends on the order of contraction.
        -1 where the sum is empty.

    Raises
    ------
    ValueError
        If subscripts, shapes, `out` or `optimize` do not fit, or the semiring has no argmax or
        counts.
    TypeError
        If a dtype is not one of the semiring's, or `out` has another than the result.
    OverflowError
        If a count may reach 2**62; and where optima need not be made of optima: weights of an
        integer dtype could saturate while counting, or an optimum is the infinity that is not zero.
    NotInstalledError
        If `optimize` needs opt_einsum, and it is not installed.

    Notes
    -----
    Each step is one batched `gemm` of two operands. Where the (x) of floats rounds, or of integers
    saturates, the last bits of three and more operands depend on the order of contraction.

    The configuration is found by tracing the argmax of each step back, the counts by adding those
    of the terms that attain each optimum: J.-G. Liu, L. Wang and P. Zhang, "Tropical tensor network
    for ground states of spin glasses", Physical Review Letters 126, 2021; J.-G. Liu, X. Gao,
    M. Cain, M. D. Lukin and S.-T. Wang, "Computing solution space properties of combinatorial
    optimization problems via generic tensor networks", SIAM Journal on Scientific Computing 45,
    2023. Counts are of terms that are equal as the dtype rounds them: weights should be whole.

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
    ring = semirings.get(semiring)
    if return_argmax and not ring.selective:
        raise ValueError(f"return_argmax: {ring.name} has no argmax, its (+) does not select")
    if return_counts:
        counting.check(ring)
    inputs, output, arrays = split((subscripts, *operands))
    whole = _operands(arrays, ring, return_counts)
    dtype = whole[0].values.dtype
    read = resolve(inputs, output, [term.values.shape for term in whole])
    if out is not None:
        _check_out(out, read.shape(), dtype)
    choices: list[Choice] | None = [] if return_argmax else None
    if any(read.sizes[index] == 0 for index in read.summed()):
        values = np.full(read.shape(), ring.zero(dtype), dtype)
        counts = np.zeros(read.shape(), np.int64) if return_counts else None
        result = Term(read.output, values, counts)
    else:
        result = _contract(whole, read, ring, optimize, choices)
    values = result.values[()]
    if out is not None:
        out[...] = values
        values = out
    best = values if result.counts is None else Counted(values, result.counts[()])
    return best if choices is None else (best, _where(choices, read))


def _operands(arrays: Sequence[Any], ring: Semiring, counted: bool) -> list[Term]:
    """Return the operands as arrays of one dtype, with counts where they are asked for."""
    values = []
    for i, array in enumerate(arrays):
        if isinstance(array, Counted) and not counted:
            raise TypeError(f"operand {i}: is Counted, which needs return_counts=True")
        bare = array.values if isinstance(array, Counted) else array
        values.append(unmasked(f"operand {i}", bare))
    dtype = np.result_type(*values)
    ring.zero(dtype)  # raises for those that the semiring lacks
    terms = []
    for i, (array, value) in enumerate(zip(arrays, values, strict=True)):
        value = value.astype(dtype, copy=False)
        given = array.counts if isinstance(array, Counted) else None
        counts = counting.counts_of(value, given, ring, i) if counted else None
        terms.append(Term((), value, counts))
    return terms


def _check_out(out: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be an array, got {out!r}")
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype}, the result has dtype {dtype}")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, the result has shape {shape}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")


def _contract(
    whole: Sequence[Term],
    read: Subscripts,
    ring: Semiring,
    optimize: Any,
    choices: list[Choice] | None,
) -> Term:
    """Contract the operands along a path; return the result with its axes in order."""
    terms = []
    for indices, term in zip(read.inputs, whole, strict=True):
        values, own = trim(term.values, indices, read.sizes)
        counts = None if term.counts is None else trim(term.counts, indices, read.sizes)[0]
        terms.append(Term(own, values, counts))
    needed = Counter(index for term in terms for index in term.indices)  # by how many
    needed.update(read.output)
    for step in order.find([term.indices for term in terms], read.output, read.sizes, optimize):
        taken = [terms[i] for i in step]
        terms = [term for i, term in enumerate(terms) if i not in step]
        terms.append(_fold(taken, needed, ring, choices))
    return terms[0].arranged(read.output)


def _fold(
    taken: Sequence[Term], needed: Counter[Index], ring: Semiring, choices: list[Choice] | None
) -> Term:
    """Contract some terms from left to right; keep count of which indices are needed."""
    product, *rest = taken
    needed.subtract(product.indices)
    if not rest:
        summed = tuple(index for index in product.indices if not needed[index])
        rest = [ones(product, summed, ring)]
        needed.update(summed)
    for term in rest:
        needed.subtract(term.indices)
        keep = {index for index in (*product.indices, *term.indices) if needed[index]}
        product = contract(product, term, keep, ring, choices)
    needed.update(product.indices)
    return product


def _where(choices: Sequence[Choice], read: Subscripts) -> Where:
    """Trace back, from the last product to the first, what the summed indices were."""
    grid = np.ix_(*(np.arange(read.sizes[index]) for index in read.output))
    values: dict[Index, Array] = dict(zip(read.output, grid, strict=True))
    for choice in reversed(choices):
        attained = choice.attained[tuple(values[index] for index in choice.indices)]
        found = np.unravel_index(attained.astype(np.intp), choice.lengths)
        values.update(zip(choice.summed, found, strict=True))
    none = np.intp(-1)  # where the sum is empty
    return {
        index: np.broadcast_to(values.get(index, none), read.shape()).astype(np.intp)[()]
        for index in read.summed()
    }
