"""Tensor: an array whose history is recorded; what NumPy users know as operators and methods."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import graph
from .graph import Absorb, Array, Handle, Hook, Node, Walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from typing_extensions import Self

    from tropical.semirings import Semiring

    from .shape import Index

# What an operation takes besides Tensors.
Operand: TypeAlias = "Tensor | ArrayLike"
Axes: TypeAlias = "int | Sequence[int] | None"

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_new = object.__new__
_accumulating = threading.Lock()  # several threads may walk graphs over the same leaves


def _float_array(data: Any, dtype: DTypeLike | None) -> Array:
    array = np.asarray(data, dtype=dtype)
    if array.dtype in _DTYPES:
        return array
    if dtype is None and array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.newbyteorder("=") in _DTYPES:
        return array.astype(array.dtype.newbyteorder("="))
    raise TypeError(f"data: a Tensor is of float32 or float64, not {array.dtype}")


class Tensor:
    """An array of float32 or float64 that remembers how it was computed.

    Parameters
    ----------
    data : array_like
        The values; an array of one of these dtypes is not copied. Integers and truth values become
        float64.
    requires_grad : bool, default False
        Collect the gradient of what is computed from this tensor in `grad`.
    dtype : dtype, optional
        float32 or float64; that of the data unless given.

    Attributes
    ----------
    data : ndarray
        The values. Changing them between the computation of a value and its `backward` makes
        gradients wrong.
    grad : Tensor or None
        The sum of the gradients of all walks since it was last None.

    Raises
    ------
    TypeError
        If `dtype`, or that of the data, is another.

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
    __array_ufunc__ = None  # array + tensor is the tensor's to compute
    __hash__ = object.__hash__

    def __init__(
        self, data: ArrayLike, requires_grad: bool = False, *, dtype: DTypeLike | None = None
    ) -> None:
        if isinstance(data, Tensor):
            raise TypeError("data: is a Tensor already; detach() gives one without its history")
        self.data: Array = _float_array(data, dtype)
        self.grad: Tensor | None = None
        self.node: Node | None = graph.leaf(self) if requires_grad else None

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

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if self.requires_grad:
            raise TypeError(
                "a Tensor that requires grad is not taken for an array: use its data, or detach()"
            )
        return np.array(self.data, dtype=dtype, copy=copy)

    # --- the graph ---

    @property
    def requires_grad(self) -> bool:
        """Whether gradients of what is computed from this tensor pass through it."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not self.is_leaf:
            raise RuntimeError(
                "requires_grad: this tensor was computed from others; detach() it first"
            )
        if value and self.node is None:  # as before, with its hooks, if it was
            self.node = getattr(self, "_leaf", None) or graph.leaf(self)
        elif not value:
            self._leaf, self.node = self.node, None

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor was made by the user rather than by a recorded operation."""
        return self.node is None or self.node.is_leaf

    def detach(self) -> Tensor:
        """Return a tensor of the same data, without history."""
        return tensor_of(self.data, None)

    def backward(
        self,
        gradient: Operand | None = None,
        *,
        retain_graph: bool | None = None,
        create_graph: bool = False,
    ) -> None:
        """Add this tensor's gradient with respect to each leaf behind it to the leaf's `grad`.

        Parameters
        ----------
        gradient : array_like or Tensor of this tensor's shape, optional
            The gradient of a scalar with respect to this tensor; 1 unless given, if this has one
            element.
        retain_graph : bool, optional
            Keep the buffers of the graph, so that it can be walked again; `create_graph` unless
            given.
        create_graph : bool, default False
            Record the walk as well: the gradients can then be differentiated once more.

        Raises
        ------
        RuntimeError
            If this tensor does not require grad, or its graph was walked before and released
            (`GraphReleasedError`).
        ValueError
            If `gradient` is missing or of another shape.
        """
        walk_back(self, "backward", gradient, retain=retain_graph, recorded=create_graph)

    def _start(self, gradient: Operand | None, name: str) -> tuple[Node, Tensor]:
        if self.node is None:
            raise RuntimeError(
                f"{name}: this tensor does not require grad and was computed from none that does"
            )
        if gradient is None:
            if self.size != 1:
                raise ValueError(
                    f"gradient: is needed, this tensor of shape {self.shape} is not one element"
                )
            return self.node, tensor_of(np.ones_like(self.data), None)
        if not isinstance(gradient, Tensor):
            gradient = Tensor(np.asarray(gradient, dtype=self.dtype))
        if gradient.shape != self.shape:
            raise ValueError(f"gradient: has shape {gradient.shape}, this tensor {self.shape}")
        return self.node, gradient if gradient.dtype == self.dtype else shape.cast(
            gradient, self.dtype
        )

    def retain_grad(self) -> None:
        """Collect the gradient in `grad` also where this tensor is not a leaf."""
        if self.node is None:
            raise RuntimeError("retain_grad: this tensor does not require grad")
        if self.node.tensor is None or self.node.tensor() is None:
            self.node.tensor = weakref.ref(self)

    def register_hook(self, hook: Hook) -> Handle:
        """Call `hook` with the gradient of this tensor whenever a walk has completed it.

        Parameters
        ----------
        hook : callable
            Takes the gradient, a Tensor; what it returns, unless None, takes its place.

        Returns
        -------
        Handle
            Its `remove` takes the hook away.
        """
        if self.node is None:
            raise RuntimeError("register_hook: this tensor does not require grad")
        if self.node.hooks is None:
            self.node.hooks = {}
        return Handle(self.node.hooks, hook)

    # --- operators ---

    def __add__(self, other: Operand) -> Tensor:
        return elementwise.add(self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return elementwise.add(other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return elementwise.subtract(self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return elementwise.subtract(other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return elementwise.multiply(self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return elementwise.multiply(other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return elementwise.divide(self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return elementwise.divide(other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return elementwise.power(self, other)

    def __rpow__(self, other: Operand) -> Tensor:
        return elementwise.power(other, self)

    def __matmul__(self, other: Operand) -> Tensor:
        return products.matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return products.matmul(other, self)

    def __neg__(self) -> Tensor:
        return elementwise.negative(self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return elementwise.absolute(self)

    # In place only where nothing is recorded: a graph may still need the old values. Elsewhere
    # Python takes ``x += y`` for ``x = x + y``.

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
        if graph.state.recording:
            self._check_in_place()
            return NotImplemented
        ufunc(self.data, data_of(other), out=self.data, casting="same_kind")
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

    def __getitem__(self, index: Index) -> Tensor:
        return shape.getitem(self, index)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iteration over a 0-D Tensor")
        return (self[i] for i in range(len(self)))

    # Comparisons have no gradient: they give arrays.

    def __eq__(self, other: object) -> Array:  # type: ignore[override]
        return np.equal(self.data, data_of(other))

    def __ne__(self, other: object) -> Array:  # type: ignore[override]
        return np.not_equal(self.data, data_of(other))

    def __lt__(self, other: Operand) -> Array:
        return np.less(self.data, data_of(other))

    def __le__(self, other: Operand) -> Array:
        return np.less_equal(self.data, data_of(other))

    def __gt__(self, other: Operand) -> Array:
        return np.greater(self.data, data_of(other))

    def __ge__(self, other: Operand) -> Array:
        return np.greater_equal(self.data, data_of(other))

    # --- operations, as methods ---

    @property
    def T(self) -> Tensor:
        """The tensor with its axes reversed."""
        return shape.transpose(self)

    def matmul(self, other: Operand, *, semiring: str | Semiring = "plustimes") -> Tensor:
        """See `tropical.autograd.matmul`."""
        return products.matmul(self, other, semiring=semiring)

    def exp(self) -> Tensor:
        """See `tropical.autograd.exp`."""
        return elementwise.exp(self)

    def log(self) -> Tensor:
        """See `tropical.autograd.log`."""
        return elementwise.log(self)

    def sqrt(self) -> Tensor:
        """See `tropical.autograd.sqrt`."""
        return elementwise.sqrt(self)

    def tanh(self) -> Tensor:
        """See `tropical.autograd.tanh`."""
        return elementwise.tanh(self)

    def sigmoid(self) -> Tensor:
        """See `tropical.autograd.sigmoid`."""
        return elementwise.sigmoid(self)

    def relu(self) -> Tensor:
        """See `tropical.autograd.relu`."""
        return elementwise.relu(self)

    def abs(self) -> Tensor:
        """See `tropical.autograd.absolute`."""
        return elementwise.absolute(self)

    def gelu(self) -> Tensor:
        """See `tropical.autograd.gelu`."""
        return elementwise.gelu(self)

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor:
        """See `tropical.autograd.clip`."""
        return elementwise.clip(self, min, max)

    # `numpy.sum(tensor)` and its like call these, with a dtype and an `out` that we have not.

    def sum(self, axis: Axes = None, keepdims: bool = False, **absent: None) -> Tensor:
        """See `tropical.autograd.sum`."""
        return reduce.sum(self, axis, keepdims, **absent)

    def mean(self, axis: Axes = None, keepdims: bool = False, **absent: None) -> Tensor:
        """See `tropical.autograd.mean`."""
        return reduce.mean(self, axis, keepdims, **absent)

    def max(self, axis: Axes = None, keepdims: bool = False, **absent: None) -> Tensor:
        """See `tropical.autograd.max`."""
        return reduce.max(self, axis, keepdims, **absent)

    def min(self, axis: Axes = None, keepdims: bool = False, **absent: None) -> Tensor:
        """See `tropical.autograd.min`."""
        return reduce.min(self, axis, keepdims, **absent)

    def var(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """See `tropical.autograd.var`."""
        return reduce.var(self, axis, keepdims)

    def logsumexp(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """See `tropical.autograd.logsumexp`."""
        return reduce.logsumexp(self, axis, keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """Return where the maximum is, as `numpy.argmax`; an array without gradient."""
        return np.argmax(self.data, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """Return where the minimum is, as `numpy.argmin`; an array without gradient."""
        return np.argmin(self.data, axis, keepdims=keepdims)

    def tolist(self) -> Any:
        """Return the values as nested lists of numbers."""
        return self.data.tolist()

    def copy(self) -> Tensor:
        """Return a tensor with data of its own, through which gradients pass."""
        return elementwise.multiply(self, 1.0)

    def ravel(self) -> Tensor:
        """Return the elements along one axis."""
        return shape.reshape(self, self.size)

    def squeeze(self, axis: Any = None) -> Tensor:
        """See `tropical.autograd.squeeze`."""
        return shape.squeeze(self, axis)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """See `tropical.autograd.swapaxes`."""
        return shape.swapaxes(self, axis1, axis2)

    def reshape(self, *lengths: Any) -> Tensor:
        """See `tropical.autograd.reshape`."""
        return shape.reshape(self, *lengths)

    def transpose(self, *axes: Any) -> Tensor:
        """See `tropical.autograd.transpose`."""
        return shape.transpose(self, *axes)

    def astype(self, dtype: DTypeLike) -> Tensor:
        """See `tropical.autograd.cast`."""
        return shape.cast(self, dtype)


def tensor_of(data: Array, node: Node | None) -> Tensor:
    """Return a Tensor of an array as it is, whose history is `node`."""
    tensor = _new(Tensor)
    tensor.data = data
    tensor.grad = None
    tensor.node = node
    return tensor


def _copied(kind: type[Tensor], data: Array, requires_grad: bool, grad: Tensor | None) -> Tensor:
    """Return a leaf of its own; `copy` and `pickle` call it with the parts of another."""
    tensor = _new(kind)
    tensor.data = data
    tensor.grad = grad
    tensor.node = graph.leaf(tensor) if requires_grad else None
    return tensor


def floats(x: Operand) -> Any:
    """Return a Tensor as it is, and anything else as an array of float32 or float64."""
    return x if isinstance(x, Tensor) else _float_array(x, None)


def data_of(x: Any) -> Any:
    """Return the array of a Tensor, and anything else as it is."""
    return x.data if isinstance(x, Tensor) else x


def grad(
    output: Tensor,
    inputs: Tensor | Iterable[Tensor],
    gradient: Operand | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> list[Tensor]:
    """Return the gradients of `output` with respect to `inputs`; nobody's `grad` is touched.

    Parameters
    ----------
    output : Tensor
        What is differentiated.
    inputs : Tensor or iterable of Tensors
        Leaves or computed tensors that `output` may depend on.
    gradient, retain_graph, create_graph
        As for `Tensor.backward`.

    Returns
    -------
    list of Tensor
        One for each input, of its shape; zeros where `output` does not depend on it.

    Raises
    ------
    RuntimeError
        If `output` or an input does not require grad, or the graph was released.
    TypeError
        If `output` or an input is no Tensor.

    Examples
    --------
    >>> from tropical.autograd import Tensor, grad
    >>> x = Tensor(3.0, requires_grad=True)
    >>> (slope,) = grad(x**3, [x], create_graph=True)
    >>> slope.item(), grad(slope, [x])[0].item()
    (27.0, 18.0)
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for name, x in (("output", output), *((f"inputs[{i}]", x) for i, x in enumerate(tensors))):
        if not isinstance(x, Tensor):
            raise TypeError(f"grad: {name} must be a Tensor, not {type(x).__name__}")
        if x.node is None:
            raise RuntimeError(f"grad: {name} does not require grad")
    node, first = output._start(gradient, "grad")
    found: dict[Node | None, Tensor] = {}

    def deliver(reached: Node, value: Any) -> None:
        found[reached] = value if isinstance(value, Tensor) else tensor_of(value, None)

    wanted = {x.node for x in tensors if x.node is not None}
    Walk(node, deliver, retain=retain_graph, recorded=create_graph, wanted=wanted).run(first)
    return [
        found[x.node] if x.node in found else tensor_of(np.zeros_like(x.data), None)
        for x in tensors
    ]


def walk_back(
    output: Tensor,
    name: str,
    gradient: Operand | None = None,
    *,
    retain: bool | None = None,
    recorded: bool = False,
    absorb: Absorb | None = None,
) -> None:
    """Do what `Tensor.backward` does, in the name of `name`; for the others see `graph.Walk`."""
    node, first = output._start(gradient, name)
    Walk(node, _add_to_grad, retain=retain, recorded=recorded, absorb=absorb).run(first)


def _add_to_grad(node: Node, gradient: Any) -> None:
    tensor = None if node.tensor is None else node.tensor()
    if tensor is None:  # nobody can look at it any more
        return
    if not isinstance(gradient, Tensor):
        gradient = tensor_of(gradient, None)
    with _accumulating:
        tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient


# Last, as they import Tensor.
from . import elementwise, products, reduce, shape  # noqa: E402
