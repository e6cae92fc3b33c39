"""What `tropical.gemm` does to the elements of a product while it computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False, kw_only=True)
class Epilogue:
    """What happens to each element of a product, block by block while a cache holds the block.

    An element x of the product C becomes, in this order,

    1. ``y = activation(scale * x + bias + residual)``, only over ``"plustimes"``,
    2. ``minimum(maximum(y, low), high)``, the bounds,
    3. zero of the semiring, where the mask leaves the element out.

    Each operation rounds as in NumPy. So the result has the bits of the same operations on the
    array that `tropical.gemm` returns without an epilogue; those of GELU differ in the last digit.

    Parameters
    ----------
    scale, bias, residual : array_like, optional
        Arrays that broadcast to the shape of C, or numbers. Their dtype is that of C, or one that
        the dtype of C holds.
    activation : {"relu", "gelu"}, optional
        ``maximum(y, 0)``, or y times the normal distribution function at y in its tanh form, as
        `tropical.autograd.gelu`; the latter of floats alone.
    low, high : array_like, optional
        Lower and upper bounds, of shape and dtype as above. Over every semiring but ``"orand"``.
    mask : {"lower", "upper"} or array of bool, optional
        The elements to compute: those on and below the main diagonal, those on and above it, or
        those where the array, which broadcasts to the shape of C, is true. The others become the
        semiring's zero, and large blocks of them take no time.
    symmetric : bool, default False
        Compute the elements on and below the main diagonal, and let those above mirror them. C is
        square; whether it is symmetric, as ``a @ a.T`` is, the caller knows. Not with a `mask`.

    Raises
    ------
    ValueError
        If the activation or the mask is unknown, or `symmetric` meets a mask. `tropical.gemm`
        raises it for shapes that do not broadcast, integers that C's dtype does not hold, and for
        what the semiring does not have.
    TypeError
        If `symmetric` is no bool. `tropical.gemm` raises it for a dtype that C's dtype does not
        hold.

    References
    ----------
    The name is that of NVIDIA's CUTLASS: A. Kerr, D. Merrill, J. Demouth and J. Tran, "CUTLASS:
    fast linear algebra in CUDA C++", 2017. GELU: D. Hendrycks and K. Gimpel, "Gaussian error linear
    units (GELUs)", arXiv:1606.08415, section 2.

    Examples
    --------
    A layer of a neural network, in one pass over its result:

    >>> import numpy as np
    >>> import tropical
    >>> x = np.array([[1.0, 2.0], [3.0, -4.0]])
    >>> layer = tropical.Epilogue(bias=np.array([-0.5, -9.0]), activation="relu")
    >>> tropical.gemm(x, x, semiring="plustimes", epilogue=layer)
    array([[ 6.5,  0. ],
           [ 0. , 13. ]])

    The shortest ways of two steps, none longer than 5 and only those to a lower number:

    >>> legs = np.array([[0, 2, 9], [2, 0, 3], [9, 3, 0]], dtype=np.int32)
    >>> some = tropical.Epilogue(high=5, mask="lower")
    >>> tropical.gemm(legs, legs, semiring="minplus", epilogue=some)
    array([[         0, 2147483647, 2147483647],
           [         2,          0, 2147483647],
           [         5,          3,          0]], dtype=int32)
    """

    scale: ArrayLike | None = None
    bias: ArrayLike | None = None
    residual: ArrayLike | None = None
    activation: Literal["relu", "gelu"] | None = None
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    mask: Any = None
    symmetric: bool = False

    def __post_init__(self) -> None:
        if self.activation not in (None, "relu", "gelu"):
            raise ValueError(
                f"activation: expected 'relu', 'gelu' or None, got {self.activation!r}"
            )
        if isinstance(self.mask, str) and self.mask not in ("lower", "upper"):
            raise ValueError(
                f"mask: expected 'lower', 'upper', an array of bool or None, got {self.mask!r}"
            )
        if not isinstance(self.symmetric, bool):
            raise TypeError(f"symmetric: expected a bool, got {self.symmetric!r}")
        if self.symmetric and self.mask is not None:
            raise ValueError("mask: expected None with symmetric=True")
