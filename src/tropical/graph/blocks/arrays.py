"""Arrays on disk whose chunks cannot appear in one step: memmaps, arrays of Zarr, HDF5 datasets.

The rounds run in a folder beside them. The array is read before the first round and written after
the last one.
"""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import manifest as manifests
from .chunks import exact_checksum
from .folder import BlockFolder
from .layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.npz import PathLike


def scratch_of(array: Any, scratch: PathLike | None) -> Path:
    """Return the absolute path of the rounds: `scratch`, or one beside the array's file.

    Raises
    ------
    ValueError
        If `scratch` is None and the array does not say where it lies.
    """
    if scratch is not None:
        return Path(scratch).absolute()
    place = place_of(array)
    if place is None:
        kind = type(array).__name__
        raise ValueError(f"scratch: expected a folder for the rounds of a {kind}, got None")
    return Path(f"{place}.closure")


def place_of(array: Any) -> str | None:
    """Return the absolute path of an array's file, and its name inside; None without a file."""
    place = _place(array)
    return None if place is None else f"{place[0]}{place[1]}"


def _place(array: Any) -> tuple[Path, str] | None:
    name = getattr(array, "filename", None)  # of a memmap
    inside = ""
    if hasattr(array, "file"):  # of h5py
        name, inside = array.file.filename, array.name
    elif root := getattr(getattr(array, "store", None), "root", None):  # of a local store of Zarr
        name, inside = root, f"/{array.path}"
    if not isinstance(name, (str, os.PathLike)):
        return None
    path = Path(name).absolute()
    inside = inside.rstrip("/")
    if not path.exists():  # deleted, relative to another folder, or never a file
        return None
    for taken, instead in (("%", "%25"), ("-", "%2D"), ("/", "-")):  # names stay different
        inside = inside.replace(taken, instead)
    return path, inside


def target_of(array: Any) -> str:
    """Return where the elements of an array lie, for messages too; empty if that is not known."""
    place = _place(array)
    if place is None:
        return ""
    target = f"{place[0].resolve()}{place[1]}"  # the same by links, or with ".."
    if not isinstance(array, np.memmap):
        return target
    begin = _offset_of(array, array.ctypes.data)
    return f"{target} from byte {begin} on, in steps of {array.strides} bytes"


def view_of(array: Any) -> str:
    """Return a suffix that tells a view of a memmap from others, by its first byte; else empty."""
    if not isinstance(array, np.memmap) or not isinstance(array.base, np.memmap):
        return ""
    return f".{_offset_of(array, array.ctypes.data)}"


def _offset_of(array: np.memmap[Any, Any], address: int) -> int:
    """Return where in the file of a memmap, or of a view of one, an address lies."""
    whole = array
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    return whole.offset + address - whole.ctypes.data


def _extent(array: np.memmap[Any, Any]) -> tuple[int, int]:
    """Return the first byte of a memmap in its file, and the one behind the last."""
    first, last = (_offset_of(array, p) for p in np.lib.array_utils.byte_bounds(array))
    return first, last


def _overlap(a: Any, b: Any) -> bool:
    """Return whether two arrays may have elements in common, as their files or addresses say."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b):
        return True
    one, other = _place(a), _place(b)
    if a is b or one is None or other is None:
        return a is b
    same = one[1] == other[1] and one[0].samefile(other[0])
    if same and isinstance(a, np.memmap) and isinstance(b, np.memmap):
        (begin, end), (first, last) = _extent(a), _extent(b)
        return begin < last and first < end
    return same


def _allocate(array: Any, name: str) -> None:
    """Give a memmap the disk that it is to take, and raise OSError if there is too little.

    Where its file is sparse and the disk full, a write to the map would kill the process.
    """
    if not isinstance(array, np.memmap) or array.filename is None or array.mode not in ("r+", "w+"):
        return
    if not array.size or sys.platform == "win32" or not hasattr(os, "posix_fallocate"):
        return
    first, last = _extent(array)
    try:
        file = os.open(array.filename, os.O_RDWR)
    except OSError:
        return  # it has another name by now, or is not ours
    try:
        known = os.fstat(file)
        if last <= known.st_size and 512 * known.st_blocks < known.st_size:  # it is sparse
            os.posix_fallocate(file, first, last - first)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            needed = f"expected {(last - first) / 1e9:.3g} GB of disk for its file"
            raise OSError(error.errno, f"{name}: {needed}", str(array.filename)) from None
    finally:
        os.close(file)


def check_writeable(array: Any, name: str = "store") -> None:
    """Raise ValueError unless elements can be written: one is replaced by itself.

    Raise OSError if the disk has no room for what a sparse memmap does not occupy yet.
    """
    _allocate(array, name)
    try:
        array[:1, :1] = array[:1, :1]
    except Exception as error:  # each library has its own
        raise ValueError(f"{name}: expected a writeable array ({error})") from error


def check_predecessors(array: Any, n: int, store: Any) -> None:
    """Raise TypeError or ValueError unless predecessors (n, n) can be written to `array`."""
    name = "predecessors"
    if not all(hasattr(array, part) for part in ("shape", "dtype", "__setitem__")):
        raise TypeError(f"{name}: expected an array, as store is one, got {array!r:.60}")
    if array.dtype != np.int32:
        raise TypeError(f"{name}: expected dtype int32, got {array.dtype}")
    if tuple(array.shape) != (n, n):
        raise ValueError(f"{name}: expected {(n, n)}, got {array.shape}")
    if _overlap(array, store):
        raise ValueError(f"{name}: expected another array than store")
    check_writeable(array, name)


def enter(
    array: Any, predecessors: Any, path: Path, choose: Callable[[], int], resume: bool
) -> Layout:
    """Return the folder of the rounds: the one of an earlier call, or a copy of the array.

    `choose` returns the rows of a block of a copy. `predecessors` is None, or the array of them.
    """
    try:
        known = manifests.read(path)
    except FileNotFoundError:
        return _copy(array, path, choose())
    folder = Layout.at(path)
    if known.state == "copying" and not resume:
        raise ValueError(
            f"resume: expected True, as the array is between a matrix and its star; {path} has the "
            "star"
        )
    if not resume or (known.state == "copied" and not _is_copy(array, folder, known.source)):
        folder.remove()
        return _copy(array, path, choose())
    dtype = np.dtype(array.dtype).newbyteorder("=")
    if (known.n, known.n) != array.shape or np.dtype(known.dtype) != dtype:
        raise ValueError(
            f"store: expected the array of {path}, ({known.n}, {known.n}) of {folder.dtype}, got "
            f"{array.shape} of {array.dtype}; pass resume=False to begin anew"
        )
    if known.state == "copied":
        _check_predecessors(predecessors, folder, known)
    elif known.state != "copying":
        _check_source(array, folder, known.source)
    elif known.target != (target := target_of(array)):
        raise ValueError(
            f"store: expected {known.target or 'another array'}, whose star is in {path}, got "
            f"{target or 'another array'}; pass scratch= for its rounds"
        )
    else:
        _check_copied(array, folder, known)
    return folder


def _copy(array: Any, path: Path, block: int) -> Layout:
    return Layout.at(BlockFolder.from_array(path, array, block=block).path)


def _checksum(block: Any, folder: Layout) -> int:
    return exact_checksum(np.ascontiguousarray(block).astype(folder.dtype, copy=False))


def _is_copy(array: Any, layout: Layout, sums: tuple[int, ...]) -> bool:
    """Return whether the blocks of an array have these checksums."""
    dtype = np.dtype(array.dtype).newbyteorder("=")
    if array.shape != (layout.n, layout.n) or dtype != layout.dtype:
        return False
    places = zip(layout.places(), sums, strict=False)
    return all(_checksum(array[rows, columns], layout) == s for (_, _, rows, columns), s in places)


def _check_predecessors(array: Any, folder: Layout, known: manifests.Manifest) -> None:
    """Raise ValueError unless an array has the predecessors of a star that was copied."""
    sums = known.source[folder.count**2 :]
    if array is not None and known.predecessors and not _is_copy(array, folder.before, sums):
        raise ValueError(
            "predecessors: expected the array that has those of the star, got another one; delete "
            f"{folder.path} to begin anew from the star"
        )


def _check_source(array: Any, folder: Layout, source: tuple[int, ...]) -> None:
    """Raise ValueError if the array is not the one that the rounds began with."""
    for (i, j, rows, columns), wanted in zip(folder.places(), source, strict=True):
        if _checksum(array[rows, columns], folder) != wanted:
            raise ValueError(
                f"store: block ({i}, {j}) has changed since the rounds in {folder.path} began; "
                "pass resume=False to begin anew"
            )


def _check_copied(array: Any, folder: Layout, known: manifests.Manifest) -> None:
    """Raise ValueError unless some blocks are those of the star, and the others as they were.

    A kill may leave one block between the two, unless the array lies in memory.
    """
    begun, torn = False, bool(known.target)
    for (i, j, rows, columns), before in zip(folder.places(), known.source, strict=True):
        try:
            found = _checksum(array[rows, columns], folder)
        except Exception as error:  # each library has its own
            raise ValueError(
                f"store: block ({i}, {j}) cannot be read ({error}); "
                f"BlockFolder({str(folder.path)!r}) has the star, which another array can take"
            ) from error
        if not begun and found == exact_checksum(folder.read(i, j, folder.count)):
            continue
        if found != before and (begun or not torn):
            raise ValueError(
                f"store: block ({i}, {j}) has changed since the star was copied to it; "
                f"BlockFolder({str(folder.path)!r}) has the star, delete this folder to begin anew"
            )
        begun = True


def leave(array: Any, predecessors: Any, folder: Layout) -> None:
    """Replace the array by its star; delete the files of the folder.

    The array of predecessors, unless that is None, is written to as well.

    After a kill in between, the next call copies the star again, or deletes the other files.
    """
    known = folder.manifest
    if known.state != "copied":
        known = replace(known, state="copying", target=target_of(array))
        known.write(folder.path)
        sums = _copy_back(array, folder)
        if predecessors is not None:
            sums += _copy_back(predecessors, folder.before)
        replace(known, state="copied", source=tuple(sums)).write(folder.path)
    folder.delete()


def _copy_back(array: Any, layout: Layout) -> list[int]:
    """Replace an array by the blocks after the last round; return their checksums.

    HDF5 would write the chunks of many blocks in any order, while `_check_copied` knows one.
    """
    sums, file = [], getattr(array, "file", None)  # of h5py
    for i, j, rows, columns in layout.places():
        block = layout.read(i, j, layout.count)
        array[rows, columns] = block
        if file is not None:
            file.flush()
        sums.append(exact_checksum(block))
    if callable(flush := getattr(array, "flush", None)):  # of a memmap
        flush()
    return sums
