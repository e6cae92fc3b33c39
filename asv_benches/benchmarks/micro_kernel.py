"""The packed micro-kernel alone, by depth: what is lost to loads, and to storing the tile."""

from __future__ import annotations

from tropical.measure import contenders

from .common import sizes, times_ceiling


class MicroKernel:
    params = (
        ["plustimes float32", "maxplus float32", "maxplus float64", "maxplus int32"],
        sizes([8, 32, 128, 512, 2048], quick=[128]),
    )
    param_names = ("instance", "k")
    unit = "times the ceiling's time"

    def track_times_ceiling(self, instance: str, k: int) -> float:
        semiring, dtype = instance.split()
        kernel = contenders.micro_kernel(semiring, dtype, k)
        return times_ceiling(kernel, contenders.ceiling(semiring, dtype))
