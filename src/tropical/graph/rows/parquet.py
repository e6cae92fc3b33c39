"""Rows as a table: a folder of Parquet files, one for each block of rows.

A Parquet file cannot be continued, as its index stands at its end. A folder of them is one data set
for those who read it, and each file appears in one step. Readers ignore names that begin with "_".
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import extras
from tropical.npz import load_arrays, replacing, save_arrays

from ..blocks.chunks import exact_checksum

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tropical.arrays import Array

_LABELS = "_labels.npz"
_COLUMNS = ("source", "target", "length")
_GROUP = 1 << 20  # pairs of a row group: what readers take at once, and Arrow's own choice
# Bytes beside the rows: of pyarrow, and of the columns of a row group and their encoding.
OVERHEAD = 256 << 20


def library(module: str = "pyarrow.parquet") -> Any:
    """Return a module of pyarrow."""
    return extras.require(module, "'tropical-blas[parquet]'")


def create(folder: Path, zero: Any, dtype: np.dtype[Any], labels: tuple[Array, Array]) -> None:
    """Make the folder of a table: with the labels of sources and targets, and without a pair."""
    try:
        for names in labels:
            library("pyarrow").array(names)
    except UnicodeError as error:
        raise ValueError(f"labels: expected text that UTF-8 has ({error})") from None
    folder.mkdir()
    known = {"source": labels[0], "target": labels[1], "zero": np.array(zero, dtype)}
    save_arrays(folder / _LABELS, known)


@functools.lru_cache(maxsize=1)
def _known(path: Path, changed: int) -> dict[str, Array]:
    return load_arrays(path)


@dataclass(frozen=True)
class TableRows:
    """A line (source, target, length) for each pair that a path joins; any process may write."""

    path: Path
    step: int = 1
    shared: bool = True
    overhead: int = OVERHEAD

    @property
    def _arrays(self) -> dict[str, Array]:
        path = self.path / _LABELS
        return _known(path, path.stat().st_mtime_ns)

    @property
    def shape(self) -> tuple[int, ...]:
        """(sources, targets)."""
        return len(self._arrays["source"]), len(self._arrays["target"])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the lengths."""
        return self._arrays["zero"].dtype

    def check_disk(self) -> None:
        """Do nothing: files are compressed, and pairs without a path take no room."""

    def checksum(self, first: int, last: int) -> int | None:
        """Return that of the file of the rows from `first` on; None if there is no file."""
        try:
            return exact_checksum(np.fromfile(self._file(first), np.uint8))
        except FileNotFoundError:
            return None

    def write(self, first: int, rows: Array) -> int:
        """Write rows, and wait until they are on the disk; return the checksum of their file."""
        groups = self._groups(first, rows)
        group = next(groups)
        # Without Arrow's schema, readers find columns of labels, not of numbers of labels.
        options = {"use_dictionary": list(_COLUMNS[:2]), "store_schema": False}
        with (
            replacing(self._file(first)) as file,
            library().ParquetWriter(file, group.schema, compression="zstd", **options) as writer,
        ):
            writer.write_table(group)
            for group in groups:
                writer.write_table(group)
        return exact_checksum(np.fromfile(self._file(first), np.uint8))

    def _file(self, first: int) -> Path:
        return self.path / f"rows-{first:09}.parquet"

    def _groups(self, first: int, rows: Array) -> Iterator[Any]:
        """Yield the lines of rows from `first` on, as tables of about a row group.

        Their columns of labels hold numbers of labels, which take less memory.
        """
        arrow, known = library("pyarrow"), self._arrays
        sources = arrow.array(known["source"][first : first + len(rows)])
        targets = arrow.array(known["target"])
        step = max(_GROUP // max(rows.shape[1], 1), 1)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            i, j = np.nonzero(part != known["zero"])
            columns = (
                arrow.DictionaryArray.from_arrays((i + start).astype(np.int32), sources),
                arrow.DictionaryArray.from_arrays(j.astype(np.int32), targets),
                part[i, j],
            )
            yield arrow.table(dict(zip(_COLUMNS, columns, strict=True)))
