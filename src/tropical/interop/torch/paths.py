"""Best paths between vertices in PyTorch, with gradients."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import graph, semirings
from tropical.arrays import check_square
from tropical.autograd import trees
from tropical.graph.all_pairs import sources_of

from .operators import differentiable, in_front, operator, torch
from .products import check_tensor, computed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike
    from torch import Tensor

    from tropical.semirings import Semiring


_ONES = {ring.name: ring.one("float64") for ring in semirings.ALL if ring.selective}


def closure(a: Tensor, semiring: str | Semiring = "minplus") -> Tensor:
    """Return the Kleene star of square matrices, as `tropical.graph.closure`, with gradients.

    Gradients are those of `tropical.autograd.closure`: the gradient of an element goes to the arcs
    of its best path.

    Parameters
    ----------
    a : Tensor, (..., n, n)
        Arcs, the semiring's zero where there is none; on the CPU.
    semiring : str or Semiring, default "minplus"
        Any but plustimes and logplus. Integers and booleans (orand) have no gradients.

    Returns
    -------
    Tensor, (..., n, n)
        The star.

    Raises
    ------
    DivergenceError, ValueError, TypeError
        As in `tropical.graph.closure`; also if `a` is no tensor on the CPU.

    Examples
    --------
    >>> import torch
    >>> from tropical.interop.torch import closure
    >>> inf = torch.inf
    >>> roads = torch.tensor([[inf, 7, 2], [inf, inf, 1], [inf, 3, inf]], requires_grad=True)
    >>> closure(roads)[0, 1].backward()  # 5, by way of 2
    >>> roads.grad
    tensor([[0., 0., 1.],
            [0., 0., 0.],
            [0., 1., 0.]])
    """
    ring = semirings.get(semiring)
    check_tensor("a", a, ring)
    return _along(computed(a), ring, "", None, None).to(a.dtype)


def shortest_paths(
    w: Tensor,
    method: str = "auto",
    *,
    directed: bool = True,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
) -> Tensor:
    """Return the lengths of shortest paths, as `tropical.graph.shortest_paths`, with gradients.

    The gradient of a length goes to the arcs of its path: it counts them.

    Parameters
    ----------
    w : Tensor, (..., n, n)
        Weights of the arcs, +inf where there is none; on the CPU. Lengths of float16 and bfloat16
        are computed in float32 and rounded once.
    method, directed, indices, targets
        As in `tropical.graph.shortest_paths`.

    Returns
    -------
    Tensor, (..., n, n), or ``(..., *indices.shape, n)``
        The lengths; with `targets` the last axes are ``targets.shape``.

    Raises
    ------
    NegativeCycleError, ValueError, TypeError
        As in `tropical.graph.shortest_paths`; also if `w` is no tensor on the CPU.

    Examples
    --------
    >>> import torch
    >>> from tropical.interop.torch import shortest_paths
    >>> inf = torch.inf
    >>> roads = torch.tensor([[inf, 7, 2], [inf, inf, 1], [inf, 3, inf]], requires_grad=True)
    >>> length = shortest_paths(roads, indices=0, targets=1)
    >>> length.backward()
    >>> length.item(), roads.grad.tolist()
    (5.0, [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    """
    check_tensor("w", w, semirings.minplus)
    check_square("w", w)
    dtype, w = w.dtype, computed(w)
    if not directed:
        w = torch.where(w <= w.mT, w, w.mT)
    ends = _ends("indices", indices, w), _ends("targets", targets, w)
    return _along(w, semirings.minplus, method, *ends).to(dtype)


def _ends(name: str, x: Any, w: Tensor) -> Tensor | None:
    """Return vertices as a tensor; PyTorch takes no array of NumPy in every layout."""
    if x is None or isinstance(x, torch.Tensor):
        return x
    # The compiler has tensors in the place of arrays, and the operator checks them.
    vertices = x if torch.compiler.is_compiling() else sources_of(x, w, name)
    return torch.as_tensor(vertices, device=w.device)


def _along(
    a: Tensor, ring: Semiring, method: str, indices: Tensor | None, targets: Tensor | None
) -> Tensor:
    """Return the values of paths, whose gradients are those of the products of their arcs."""
    gradient = ring.selective and torch.is_grad_enabled() and (a.requires_grad or _may_be_mapped())
    values, before = _paths(a, ring.name, method, indices, targets, gradient)
    if not gradient:
        return values
    n, batch = a.shape[-1], a.shape[:-2]
    flat = before.reshape(*batch, math.prod(before.shape[len(batch) : -1]), n)
    result = trees.products(a, flat, ring, _ONES[ring.name], _take, torch.where, _ancestors(flat))
    result = torch.where(flat > trees.NONE, result, 0).reshape(before.shape)
    if targets is not None:
        result = result[..., targets.to(torch.int64)]  # PyTorch takes uint8 for a mask
    return _replaced(result, values)


def _may_be_mapped() -> bool:
    """Return whether `torch.func` runs: a tensor that vmap maps hides whether it has a gradient."""
    return not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()


def _take(x: Tensor, index: Tensor, dim: int) -> Tensor:
    return x.gather(dim, index)


def _ancestors(before: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield what `trees.ancestors` yields; all rounds where the compiler or vmap knows no data.

    Fake tensors, with which PyTorch plans memory, have no data either.
    """
    n = before.shape[-1]
    known = before.device.type == "cpu" and not (
        torch.compiler.is_compiling()
        or _may_be_mapped()
        or torch._subclasses.fake_tensor.is_fake(before)
    )
    above = torch.where(before > trees.NONE, before, torch.arange(n, device=before.device))
    for _ in range(trees.rounds(index(n))):  # also if n is symbolic
        below = before.gather(-1, above) > trees.NONE
        if known and not below.any():
            return
        yield above, below
        above = above.gather(-1, above)


# --- the operator: the values and the predecessors, without gradients ---


def _compute(
    a: Tensor,
    semiring: str,
    method: str,
    indices: Tensor | None,
    targets: Tensor | None,
    with_before: bool,
) -> tuple[Tensor, Tensor]:
    x = a.detach().numpy()
    ends: Any = [None if y is None else y.numpy() for y in (indices, targets)]
    before = np.empty(0, np.intp)
    if with_before:
        shortest = trees.shortest(x, method, *ends) if method else None
        values, before = shortest or trees.star(x, semiring)
    elif method:
        values = graph.shortest_paths(x, method, indices=ends[0], targets=ends[1])
    else:
        values = graph.closure(x, semiring)
    return torch.from_numpy(np.array(values, order="C")), torch.from_numpy(before)


def _fake(
    a: Tensor,
    semiring: str,
    method: str,
    indices: Tensor | None,
    targets: Tensor | None,
    with_before: bool,
) -> tuple[Tensor, Tensor]:
    *batch, n, _ = a.shape
    rows = (n,) if indices is None else indices.shape
    columns = (n,) if targets is None else targets.shape
    before = (*batch, *rows, n) if with_before else (0,)
    return a.new_empty((*batch, *rows, *columns)), a.new_empty(before, dtype=torch.int64)


def _vmap(
    run: Any, info: Any, dims: tuple[int | None, ...], a: Tensor, *arguments: Any
) -> tuple[tuple[Tensor, Tensor], tuple[int, int | None]]:
    """Compute the paths of a batch of graphs."""
    if dims[0] is None or any(dim is not None for dim in dims[1:]):
        raise ValueError("indices, targets: expected the same for all graphs that vmap maps over")
    values, before = run(a.movedim(dims[0], 0), *arguments)
    return (values, before), (0, 0 if arguments[-1] else None)


_paths = differentiable(
    operator(
        "paths",
        "(Tensor a, str semiring, str method, Tensor? indices, Tensor? targets, bool with_before)"
        " -> (Tensor, Tensor)",
        _compute,
        _fake,
    ),
    lambda ctx, inputs, output: ctx.mark_non_differentiable(*output),
    lambda ctx, *_: (None,) * 6,
    _vmap,
)


# --- the operator: values with the gradients of others, also where both are infinite ---


def _vmap_replaced(
    run: Any, info: Any, dims: tuple[int | None, ...], *pair: Tensor
) -> tuple[Tensor, int]:
    """Replace the items of a batch."""
    return run(*torch.broadcast_tensors(*in_front(dims, pair))), 0


_replaced = differentiable(
    operator(
        "replaced",
        "(Tensor result, Tensor values) -> Tensor",
        lambda result, values: values.clone(),
        lambda result, values: torch.empty_like(values),
    ),
    lambda ctx, inputs, output: None,
    lambda ctx, g: (g, None),
    _vmap_replaced,
)
