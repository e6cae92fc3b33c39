"""Where the chunks of a matrix lie in a folder, and which rounds they have taken."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.arrays import Array

from ..star import cut
from . import manifest as manifests
from .chunks import read_chunk, write_chunk
from .manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_BEFORE = "before-"  # of files of predecessors
_CHUNK = re.compile(rf"({_BEFORE})?(\d+)-(\d+)\.(\d+)\.npy")
_STEP = re.compile(rf"(?:{_BEFORE})?(?:left|right)-\d+\.(\d+)\.npy")
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")


@dataclass(frozen=True)
class Layout:
    """The files of a matrix (n, n) of a dtype, in blocks of `block` rows and columns.

    The files of a matrix and of its predecessors lie in one folder, told apart by `prefix`. The
    rounds that a block has taken are those of the matrix.
    """

    path: Path
    n: int
    block: int
    dtype: np.dtype[Any]
    prefix: str = ""
    identity: str = ""

    @classmethod
    def at(cls, path: Path) -> Layout:
        """Return the layout of a complete folder; see `manifest.read` for errors."""
        known = manifests.read(path)
        return cls(path, known.n, known.block, np.dtype(known.dtype), identity=known.identity)

    @property
    def before(self) -> Layout:
        """The layout of the predecessors."""
        return replace(self, dtype=np.dtype(np.int32), prefix=_BEFORE)

    @property
    def count(self) -> int:
        """Number of blocks in a row, and of rounds."""
        return -(-self.n // self.block)

    @property
    def manifest(self) -> Manifest:
        """The state of the folder."""
        return manifests.read(self.path)

    def places(self) -> Iterator[tuple[int, int, slice, slice]]:
        """Yield the place of each block, and its rows and columns."""
        if self.n:
            parts = cut(self.n, self.block)
            for i, rows in enumerate(parts):
                for j, columns in enumerate(parts):
                    yield i, j, rows, columns

    def overlaps(self, part: range) -> Iterator[tuple[int, slice, slice]]:
        """Yield each block that has some of these rows: its number, its rows, and where they go."""
        for i in range(part.start // self.block, -(-part.stop // self.block) if part else 0):
            start, stop = i * self.block, min((i + 1) * self.block, self.n)
            first, last = max(start, part.start), min(stop, part.stop)
            into = slice(first - part.start, last - part.start)
            yield i, slice(first - start, last - start), into

    def shape_of(self, i: int, j: int) -> tuple[int, int]:
        """Return the shape of block (i, j)."""
        rows, columns = (min(self.block, self.n - p * self.block) for p in (i, j))
        return rows, columns

    def chunk(self, i: int, j: int, k: int) -> Path:
        """Return the file of block (i, j) after k rounds."""
        return self.path / f"{self.prefix}{i}-{j}.{k}.npy"

    def left(self, i: int, k: int) -> Path:
        """Return the file of the columns of block (i, k) before their own steps of round k."""
        return self.path / f"{self.prefix}left-{i}.{k}.npy"

    def right(self, j: int, k: int) -> Path:
        """Return the file of the rows of block (k, j) after their own steps of round k."""
        return self.path / f"{self.prefix}right-{j}.{k}.npy"

    def read(self, i: int, j: int, k: int) -> Array:
        """Read block (i, j) after k rounds; see `read_chunk` for errors."""
        return self.read_file(self.chunk(i, j, k), i, j)

    def read_file(self, path: Path, i: int, j: int) -> Array:
        """Read a file that has the shape of block (i, j); see `read_chunk` for errors."""
        return read_chunk(path, self.shape_of(i, j), self.dtype, self.identity)

    def write(self, path: Path, block: Array) -> None:
        """Write a chunk, unless the folder holds another matrix by now; see also `write_chunk`.

        Raises
        ------
        FileNotFoundError
            If the folder holds no matrix.
        RuntimeError
            If it holds another one: a worker that hung for long must not change that.
        """
        if self.manifest.identity != self.identity:
            raise RuntimeError(f"{self.path}: expected the matrix of this task, got another one")
        write_chunk(path, block, self.identity)

    def levels(self) -> NDArray[np.intp]:
        """Return how many rounds each block has taken, (count, count).

        Raises
        ------
        FileNotFoundError
            If a block has no chunk.
        """
        levels = np.full((self.count, self.count), -1, np.intp)
        for path in self.path.iterdir():
            found = _CHUNK.fullmatch(path.name)
            if found and not found[1]:
                i, j, k = map(int, found.groups()[1:])
                levels[i, j] = max(levels[i, j], k)
        for i, j in np.argwhere(levels < 0):
            raise FileNotFoundError(f"{self.path}: expected a chunk {i}-{j}, got none")
        return levels

    def level(self, i: int, j: int) -> int:
        """Return how many rounds one block has taken, -1 if it has no chunk."""
        return max(
            (int(p.name.split(".")[1]) for p in self.path.glob(f"{i}-{j}.*.npy")), default=-1
        )

    def tidy(self, levels: NDArray[np.intp]) -> None:
        """Delete older chunks, and what rounds that all blocks have taken left."""
        done = levels.min(initial=self.count)
        for path in list(self.path.iterdir()):
            chunk, step = _CHUNK.fullmatch(path.name), _STEP.fullmatch(path.name)
            old = chunk and int(chunk[4]) < levels[int(chunk[2]), int(chunk[3])]
            if old or (step and int(step[1]) < done):
                path.unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """Delete files that killed processes left."""
        for path in list(self.path.iterdir()):
            if _TEMPORARY.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def begin(self) -> None:
        """Make the folder one that is being filled, in which only this call's files are chunks.

        Raises
        ------
        FileExistsError
            If it holds a matrix, or files of another kind with the names of chunks.
        """
        if manifests.is_filling(self.path):
            self.remove()  # what a call left that did not end
        elif (self.path / manifests.NAME).exists():
            raise FileExistsError(f"{self.path}: expected a new folder, got one with a matrix")
        for path in self.path.iterdir():
            if any(pattern.fullmatch(path.name) for pattern in (_CHUNK, _STEP)):
                raise FileExistsError(
                    f"{self.path}: expected no files with the names of chunks, got {path.name}"
                )
        self._mark()

    def _mark(self) -> None:
        """Say that the folder has no complete matrix, and that its chunks may be deleted."""
        Manifest(
            self.n, self.block, self.dtype.str, state=manifests.FILLING, identity=self.identity
        ).write(self.path)

    def remove(self) -> None:
        """Delete all files of this kind; after a kill in between, `begin` deletes the others."""
        self._mark()
        self.delete()

    def delete(self) -> None:
        """Delete all files of this kind, last the one that tells the state."""
        self.remove_unfinished()
        for path in list(self.path.iterdir()):
            if _CHUNK.fullmatch(path.name) or _STEP.fullmatch(path.name):
                path.unlink()
        (self.path / manifests.NAME).unlink(missing_ok=True)
