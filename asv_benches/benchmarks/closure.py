"""Kleene stars: beside a product of their size, and of many small graphs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

import tropical
from tropical.graph import closure
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


class Closure(common.Call):
    params = (["float32", "float64", "int32"], [64, 256, 1024])
    param_names = ("dtype", "n")
    time_closure = common.Call.run

    def setup(self, dtype: str, n: int) -> None:
        self.prepare(ours, n, dtype)


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

    time_reachability = common.Call.run

    def setup(self) -> None:
        self.prepare(ours, 32, "float32", (1000,))
        self.batch = self.call
        self.prepare(ours, 1024, "bool", (), "orand")

    def time_batch(self) -> None:
        self.batch()


class TimesProduct:
    params = (["float32", "float64"], [256, 1024])
    param_names = ("dtype", "n")
    unit = "times the product's time"

    def track_times_product(self, dtype: str, n: int) -> float:
        product = contenders.ours(*contenders.operands(n, n, n, dtype), "minplus", name="product")
        timings = interleave([product, ours(n, dtype)], budget=common.BUDGET)
        return timings.ratio("product", "closure").median


class TimesCeiling:
    """The time over what the work takes in registers, on so many cores."""

    params = (["float32", "float64"], common.sizes([1024, 2048], quick=[256]), [1, 2])
    param_names = ("dtype", "n", "threads")
    unit = "times the ceiling's time"

    def track_times_ceiling(self, dtype: str, n: int, threads: int) -> float:
        with common.skipped_if_absent():
            closure = ours(n, dtype, threads=threads)
        ceiling = contenders.ceiling("minplus", dtype)
        return common.times_ceiling(closure, replace(ceiling, work=threads * ceiling.work))
