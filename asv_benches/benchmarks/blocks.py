"""Kleene stars of matrices on disk: beside those in memory, and beside what the manual predicts."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tropical.graph import BlockFolder, closure, closure_blocks
from tropical.graph.blocks.chunks import read_chunk, write_chunk

from . import common


def seconds(call: Callable[[], object], rounds: int = 5) -> tuple[float, float]:
    """Return the medians of the processor's and of the wall clock's seconds of some calls."""
    samples = []
    for _ in range(rounds):
        clocks = time.process_time(), time.perf_counter()
        call()
        samples.append((time.process_time() - clocks[0], time.perf_counter() - clocks[1]))
    cpu, wall = np.median(samples, axis=0)
    return float(cpu), float(wall)


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
