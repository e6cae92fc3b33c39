"""Layers, forward or with their gradients: linear, convolution, rows, cross entropy, max-plus."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import tropical
from tropical import _core, nn
from tropical.autograd import (
    Tensor,
    conv2d,
    cross_entropy,
    embedding,
    grad,
    layer_norm,
    linear,
    relu,
)

from .common import Call, alone

PARTS = ["forward", "both"]


def draw(*shape: int) -> Tensor:
    """Return normal numbers, float32, that require grad."""
    values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return Tensor(values, requires_grad=True)


class Layer(Call):
    """What these suites share."""

    def prepare_layer(self, part: str, layer: Callable[..., Tensor], *inputs: Tensor) -> None:
        """Time ``layer(*inputs)``, or with it the gradients of all inputs, on one thread."""

        def forward() -> Tensor:
            return layer(*inputs)

        def both() -> list[Tensor]:
            return grad(forward().sum(), inputs)

        call = forward if part == "forward" else both
        self.prepare(alone, part, call)


class Linear(Layer):
    """The first layer of MNIST's perceptron, by the engine."""

    params = (["fused", "unfused"], PARTS, [64, 128, 512])
    param_names = ("how", "part", "batch")
    time_layer = Call.run

    def setup(self, how: str, part: str, batch: int) -> None:
        layers = {
            "fused": lambda x, weight, bias: linear(x, weight, bias, activation="relu"),
            "unfused": lambda x, weight, bias: relu(x @ weight.T + bias),
        }
        self.prepare_layer(part, layers[how], draw(batch, 784), draw(256, 784), draw(256))


class Core(Call):
    """The same layer by C++, where bias and ReLU are part of the product, and by three passes."""

    params = (["fused", "unfused"], [64, 128, 512])
    param_names = ("how", "batch")
    time_layer = Call.run

    def setup(self, how: str, batch: int) -> None:
        inputs = draw(batch, 784), draw(256, 784), draw(256)
        x, weight, bias = (tensor.data for tensor in inputs)
        out = np.ones((batch, 256), np.float32)

        def fused() -> None:
            _core.linear(x, weight, bias, relu=True, out=out)

        def unfused() -> None:
            tropical.gemm(x, weight.T, semiring="plustimes", out=out)
            np.add(out, bias, out=out)
            np.maximum(out, 0, out=out)

        call = fused if how == "fused" else unfused
        self.prepare(alone, how, call)


class Convolution(Layer):
    """Filters of 5 x 5 on 64 images, padded to keep their size: those of MNIST's network."""

    params = (["1 28 8", "8 14 16"], PARTS)
    param_names = ("channels size filters", "part")
    time_layer = Call.run

    def setup(self, shape: str, part: str) -> None:
        channels, size, filters = map(int, shape.split())
        x, weight = draw(64, channels, size, size), draw(filters, channels, 5, 5)
        self.prepare_layer(part, partial(conv2d, padding=2), x, weight, draw(filters))


class Embedding(Layer):
    """4,096 rows of a table."""

    params = (["10000 64", "50000 128"], PARTS)
    param_names = ("table", "part")
    time_layer = Call.run

    def setup(self, table: str, part: str) -> None:
        rows, length = map(int, table.split())
        indices = np.random.default_rng(1).integers(0, rows, 4096)
        self.prepare_layer(part, lambda weight: embedding(weight, indices), draw(rows, length))


class LayerNorm(Layer):
    """Normalized rows, with scale and shift."""

    params = (["128 256", "512 768"], PARTS)
    param_names = ("shape", "part")
    time_layer = Call.run

    def setup(self, shape: str, part: str) -> None:
        rows, length = map(int, shape.split())
        self.prepare_layer(part, layer_norm, draw(rows, length), draw(length), draw(length))


class CrossEntropy(Layer):
    """The loss of MNIST's batches, and of many classes."""

    params = (["64 10", "512 1000"], PARTS)
    param_names = ("shape", "part")
    time_layer = Call.run

    def setup(self, shape: str, part: str) -> None:
        rows, classes = map(int, shape.split())
        targets = np.random.default_rng(1).integers(0, classes, rows)
        self.prepare_layer(part, lambda x: cross_entropy(x, targets), draw(rows, classes))


class MaxPlus(Layer):
    """A max-plus layer and its gradients through the argmax."""

    params = (PARTS, [64, 512])
    param_names = ("part", "batch")
    time_layer = Call.run

    def setup(self, part: str, batch: int) -> None:
        layer = nn.TropicalLinear(128, 64, semiring="maxplus", rng=np.random.default_rng(0))
        self.prepare_layer(part, lambda x, *_: layer(x), draw(batch, 128), *layer.parameters())
