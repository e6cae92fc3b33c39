"""The same perceptron in NumPy, PyTorch and JAX, from the same weights."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.measure.contenders import require

from .training import Trainer, mean_loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical import nn

    from .training import Report, Settings

Array: TypeAlias = NDArray[Any]
_INSTALL = "'tropical-blas[mnist]'"


def layers_of(model: nn.Module) -> list[tuple[Array, Array]]:
    """Return copies of the weights (inputs, outputs) and biases of a perceptron of ours."""
    arrays = [parameter.data.T.copy() for parameter in model.parameters()]
    return list(zip(arrays[::2], arrays[1::2], strict=True))


class NumPy(Trainer):
    """NumPy: forward, backward and update by hand."""

    def __init__(self, model: nn.Module, settings: Settings) -> None:
        if settings.optimizer != "sgd":
            raise ValueError(f"--rival numpy: expected --optimizer sgd, got {settings.optimizer}")
        self.limits: Any = require("threadpoolctl", _INSTALL).threadpool_limits
        self.name = "NumPy"
        self.settings = settings
        self.layers: list[tuple[Array, Array]] = layers_of(model)

    def _step(self, x: Array, labels: Array) -> float:
        values = [x]
        for weight, bias in self.layers[:-1]:
            x = x @ weight
            x += bias
            values.append(np.maximum(x, 0, out=x))
        weight, bias = self.layers[-1]
        scores = x @ weight
        scores += bias
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -np.log(scores[rows, labels]).mean()
        scores[rows, labels] -= 1
        scores /= len(labels)
        g = scores
        for number in range(len(self.layers) - 1, -1, -1):
            weight, bias = self.layers[number]
            inputs = values[number]
            gradient = inputs.T @ g
            sums = g.sum(axis=0)
            if number:
                g = g @ weight.T
                g *= inputs > 0
            gradient *= self.settings.lr
            weight -= gradient
            bias -= self.settings.lr * sums
        return float(loss)

    def epoch(self, images: Array, labels: Array, order: Array, report: Report) -> float:
        """Train once on the digits in this order; return the mean loss."""

        def step(rows: Array) -> float:
            return self._step(images.take(rows, axis=0), labels[rows])

        with self.limits(self.settings.threads, user_api="blas"):
            return mean_loss(step, order, self.settings.batch, report)

    def classify(self, images: Array) -> Array:
        """Return a score for each class."""
        for weight, bias in self.layers[:-1]:
            images = np.maximum(images @ weight + bias, 0)
        weight, bias = self.layers[-1]
        scores: Array = images @ weight + bias
        return scores


class Torch(Trainer):
    """PyTorch: its autograd and its fused optimizer, data in tensors, no loader."""

    def __init__(self, model: nn.Module, settings: Settings) -> None:
        torch: Any = require("torch", "torch")
        self.torch = torch
        self.name: str = f"PyTorch {torch.__version__}"
        self.settings = settings
        layers = []
        for weight, bias in layers_of(model):
            layer = torch.nn.Linear(*weight.shape)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(weight.T))
                layer.bias.copy_(torch.from_numpy(bias))
            layers += [layer, torch.nn.ReLU()]
        self.model: Any = torch.nn.Sequential(*layers[:-1])
        optimizers = {
            "sgd": lambda p: torch.optim.SGD(p, settings.lr, fused=True),
            "momentum": lambda p: torch.optim.SGD(
                p, settings.lr, momentum=0.9, nesterov=True, fused=True
            ),
            "adam": lambda p: torch.optim.Adam(p, settings.lr, fused=True),
            "adamw": lambda p: torch.optim.AdamW(p, settings.lr, fused=True),
            "rmsprop": lambda p: torch.optim.RMSprop(p, settings.lr),
            "adagrad": lambda p: torch.optim.Adagrad(p, settings.lr, fused=True),
        }
        self.optimizer: Any = optimizers[settings.optimizer](self.model.parameters())

    def epoch(self, images: Array, labels: Array, order: Array, report: Report) -> float:
        """Train once on the digits in this order; return the mean loss."""
        torch = self.torch
        torch.set_num_threads(self.settings.threads)
        x, t, rows_of = (torch.from_numpy(array) for array in (images, labels, order))

        def step(rows: Any) -> float:
            loss = torch.nn.functional.cross_entropy(self.model(x[rows]), t[rows])
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            value: float = loss.item()
            return value

        return mean_loss(step, rows_of, self.settings.batch, report)

    def classify(self, images: Array) -> Array:
        """Return a score for each class."""
        with self.torch.no_grad():
            scores: Array = self.model(self.torch.from_numpy(images)).numpy()
        return scores


class Jax(Trainer):
    """JAX: the whole epoch is one compiled scan, over batches of one size."""

    def __init__(self, model: nn.Module, settings: Settings) -> None:
        if settings.optimizer != "sgd":
            raise ValueError(f"--rival jax: expected --optimizer sgd, got {settings.optimizer}")
        if settings.threads == 1:
            os.environ.setdefault("NPROC", "1")  # XLA's pool reads this once
        jax: Any = require("jax", "jax")
        self.jax = jax
        self.name: str = f"JAX {jax.__version__}"
        self.settings = settings
        self.layers: list[tuple[Array, Array]] = layers_of(model)

        def scores_of(layers: Any, x: Any) -> Any:
            for weight, bias in layers[:-1]:
                x = jax.nn.relu(x @ weight + bias)
            return x @ layers[-1][0] + layers[-1][1]

        def loss_of(layers: Any, x: Any, labels: Any) -> Any:
            logarithms = jax.nn.log_softmax(scores_of(layers, x))
            return -logarithms[jax.numpy.arange(len(labels)), labels].mean()

        def step(layers: Any, rows: Any, images: Any, labels: Any) -> Any:
            loss, gradients = jax.value_and_grad(loss_of)(layers, images[rows], labels[rows])
            update = jax.tree.map(lambda p, g: p - settings.lr * g, layers, gradients)
            return update, loss

        def epoch(layers: Any, images: Any, labels: Any, rows: Any) -> Any:
            return jax.lax.scan(lambda p, r: step(p, r, images, labels), layers, rows)

        self.scores_of = scores_of
        self.compiled: Any = jax.jit(epoch)
        self.last: Any = jax.jit(step)
        self.digits: tuple[Array, Array] | None = None
        self.on_device: tuple[Any, Any] | None = None

    def _put(self, images: Array, labels: Array) -> Any:
        """Return the digits as arrays of JAX; the last digits stay on the device."""
        if self.digits is None or self.digits[0] is not images or self.digits[1] is not labels:
            self.digits = images, labels
            self.on_device = self.jax.device_put(self.digits)
        return self.on_device

    def prepare(self, images: Array, labels: Array) -> None:
        """Compile, without learning."""
        count = len(labels)
        images, labels = self._put(images, labels)
        rows = np.arange(count - count % self.settings.batch).reshape(-1, self.settings.batch)
        self.jax.block_until_ready(self.compiled(self.layers, images, labels, rows))
        if count % self.settings.batch:
            last = np.arange(count % self.settings.batch)
            self.jax.block_until_ready(self.last(self.layers, last, images, labels))

    def epoch(self, images: Array, labels: Array, order: Array, report: Report) -> float:
        """Train once on the digits in this order; return the mean loss."""
        batch = self.settings.batch
        whole = len(order) - len(order) % batch
        images, labels = self._put(images, labels)
        self.layers, losses = self.compiled(
            self.layers, images, labels, order[:whole].reshape(-1, batch)
        )
        total = 0.0
        for number, loss in enumerate(np.asarray(losses).tolist(), 1):
            total += batch * loss
            report(number * batch, total)
        if whole < len(order):
            self.layers, loss = self.last(self.layers, order[whole:], images, labels)
            total += float(loss) * (len(order) - whole)
            report(len(order), total)
        return total / len(order)

    def classify(self, images: Array) -> Array:
        """Return a score for each class."""
        return np.asarray(self.scores_of(self.layers, images))


RIVALS: dict[str, Callable[[nn.Module, Settings], Trainer]] = {
    "numpy": NumPy,
    "torch": Torch,
    "jax": Jax,
}
