"""Functions of the networkx backend, from the networkx graph to networkx's result."""

from __future__ import annotations

from typing import Any

import numpy as np

from tropical.measure import contenders
from tropical.measure.timing import Contender, interleave

from . import common

NAMES = ("floyd_warshall", "floyd_warshall_numpy", "all_pairs_dijkstra_path_length")


def complete(n: int) -> Any:
    """The complete directed graph with weights from 0 to 1."""
    networkx = contenders.require("networkx")
    graph = networkx.complete_graph(n, networkx.DiGraph)
    weights = np.random.default_rng(0).random((n, n)).tolist()
    for tail, head, data in graph.edges(data=True):
        data["weight"] = weights[tail][head]
    return graph


def ours(name: str, graph: Any) -> Contender:
    backend = contenders.require("tropical.interop.networkx")
    function = getattr(backend, name)

    def call() -> object:
        result = function(backend.convert_from_nx(graph))
        return dict(result) if name.startswith("all_pairs") else result

    return Contender("ours", call, 2.0 * len(graph) ** 3)


def theirs(name: str, graph: Any) -> Contender:
    function = getattr(contenders.require("networkx"), name)
    return Contender("networkx", lambda: function(graph, backend="networkx"), 2.0 * len(graph) ** 3)


class Functions(common.Call):
    params = (NAMES, [64, 512])
    param_names = ("function", "n")
    time_function = common.Call.run

    def setup(self, name: str, n: int) -> None:
        self.prepare(lambda: ours(name, complete(n)))


class TimesNetworkx:
    params = (NAMES[:2],)
    param_names = ("function",)
    unit = "times networkx's speed, n = 100"

    def setup(self, name: str) -> None:
        with common.skipped_if_absent():
            self.graph = complete(100)

    def track_times_networkx(self, name: str) -> float:
        timings = interleave(
            [ours(name, self.graph), theirs(name, self.graph)], budget=common.BUDGET
        )
        return timings.ratio("ours", "networkx").median
