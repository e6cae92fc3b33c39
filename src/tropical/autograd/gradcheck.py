"""Comparison of gradients with finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .backward import grad
from .tensor import Tensor, data_of
from .value import no_grad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .value import Array


class GradientError(AssertionError):
    """A gradient differs from finite differences."""


def check_gradients(
    function: Callable[..., Tensor],
    *inputs: Any,
    order: int = 1,
    step: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-7,
) -> None:
    """Compare the gradients of a function with central differences, in float64.

    Random weights reduce the value to one number, so one backward pass gives the product of the
    weights with the whole Jacobian. There is a difference for each element of each input.

    Parameters
    ----------
    function : callable
        A function of Tensors that returns a Tensor, the same one for the same arguments.
    *inputs : array_like or Tensor
        The point; the function must be smooth there.
    order : {1, 2}
        2 also compares the gradient of the gradient's product with random weights.
    step : float, default 1e-6
        Each difference is over twice this step.
    rtol, atol : float
        Allowed deviation, relative to the larger gradient and absolute.

    Raises
    ------
    GradientError
        If a gradient differs; the message names the input, the element and both values.
    ValueError
        If `order` is neither 1 nor 2, or `step` is not positive.

    Examples
    --------
    >>> from tropical.autograd import check_gradients, tanh
    >>> check_gradients(tanh, [0.1, 0.2, 0.3], order=2)
    """
    if order not in (1, 2):
        raise ValueError(f"order: expected 1 or 2, got {order}")
    if not step > 0:
        raise ValueError(f"step: expected a positive number, got {step}")
    arrays = [np.array(data_of(x), dtype=np.float64) for x in inputs]
    rng = np.random.default_rng(0)
    with no_grad():
        weights = rng.standard_normal(function(*map(Tensor, arrays)).shape)

    def value(*tensors: Tensor) -> Tensor:
        return (function(*tensors) * weights).sum()

    _compare(value, arrays, "first", step, rtol, atol)
    if order == 1:
        return
    directions = [rng.standard_normal(array.shape) for array in arrays]

    def slope(*tensors: Tensor) -> Tensor:
        gradients = grad(value(*tensors), tensors, create_graph=True)
        products = [(g * v).sum() for g, v in zip(gradients, directions, strict=True)]
        return sum(products[1:], start=products[0])

    _compare(slope, arrays, "second", step, rtol, atol)


def _compare(
    function: Callable[..., Tensor],
    arrays: Sequence[Array],
    which: str,
    step: float,
    rtol: float,
    atol: float,
) -> None:
    tensors = [Tensor(array, requires_grad=True) for array in arrays]
    result = function(*tensors)
    if result.requires_grad:
        gradients = [g.data for g in grad(result, tensors)]
    else:
        gradients = [np.zeros_like(array) for array in arrays]
    for number, array in enumerate(arrays):
        scale = float(np.max(np.abs(gradients[number]), initial=0.0))
        for place in np.ndindex(array.shape):
            kept = array[place]
            ends = []
            for moved in (kept + step, kept - step):
                array[place] = moved
                ends.append(function(*(Tensor(a, requires_grad=True) for a in arrays)).item())
            array[place] = kept
            difference = (ends[0] - ends[1]) / (2 * step)
            found = gradients[number][place]
            if not abs(found - difference) <= atol + rtol * max(scale, abs(difference)):
                raise GradientError(
                    f"{which} order, input {number}, element {place}: the gradient is {found}, "
                    f"finite differences give {difference}"
                )
