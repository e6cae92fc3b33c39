"""Kleene stars: beside a product of their size, and of many small graphs."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.graph import BlockFolder, closure, closure_blocks
from tropical.graph.blocks.chunks import read_chunk, write_chunk
from tropical.measure import contenders
from tropical.measure.timing import Contender, interleave

from . import common


def ours(
    n: int,
    dtype: str,
    batch: tuple[int, ...] = (),
    semiring: str = "minplus",
    threads: int = 1,
) -> Contender:
    rng = np.random.default_rng(0)
    a = rng.random((*batch, n, n)) < 4 / n if dtype == "bool" else rng.random((*batch, n, n))
    graph = a.astype(dtype)
    work = 2.0 * n**3 * np.prod(batch, dtype=float)
    call = partial(closure, graph, semiring)
    contenders.require_threads(threads)
    return Contender("closure", call, work, partial(tropical.options, threads=threads))


def seconds(call: Callable[[], object], rounds: int = 5) -> tuple[float, float]:
    """Return the medians of the processor's and of the wall clock's seconds of some calls."""
    samples = []
    for _ in range(rounds):
        clocks = time.process_time(), time.perf_counter()
        call()
        samples.append((time.process_time() - clocks[0], time.perf_counter() - clocks[1]))
    cpu, wall = np.median(samples, axis=0)
    return float(cpu), float(wall)


class Closure(common.Call):
    params = (["float32", "float64", "int32"], [64, 256, 1024])
    param_names = ("dtype", "n")

    def setup(self, dtype: str, n: int) -> None:
        self.prepare(ours, n, dtype)

    def time_closure(self, *_: object) -> None:
        self.call()


class Symmetric:
    """The time of the star of a symmetric matrix over that of another one, on one thread."""

    params = ([256, 1024, 2048],)
    param_names = ("n",)
    unit = "times the time without symmetric=True"

    def track_times_general(self, n: int) -> float:
        general = ours(n, "float32")
        half = np.random.default_rng(0).random((n, n)).astype(np.float32)
        symmetric = partial(closure, np.minimum(half, half.T), symmetric=True)
        both = [general, replace(general, name="symmetric", call=symmetric)]
        return 1 / interleave(both, budget=common.BUDGET).ratio("symmetric", "closure").median


class Others(common.Call):
    """A thousand graphs of 32 nodes, and reachability."""

    def setup(self) -> None:
        self.prepare(ours, 32, "float32", (1000,))
        self.batch = self.call
        self.prepare(ours, 1024, "bool", (), "orand")

    def time_batch(self) -> None:
        self.batch()

    def time_reachability(self) -> None:
        self.call()


class TimesProduct:
    params = (["float32", "float64"], [256, 1024])
    param_names = ("dtype", "n")
    unit = "times the product's time"

    def track_times_product(self, dtype: str, n: int) -> float:
        product = contenders.ours(*contenders.operands(n, n, n, dtype), "minplus", name="product")
        timings = interleave([product, ours(n, dtype)], budget=common.BUDGET)
        return timings.ratio("product", "closure").median


class OnDisk:
    """The star of a matrix on disk, in four blocks by four, and its time over that in memory."""

    number, warmup_time = 1, 0.0  # each call needs a folder of its own, which `setup` makes

    def setup(self) -> None:
        self.path = Path(tempfile.mkdtemp())
        self.a = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
        self.make()

    def make(self) -> None:
        shutil.rmtree(self.path)
        self.folder = BlockFolder.from_array(self.path, self.a, block=512)

    def teardown(self) -> None:
        shutil.rmtree(self.path)

    def time_blocks(self) -> None:
        closure_blocks(self.folder)

    def time_predecessors(self) -> None:
        closure_blocks(self.folder, predecessors=True)

    def track_times_closure(self) -> float:
        ratios = []
        for _ in range(3):
            self.make()
            times = []
            for call in (partial(closure, self.a), partial(closure_blocks, self.folder)):
                begin = time.perf_counter()
                call()
                times.append(time.perf_counter() - begin)
            ratios.append(times[1] / times[0])
        return float(np.median(ratios))

    track_times_closure.unit = "times the time in memory"  # type: ignore[attr-defined]


class TimesPredicted:
    """The time of a star on disk over what docs/guide/beyond-memory.md predicts for one process."""

    params = (common.sizes([4096, 6144, 8192], quick=[1024]),)
    param_names = ("n",)
    unit = "times the predicted time"
    timeout = 600.0

    def track_times_predicted(self, n: int) -> float:
        rng = np.random.default_rng(0)
        a, small = (rng.random((side, side), np.float32) for side in (n, min(n, 2048)))
        with tempfile.TemporaryDirectory() as path:
            folder = BlockFolder.from_array(path, a)
            a = a[: folder.block, : folder.block].copy()
            before = self.predicted(n, a, small)
            begin = time.perf_counter()
            closure_blocks(folder)
            measured = time.perf_counter() - begin
            after = self.predicted(n, a, small)
        return 2 * measured / (before + after)

    def predicted(self, n: int, block: NDArray[np.float32], small: NDArray[np.float32]) -> float:
        """Return seconds, from what a star in memory and the copies of a block take now."""
        with tempfile.TemporaryDirectory() as path:
            chunk = Path(path) / "block.npy"
            writing, flushing = seconds(partial(write_chunk, chunk, block))
            reading, _ = seconds(partial(read_chunk, chunk, block.shape, block.dtype))
        computing = seconds(partial(closure, small))[1] * (n / len(small)) ** 3
        tasks = (n / len(block)) ** 3
        return max(computing + tasks * (3 * reading + writing), tasks * flushing)


class TimesCeiling:
    """The time over what the work takes in registers, on so many cores."""

    params = (["float32", "float64"], common.sizes([1024, 2048], quick=[256]), [1, 2])
    param_names = ("dtype", "n", "threads")
    unit = "times the ceiling's time"

    def track_times_ceiling(self, dtype: str, n: int, threads: int) -> float:
        try:
            closure = ours(n, dtype, threads=threads)
        except contenders.AbsentError as absent:
            raise NotImplementedError(absent) from absent
        ceiling = contenders.ceiling("minplus", dtype)
        return common.times_ceiling(closure, replace(ceiling, work=threads * ceiling.work))
