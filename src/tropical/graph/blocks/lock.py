"""A lock on the folder of an array's rounds, so that one call works on it at a time."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
from typing import TYPE_CHECKING

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "closure.lock"
_guard = threading.Lock()
_held: set[tuple[int, int, int]] = set()  # folders of calls of this process, and its number


@contextlib.contextmanager
def alone(folder: Path, keep: bool) -> Iterator[None]:
    """Make a folder and hold its lock; delete the folder at the end if it is empty, unless `keep`.

    The lock ends with the process, also by a kill. Processes that this one forks do not have it.
    On Windows only calls of one process exclude each other.

    Raises
    ------
    BlockingIOError
        If another call has the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = folder.stat()
    own = os.getpid(), state.st_dev, state.st_ino
    with _guard:  # a file's lock belongs to the process, so the second call would get and end it
        if own in _held:
            raise _busy(errno.EAGAIN, folder)
        _held.add(own)
    try:
        with _file_locked(folder / NAME):
            yield
    finally:
        with _guard:
            _held.discard(own)
        if not keep:
            with contextlib.suppress(OSError):  # it has files: rounds, or those of others
                folder.rmdir()


def _busy(number: int, folder: Path) -> BlockingIOError:
    return BlockingIOError(
        number,
        "store: expected an array that no other call works on, got one whose rounds another call "
        "runs in this folder",
        str(folder),
    )


@contextlib.contextmanager
def _file_locked(path: Path) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    file = _locked(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def _locked(path: Path) -> int:
    """Return the descriptor of a file that this process has locked."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue  # the last owner has deleted the folder meanwhile
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
    if sys.platform != "win32":
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # else the file system has no locks
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise _busy(error.errno, path.parent) from None
