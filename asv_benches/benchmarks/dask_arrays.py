"""Products and stars of Dask arrays on Dask's threads, compared with those of the whole arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import graph
from tropical.measure.timing import Contender, interleave

from . import common

THREADS = 2


@contextmanager
def one_thread() -> Iterator[None]:
    """Each of Dask's threads computes alone; `tropical.options` would not reach these threads."""
    before = tropical.get_num_threads()
    tropical.set_num_threads(1)
    yield
    tropical.set_num_threads(before)


class OnDisk:
    """What each task reads for itself, as of a file; here from memory, so that no disk is timed."""

    def __init__(self, a: NDArray[np.float32]) -> None:
        self.a, self.shape, self.dtype, self.ndim = a, a.shape, a.dtype, a.ndim

    def __getitem__(self, part: tuple[slice, ...]) -> NDArray[np.float32]:
        return self.a[part].copy()


class TimesWhole:
    """4 chunks a side, or 8 that are read: then a task adds up to 8 products."""

    params = (["product", "product that reads", "star"], common.sizes([512, 1024], quick=[64]))
    param_names = ("what", "chunk")
    unit = "times the time of the whole array on the same threads"

    def setup(self, what: str, chunk: int) -> None:
        try:
            import dask
            import dask.array as da
        except ImportError as absent:
            raise NotImplementedError(absent) from absent
        from tropical.interop.dask import closure, gemm

        reads = what == "product that reads"
        n = (8 if reads else 4) * chunk
        a = np.random.default_rng(0).random((n, n), np.float32)
        lazy = da.from_array(OnDisk(a) if reads else a, chunks=chunk, inline_array=reads)
        result = closure(lazy) if what == "star" else gemm(lazy, lazy, semiring="minplus")
        whole = partial(tropical.gemm, a, a, semiring="minplus")
        self.pair = (
            Contender(
                "whole",
                partial(graph.closure, a) if what == "star" else whole,
                2.0 * n**3,
                partial(tropical.options, threads=THREADS),
            ),
            Contender(
                "dask",
                partial(dask.compute, result, scheduler="threads", num_workers=THREADS),
                2.0 * n**3,
                one_thread,
            ),
        )

    def track_times_whole(self, what: str, chunk: int) -> float:
        return interleave(self.pair, budget=common.BUDGET).ratio("whole", "dask").median
