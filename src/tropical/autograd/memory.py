"""Where the data of arrays lives: as the system gives it, in a pool, or planned from step to step.

In a memory mode, NumPy takes the data of every array that this thread makes from here (`NEP 49
<https://numpy.org/neps/nep-0049-data-allocation-strategies.html>`_), values, gradients and
temporaries of expressions alike, and gives it back when the last view of an array dies. So the
reference counts of Python know each buffer's last use, and no buffer that somebody still views is
ever handed out again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .. import _core

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    Mode = Literal["off", "pool", "plan"]

# The mode of this context, None outside; asked in every backward walk, so it is the C function.
get_memory_mode = _core.get_memory_mode


@dataclass(frozen=True)
class MemoryStats:
    """What the memory modes did, all threads together; `memory_stats` makes it.

    A step is what lies between the ends of two backward walks, and "the last step" the last whole
    one. Bytes of buffers are those asked for, without rounding and headers.

    Attributes
    ----------
    allocations : int
        Calls to the system for memory.
    reuses : int
        Buffers that needed none: from the pool or from the plan's arena.
    live_bytes, live_buffers : int
        Bytes and number of the buffers that arrays hold.
    peak_live_bytes : int
        The largest ``live_bytes`` that there was.
    reserved_bytes : int
        Bytes held from the system: pool, arenas, and the buffers of mode "off".
    planned_bytes : int
        Bytes of the plan's arena, headers of its buffers (64 bytes each) included; 0 without plan.
    misses : int
        Buffers that came from the pool though there was a plan: the step deviated from it, or a
        longer-lived buffer lay in the place.
    steps : int
        Steps that ended.
    step_allocations : int
        ``allocations`` of the last step; 0 in a steady loop from the fourth step on.
    activation_bytes : int
        Bytes of the buffers that were born in the last step and alive when its backward walk began.
    temporary_bytes : int
        Bytes of all buffers, one after the other, that were born and died within the forward or
        within the backward part of the last step.
    """

    allocations: int
    reuses: int
    live_bytes: int
    peak_live_bytes: int
    live_buffers: int
    reserved_bytes: int
    planned_bytes: int
    misses: int
    steps: int
    step_allocations: int
    activation_bytes: int
    temporary_bytes: int


class memory_mode:
    """Within a ``with`` block, allocate the data of this thread's arrays in `mode`.

    Arrays live on after the block, and after the mode. A mode is part of the context, as NumPy's
    handler is (`contextvars`): a thread that is started inside does not inherit it, and tasks of
    asyncio have the one that they were created in. All threads share one memory; a plan needs that
    only one of them trains.

    Parameters
    ----------
    mode : {"off", "pool", "plan"}
        ``"off"``: from the system and back to it, each time, and backward passes keep every buffer
        until they end: what the others are compared with. ``"pool"``: what is given back is kept
        by size (eight sizes to a power of two) and handed out again. ``"plan"``: the pool, and
        once two training steps in a row made buffers of the same sizes, those of 1 KiB or more lie
        in one arena, at offsets planned so that what is not alive together shares its place [1]_.
        Where a step deviates, its buffers come from the pool.

    Raises
    ------
    ValueError
        For an unknown mode.

    See Also
    --------
    memory_stats : What it did.

    References
    ----------
    .. [1] Y. Pisarchyk and J. Lee, "Efficient memory management for deep neural net inference",
       MLSys workshop, 2020. https://arxiv.org/abs/2001.03288

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd.memory import get_memory_mode, memory_mode
    >>> with memory_mode("pool"):
    ...     x = np.ones(1000) + 1
    ...     print(get_memory_mode())
    pool
    >>> print(get_memory_mode(), x.sum())
    None 2000.0
    """

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self._before: list[object] = []

    def __enter__(self) -> Self:
        before = _core.memory_handler()
        set_memory_mode(self.mode)
        self._before.append(before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _core.set_memory_handler(self._before.pop())


def set_memory_mode(mode: str | None) -> str | None:
    """Choose the memory mode of this thread from here on; `memory_mode` does so for a block.

    Parameters
    ----------
    mode : {"off", "pool", "plan"} or None
        As `memory_mode` takes it; None: NumPy's own allocator.

    Returns
    -------
    str or None
        The mode before; None also where the data came from somebody else's allocator.

    Raises
    ------
    ValueError
        For an unknown mode.

    Examples
    --------
    >>> from tropical.autograd.memory import set_memory_mode
    >>> print(set_memory_mode("pool"))
    None
    >>> set_memory_mode(None)
    'pool'
    """
    return _core.set_memory_mode(mode)


def memory_stats() -> MemoryStats:
    """Return the counters of the memory modes, all threads together.

    Returns
    -------
    MemoryStats

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd.memory import memory_mode, memory_stats
    >>> before = memory_stats()
    >>> with memory_mode("pool"):
    ...     x = np.empty(1000)
    >>> memory_stats().live_bytes - before.live_bytes
    8000
    """
    return MemoryStats(**_core.memory_stats())


def reset_memory_stats() -> None:
    """Set the counters to zero and the peak to what is live.

    Examples
    --------
    >>> from tropical.autograd.memory import memory_stats, reset_memory_stats
    >>> reset_memory_stats()
    >>> memory_stats().allocations
    0
    """
    _core.reset_memory_stats()


def release_memory() -> None:
    """Give free memory back to the system: the pool, and an arena where no buffer lives.

    With the arena goes its plan; two more steps that agree make a new one.

    Examples
    --------
    >>> from tropical.autograd.memory import memory_stats, release_memory
    >>> before = memory_stats().reserved_bytes
    >>> release_memory()
    >>> memory_stats().reserved_bytes <= before
    True
    """
    _core.release_memory()
