"""A table of lengths between corners of roads, by each engine that is installed."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.bench import factors
from tropical.bench.bar import Bar, Pair, fastest
from tropical.graph import factorize
from tropical.measure.contenders import our_call, require
from tropical.measure.timing import Contender

SOURCES = 3000  # and as many targets
EXTRA = "'tropical-blas[engines]'"

Ends = NDArray[np.int64]
# Takes SciPy's array of the roads, sources and targets; the work of a contender is its sources.
Maker = Callable[[Any, Ends, Ends], Contender]


def _edges(roads: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the ends and the weights of the edges, each of which is listed once."""
    made = roads.tocoo()
    return *made.coords, made.data


def _scipy(roads: Any, sources: Ends, _: Ends) -> Contender:
    dijkstra = require("scipy.sparse.csgraph").dijkstra
    roads = roads.astype(np.float64)
    some = sources[:2]
    return Contender("scipy", lambda: dijkstra(roads, directed=False, indices=some), len(some))


def _networkx(roads: Any, sources: Ends, _: Ends) -> Contender:
    networkx = require("networkx")
    graph = networkx.from_scipy_sparse_array(roads)
    search = networkx.single_source_dijkstra_path_length
    return Contender("networkx", lambda: search(graph, int(sources[0])), 1)


def _igraph(roads: Any, sources: Ends, targets: Ends) -> Contender:
    source, target, weight = _edges(roads)
    graph = require("igraph", EXTRA).Graph(
        roads.shape[0], np.column_stack((source, target)), edge_attrs={"weight": weight.tolist()}
    )
    some, ends = sources[:2].tolist(), np.unique(targets).tolist()
    return Contender("igraph", lambda: graph.distances(some, ends, "weight"), len(some))


def _networkit(roads: Any, sources: Ends, targets: Ends) -> Contender:
    networkit = require("networkit", EXTRA)
    networkit.setNumberOfThreads(1)
    source, target, weight = _edges(roads)
    graph = networkit.GraphFromCoo(
        (weight.astype(np.float64), (source, target)), n=roads.shape[0], weighted=True
    )
    some, ends = sources[:2].tolist(), targets.tolist()

    def table() -> object:
        search = networkit.distance.SPSP(graph, some, ends)
        return search.run().getDistances()

    return Contender("networkit", table, len(some))


def _places(roads: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the row and the column of each corner, from which an order is computed."""
    row, column = np.divmod(np.arange(roads.shape[0]), factors.SIDE)
    return row.astype(np.float32), column.astype(np.float32)


def _both_ways(roads: Any) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    source, target, weight = _edges(roads)
    tail, head = np.append(source, target), np.append(target, source)
    return tail.astype(np.uint32), head.astype(np.uint32), np.tile(weight, 2).astype(np.uint32)


def _routingkit_tables(roads: Any, sources: Ends, targets: Ends) -> Contender:
    module = require("pyroutingkit", EXTRA)
    tail, head, weight = _both_ways(roads)
    topology = module.CCHTopology()
    topology.build(tail, head, *_places(roads), roads.shape[0])
    metric = module.CCHMetric(topology)
    metric.customize(weight)
    ends = sources.astype(np.uint32), targets.astype(np.uint32)
    return Contender("pyroutingkit", lambda: metric.distances_many_to_many(*ends), len(sources))


def _routingkit_rows(roads: Any, sources: Ends, targets: Ends) -> Contender:
    module = require("routingkit_cch", EXTRA)
    tail, head, weight = (x.tolist() for x in _both_ways(roads))
    places = (x.tolist() for x in _places(roads))
    order = module.compute_order_inertial(roads.shape[0], tail, head, *places)
    hierarchy = module.CCH(order, tail, head, False)
    rows = module.CCHOneToMany(module.CCHMetric(hierarchy, weight), targets.tolist())
    some = sources[:100].tolist()
    return Contender("routingkit-cch", lambda: [rows.distances_from(s) for s in some], len(some))


def _routingkit(roads: Any, sources: Ends, targets: Ends) -> Contender:
    """Make a contender of the faster one of two packages that contain RoutingKit."""
    makers: list[Maker] = [_routingkit_tables, _routingkit_rows]
    return fastest(functools.partial(make, roads, sources, targets) for make in makers)


def _pandana(roads: Any, sources: Ends, targets: Ends) -> Contender:
    pandas, module = require("pandas"), require("pandana", EXTRA)
    source, target, weight = _edges(roads)
    weights = pandas.DataFrame({"weight": weight.astype(np.float64)})
    network = module.Network(*map(pandas.Series, _places(roads)), source, target, weights)
    some = sources[:10]
    pairs = np.repeat(some, len(targets)), np.tile(targets, len(some))

    def table() -> object:
        with warnings.catch_warnings():  # of pairs without a path
            warnings.simplefilter("ignore")
            return network.shortest_path_lengths(*pairs)

    return Contender("pandana", table, len(some))


ENGINES: dict[str, tuple[Maker, float | None]] = {
    "scipy": (_scipy, 300.0),
    "routingkit": (_routingkit, 8.0),
    "igraph": (_igraph, None),
    "networkit": (_networkit, None),
    "networkx": (_networkx, None),
    "pandana": (_pandana, None),
}


def table(make: Maker) -> Pair:
    """Return a contender of ours and one of another engine, for the same table."""
    roads = factors.roads()
    sources, targets = np.random.default_rng(3).integers(0, roads.shape[0], (2, SOURCES))
    other = make(roads, sources, targets)
    factor = factorize(roads, directed=False)
    out = np.zeros((SOURCES, SOURCES), factor.dtype)
    return our_call(lambda: factor.lengths(sources, targets, out), work=SOURCES), other


def bars() -> Iterator[Bar]:
    """Every bar, in the order of the table."""
    group = f"table of {SOURCES:,} x {SOURCES:,} of 262,144 corners of roads, threads=1"
    for name, (make, value) in ENGINES.items():
        yield Bar(
            group, f"over {name}", value, 20 * SOURCES * SOURCES, functools.partial(table, make)
        )
