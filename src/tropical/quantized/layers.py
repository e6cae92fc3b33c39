"""Networks that multiply bytes: layers, and how a trained network becomes one of them."""

from __future__ import annotations

import contextlib
import copy
import math
from collections import Counter, deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import nn
from tropical.arrays import Array
from tropical.autograd import Tensor, gelu, no_grad
from tropical.autograd.tensor import data_of

from .product import (
    LONGEST,
    Activation,
    PackedArray,
    check_activation,
    ends_of,
    gemm,
    pack,
    rows_of_layer,
)
from .quantization import Quantization, QuantizedArray, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


@dataclass
class _Meaning:
    """What bytes between two layers stand for: one object, as loading a state replaces it."""

    quantization: Quantization


class QuantizedLinear(nn.Module):
    """``x @ weight.T + bias`` of bytes; inputs become bytes first, unless they are.

    Parameters
    ----------
    weight : array_like, (outputs, inputs)
        Numbers; each row gets a scale of its own.
    bias : array_like, (outputs,), optional
        Is added in float32.
    inputs : Quantization
        What the bytes of an input stand for: one scale.
    activation : {"relu"}, optional
        As for `gemm`.

    Attributes
    ----------
    weight : ndarray of float32, (outputs, inputs)
        What the bytes of the weights stand for; read-only. The state has the bytes by this name.
    weight_scale, bias, input_scale, input_zero_point : ndarray
        The other parts of the state. After a change in place call `pack`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import quantized
    >>> layer = quantized.QuantizedLinear(
    ...     np.eye(2), [0.0, 1.0], quantized.Quantization(0.01, 0, np.uint8)
    ... )
    >>> np.round(layer([0.5, 0.25]).data, 2)
    array([0.5 , 1.25], dtype=float32)
    """

    def __init__(
        self,
        weight: ArrayLike,
        bias: ArrayLike | None,
        inputs: Quantization,
        activation: Activation | None = None,
    ) -> None:
        super().__init__()
        check_activation(activation)
        if not isinstance(inputs, Quantization):
            raise TypeError(f"inputs: expected a Quantization, got {type(inputs).__name__}")
        rows = fit(weight, axis=0).quantize(weight)
        if len(rows.shape) != 2 or inputs.axis is not None:
            raise ValueError(
                f"weight, inputs: expected a matrix and one scale, got shape {rows.shape} and "
                f"axis {inputs.axis}"
            )
        if rows.shape[1] > LONGEST:
            raise ValueError(f"weight: expected at most {LONGEST} inputs, got {rows.shape[1]}")
        if bias is not None and np.shape(bias) != rows.shape[:1]:
            raise ValueError(f"bias: expected shape {rows.shape[:1]}, got {np.shape(bias)}")
        vars(self)["weight"] = rows.values  # under the property of this name: part of the state
        self.weight_scale: NDArray[np.float32] = np.array(rows.quantization.scale)
        self.bias: NDArray[np.float32] | None = (
            None if bias is None else np.array(bias, dtype=np.float32)
        )
        self.input_scale: NDArray[np.float32] = np.array(inputs.scale)
        self.input_zero_point: NDArray[np.int32] = np.array(inputs.zero_point)
        self.input_dtype: np.dtype[Any] = inputs.dtype
        self.activation: Activation | None = activation
        self._meaning: _Meaning = _Meaning(inputs)
        self._following: _Meaning | None = None
        self.pack()

    def pack(self) -> None:
        """Pack the weights, which the products read in this form."""
        packed = pack(self._rows().T)
        inputs = Quantization(self.input_scale, self.input_zero_point, self.input_dtype)
        empty = QuantizedArray(np.empty((0, packed.shape[0]), inputs.dtype), inputs)
        before = ends_of(empty, packed, self.bias, None, None)[:5]
        self._meaning.quantization = inputs
        # In one step, for other threads: the weights, and what follows their sums up to the bias,
        # for inputs of this one quantization.
        self._known: tuple[PackedArray, Quantization, tuple[Any, ...]] = packed, inputs, before

    def state_loaded(self) -> None:
        """Pack the weights that were read."""
        self.pack()

    def _rows(self) -> QuantizedArray:
        scales = Quantization(self.weight_scale, 0, np.int8, axis=0)
        return QuantizedArray(vars(self)["weight"], scales)

    @property
    def weight(self) -> NDArray[np.float32]:
        """What the bytes of the weights stand for, as code for a `Linear` may multiply by it."""
        weight = self._rows().dequantize()
        weight.flags.writeable = False
        return weight

    @property
    def inputs(self) -> Quantization:
        """What the bytes of an input stand for."""
        return self._meaning.quantization

    @property
    def outputs(self) -> Quantization | None:
        """If set, the layer returns a `QuantizedArray` of this quantization, not a Tensor."""
        return None if self._following is None else self._following.quantization

    @outputs.setter
    def outputs(self, quantization: Quantization | None) -> None:
        self._following = None if quantization is None else _Meaning(quantization)

    def hand_to(self, following: QuantizedLinear) -> None:
        """Return the bytes that another layer takes, also after it has loaded a state."""
        self._following = following._meaning

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the packed weights, whose form depends on the processor."""
        return {name: value for name, value in vars(self).items() if name != "_known"}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        vars(self).update(attributes)
        self.pack()

    def forward(self, x: Any, activation: Any = None) -> Any:
        """Return the new rows; `activation`, as that of `Linear`, follows the layer's own."""
        inputs, outputs = self.inputs, self.outputs
        given = x if isinstance(x, QuantizedArray) else inputs.quantize(data_of(x))
        later = activation == "gelu"
        named = self.activation if later or activation is None else activation
        wanted = None if later else outputs
        packed, known, before = self._known
        shape = given.shape
        if (
            given.quantization is known  # not `inputs`, which a shallow copy of the layer may set
            and self.bias is before[-1]  # not one of another dtype, of which that is a copy
            and len(shape) == 2
            and shape[1] == packed.shape[0]
        ):
            result = rows_of_layer(given, packed, before, named, wanted)
        else:
            result = gemm(given, packed, bias=self.bias, activation=named, quantization=wanted)
        if later:
            result = gelu(result) if outputs is None else outputs.quantize(gelu(result))
        return Tensor(result) if outputs is None else result

    def extra_repr(self) -> str:
        """Return the lengths."""
        outputs, inputs = vars(self)["weight"].shape
        return f"{inputs}, {outputs}, activation={self.activation!r}"


def convert(model: nn.Module, calibration: Iterable[ArrayLike] | Array | Tensor) -> nn.Module:
    """Return a network that multiplies bytes in place of floats.

    Each `Linear` becomes a `QuantizedLinear`: weights are symmetric int8 with a scale for each
    output, inputs affine uint8 between the least and the greatest number that the layer gets from
    `calibration`. In a `Sequential`, a ReLU behind such a layer joins the layer, and a `Linear`
    behind this one gets bytes, so that no float32 stands between the two; but not if other code
    calls the layers of the `Sequential` one by one. All other layers, such as `Conv2d`, stay as
    they are.

    Parameters
    ----------
    model : Module
        The trained network, which stays as it is.
    calibration : ndarray or Tensor, or iterable of array_like
        A batch of inputs, or several, like those that the network will get.

    Returns
    -------
    Module
        The new network, set to evaluation. It learns no more: its layers have no parameters.

    Raises
    ------
    ValueError
        If there is no batch, or a layer gets no input, or one that is not finite, or has a weight
        that is not finite.
    TypeError
        If `model` is no module.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import nn, quantized
    >>> rng = np.random.default_rng(0)
    >>> model = nn.Sequential(nn.Linear(4, 8, rng=rng), nn.ReLU(), nn.Linear(8, 2, rng=rng))
    >>> x = rng.normal(size=(100, 4)).astype(np.float32)
    >>> small = quantized.convert(model, x)
    >>> small
    Sequential()
      0: QuantizedLinear(4, 8, activation='relu')
      1: QuantizedLinear(8, 2, activation=None)
    >>> bool(np.abs(small(x).data - model(x).data).max() < 0.02)
    True
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model: expected a Module, got {type(model).__name__}")
    one = isinstance(calibration, (np.ndarray, Tensor))
    batches: list[Any] = [calibration] if one else list(calibration)
    conversion = _Conversion(*_observe(model, batches))
    result = conversion.of(copy.deepcopy(model), model)
    conversion.join()
    assert isinstance(result, nn.Module)
    return result.eval()


def _observe(
    model: nn.Module, batches: list[Any]
) -> tuple[dict[nn.Module, Quantization], Counter[nn.Module]]:
    """Return the quantization of the inputs of each layer, and how often each module is called.

    The modules that are counted are the layers that multiply, each ReLU, and each `Sequential`.
    """
    if not batches:
        raise ValueError("calibration: expected at least one batch, got none")
    layers = [module for module in model.modules() if _is_plain(module, nn.Linear)]
    names = _weights(model, layers)
    seen: dict[nn.Module, list[float]] = {}
    calls: Counter[nn.Module] = Counter()

    def noting(layer: Any, x: Any, activation: str | None = None) -> Tensor:
        data = np.asarray(data_of(x))
        if not data.size:
            raise ValueError(
                f"calibration: expected numbers for {names[layer]}, got shape {data.shape}"
            )
        limits = seen.setdefault(layer, [0.0, 0.0])
        limits[:] = min(limits[0], float(data.min())), max(limits[1], float(data.max()))
        if not all(map(math.isfinite, (limits[0], limits[1], float(data.sum(dtype=np.float64))))):
            raise ValueError(f"calibration: expected finite inputs of {names[layer]}")
        calls[layer] += 1
        return nn.Linear.forward(layer, x, activation)

    def counting(module: Any, x: Any) -> Any:
        calls[module] += 1
        return type(module).forward(module, x)

    kinds = nn.Sequential, nn.ReLU
    counted = [m for m in model.modules() if any(_is_plain(m, kind) for kind in kinds)]
    forwards: dict[nn.Module, Callable[..., Any]] = dict.fromkeys(layers, noting)
    forwards.update(dict.fromkeys(counted, counting))
    with _evaluating(model, forwards), no_grad():
        for batch in batches:
            model(batch)
    if missing := [names[layer] for layer in layers if layer not in seen]:
        raise ValueError(f"calibration: expected inputs for each layer, got none for {missing}")
    return {layer: fit(np.array(limits), "affine") for layer, limits in seen.items()}, calls


@contextlib.contextmanager
def _evaluating(
    model: nn.Module, forwards: Mapping[nn.Module, Callable[..., Any]]
) -> Iterator[None]:
    """Set a network to evaluation, and give some of its modules another `forward`, in a block."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        # No hooks, which see neither keywords nor calls of `forward` itself.
        for module, forward in forwards.items():
            vars(module)["forward"] = partial(forward, module)
        yield
    finally:
        for module in forwards:
            vars(module).pop("forward", None)
        for module, mode in modes:
            module.training = mode


def _weights(model: nn.Module, layers: list[Any]) -> dict[nn.Module, str]:
    """Return the names of the weights of layers; ValueError if one is not finite."""
    known = {id(parameter): name for name, parameter in model.named_parameters()}
    names = {layer: known.get(id(layer.weight), "weight") for layer in layers}
    for layer, name in names.items():
        if not np.isfinite(layer.weight.data).all():
            raise ValueError(f"model: expected finite numbers in {name}, got an infinity or a NaN")
    return names


def _is_plain(module: Any, kind: type[nn.Module]) -> bool:
    """Whether a module computes what its class says, which is `kind`."""
    return type(module) is kind and "forward" not in vars(module)


class _Conversion:
    """Puts quantized layers into a copy of a network, one for each layer and container."""

    def __init__(self, ranges: dict[nn.Module, Quantization], calls: Counter[nn.Module]) -> None:
        self.ranges = ranges
        self.calls = calls
        self.done: dict[int, Any] = {}  # by the id of the original
        self.uses: Counter[nn.Module] = Counter()  # in how many places a new layer stands
        self.chains: list[tuple[nn.Module, Any]] = []  # with the originals

    def of(self, value: Any, original: Any) -> Any:
        """Return a copy of a module, or of a container of modules, with quantized layers in it."""
        if id(original) not in self.done:
            self.done[id(original)] = value  # a part may refer to the whole
            self.done[id(original)] = self._convert(value, original)
        result = self.done[id(original)]
        if _is_plain(original, nn.Linear):
            self.uses[result] += 1
        return result

    def _convert(self, value: Any, original: Any) -> Any:
        if _is_plain(original, nn.Linear):
            bias = None if original.bias is None else original.bias.data
            layer = QuantizedLinear(original.weight.data, bias, self.ranges[original])
            layer._hooks = value._hooks
            return layer
        if isinstance(original, nn.Module):
            for name, part in vars(original).items():
                if name not in ("_hooks", "_buffers") and name in vars(value):
                    vars(value)[name] = self.of(vars(value)[name], part)
            if _is_plain(original, nn.Sequential):
                self.chains.append((value, original))
        elif isinstance(original, (list, deque)):
            for place, part in enumerate(original):
                value[place] = self.of(value[place], part)
        elif isinstance(original, dict):  # whose keys may be copies, too
            for key, part in zip(list(value), original.values(), strict=True):
                value[key] = self.of(value[key], part)
        elif isinstance(original, tuple):
            parts = [self.of(*pair) for pair in zip(value, original, strict=True)]
            if any(new is not old for new, old in zip(parts, value, strict=True)):
                return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
        return value

    def join(self) -> None:
        """Let modules that follow a layer in one place join it, where no hook is between them."""
        expected: Counter[nn.Module] = Counter()  # calls, if only chains call their modules
        for _, original in self.chains:
            for module in original:
                expected[module] += self.calls[original]
        for chain, original in self.chains:
            if any(self.calls[module] > expected[module] for module in original):
                continue  # other code sees what is between them
            parts = [pair for pair in vars(chain).items() if isinstance(pair[1], nn.Module)]
            for name, _ in parts:
                delattr(chain, name)
            previous: QuantizedLinear | None = None
            number = 0
            for name, module in parts:
                plain = not module._hooks and "forward" not in vars(module)
                if type(module) is nn.ReLU and plain and previous and previous.activation is None:
                    previous.activation = "relu"
                    continue
                layer = module if isinstance(module, QuantizedLinear) and plain else None
                uses = 0 if layer is None else self.uses[layer]  # 0, too, if it was there before
                if layer is not None and uses and previous:
                    previous.hand_to(layer)
                previous = layer if uses == 1 else None
                setattr(chain, str(number) if name.isdigit() else name, module)
                number += 1
