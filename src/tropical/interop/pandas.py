"""Labelled frames of pandas: labels in, labels out.

Rows and columns are matched by label, never by position; a missing value is no edge.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tropical import _core, graph, semirings
from tropical.extras import require
from tropical.graph.cycles import show
from tropical.graph.trees import NONE

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from tropical.semirings import Semiring

    Array: TypeAlias = NDArray[Any]

__all__ = ["closure", "from_edges", "gemm", "path", "shortest_paths"]


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
        False: an edge leads both ways.

    Returns
    -------
    DataFrame, (n, n)
        Its labels are the ends of edges, sorted as ``pandas.factorize(sort=True)`` does. float32 if
        the weights are that, bool for orand, else float64.

    Raises
    ------
    ValueError
        If an end is missing.
    KeyError
        If `edges` lacks one of the columns.
    TypeError
        If `edges` is no frame, or the weights are no numbers.

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
    _check_frame("edges", edges)
    ring = semirings.get(semiring)
    ends = edges[[source, target]]
    if ends.isna().any(axis=None):
        row = edges.index[ends.isna().any(axis=1)][0]
        raise ValueError(f"edges: row {row!r} lacks its {source!r} or {target!r}")
    codes, labels = _pandas().factorize(_pandas().concat([edges[source], edges[target]]), sort=True)
    rows, columns = codes.reshape(2, -1)
    weights = np.full(len(edges), ring.one("bool" if ring.name == "orand" else "float64"))
    if weight is not None:
        weights = _values("edges", edges[[weight]], ring)[:, 0]
        if weights.dtype.kind == "i":  # whose zero is a number
            weights = weights.astype(np.float64)
    matrix = np.full((len(labels), len(labels)), ring.zero(weights.dtype), weights.dtype)
    unite = _UNITE[ring.add]
    unite.at(matrix, (rows, columns), weights)
    if not directed:
        unite.at(matrix, (columns, rows), weights)
    return _pandas().DataFrame(matrix, labels, labels)


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
        If labels of rows and columns differ, or stand twice.
    KeyError
        If a source is no label.
    TypeError
        If `w` is no frame, or holds other than numbers.

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
    weights, labels = _square("w", w, semirings.minplus)
    rows = np.arange(len(labels))
    if sources is not None:
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
    frame = _pandas().DataFrame(lengths, labels[rows], labels)
    return frame if before is None else (frame, _labelled(before, labels, frame))


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
    _check_frame("predecessors", predecessors)
    row = predecessors.iloc[predecessors.index.get_loc(source)]
    labels = predecessors.columns.tolist()
    number = {label: i for i, label in enumerate(labels)}
    before = [number.get(label, NONE) for label in row]
    return [labels[stop] for stop in graph.path(before, number[source], number[target])]


def closure(a: pd.DataFrame, semiring: str | Semiring = "minplus") -> pd.DataFrame:
    """Return the Kleene star of a labelled matrix, see `tropical.graph.closure`.

    Parameters
    ----------
    a : DataFrame, (n, n)
        Edges from row to column; the semiring's zero, or a missing value, where there is none. Rows
        and columns have the same labels, in any order.
    semiring : str or Semiring, default "minplus"

    Returns
    -------
    DataFrame, (n, n)
        Rows and columns in the order of the rows of `a`.

    Raises
    ------
    DivergenceError
        If a cycle improves with every round.
    ValueError
        If labels of rows and columns differ, or stand twice.
    TypeError
        If `a` is no frame, or holds other than numbers.

    Examples
    --------
    The widest way from Ulm to Bonn:

    >>> import pandas as pd
    >>> from tropical.interop.pandas import closure, from_edges
    >>> pipes = pd.DataFrame({"source": ["Ulm", "Ulm", "Kiel"], "target": ["Bonn", "Kiel", "Bonn"],
    ...                       "weight": [1.0, 5.0, 4.0]})
    >>> closure(from_edges(pipes, semiring="maxmin"), "maxmin").loc["Ulm", "Bonn"]
    np.float64(4.0)
    """
    ring = semirings.get(semiring)
    values, labels = _square("a", a, ring)
    return _pandas().DataFrame(graph.closure(values, ring), labels, labels)


def gemm(
    a: pd.DataFrame,
    b: pd.DataFrame,
    *,
    semiring: str | Semiring = "maxplus",
    return_argmax: bool = False,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """Return the product of two labelled matrices, see `tropical.gemm`.

    Parameters
    ----------
    a : DataFrame, (m, k)
    b : DataFrame, (k, n)
        Its rows have the labels of the columns of `a`, in any order. A missing value in either is
        the semiring's zero.
    semiring : str or Semiring, default "maxplus"
    return_argmax : bool, default False
        Return also through which label each optimum leads.

    Returns
    -------
    c : DataFrame, (m, n)
        The rows of `a`, and the columns of `b`.
    through : DataFrame of labels, (m, n)
        Of those that attain the optimum, the first in the order of the columns of `a`; None if
        there are none, k being 0.

    Raises
    ------
    ValueError
        If the labels of the columns of `a` and the rows of `b` differ, or stand twice.
    TypeError
        If `a` or `b` is no frame, or holds other than numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from tropical.interop.pandas import gemm
    >>> flights = pd.DataFrame({"Oslo": [1.0, 4.0], "Rome": [3.0, 2.0]}, ["Bonn", "Kiel"])
    >>> trains = pd.DataFrame({"Bergen": [9.0, 7.0]}, ["Rome", "Oslo"])
    >>> hours, through = gemm(flights, trains, semiring="minplus", return_argmax=True)
    >>> hours.join(through.add_prefix("to ", axis=1).add_suffix(" through"))
          Bergen to Bergen through
    Bonn     8.0              Oslo
    Kiel    11.0              Oslo
    """
    ring = semirings.get(semiring)
    left, right = _values("a", a, ring), _values("b", b, ring)
    order = _order("the columns of a", a.columns, "the rows of b", b.index)
    found = _core.gemm(left, right[order], semiring=ring, return_argmax=return_argmax)
    product, index = found if return_argmax else (found, None)
    frame = _pandas().DataFrame(product, a.index, b.columns)
    return frame if index is None else (frame, _labelled(index, a.columns, frame))


_UNITE = {"min": np.minimum, "max": np.maximum, "+": np.add, "or": np.logical_or}


def _pandas() -> Any:
    return require("pandas", "'tropical-blas[pandas]'")


def _check_frame(name: str, frame: object) -> None:
    if not isinstance(frame, _pandas().DataFrame):
        raise TypeError(f"{name}: a pandas DataFrame is wanted, got {type(frame).__name__}")


def _values(name: str, frame: pd.DataFrame, ring: Semiring) -> Array:
    """The numbers of a frame, the semiring's zero where one is missing."""
    _check_frame(name, frame)
    for label, dtype in frame.dtypes.items():
        if not _pandas().api.types.is_numeric_dtype(dtype):
            raise TypeError(f"{name}: column {label!r} has dtype {dtype}, numbers are wanted")
    kinds = [getattr(dtype, "numpy_dtype", dtype) for dtype in frame.dtypes]
    common = np.result_type(*kinds) if kinds else np.dtype(np.float64)
    if not frame.isna().any(axis=None):
        return np.asarray(frame.to_numpy(common))
    if common.kind in "iu":
        common = np.dtype(np.float64)
    return np.asarray(frame.to_numpy(common, na_value=ring.zero(common)))


def _square(name: str, frame: pd.DataFrame, ring: Semiring) -> tuple[Array, pd.Index]:
    """The numbers of a frame, its columns in the order of its rows, and their labels."""
    values = _values(name, frame, ring)
    order = _order(f"the rows of {name}", frame.index, f"the columns of {name}", frame.columns)
    return values[:, order], frame.index


def _order(one: str, wanted: pd.Index, other: str, given: pd.Index) -> Array:
    """Where the labels `wanted` stand in `given`."""
    for what, labels in ((one, wanted), (other, given)):
        if not labels.is_unique:
            raise ValueError(f"{what} have a label twice: {_some(labels[labels.duplicated()])}")
    alone = [(one, wanted[~wanted.isin(given)]), (other, given[~given.isin(wanted)])]
    wrong = [f"only {what} have {_some(labels)}" for what, labels in alone if len(labels)]
    if wrong:
        raise ValueError(f"{one} and {other} must have the same labels: {', '.join(wrong)}")
    return np.asarray(given.get_indexer(wanted))


def _some(labels: pd.Index) -> str:
    shown = ", ".join(repr(label) for label in labels[:3].tolist())
    return f"{shown} and {len(labels) - 3} more" if len(labels) > 3 else shown


def _labelled(numbers: Array, labels: pd.Index, like: pd.DataFrame) -> pd.DataFrame:
    """Labels by their numbers, None for negative ones, in a frame as `like`."""
    found = np.full(numbers.shape, None, object)
    there = numbers >= 0
    found[there] = np.fromiter(labels, object, len(labels))[numbers[there]]
    return _pandas().DataFrame(found, like.index, like.columns)
