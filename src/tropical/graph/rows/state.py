"""Which blocks of rows are written, in a small JSON file that is replaced in one step."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import json_files

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_VERSION = 2  # 1 had no checksum


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
    done : str
        A bit for each block, in hexadecimal digits.
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
    done: str = ""
    out: str = ""
    labels: str = ""

    @property
    def count(self) -> int:
        """Number of blocks."""
        return -(-self.shape[0] // self.block)

    def blocks(self) -> NDArray[np.bool_]:
        """Return whether each block is written, (count,)."""
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(self.done), np.uint8), count=self.count)
        return bits.astype(np.bool_)

    def write(self, path: Path, blocks: NDArray[np.bool_]) -> None:
        """Write the file, with these blocks done."""
        done = dataclasses.replace(self, done=np.packbits(blocks).tobytes().hex())
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
    return State(**fields, shape=(rows, columns))
