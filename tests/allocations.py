"""Run in a process that has preloaded native/allocations.cpp: watch the extension's allocations."""

import ctypes
from pathlib import Path

from tropical import _core

_library = ctypes.CDLL(None)
_library.watch.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_library.fail_nth.argtypes = [ctypes.c_long]
_library.allocations.restype = ctypes.c_long


def _watch_the_extension():
    lines = [x for x in Path("/proc/self/maps").read_text().splitlines() if x.endswith(_core.__file__)]
    edges = [int(edge, 16) for line in lines for edge in line.split()[0].split("-")]
    _library.watch(min(edges), max(edges))


_watch_the_extension()


def count(call):
    """How many allocations the extension makes in `call()`."""
    _library.fail_nth(0)
    call()
    return _library.allocations()


def failures(call, restore=lambda: None, most=200):
    """Fails the first, second, ... allocation of `call()` until it succeeds; how many MemoryErrors.

    Before each try `restore()`; a call must either raise MemoryError, or make too few allocations.
    """
    for n in range(1, most):
        restore()
        _library.fail_nth(n)
        try:
            call()
        except MemoryError:
            _library.fail_nth(0)
            continue
        reached = _library.allocations() >= n
        _library.fail_nth(0)
        assert not reached, f"the failure of allocation {n} went unnoticed"
        return n - 1
    raise AssertionError(f"more than {most} allocations")
