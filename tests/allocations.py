"""Run in a process that has preloaded native/allocations.cpp: watch the extension's allocations."""

import ctypes
import functools
from pathlib import Path

from tropical import _core


@functools.cache
def library():
    """The preloaded library, told where the extension's code lies."""
    preloaded = ctypes.CDLL(None)
    preloaded.watch.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    preloaded.fail_nth.argtypes = [ctypes.c_long]
    preloaded.allocations.restype = ctypes.c_long
    preloaded.watch(*code(_core))
    return preloaded


def code(module):
    """Where the code of an extension module lies."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    ranges = [line.split()[0] for line in lines if line.endswith(module.__file__)]
    edges = [int(edge, 16) for both in ranges for edge in both.split("-")]
    return min(edges), max(edges)


def watch(module):
    """Watch the allocations of another extension module."""
    library().watch(*code(module))


def count(call):
    """How many allocations the extension makes in `call()`."""
    library().fail_nth(0)
    call()
    return library().allocations()


def failures(call, check=lambda refused: None, most=200):
    """Fails the first, second, ... allocation of `call()` until it makes too few; how many failed.

    Each time it must raise MemoryError or do without (fewer threads, say); check(refused) then
    looks at what it left behind.
    """
    errors = 0
    for n in range(1, most):
        library().fail_nth(n)
        try:
            call()
            refused = False
        except MemoryError:
            refused = True
        reached = library().allocations() >= n
        library().fail_nth(0)
        errors += refused
        check(refused)
        if not reached:
            assert not refused, "MemoryError, though no allocation failed"
            return errors
    raise AssertionError(f"more than {most} allocations")
