"""Products of arrays of any library with DLPack, without a copy.

The protocol: https://dmlc.github.io/dlpack/latest/python_spec.html.
"""

from __future__ import annotations

from typing import Any

import tropical
from tropical.foreign import check_device, from_dlpack, like, written

__all__ = ["from_dlpack", "gemm"]


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
        Options of `tropical.gemm`: semiring, accumulate, workspace, threads, kernel, return_argmax,
        epilogue, precision.

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
        check_device(x, name)
    arrays = [from_dlpack(x, name) for name, x in given.items()]
    target = None if out is None else arrays[2]
    result = tropical.gemm(arrays[0], arrays[1], out=target, **options)
    c, *index = result if isinstance(result, tuple) else (result,)
    c = like(a, c) if out is None else written(out)
    return (c, like(a, *index)) if index else c
