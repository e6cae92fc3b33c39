"""The names of `tropical.memory`."""

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
