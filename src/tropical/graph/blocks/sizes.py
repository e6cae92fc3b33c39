"""How large blocks are, and whether memory and disk can hold them."""

from __future__ import annotations

import errno
import math
import re
import shutil
from typing import TYPE_CHECKING

import numpy as np

from ..available import available_bytes
from ..star import block_size

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike

_BLOCKS = 3  # that a task holds at once
_TREES = 4  # and where it keeps predecessors, each with a block of those
IN_PROCESS = 2  # tasks at once where there is no executor: one computes, one reads and writes
_MOST = 8192  # vertices of a block: 2 s of a server, 200 MB of float32
_OVERHEAD = 32 << 20  # bytes of packed blocks of products, buffers of files and lists
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}


def bytes_of(memory: float | str) -> int:
    """Return a number of bytes, also from text such as ``"1.5 GB"`` or ``"512MiB"``.

    Raises
    ------
    ValueError
        For another text, or a number that is not positive.
    TypeError
        For an object of another type.

    Examples
    --------
    >>> from tropical.graph.blocks.sizes import bytes_of
    >>> bytes_of("1.5 GB"), bytes_of("64MiB"), bytes_of(2e9)
    (1500000000, 67108864, 2000000000)
    """
    number: float = math.nan
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", memory.lower())
        units = _UNITS | _BINARY_UNITS
        if found and found[1].count(".") < 2 and found[1] != "." and found[2] in units:
            number = float(found[1]) * units[found[2]]
    elif isinstance(memory, (int, float, np.integer, np.floating)):
        number = float(memory)
    else:
        kind = type(memory).__name__
        raise TypeError(f"memory: expected bytes, or text such as '2GB', got {kind}")
    if not 1 <= number < math.inf:
        raise ValueError(f"memory: expected bytes, or text such as '2GB', got {memory!r}")
    return int(number)


def element_bytes(dtype: DTypeLike, predecessors: bool = False) -> int:
    """Return the bytes that a task holds for each element of its block."""
    size = np.dtype(dtype).itemsize
    return _TREES * (size + np.dtype(np.int32).itemsize) if predecessors else _BLOCKS * size


def task_bytes(block: int, dtype: DTypeLike, tasks: int, predecessors: bool = False) -> int:
    """Return how much memory so many tasks at once need in one process."""
    return _OVERHEAD + tasks * block * block * element_bytes(dtype, predecessors)


def choose_block(
    n: int,
    dtype: DTypeLike,
    block: int | None = None,
    memory: float | str | None = None,
    predecessors: bool = False,
) -> int:
    """Return how many vertices a block has, where `memory` is that of one process.

    Without `block`, that is a multiple of the blocks of `closure`, so that the bits are the same: a
    quarter of the vertices, 8,192, or what `memory` allows, if that is less.

    Raises
    ------
    ValueError
        If `block` is less than 1, or `memory` cannot hold the smallest blocks.
    TypeError
        If `block` is no integer.
    """
    if block is not None:
        if isinstance(block, bool) or not isinstance(block, (int, np.integer)):
            raise TypeError(f"block: expected an integer, got {type(block).__name__}")
        if block < 1:
            raise ValueError(f"block: expected 1 or more, got {block}")
        return min(int(block), max(n, 1))
    limit = available_bytes() // 2 if memory is None else bytes_of(memory)
    step = block_size(n)
    least = task_bytes(min(step, n), dtype, IN_PROCESS, predecessors)
    if limit < least:
        raise ValueError(f"memory: expected at least {least} bytes for n = {n}, got {limit}")
    room = (limit - _OVERHEAD) // (IN_PROCESS * element_bytes(dtype, predecessors))
    most = min(math.isqrt(room), _MOST)
    quarter = -(-n // (4 * step)) * step
    return max(min(most // step * step, quarter), min(step, n), 1)


def check_disk(folder: Path, needed: int, name: str = "store") -> None:
    """Raise OSError unless the disk of `folder` has room for so many bytes more."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(
            errno.ENOSPC,
            f"{name}: expected {needed / 1e9:.3g} GB of free disk, got {free / 1e9:.3g} GB",
            str(folder),
        )
