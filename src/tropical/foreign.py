"""Arrays of other libraries, by DLPack: read without a copy, and answered in the same library.

The protocol: https://dmlc.github.io/dlpack/latest/python_spec.html.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from .arrays import refuse_traced
from .extras import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

__all__ = ["answers_alike", "check_device", "from_dlpack", "is_on_gpu", "like", "written"]

# DLDeviceType. Memory pinned on the host is memory of the CPU, too.
_HOST = (1, 3, 11)
_CUDA = (2, 13)
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


def from_dlpack(x: Any, name: str = "x") -> NDArray[Any]:
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
    NotInstalledError
        If `x` is of bfloat16, and the package ml_dtypes, which has NumPy's dtype, is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.interop.dlpack import from_dlpack
    >>> x = np.ones(3)
    >>> np.shares_memory(from_dlpack(x), x)
    True
    """
    check_device(x, name)
    if isinstance(x, np.ndarray):
        return x
    try:
        if str(getattr(x, "dtype", "")).endswith("bfloat16"):
            return _from_bfloat16(x)
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, ValueError) as error:
        raise BufferError(f"{name}: {error}") from error


def check_device(x: Any, name: str) -> None:
    """Raise TypeError or BufferError unless `from_dlpack` can read an array; see there."""
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        refuse_traced(name, x)
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


def is_on_gpu(x: Any) -> bool:
    """Return whether an array of another library than NumPy lies in the memory of an NVIDIA GPU."""
    if type(x) is np.ndarray or not hasattr(type(x), "__dlpack_device__"):
        return False
    try:
        return int(x.__dlpack_device__()[0]) in _CUDA
    except (BufferError, RuntimeError, ValueError):
        return False


def like(x: Any, result: Any) -> Any:
    """Return a result of NumPy as an array of the library of x."""
    namespace = _namespace(x)
    if namespace is None:
        return result
    array = np.asarray(result)
    array = array if array.flags.writeable else array.copy()
    if array.dtype.name == "bfloat16":
        return namespace.from_dlpack(array.view(np.int16)).view(namespace.bfloat16)
    return namespace.from_dlpack(array)


def written(x: Any) -> Any:
    """Return an array of any library, of which PyTorch is told that its memory was written.

    Else a backward pass that saved a tensor before the write would compute with what is there now.
    """
    if _is_tensor(x) and not x.is_inference():
        sys.modules["torch"].autograd.graph.increment_version(x)
    return x


def _from_bfloat16(x: Any) -> NDArray[Any]:
    """Return an array of bfloat16, which NumPy's DLPack lacks, by its bits."""
    bfloat16 = require("ml_dtypes", "'tropical-blas[bfloat16]'").bfloat16
    return np.from_dlpack(x.view(_namespace(x).int16)).view(bfloat16)


def answers_alike(function: Function) -> Function:
    """Let a function of arrays answer in the library of the first array that is not NumPy's.

    The function gets each such array, also `out`, as an array of NumPy in the same memory. Arrays
    and numbers of NumPy that the function returns, alone or in a tuple or a dict, become arrays of
    that library. A tensor of PyTorch that requires gradients reaches the function as it is. Arrays
    on a GPU go to the function of this name in `tropical.cuda`, where there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.foreign import answers_alike
    >>> @answers_alike
    ... def doubled(x):
    ...     return 2 * np.asarray(x)
    >>> doubled([1, 2])
    array([2, 4])
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if any(map(is_on_gpu, (*arguments, *keywords.values()))):
            elsewhere = getattr(importlib.import_module("tropical.cuda"), function.__name__, None)
            if elsewhere is not None:
                return elsewhere(*arguments, **keywords)
        first = None
        for x in (*arguments, *keywords.values()):
            if type(x) is not np.ndarray and _namespace(x) is not None:
                first = x
                break
        if first is None:
            return function(*arguments, **keywords)
        given: dict[int, Any] = {}  # by the array of NumPy that stands for each

        def read(x: Any, name: str) -> Any:
            if _namespace(x) is None or getattr(x, "requires_grad", False):
                return x
            array = from_dlpack(x, name)
            given[id(array)] = x, array
            return array

        def answered(result: Any) -> Any:
            if isinstance(result, tuple):
                parts = map(answered, result)
                make = getattr(result, "_make", tuple)  # of a named tuple
                return make(parts)
            if isinstance(result, dict):
                return {key: answered(value) for key, value in result.items()}
            if id(result) in given:
                return written(given[id(result)][0])
            return like(first, result) if isinstance(result, (np.ndarray, np.generic)) else result

        read_arguments = [
            read(x, names[i] if i < len(names) else f"operand {i - len(names)}")
            for i, x in enumerate(arguments)
        ]
        return answered(
            function(*read_arguments, **{name: read(x, name) for name, x in keywords.items()})
        )

    return cast("Function", call)


def _is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _namespace(x: Any) -> Any:
    """Return the functions of the library of an array; None for NumPy and for what is no array."""
    if hasattr(type(x), "__array_namespace__"):
        if isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "__dlpack__"):
            return None
        return x.__array_namespace__()
    return sys.modules["torch"] if _is_tensor(x) else None
