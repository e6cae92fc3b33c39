"""Where rows go: a ``.npy`` file, Zarr, Parquet, or any array with slices that can be written.

A ``.npy`` file is written to by its path, not by a memory map: a full disk is then an error, where
a write to a memory map would kill the process.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import numpy as np

from tropical import extras
from tropical.arrays import Array
from tropical.npz import load_arrays, save_arrays

from ..blocks.arrays import place_of
from ..blocks.chunks import exact_checksum
from ..blocks.sizes import check_disk
from . import parquet
from .parquet import TableRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .state import State

SUFFIXES = (".npy", ".zarr", ".parquet")
_ENDS = ("source", "target")
_LABELS = ".labels.npz"  # the suffix of their file, beside a ``.npy`` file
_CHUNK_BYTES = 1 << 22
# Bytes beside the rows: of files; of chunks that the threads of Zarr compress, as measured.
_OF_FILES, _OF_CHUNKS = 64 << 20, 256 << 20


@dataclass(frozen=True)
class FileRows:
    """Rows in a file of NumPy, C-contiguous from a byte on; any process may write to them."""

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    step: int = 1
    shared: bool = True
    overhead: int = _OF_FILES

    def check_disk(self) -> None:
        """Raise OSError unless the disk has room for what the file does not occupy yet."""
        status = self.path.stat()
        # Windows does not say, and a new file occupies all of its disk there.
        known = status.st_size
        if sys.platform != "win32":
            known = 512 * status.st_blocks
        check_disk(self.path.resolve().parent, max(self._size() - known, 0), "out")

    def _size(self) -> int:
        return self.offset + self.shape[0] * self.shape[1] * self.dtype.itemsize

    def checksum(self, first: int, last: int) -> int:
        """Return what `write` returned, if the rows from `first` to before `last` are those."""
        offset = self.offset + first * self.shape[1] * self.dtype.itemsize
        size = (last - first) * self.shape[1]
        return exact_checksum(np.fromfile(self.path, self.dtype, size, offset=offset))

    def write(self, first: int, rows: Array) -> int:
        """Write rows, and wait until they are on the disk; return their checksum."""
        with self.path.open("r+b") as file:
            file.seek(self.offset + first * self.shape[1] * self.dtype.itemsize)
            file.write(np.ascontiguousarray(rows).data)
            file.flush()
            os.fsync(file.fileno())
        return exact_checksum(np.ascontiguousarray(rows))


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array; `shared` says that every process which gets a copy writes to the same."""

    array: Any
    shared: bool
    overhead: int = _OF_CHUNKS

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array."""
        return self.array.dtype

    @property
    def step(self) -> int:
        """The rows of a chunk, which one task must write."""
        chunks = getattr(self.array, "shards", None) or getattr(self.array, "chunks", None)
        return int(chunks[0]) if chunks else 1

    def check_disk(self) -> None:
        """Do nothing: the array may be compressed, or lie anywhere."""

    def checksum(self, first: int, last: int) -> int:
        """Return what `write` returned, if the rows from `first` to before `last` are those."""
        return exact_checksum(np.ascontiguousarray(self.array[first:last]))

    def write(self, first: int, rows: Array) -> int:
        """Write rows; return their checksum."""
        self.array[first : first + len(rows)] = rows
        file = getattr(self.array, "file", None)  # of h5py
        if file is not None:
            file.flush()
        return exact_checksum(np.ascontiguousarray(rows))


Store: TypeAlias = FileRows | ArrayRows | TableRows


def store_of(out: Any) -> Store:
    """Return the store of an array of the caller."""
    place = place_of(out)
    whole = isinstance(out, np.memmap) and isinstance(out.base, mmap.mmap)  # and no view of it
    plain = whole and out.flags.c_contiguous and out.mode != "c"
    if plain and place is not None and _is_mapped(out, Path(place)):
        return FileRows(Path(place), out.offset, out.shape, out.dtype)
    root = getattr(getattr(out, "store", None), "root", None)  # of a local store of Zarr
    return ArrayRows(out, root is not None)


def _is_mapped(out: np.memmap[Any, Any], path: Path) -> bool:
    """Return whether a file is the one that a memmap maps, and not another one of its name.

    Linux tells. Elsewhere the name counts; Windows keeps it while the file is mapped.
    """
    try:
        maps = Path("/proc/self/maps").read_bytes().splitlines()
    except OSError:
        return True
    for line in maps:
        span, _, _, _, inode = line.split(maxsplit=5)[:5]
        first, last = (int(address, 16) for address in span.split(b"-"))
        if first <= out.ctypes.data < last:
            return int(inode) == path.stat().st_ino
    return True


def overhead_of(path: Path | None) -> int:
    """Return the bytes beside the rows that `create` and a store of the file take."""
    others = {".zarr": _OF_CHUNKS, ".parquet": parquet.OVERHEAD}
    return others.get("" if path is None else path.suffix, _OF_FILES)


def opened(path: Path) -> Store:
    """Return the store of a file that `create` made."""
    if path.suffix == ".zarr":
        return ArrayRows(_zarr().open_group(path, mode="r+")["lengths"], True)
    if path.suffix == ".parquet":
        return TableRows(path)
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        return FileRows(path, file.tell(), shape, dtype)


def _zarr() -> Any:
    return extras.require("zarr", "'tropical-blas[zarr]'")


def check_installed(path: Path) -> None:
    """Raise NotInstalledError if a file needs a library that is not there."""
    needs = {".zarr": _zarr, ".parquet": parquet.library}.get(path.suffix)
    if needs is not None:
        needs()


def labels_of(path: Path) -> Path:
    """Return the file of the labels beside a ``.npy`` file."""
    return path.with_suffix(_LABELS)


def check_labels(path: Path) -> None:
    """Raise FileExistsError if a new file would replace by its labels a file that has none."""
    file = labels_of(path)
    if path.suffix != ".npy" or not file.exists():
        return
    with contextlib.suppress(OSError, ValueError):
        if set(load_arrays(file)) == set(_ENDS):
            return
    raise FileExistsError(
        errno.EEXIST, f"out: expected no file but labels beside a new {path.name}", str(file)
    )


def create(path: Path, begun: State, zero: Any, labels: tuple[Array, Array]) -> None:
    """Make a file for rows, which appears in one step, and where a symbolic link leads.

    Parameters
    ----------
    path : Path
        Its suffix is one of `SUFFIXES`.
    begun : State
        It has the shape, the dtype and the rows that a task writes.
    zero : scalar
        What stands where there is no path.
    labels : tuple of two arrays
        The labels of the sources and of the targets.

    Raises
    ------
    FileExistsError
        If there is a file by now: another process made it.
    FileNotFoundError
        If there is no folder for the file.
    """
    shape, dtype = begun.shape, np.dtype(begun.dtype)
    place = path.resolve()  # what a symbolic link leads to
    if path.suffix != ".zarr" and not place.parent.is_dir():  # Zarr makes folders
        raise FileNotFoundError(
            errno.ENOENT, "out: expected a path in a folder that exists", str(path)
        )
    if path.suffix == ".npy":
        with _new_file(place) as file:
            header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.truncate(file.tell() + shape[0] * shape[1] * dtype.itemsize)
            check_labels(path)
            save_arrays(labels_of(path), dict(zip(_ENDS, labels, strict=True)))
        return
    with _new_folder(place) as folder:
        if path.suffix == ".parquet":
            parquet.create(folder, zero, dtype, labels)
        else:
            _create_zarr(folder, begun, zero, labels)


def remove(path: Path) -> None:
    """Delete a file that `create` made, and its labels."""
    place = path.resolve()
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
        labels_of(path).unlink(missing_ok=True)


def _exists(path: Path) -> FileExistsError:
    """Return the error of a path that another process took."""
    return FileExistsError(
        errno.EEXIST, "out: expected a new file, got one that another process made", str(path)
    )


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, which becomes `path` unless there is one by then, or the block raises."""
    part = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(part, path)
        except OSError:  # there is one; or the file system has no links
            if path.exists():
                raise _exists(path) from None
            part.rename(path)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Yield the path of a folder to make, which becomes `path` unless the block raises."""
    part = path.with_name(f".{path.name}.{uuid4().hex}")  # a killed process leaves its own
    try:
        yield part
        try:
            part.rename(path)  # fails if there is a folder with files
        except OSError:
            if path.exists():
                raise _exists(path) from None
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _create_zarr(folder: Path, begun: State, zero: Any, labels: tuple[Array, Array]) -> None:
    shape, dtype, block = begun.shape, np.dtype(begun.dtype), begun.block
    columns = max(min(_CHUNK_BYTES // (block * dtype.itemsize), shape[1]), 1)
    zarr = _zarr()
    group = zarr.create_group(folder)
    # Of lengths that are whole numbers, Zarr's own choice writes a sixth as fast.
    codec = zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle", typesize=dtype.itemsize)
    group.create_array(
        "lengths",
        shape=shape,
        dtype=dtype,
        chunks=(block, columns),
        fill_value=zero,
        compressors=codec,
        dimension_names=_ENDS,
    )
    for end, names in zip(_ENDS, labels, strict=True):
        text = names.dtype.kind in "US"
        data = names.astype(np.dtypes.StringDType()) if text else names
        group.create_array(end, data=data, dimension_names=(end,))
