"""Products of quantized matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tropical import _core
from tropical.arrays import Array, check_out, check_product, unmasked

from .quantization import Quantization, QuantizedArray, byte_dtype, known_array, numbers

if TYPE_CHECKING:
    from tropical import GemmWorkspace

Activation: TypeAlias = Literal["relu"]
# With longer sums, 255 * 255 * k could leave int32.
LONGEST = (2**31 - 1) // 255**2
_SUMS, _FLOATS = np.dtype(np.int32), np.dtype(np.float32)
# What follows the sums of bytes alone: the arguments of `_core.multiply_bytes` from a_zero on.
_NONE = (None, None, None, None, None, False, 1.0, 0)


class PackedArray:
    """A right operand of `gemm` in the order in which the kernel reads it; see `pack`.

    Attributes
    ----------
    shape : tuple of int
        (k, n).
    quantization : Quantization or None
        What the bytes stand for; None for bytes alone.
    """

    def __init__(self, bytes_: _core.PackedBytes, quantization: Quantization | None) -> None:
        self._bytes = bytes_
        self._shape: tuple[int, int] = bytes_.shape
        self.quantization = quantization

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (k, n)."""
        return self._shape

    @property
    def nbytes(self) -> int:
        """Bytes that the packed matrix takes."""
        return self._bytes.nbytes

    @property
    def instructions(self) -> str:
        """The instructions for which it is packed."""
        return self._bytes.instructions

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the bytes themselves, as processors differ in the order that they read."""
        return _packed_again, (self._unpacked(), self.quantization)

    def _unpacked(self) -> Array:
        """Return the bytes: the product with an identity matrix, some rows at a time."""
        k, n = self.shape
        sums = np.empty((k, n), dtype=np.int32)
        for first in range(0, k, 256):
            rows = np.eye(min(256, k - first), k, first, dtype=np.int8)
            sums[first : first + 256] = gemm(rows, PackedArray(self._bytes, None))
        signed = (
            self.quantization.dtype == np.int8 if self.quantization else sums.min(initial=0) < 0
        )
        return sums.astype(np.int8 if signed else np.uint8)

    def __repr__(self) -> str:
        return f"<tropical.quantized.PackedArray of shape {self.shape}, {self.instructions}>"


def _packed_again(values: Array, quantization: Quantization | None) -> PackedArray:
    return pack(values if quantization is None else QuantizedArray(values, quantization))


def pack(b: ArrayLike | QuantizedArray, *, instructions: str | None = None) -> PackedArray:
    """Pack a matrix once, for many products.

    Parameters
    ----------
    b : array_like of int8 or uint8, or QuantizedArray, (k, n)
        The matrix; it is copied.
    instructions : str, optional
        As for `gemm`.

    Returns
    -------
    PackedArray

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import quantized
    >>> b = quantized.pack(np.eye(3, dtype=np.int8))
    >>> quantized.gemm(np.array([[1, -2, 3]], dtype=np.int8), b)
    array([[ 1, -2,  3]], dtype=int32)
    """
    values = _bytes_of("b", b)
    if values.ndim != 2:
        raise ValueError(f"b: expected 2 dimensions, got shape {values.shape}")
    quantization = b.quantization if isinstance(b, QuantizedArray) else None
    return PackedArray(_core.PackedBytes(values, instructions), quantization)


def gemm(
    a: ArrayLike | QuantizedArray,
    b: ArrayLike | QuantizedArray | PackedArray,
    *,
    bias: ArrayLike | None = None,
    activation: Activation | None = None,
    quantization: Quantization | None = None,
    out: Array | None = None,
    workspace: GemmWorkspace | None = None,
    threads: int | None = None,
    instructions: str | None = None,
) -> Any:
    """Multiply matrices of bytes, with exact sums.

    Bytes alone give ``C[i, j] = a[i, 0] * b[0, j] + ... + a[i, k - 1] * b[k - 1, j]`` in int32.
    Quantized arrays give the product of the numbers that they stand for, as float32 or, with
    `quantization`, as bytes again. Bias, activation and rounding are part of the same pass.

    Parameters
    ----------
    a : array_like of int8 or uint8, or QuantizedArray, (..., m, k) or (k,)
        Left operand, with any strides. Its scales may differ from row to row, of a matrix.
    b : array_like of int8 or uint8, QuantizedArray or PackedArray, (..., k, n) or (k,)
        Right operand. Its scales may differ from column to column. 1-D operands and leading axes
        work as in `numpy.matmul`. Both operands, or none of them, are quantized.
    bias : array_like, (n,), optional
        Is added to each row of the product of quantized arrays, in float32.
    activation : {"relu"}, optional
        Replaces what is below 0 by 0, for quantized arrays.
    quantization : Quantization, optional
        One scale for the result of quantized arrays, which becomes a `QuantizedArray`.
    out : ndarray, (..., m, n), optional
        The array for the result: of int32, float32, or the dtype of `quantization`, writeable, with
        any strides. It may overlap an operand.
    workspace : GemmWorkspace, optional
        Memory to use; the calling thread's own unless given.
    threads : int, optional
        The greatest number of threads, as for `tropical.gemm`.
    instructions : {"madd", "vnni", "amx", "dotprod", "plain"}, optional
        Those that compute; the fastest that the instruction set in use has, unless given. All give
        the same bits.

    Returns
    -------
    ndarray of int32 or float32, or QuantizedArray, (..., m, n)
        `out`, if that is given, or a QuantizedArray of it.

    Raises
    ------
    TypeError
        If a dtype is wrong, or one operand alone is quantized.
    ValueError
        If shapes do not fit, scales differ along another axis, `out` is read-only or its elements
        share memory, or k exceeds 33,025 for quantized arrays, whose sums might then leave int32.
        Sums of bytes alone wrap, as NumPy's int32 does. With `quantization`: if `bias` holds a NaN.
    RuntimeError
        If another thread is using `workspace`.

    See Also
    --------
    quantize : Arrays of numbers as bytes.
    tropical.gemm : The product over any semiring; of int8 its results are int8.

    Notes
    -----
    Zero points are taken out of the sums: B. Jacob et al., CVPR 2018, section 2.3. x86's
    instructions multiply bytes without a sign by bytes with one, so 128 is added to operands of the
    other kind and taken out the same way.

    A result in float32 is ``sum * (a_scale * b_scale) + bias`` with a rounding after each
    operation; one in bytes is this divided by the scale as in `Quantization.quantize`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import quantized
    >>> x = quantized.quantize(np.array([[1.0, -2.0, 3.0]]))
    >>> w = quantized.quantize(np.array([[0.5, 1.0], [0.25, 0.0], [1.0, -1.0]]), axis=1)
    >>> np.round(quantized.gemm(x, w, bias=[0.0, 1.0]), 2)
    array([[ 2.99, -1.01]], dtype=float32)
    """
    left = _bytes_of("a", a)
    right = b if isinstance(b, PackedArray) else _bytes_of("b", b)
    check_product(left.shape, right.shape)
    items = left.shape[:-2]
    if len(right.shape) > 2:
        items = np.broadcast_shapes(items, right.shape[:-2])
    shape = (*items, *left.shape[-2:-1], *right.shape[1:][-1:])
    ends = ends_of(a, b, bias, activation, quantization)
    dtype = _SUMS if ends is _NONE else _FLOATS
    if quantization is not None:
        dtype = quantization.dtype
    if out is not None:
        check_out("out", out, shape, dtype)
    if isinstance(b, PackedArray) and instructions not in (None, b.instructions):
        raise ValueError(f"instructions: b is packed for {b.instructions}, got {instructions!r}")
    how = (*ends, threads, workspace, instructions)
    result = _multiply(left, right, shape, dtype, how, out)
    if out is None:
        return result if quantization is None else QuantizedArray(np.asarray(result), quantization)
    if result is not out:
        out[...] = result
    return out if quantization is None else QuantizedArray(out, quantization)


def _bytes_of(name: str, x: ArrayLike | QuantizedArray) -> Array:
    """Return an array of int8 or uint8 with at least one axis."""
    values = x.values if isinstance(x, QuantizedArray) else unmasked(name, x)
    byte_dtype(name, values.dtype)
    if values.ndim == 0:
        raise ValueError(f"{name}: expected at least 1 dimension, got ()")
    return values


def _check_axis(name: str, q: Quantization, ndim: int, own: int) -> None:
    """Raise ValueError unless scales differ at most along axis `own`, counted from the end."""
    if q.axis is not None and (ndim < 2 or q.axis % ndim != own % ndim):
        raise ValueError(f"{name}: expected scales that differ along axis {own}, got {q.axis}")


def ends_of(
    a: Any,
    b: Any,
    bias: ArrayLike | None,
    activation: Activation | None,
    quantization: Quantization | None,
) -> tuple[Any, ...]:
    """Return what happens to the sums of quantized arrays; `_NONE` for bytes alone."""
    of_a = a.quantization if isinstance(a, QuantizedArray) else None
    of_b = b.quantization if isinstance(b, (QuantizedArray, PackedArray)) else None
    if (of_a is None) != (of_b is None):
        raise TypeError("a, b: expected two quantized arrays or none, got one")
    if of_a is None or of_b is None:
        if any(end is not None for end in (bias, activation, quantization)):
            raise TypeError("bias, activation, quantization: expected None for bytes alone")
        return _NONE
    last = _last(activation, quantization)
    rows, columns = a.shape, b.shape
    if rows[-1] > LONGEST:
        raise ValueError(f"a, b: expected sums of at most {LONGEST} products, got {rows[-1]}")
    if of_a.axis is not None and len(rows) != 2:
        raise ValueError(f"a: expected one scale, or a matrix of shape (m, k), got {rows}")
    _check_axis("a", of_a, len(rows), -2)
    _check_axis("b", of_b, len(columns), -1)
    added = None if bias is None else _bias(bias, columns[1:][-1:])
    before = (of_a.zero_point, of_b.zero_point, of_a.scale, of_b.scale, added)
    return (*before, *last)


def _last(
    activation: Activation | None, quantization: Quantization | None
) -> tuple[bool, float, int]:
    """Return what happens after the bias."""
    check_activation(activation)
    if quantization is not None and quantization.axis is not None:
        raise ValueError("quantization: expected one scale for the result")
    inverse, zero_point = (1.0, 0) if quantization is None else quantization._step
    return activation is not None, inverse, zero_point


def rows_of_layer(
    rows: QuantizedArray,
    weight: PackedArray,
    before: tuple[Any, ...],
    activation: Activation | None,
    quantization: Quantization | None,
) -> Any:
    """Return `gemm` of a matrix of rows; `before` is what `ends_of` says up to the bias."""
    ends: tuple[Any, ...] = (*before, *_last(activation, quantization))
    dtype = _FLOATS if quantization is None else quantization.dtype
    values = rows.values
    result = np.empty((len(values), weight.shape[1]), dtype=dtype)
    _core.multiply_bytes(values, weight._bytes, result, *ends)
    return result if quantization is None else known_array(result, quantization)


def check_activation(activation: object) -> None:
    """Raise ValueError unless the pass over the sums has the activation."""
    if activation not in (None, "relu"):
        raise ValueError(f"activation: expected None or 'relu', got {activation!r}")


def _bias(bias: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return one number for each column, as float32."""
    added = numbers("bias", bias)
    if added.dtype != _FLOATS or not added.flags.c_contiguous:
        added = added.astype(np.float32, order="C")
    if added.shape != shape:
        raise ValueError(f"bias: expected shape {shape}, got {added.shape}")
    return added if shape else added.reshape(1)


def _multiply(
    left: Array, right: Any, shape: tuple[int, ...], dtype: Any, how: tuple[Any, ...], out: Any
) -> Any:
    """Return the product; `out` itself where that can be computed to."""
    if isinstance(right, PackedArray):
        return _rows(left, right._bytes, right.shape[1], shape, dtype, how, out)
    if out is not None and np.may_share_memory(out, right):
        out = None
    if right.ndim <= 2:
        matrix = right if right.ndim == 2 else right[:, None]
        return _rows(left, matrix, matrix.shape[1], shape, dtype, how, out)
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = np.broadcast_to(left, (*batch, *left.shape[-2:])) if left.ndim > 1 else left
    right = np.broadcast_to(right, (*batch, *right.shape[-2:]))
    result = np.empty(shape, dtype=dtype)
    for item in np.ndindex(*batch):
        a = left[item] if left.ndim > 1 else left
        of_item = result[item].shape
        result[item] = _rows(a, right[item], right.shape[-1], of_item, dtype, how, None)
    return result


def _rows(
    left: Array,
    b: Any,
    n: int,
    shape: tuple[int, ...],
    dtype: Any,
    how: tuple[Any, ...],
    out: Any,
) -> Any:
    """Return the product of rows and one matrix, of the shape that it is to have."""
    rows = left if left.ndim == 2 else left.reshape(math.prod(left.shape[:-1]), left.shape[-1])
    direct = out is not None and out.shape == (len(rows), n) and not np.may_share_memory(out, left)
    result: Any = out if direct else np.empty((len(rows), n), dtype=dtype)
    _core.multiply_bytes(rows, b, result, *how)
    if direct or result.shape == shape:
        return result
    return result.reshape(shape) if shape else result[0, 0]
