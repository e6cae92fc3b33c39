"""The calculus of best paths: derivatives of Kleene stars and of shortest paths, for every engine.

The best paths from one vertex form a tree, which predecessors describe. While no other path becomes
better, the value of a path is the product of its arcs over the semiring: so its derivatives are
those of this product. Each engine computes the product from operations that it differentiates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import semirings

from .winners import is_first, is_product, needs_operands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike

    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]
NONE = -1  # the predecessor of a vertex that has none


def star(a: Array, semiring: str) -> tuple[Array, Array]:
    """Return the star of matrices, (..., n, n), and the predecessors, `NONE` where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd.trees import star
    >>> star(np.array([[np.inf, 2.0], [np.inf, np.inf]]), "minplus")
    (array([[ 0.,  2.],
           [inf,  0.]]), array([[-1,  0],
           [-1, -1]]))
    """
    from tropical.graph.all_pairs import all_pairs  # here: the package takes long to import
    from tropical.graph.star import check_matrix

    ring = semirings.get(semiring)
    a = np.array(a, order="C")
    check_matrix(a, ring)
    if ring == semirings.minplus and (a < 0).any():  # rounding could close a cycle of predecessors
        values, before = _star_of_negative(a)
    else:
        values, found = all_pairs(a, ring, True, True, None)
        assert found is not None
        before = found
    return values, _marked(before)


def _star_of_negative(a: Array) -> tuple[Array, Array]:
    """Return the star over minplus and predecessors, by shortest paths, which take no -inf.

    A number so low takes the place of -inf that a path with it is shorter than all without.
    """
    endless, finite = a == -np.inf, a
    if endless.any():
        finite = a.astype(np.float64)
        most = np.abs(finite).max(initial=1, where=np.isfinite(finite))
        if most > 1e300 / finite.size:
            raise ValueError(f"a: expected arcs beside -inf that are less than 1e300, got {most}")
        finite[endless] = -8 * a.shape[-1] * most
    try:
        values, before = tropical.graph.shortest_paths(finite, "FW", return_predecessors=True)
    except tropical.graph.NegativeCycleError:
        tropical.graph.closure(a)  # raises the error that names `a`
        raise
    return tropical.graph.closure(a) if endless.any() else values, before


def shortest(
    w: Array, method: str, indices: ArrayLike | None, targets: ArrayLike | None
) -> tuple[Array, Array]:
    """Return the lengths of shortest paths and the predecessors, `NONE` where there is none."""
    lengths, before = tropical.graph.shortest_paths(
        w, method, indices=indices, targets=targets, return_predecessors=True
    )
    return np.asarray(lengths), _marked(before)


def _marked(before: Array) -> Array:
    return np.maximum(before, NONE).astype(np.intp, order="C")


def products(
    a: Any,
    before: Any,
    ring: Semiring,
    one: float,
    take: Callable[[Any, Any, int], Any],
    where: Callable[[Any, Any, Any], Any],
    ancestors: Iterable[Any],
) -> Any:
    """Return the product of the arcs of each path; the semiring's one where there is no arc.

    Parameters
    ----------
    a : (..., n, n)
        The arcs, an array of the engine.
    before : (..., r, n)
        The vertex before each vertex on the path from the root of the row, or `NONE`.
    ring : Semiring
        A selective one.
    one : float
        Its one, which floats of 32 and 64 bits share.
    take, where
        ``take_along_axis`` and ``where`` of the engine.
    ancestors : iterable of pairs
        The ancestor of each vertex 1, 2, 4, ... arcs before it, or the root; and whether it is
        below the root. So a path of 1,000 arcs takes 10 products of elements.

    Notes
    -----
    If both operands attain a minimum or maximum, the first arc of the path has the derivative.
    Ordinary products of an infinite arc and others become the constant 0: the gradient of another
    path, which is 0 for this one, would be 0 times infinity, NaN.
    """
    result = where(before > NONE, take(a, before.clip(0), -2), one)
    for above, below in ancestors:
        result = _product(ring, take(result, above, -1), result, below, where)
    return result


def _product(
    ring: Semiring, x: Any, y: Any, below: Any, where: Callable[[Any, Any, Any], Any]
) -> Any:
    """Return x (x) y. Where (x) is min or max, x counts only if it has arcs, `below` the root."""
    if not needs_operands(ring):
        return x + y
    if not is_product(ring):
        return where(is_first(ring, x, y) & below, x, y)
    finite = (x < np.inf) & (y < np.inf)
    product = where(finite, x, 0.0) * where(finite, y, 0.0)
    return where(below, product, y)  # an infinite arc alone keeps its derivative, 1


def rounds(n: int) -> int:
    """Return the most rounds of `ancestors` in graphs of n vertices.

    Examples
    --------
    >>> from tropical.autograd.trees import rounds
    >>> [rounds(n) for n in (0, 1, 2, 3, 4, 1025)]
    [0, 0, 0, 1, 2, 10]
    """
    return max(n - 2, 0).bit_length()


def ancestors(before: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the ancestors that `products` needs, for arrays of NumPy."""
    n = before.shape[-1]
    above = np.where(before > NONE, before, np.arange(n))
    for _ in range(rounds(n)):
        below = np.take_along_axis(before, above, -1) > NONE
        if not below.any():
            return
        yield above, below
        above = np.take_along_axis(above, above, -1)
