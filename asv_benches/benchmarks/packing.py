"""Packing alone, over a plain copy of as many bytes: what laying out the operands costs."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tropical.measure import contenders

from .common import sizes, times_copying


class Packing:
    params = (
        ["maxplus float32", "plustimes float64", "maxplus int32", "maxplus int8", "orand bool"],
        ["a", "b"],
        sizes(["256 256", "512 1024", "4096 512"], quick=["256 256"]),
    )
    param_names = ("instance", "operand", "length depth")
    unit = "times the time of a copy"

    def track_times_copying(self, instance: str, operand: Literal["a", "b"], sizes: str) -> float:
        semiring, dtype = instance.split()
        length, depth = map(int, sizes.split())
        packing = contenders.packing(semiring, dtype, operand, length, depth)
        return times_copying(packing, length * depth * np.dtype(dtype).itemsize)
