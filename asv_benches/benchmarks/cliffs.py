"""A small part of `python -m tropical bench --cliffs`: products that once fell off a cliff."""

from __future__ import annotations

from tropical.bench.cliffs import measure, share
from tropical.bench.points import parse
from tropical.measure.timing import interleave

from . import common

# A dot product; few rows and columns; switch points; tiny batches; layouts.
POINTS = [
    "Point(1, 100000, 1)",
    "Point(1, 100000, 1, dtype='int8', a='strided', b='strided')",
    "Point(1, 1000, 1000, argmax=True)",
    "Point(4096, 4096, 2)",
    "Point(2000, 17, 256, dtype='int8', argmax=True)",
    "Point(44, 127, 6, dtype='int8', semiring='plustimes')",
    "Point(1024, 4, 4096)",
    "Point(2, 2, 2, batch=4096, dtype='int32')",
    "Point(2, 2, 2, batch=4096, semiring='logplus')",
    "Point(1, 1221, 4, semiring='logplus')",
    "Point(1, 1, 110, batch=180, dtype='int16', semiring='maxtimes')",
    "Point(513, 1, 2047, semiring='maxmin', argmax=True)",
    "Point(1024, 1024, 256, dtype='bool', semiring='orand')",
    "Point(1000, 4, 64, dtype='bool', semiring='orand')",
]
# Each beside the same product with ordinary values and layouts.
BESIDE = [
    "Point(256, 256, 256, values='NaN')",
    "Point(256, 256, 256, values='zeros')",
    "Point(256, 256, 256, dtype='int8', values='wide')",
    "Point(256, 256, 256, dtype='int32', values='wide')",
    "Point(256, 256, 256, a='reversed', b='strided', out='columns')",
    "Point(1, 65536, 1, a='reversed', b='strided')",
    "Point(1, 512, 2048, b='reversed')",
    "Point(1, 16385, 6, semiring='mintimes', b='reversed')",
    "Point(511, 1, 13267, out='reversed')",
    "Point(1023, 8, 1854, dtype='int8', semiring='maxmin', out='strided')",
    "Point(1, 1000, 1000, dtype='int16', argmax=True, values='zeros')",
]


class TimesLimit:
    params = (POINTS,)
    param_names = ("product",)
    unit = "times the time of the nearest limit: ceiling, memory or a call"

    def track_times_limit(self, product: str) -> float:
        return 1 / share(measure(parse(product), common.BUDGET))


class TimesOrdinary:
    params = (BESIDE,)
    param_names = ("product",)
    unit = "times the time of ordinary values in rows"

    def track_times_ordinary(self, product: str) -> float:
        point = parse(product)
        pair = point.ordinary().contender(name="ordinary"), point.contender()
        timings = interleave(pair, budget=common.BUDGET)
        return timings.ratio("ordinary", "tropical").median
