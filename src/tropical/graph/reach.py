"""Which vertices can be reached from which: the or-and star of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .inputs import read_pattern
from .progress import shown
from .star import reach

if TYPE_CHECKING:
    from .inputs import GraphLike
    from .progress import Progress

Array: TypeAlias = NDArray[Any]
Bits: TypeAlias = NDArray[np.bool_]


def transitive_closure(
    a: GraphLike,
    *,
    reflexive: bool | None = False,
    overwrite: bool = False,
    progress: Progress = None,
) -> Bits:
    """Return where there is a path from i to j.

    Parameters
    ----------
    a : array_like (..., n, n), sparse array (n, n) or networkx graph
        Where there is an edge from i to j: what is not 0 in an array, and what is stored in a
        sparse one, also a 0. Graphs may lie along leading axes of an array.
    reflexive : bool or None, default False
        What holds for a vertex and itself, as in networkx: False, whether it is on a cycle; True,
        always; None, whether it has an edge to itself.
    overwrite : bool, default False
        Compute in `a` itself where it is an array of booleans; else it is ignored.
    progress : callable or bool, optional
        As in `shortest_paths`.

    Returns
    -------
    ndarray of bool, (..., n, n)
        Laid out as `a`.

    Raises
    ------
    ValueError
        If `a` is not square, or holds a NaN or an infinity: whether these are edges is not for us
        to guess.
    TypeError
        If `a` holds other than numbers or booleans.

    Notes
    -----
    On packed bits, by strong components (P. Purdom, "A transitive closure algorithm", BIT 10,
    1970), or where too many edges are between them, S. Warshall's loops ("A theorem on Boolean
    matrices", Journal of the ACM 9, 1962): see Decisions.

    Examples
    --------
    >>> from tropical.graph import transitive_closure
    >>> transitive_closure([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    there = read_pattern(a)
    paths = there if overwrite and there is a else np.empty_like(there)
    i = np.arange(there.shape[-1])
    loops = there[..., i, i]
    with shown(progress) as report:
        reach(there, paths, report)
    if reflexive is not False:
        paths[..., i, i] = reflexive or loops
    return paths
