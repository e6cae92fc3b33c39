"""Graphs as lists of edges and as frames, and their shortest paths."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tropical import graph, semirings
from tropical.arrays import is_kind, promote
from tropical.graph.cycles import show
from tropical.graph.predecessors import NO_PREDECESSOR

from .labels import check_frame, chosen, library, numbers_of, square, with_labels

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd

    from tropical.arrays import Array
    from tropical.semirings import Semiring


def read_edges(
    edges: pd.DataFrame,
    source: Hashable,
    target: Hashable,
    weight: Hashable | None,
    ring: Semiring,
) -> tuple[Array, Array, Array, pd.Index]:
    """Return the numbers of the ends of edges, the weights and the labels; see `from_edges`."""
    check_frame("edges", edges)
    for label in (source, target, *(() if weight is None else (weight,))):
        if (count := edges.columns.tolist().count(label)) != 1:
            error = ValueError if count else KeyError
            raise error(f"edges: expected one column {label!r}, got {count or 'none'}")
    ends = edges[[source, target]]
    if ends.isna().any(axis=None):
        row = edges.index[ends.isna().any(axis=1)].tolist()[0]
        raise ValueError(f"edges: expected {source!r} and {target!r} in row {row!r}, got none")
    both = _labels(edges[source], edges[target])
    try:
        codes, labels = library().factorize(both, sort=True)
    except TypeError as error:
        raise TypeError(f"edges: expected ends that can be sorted: {error}") from None
    rows, columns = codes.reshape(2, -1)
    weights = np.full(len(edges), ring.one("float64" if "float64" in ring.dtypes else "bool"))
    if weight is not None:
        weights = numbers_of("edges", edges[[weight]], ring)[:, 0]
        if is_kind(weights.dtype, "integer"):  # an integer dtype has no infinity
            weights = promote(weights, np.float64, ring)
    return rows, columns, weights, labels


def _labels(source: pd.Series, target: pd.Series) -> pd.Series:
    """Return the ends of edges in one column; raise if their common dtype changes an integer."""
    both = library().concat([source, target])
    types = library().api.types
    for ends in (source, target):
        rounds = types.is_integer_dtype(ends.dtype) and types.is_float_dtype(both.dtype)
        if rounds and ((ends > 2**53) | (ends < -(2**53))).any():
            raise ValueError(
                "edges: expected ends of one dtype, as float64 does not hold integers beyond "
                f"2**53, got {source.dtype} and {target.dtype}"
            )
    return both


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
        The columns of `edges` with the ends and the weight of an edge; with `weight` None, each
        edge has the semiring's one.
    semiring : str or Semiring, default "minplus"
        Its zero means no edge, and its (+) combines parallel edges.
    directed : bool, default True
        False: each edge leads in both directions; an edge from a vertex to itself counts once.

    Returns
    -------
    DataFrame, (n, n)
        The labels are the ends of edges in the order of ``pandas.factorize(sort=True)``. The dtype
        is that of the weights, but float64 for integers, which have no infinity, and for `weight`
        None (over orand bool).

    Raises
    ------
    ValueError
        If an end is missing, `edges` has a column twice, or ends are integers beyond 2**53 and
        pandas' common dtype of both columns of ends is one of floats.
    KeyError
        If `edges` lacks one of the columns.
    TypeError
        If `edges` is not a frame, weights are not numbers, or ends cannot be sorted.

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
    ring = semirings.get(semiring)
    rows, columns, weights, labels = read_edges(edges, source, target, weight, ring)
    matrix = np.full((len(labels), len(labels)), ring.zero(weights.dtype), weights.dtype)
    unite = ring.add_ufunc
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
        Weights of the edges from row to column; inf, or a missing value, means no edge. Rows and
        columns have the same labels, in any order.
    directed, return_predecessors, unweighted : bool
        As for `tropical.graph.shortest_paths`.
    sources : list of labels, optional
        The first vertices of the paths, in order; all vertices by default.

    Returns
    -------
    lengths : DataFrame, (sources, n)
        The columns have the labels of the rows of `w`, in the same order.
    predecessors : DataFrame of labels, (sources, n)
        The vertex before each column on the path; None if there is no path, and at the source.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight; the error carries the labels of the cycle.
    ValueError
        If labels of rows and columns differ, stand twice, or are missing.
    KeyError
        If a source is not a label.
    TypeError
        If `w` is not a frame of numbers, or `sources` is not a list.

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
    rows = chosen("sources", sources, labels, "labels of w")
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
    return frame if before is None else (frame, with_labels(before, labels, frame))


def path(predecessors: pd.DataFrame, source: Hashable, target: Hashable) -> list[Hashable]:
    """Return the labels on the shortest path from `source` to `target`.

    Parameters
    ----------
    predecessors : DataFrame of labels
        The second result of `shortest_paths`.
    source, target : label

    Returns
    -------
    list of labels
        From `source` to `target`, both included; empty if there is no path.

    Raises
    ------
    KeyError
        If `source` is not a row, or `target` not a column, of `predecessors`.
    """
    check_frame("predecessors", predecessors)
    sources, labels = predecessors.index.tolist(), predecessors.columns.tolist()
    if source not in sources:
        raise KeyError(f"source: expected a row of predecessors, got {source!r}")
    row = predecessors.iloc[sources.index(source)]
    number = {label: i for i, label in enumerate(labels)}
    if target not in number:
        raise KeyError(f"target: expected a column of predecessors, got {target!r}")
    before = [number.get(label, NO_PREDECESSOR) for label in row]
    return [labels[stop] for stop in graph.path(before, number[source], number[target])]
