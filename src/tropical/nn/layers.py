"""Layers, and `Sequential`, which applies them in order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from tropical import autograd, semirings
from tropical.arrays import check_share
from tropical.autograd import Tensor, random
from tropical.autograd.convolution import Pair, pair, pool_windows
from tropical.autograd.tensor import data_of

from .checks import Rng, check_sizes, float_dtype, not_negative
from .init import fan_in_uniform, normal, uniform
from .module import Array, Module, ModuleKind, Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator


def _in_columns(weight: Array) -> Array:
    """Return a copy of a matrix in Fortran order whose memory begins at a cache line."""
    room = np.empty(weight.size + 64 // weight.itemsize, weight.dtype)
    skipped = -room.ctypes.data % 64 // room.itemsize
    columns = room[skipped : skipped + weight.size].reshape(weight.T.shape).T
    columns[...] = weight
    return columns


class Linear(Module):
    """``x @ weight.T + bias``.

    Parameters
    ----------
    inputs, outputs : int
        Lengths of a row before and after.
    bias : bool, default True
        Whether the layer has a bias.
    dtype : dtype, default float32
        The dtype of the parameters.
    rng : numpy.random.Generator, optional
        The generator of the initial weights, see `fan_in_uniform`.

    Notes
    -----
    The weight has shape (outputs, inputs). It lies in memory column by column, as a row of `x`
    times ``weight.T`` reads it.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        bias: bool = True,
        dtype: DTypeLike = np.float32,
        rng: Rng = None,
    ) -> None:
        super().__init__()
        check_sizes(inputs=inputs, outputs=outputs)
        weight = fan_in_uniform((outputs, inputs), dtype=dtype, rng=rng)
        self.weight: Parameter = Parameter(weight)
        self.weight.data = _in_columns(weight)
        bound = 1 / math.sqrt(max(inputs, 1))
        self.bias: Parameter | None = (
            Parameter(uniform((outputs,), bound, dtype=dtype, rng=rng)) if bias else None
        )

    def forward(self, x: Any, activation: str | None = None) -> Tensor:
        """Return the new rows; `activation` is that of `tropical.autograd.linear`."""
        return autograd.linear(x, self.weight, self.bias, activation=activation)

    def extra_repr(self) -> str:
        """Return the lengths."""
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}"


class TropicalLinear(Module):
    """``y[o] = max over i of (x[i] + weight[o, i])``, or min: a layer over a tropical semiring.

    Parameters
    ----------
    inputs, outputs : int
        Lengths of a row before and after.
    semiring : str or Semiring, default "maxplus"
        A selective semiring.
    dtype : dtype, default float32
        The dtype of the weights.
    rng : numpy.random.Generator, optional
        The generator of the initial weights: normal of deviation 1, because all outputs depend on
        the same few inputs if the deviation is much smaller. A semiring of numbers that are not
        negative (maxtimes, mintimes) takes their exponentials.

    Notes
    -----
    V. Charisopoulos and P. Maragos, "Morphological perceptrons: geometry and training algorithms",
    ISMM 2017, section 2.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        semiring: str | semirings.Semiring = "maxplus",
        dtype: DTypeLike = np.float32,
        rng: Rng = None,
    ) -> None:
        super().__init__()
        check_sizes(inputs=inputs, outputs=outputs)
        ring = semirings.get(semiring)
        if not ring.selective:
            raise TypeError(f"semiring: expected a selective one, got {ring.name}")
        weight = normal((outputs, inputs), 1.0, dtype=dtype, rng=rng)
        self.weight: Parameter = Parameter(np.exp(weight) if ring.nonnegative else weight)
        self.semiring = semiring

    def forward(self, x: Any) -> Tensor:
        """Return the new rows."""
        return autograd.matmul(x, self.weight.T, semiring=self.semiring)

    def extra_repr(self) -> str:
        """Return lengths and semiring."""
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}, semiring={self.semiring!r}"


class Conv2d(Module):
    """Correlation with filters; see `tropical.autograd.conv2d`.

    Parameters
    ----------
    channels, filters : int
        Numbers of channels before and after.
    kernel : int or pair of int
        Height and width of a filter.
    stride, padding : int or pair of int
        Down and across.
    bias : bool, default True
        Whether the layer has a bias.
    dtype, rng
        As for `Linear`.
    """

    def __init__(
        self,
        channels: int,
        filters: int,
        kernel: Pair,
        *,
        stride: Pair = 1,
        padding: Pair = 0,
        bias: bool = True,
        dtype: DTypeLike = np.float32,
        rng: Rng = None,
    ) -> None:
        super().__init__()
        check_sizes(channels=channels, filters=filters)
        pair(stride, "stride", 1)
        pair(padding, "padding", 0)
        shape = (filters, channels, *pair(kernel, "kernel", 1))
        self.weight: Parameter = Parameter(fan_in_uniform(shape, dtype=dtype, rng=rng))
        bound = 1 / math.sqrt(max(math.prod(shape[1:]), 1))
        self.bias: Parameter | None = (
            Parameter(uniform((filters,), bound, dtype=dtype, rng=rng)) if bias else None
        )
        self.stride = stride
        self.padding = padding

    def forward(self, x: Any) -> Tensor:
        """Return the new images."""
        return autograd.conv2d(x, self.weight, self.bias, stride=self.stride, padding=self.padding)

    def extra_repr(self) -> str:
        """Return the sizes."""
        filters, channels, *kernel = self.weight.shape
        return (
            f"{channels}, {filters}, {tuple(kernel)}, stride={self.stride}, padding={self.padding}"
        )


class _Pool(Module):
    def __init__(self, kernel: Pair, *, stride: Pair | None = None, padding: Pair = 0) -> None:
        super().__init__()
        pool_windows(kernel, stride, padding)
        self.kernel = kernel
        self.stride = stride
        self.padding = padding

    def extra_repr(self) -> str:
        """Return the window."""
        return f"{self.kernel}, stride={self.stride}, padding={self.padding}"


class MaxPool2d(_Pool):
    """The largest pixel of each window; see `tropical.autograd.max_pool2d`.

    Parameters
    ----------
    kernel : int or pair of int
        Height and width of a window.
    stride : int or pair of int, optional
        Down and across; the size of the window by default.
    padding : int or pair of int, default 0
        The width of a border of -inf, at most half of the window.
    """

    def forward(self, x: Any) -> Tensor:
        """Return the smaller images."""
        return autograd.max_pool2d(x, self.kernel, stride=self.stride, padding=self.padding)


class AvgPool2d(_Pool):
    """The mean of each window; see `tropical.autograd.avg_pool2d`.

    Parameters
    ----------
    kernel, stride, padding
        As for `MaxPool2d`, with a border of zeros, which count in the mean.
    """

    def forward(self, x: Any) -> Tensor:
        """Return the smaller images."""
        return autograd.avg_pool2d(x, self.kernel, stride=self.stride, padding=self.padding)


class BatchNorm(Module):
    """Batch normalization of channels, axis 1; see `tropical.autograd.batch_norm`.

    Parameters
    ----------
    channels : int
        Length of axis 1.
    momentum : float, default 0.1
        The share of a batch in the running mean and variance.
    eps : float, default 1e-5
        Added to the variance.
    dtype : dtype, default float32
        The dtype of parameters and buffers.

    Notes
    -----
    `tropical.autograd.checkpoint` computes its part again in the backward pass, so the running
    mean and variance inside it move twice a step.
    """

    def __init__(
        self,
        channels: int,
        *,
        momentum: float = 0.1,
        eps: float = 1e-5,
        dtype: DTypeLike = np.float32,
    ) -> None:
        super().__init__()
        check_sizes(channels=channels)
        not_negative(eps=eps)
        if not 0 <= momentum <= 1:
            raise ValueError(f"momentum: expected a number in [0, 1], got {momentum}")
        dtype = float_dtype(dtype)
        self.weight: Parameter = Parameter(np.ones(channels, dtype=dtype))
        self.bias: Parameter = Parameter(np.zeros(channels, dtype=dtype))
        self.running_mean: Array = np.zeros(channels, dtype=dtype)
        self.running_var: Array = np.ones(channels, dtype=dtype)
        self.momentum = momentum
        self.eps = eps

    def forward(self, x: Any) -> Tensor:
        """Return the normalized batch."""
        return autograd.batch_norm(
            x,
            self.weight,
            self.bias,
            running_mean=self.running_mean,
            running_var=self.running_var,
            training=self.training,
            momentum=self.momentum,
            eps=self.eps,
        )


class LayerNorm(Module):
    """Normalization of the last axis; see `tropical.autograd.layer_norm`.

    Parameters
    ----------
    length : int
        Length of the last axis.
    eps : float, default 1e-5
        Added to the variance.
    dtype : dtype, default float32
        The dtype of the parameters.
    """

    def __init__(self, length: int, *, eps: float = 1e-5, dtype: DTypeLike = np.float32) -> None:
        super().__init__()
        check_sizes(length=length)
        not_negative(eps=eps)
        dtype = float_dtype(dtype)
        self.weight: Parameter = Parameter(np.ones(length, dtype=dtype))
        self.bias: Parameter = Parameter(np.zeros(length, dtype=dtype))
        self.eps = eps

    def forward(self, x: Any) -> Tensor:
        """Return the normalized rows; ValueError for those of another length."""
        shape = np.shape(data_of(x))
        if shape[-1:] != self.weight.shape:
            raise ValueError(f"x: expected (..., {self.weight.size}), got {shape}")
        return autograd.layer_norm(x, self.weight, self.bias, eps=self.eps)


class Embedding(Module):
    """A table of rows; see `tropical.autograd.embedding`.

    Parameters
    ----------
    rows, length : int
        The number of rows, and the length of a row.
    dtype : dtype, default float32
        The dtype of the table.
    rng : numpy.random.Generator, optional
        The generator of the initial rows: normal of deviation 1.
    """

    def __init__(
        self, rows: int, length: int, *, dtype: DTypeLike = np.float32, rng: Rng = None
    ) -> None:
        super().__init__()
        check_sizes(rows=rows, length=length)
        self.weight: Parameter = Parameter(normal((rows, length), 1.0, dtype=dtype, rng=rng))

    def forward(self, indices: Any) -> Tensor:
        """Return the rows at `indices`.

        Raises
        ------
        IndexError
            If there is no such row.
        """
        return autograd.embedding(self.weight, indices)


class Dropout(Module):
    """Zeros with probability p in training; see `tropical.autograd.dropout`.

    Parameters
    ----------
    p : float, default 0.5
        In [0, 1).
    rng : numpy.random.Generator, optional
        The generator of the zeros, `tropical.autograd.generator()` by default.
    """

    def __init__(self, p: float = 0.5, *, rng: Rng = None) -> None:
        super().__init__()
        check_share("p", p)
        random.chosen(rng)
        self.p = p
        self.rng = rng

    def forward(self, x: Any) -> Tensor:
        """Return x, in training with random zeros."""
        return autograd.dropout(x, self.p, training=self.training, rng=self.rng)

    def extra_repr(self) -> str:
        """Return p."""
        return str(self.p)


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: Any) -> Tensor:
        """Return max(x, 0)."""
        return autograd.relu(x)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, x: Any) -> Tensor:
        """Return tanh(x)."""
        return autograd.tanh(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Any) -> Tensor:
        """Return 1 / (1 + exp(-x))."""
        return autograd.sigmoid(x)


class GELU(Module):
    """x times the normal distribution function at x; see `tropical.autograd.gelu`."""

    def forward(self, x: Any) -> Tensor:
        """Return gelu(x)."""
        return autograd.gelu(x)


_ACTIVATIONS: dict[type, str] = {ReLU: "relu", GELU: "gelu"}  # which `linear` has


class Flatten(Module):
    """All axes but the first made one."""

    def forward(self, x: Any) -> Tensor:
        """Return x as (n, everything else)."""
        shape = np.shape(data_of(x))
        if not shape:
            raise ValueError("x: expected (n, ...), got ()")
        return autograd.reshape(x, (shape[0], math.prod(shape[1:])))


class Sequential(Module):
    """Modules applied in order. A `Linear` before a `ReLU` or a `GELU` computes both in one pass.

    That is, before a `GELU` where nothing is recorded, as under `no_grad`.

    A module that is set as an attribute later joins the others: under a name in use, "0", "1", ...,
    it replaces a module, and under a new name it comes last.

    Parameters
    ----------
    *modules : Module
        The modules, in order.
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for number, module in enumerate(modules):
            if not isinstance(module, Module):
                raise TypeError(f"modules[{number}]: expected a Module, got {module!r}")
            setattr(self, str(number), module)

    def forward(self, x: Any) -> Any:
        """Return the output of the last module."""
        linear: Linear | None = None  # waits for the module behind it, with which it may be fused
        for module in self:
            plain = not module._hooks and "forward" not in vars(module)
            if linear is not None:
                activation = _ACTIVATIONS.get(type(module)) if plain else None
                x, linear = linear.forward(x, activation), None
                if activation is not None:
                    continue
            if plain and type(module) is Linear:
                linear = module
            else:
                x = module(x)
        return x if linear is None else linear.forward(x)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, number: int) -> Module:
        return list(self)[number]

    def __iter__(self) -> Iterator[Module]:
        # isinstance(value, Module) would ask the metaclass, which takes longer.
        return iter([value for value in vars(self).values() if isinstance(type(value), ModuleKind)])
