"""Paths in graphs: dense and sparse ones, batches, trees of predecessors, reachability."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from tropical.bench import graphs, paths, searches
from tropical.extras import NotInstalledError
from tropical.graph import Searcher, factorize, k_shortest_paths, longest_paths, write_lengths
from tropical.graph.rows.stores import check_installed

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
    time_predecessors = common.Call.run

    def setup(self, n: int) -> None:
        self.prepare(paths.ours, paths.dense(n), return_predecessors=True)


class Negative(common.Call):
    """From one vertex of a sparse graph with negative weights: a chain, and one of many cycles."""

    params = (["chain", "cycles"],)
    param_names = ("graph",)
    time_negative = common.Call.run

    def setup(self, graph: str) -> None:
        made = paths.chain(100_000) if graph == "chain" else paths.turned(20_000, 4)
        self.prepare(paths.ours, made, method="J", indices=0)


class Factors:
    """A grid of 300 x 300 vertices: its factor, new weights, rows of 64 vertices, one path."""

    params = (["float32", "float64"],)
    param_names = ("dtype",)

    def setup(self, dtype: str) -> None:
        self.graph = paths.grid(300, dtype)
        self.factor = factorize(self.graph, directed=False)
        self.sources = np.arange(0, self.factor.n, self.factor.n // 64)[:64]
        self.out = np.zeros((64, self.factor.n), dtype)
        self.before = np.zeros((64, self.factor.n), np.int32)
        self.table = np.zeros((64, 64), dtype)
        self.last = self.factor.n - 1
        self.factor.path(0, self.last)

    def time_factorize(self, *_: object) -> None:
        factorize(self.graph, directed=False)

    def time_update(self, *_: object) -> None:
        self.factor.update(self.graph.data)

    def time_lengths(self, *_: object) -> None:
        self.factor.lengths(self.sources, out=self.out)

    def time_table(self, *_: object) -> None:
        """From 64 vertices to 64."""
        self.factor.lengths(self.sources, self.sources, out=self.table)

    def time_predecessors(self, *_: object) -> None:
        self.factor.predecessors(self.sources, (self.out, self.before), return_lengths=True)

    def time_path(self, *_: object) -> None:
        self.factor.path(0, self.last)

    def time_update_edges(self, *_: object) -> None:
        """An edge in the middle, closed and opened again."""
        middle = 150 * 300 + 150
        self.factor.update_edges(middle + 1, middle, np.inf)
        self.factor.update_edges(middle + 1, middle, 0.5)


class OnDisk:
    """All lengths of a grid's factor, written to a disk, and the time over that in memory."""

    params = (["npy", "zarr", "parquet"],)
    param_names = ("suffix",)
    unit = "times the time in memory"
    number, warmup_time = 1, 0.0  # each call needs a file of its own, which `setup` names

    def setup(self, suffix: str) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.out = self.folder / f"grid.{suffix}"
        try:
            check_installed(self.out)
        except NotInstalledError as absent:
            raise NotImplementedError(absent) from absent  # which asv takes for a skip
        side = common.sizes([60], [30])[0]
        self.factor = factorize(paths.grid(side, "float64"), directed=False)

    def teardown(self, *_: object) -> None:
        shutil.rmtree(self.folder)

    def write(self) -> None:
        write_lengths(self.factor, self.out, memory="1GB")

    def time_write_lengths(self, *_: object) -> None:
        self.write()

    def track_times_memory(self, *_: object) -> float:
        """Each round writes new files, as a call that finds its file has nothing to do."""
        ratios = []
        for _ in range(3 if common.MEASURED else 1):
            shutil.rmtree(self.folder)
            self.folder.mkdir()
            times = []
            for call in (self.factor.lengths, self.write):
                begin = time.perf_counter()
                call()
                times.append(time.perf_counter() - begin)
            ratios.append(times[1] / times[0])
        return float(np.median(ratios))


class Searches:
    """A grid of 300 x 300 vertices, both ways: bounded searches, and paths one after the other."""

    def setup(self) -> None:
        self.graph = searches.two_way_grid(300)
        self.searcher = Searcher(self.graph)
        self.one_way = paths.grid(300, "float64")
        self.depots = np.arange(0, 90_000, 1800)
        self.chain = abs(paths.chain(common.sizes([100_000], [1000])[0]))
        self.last = int(np.flatnonzero(np.diff(self.chain.indptr) == 0)[0])

    def time_near_target(self) -> None:
        self.searcher.lengths(45150, 48170)

    def time_nearest_depot(self) -> None:
        self.searcher.lengths(self.depots, min_only=True)

    def time_longest(self) -> None:
        longest_paths(self.one_way, indices=0)

    def time_k_shortest(self) -> None:
        list(k_shortest_paths(self.graph, 0, 3010, 10))

    def time_k_shortest_of_a_chain(self) -> None:
        list(k_shortest_paths(self.chain, 0, self.last, 2))


class Others(common.Call):
    """A thousand graphs of 32 vertices, a sparse graph, many sources, reachability."""

    def setup(self) -> None:
        self.prepare(paths.ours, paths.dense(32, batch=(1000,)))
        self.batch = self.call
        self.prepare(paths.our_reach, paths.reach(2048, 4))
        self.reach = self.call
        self.prepare(paths.ours, paths.sparse(1024, 4))
        self.sparse = self.call
        self.prepare(paths.ours, paths.sparse(5000, 4), method="D", indices=np.arange(256))
        self.many = self.call

    def time_batch(self) -> None:
        self.batch()

    def time_reachability(self) -> None:
        self.reach()

    def time_sparse(self) -> None:
        self.sparse()

    def time_many_sources(self) -> None:
        self.many()


class Choice(common.Call):
    """Paths from 100 vertices by the method that is chosen: elimination, or searches."""

    params = (["delaunay", "power_law"],)
    param_names = ("graph",)
    time_choice = common.Call.run

    def setup(self, graph: str) -> None:
        made = graphs.delaunay(20_000) if graph == "delaunay" else graphs.power_law(20_000, 2)
        self.prepare(paths.ours, made, indices=np.arange(0, 20_000, 200))
