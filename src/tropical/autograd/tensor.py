"""Tensor: an array that remembers its node. The module `operators` attaches all operations."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tropical.arrays import is_kind, stored_dtype, unmasked

from .value import Array, Handle, Hook, Node, leaf, note_change, recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from typing_extensions import Self

    from tropical.semirings import Semiring

# An input of an operation.
Operand: TypeAlias = "Tensor | ArrayLike"
Axes: TypeAlias = "int | Sequence[int] | None"

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_new = object.__new__


def _float_array(data: Any, dtype: DTypeLike | None) -> Array:
    array = np.asarray(unmasked("data", data), dtype=dtype)
    if array.dtype in _DTYPES:
        return array
    if dtype is None and is_kind(array.dtype, "bool", "integer"):
        return array.astype(np.float64)
    if array.dtype.newbyteorder("=") in _DTYPES:
        return array.astype(array.dtype.newbyteorder("="))
    raise TypeError(f"data: expected float32 or float64, got {array.dtype}")


class Tensor:
    """An array of float32 or float64 that remembers how it was computed.

    Parameters
    ----------
    data : array_like
        The values; an array of one of these dtypes is not copied. Integers and truth values become
        float64.
    requires_grad : bool, default False
        Collect gradients with respect to this tensor in `grad`.
    dtype : dtype, optional
        float32 or float64; the dtype of the data by default.

    Attributes
    ----------
    data : ndarray
        The values. If they, or an array of indices, conditions, limits or targets, change between
        an operation and its backward pass, gradients are wrong. Where an optimizer, an in-place
        operator or `Module.load_state_dict` has changed a leaf, the backward pass raises an error.
        Assign arrays only: ``x.data - x.grad.data`` is one, but ``x.data - x.grad`` is a Tensor.
    grad : Tensor or None
        The sum of the gradients of all backward passes since `grad` was None.

    Raises
    ------
    TypeError
        If `dtype`, or the dtype of the data, is not supported.

    Examples
    --------
    >>> from tropical.autograd import Tensor
    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    Tensor([2., 4., 6.])
    """

    __slots__ = ("__weakref__", "_leaf", "data", "grad", "node")
    __array_ufunc__ = None  # so that Python asks the tensor for array + tensor
    __hash__: Callable[[Tensor], int] = object.__hash__  # type: ignore[assignment]

    if TYPE_CHECKING:  # `operators` attaches these methods and their docstrings
        # ruff: disable[D102]

        def __add__(self, other: Operand) -> Tensor: ...
        def __sub__(self, other: Operand) -> Tensor: ...
        def __mul__(self, other: Operand) -> Tensor: ...
        def __truediv__(self, other: Operand) -> Tensor: ...
        def __pow__(self, other: Operand) -> Tensor: ...
        def __matmul__(self, other: Operand) -> Tensor: ...

        def __radd__(self, other: Operand) -> Tensor: ...
        def __rsub__(self, other: Operand) -> Tensor: ...
        def __rmul__(self, other: Operand) -> Tensor: ...
        def __rtruediv__(self, other: Operand) -> Tensor: ...
        def __rpow__(self, other: Operand) -> Tensor: ...
        def __rmatmul__(self, other: Operand) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def abs(self) -> Tensor: ...
        def exp(self) -> Tensor: ...
        def gelu(self) -> Tensor: ...
        def log(self) -> Tensor: ...
        def relu(self) -> Tensor: ...
        def sigmoid(self) -> Tensor: ...
        def sqrt(self) -> Tensor: ...
        def tanh(self) -> Tensor: ...
        def copy(self) -> Tensor: ...
        def flatten(self, order: str = "C") -> Tensor: ...
        def ravel(self, order: str = "C") -> Tensor: ...
        def max(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> Tensor: ...
        def min(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> Tensor: ...
        def mean(
            self, axis: Axes = None, dtype: None = None, out: None = None, keepdims: bool = False
        ) -> Tensor: ...
        def sum(
            self, axis: Axes = None, dtype: None = None, out: None = None, keepdims: bool = False
        ) -> Tensor: ...
        def var(
            self,
            axis: Axes = None,
            dtype: None = None,
            out: None = None,
            ddof: float = 0,
            keepdims: bool = False,
        ) -> Tensor: ...
        def logsumexp(self, axis: Axes = None, keepdims: bool = False) -> Tensor: ...
        def reshape(self, *lengths: Any, shape: Any = None, order: str = "C") -> Tensor: ...
        def transpose(self, *order: Any, axes: Any = None) -> Tensor: ...
        def swapaxes(self, axis1: int, axis2: int) -> Tensor: ...
        def squeeze(self, axis: Any = None) -> Tensor: ...
        def astype(self, dtype: DTypeLike) -> Tensor: ...
        def clip(
            self,
            a_min: ArrayLike | None = None,
            a_max: ArrayLike | None = None,
            out: None = None,
            *,
            min: ArrayLike | None = None,
            max: ArrayLike | None = None,
        ) -> Tensor: ...
        def matmul(self, b: Operand, *, semiring: str | Semiring = "plustimes") -> Tensor: ...
        def backward(
            self,
            gradient: Operand | None = None,
            *,
            retain_graph: bool | None = None,
            create_graph: bool = False,
        ) -> None: ...

        T: Tensor
        # ruff: enable[D102]

    def __init__(
        self, data: ArrayLike, requires_grad: bool = False, *, dtype: DTypeLike | None = None
    ) -> None:
        if isinstance(data, Tensor):
            raise TypeError("data: expected an array, got a Tensor; see Tensor.detach")
        self.data: Array = _float_array(data, dtype)
        self.grad: Tensor | None = None
        self.node: Node | None = leaf(self) if requires_grad else None

    # --- what an array has ---

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.data.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.data.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.data.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.data.dtype

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        text = repr(self.data).replace("array(", "Tensor(", 1).replace("\n", "\n ")
        if self.requires_grad:
            text = f"{text[:-1]}, requires_grad=True)"
        return text

    def __bool__(self) -> bool:
        return bool(self.data)

    def __float__(self) -> float:
        return float(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def __format__(self, specification: str) -> str:
        return format(self.data if self.ndim else self.data.item(), specification)

    def item(self) -> float:
        """Return the only element, as a number."""
        return float(self.data.item())

    def numpy(self) -> Array:
        """Return `data`."""
        return self.data

    def _without_history(self) -> Array:
        if self.requires_grad:
            raise TypeError(
                "a Tensor that requires grad does not convert to an array; use data or detach()"
            )
        return self.data

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self._without_history(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._without_history().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()

    # --- the graph ---

    @property
    def requires_grad(self) -> bool:
        """Whether operations record this tensor, so that gradients reach it."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not self.is_leaf:
            raise RuntimeError(
                "requires_grad: this tensor was computed from others; detach() it first"
            )
        if value and self.node is None:  # the former leaf keeps its hooks
            self.node = getattr(self, "_leaf", None) or leaf(self)
        elif not value:
            self._leaf, self.node = self.node, None

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor was made by the user rather than by a recorded operation."""
        return self.node is None or self.node.is_leaf

    def detach(self) -> Tensor:
        """Return a tensor of the same data, without history."""
        return tensor_of(self.data, None)

    def retain_grad(self) -> None:
        """Collect the gradient in `grad`, also if this tensor is not a leaf."""
        if self.node is None:
            raise RuntimeError("retain_grad: this tensor does not require grad")
        if self.node.tensor is None or self.node.tensor() is None:
            self.node.tensor = weakref.ref(self)

    def register_hook(self, hook: Hook) -> Handle:
        """Call `hook` with the complete gradient of this tensor in every backward pass.

        Parameters
        ----------
        hook : callable
            A function of the gradient, a Tensor; a result other than None replaces the gradient.

        Returns
        -------
        Handle
            `Handle.remove` removes the hook.
        """
        if self.node is None:
            raise RuntimeError("register_hook: this tensor does not require grad")
        if self.node.hooks is None:
            self.node.hooks = {}
        return Handle(self.node.hooks, hook)

    def __pos__(self) -> Tensor:
        return self

    # These work in place only if nothing is recorded, because a graph may need the old values.
    # Otherwise Python computes ``x = x + y`` for ``x += y``.

    def __iadd__(self, other: Operand) -> Self:
        return self._in_place(np.add, other)

    def __isub__(self, other: Operand) -> Self:
        return self._in_place(np.subtract, other)

    def __imul__(self, other: Operand) -> Self:
        return self._in_place(np.multiply, other)

    def __itruediv__(self, other: Operand) -> Self:
        return self._in_place(np.true_divide, other)

    def __ipow__(self, other: Operand) -> Self:
        return self._in_place(np.power, other)

    def __imatmul__(self, other: Operand) -> Self:
        self._check_in_place()
        return NotImplemented

    def _in_place(self, ufunc: np.ufunc, other: Operand) -> Self:
        if recording.get():
            self._check_in_place()
            return NotImplemented
        ufunc(self.data, data_of(other), out=self.data, casting="same_kind")
        if self.node is not None and self.node.is_leaf:
            note_change(self.node)
        return self

    def _check_in_place(self) -> None:
        if self.requires_grad and self.is_leaf:
            raise RuntimeError(
                "a leaf that requires grad is not changed in place while operations are recorded: "
                "use no_grad(), or x = x + y"
            )

    # --- copies ---

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.is_leaf:
            raise RuntimeError(
                "a Tensor computed from others cannot be copied or pickled with its history; "
                "detach() it first"
            )
        parts = type(self), self.data, self.requires_grad, self.grad
        return _copied, parts, getattr(self, "__dict__", None)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iteration over a 0-D Tensor")
        return (self[i] for i in range(len(self)))

    # Comparisons have no gradient, so they return arrays.

    def _compared(self, ufunc: np.ufunc, other: Any) -> Any:
        return NotImplemented if defers_to(other) else ufunc(self.data, data_of(other))

    def __eq__(self, other: object) -> Array:  # type: ignore[override]
        return self._compared(np.equal, other)

    def __ne__(self, other: object) -> Array:  # type: ignore[override]
        return self._compared(np.not_equal, other)

    def __lt__(self, other: Operand) -> Array:
        return self._compared(np.less, other)

    def __le__(self, other: Operand) -> Array:
        return self._compared(np.less_equal, other)

    def __gt__(self, other: Operand) -> Array:
        return self._compared(np.greater, other)

    def __ge__(self, other: Operand) -> Array:
        return self._compared(np.greater_equal, other)

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Return the index of the maximum, as `numpy.argmax`: an array without gradient."""
        data: Any = self.data  # NumPy's types refuse an axis that may be None
        return data.argmax(axis, out, keepdims=keepdims)

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Return the index of the minimum, as `numpy.argmin`: an array without gradient."""
        data: Any = self.data  # NumPy's types refuse an axis that may be None
        return data.argmin(axis, out, keepdims=keepdims)

    def tolist(self) -> Any:
        """Return the values as nested lists of numbers."""
        return self.data.tolist()


def tensor_of(data: Array, node: Node | None) -> Tensor:
    """Return a Tensor of an array, which is not copied, with the history `node`."""
    tensor = _new(Tensor)
    tensor.data = data
    tensor.grad = None
    tensor.node = node
    return tensor


def _copied(kind: type[Tensor], data: Array, requires_grad: bool, grad: Tensor | None) -> Tensor:
    """Return a new leaf; `copy` and `pickle` call this function with the parts of a leaf."""
    tensor = _new(kind)
    tensor.data = data
    tensor.grad = grad
    tensor.node = leaf(tensor) if requires_grad else None
    return tensor


def floats(x: Operand) -> Any:
    """Return a Tensor unchanged, and another value as an array of float32 or float64.

    Integers become float64, and float16 and bfloat16 become float32, as their squares overflow.
    """
    if isinstance(x, Tensor):
        return x
    return _float_array(x, None if stored_dtype(x) is None else np.float32)


def data_of(x: Any) -> Any:
    """Return the array of a Tensor, and another value unchanged; refuse masked arrays."""
    if isinstance(x, Tensor):
        return x.data
    return unmasked("operand", x) if isinstance(x, np.ndarray) else x


def defers_to(x: Any) -> bool:
    """Return whether an operator leaves its right operand `x` to the operators of `x`.

    These are other types that no ufunc of NumPy takes (NEP 13), and types that handle ufuncs but
    do not convert to arrays.
    """
    if isinstance(x, Tensor):
        return False
    missing = np.ndarray.__array_ufunc__
    handler = getattr(type(x), "__array_ufunc__", missing)
    return handler is None or (handler is not missing and not hasattr(type(x), "__array__"))
