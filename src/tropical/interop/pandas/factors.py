"""Factors of sparse graphs given as lists of edges: tables and measures with labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tropical import graph, semirings
from tropical.graph.cycles import show
from tropical.graph.edges import Edges

from .labels import chosen, library
from .paths import read_edges

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from tropical.semirings import Semiring


class LabelledFactor:
    """A `tropical.graph.Factor` whose vertices have labels; `factorize` makes it.

    Attributes
    ----------
    factor : Factor
        Its vertices are the positions of the labels.
    labels : Index, (n,)
    """

    def __init__(self, factor: graph.Factor, labels: pd.Index) -> None:
        if not isinstance(factor, graph.Factor):
            raise TypeError(f"factor: expected a Factor, got {type(factor).__name__}")
        index = library().Index(labels)
        if len(index) != factor.n or not index.is_unique:
            raise ValueError(f"labels: expected {factor.n} different ones, got {len(index)}")
        self.factor = factor
        self.labels = index

    def __repr__(self) -> str:
        return f"<LabelledFactor: {self.factor!r}>"

    def lengths(
        self,
        sources: Sequence[Hashable] | None = None,
        targets: Sequence[Hashable] | None = None,
    ) -> pd.DataFrame:
        """Return the lengths of the best paths from some vertices to some vertices.

        Parameters
        ----------
        sources, targets : list of labels, optional
            All vertices by default.

        Returns
        -------
        DataFrame, (sources, targets)
            The semiring's zero where there is no path.

        Raises
        ------
        KeyError
            If a source or a target is not a label.
        TypeError
            If `sources` or `targets` is not a list.
        """
        rows = chosen("sources", sources, self.labels)
        columns = chosen("targets", targets, self.labels)
        table = self.factor.lengths(rows, columns)
        return library().DataFrame(table, self.labels[rows], self.labels[columns])

    def series(self, values: ArrayLike) -> pd.Series:
        """Return values of all vertices with their labels, such as a measure of `tropical.graph`.

        Parameters
        ----------
        values : array_like, (n,)

        Returns
        -------
        Series, (n,)

        Raises
        ------
        ValueError
            If `values` has another shape.

        Examples
        --------
        >>> import pandas as pd
        >>> from tropical.graph import closeness
        >>> from tropical.interop.pandas import factorize
        >>> roads = pd.DataFrame({"source": ["Ulm", "Bonn"], "target": ["Bonn", "Kiel"],
        ...                       "weight": [1.0, 1.0]})
        >>> found = factorize(roads, directed=False)
        >>> found.series(closeness(found.factor)).round(2)
        Bonn    1.00
        Kiel    0.67
        Ulm     0.67
        dtype: float64
        """
        given = np.asarray(values)
        if given.shape != (len(self.labels),):
            raise ValueError(f"values: expected shape ({len(self.labels)},), got {given.shape}")
        return library().Series(given, self.labels)


def factorize(
    edges: pd.DataFrame,
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Hashable | None = "weight",
    *,
    semiring: str | Semiring = "minplus",
    directed: bool = True,
) -> LabelledFactor:
    """Return a factor of a sparse graph given as a list of edges, see `tropical.graph.factorize`.

    No matrix is made, so that a graph of a million edges takes a second.

    Parameters
    ----------
    edges, source, target, weight
        As in `from_edges`.
    semiring : str or Semiring, default "minplus"
        An idempotent semiring.
    directed : bool, default True
        False: each edge leads in both directions.

    Returns
    -------
    LabelledFactor

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight, over minplus; the error carries its labels.
    DivergenceError
        If a cycle improves with every round, over another semiring.
    MemoryError
        If elimination adds too many edges.
    ValueError, KeyError, TypeError
        As `from_edges` does, and for a semiring that is not idempotent.

    Examples
    --------
    >>> import pandas as pd
    >>> from tropical.interop.pandas import factorize
    >>> roads = pd.DataFrame({"source": ["Ulm", "Ulm", "Bonn"], "target": ["Bonn", "Kiel", "Kiel"],
    ...                       "weight": [7.0, 2.0, 3.0]})
    >>> factorize(roads, directed=False).lengths(["Ulm"], ["Bonn", "Kiel"])
         Bonn  Kiel
    Ulm   5.0   2.0
    """
    ring = semirings.get(semiring)
    rows, columns, weights, labels = read_edges(edges, source, target, weight, ring)
    index = library().Index(labels)
    if set(ring.dtypes) == {"bool"}:
        weights = np.where(weights, 1.0, np.inf)
    try:
        factor = graph.factorize(Edges(len(index), rows, columns, weights), ring, directed=directed)
    except graph.NegativeCycleError as error:
        cycle = [index[vertex] for vertex in error.cycle]
        raise graph.NegativeCycleError(
            f"edges: have a cycle of weight {error.weight:g}: {show(cycle)}", cycle, error.weight
        ) from None
    return LabelledFactor(factor, index)
