"""Best paths between vertices, with gradients: `trees` has their calculus."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import tropical
from tropical import semirings

from . import trees
from .elementwise import where
from .operation import operand
from .products import replaced
from .shape import getitem, reshape, swap_last, take_along
from .tensor import Operand, Tensor, data_of, tensor_of
from .value import Array, recording

if TYPE_CHECKING:
    from tropical.semirings import Semiring


def closure(a: Operand, semiring: str | Semiring = "minplus") -> Tensor:
    """Return the Kleene star of square matrices, as `tropical.graph.closure`.

    An element of the star is the product of the arcs of one best path, and the gradient goes to
    these arcs: over minplus and maxplus unchanged, over maxmin and minmax to the arc that is equal
    to the element (the first of several), over maxtimes and mintimes times the other arcs. If
    several paths are best, the predecessors choose one. An element without a path, the diagonal,
    and a product of an infinite arc and others have no gradient.

    Parameters
    ----------
    a : Tensor or array_like, (..., n, n)
        Arcs, the semiring's zero where there is none.
    semiring : str or Semiring, default "minplus"
        A selective one.

    Returns
    -------
    Tensor, (..., n, n)
        The star.

    Raises
    ------
    DivergenceError, ValueError, TypeError
        As in `tropical.graph.closure`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd import Tensor, closure
    >>> inf = np.inf
    >>> roads = [[inf, 7.0, 2.0], [inf, inf, 1.0], [inf, 3.0, inf]]
    >>> roads = Tensor(roads, requires_grad=True)
    >>> lengths = closure(roads)
    >>> lengths[0, 1].backward()  # 5, by way of 2
    >>> roads.grad
    Tensor([[0., 0., 1.],
            [0., 0., 0.],
            [0., 1., 0.]])
    """
    x, ring = np.asarray(operand(data_of(a))), semirings.get(semiring)
    if not (isinstance(a, Tensor) and a.requires_grad and recording.get()) or not ring.selective:
        return _plain(a, tropical.graph.closure(x, ring))
    return _along(a, ring, *trees.star(x, ring.name))


def shortest_paths(
    w: Operand,
    method: str = "auto",
    *,
    directed: bool = True,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
) -> Tensor:
    """Return the lengths of shortest paths, as `tropical.graph.shortest_paths`.

    The gradient of a length goes to the arcs of its path: it counts them. If several paths are
    shortest, the predecessors choose one, so the gradient is a subgradient.

    Parameters
    ----------
    w : Tensor or array_like, (..., n, n)
        Weights of the arcs, +inf where there is none.
    method, directed, indices, targets
        As in `tropical.graph.shortest_paths`.

    Returns
    -------
    Tensor, (..., n, n), or ``(..., *indices.shape, n)``
        The lengths; with `targets` the last axes are ``targets.shape``.

    Raises
    ------
    NegativeCycleError, ValueError, TypeError
        As in `tropical.graph.shortest_paths`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd import Tensor, shortest_paths
    >>> inf = np.inf
    >>> roads = Tensor([[inf, 7.0, 2.0], [inf, inf, 1.0], [inf, 3.0, inf]], requires_grad=True)
    >>> length = shortest_paths(roads, indices=0, targets=1)
    >>> length.backward()
    >>> length.item(), roads.grad.data.tolist()
    (5.0, [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    """
    x = np.asarray(operand(data_of(w)))
    if not (isinstance(w, Tensor) and w.requires_grad and recording.get()):
        options: Any = {"directed": directed, "indices": indices, "targets": targets}
        return _plain(w, tropical.graph.shortest_paths(x, method, **options))
    arcs: Any = w
    if not directed:
        turned = swap_last(arcs)
        arcs = where(x <= turned.data, arcs, turned)
    lengths, before = trees.shortest(arcs.data, method, indices, targets)
    return _along(arcs, semirings.minplus, lengths, before, targets)


def _plain(given: Operand, values: Any) -> Any:
    return tensor_of(np.asarray(values), None) if isinstance(given, Tensor) else values


def _along(
    a: Tensor, ring: Semiring, values: Array, before: Array, targets: ArrayLike | None = None
) -> Tensor:
    """Return the values as a Tensor whose gradient is that of the products along the paths."""
    n, batch = a.shape[-1], a.shape[:-2]
    rows = before.shape[len(batch) : -1]
    before = before.reshape(*batch, math.prod(rows), n)
    one, ancestors = ring.one(a.dtype), trees.ancestors(before)
    result: Any = trees.products(a, before, ring, one, take_along, where, ancestors)
    result = where(before > trees.NONE, result, 0.0)
    result = reshape(result, (*batch, *rows, n))
    if targets is not None:
        result = getitem(result, (..., np.asarray(targets, np.intp)))
    return replaced(result, values)
