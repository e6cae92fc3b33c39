"""One task of a closure by blocks: read blocks, compute, write a chunk. Any process may run it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tropical
from tropical import semirings

from . import panels, trees
from .layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from .panels import Block


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
    predecessors : bool
        Whether they are kept.
    """

    folder: Layout
    semiring: str
    step: int
    threads: int | None
    predecessors: bool = False

    def layers(self) -> list[Layout]:
        """Return the layout of the matrix, and where they are kept that of the predecessors."""
        return [self.folder, self.folder.before] if self.predecessors else [self.folder]

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
    ring, layers = semirings.get(work.semiring), work.layers()
    matrix = layers[:1]
    a = [layer.read(i, j, k) for layer in (layers if k else matrix)]
    left: Block = []
    right: Block = []
    if j != k:  # of a column, only rows read the predecessors
        left = [layer.read_file(layer.left(i, k), i, k) for layer in (layers if i == k else matrix)]
    if i != k:
        right = [layer.read_file(layer.right(j, k), k, j) for layer in layers]
    with turn, work.options():
        if not work.predecessors:
            left, right = panels.take(a, left, right, ring, work.step)
        else:
            if not k:
                a = trees.begin(a[0], (i * work.folder.block, j * work.folder.block), ring)
            left, right = trees.take(a, left, right, ring)
    _write(layers, Layout.left, (i, k), left)
    _write(layers, Layout.right, (j, k), right)
    _write(layers, Layout.chunk, (i, j, k + 1), a)
    for layer in layers:
        layer.chunk(i, j, k).unlink(missing_ok=True)


def _write(
    layers: list[Layout], path: Callable[..., Path], place: tuple[int, ...], block: Block
) -> None:
    """Write a block, the predecessors first: the file of the elements says that both are there."""
    for layer, array in reversed(list(zip(layers, block, strict=False))):
        layer.write(path(layer, *place), array)
