"""Paths in graphs: dense and sparse ones, batches, trees of predecessors, reachability."""

from __future__ import annotations

from tropical.bench import paths

from . import common


class Shortest(common.Call):
    params = (["float32", "float64"], [256, 1024])
    param_names = ("dtype", "n")

    def setup(self, dtype: str, n: int) -> None:
        self.prepare(paths.ours, paths.dense(n, dtype))

    def time_shortest(self, *_: object) -> None:
        self.call()


class Predecessors(common.Call):
    params = ([64, 512],)
    param_names = ("n",)

    def setup(self, n: int) -> None:
        self.prepare(paths.ours, paths.dense(n), return_predecessors=True)

    def time_predecessors(self, *_: object) -> None:
        self.call()


class Negative(common.Call):
    """From one vertex of a sparse graph with negative weights: a chain, and one of many cycles."""

    params = (["chain", "cycles"],)
    param_names = ("graph",)

    def setup(self, graph: str) -> None:
        made = paths.chain(100_000) if graph == "chain" else paths.turned(20_000, 4)
        self.prepare(paths.ours, made, method="J", indices=0)

    def time_negative(self, *_: object) -> None:
        self.call()


class Others(common.Call):
    """A thousand graphs of 32 vertices, a sparse graph, reachability."""

    def setup(self) -> None:
        self.prepare(paths.ours, paths.dense(32, batch=(1000,)))
        self.batch = self.call
        self.prepare(paths.our_reach, paths.reach(2048, 4))
        self.reach = self.call
        self.prepare(paths.ours, paths.sparse(1024, 4))

    def time_batch(self) -> None:
        self.batch()

    def time_reachability(self) -> None:
        self.reach()

    def time_sparse(self) -> None:
        self.call()
