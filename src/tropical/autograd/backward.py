"""`Tensor.backward` and `grad`: gradients of a value, added to leaves or returned."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.arrays import unmasked

from .operation import cast_to
from .tensor import Operand, Tensor, tensor_of
from .walk import Absorb, Walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .value import Node

_accumulating = threading.Lock()  # several threads may add gradients to the same leaves


def backward(
    self: Tensor,
    gradient: Operand | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add this tensor's gradient with respect to each leaf behind it to the leaf's `grad`.

    Parameters
    ----------
    gradient : array_like or Tensor of this tensor's shape, optional
        The gradient of a scalar with respect to this tensor; 1 by default, for a tensor of one
        element.
    retain_graph : bool, optional
        Keep the buffers of the graph for another backward pass; `create_graph` by default.
    create_graph : bool, default False
        Record the backward pass, so that the gradients have gradients.

    Raises
    ------
    RuntimeError
        If this tensor does not require grad, or an earlier backward pass released the buffers of
        its graph (`GraphReleasedError`).
    ValueError
        If `gradient` is missing or of another shape.
    """
    walk_back(self, "backward", gradient, retain=retain_graph, recorded=create_graph)


def _start(output: Tensor, gradient: Operand | None, name: str) -> tuple[Node, Tensor]:
    if not isinstance(output, Tensor):
        raise TypeError(f"{name}: expected a Tensor, got {type(output).__name__}")
    if output.node is None:
        raise RuntimeError(
            f"{name}: this tensor does not require grad, nor does a tensor that it depends on"
        )
    if gradient is None:
        if output.size != 1:
            raise ValueError(
                f"{name}: expected a tensor of one element, or a gradient, got shape {output.shape}"
            )
        return output.node, tensor_of(np.ones_like(output.data), None)
    if not isinstance(gradient, Tensor):
        gradient = Tensor(np.asarray(unmasked("gradient", gradient), dtype=output.dtype))
    if gradient.shape != output.shape:
        raise ValueError(f"gradient: expected shape {output.shape}, got {gradient.shape}")
    fits = gradient.dtype == output.dtype
    return output.node, gradient if fits else cast_to(gradient, output.dtype)


def grad(
    output: Tensor,
    inputs: Tensor | Iterable[Tensor],
    gradient: Operand | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> list[Tensor]:
    """Return the gradients of `output` with respect to `inputs`; no `grad` attribute changes.

    Parameters
    ----------
    output : Tensor
        The value to differentiate.
    inputs : Tensor or iterable of Tensors
        Leaves or computed tensors that `output` may depend on.
    gradient, retain_graph, create_graph
        As for `Tensor.backward`.

    Returns
    -------
    list of Tensor
        A gradient for each input, of the input's shape; 0 if `output` does not depend on the input.

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
            raise TypeError(f"grad: {name}: expected a Tensor, got {type(x).__name__}")
        if x.node is None:
            raise RuntimeError(f"grad: {name} does not require grad")
    node, first = _start(output, gradient, "grad")
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
    """Run the backward pass of `Tensor.backward`; errors begin with `name`; see `Walk`."""
    node, first = _start(output, gradient, name)
    Walk(node, _add_to_grad, retain=retain, recorded=recorded, absorb=absorb).run(first)


def _add_to_grad(node: Node, gradient: Any) -> None:
    tensor = None if node.tensor is None else node.tensor()
    if tensor is None:  # the tensor is gone
        return
    if not isinstance(gradient, Tensor):
        gradient = tensor_of(gradient, None)
    with _accumulating:
        tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient
