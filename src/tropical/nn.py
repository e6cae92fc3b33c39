"""Neural networks over `tropical.autograd`: modules, layers, initialisers, parameter files."""

from __future__ import annotations

import itertools
import math
import os
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tropical import autograd, semirings
from tropical.autograd import Tensor, is_grad_enabled
from tropical.autograd.convolution import Pair, pair, pool_windows
from tropical.autograd.graph import Handle
from tropical.autograd.tensor import data_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Array: TypeAlias = NDArray[Any]
Rng: TypeAlias = "np.random.Generator | None"
PathLike: TypeAlias = "str | os.PathLike[str]"

# --- checks of arguments, by name ---


def not_negative(**values: float) -> None:
    """Raise ValueError unless these numbers are finite and at least 0."""
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name}: must be finite and not negative, got {value}")


def _sizes(**sizes: Any) -> None:
    for name, size in sizes.items():
        if not isinstance(size, (int, np.integer)):
            raise TypeError(f"{name}: must be an int, got {size!r}")
    not_negative(**sizes)


def _float_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise TypeError(f"dtype: must be float32 or float64, got {kind}")
    return kind


def _generator(rng: Rng) -> np.random.Generator:
    if rng is None:
        return autograd.generator()
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng: must be a numpy.random.Generator, got {rng!r}")
    return rng


# --- modules ---


class Parameter(Tensor):
    """A Tensor that requires grad and that a `Module` counts as its own."""

    __slots__ = ()

    def __init__(self, data: Any, *, dtype: DTypeLike | None = None) -> None:
        super().__init__(data, requires_grad=True, dtype=dtype)
        self.data = np.array(self.data, order="C")


class Module:
    """A part of a network; subclasses set parameters and modules as attributes, define `forward`.

    Attributes that are a `Parameter`, a `Module`, or an array (a buffer: state that is not
    trained) belong to the module, in the order in which they were set.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.Parameter([2.0])
    ...
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(np.ones(3)).data
    array([2., 2., 2.])
    """

    training: bool

    def __init__(self) -> None:
        self.training = True
        self._hooks: dict[str, dict[int, Any]] = {}

    def forward(self, *inputs: Any) -> Any:
        """Compute the output; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Return what `forward` computes, as the hooks leave it."""
        if not self._hooks:
            return self.forward(*inputs, **keywords)
        return self._with_hooks(inputs, keywords)

    # --- hooks: they see positional inputs alone, and must change no value in place ---

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, inputs)`` before forward; a tuple it returns takes their place.

        Keyword arguments pass it by. The hook must not change an input in place.
        """
        return Handle(self._hooks.setdefault("forward_pre", {}), hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, inputs, output)`` after forward; what it returns takes its place.

        The hook must not change inputs or output in place: gradients need them as they are.
        """
        return Handle(self._hooks.setdefault("forward", {}), hook)

    def register_backward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, gradient)`` with the output's gradient, before it enters the module.

        What it returns, unless None, takes its place; the hook must not change the gradient in
        place, which others may hold. The output must be one Tensor.
        """
        return Handle(self._hooks.setdefault("backward_pre", {}), hook)

    def register_backward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, gradient)`` with the first input's gradient, as it leaves the module.

        What it returns, unless None, takes its place; the hook must not change the gradient in
        place, which others may hold. The first input must be a Tensor that requires grad.
        """
        return Handle(self._hooks.setdefault("backward", {}), hook)

    def _with_hooks(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        for hook in self._hooks_of("forward_pre"):
            replaced = hook(self, inputs)
            if replaced is not None:
                inputs = replaced if isinstance(replaced, tuple) else (replaced,)
        if inputs:
            inputs = (self._watched(inputs[0], "backward"), *inputs[1:])
        output = self.forward(*inputs, **keywords)
        for hook in self._hooks_of("forward"):
            replaced = hook(self, inputs, output)
            output = output if replaced is None else replaced
        return self._watched(output, "backward_pre")

    def _hooks_of(self, kind: str) -> list[Any]:
        return list(self._hooks.get(kind, {}).values())

    def _watched(self, value: Any, kind: str) -> Any:
        """Return a tensor of its own, whose gradient the hooks see; other values as they are."""
        hooks = self._hooks.get(kind)
        recorded = is_grad_enabled() and isinstance(value, Tensor) and value.requires_grad
        if not (hooks and recorded):
            return value
        watched = autograd.cast(value, value.dtype)
        for number in hooks:
            watched.register_hook(partial(self._call_hook, hooks, number))
        return watched

    def _call_hook(self, hooks: dict[int, Any], number: int, gradient: Tensor) -> Any:
        hook = hooks.get(number)  # unless it was removed since
        return None if hook is None else hook(self, gradient)

    # --- what belongs to it ---

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the names and modules among the attributes."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value

    def children(self) -> Iterator[Module]:
        """Yield the modules among the attributes."""
        for _, module in self.named_children():
            yield module

    def modules(self) -> Iterator[Module]:
        """Yield this module and all inside it."""
        found, stack = {self}, [self]
        while stack:
            module = stack.pop()
            yield module
            inside = [child for child in module.children() if child not in found]
            found.update(inside)
            stack += inside[::-1]

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield names, with dots, and parameters of this module and all inside it, each once."""
        seen: set[int] = set()
        for name, value in self._named(Parameter):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters of this module and all inside it, each once."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, Array]]:
        """Yield the names and arrays that belong to the modules and are not trained."""
        yield from self._named(np.ndarray)

    def _named(
        self, kind: type[Any], prefix: str = "", above: tuple[Module, ...] = ()
    ) -> Iterator[tuple[str, Any]]:
        above = (*above, self)
        for name, value in vars(self).items():
            if isinstance(value, Module):
                if value not in above:  # a part may know the whole
                    yield from value._named(kind, f"{prefix}{name}.", above)
            elif isinstance(value, kind):
                yield prefix + name, value

    def train(self, mode: bool = True) -> Module:
        """Set this module and all inside it to training, or to evaluation."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Set this module and all inside it to evaluation."""
        return self.train(False)

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.grad = None

    # --- files ---

    def state_dict(self) -> dict[str, Array]:
        """Return copies of parameters and buffers, by name."""
        state = {name: parameter.data.copy() for name, parameter in self._named(Parameter)}
        state.update((name, buffer.copy()) for name, buffer in self.named_buffers())
        return state

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Copy values into parameters and buffers.

        Parameters
        ----------
        state : mapping of str to array
            As `state_dict` returns it: every name, in its shape.

        Raises
        ------
        ValueError
            If a name is missing or unknown or a shape differs; nothing is changed then.
        TypeError
            If an array cannot be cast to the dtype that is wanted; nothing is changed then.
        """
        targets = {name: parameter.data for name, parameter in self._named(Parameter)}
        targets.update(self.named_buffers())
        arrays = matching(state, targets)
        for name, target in targets.items():
            np.copyto(target, arrays[name], casting="same_kind")

    def save(self, path: PathLike) -> None:
        """Write the state to an ``.npz`` file in one step: a failure leaves an old one as it is."""
        save_arrays(path, self.state_dict())

    def load(self, path: PathLike) -> None:
        """Read the state from a file that `save` wrote.

        Raises
        ------
        ValueError
            If the file is damaged or of another network.
        OSError
            If it cannot be read.
        """
        state = load_arrays(path)
        try:
            self.load_state_dict(state)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def __repr__(self) -> str:
        children = self.named_children()
        inner = "".join(
            f"\n  {name}: {repr(m).replace(chr(10), chr(10) + '  ')}" for name, m in children
        )
        return f"{type(self).__name__}({self.extra_repr()}){inner}"

    def extra_repr(self) -> str:
        """Return what the representation says besides the name."""
        return ""


def matching(state: Mapping[str, Array], targets: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of a state; raise unless each can be copied into the target of its name."""
    missing, unknown = targets.keys() - state.keys(), state.keys() - targets.keys()
    if missing or unknown:
        raise ValueError(f"state: missing {sorted(missing)}, unknown {sorted(unknown)}")
    arrays = {name: np.asarray(state[name]) for name in targets}
    for name, target in targets.items():
        array = arrays[name]
        if array.shape != target.shape:
            raise ValueError(f"state: {name} has shape {array.shape}, {target.shape} is wanted")
        if not np.can_cast(array.dtype, target.dtype, "same_kind"):
            raise TypeError(f"state: {name} is of {array.dtype}, {target.dtype} is wanted")
    return arrays


def save_arrays(path: PathLike, arrays: Mapping[str, Array]) -> None:
    """Write arrays by name to an ``.npz`` file, without pickle, replacing it in one step.

    Of a symbolic link, the file that it leads to is replaced.
    """
    path = Path(path).resolve()
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_arrays(path: PathLike) -> dict[str, Array]:
    """Read the arrays of an ``.npz`` file.

    Raises
    ------
    ValueError
        If the file is no such file or is damaged; the message names it.
    OSError
        If it cannot be opened.
    """
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return {
                    name.removesuffix(".npy"): _member(archive, name) for name in archive.namelist()
                }
        except Exception as error:  # a damaged byte may raise anything, in zipfile, zlib or NumPy
            raise ValueError(
                f"{os.fspath(path)}: is not an .npz file of arrays, or damaged ({error})"
            ) from None


def _member(archive: zipfile.ZipFile, name: str) -> Array:
    with archive.open(name) as member:
        array: Array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read():  # to the end, where the checksum is compared
            raise ValueError(f"{name} goes on after its array")
    return array


# --- initialisers ---


def uniform(
    shape: tuple[int, ...], bound: float, *, dtype: DTypeLike = np.float32, rng: Rng = None
) -> Array:
    """Return values drawn uniformly from [-bound, bound)."""
    kind = _float_dtype(dtype)
    values = _generator(rng).random(shape, dtype=np.float64)
    return ((2 * values - 1) * bound).astype(kind)


def normal(
    shape: tuple[int, ...], deviation: float, *, dtype: DTypeLike = np.float32, rng: Rng = None
) -> Array:
    """Return values drawn from a normal distribution of mean 0."""
    kind = _float_dtype(dtype)
    return (_generator(rng).standard_normal(shape) * deviation).astype(kind)


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the inputs of an output and the outputs of an input of weights (out, in, ...)."""
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def fan_in_uniform(
    shape: tuple[int, ...], *, dtype: DTypeLike = np.float32, rng: Rng = None
) -> Array:
    """Return uniform weights in [-1, 1) / sqrt(inputs), as PyTorch's layers have by default.

    A third of the variance of Y. LeCun, L. Bottou, G. Orr and K.-R. Müller, "Efficient backprop",
    1998, section 4.6.
    """
    return uniform(shape, 1 / math.sqrt(max(_fans(shape)[0], 1)), dtype=dtype, rng=rng)


def he_normal(shape: tuple[int, ...], *, dtype: DTypeLike = np.float32, rng: Rng = None) -> Array:
    """Return normal weights of variance 2 / inputs, for layers before ReLU.

    K. He, X. Zhang, S. Ren and J. Sun, "Delving deep into rectifiers", ICCV 2015, section 2.2.
    """
    return normal(shape, math.sqrt(2 / max(_fans(shape)[0], 1)), dtype=dtype, rng=rng)


def he_uniform(shape: tuple[int, ...], *, dtype: DTypeLike = np.float32, rng: Rng = None) -> Array:
    """Return uniform weights of the variance of `he_normal`."""
    return uniform(shape, math.sqrt(6 / max(_fans(shape)[0], 1)), dtype=dtype, rng=rng)


def glorot_uniform(
    shape: tuple[int, ...], *, dtype: DTypeLike = np.float32, rng: Rng = None
) -> Array:
    """Return uniform weights of variance 2 / (inputs + outputs).

    X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010, equation 16.
    """
    return uniform(shape, math.sqrt(6 / max(sum(_fans(shape)), 1)), dtype=dtype, rng=rng)


# --- layers ---


class Linear(Module):
    """``x @ weight.T + bias``.

    Parameters
    ----------
    inputs, outputs : int
        Lengths of a row before and after.
    bias : bool, default True
        Whether there is one.
    dtype : dtype, default float32
        Of the parameters.
    rng : numpy.random.Generator, optional
        For the initial weights, `fan_in_uniform`.
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
        _sizes(inputs=inputs, outputs=outputs)
        self.weight = Parameter(fan_in_uniform((outputs, inputs), dtype=dtype, rng=rng))
        bound = 1 / math.sqrt(max(inputs, 1))
        self.bias = Parameter(uniform((outputs,), bound, dtype=dtype, rng=rng)) if bias else None

    def forward(self, x: Any, activation: str | None = None) -> Tensor:
        """Return the new rows, through ReLU if `activation` says so."""
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
        Any selective one.
    dtype : dtype, default float32
        Of the weights.
    rng : numpy.random.Generator, optional
        For the initial weights, normal of deviation 1 (with much less, all outputs heed the same
        few inputs); for maxtimes, which wants positive ones, their exponentials.

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
        _sizes(inputs=inputs, outputs=outputs)
        ring = semirings.get(semiring)
        if not ring.selective:
            raise TypeError(f"semiring: must be selective, {ring.name} is not")
        weight = normal((outputs, inputs), 1.0, dtype=dtype, rng=rng)
        self.weight = Parameter(np.exp(weight) if ring.name == "maxtimes" else weight)
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
        Of the images before and after.
    kernel : int or pair of int
        Height and width of a filter.
    stride, padding : int or pair of int
        Down and across.
    bias : bool, default True
        Whether there is one.
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
        _sizes(channels=channels, filters=filters)
        pair(stride, "stride", 1)
        pair(padding, "padding", 0)
        shape = (filters, channels, *pair(kernel, "kernel", 1))
        self.weight = Parameter(fan_in_uniform(shape, dtype=dtype, rng=rng))
        bound = 1 / math.sqrt(max(math.prod(shape[1:]), 1))
        self.bias = Parameter(uniform((filters,), bound, dtype=dtype, rng=rng)) if bias else None
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
    """The largest pixel of each window; see `tropical.autograd.max_pool2d`."""

    def forward(self, x: Any) -> Tensor:
        """Return the smaller images."""
        return autograd.max_pool2d(x, self.kernel, stride=self.stride, padding=self.padding)


class AvgPool2d(_Pool):
    """The mean of each window; see `tropical.autograd.avg_pool2d`."""

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
        Share of a batch in the running mean and variance.
    eps : float, default 1e-5
        Added to the variance.
    dtype : dtype, default float32
        Of parameters and buffers.

    Notes
    -----
    Inside `tropical.autograd.checkpoint`, which computes its part again in backward, the running
    mean and variance move twice a step.
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
        _sizes(channels=channels)
        not_negative(eps=eps)
        if not 0 <= momentum <= 1:
            raise ValueError(f"momentum: must lie in [0, 1], got {momentum}")
        dtype = _float_dtype(dtype)
        self.weight = Parameter(np.ones(channels, dtype=dtype))
        self.bias = Parameter(np.zeros(channels, dtype=dtype))
        self.running_mean = np.zeros(channels, dtype=dtype)
        self.running_var = np.ones(channels, dtype=dtype)
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
    """Normalization of the last axis; see `tropical.autograd.layer_norm`."""

    def __init__(self, length: int, *, eps: float = 1e-5, dtype: DTypeLike = np.float32) -> None:
        super().__init__()
        _sizes(length=length)
        not_negative(eps=eps)
        dtype = _float_dtype(dtype)
        self.weight = Parameter(np.ones(length, dtype=dtype))
        self.bias = Parameter(np.zeros(length, dtype=dtype))
        self.eps = eps

    def forward(self, x: Any) -> Tensor:
        """Return the normalized rows."""
        return autograd.layer_norm(x, self.weight, self.bias, eps=self.eps)


class Embedding(Module):
    """A table of rows; see `tropical.autograd.embedding`."""

    def __init__(
        self, rows: int, length: int, *, dtype: DTypeLike = np.float32, rng: Rng = None
    ) -> None:
        super().__init__()
        _sizes(rows=rows, length=length)
        self.weight = Parameter(normal((rows, length), 1.0, dtype=dtype, rng=rng))

    def forward(self, indices: Any) -> Tensor:
        """Return the rows at `indices`."""
        return autograd.embedding(self.weight, indices)


class Dropout(Module):
    """Zeros with probability p while training; see `tropical.autograd.dropout`."""

    def __init__(self, p: float = 0.5, *, rng: Rng = None) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"p: must lie in [0, 1), got {p}")
        _generator(rng)
        self.p = p
        self.rng = rng

    def forward(self, x: Any) -> Tensor:
        """Return x with zeros in it."""
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


class Flatten(Module):
    """All axes but the first made one."""

    def forward(self, x: Any) -> Tensor:
        """Return x as (n, everything else)."""
        shape = np.shape(data_of(x))
        if not shape:
            raise ValueError("x: has no axes, (n, ...) is wanted")
        return autograd.reshape(x, (shape[0], math.prod(shape[1:])))


class Sequential(Module):
    """Modules one after the other. A `Linear` before a `ReLU` computes both in one pass.

    Modules that are set as attributes later take part: one named "0", "1", ... in the place of the
    module that had this name, others at the end.

    Parameters
    ----------
    *modules : Module
        In the order in which they are applied.
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for number, module in enumerate(modules):
            if not isinstance(module, Module):
                raise TypeError(f"modules[{number}]: must be a Module, got {module!r}")
            setattr(self, str(number), module)

    def forward(self, x: Any) -> Any:
        """Return what the last module makes of it."""
        done = False  # by the module before
        for module, following in itertools.pairwise((*self, None)):
            if done:
                done = False
                continue
            done = (
                type(module) is Linear
                and type(following) is ReLU
                and not (module._hooks or following._hooks)
                and "forward" not in {*vars(module), *vars(following)}
            )
            x = module.forward(x, activation="relu") if done else module(x)
        return x

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, number: int) -> Module:
        return list(self)[number]

    def __iter__(self) -> Iterator[Module]:
        return iter([value for value in vars(self).values() if isinstance(value, Module)])
