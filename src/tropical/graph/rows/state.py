"""Which blocks of rows are written, in a small JSON file that is replaced in one step."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import json_files

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_VERSION = 3  # 1 had no checksum, and 2 none of the blocks


@dataclass(frozen=True)
class State:
    """What a call of `write_lengths` began, and how much of that is done.

    Attributes
    ----------
    graph, ends : str
        Checksums: of the graph with its semiring, and of sources, targets and limit.
    method : str
        "E" for a factor, "D" for searches.
    shape : tuple of int
        (sources, targets).
    dtype : str
    block : int
        Rows of a block.
    sums : tuple of int or None
        A checksum of each block that is written, as its store returns it; None for others.
    out : str
        Where the rows are, from the folder of a state that the caller named; else empty.
    labels : str
        Checksum of the labels that a file was made with; empty without a file.
    """

    graph: str
    ends: str
    method: str
    shape: tuple[int, int]
    dtype: str
    block: int
    sums: tuple[int | None, ...] = ()
    out: str = ""
    labels: str = ""

    @property
    def count(self) -> int:
        """Number of blocks."""
        return -(-self.shape[0] // self.block)

    def rows(self, number: int) -> tuple[int, int]:
        """Return the first row of a block, and the one behind its last row."""
        return number * self.block, min((number + 1) * self.block, self.shape[0])

    def write(self, path: Path, sums: Iterable[int | None]) -> None:
        """Write the file, with these checksums of blocks."""
        done = dataclasses.replace(self, sums=tuple(sums))
        json_files.write(path, _VERSION, dataclasses.asdict(done))


def read(path: Path) -> State | None:
    """Read the file; None if there is none.

    Raises
    ------
    ValueError
        If the file is from another version, or damaged.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        fields = json_files.parse(content, _VERSION)
    except ValueError as error:
        raise ValueError(
            f"{path}: expected a file of write_lengths: {error}; delete it and the lengths to "
            "begin anew"
        ) from None
    rows, columns = fields.pop("shape")
    return State(**{**fields, "shape": (rows, columns), "sums": tuple(fields["sums"])})
