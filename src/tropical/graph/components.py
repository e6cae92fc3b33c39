"""Strong components: the sets of vertices that all reach each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .edge_arrays import Edges, in_core

if TYPE_CHECKING:
    from collections.abc import Iterator


def component_numbers(edges: Edges) -> NDArray[np.int32]:
    """Return the number of each vertex's strong component, (n,).

    An edge between two components leads to the lesser number.
    """
    return in_core(edges, np.zeros(len(edges.weight), np.float32)).components()


def strong_components(
    edges: Edges,
) -> Iterator[tuple[NDArray[np.intp], Edges, NDArray[np.intp]]]:
    """Yield each strong component with edges: its vertices, its edges, their positions in `edges`.

    The yielded edges number the vertices of the component from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph.components import strong_components
    >>> from tropical.graph.edges import Edges
    >>> graph = Edges(3, np.array([0, 1, 2]), np.array([1, 2, 1]), np.ones(3))
    >>> for vertices, own, positions in strong_components(graph):
    ...     print(vertices, own.source, own.target, positions)
    [1 2] [0 1] [1 0] [1 2]
    """
    n, source, target = edges.n, edges.source, edges.target
    numbers = component_numbers(edges)
    least = np.full(n, n)
    np.minimum.at(least, numbers, np.arange(n))
    labels = least[numbers]  # the least vertex of each component
    owners = np.where(labels[source] == labels[target], labels[source], n)
    place = np.empty(n, np.intp)
    for label in np.flatnonzero(np.bincount(owners, minlength=n)[:n]):
        vertices, chosen = np.flatnonzero(labels == label), np.flatnonzero(owners == label)
        place[vertices] = np.arange(len(vertices))
        ends = place[source[chosen]], place[target[chosen]]
        yield vertices, Edges(len(vertices), *ends, edges.weight[chosen]), chosen
