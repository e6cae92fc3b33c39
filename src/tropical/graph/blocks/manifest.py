"""What a folder of chunks says of itself: a small JSON file that is replaced in one step."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from errno import ENOENT
from typing import TYPE_CHECKING

from .. import json_files

if TYPE_CHECKING:
    from pathlib import Path

NAME = "closure.json"
FILLING = "filling"  # the state of a folder whose matrix is not complete yet
_VERSION = 2  # 1 had other checksums in `source`, and none of its own

_ADVICE = "go on with the tropical and the file that began, or delete the folder to begin anew"


@dataclass(frozen=True)
class Manifest:
    """The state of a folder.

    Attributes
    ----------
    n, block : int
        Number of vertices of the matrix and of a block.
    dtype : str
    least : tuple of (number, str), optional
        The least element of the matrix that came in, and its chunk; None for booleans.
    state : str
        "matrix" before the first round, "rounds" from then on, "star" after the last one;
        "diverged" if there is no star; "copying" while the star replaces an array, "copied" while
        the files are deleted after that. A folder that is "filling" has no matrix yet.
    semiring : str, optional
        Once the rounds have begun.
    message : str
        Of the DivergenceError.
    source : tuple of int
        Checksums of the blocks of the array that the matrix came from, row by row; once "copied",
        those of the star, and then those of the predecessors.
    predecessors : bool
        Whether the rounds keep predecessors.
    target : str
        Of an array, where it lies: its star goes there and nowhere else.
    identity : str
        Random: another matrix under the same path has another one, and so do its chunks.
    """

    n: int
    block: int
    dtype: str
    least: tuple[float, str] | None = None
    state: str = "matrix"
    semiring: str | None = None
    message: str = ""
    source: tuple[int, ...] = ()
    predecessors: bool = False
    target: str = ""
    identity: str = ""

    def write(self, folder: Path) -> None:
        """Write the file into a folder."""
        json_files.write(folder / NAME, _VERSION, dataclasses.asdict(self))


def is_filling(folder: Path) -> bool:
    """Return whether a call that wrote a matrix into a folder did not end."""
    try:
        fields = json_files.parse((folder / NAME).read_bytes(), _VERSION)
    except (OSError, ValueError):
        return False
    return bool(fields["state"] == FILLING)


def read(folder: Path) -> Manifest:
    """Read the file of a folder.

    Raises
    ------
    FileNotFoundError
        If there is none: the folder has never been complete.
    ValueError
        If it is from another version, or damaged.
    """
    path = folder / NAME
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(
            error.errno, "expected a folder of BlockFolder.from_array or one of its kind", str(path)
        ) from None
    try:
        fields = json_files.parse(content, _VERSION)
    except ValueError as error:
        raise ValueError(f"{path}: {error}; {_ADVICE}") from None
    if fields["least"] is not None:
        fields["least"] = tuple(fields["least"])
    found = Manifest(**{**fields, "source": tuple(fields["source"])})
    if found.state == FILLING:
        raise FileNotFoundError(ENOENT, "expected a matrix, got a part of one", str(path))
    return found
