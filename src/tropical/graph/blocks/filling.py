"""How a matrix comes into a folder of chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tropical.arrays import Array, is_kind

from .chunks import exact_checksum, write_chunk
from .manifest import Manifest

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from ..edge_arrays import Compressed
    from .layout import Layout

Part: TypeAlias = Callable[[slice, slice], Any]


def fill(layout: Layout, function: Part) -> None:
    """Write all chunks of round 0, as a function of rows and columns gives them; then the manifest.

    Raises
    ------
    ValueError
        If a block has another shape or holds a NaN.
    TypeError
        If NumPy does not cast a block safely.
    """
    least: tuple[float, str] | None = None
    checksums = []
    for i, j, rows, columns in layout.places():
        given, shape = np.asarray(function(rows, columns)), layout.shape_of(i, j)
        path = layout.chunk(i, j, 0)
        if given.shape != shape:
            raise ValueError(f"{path.name}: expected shape {shape}, got {given.shape}")
        a = np.ascontiguousarray(given.astype(layout.dtype, casting="safe", copy=False))
        if not is_kind(layout.dtype, "bool"):
            low = a.min().item()
            if low != low:
                raise ValueError(f"{path.name}: expected numbers, got a NaN")
            if least is None or low < least[0]:
                least = low, path.name
        checksums.append(exact_checksum(a))
        write_chunk(path, a, layout.identity)
    Manifest(
        layout.n,
        layout.block,
        layout.dtype.str,
        least,
        source=tuple(checksums),
        identity=layout.identity,
    ).write(layout.path)


def part_of(edges: Compressed, ring: Semiring, dtype: np.dtype[Any]) -> Part:
    """Return the function of rows and columns that gives a sparse graph's matrix."""
    zero = ring.zero(dtype)
    weights = np.broadcast_to(True, edges.head.shape) if is_kind(dtype, "bool") else edges.weight

    def part(rows: slice, columns: slice) -> Array:
        a = np.full((rows.stop - rows.start, columns.stop - columns.start), zero, dtype)
        leaving = slice(edges.start[rows.start], edges.start[rows.stop])
        target = edges.head[leaving]
        source = np.repeat(np.arange(len(a)), np.diff(edges.start[rows.start : rows.stop + 1]))
        here = (target >= columns.start) & (target < columns.stop)
        place = source[here], target[here] - columns.start
        ring.add_ufunc.at(a, place, weights[leaving][here])
        return a

    return part
