"""Contractions of Tensors: `tropical.einsum`, whose products have gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import semirings
from tropical.arrays import promote

from .operation import operand
from .products import matmul
from .reduce import sum
from .shape import cast, getitem, reshape, transpose
from .tensor import Tensor, data_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tropical.semirings import Semiring


class _Tensors:
    """Tensors, or arrays, as `einsum` takes them."""

    def product(self, a: Any, b: Any, ring: Semiring) -> Any:
        return matmul(a, b, semiring=ring)

    def arranged(self, x: Any, axes: Sequence[int], shape: Sequence[int]) -> Any:
        return reshape(transpose(x, axes), tuple(shape))

    def diagonal(self, x: Any, first: int, second: int) -> Any:
        i = np.arange(x.shape[first])
        axes = [axis for axis in range(x.ndim) if axis not in (first, second)]
        return getitem(transpose(x, (*axes, first, second)), (..., i, i))

    def strides(self, x: Any) -> Sequence[int]:
        return [abs(stride) for stride in data_of(x).strides]

    def full(self, x: Any, shape: Sequence[int], ring: Semiring, which: str) -> Any:
        return np.broadcast_to(np.array(getattr(ring, which)(x.dtype), x.dtype), shape)


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    semiring: str | Semiring = "plustimes",
    optimize: Any = True,
) -> Tensor:
    """Sum products of Tensors over indices, as `tropical.einsum`.

    Gradients are those of the products, see `matmul`: two operands are contracted at a time. If
    several terms attain an element over a selective semiring, the order decides between them.

    Parameters
    ----------
    subscripts : str
        As in `tropical.einsum`; the form with labels after each operand works too.
    *operands : Tensor or array_like
        float32 or float64.
    semiring : str or Semiring, default "plustimes"
        Any but orand.
    optimize : bool, str, sequence or path optimizer, default True
        The order of more than two operands, as in `tropical.einsum`.

    Returns
    -------
    Tensor
        The sums.

    Raises
    ------
    ValueError, TypeError, NotInstalledError
        As in `tropical.einsum` and `matmul`.

    Examples
    --------
    >>> from tropical.autograd import Tensor, einsum
    >>> stay = Tensor([[1.0, 2.0], [5.0, 3.0]], requires_grad=True)
    >>> best = einsum("ij,jk,kl->", stay, stay, stay, semiring="maxplus")  # 1, 0, 1, 0: 5 + 2 + 5
    >>> best.backward()
    >>> stay.grad
    Tensor([[0., 1.],
            [2., 0.]])
    """
    from tropical.einsum.network import contracted  # here: it takes long to import

    ring = semirings.get(semiring)

    def read(given: Sequence[Any]) -> Sequence[Any]:
        found = [x if isinstance(x, Tensor) else np.asarray(operand(x)) for x in given]
        dtype = np.result_type(*(x.dtype for x in found))
        return [cast(x, dtype) if isinstance(x, Tensor) else promote(x, dtype, ring) for x in found]

    result = contracted(subscripts, operands, ring, optimize, _Tensors(), read)
    if isinstance(result, Tensor):
        return result
    for x in (subscripts, *operands):  # of an empty sum, which has gradients of 0
        if isinstance(x, Tensor):
            result = result + sum(reshape(x, -1)[:0])
    return result
