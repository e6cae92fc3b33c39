"""A pytest plugin: SciPy's own tests of shortest paths, run on ours (see test_scipy_suite.py)."""

import numpy as np
import scipy.sparse
from scipy.sparse import csgraph

from tropical.graph import NegativeCycleError, shortest_paths

calls = []


def ours(graph):
    """What SciPy takes: in an array, 0, NaN and infinities are no edges."""
    if scipy.sparse.issparse(graph) or np.ma.isMaskedArray(graph):
        return graph
    dense = np.asarray(graph, dtype=np.float64)
    return np.where((dense == 0) | ~np.isfinite(dense), np.inf, dense)


def shortest_path(
    graph,
    method="auto",
    directed=True,
    return_predecessors=False,
    unweighted=False,
    overwrite=False,
    indices=None,
    **bounds,
):
    calls.append(method)
    try:
        return shortest_paths(
            ours(graph),
            method,
            directed=directed,
            return_predecessors=return_predecessors,
            unweighted=unweighted,
            overwrite=overwrite,
            indices=indices,
            **bounds,
        )
    except NegativeCycleError as error:
        raise csgraph.NegativeCycleError(str(error)) from error


def dijkstra(graph, directed=True, indices=None, **options):
    return shortest_path(graph, "D", directed, indices=indices, **options)


def johnson(graph, directed=True, **options):
    return shortest_path(graph, "J", directed, **options)


def bellman_ford(graph, directed=True, **options):
    return shortest_path(graph, "BF", directed, **options)


def pytest_collection_modifyitems(items):
    for item in items:
        for function in (shortest_path, dijkstra, johnson, bellman_ford):
            setattr(item.module, function.__name__, function)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.line(f"{len(calls)} calls of ours")
