"""Long work: cut into calls of the core, between which Ctrl-C is heard and progress is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from tropical import extras
from tropical.arrays import Array, is_kind

Report: TypeAlias = Callable[[float], object]
Progress: TypeAlias = Report | bool | None


@contextmanager
def shown(progress: Progress) -> Iterator[Report]:
    """Yield a function to call with the share that is done, from 0 to 1.

    True draws a bar on standard error, if that is a terminal, or in a notebook.
    """
    if callable(progress):
        yield progress
        return
    if progress:
        bars = extras.require("rich.progress", "'tropical-blas[graph]'")
        console = extras.require("rich.console", "'tropical-blas[graph]'").Console(stderr=True)
        columns = bars.BarColumn(), bars.TaskProgressColumn(), bars.TimeRemainingColumn()
        options = {"console": console, "transient": True, "redirect_stdout": False}
        if console.is_terminal or console.is_jupyter:  # elsewhere rich would write an empty line
            with bars.Progress(*columns, **options) as bar:
                task = bar.add_task("", total=1.0)
                yield lambda share: bar.update(task, completed=share)
            return
    yield lambda share: None


def share_of(progress: Report, done: int, parts: int) -> Report:
    """Return the report of part number `done` of `parts` equal parts."""
    return lambda share: progress((done + share) / parts)


def most_work(a: Array) -> int:
    """Return how many operations one call of the core may do: Ctrl-C is heard after the call.

    One thread takes half a second at most, except for careful integers without AVX2.
    """
    return 1 << (31 if is_kind(a.dtype, "integer") else 33)


def split(a: Array, work: int) -> Iterator[Array]:
    """Yield batches of matrices that together are `a`: each needs at most `work`, or is single."""
    if a.ndim == 2 or 2 * a.size * a.shape[-1] <= work:
        yield a
        return
    axis = int(np.argmax(a.shape[:-2]))
    if a.shape[axis] == 1:
        yield a[(0,) * (a.ndim - 2)]
        return
    for half in np.array_split(a, 2, axis):
        yield from split(half, work)
