"""Products of arrays of any library with DLPack, without a copy.

The protocol: https://dmlc.github.io/dlpack/latest/python_spec.html.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tropical

Array: TypeAlias = NDArray[Any]

__all__ = ["from_dlpack", "gemm"]

# DLDeviceType. Memory pinned on the host is memory of the CPU, too.
_HOST = (1, 3, 11)
_DEVICES = {
    2: "CUDA",
    4: "OpenCL",
    7: "Vulkan",
    8: "Metal",
    9: "VPI",
    10: "ROCm",
    13: "CUDA managed memory",
    14: "oneAPI",
    15: "WebGPU",
    16: "Hexagon",
}


def gemm(a: Any, b: Any, *, out: Any = None, **options: Any) -> Any:
    """Multiply matrices over a semiring, as `tropical.gemm`, for arrays of any library.

    Parameters
    ----------
    a : array, (..., m, k) or (k,)
        Left operand: a NumPy array, or an object with ``__dlpack__`` in the CPU's memory, such as a
        tensor of PyTorch that needs no gradient, or an array of JAX. It is not copied.
    b : array, (..., k, n) or (k,)
        Right operand, perhaps of another library.
    out : array, (..., m, n), optional
        The array to write the product to, perhaps of another library.
    **options
        Options of `tropical.gemm`: semiring, accumulate, workspace, threads, kernel, return_argmax.

    Returns
    -------
    C : array, (..., m, n)
        `out` if given; else an array of the library of `a` if `a` is a tensor of PyTorch or has
        ``__array_namespace__``; else an array of NumPy.
    index : array, (..., m, n)
        Only with ``return_argmax=True``; an array of the library of `a`.

    Raises
    ------
    TypeError
        If an array has no ``__dlpack__``, or as `tropical.gemm` raises it.
    BufferError
        If an array is not on the CPU, or cannot be exported.
    ValueError
        As `tropical.gemm` raises it.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.interop import dlpack
    >>> class Foreign:  # knows nothing of NumPy
    ...     def __init__(self, array):
    ...         self._array = array
    ...     def __dlpack__(self, **options):
    ...         return self._array.__dlpack__(**options)
    ...     def __dlpack_device__(self):
    ...         return self._array.__dlpack_device__()
    >>> legs = Foreign(np.array([[0.0, 4.0, 9.0], [4.0, 0.0, 3.0], [9.0, 3.0, 0.0]]))
    >>> dlpack.gemm(legs, legs, semiring="minplus")
    array([[0., 4., 7.],
           [4., 0., 3.],
           [7., 3., 0.]])
    """
    given = {"a": a, "b": b} if out is None else {"a": a, "b": b, "out": out}
    for name, x in given.items():  # check every array before a result is written
        _check_device(x, name)
    arrays = [from_dlpack(x, name) for name, x in given.items()]
    target = None if out is None else arrays[2]
    result = tropical.gemm(arrays[0], arrays[1], out=target, **options)
    c, *index = result if isinstance(result, tuple) else (result,)
    c = _like(a, c) if out is None else out
    return (c, _like(a, *index)) if index else c


def from_dlpack(x: Any, name: str = "x") -> Array:
    """Return an array of another library as one of NumPy, in the same memory.

    Parameters
    ----------
    x : array
        A NumPy array, or an object with ``__dlpack__`` in the CPU's memory.
    name : str, default "x"
        The name of `x` in errors.

    Raises
    ------
    TypeError
        If `x` has no ``__dlpack__``.
    BufferError
        If `x` is not on the CPU, or cannot be exported.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.interop.dlpack import from_dlpack
    >>> x = np.ones(3)
    >>> np.shares_memory(from_dlpack(x), x)
    True
    """
    _check_device(x, name)
    if isinstance(x, np.ndarray):
        return x
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, ValueError) as error:
        raise BufferError(f"{name}: {error}") from error


def _check_device(x: Any, name: str) -> None:
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"{name}: expected an array with __dlpack__, got {type(x).__name__}")
    try:
        kind, number = x.__dlpack_device__()
    except (RuntimeError, ValueError) as error:
        raise BufferError(f"{name}: {error}") from error
    if kind not in _HOST:
        device = _DEVICES.get(kind, f"DLPack's device {int(kind)}")
        raise BufferError(f"{name}: expected an array on the CPU, got one on {device}:{number}")
    if _is_tensor(x) and x.is_neg():  # PyTorch exports this view with the wrong sign
        raise BufferError(f"{name}: expected a tensor, got a lazily negated view; see resolve_neg")


def _is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _like(x: Any, result: Any) -> Any:
    """Return a result of NumPy as an array of the library of x."""
    if hasattr(x, "__array_namespace__"):
        namespace = x.__array_namespace__()
    elif _is_tensor(x):
        namespace = sys.modules["torch"]
    else:
        return result
    return result if namespace is np else namespace.from_dlpack(np.asarray(result))
