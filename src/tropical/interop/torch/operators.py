"""What our operators of PyTorch have in common.

An operator is a function of tensors that PyTorch's compiler does not look into. torch.func has no
gradients of operators, so outside of the compiler the same rules also make an autograd.Function.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any

from tropical.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

torch: Any = require("torch", "'tropical-blas[torch]'")


def operator(name: str, schema: str, compute: Callable[..., Any], fake: Callable[..., Any]) -> Any:
    """Return the operator ``torch.ops.tropical.<name>``; `fake` allocates its results.

    PyTorch allocates, and computes nothing, also if only one of the tensors has no data.
    """

    def allocate(*arguments: Any) -> Any:
        devices = {x.device for x in arguments if isinstance(x, torch.Tensor)}
        if len(devices) > 1:
            found = " and ".join(sorted(map(str, devices)))
            raise ValueError(f"{name}: expected tensors on one device, got some on {found}")
        return fake(*arguments)

    made = torch.library.custom_op(f"tropical::{name}", compute, mutates_args=(), schema=schema)
    made.register_fake(allocate)
    return made


def differentiable(
    made: Any,
    save: Callable[..., None],
    gradients: Callable[..., Any],
    vmap: Callable[..., Any],
) -> Callable[..., Any]:
    """Give an operator its gradients and its vmap; return the function to call.

    The rule of vmap gets, as its first argument, what to call with the batch: the operator itself
    where PyTorch maps the operator, because its rules cannot call a Function.
    In forward mode the tangent of an operator is silently 0. A Function raises an error; under the
    compiler, the function to call does.
    """

    def forward(*arguments: Any) -> Any:
        return made(*arguments)

    # PyTorch asks for the signature at each call, which else takes longer than a small product.
    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    body = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(save),
        "backward": staticmethod(gradients),
    }
    bases = (torch.autograd.Function,)
    name = made._name
    function: Any = types.new_class(f"_{name}", bases, exec_body=lambda it: it.update(body))
    function.vmap = staticmethod(lambda *arguments: vmap(function.apply, *arguments))
    made.register_autograd(gradients, setup_context=save)
    made.register_vmap(functools.partial(vmap, made))

    def call(*arguments: Any) -> Any:
        if not torch.compiler.is_compiling():
            return function.apply(*arguments)
        # The compiler looks into the function anyway, with warnings of its own.
        if torch.autograd.forward_ad._current_level >= 0:
            raise NotImplementedError(f"torch.ops.tropical.{name} has no forward mode (jvp)")
        return made(*arguments)

    return call


def in_front(dims: Sequence[int | None], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the operands of a mapped product: the mapped axis in front of as many others."""
    moved = [
        x.unsqueeze(0) if dim is None else x.movedim(dim, 0)
        for x, dim in zip(tensors, dims, strict=False)
    ]
    rank = max(x.ndim for x in moved)
    return [x.reshape(x.shape[:1] + (1,) * (rank - x.ndim) + x.shape[1:]) for x in moved]
