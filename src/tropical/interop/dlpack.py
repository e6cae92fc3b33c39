"""Arrays of any library that speaks DLPack, in and out, without a copy.

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

# DLDeviceType. What is pinned on the host is the CPU's too.
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
    """Multiply matrices over a semiring, as `tropical.gemm`, whatever library they are of.

    Parameters
    ----------
    a : array, (..., m, k) or (k,)
        Left operand: a NumPy array, or anything in the CPU's memory with ``__dlpack__``: a tensor
        of PyTorch that needs no gradient, an array of JAX. It is not copied.
    b : array, (..., k, n) or (k,)
        Right operand, perhaps of another library.
    out : array, (..., m, n), optional
        Where to put the product, likewise.
    **options
        Of `tropical.gemm`: semiring, accumulate, workspace, threads, kernel, return_argmax.

    Returns
    -------
    C : array, (..., m, n)
        `out` if that is given, else an array of the library of `a`: a tensor of PyTorch, or of
        whatever has ``__array_namespace__``; failing both, of NumPy.
    index : array, (..., m, n)
        Only with ``return_argmax=True``, of the same library.

    Raises
    ------
    TypeError
        If something has no ``__dlpack__``, or as `tropical.gemm` says.
    BufferError
        If something is on another device than the CPU, or cannot be exported.
    ValueError
        As `tropical.gemm` says.

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
    for name, x in given.items():  # all of them, before anything is touched
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
        A NumPy array, or anything in the CPU's memory with ``__dlpack__``.
    name : str, default "x"
        What errors call it.

    Raises
    ------
    TypeError
        If `x` has no ``__dlpack__``.
    BufferError
        If `x` is on another device than the CPU, or cannot be exported.

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
        raise TypeError(f"{name}: {type(x).__name__} has no __dlpack__ and __dlpack_device__")
    try:
        kind, number = x.__dlpack_device__()
    except (RuntimeError, ValueError) as error:
        raise BufferError(f"{name}: {error}") from error
    if kind not in _HOST:
        device = _DEVICES.get(kind, f"DLPack's device {int(kind)}")
        raise BufferError(f"{name}: is on {device}:{number}; products are computed on the CPU")
    if _is_tensor(x) and x.is_neg():  # PyTorch exports it, with the other sign
        raise BufferError(f"{name}: is a lazily negated view; x.resolve_neg() makes it a tensor")


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
