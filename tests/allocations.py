"""Run in a process that has preloaded native/allocations.cpp: watch the extension's allocations."""

import ctypes
from pathlib import Path

from tropical import _core

_library = ctypes.CDLL(None)
_library.watch.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_library.fail_nth.argtypes = [ctypes.c_long]
_library.allocations.restype = ctypes.c_long


def _watch_the_extension():
    lines = [
        x for x in Path("/proc/self/maps").read_text().splitlines() if x.endswith(_core.__file__)
    ]
    edges = [int(edge, 16) for line in lines for edge in line.split()[0].split("-")]
    _library.watch(min(edges), max(edges))


_watch_the_extension()


def count(call):
    """How many allocations the extension makes in `call()`."""
    _library.fail_nth(0)
    call()
    return _library.allocations()


def failures(call, check=lambda refused: None, most=200):
    """Fails the first, second, ... allocation of `call()` until it makes too few; how many failed.

    Each time it must raise MemoryError or do without (fewer threads, say); check(refused) then
    looks at what it left behind.
    """
    errors = 0
    for n in range(1, most):
        _library.fail_nth(n)
        try:
            call()
            refused = False
        except MemoryError:
            refused = True
        reached = _library.allocations() >= n
        _library.fail_nth(0)
        errors += refused
        check(refused)
        if not reached:
            assert not refused, "MemoryError, though no allocation failed"
            return errors
    raise AssertionError(f"more than {most} allocations")
