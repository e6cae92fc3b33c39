"""Sums of products of arrays over indices on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tropical import semirings
from tropical.einsum import network
from tropical.einsum.subscripts import split

from .libraries import Library, in_library_context, library_of, refuse
from .products import gemm, result_like

if TYPE_CHECKING:
    from tropical.semirings import Semiring


class _OnGPU:
    """Arrays of one library on a GPU, as `einsum` takes them."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.arranged = library.arranged
        self.diagonal = library.diagonal

    def product(self, a: Any, b: Any, ring: Semiring) -> Any:
        return gemm(a, b, semiring=ring)

    def strides(self, x: Any) -> Sequence[int]:
        return [abs(stride) for stride in self.library.view(x).strides]

    def full(self, x: Any, shape: Sequence[int], ring: Semiring, which: str) -> Any:
        dtype = self.library.dtype(x)
        one = self.library.full(x, (), dtype, getattr(ring, which)(dtype))
        return self.library.expanded(one, shape)


@in_library_context
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    semiring: str | Semiring = "maxplus",
    out: Any = None,
    optimize: Any = True,
    return_argmax: bool = False,
    return_counts: bool = False,
) -> Any:
    """Sum products of arrays on a GPU over indices, as `tropical.einsum`.

    Parameters
    ----------
    subscripts : str
        As in `tropical.einsum`; the form with labels after each operand works too.
    *operands : array
        Of PyTorch, CuPy or JAX, of one dtype, in the memory of one GPU, where their axes are also
        put in order. For float16 and bfloat16 all products are float32, and the result is rounded
        once.
    semiring : str or Semiring, default "maxplus"
        Any semiring.
    optimize : bool, str, sequence or path optimizer, default True
        The order of more than two operands, as in `tropical.einsum`.
    out : array, optional
        An array for the result, of the same shape and dtype. Not for JAX.
    return_argmax, return_counts
        As by default.

    Returns
    -------
    array
        The sums, in the library of the operands, on their GPU.

    Raises
    ------
    NotImplementedError
        If an argument is given that a GPU does not take.
    ValueError, TypeError, NotInstalledError, RuntimeError
        As of `tropical.einsum` and `gemm`.
    """
    refuse(False, return_argmax=bool(return_argmax), return_counts=bool(return_counts))
    ring = semirings.get(semiring)
    arrays = split((subscripts, *operands))[2]
    library = library_of(**{f"operand {i}": x for i, x in enumerate(arrays)})
    dtype = library.dtype(arrays[0])

    def read(given: Sequence[Any]) -> Sequence[Any]:
        for number, x in enumerate(given):
            if library.dtype(x) != dtype:
                raise TypeError(
                    f"operand {number}: expected {dtype}, the dtype of operand 0, got "
                    f"{library.dtype(x)}"
                )
        rounds = dtype in ring.stored
        return [library.converted(x, "float32") for x in given] if rounds else given

    result = network.contracted(subscripts, operands, ring, optimize, _OnGPU(library), read)
    if dtype in ring.stored:
        result = library.converted(result, dtype)
    if out is None:
        return result
    given = result_like(library, result, out, tuple(result.shape), dtype, "out")
    given[...] = result
    return given
