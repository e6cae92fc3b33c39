"""One block of rows: computed and written, in any process; and what runs all of them."""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tropical

from ..blocks.crew import Crew, with_progress
from ..factor import Factor
from ..tables import within
from .finders import Finder, forget, load, save
from .state import State
from .stores import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from tropical.arrays import Array

    from ..progress import Report


@dataclass(frozen=True)
class Work:
    """What computes and writes a block of rows, in any process.

    Attributes
    ----------
    sources, targets : ndarray of int, optional
        None for all vertices.
    file : Path
        That `finder` is in, if that is None.
    """

    store: Store
    begun: State
    sources: NDArray[np.intp] | None
    targets: NDArray[np.intp] | None
    limit: float | None
    threads: int | None
    file: Path
    finder: Finder | None

    def __call__(self, number: int, turn: AbstractContextManager[Any] | None = None) -> int:
        """Write block `number` and return its checksum; `turn` is held while computing."""
        first, last = self.begun.rows(number)
        with turn or nullcontext():
            rows = self.lengths(first, last)
        return self.store.write(first, rows)

    def lengths(self, first: int, last: int) -> Array:
        """Return the rows from `first` to before `last`."""
        sources = np.arange(first, last) if self.sources is None else self.sources[first:last]
        finder = self.finder
        if finder is None:
            finder = load(self.file, self.begun.method, self.begun.graph)
        with nullcontext() if self.threads is None else tropical.options(threads=self.threads):
            if not isinstance(finder, Factor):
                found: Any = finder.lengths(sources, self.targets, limit=self.limit)
                return found
            rows = finder.lengths(sources, self.targets)
            for row in rows if self.limit is not None else ():
                row[...] = within(row, finder.semiring, self.limit)  # not all: `memory` has no room
            return rows


class Blocks:
    """The numbers of the blocks that are not written: the plan of a `Crew`."""

    def __init__(self, sums: Sequence[int | None]) -> None:
        self._ready = deque((number,) for number, known in enumerate(sums) if known is None)
        self.left: int = len(self._ready)

    def next(self) -> tuple[int] | None:
        """Return the first block that nobody writes, None if there is none."""
        return self._ready.popleft() if self._ready else None

    def again(self, task: tuple[int]) -> None:
        """Take back a block."""
        self._ready.appendleft(task)

    def name(self, task: tuple[int]) -> str:
        """Return what Dask's dashboard calls the tasks."""
        return "write-lengths"


def run(
    work: Work,
    sums: list[int | None],
    side: Path,
    report: Report,
    executor: Any,
    workers: int | None,
    tasks: int,
) -> None:
    """Write the blocks that are not written; note the checksum of each in `sums` and in `side`.

    `executor`, `workers` and `tasks` are those of a `Crew`.
    """
    plan = Blocks(sums)
    report(1 - plan.left / max(len(sums), 1))
    if not plan.left:
        return

    def ended(task: tuple[int], found: int) -> None:
        sums[task[0]] = found
        work.begun.write(side, sums)
        plan.left -= 1
        report(1 - plan.left / len(sums))

    crew = None
    try:
        if executor is not None:
            assert work.finder is not None
            save(work.finder, work.file)
            work = replace(work, finder=None)
        crew = Crew(executor, workers, tasks)
        crew.run(plan, work, ended)
    except OSError as error:
        written = len(sums) - plan.left
        done = f"{written} of {len(sums)} blocks of rows are written"
        raise with_progress(error, done) from error
    finally:
        if crew is not None:
            crew.close()
        if executor is not None:
            work.file.unlink(missing_ok=True)
            forget()  # what threads of this process have read
