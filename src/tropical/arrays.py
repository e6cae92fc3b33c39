"""What every function asks of an array before using it."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _core

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from ._core import HasName
    from .semirings import Semiring

Array: TypeAlias = NDArray[Any]
Kind: TypeAlias = Literal["bool", "integer", "floating", "complexfloating"]
# NumPy's letters; a duration, which is a kind of its own, is a subclass of numpy.integer.
_LETTERS = {"bool": "b", "integer": "iu", "floating": "f", "complexfloating": "c"}

_STORED = frozenset(name for entry in _core.semirings() for name in entry["stored"])


def is_kind(dtype: DTypeLike, *kinds: Kind) -> bool:
    """Return whether a dtype is of one of the kinds; integers may be signed or unsigned.

    Examples
    --------
    >>> from tropical.arrays import is_kind
    >>> is_kind("uint8", "bool", "integer"), is_kind("float32", "integer")
    (True, False)
    >>> is_kind("timedelta64[s]", "integer")
    False
    """
    letter = np.dtype(dtype).kind
    for kind in kinds:  # noqa: SIM110 - a generator takes three times as long
        if letter in _LETTERS[kind]:
            return True
    return False


def check_share(name: str, value: float) -> None:
    """Raise TypeError unless `value` is a number, and ValueError unless it is in [0, 1)."""
    check_number(name, value)
    if not 0 <= value < 1:
        raise ValueError(f"{name}: expected a number in [0, 1), got {value}")


def check_number(name: str, value: object) -> None:
    """Raise TypeError unless `value` is a real number, of Python or NumPy.

    Examples
    --------
    >>> from tropical.arrays import check_number
    >>> check_number("eps", "1e-5")
    Traceback (most recent call last):
    TypeError: eps: expected a number, got '1e-5'
    """
    if not isinstance(value, (int, float)):
        array = np.asarray(value)
        if array.ndim or not is_kind(array.dtype, "bool", "integer", "floating"):
            raise TypeError(f"{name}: expected a number, got {value!r}")


def check_real(name: str, x: Array) -> None:
    """Raise TypeError unless the elements of an array are real numbers or booleans.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.arrays import check_real
    >>> check_real("times", np.array([1j]))
    Traceback (most recent call last):
    TypeError: times: expected real numbers, got dtype complex128
    """
    if x.size and not is_kind(x.dtype, "bool", "integer", "floating"):
        raise TypeError(f"{name}: expected real numbers, got dtype {x.dtype}")


def read_count(name: str, number: object, least: int = 0) -> int:
    """Return an integer as an int; raise TypeError or ValueError unless it is at least `least`.

    Examples
    --------
    >>> from tropical.arrays import read_count
    >>> read_count("k", 2.0)
    Traceback (most recent call last):
    TypeError: k: expected an integer, got 2.0
    """
    try:
        count = operator.index(cast("SupportsIndex", number))
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {number!r}") from None
    if count < least:
        raise ValueError(f"{name}: expected {least} or more, got {count}")
    return count


def check_apart(name: str, shape: Sequence[int], strides: Sequence[int], item: int) -> None:
    """Raise ValueError if elements of an array that is to be written may share memory.

    As `overlaps_itself` in C++; strides and `item`, the size of an element, have one unit.

    Examples
    --------
    >>> from tropical.arrays import check_apart
    >>> check_apart("out", (3, 3), (8, 24), 8)
    >>> check_apart("out", (3, 3), (8, 16), 8)
    Traceback (most recent call last):
    ValueError: out: expected elements that share no memory, got strides (8, 16)
    """
    reach = item  # of the axes with shorter strides
    for stride, length in sorted(zip(map(abs, strides), shape, strict=True)):
        if length > 1 and stride < reach and 0 not in shape:
            raise ValueError(
                f"{name}: expected elements that share no memory, got strides {tuple(strides)}"
            )
        reach += stride * (length - 1)


def check_out(name: str, out: Any, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    """Raise TypeError or ValueError unless a result of this shape and dtype fits into `out`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.arrays import check_out
    >>> check_out("out", np.zeros((2, 3)), (3, 2), np.float64)
    Traceback (most recent call last):
    ValueError: out: expected shape (3, 2), got (2, 3)
    """
    if not isinstance(out, np.ndarray) or out.dtype != dtype:
        got = getattr(out, "dtype", type(out).__name__)
        raise TypeError(f"{name}: expected an array of {np.dtype(dtype)}, got {got}")
    unmasked(name, out)
    if out.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise ValueError(f"{name}: expected a writeable array, got a read-only one")
    check_apart(name, out.shape, out.strides, out.itemsize)


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
        # Of an object, such as a Factor; arrays of Dask have no `item`.
        one = not a.ndim and hasattr(a, "item")
        got = type(a.item()).__name__ if one else tuple(a.shape)
        raise ValueError(f"{name}: expected (..., n, n), got {got}")


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
    """Return `given` as an array of `numpy.ndarray` itself, without a copy of an array.

    Parameters
    ----------
    name : str
        The argument's name, for errors.
    given : array_like

    Raises
    ------
    TypeError
        For a masked array, a list of them, a sparse array of SciPy, a tensor of PyTorch that
        requires gradients, an array that JAX traces, and an array of a subclass with an
        ``__array_ufunc__`` of its own.
    ValueError
        If the elements do not form an array.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.arrays import unmasked
    >>> unmasked("a", np.ma.masked_array([1.0, 2.0], [False, True]))
    Traceback (most recent call last):
    TypeError: a is a masked array, and products know no masks; fill it, for example with the \
semiring's zero
    """
    if type(given) is np.ndarray:
        return given
    _check_kind(name, given)
    try:
        array = np.asanyarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        kinds = (TypeError, ValueError, RuntimeError)
        kind = next(kind for kind in kinds if isinstance(error, kind))
        raise kind(f"{name}: {error}") from error
    ma = sys.modules.get("numpy.ma")  # imported wherever there is a masked array
    if ma is not None and (
        isinstance(array, ma.MaskedArray) or _holds(ma.MaskedArray, given, array.ndim)
    ):
        raise TypeError(
            f"{name} is a masked array, and products know no masks; fill it, for example with the "
            "semiring's zero"
        )
    return np.asarray(array)


def _check_kind(name: str, given: Any) -> None:
    """Raise TypeError for an array that has more than its elements, and say what to do."""
    kind = f"{type(given).__module__}.{type(given).__qualname__}"
    sparse, torch = sys.modules.get("scipy.sparse"), sys.modules.get("torch")
    if isinstance(given, np.ndarray):
        if type(given).__array_ufunc__ is not np.ndarray.__array_ufunc__:
            raise TypeError(
                f"{name}: expected an array without an __array_ufunc__ of its own, got {kind}; "
                f"pass numpy.asarray({name}), or call a function of tropical.ufunc"
            )
    elif sparse is not None and sparse.issparse(given):
        raise TypeError(
            f"{name}: expected a dense array, got {kind} of shape {given.shape}; copy its elements "
            "into an array that is filled with the semiring's zero"
        )
    elif torch is not None and isinstance(given, torch.Tensor) and given.requires_grad:
        raise TypeError(
            f"{name}: expected an array, got {kind} that requires gradients; pass "
            f"{name}.detach(), or call a function of tropical.interop.torch, which has gradients"
        )
    refuse_traced(name, given)


def refuse_traced(name: str, given: object) -> None:
    """Raise TypeError for an array inside JAX's transformations, which has no numbers."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(given, jax.core.Tracer):
        raise TypeError(
            f"{name}: expected an array, got one whose elements JAX traces; "
            "call a function of tropical.interop.jax, or jax.pure_callback"
        )


def _holds(kind: type, given: object, ndim: int) -> bool:
    """Return whether a list, or lists of lists, of `ndim` dimensions have rows of a type.

    NumPy itself warns of a masked element that is not in a masked row.
    """
    if ndim < 2 or not isinstance(given, (list, tuple)):
        return False
    return any(isinstance(part, kind) or _holds(kind, part, ndim - 1) for part in given)


def stored_dtype(x: object) -> np.dtype[Any] | None:
    """Return the dtype of an array of float16 or bfloat16; None for everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.arrays import stored_dtype
    >>> stored_dtype(np.zeros(3, np.float16)), stored_dtype(np.zeros(3, np.float32))
    (dtype('float16'), None)
    """
    dtype = getattr(x, "dtype", None)
    stored = isinstance(dtype, np.dtype) and dtype.itemsize == 2 and dtype.name in _STORED
    return dtype if stored else None


def is_stored(dtype: np.dtype[Any], ring: Semiring) -> bool:
    """Return whether a dtype is one of `ring.stored`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import semirings
    >>> from tropical.arrays import is_stored
    >>> is_stored(np.dtype("float16"), semirings.minplus)
    True
    """
    return dtype.itemsize == 2 and dtype.name in ring.stored  # a name takes NumPy microseconds


def widened(x: Array, ring: Semiring) -> Array:
    """Return an array of a dtype of `ring.stored` in float32, which has all of its numbers.

    Other arrays are returned unchanged. The mask of a masked array stays.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import semirings
    >>> from tropical.arrays import widened
    >>> widened(np.array([0.5, 3], np.float16), semirings.minplus)
    array([0.5, 3. ], dtype=float32)
    """
    return x.astype(np.float32) if is_stored(x.dtype, ring) else x


def narrowed(values: Array, dtype: np.dtype[Any] | None) -> Array:
    """Return numbers of float32 in a dtype of two bytes an element, each rounded once.

    What is beyond the dtype becomes infinite; zeros are positive. None returns `values` unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.arrays import narrowed
    >>> narrowed(np.array([257.1, 1e6], np.float32), np.dtype("float16"))
    array([257.,  inf], dtype=float16)
    """
    if dtype is None:
        return values
    with np.errstate(over="ignore"):
        result = np.asarray(values.astype(dtype.newbyteorder("=")))
    result[result == 0] = 0
    return result


def check_computed(name: str, dtype: np.dtype[Any], ring: Semiring) -> None:
    """Raise TypeError for a dtype of `ring.stored`, in which a function does not compute.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import semirings
    >>> from tropical.arrays import check_computed
    >>> check_computed("a", np.dtype("float16"), semirings.minplus)
    Traceback (most recent call last):
    TypeError: a: dtype float16 is not supported here; pass a.astype("float32")
    """
    if is_stored(dtype, ring):
        wider = ", ".join(f'{each}.astype("float32")' for each in name.split(", "))
        raise TypeError(f"{name}: dtype {dtype} is not supported here; pass {wider}")


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
