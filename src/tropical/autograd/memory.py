"""The former name of `tropical.memory`."""

import warnings

from ..memory import (
    MemoryStats as MemoryStats,
    get_memory_mode as get_memory_mode,
    memory_mode as memory_mode,
    memory_stats as memory_stats,
    release_memory as release_memory,
    reset_memory_stats as reset_memory_stats,
    set_memory_mode as set_memory_mode,
)

warnings.warn(
    "tropical.autograd.memory is deprecated: use tropical.memory", DeprecationWarning, stacklevel=2
)
