"""A networkx graph as arrays: edges are numbered once, weights are read at the first use."""

from __future__ import annotations

from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np

from tropical.graph import Searcher
from tropical.graph.edges import Edges

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tropical.arrays import Array

# Integers below these bounds are exact: float32 has twice the lanes of float64.
_EXACT: dict[np.dtype[Any], int] = {np.dtype(np.float32): 2**24, np.dtype(np.float64): 2**53}
_WHOLE = {int, bool, np.int64}
_NUMBERS = _WHOLE | {float, np.float64}


class _Missing:
    """The weight of an edge without a weight."""


_MISSING = _Missing()


class Column(NamedTuple):
    """The weights of the edges, float64."""

    values: Array
    integer: bool
    """Whether all weights are Python's integers, or missing."""
    complete: bool
    """Whether no weight is missing."""


class DenseGraph:
    """A networkx graph as this backend computes with it.

    Parameters
    ----------
    source : networkx.Graph
        A graph of any kind, which must not change while this object is in use.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.interop.networkx import DenseGraph
    >>> graph = DenseGraph(nx.path_graph("abc"))
    >>> graph.matrix(None)
    array([[inf,  1., inf],
           [ 1., inf,  1.],
           [inf,  1., inf]], dtype=float32)
    """

    __networkx_backend__ = "tropical"

    def __init__(self, source: Any) -> None:
        self.source = source
        self.nodes: list[Hashable] = list(source)
        self._columns: dict[str, Column] = {}
        self._searchers: dict[str | None, Searcher] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return bool(self.source.is_directed())

    def is_multigraph(self) -> bool:
        """Whether edges may be parallel."""
        return bool(self.source.is_multigraph())

    def number_of_edges(self) -> int:
        """The number of edges, with parallel edges."""
        return int(self.source.number_of_edges())

    @cached_property
    def labels(self) -> Array:
        """The nodes as an array of objects, for indexing by numbers."""
        return np.fromiter(self.nodes, object, len(self.nodes))

    @cached_property
    def number(self) -> dict[Hashable, int]:
        """The number of each node."""
        return {node: i for i, node in enumerate(self.nodes)}

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """The numbers of tails and heads of edges; an undirected edge is in both directions."""
        adjacency = self.source._adj.values()
        heads = chain.from_iterable(adjacency)
        if self.is_multigraph():
            heads = chain.from_iterable(
                repeat(head, len(parallel)) for near in adjacency for head, parallel in near.items()
            )
            degrees = [sum(map(len, near.values())) for near in adjacency]
        else:
            degrees = list(map(len, adjacency))
        columns = np.fromiter(map(self.number.__getitem__, heads), np.intp, sum(degrees))
        return np.repeat(np.arange(len(self)), degrees), columns

    def column(self, attribute: str | None) -> Column:
        """Return the weights of `ends`: an attribute of the edges, 1 if missing or None.

        Raises
        ------
        NotImplementedError
            If a weight is not a finite number of int, float, NumPy's int64 or float64: networkx
            computes with other types in their own arithmetic.
        """
        if attribute is None:
            return Column(np.ones(len(self.ends[0])), True, False)
        if attribute not in self._columns:
            self._columns[attribute] = self._read(attribute)
        return self._columns[attribute]

    def _read(self, attribute: str) -> Column:
        rows = [near.values() for near in self.source._adj.values()]
        if self.is_multigraph():
            rows = [parallel.values() for near in rows for parallel in near]
        weights = [data.get(attribute, _MISSING) for row in rows for data in row]
        kinds = set(map(type, weights))
        complete = _Missing not in kinds
        if not complete:
            weights = [1 if weight is _MISSING else weight for weight in weights]
        if strange := kinds - _NUMBERS - {_Missing}:
            names = sorted(kind.__name__ for kind in strange)
            raise NotImplementedError(f"{attribute}: weights of type {', '.join(names)}")
        try:
            values = np.fromiter(weights, np.float64, len(weights))
        except OverflowError:
            raise NotImplementedError(f"{attribute}: a weight beyond any float") from None
        if not np.isfinite(values).all():
            raise NotImplementedError(f"{attribute}: weights that are not finite")
        return Column(values, not kinds - _WHOLE - {_Missing}, complete)

    def is_whole(self, attribute: str | None) -> bool:
        """Return whether all weights are whole numbers."""
        values = self.column(attribute).values
        return bool((values == np.floor(values)).all())

    def matrix(self, attribute: str | None) -> Array:
        """Return weights, (n, n), inf for no edge, the least weight of parallel edges.

        The dtype is float32 if the length of every path is exact in float32, else float64.

        Raises
        ------
        NotImplementedError
            As `column` does, and for whole lengths that are too long for float64.
        """
        values = self._values(attribute)
        weights = np.full((len(self), len(self)), np.inf, values.dtype)
        if self.is_multigraph():
            np.minimum.at(weights, self.ends, values)
        else:
            weights[self.ends] = values
        return weights

    def edges(self, attribute: str | None) -> Edges:
        """Return the edges in networkx's order, an undirected one once.

        The dtype is that of `matrix`.

        Raises
        ------
        NotImplementedError
            As `matrix` does.
        """
        tails, heads = self.ends
        edges = Edges(len(self), tails, heads, self._values(attribute))
        return edges if self.is_directed() else edges.where(tails <= heads)

    def searcher(self, attribute: str | None) -> Searcher:
        """Return a searcher of the graph, which is kept.

        Raises
        ------
        NotImplementedError
            As `matrix` does; and for negative weights, to which networkx has its own answer.
        """
        if attribute not in self._searchers:
            if self.column(attribute).values.min(initial=0) < 0:
                raise NotImplementedError(f"{attribute}: weights are negative")
            edges = Edges(len(self), *self.ends, self._values(attribute))
            self._searchers[attribute] = Searcher(edges)
        return self._searchers[attribute]

    def _values(self, attribute: str | None) -> Array:
        """Return the weights of `ends` in the dtype of `matrix`."""
        values = self.column(attribute).values
        if not self.is_whole(attribute):
            return values.copy()
        longest = np.abs(values).max(initial=0) * len(self)
        for dtype, bound in _EXACT.items():
            if longest < bound:
                return values.astype(dtype)
        raise NotImplementedError(f"{attribute}: lengths up to {longest:g}, 2**53 is the most")

    def adjacency(self) -> Array:
        """Return where there is an edge, (n, n), bool."""
        there = np.zeros((len(self), len(self)), bool)
        there[self.ends] = True
        return there


def convert_from_nx(graph: Any, **how: object) -> DenseGraph:
    """Return a networkx graph as a `DenseGraph`, which reads nodes, edges and weights later."""
    if not isinstance(graph, nx.Graph):
        raise NotImplementedError(f"not a networkx graph: {type(graph).__name__}")
    if hasattr(graph, "_graph"):  # a view keeps its cache when the graph behind it changes
        graph.__networkx_cache__ = None
    return DenseGraph(graph)


def convert_to_nx(result: Any, **how: object) -> Any:
    """Return the networkx graph of a `DenseGraph`, and other results unchanged."""
    return result.source if isinstance(result, DenseGraph) else result
