"""Arrays by name in ``.npz`` files: written in one step, read without pickle."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np

from tropical.arrays import Array

PathLike: TypeAlias = "str | os.PathLike[str]"

_OPEN_FILES = "/proc/self/fd"


def check_mapping(name: str, x: object) -> None:
    """Raise TypeError unless `x` is a mapping of names to arrays."""
    if not isinstance(x, Mapping):
        raise TypeError(f"{name}: expected a mapping of names to arrays, got {type(x).__name__}")


def save_arrays(path: PathLike, arrays: Mapping[str, Array]) -> None:
    """Write arrays by name to an ``.npz`` file, without pickle; replace the file in one step.

    A failure or a loss of power leaves the old file, and so does a killed process, which leaves no
    other file on most file systems of Linux. The new file has the permissions of the old file. If
    `path` is a symbolic link, its target is replaced. A pipe or a device is written to.

    Raises
    ------
    TypeError
        If `arrays` is not a mapping.
    ValueError
        If a name has a NUL character.
    OSError
        If the file cannot be written.
    """
    check_mapping("arrays", arrays)
    for name in arrays:
        if "\0" in str(name):  # where the names in a zip file end
            raise ValueError(f"arrays: expected names without a NUL character, got {name!r}")
    with whole_file(Path(path)) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file, which replaces the file at `path` if the block ends without an error.

    If `path` is a symbolic link, its target is replaced. A pipe or a device is written to.
    """
    if path.is_file() or not path.exists():
        with replacing(path.resolve()) as file:
            yield file
    else:
        with _Stream(io.FileIO(path, "w")) as stream:
            yield stream


class _Stream(io.BufferedWriter):
    """A pipe or a device, of which no place is known: a device may say that it is at 0."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise io.UnsupportedOperation("tell")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file, which replaces the file at `path` if the block ends without an error."""
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        descriptor, has_name = _open_new(temporary)
    except OSError as error:
        error.filename = os.fspath(path)  # which the caller knows
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if sys.platform != "win32":
                with contextlib.suppress(FileNotFoundError):
                    os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            os.fsync(descriptor)
            if not has_name:  # a descriptor makes os.link follow the link in /proc
                os.link(f"{_OPEN_FILES}/{descriptor}", temporary, src_dir_fd=descriptor)
        temporary.replace(path)  # Windows renames no open file
        _sync(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """Wait until the names of a folder's files are on the disk, where the folder can be read."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # of a folder that one may only write to, and of each on Windows
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_new(path: Path) -> tuple[int, bool]:
    """Open a new file for writing; return its descriptor, and whether it has the name `path`.

    A file without a name disappears with the process. Not every file system has such files.
    """
    if hasattr(os, "O_TMPFILE") and Path(_OPEN_FILES).is_dir():
        with contextlib.suppress(OSError):
            return os.open(path.parent, os.O_WRONLY | os.O_TMPFILE, 0o666), False
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), True


def load_arrays(path: PathLike) -> dict[str, Array]:
    """Read the arrays of an ``.npz`` file.

    Raises
    ------
    ValueError
        If the file is not an ``.npz`` file of arrays, or is damaged; the message names the file.
    OSError
        If the file cannot be opened.
    """
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return {
                    name.removesuffix(".npy"): _member(archive, name) for name in archive.namelist()
                }
        except Exception as error:  # zipfile, zlib and NumPy raise many types
            raise ValueError(
                f"{os.fspath(path)}: expected an undamaged .npz file of arrays ({error})"
            ) from None


def _member(archive: zipfile.ZipFile, name: str) -> Array:
    with archive.open(name) as member:
        array: Array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read():  # to the end, where the checksum is compared
            raise ValueError(f"{name}: expected one array, got more bytes")
    return array
