"""Scores and likelihoods of chains as operators of PyTorch."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import sequence
from tropical.sequence.gradients import log_likelihood_and_gradients, viterbi_and_gradients

from .operators import differentiable, operator, torch
from .products import check_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor


def crf_log_likelihood(
    initial: Tensor,
    transition: Tensor,
    emission: Tensor,
    states: Tensor,
    lengths: Tensor | None = None,
) -> Tensor:
    """Return the log-likelihood of states in a conditional random field, differentiable once.

    Parameters
    ----------
    initial : Tensor, (s,)
        Scores of the first states.
    transition : Tensor, (s, s)
        Element (i, j): the score of state j behind state i.
    emission : Tensor, (..., t, s)
        Scores of the states at each step, all of float32 or float64, on the CPU. Those of float16
        and bfloat16 count as float32.
    states : Tensor of integers, (..., t)
        They are not read beyond the lengths.
    lengths : Tensor of integers, (...), optional
        The steps of each sequence. Default: t.

    Returns
    -------
    Tensor, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.crf_log_likelihood`.
    NotImplementedError
        For vmap over the model.
    RuntimeError
        For second derivatives.

    Examples
    --------
    >>> import torch
    >>> from tropical.interop.torch import crf_log_likelihood
    >>> emission = torch.zeros(3, 2, requires_grad=True)
    >>> states = torch.tensor([0, 1, 1])
    >>> crf_log_likelihood(torch.zeros(2), torch.zeros(2, 2), emission, states).backward()
    >>> emission.grad
    tensor([[ 0.5000, -0.5000],
            [-0.5000,  0.5000],
            [-0.5000,  0.5000]])
    """
    model = _model(initial, transition, emission, lengths, states=states)
    return _crf(*model, states, lengths)[0]


def log_likelihood(
    initial: Tensor, transition: Tensor, emission: Tensor, lengths: Tensor | None = None
) -> Tensor:
    """Return the logarithm of the probability of all observations, differentiable once.

    Parameters
    ----------
    initial, transition, emission, lengths
        As for `crf_log_likelihood`.

    Returns
    -------
    Tensor, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.log_likelihood`.
    NotImplementedError, RuntimeError
        As for `crf_log_likelihood`.

    Examples
    --------
    >>> import torch
    >>> from tropical.interop.torch import log_likelihood
    >>> initial = torch.tensor([0.75, 0.25]).log().requires_grad_()
    >>> log_likelihood(initial, torch.zeros(2, 2), torch.zeros(3, 2)).backward()
    >>> initial.grad
    tensor([0.7500, 0.2500])
    """
    model = _model(initial, transition, emission, lengths)
    return _likelihood(*model, lengths)[0]


def viterbi(
    initial: Tensor, transition: Tensor, emission: Tensor, lengths: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the most likely path of each sequence, and its score, differentiable once.

    Parameters
    ----------
    initial, transition, emission, lengths
        As for `crf_log_likelihood`.

    Returns
    -------
    paths : Tensor of int64, (..., t)
    scores : Tensor, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.viterbi`.
    NotImplementedError, RuntimeError
        As for `crf_log_likelihood`.

    Examples
    --------
    >>> import torch
    >>> from tropical.interop.torch import viterbi
    >>> transition = torch.eye(2, requires_grad=True)
    >>> emission = torch.tensor([[0.0, 2.0], [0.0, 1.0], [3.0, 0.0]])
    >>> path, score = viterbi(torch.zeros(2), transition, emission)
    >>> path
    tensor([1, 1, 0])
    >>> score.backward()
    >>> transition.grad
    tensor([[0., 0.],
            [1., 1.]])
    """
    model = _model(initial, transition, emission, lengths)
    known: tuple[Tensor, ...] = _viterbi(*model, lengths)
    return known[4], known[0]


def _model(
    initial: Tensor, transition: Tensor, emission: Tensor, lengths: Tensor | None, **states: Tensor
) -> Iterator[Tensor]:
    """Return a model after checks; float16 and bfloat16, which autocast makes, become float32."""
    model = {"initial": initial, "transition": transition, "emission": emission}
    for name, x in {**model, **states, "lengths": lengths}.items():
        if name != "lengths" or lengths is not None:
            check_place(name, x)
    if emission.ndim < 2:
        raise ValueError(f"emission: expected (..., t, s), got {tuple(emission.shape)}")
    halves = torch.float16, torch.bfloat16
    return (x.float() if x.dtype in halves else x for x in model.values())


def _common(*model: Tensor) -> Any:
    """Return the dtype of the results: NumPy's common dtype, but float64 for integers."""
    names = {str(x.dtype).removeprefix("torch.") for x in model}
    dtype = np.result_type(*names, "int8")
    return getattr(torch, dtype.name if dtype.kind == "f" else "float64")


def _refuse(ctx: Any, g: Tensor) -> None:
    raise RuntimeError("likelihoods of chains have no second derivatives")


# Returns the first of its arguments, of which no other has a gradient.
_once: Any = types.new_class(
    "_Once",
    (torch.autograd.Function,),
    exec_body=lambda body: body.update(
        forward=staticmethod(lambda gradient, *_: gradient.clone()),
        setup_context=staticmethod(lambda ctx, inputs, output: None),
        backward=staticmethod(_refuse),
        generate_vmap_rule=True,
    ),
)


def _new(
    name: str, function: Callable[..., Any], *, states: bool = False, paths: bool = False
) -> Callable[..., Any]:
    """Return the operator of a function that returns values, gradients and perhaps paths."""
    others = ["Tensor states"] * states + ["Tensor? lengths"]
    results = 5 if paths else 4

    def compute(*tensors: Tensor | None) -> tuple[Tensor, ...]:
        known = function(*(None if x is None else x.detach().numpy() for x in tensors))
        return tuple(torch.from_numpy(np.asarray(x)) for x in known)  # as_tensor takes longer

    def fake(
        initial: Tensor, transition: Tensor, emission: Tensor, *others: Tensor | None
    ) -> tuple[Tensor, ...]:
        batch, (steps, count) = emission.shape[:-2], emission.shape[-2:]
        shapes = batch, (*batch, count), (*batch, count, count), emission.shape
        dtype = _common(initial, transition, emission)
        known = tuple(emission.new_empty(shape, dtype=dtype) for shape in shapes)
        return (*known, known[0].new_empty((*batch, steps), dtype=torch.int64))[:results]

    def save(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)  # else PyTorch fills zeros for each result
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:4], *inputs[:3])

    def gradients(ctx: Any, g: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        if g is None:  # an undefined gradient, which PyTorch allows
            return (None,) * (3 + len(others))
        to_initial, to_transition, to_emission, *inputs = ctx.saved_tensors
        # No matrix products: autocast would round them, and they add floats up one by one.
        first = (g[..., None] * to_initial).reshape(-1, to_initial.shape[-1]).sum(0)
        weights = (g[..., None, None] * to_transition).reshape(-1, *to_transition.shape[-2:])
        results = first, weights.sum(0), g[..., None, None] * to_emission
        if torch.is_grad_enabled():  # PyTorch would take second derivatives to be 0
            results = tuple(_once.apply(x, *inputs) for x in results)
        return *results, *(None for _ in others)

    def vmap(run: Any, info: Any, dims: tuple[int | None, ...], *tensors: Any) -> tuple[Any, Any]:
        if dims[0] is not None or dims[1] is not None:
            raise NotImplementedError(f"{name}: vmap over initial and transition")

        def in_front(x: Tensor | None, dim: int | None) -> Tensor | None:
            if x is None:  # no lengths
                return None
            moved: Tensor = x.movedim(dim, 0) if dim is not None else x[None]
            return moved.expand(info.batch_size, *moved.shape[1:])

        moved = map(in_front, tensors[2:], dims[2:])
        return run(*tensors[:2], *moved), (0,) * results

    arguments = ", ".join(["Tensor initial", "Tensor transition", "Tensor emission", *others])
    schema = f"({arguments}) -> ({', '.join(['Tensor'] * results)})"
    return differentiable(operator(name, schema, compute, fake), save, gradients, vmap)


_crf = _new("crf_log_likelihood", sequence.crf_log_likelihood, states=True)
_likelihood = _new("log_likelihood", log_likelihood_and_gradients)
_viterbi = _new("viterbi", viterbi_and_gradients, paths=True)
