"""Products and stars of Dask arrays on Dask's threads, compared with those of the whole arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

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


class TimesWhole:
    params = (["product", "star"], common.sizes([512, 1024], quick=[64]))
    param_names = ("what", "chunk")
    unit = "times the time of the whole array on the same threads, 4 chunks a side"

    def setup(self, what: str, chunk: int) -> None:
        try:
            import dask
            import dask.array as da
        except ImportError as absent:
            raise NotImplementedError(absent) from absent
        from tropical.interop.dask import closure, gemm

        n = 4 * chunk
        a = np.random.default_rng(0).random((n, n), np.float32)
        lazy = da.from_array(a, chunks=chunk)
        result = gemm(lazy, lazy, semiring="minplus") if what == "product" else closure(lazy)
        whole = partial(tropical.gemm, a, a, semiring="minplus")
        self.pair = (
            Contender(
                "whole",
                whole if what == "product" else partial(graph.closure, a),
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
