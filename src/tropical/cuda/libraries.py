"""Arrays on a GPU: what we ask of PyTorch, CuPy and JAX."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from tropical.foreign import is_on_gpu

from .runtime import Runtime, runtime_of

Function = TypeVar("Function", bound=Callable[..., Any])


class View(NamedTuple):
    """An array in the memory of a GPU; strides are in elements."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Library:
    """A library whose functions have NumPy's names: CuPy, and with few others JAX.

    Attributes
    ----------
    xp : module
        The functions.
    mutable : bool
        Whether an array can be written to, so that `out` may be one.
    """

    mutable = True

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def runtime(self, x: Any) -> Runtime:
        """Return the GPU of an array, with the library's current stream."""
        return runtime_of(int(x.device.id), int(self.xp.cuda.get_current_stream().ptr))

    def dtype(self, x: Any) -> str:
        """Return the name of an array's dtype, as NumPy spells it."""
        return str(x.dtype)

    def view(self, x: Any) -> View:
        """Return where an array lies."""
        size = x.dtype.itemsize
        return View(int(x.data.ptr), tuple(x.shape), tuple(s // size for s in x.strides))

    def empty(self, like: Any, shape: Sequence[int], dtype: str) -> Any:
        """Return a new array on the GPU of another one; its elements are anything."""
        with like.device:
            return self.xp.empty(tuple(shape), dtype)

    def full(self, like: Any, shape: Sequence[int], dtype: str, number: Any) -> Any:
        """Return a new array of equal numbers on the GPU of another one."""
        result = self.empty(like, shape, dtype)
        result[...] = number
        return result

    def converted(self, x: Any, dtype: str) -> Any:
        """Return the numbers of an array in another dtype."""
        return x.astype(dtype)

    def copied(self, x: Any) -> Any:
        """Return a copy in C order."""
        return self.xp.array(x, order="C")

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x where the condition holds, else y."""
        return self.xp.where(condition, x, y)

    def arranged(self, x: Any, axes: Sequence[int], shape: Sequence[int]) -> Any:
        """Return x with its axes in this order, then in this shape."""
        return self.xp.transpose(x, tuple(axes)).reshape(tuple(shape))

    def diagonal(self, x: Any, first: int, second: int) -> Any:
        """Return x with two axes as one, the last; only equal indices stay."""
        return self.xp.diagonal(x, 0, first, second)

    def expanded(self, x: Any, shape: Sequence[int]) -> Any:
        """Return a view that repeats x."""
        return self.xp.broadcast_to(x, tuple(shape))

    def arange(self, like: Any, n: int) -> Any:
        """Return the numbers 0 to n - 1, of int32, on the GPU of another array."""
        with like.device:
            return self.xp.arange(n, dtype="int32")

    def minimum(self, x: Any, y: Any) -> Any:
        """Return the lesser of two numbers, element by element."""
        return self.xp.minimum(x, y)

    def finish(self, x: Any) -> Any:
        """Return an array that kernels have written."""
        return x


class _Torch(Library):
    """PyTorch, whose functions have other names."""

    def runtime(self, x: Any) -> Runtime:
        stream = self.xp.cuda.current_stream(x.device)
        return runtime_of(int(x.device.index), int(stream.cuda_stream))

    def dtype(self, x: Any) -> str:
        return str(x.dtype).removeprefix("torch.")

    def view(self, x: Any) -> View:
        return View(int(x.data_ptr()), tuple(x.shape), tuple(x.stride()))

    def empty(self, like: Any, shape: Sequence[int], dtype: str) -> Any:
        return self.xp.empty(tuple(shape), dtype=getattr(self.xp, dtype), device=like.device)

    def converted(self, x: Any, dtype: str) -> Any:
        return x.to(getattr(self.xp, dtype))

    def copied(self, x: Any) -> Any:
        return x.clone(memory_format=self.xp.contiguous_format)

    def arranged(self, x: Any, axes: Sequence[int], shape: Sequence[int]) -> Any:
        return x.permute(tuple(axes)).reshape(tuple(shape))

    def diagonal(self, x: Any, first: int, second: int) -> Any:
        return x.diagonal(0, first, second)

    def expanded(self, x: Any, shape: Sequence[int]) -> Any:
        return x.expand(tuple(shape))

    def arange(self, like: Any, n: int) -> Any:
        return self.xp.arange(n, dtype=self.xp.int32, device=like.device)


class _Jax(Library):
    """JAX, whose arrays are immutable: a new one is written before anybody else has seen it."""

    mutable = False

    def runtime(self, x: Any) -> Runtime:
        """Return the GPU of an array, with the default stream: JAX has streams of its own."""
        (device,) = x.devices()
        return runtime_of(int(device.local_hardware_id), 0)

    def view(self, x: Any) -> View:
        """Return where an array lies, when it is computed."""
        x = x.block_until_ready()
        strides = [1]
        for length in x.shape[:0:-1]:
            strides.insert(0, strides[0] * length)
        return View(int(x.unsafe_buffer_pointer()), tuple(x.shape), tuple(strides[: x.ndim]))

    def empty(self, like: Any, shape: Sequence[int], dtype: str) -> Any:
        (device,) = like.devices()
        return self.xp.empty(tuple(shape), dtype, device=device).block_until_ready()

    def full(self, like: Any, shape: Sequence[int], dtype: str, number: Any) -> Any:
        (device,) = like.devices()
        return self.xp.full(tuple(shape), number, dtype, device=device)

    def copied(self, x: Any) -> Any:
        return self.xp.array(x, copy=True)

    def arange(self, like: Any, n: int) -> Any:
        (device,) = like.devices()
        return self.xp.arange(n, dtype="int32", device=device)

    def finish(self, x: Any) -> Any:
        """Wait for the kernels, whose stream JAX does not know."""
        self.runtime(x).synchronize()
        return x


LIBRARIES: dict[str, Callable[[], Library]] = {
    "torch": lambda: _Torch(sys.modules["torch"]),
    "cupy": lambda: Library(sys.modules["cupy"]),
    "jaxlib": lambda: _Jax(sys.modules["jax.numpy"]),
}


def library_of(**arrays: Any) -> Library:
    """Return the library of arrays on one GPU, which their names in errors go with.

    Raises
    ------
    ValueError
        If one of them lies somewhere else than the first, or is of another library.
    TypeError
        If the library is none that we know.
    BufferError
        If one of them is a tensor of PyTorch that requires gradients, or is negated lazily.
    """
    first: Any = None
    for name, x in arrays.items():
        if not is_on_gpu(x):
            kind = f"{type(x).__module__}.{type(x).__qualname__}"
            where = " where the other operand is" if len(arrays) > 1 else ""
            raise ValueError(f"{name}: expected an array on the GPU{where}, got {kind} on the CPU")
        module = type(x).__module__.partition(".")[0]
        here = (module, int(x.__dlpack_device__()[1]))
        if module not in LIBRARIES:
            raise TypeError(
                f"{name}: expected an array of PyTorch, CuPy or JAX, got {type(x).__name__} of "
                f"{module}"
            )
        if module == "torch" and x.is_neg():  # in memory the numbers have the other sign
            raise BufferError(
                f"{name}: expected a tensor, got a lazily negated view; see resolve_neg"
            )
        if getattr(x, "requires_grad", False):
            raise BufferError(
                f"{name}: expected a tensor without requires_grad, as the result would have no "
                "gradient; pass a detached one, or use tropical.interop.torch"
            )
        if first is None:
            first = here
        elif here != first:
            raise ValueError(
                f"{name}: expected an array of {first[0]} on GPU {first[1]}, got one of "
                f"{here[0]} on GPU {here[1]}"
            )
    return LIBRARIES[first[0]]()


def refuse(usual: object, **given: object) -> None:
    """Raise NotImplementedError for the first argument that is given: GPUs take the usual value."""
    for name, value in given.items():
        if value is not usual:
            raise NotImplementedError(
                f"{name}: expected {usual} for arrays on a GPU, got {value!r}; pass arrays on the "
                "CPU"
            )


def all_dtypes() -> contextlib.AbstractContextManager[Any]:
    """Return a context in which JAX makes numbers of 64 bits, too, as it does not by default.

    The kernels write int64, so an array of int32 would be too short.
    """
    jax = sys.modules.get("jax")
    if jax is None:
        return contextlib.nullcontext()
    return (
        jax.enable_x64(True)
        if hasattr(jax, "enable_x64")
        else importlib.import_module("jax.experimental").enable_x64()
    )


def in_library_context(function: Function) -> Function:
    """Let a function run in the context `all_dtypes`, and on the GPU of its arrays of CuPy."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with all_dtypes(), _device_of_cupy((*arguments, *keywords.values())):
            return function(*arguments, **keywords)

    return cast("Function", call)


def _device_of_cupy(given: Sequence[Any]) -> contextlib.AbstractContextManager[Any]:
    """Return a context in which the GPU of CuPy's first array is CuPy's current one.

    CuPy's functions run there, and its current stream is that GPU's.
    """
    for x in given:
        if type(x).__module__.partition(".")[0] == "cupy" and is_on_gpu(x):
            return x.device
    return contextlib.nullcontext()
