"""Measures of sparse graphs: closeness of the corners of roads, betweenness by weights."""

from __future__ import annotations

from functools import partial

from tropical.bench import measures
from tropical.measure.timing import interleave

from . import common

SIDE, VERTICES = 256, 500


class Closeness:
    """4,096 of 65,536 corners; their factor is made before."""

    params = (["float32", "float64"],)
    param_names = ("dtype",)

    def setup(self, dtype: str) -> None:
        self.call = measures.closeness_of_roads(dtype, SIDE)

    def time_closeness(self, *_: object) -> None:
        self.call()

    peakmem_closeness = time_closeness


class Betweenness(common.Call):
    time_betweenness = common.Call.run

    def setup(self) -> None:
        self.prepare(measures.betweenness, VERTICES)


class TimesRivals:
    params = (["closeness over scipy", "betweenness over networkx", "betweenness over igraph"],)
    param_names = ("rival",)
    unit = "times the rate of sources"

    def setup(self, rival: str) -> None:
        own = partial(measures.betweenness, VERTICES)
        makers = {
            "closeness over scipy": partial(measures.closeness, "float32", SIDE),
            "betweenness over networkx": lambda: (own(), measures.networkx_betweenness(VERTICES)),
            "betweenness over igraph": lambda: (own(), measures.igraph_betweenness(VERTICES)),
        }
        with common.skipped_if_absent():
            self.ours, self.other = makers[rival]()

    def track_times_rival(self, *_: object) -> float:
        timings = interleave([self.ours, self.other], budget=common.BUDGET)
        return timings.ratio(self.ours.name, self.other.name).median
