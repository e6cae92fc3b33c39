"""Memory modes: where the data of NumPy's arrays comes from.

In a memory mode, NumPy allocates the data of every array of this context through our allocator
(`NEP 49 <https://numpy.org/neps/nep-0049-data-allocation-strategies.html>`_): values, gradients and
temporary arrays of expressions. A buffer is free when the last view of its array dies. Python's
reference counts decide this, so no buffer that an array still views is used again.
"""

from __future__ import annotations

import warnings
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from . import _core
from .context import Block, Blocks

if TYPE_CHECKING:
    from collections.abc import Callable

Mode = Literal["off", "pool"]

# The mode of this context, or None. Every backward pass asks, so this is the C function.
get_memory_mode: Callable[[], str | None] = _core.get_memory_mode


@dataclass(frozen=True)
class MemoryStats:
    """Counters of the memory modes, of all threads together; `memory_stats` returns them.

    A step lies between the ends of two backward passes. "The last step" is the last complete one.
    The sizes of buffers are the sizes that were asked for, without rounding and headers.

    Attributes
    ----------
    allocations : int
        Calls to the system for memory.
    reuses : int
        Buffers from the pool.
    live_bytes, live_buffers : int
        Bytes and number of the buffers that arrays hold.
    peak_live_bytes : int
        The largest value of ``live_bytes`` so far.
    reserved_bytes : int
        Bytes that the system gave and that were not given back.
    steps : int
        Steps that ended.
    step_allocations : int
        ``allocations`` of the last step; 0 in a loop of equal steps, from the fourth step on.
    activation_bytes : int
        Bytes that the forward part of the last step allocated and that were live when its backward
        part began.
    temporary_bytes : int
        Bytes of all buffers that were allocated and freed within the forward part, or within the
        backward part, of the last step.
    """

    allocations: int
    reuses: int
    live_bytes: int
    peak_live_bytes: int
    live_buffers: int
    reserved_bytes: int
    steps: int
    step_allocations: int
    activation_bytes: int
    temporary_bytes: int

    def __getattr__(self, name: str) -> int:
        if name not in ("planned_bytes", "misses"):
            raise AttributeError(f"MemoryStats has no attribute {name!r}")
        message = f"MemoryStats.{name} is deprecated and 0: memory mode 'plan' is gone"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return 0


class memory_mode(Block[object]):
    """Within a ``with`` block, allocate the data of this context's arrays in `mode`.

    Arrays stay valid after the block. A mode is part of the context, as NumPy's allocator is
    (`contextvars`): a thread that starts in the block does not inherit the mode (without a GIL,
    CPython's threads do), and a task of asyncio has the mode of the context that created the task.
    All threads share one memory.

    Parameters
    ----------
    mode : {"off", "pool"}
        ``"off"``: each buffer comes from the system and goes back to the system, and a backward
        pass keeps every buffer until the pass ends; this mode is for comparisons. ``"pool"``: the
        allocator keeps freed buffers by size (eight sizes to a power of two) and uses them again.

    Raises
    ------
    ValueError
        If the mode is unknown.

    See Also
    --------
    memory_stats : Counters of all modes.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.memory import get_memory_mode, memory_mode
    >>> with memory_mode("pool"):
    ...     x = np.ones(1000) + 1
    ...     print(get_memory_mode())
    pool
    >>> print(get_memory_mode(), x.sum())
    None 2000.0
    """

    _open: ClassVar[Blocks] = ContextVar("tropical.memory.open")

    def __init__(self, mode: Mode) -> None:
        self.mode: str | None = _known(mode)

    def __repr__(self) -> str:
        return f"memory_mode({self.mode!r})"

    def _get(self) -> object:
        return _core.memory_handler()

    def _set(self, setting: object) -> None:
        _core.set_memory_handler(setting)

    def _within(self, outside: object) -> object:
        if self.mode is None:
            raise ValueError("mode: expected 'off' or 'pool', got None; set_memory_mode takes None")
        return _core.memory_handler_of(self.mode)


def set_memory_mode(mode: str | None) -> str | None:
    """Set the memory mode of this context; `memory_mode` sets it for a block.

    Parameters
    ----------
    mode : {"off", "pool"} or None
        A mode of `memory_mode`, or None for NumPy's own allocator.

    Returns
    -------
    str or None
        The mode before. None also stands for another library's allocator.

    Raises
    ------
    ValueError
        If the mode is unknown.

    Examples
    --------
    >>> from tropical.memory import set_memory_mode
    >>> print(set_memory_mode("pool"))
    None
    >>> set_memory_mode(None)
    'pool'
    """
    return _core.set_memory_mode(_known(mode))


def _known(mode: str | None) -> str | None:
    if isinstance(mode, str) and mode == "plan":
        message = "memory mode 'plan' is deprecated and means 'pool'"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        return "pool"
    return mode


def memory_stats() -> MemoryStats:
    """Return the counters of the memory modes, of all threads together.

    Returns
    -------
    MemoryStats

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.memory import memory_mode, memory_stats
    >>> before = memory_stats()
    >>> with memory_mode("pool"):
    ...     x = np.empty(1000)
    >>> memory_stats().live_bytes - before.live_bytes
    8000
    """
    return MemoryStats(**_core.memory_stats())


def reset_memory_stats() -> None:
    """Set the counters to zero and the peak to the bytes that are live.

    Examples
    --------
    >>> from tropical.memory import memory_stats, reset_memory_stats
    >>> reset_memory_stats()
    >>> memory_stats().allocations
    0
    """
    _core.reset_memory_stats()


def release_memory() -> None:
    """Give the free buffers of the pool back to the system.

    Examples
    --------
    >>> from tropical.memory import memory_stats, release_memory
    >>> before = memory_stats().reserved_bytes
    >>> release_memory()
    >>> memory_stats().reserved_bytes <= before
    True
    """
    _core.release_memory()
