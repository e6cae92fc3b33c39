"""Chunks: ``.npy`` files of one block each, that end with a checksum and appear in one step."""

from __future__ import annotations

import functools
import io
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.arrays import Array
from tropical.npz import replacing

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"crc32"  # before the four bytes of the checksum, behind the array
_WORDS = 4096  # whose positions the checksum tells apart


class DamagedChunkError(ValueError):
    """A chunk on disk is not what was written: its checksum differs, or bytes are missing."""


def checksum(block: Array) -> int:
    """Return the CRC-32 of 4,096 sums: of every 4,096th word of 8 bytes, modulo 2^64.

    A change of one word always changes it: a disk damages few words, while a user may change all of
    them, see `exact_checksum`. Sums go at the speed of memory, a CRC-32 of all bytes at a fifth of
    it. What is left of the words counts byte by byte.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph.blocks.chunks import checksum
    >>> a = np.zeros(100_000)
    >>> before = checksum(a)
    >>> a[5000] = -0.0
    >>> checksum(a) == before
    False
    """
    raw = block.reshape(-1).view(np.uint8)
    whole = len(raw) - len(raw) % (8 * _WORDS)
    sums = raw[:whole].view(np.uint64).reshape(-1, _WORDS).sum(axis=0)
    return zlib.crc32(raw[whole:].data, zlib.crc32(sums.data))


def exact_checksum(block: Array) -> int:
    """Return the CRC-32 of all bytes: it also notices words that moved, or signs that flipped.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph.blocks.chunks import checksum, exact_checksum
    >>> a = np.arange(16384.0)
    >>> b = np.roll(a, 4096)
    >>> checksum(a) == checksum(b), exact_checksum(a) == exact_checksum(b)
    (True, False)
    """
    return zlib.crc32(block.reshape(-1).view(np.uint8).data)


def _end(block: Array, identity: str) -> bytes:
    """Return what stands behind a block of a matrix in its file."""
    return _MAGIC + zlib.crc32(identity.encode(), checksum(block)).to_bytes(4, "little")


def write_chunk(path: Path, block: Array, identity: str = "") -> None:
    """Write a C-contiguous block; the file appears in one step, complete and on the disk.

    `identity` is that of its matrix: who expects a block of another matrix cannot read the file.

    Raises
    ------
    OSError
        If the file cannot be written; there is then no new file.
    """
    with replacing(path) as file:
        file.write(_header(block.shape, block.dtype))
        file.write(block.data if block.size else b"")
        file.write(_end(block, identity))


@functools.lru_cache(maxsize=16)
def _header(shape: tuple[int, int], dtype: np.dtype[Any]) -> bytes:
    """Return what stands before a block in its file."""
    file = io.BytesIO()
    fields = np.lib.format.header_data_from_array_1_0(np.broadcast_to(np.zeros((), dtype), shape))
    np.lib.format.write_array_header_1_0(file, {**fields, "fortran_order": False})
    return file.getvalue()


def _check_header(file: Any, path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """Raise DamagedChunkError unless a header says the same in other bytes.

    NumPy reads it by Python's parser, which fails for other reasons if two threads use it at once.
    """
    try:
        np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0(file)
    except OSError:
        raise
    except Exception as error:
        raise DamagedChunkError(f"{path}: the chunk is damaged ({error})") from None
    if header != (shape, False, dtype):
        raise DamagedChunkError(
            f"{path}: the chunk is damaged: expected {shape} of {dtype}, got {header}"
        )


def read_chunk(
    path: Path, shape: tuple[int, int], dtype: np.dtype[Any], identity: str = ""
) -> Array:
    """Read a block of this shape and dtype, of the matrix with this identity.

    Raises
    ------
    DamagedChunkError
        If the file does not hold what `write_chunk` wrote; the message names the file.
    OSError
        If the file cannot be read, such as FileNotFoundError.
    """
    block, header = np.empty(shape, dtype), _header(shape, dtype)
    with path.open("rb") as file:
        if file.read(len(header)) != header:
            file.seek(0)
            _check_header(file, path, shape, dtype)
        there = file.readinto(block.reshape(-1).view(np.uint8).data)
        end = file.read(len(_MAGIC) + 5)
    if there < block.nbytes or end != _end(block, identity):
        raise DamagedChunkError(f"{path}: the chunk is damaged: its checksum differs")
    return block
