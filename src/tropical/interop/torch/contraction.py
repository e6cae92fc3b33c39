"""Contractions in PyTorch: `tropical.einsum`, whose products are operators with gradients."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tropical import semirings
from tropical.einsum import network

from .operators import torch
from .products import check_tensor, computed, gemm, widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from tropical.semirings import Semiring


class _Tensors:
    """Tensors, as `einsum` takes them."""

    def product(self, a: Tensor, b: Tensor, ring: Semiring) -> Tensor:
        return gemm(a, b, ring)

    def arranged(self, x: Tensor, axes: Sequence[int], shape: Sequence[int]) -> Tensor:
        return x.permute(tuple(axes)).reshape(tuple(shape))

    def diagonal(self, x: Tensor, first: int, second: int) -> Tensor:
        return x.diagonal(0, first, second)

    def strides(self, x: Tensor) -> Sequence[int]:
        return x.stride()

    def full(self, x: Tensor, shape: Sequence[int], ring: Semiring, which: str) -> Tensor:
        number = _number(ring.name, which, str(x.dtype).removeprefix("torch."))
        return x.new_full(tuple(shape), number)


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    semiring: str | Semiring = "maxplus",
    optimize: Any = True,
) -> Tensor:
    """Sum products of tensors over indices, as `tropical.einsum`, with gradients.

    Gradients are those of `gemm`: two operands are contracted at a time. If several terms attain
    an element over a selective semiring, the order of contraction decides between them.

    Parameters
    ----------
    subscripts : str
        As in `tropical.einsum`; the form with labels after each operand works too.
    *operands : Tensor
        On the CPU or an NVIDIA GPU, of one dtype. For float16 and bfloat16 all products are
        float32, and the result is rounded once.
    semiring : str or Semiring, default "maxplus"
        Any semiring. Integers and booleans (orand) have no gradients.
    optimize : bool, str, sequence or path optimizer, default True
        The order of more than two operands, as in `tropical.einsum`.

    Returns
    -------
    Tensor
        The sums.

    Raises
    ------
    ValueError, TypeError, NotInstalledError
        As in `tropical.einsum` and `gemm`.

    Examples
    --------
    >>> import torch
    >>> from tropical.interop.torch import einsum
    >>> stay = torch.tensor([[1.0, 2.0], [5.0, 3.0]], requires_grad=True)
    >>> einsum("ij,jk,kl->", stay, stay, stay).backward()  # 1, 0, 1, 0: 5 + 2 + 5
    >>> stay.grad
    tensor([[0., 1.],
            [2., 0.]])
    """
    ring = semirings.get(semiring)

    dtype: Any = None

    def read(given: Sequence[Any]) -> Sequence[Tensor]:
        nonlocal dtype
        tensors = widened(*given)
        for number, x in enumerate(tensors):
            check_tensor(f"operand {number}", x, ring, on_gpu=True)
            if x.dtype != tensors[0].dtype:
                raise TypeError(
                    f"operand {number}: expected {tensors[0].dtype}, the dtype of operand 0, got "
                    f"{x.dtype}"
                )
        dtype = tensors[0].dtype
        return [computed(x) for x in tensors]

    if torch.compiler.is_compiling() and isinstance(subscripts, str):
        # `index` makes a length that the compiler takes for a variable one constant.
        shapes = tuple(tuple(operator.index(n) for n in x.shape) for x in operands)
        optimize = _path(subscripts, shapes, optimize)
    result = network.contracted(subscripts, operands, ring, optimize, _Tensors(), read)
    return result.to(dtype)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _path(subscripts: str, shapes: Sequence[tuple[int, ...]], optimize: Any) -> Any:
    """Return the path, which the compiler takes as it is: it cannot look into its search."""
    return network.path(subscripts, shapes, optimize)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _number(ring: str, which: str, dtype: str) -> float:
    """Return a semiring's zero or one, which the compiler takes as it is."""
    return getattr(semirings.get(ring), which)(dtype)
