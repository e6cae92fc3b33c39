"""Numbers as bytes: which scale and zero point, and arrays that know theirs."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tropical import _core
from tropical.arrays import Array, is_kind, unmasked

Scheme: TypeAlias = Literal["symmetric", "affine"]
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
_FLOATS = np.dtype(np.float32)


def byte_dtype(name: str, dtype: DTypeLike) -> np.dtype[Any]:
    """Return int8 or uint8; raise TypeError for another dtype."""
    found = np.dtype(dtype)
    if found not in _BYTES:
        raise TypeError(f"{name}: expected int8 or uint8, got {found}")
    return found


@dataclass(frozen=True, eq=False)
class Quantization:
    """How bytes q stand for numbers: ``x = scale * (q - zero_point)``.

    Parameters
    ----------
    scale : array_like of float32, () or (n,)
        Positive numbers: one for the whole array, or one for each place along `axis`.
    zero_point : array_like of int32, as scale
        The byte that stands for 0, in the range of the dtype.
    dtype : dtype
        int8 or uint8.
    axis : int, optional
        The axis along which scales differ.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.quantized import Quantization
    >>> tenths = Quantization(0.1, 0, np.int8)
    >>> tenths.quantize([0.2, -0.5, 99.0]).values
    array([  2,  -5, 127], dtype=int8)
    """

    scale: NDArray[np.float32]
    zero_point: NDArray[np.int32]
    dtype: np.dtype[Any]
    axis: int | None = None

    def __init__(
        self, scale: ArrayLike, zero_point: ArrayLike, dtype: DTypeLike, axis: int | None = None
    ) -> None:
        scales = np.array(scale, dtype=np.float32)
        found = byte_dtype("dtype", dtype)
        if axis is not None and not isinstance(axis, (int, np.integer)):
            raise TypeError(f"axis: expected an int or None, got {axis!r}")
        zeros = np.asarray(zero_point)
        if not is_kind(zeros.dtype, "integer"):
            raise TypeError(f"zero_point: expected integers, got {zeros.dtype}")
        if scales.ndim != (axis is not None) or zeros.shape not in ((), scales.shape):
            wanted = "()" if axis is None else "(n,)"
            raise ValueError(
                f"scale, zero_point: expected shape {wanted}, got {scales.shape} and {zeros.shape}"
            )
        least = np.finfo(np.float32).tiny
        if not (np.isfinite(scales) & (scales >= least)).all():
            raise ValueError(f"scale: expected finite numbers of at least {least}, got {scales}")
        limits = np.iinfo(found)
        if ((zeros < limits.min) | (zeros > limits.max)).any():
            raise ValueError(
                f"zero_point: expected numbers in [{limits.min}, {limits.max}], got {zeros}"
            )
        shared = np.full(scales.shape, zeros, dtype=np.int32)
        for array in (scales, shared):
            array.flags.writeable = False
        object.__setattr__(self, "scale", scales)
        object.__setattr__(self, "zero_point", shared)
        object.__setattr__(self, "dtype", found)
        object.__setattr__(self, "axis", axis)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy what a quantization is made of: its arrays are read-only again."""
        return type(self), (self.scale, self.zero_point, self.dtype, self.axis)

    @functools.cached_property
    def inverse(self) -> float:
        """1 / scale of a quantization with one scale, in float32."""
        return float(np.float32(1) / self.scale)

    @functools.cached_property
    def _step(self) -> tuple[float, int]:
        """1 / scale and zero point of a quantization with one scale, as C++ takes them."""
        return self.inverse, int(self.zero_point)

    def along(self, ndim: int) -> tuple[Array, Array]:
        """Return scale and zero point in a shape that broadcasts with an array of `ndim` axes."""
        if self.axis is None:
            return self.scale, self.zero_point
        shape = [1] * ndim
        shape[self.axis] = -1
        return self.scale.reshape(shape), self.zero_point.reshape(shape)

    def quantize(self, x: ArrayLike) -> QuantizedArray:
        """Return the nearest bytes, ``rint(x / scale) + zero_point``; ties go to the even integer.

        Numbers out of range become the least or the greatest byte. Scales are inverted first, in
        float32, as each number would wait for a division.

        Raises
        ------
        ValueError
            If `x` holds a NaN, or `axis` has another length.
        """
        if type(x) is np.ndarray and x.dtype == _FLOATS and x.flags.c_contiguous:
            floats = x
        else:
            floats = numbers("x", x)
            with np.errstate(over="ignore"):  # an infinity becomes the greatest byte anyway
                floats = floats.astype(_FLOATS, order="C", copy=False)
        values = np.empty(floats.shape, dtype=self.dtype)
        if self.axis is None:
            noticed = _core.quantize_bytes(floats, values, *self._step)
        else:
            noticed = self._quantize_along(floats, values)
        if noticed:
            raise ValueError("x: expected no NaN, which no byte stands for")
        return known_array(values, self)

    def _quantize_along(self, x: Array, values: Array) -> bool:
        """Quantize with scales that differ; return whether `x` holds a NaN."""
        axis, ndim = self.axis or 0, x.ndim
        if not -ndim <= axis < ndim or x.shape[axis] != self.scale.size:
            raise ValueError(
                f"x: expected length {self.scale.size} along axis {axis}, got shape {x.shape}"
            )
        scale, zero = self.along(ndim)
        limits = np.iinfo(self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            q = np.rint(x * (np.float32(1) / scale))
            noticed = bool(np.isnan(q).any())
            values[...] = np.clip(q, limits.min - zero, limits.max - zero) + zero
        return noticed


@dataclass(frozen=True, eq=False)
class QuantizedArray:
    """Bytes, and the numbers that they stand for.

    Parameters
    ----------
    values : ndarray of int8 or uint8
        The bytes, of the dtype of `quantization`.
    quantization : Quantization
        What the bytes stand for.

    Raises
    ------
    TypeError
        If the bytes have another dtype.
    ValueError
        If `quantization` has another number of scales.
    """

    values: NDArray[Any]
    quantization: Quantization

    def __post_init__(self) -> None:
        if not isinstance(self.values, np.ndarray):
            raise TypeError(f"values: expected an ndarray, got {type(self.values).__name__}")
        if self.values.dtype != self.quantization.dtype:
            raise TypeError(
                f"values: expected {self.quantization.dtype}, as quantization has, got "
                f"{self.values.dtype}"
            )
        axis, scales = self.quantization.axis, self.quantization.scale
        ndim, shape = self.values.ndim, self.values.shape
        if axis is not None and not (-ndim <= axis < ndim and shape[axis] == scales.size):
            raise ValueError(
                f"values: expected length {scales.size} along axis {axis}, got shape {shape}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.values.shape

    @property
    def nbytes(self) -> int:
        """Bytes of values, scales and zero points."""
        return sum(
            int(array.nbytes)
            for array in (self.values, self.quantization.scale, self.quantization.zero_point)
        )

    @property
    def T(self) -> QuantizedArray:
        """The transpose of a matrix, a view."""
        if self.values.ndim != 2:
            raise ValueError(f"T: expected 2 dimensions, got shape {self.shape}")
        q = self.quantization
        axis = None if q.axis is None else -1 - q.axis % 2
        return QuantizedArray(self.values.T, Quantization(q.scale, q.zero_point, q.dtype, axis))

    def dequantize(self) -> NDArray[np.float32]:
        """Return the numbers as float32."""
        scale, zero = self.quantization.along(self.values.ndim)
        shifted = np.subtract(self.values, zero, dtype=np.int32).astype(np.float32)
        return np.asarray(shifted * scale, dtype=np.float32)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("copy: the numbers of a QuantizedArray are always computed")
        return self.dequantize() if dtype is None else self.dequantize().astype(dtype)


def known_array(values: NDArray[Any], quantization: Quantization) -> QuantizedArray:
    """Return a `QuantizedArray` of values that are known to fit; the checks take a microsecond."""
    array = object.__new__(QuantizedArray)
    vars(array).update(values=values, quantization=quantization)
    return array


def numbers(name: str, x: ArrayLike) -> Array:
    """Return an array of floats or integers."""
    array = unmasked(name, x)
    if not is_kind(array.dtype, "integer", "floating"):
        raise TypeError(f"{name}: expected floats or integers, got {array.dtype}")
    return array


def fit(
    x: ArrayLike,
    scheme: Scheme = "symmetric",
    axis: int | None = None,
    dtype: DTypeLike | None = None,
) -> Quantization:
    """Return the finest quantization that holds every number of an array.

    Parameters
    ----------
    x : array_like
        Finite numbers.
    scheme : {"symmetric", "affine"}, default "symmetric"
        Symmetric: 0 stands for 0, and the largest absolute value becomes 127. Affine: the range
        from the least number to the greatest, and 0, fills all bytes; 0 is still exact.
    axis : int, optional
        Scales of their own for each place along this axis, as for each channel of weights; one
        scale unless given.
    dtype : {int8, uint8}, optional
        int8 for the symmetric scheme, which takes no other; uint8 for the affine one.

    Returns
    -------
    Quantization
        With `axis` counted from the end.

    Raises
    ------
    ValueError
        If a number is infinite or NaN, or `scheme` or `axis` is unknown.
    TypeError
        If `x` holds no numbers, or `dtype` is another one.

    Notes
    -----
    B. Jacob et al., "Quantization and training of neural networks for efficient
    integer-arithmetic-only inference", CVPR 2018, section 2.1.

    Examples
    --------
    >>> from tropical.quantized import fit
    >>> q = fit([-1.0, 0.0, 3.0], "affine")
    >>> float(q.scale), int(q.zero_point)  # 4 / 255
    (0.01568627543747425, 64)
    """
    if scheme not in ("symmetric", "affine"):
        raise ValueError(f"scheme: expected 'symmetric' or 'affine', got {scheme!r}")
    array = numbers("x", x)
    found = byte_dtype("dtype", dtype or (np.int8 if scheme == "symmetric" else np.uint8))
    if scheme == "symmetric" and found != np.int8:
        raise TypeError(f"dtype: expected int8 for the symmetric scheme, got {found}")
    if axis is not None:
        if not -array.ndim <= axis < array.ndim:
            raise ValueError(f"axis: expected one of {array.ndim} axes, got {axis}")
        axis = axis % array.ndim - array.ndim
    others = tuple(i for i in range(array.ndim) if axis is None or i != axis + array.ndim)
    # In float64, in which the range of float32 numbers is no infinity.
    least = array.min(axis=others, initial=0).astype(np.float64)
    greatest = array.max(axis=others, initial=0).astype(np.float64)
    if not (np.isfinite(least) & np.isfinite(greatest)).all():
        raise ValueError("x: expected finite numbers, got an infinity or a NaN")
    limits = np.iinfo(found)
    tiny = float(np.finfo(np.float32).tiny)
    if scheme == "symmetric":
        scale = np.maximum(np.maximum(-least, greatest) / 127, tiny)
        zero = np.zeros(scale.shape, dtype=np.int32)
    else:
        scale = np.maximum((greatest - least) / 255, tiny)
        zero = (np.rint(-least / scale) + limits.min).astype(np.int32)
    # What the outermost bytes stand for, rounded as `dequantize` rounds it.
    with np.errstate(over="ignore"):
        ends = [scale.astype(np.float32) * np.float32(q - zero) for q in (limits.min, limits.max)]
    if scheme == "symmetric":
        ends[0] = -ends[1]  # no number becomes -128
    if not np.isfinite(ends).all():
        raise ValueError("x: expected a range that float32 holds")
    return Quantization(np.where(greatest == least, 1.0, scale), zero, found, axis)


def quantize(
    x: ArrayLike,
    scheme: Scheme | Quantization = "symmetric",
    axis: int | None = None,
    dtype: DTypeLike | None = None,
) -> QuantizedArray:
    """Return an array as bytes.

    Parameters
    ----------
    x : array_like
        Finite numbers; for a `Quantization`, any but NaN.
    scheme : {"symmetric", "affine"} or Quantization, default "symmetric"
        What bytes stand for: as `fit` finds it, or as given.
    axis, dtype
        As for `fit`.

    Returns
    -------
    QuantizedArray
        Each number is off by at most half a scale.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import quantized
    >>> x = quantized.quantize(np.array([[0.5, -1.0], [100.0, 127.0]]), axis=0)
    >>> x.values
    array([[  64, -127],
           [ 100,  127]], dtype=int8)
    >>> np.round(x.dequantize(), 3)
    array([[  0.504,  -1.   ],
           [100.   , 127.   ]], dtype=float32)
    """
    if isinstance(scheme, Quantization):
        if axis is not None or dtype is not None:
            raise TypeError("axis, dtype: expected None beside a Quantization, which has its own")
        return scheme.quantize(x)
    return fit(x, scheme, axis, dtype).quantize(x)
