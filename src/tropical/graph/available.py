"""How much memory this process may still take."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

if sys.platform != "win32":
    import resource

_CGROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int:
    """Return how many bytes this process may still take; a huge number where nobody says.

    That is the least of what the machine has available, of what is left of the process's address
    space, and of what is left to its control group, as in a container.
    """
    limits = [sys.maxsize]
    with contextlib.suppress(OSError, ValueError):
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        limits.append(1024 * int(fields["MemAvailable"].split()[0]))
    with contextlib.suppress(OSError, ValueError):
        limit = int((_CGROUP / "memory.max").read_text())
        limits.append(limit - int((_CGROUP / "memory.current").read_text()))
    if sys.platform != "win32":
        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            with contextlib.suppress(OSError, ValueError):
                pages = int(Path("/proc/self/statm").read_text().split()[0])
                limits.append(most - pages * resource.getpagesize())
    return max(min(limits), 0)
