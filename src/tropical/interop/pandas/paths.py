"""Graphs as lists of edges and as labelled matrices, and their shortest paths."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tropical import graph, semirings
from tropical.graph.cycles import show
from tropical.graph.star import NO_PREDECESSOR

from .labels import check_frame, labelled, library, numbers_of, square

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd

    from tropical.semirings import Semiring

_UNITE = {"min": np.minimum, "max": np.maximum, "+": np.add, "or": np.logical_or}


def from_edges(
    edges: pd.DataFrame,
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Hashable | None = "weight",
    *,
    semiring: str | Semiring = "minplus",
    directed: bool = True,
) -> pd.DataFrame:
    """Return the matrix of a graph given as a list of edges, one a row.

    Parameters
    ----------
    edges : DataFrame, (edges, ...)
    source, target, weight : label
        The columns of `edges` that hold an edge's two ends and its weight; `weight` None: each
        edge has the semiring's one.
    semiring : str or Semiring, default "minplus"
        Whose zero says that there is no edge, and whose (+) unites parallel ones.
    directed : bool, default True
        False: an edge leads both ways; one from a vertex to itself counts once.

    Returns
    -------
    DataFrame, (n, n)
        Its labels are the ends of edges, sorted as ``pandas.factorize(sort=True)`` does. float32 if
        the weights are that, bool for orand, else float64.

    Raises
    ------
    ValueError
        If an end is missing, or one of the columns is there twice.
    KeyError
        If `edges` lacks one of the columns.
    TypeError
        If `edges` is no frame, the weights are no numbers, or the ends cannot be sorted.

    Examples
    --------
    >>> import pandas as pd
    >>> from tropical.interop.pandas import from_edges
    >>> roads = pd.DataFrame({"source": ["Ulm", "Ulm", "Bonn"], "target": ["Bonn", "Kiel", "Kiel"],
    ...                       "weight": [7.0, 2.0, 3.0]})
    >>> from_edges(roads, directed=False)
          Bonn  Kiel  Ulm
    Bonn   inf   3.0  7.0
    Kiel   3.0   inf  2.0
    Ulm    7.0   2.0  inf
    """
    check_frame("edges", edges)
    ring = semirings.get(semiring)
    for label in (source, target, *(() if weight is None else (weight,))):
        if (count := edges.columns.tolist().count(label)) > 1:
            raise ValueError(f"edges: has {count} columns {label!r}")
    ends = edges[[source, target]]
    if ends.isna().any(axis=None):
        row = edges.index[ends.isna().any(axis=1)].tolist()[0]
        raise ValueError(f"edges: row {row!r} lacks its {source!r} or {target!r}")
    both = library().concat([edges[source], edges[target]])
    try:
        codes, labels = library().factorize(both, sort=True)
    except TypeError as error:
        raise TypeError(f"edges: their ends have no order: {error}") from None
    rows, columns = codes.reshape(2, -1)
    weights = np.full(len(edges), ring.one("bool" if ring.name == "orand" else "float64"))
    if weight is not None:
        weights = numbers_of("edges", edges[[weight]], ring)[:, 0]
        if weights.dtype.kind == "i":  # whose zero is a number
            weights = weights.astype(np.float64)
    matrix = np.full((len(labels), len(labels)), ring.zero(weights.dtype), weights.dtype)
    unite = _UNITE[ring.add]
    unite.at(matrix, (rows, columns), weights)
    if not directed:
        ways = rows != columns
        unite.at(matrix, (columns[ways], rows[ways]), weights[ways])
    return library().DataFrame(matrix, labels, labels)


def shortest_paths(
    w: pd.DataFrame,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    sources: Sequence[Hashable] | None = None,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """Return the lengths of the shortest paths, see `tropical.graph.shortest_paths`.

    Parameters
    ----------
    w : DataFrame, (n, n)
        Weights of the edges from row to column; inf, or a missing value, where there is none. Rows
        and columns have the same labels, in any order.
    directed, return_predecessors, unweighted : bool
        As there.
    sources : list of labels, optional
        From where paths are wanted, and in which order; from everywhere unless given.

    Returns
    -------
    lengths : DataFrame, (sources, n)
        The labels of the columns are those of the rows of `w`, in that order.
    predecessors : DataFrame of labels, (sources, n)
        The last stop before each column; None where there is no path, and at the source.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight; it carries its labels.
    ValueError
        If labels of rows and columns differ, stand twice, or are missing.
    KeyError
        If a source is no label.
    TypeError
        If `w` is no frame, or holds other than numbers; if `sources` is no list.

    Examples
    --------
    >>> import pandas as pd
    >>> from tropical.interop.pandas import from_edges, path, shortest_paths
    >>> roads = pd.DataFrame({"source": ["Ulm", "Ulm", "Bonn"], "target": ["Bonn", "Kiel", "Kiel"],
    ...                       "weight": [7.0, 2.0, 3.0]})
    >>> lengths, before = shortest_paths(from_edges(roads, directed=False),
    ...                                  return_predecessors=True)
    >>> lengths
          Bonn  Kiel  Ulm
    Bonn   0.0   3.0  5.0
    Kiel   3.0   0.0  2.0
    Ulm    5.0   2.0  0.0
    >>> path(before, "Ulm", "Bonn")
    ['Ulm', 'Kiel', 'Bonn']
    """
    weights, labels = square("w", w, semirings.minplus)
    rows = np.arange(len(labels))
    if sources is not None:
        if not library().api.types.is_list_like(sources):
            raise TypeError(f"sources: a list of labels is wanted, got {sources!r}")
        sources = list(sources)
        rows = labels.get_indexer(sources)
        if (rows < 0).any():
            raise KeyError(f"sources: {sources[int(np.argmin(rows))]!r} is no label of w")
    find = partial(
        graph.shortest_paths, weights, directed=directed, unweighted=unweighted, indices=rows
    )
    try:
        lengths, before = find(return_predecessors=True) if return_predecessors else (find(), None)
    except graph.NegativeCycleError as error:
        cycle = [labels[vertex] for vertex in error.cycle]
        raise graph.NegativeCycleError(
            f"w: has a cycle of weight {error.weight:g}: {show(cycle)}", cycle, error.weight
        ) from None
    frame = library().DataFrame(lengths, labels[rows], labels)
    return frame if before is None else (frame, labelled(before, labels, frame))


def path(predecessors: pd.DataFrame, source: Hashable, target: Hashable) -> list[Hashable]:
    """Return the labels on the shortest path from `source` to `target`.

    Parameters
    ----------
    predecessors : DataFrame of labels
        As `shortest_paths` returns it.
    source, target : label

    Returns
    -------
    list of labels
        Both included; empty where there is no path.

    Raises
    ------
    KeyError
        If `source` is none of its rows, or `target` none of its columns.
    """
    check_frame("predecessors", predecessors)
    sources, labels = predecessors.index.tolist(), predecessors.columns.tolist()
    if source not in sources:
        raise KeyError(f"source: {source!r} is no row of predecessors")
    row = predecessors.iloc[sources.index(source)]
    number = {label: i for i, label in enumerate(labels)}
    before = [number.get(label, NO_PREDECESSOR) for label in row]
    return [labels[stop] for stop in graph.path(before, number[source], number[target])]
