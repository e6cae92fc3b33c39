"""A lock on the folder of an array's rounds, so that one process works on it at a time."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TYPE_CHECKING

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "closure.lock"


@contextlib.contextmanager
def alone(folder: Path, keep: bool) -> Iterator[None]:
    """Make a folder and hold its lock; delete the folder at the end if it is empty, unless `keep`.

    The lock ends with the process, also by a kill. Processes that this one forks do not have it.
    Windows has no such lock.

    Raises
    ------
    BlockingIOError
        If another process has the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    file = None if sys.platform == "win32" else _locked(path)
    try:
        yield
    finally:
        if file is not None:
            path.unlink(missing_ok=True)
            os.close(file)
        if not keep:
            with contextlib.suppress(OSError):  # it has files: rounds, or those of others
                folder.rmdir()


def _locked(path: Path) -> int:
    """Return the descriptor of a file that this process has locked."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(file, path)
            if _is_at(file, path):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # its owner has deleted it meanwhile


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # else the file system has no locks
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BlockingIOError(
                error.errno,
                "store: expected an array that no other process works on, got one whose rounds "
                "another process runs in this folder",
                str(path.parent),
            ) from None
