"""The former name of `tropical.memory`."""

import warnings

from ..memory import (
    MemoryStats,
    get_memory_mode,
    memory_mode,
    memory_stats,
    release_memory,
    reset_memory_stats,
    set_memory_mode,
)

__all__ = [
    "MemoryStats",
    "get_memory_mode",
    "memory_mode",
    "memory_stats",
    "release_memory",
    "reset_memory_stats",
    "set_memory_mode",
]

warnings.warn(
    "tropical.autograd.memory is deprecated: use tropical.memory", DeprecationWarning, stacklevel=2
)
