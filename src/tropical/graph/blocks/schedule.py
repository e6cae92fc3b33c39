"""Which tasks of a closure by blocks may run, and which of them first.

Task (i, j, k) lets block (i, j) take round k. It needs block (i, j) after k rounds, and what the
blocks of the diagonal, or of the row and the column, of round k left. There is no barrier between
rounds: the next block of the diagonal, its row and its column go first ("look-ahead").
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Task: TypeAlias = tuple[int, int, int]


class Schedule:
    """The tasks that are left, from the rounds (count, count) that each block has taken."""

    def __init__(self, levels: NDArray[np.intp]) -> None:
        self.levels: NDArray[np.intp] = levels.copy()
        self.count: int = len(levels)
        taken = [int((levels > k).sum()) for k in range(self.count)]
        self._open = [self.count**2 - number for number in taken]  # blocks, for each round
        self._ready: list[tuple[tuple[int, int], Task]] = []
        self._given: set[Task] = set()  # that are in `_ready`, or run
        self._offer((i, j) for i in range(self.count) for j in range(self.count))

    @property
    def left(self) -> int:
        """Number of tasks that have not ended."""
        return sum(self._open)

    @property
    def rounds(self) -> int:
        """Number of rounds that all blocks have taken."""
        return int(self.levels.min(initial=self.count))

    def next(self) -> Task | None:
        """Return the first task that may run now, None if there is none."""
        return heapq.heappop(self._ready)[1] if self._ready else None

    def again(self, task: Task) -> None:
        """Take back a task that did not end."""
        heapq.heappush(self._ready, (_order(task), task))

    def end(self, task: Task) -> bool:
        """Note that a task has ended; return whether its round has."""
        i, j, k = task
        self._given.discard(task)
        self.levels[i, j] += 1
        self._open[k] -= 1
        others = range(self.count)
        waiting = [(i, j)]
        if i == k:
            waiting += [(other, j) for other in others]
        if j == k:
            waiting += [(i, other) for other in others]
        self._offer(waiting)
        return not self._open[k]

    def name(self, task: Task) -> str:
        """Return what Dask's dashboard calls tasks of this kind."""
        i, j, k = task
        if i == j == k:
            return "closure-diagonal"
        return "closure-row" if i == k else "closure-column" if j == k else "closure-product"

    def _offer(self, blocks: Iterable[tuple[int, int]]) -> None:
        """Make the next tasks of these blocks ready, if they are."""
        for i, j in blocks:
            task = i, j, int(self.levels[i, j])
            if task not in self._given and self._may_run(*task):
                self._given.add(task)
                self.again(task)

    def _may_run(self, i: int, j: int, k: int) -> bool:
        if k == self.count:
            return False
        if i == k == j:
            return True
        if k in (i, j):
            return bool(self.levels[k, k] > k)
        return bool(self.levels[k, j] > k and self.levels[i, k] > k)


def _order(task: Task) -> tuple[int, int]:
    """Return the place of a task in the order; a diagonal, a row and a column go a round early."""
    i, j, k = task
    if k in (i, j):
        return k - 1, 0 if i == j else 2
    following = (i == k + 1) + (j == k + 1)
    return k, (4, 3, 1)[following]
