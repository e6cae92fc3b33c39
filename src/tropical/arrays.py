"""What every function asks of an array before using it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _core

if TYPE_CHECKING:
    from ._core import HasName

Array: TypeAlias = NDArray[Any]
Kind: TypeAlias = Literal["bool", "integer", "floating", "complexfloating"]
_TYPES = {
    "bool": np.bool_,
    "integer": np.integer,
    "floating": np.floating,
    "complexfloating": np.complexfloating,
}


def is_kind(dtype: DTypeLike, *kinds: Kind) -> bool:
    """Return whether a dtype is of one of the kinds; integers may be signed or unsigned.

    Examples
    --------
    >>> from tropical.arrays import is_kind
    >>> is_kind("uint8", "bool", "integer"), is_kind("float32", "integer")
    (True, False)
    """
    known = np.dtype(dtype).type
    return any(issubclass(known, _TYPES[kind]) for kind in kinds)


def check_square(name: str, a: Array) -> None:
    """Raise ValueError unless `a` is a square matrix or a batch of them.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.arrays import check_square
    >>> check_square("w", np.zeros((3, 4)))
    Traceback (most recent call last):
    ValueError: w: expected (..., n, n), got (3, 4)
    """
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: expected (..., n, n), got {a.shape}")


def check_product(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Raise ValueError unless operands of these shapes have a product; batch axes are not checked.

    Examples
    --------
    >>> from tropical.arrays import check_product
    >>> check_product((2, 3), (2, 3))
    Traceback (most recent call last):
    ValueError: a, b: expected (..., m, k) and (..., k, n), got (2, 3) and (2, 3)
    """
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        raise ValueError(f"a, b: expected (..., m, k) and (..., k, n), got {a} and {b}")


def unmasked(name: str, given: ArrayLike) -> Array:
    """Return `given` as an array, without a copy of an array; raise TypeError for a masked array.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.arrays import unmasked
    >>> unmasked("a", np.ma.masked_array([1.0, 2.0], [False, True]))
    Traceback (most recent call last):
    TypeError: a is a masked array, and products know no masks; fill it, for example with the \
semiring's zero
    """
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, and products know no masks; fill it, for example with the "
            "semiring's zero"
        )
    return np.asarray(given)


def promote(x: Array, dtype: DTypeLike, semiring: str | HasName) -> Array:
    """Return `x` in a wider dtype, in which the semiring's zero and one stay zero and one.

    `x` is returned unchanged if it has the dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import semirings
    >>> from tropical.arrays import promote
    >>> promote(np.array([1, 127], np.int8), "int32", semirings.minplus)
    array([         1, 2147483647], dtype=int32)
    """
    return x if x.dtype == dtype else _core.promote(x, dtype, semiring)
