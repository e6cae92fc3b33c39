"""One task of a closure by blocks: read blocks, compute, write a chunk. Any process may run it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tropical
from tropical import semirings

from ..star import add_product
from .chunks import read_chunk, write_chunk
from .panels import close_diagonal, take_columns, take_rows

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tropical.arrays import Array

    from .layout import Layout


@dataclass(frozen=True)
class Work:
    """What all tasks of a closure share; small, as it goes to every worker.

    Attributes
    ----------
    folder : Layout
    semiring : str
    step : int
        Vertices that a step of a round takes, see `panels`.
    threads : int, optional
        Threads of a task; None: as the context says.
    """

    folder: Layout
    semiring: str
    step: int
    threads: int | None

    def options(self) -> AbstractContextManager[Any]:
        """Return the context of products."""
        return nullcontext() if self.threads is None else tropical.options(threads=self.threads)


def run(
    work: Work, i: int, j: int, k: int, turn: AbstractContextManager[Any] | None = None
) -> None:
    """Let block (i, j) take round k; `turn` is held while computing.

    Chunks never change, so the task may run twice, also at the same time: both write the same
    bits. What the round multiplies is written before the chunk: whoever finds the chunk after
    round k finds that, too. Where the task has been done and its inputs are gone, it does nothing.
    """
    try:
        _run(work, i, j, k, turn or nullcontext())
    except FileNotFoundError:
        if work.folder.level(i, j) <= k:
            raise


def _run(work: Work, i: int, j: int, k: int, turn: AbstractContextManager[Any]) -> None:
    folder, ring = work.folder, semirings.get(work.semiring)
    a = folder.read(i, j, k)
    panels: dict[Path, Array] = {}
    left = right = None
    if j != k:
        left = read_chunk(folder.left(i, k), folder.shape_of(i, k), folder.dtype)
    if i != k:
        right = read_chunk(folder.right(j, k), folder.shape_of(k, j), folder.dtype)
    with turn, work.options():
        if left is not None and right is not None:
            add_product(a, left, right, ring)
        elif left is not None:
            panels[folder.right(j, k)] = take_rows(a, left, ring, work.step)
        elif right is not None:
            panels[folder.left(i, k)] = take_columns(a, right, ring, work.step)
        else:
            both = close_diagonal(a, ring, work.step)
            panels = dict(zip((folder.left(i, k), folder.right(j, k)), both, strict=True))
    for path, panel in panels.items():
        write_chunk(path, panel)
    write_chunk(folder.chunk(i, j, k + 1), a)
    folder.chunk(i, j, k).unlink(missing_ok=True)
