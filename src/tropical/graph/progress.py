"""Who is told how far a long closure is: nobody, a function, or a bar on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from tropical import extras

Report: TypeAlias = Callable[[float], object]
Progress: TypeAlias = Report | bool | None


@contextmanager
def shown(progress: Progress) -> Iterator[Report]:
    """Yield a function that is to be called with the share that is done, from 0 to 1."""
    if callable(progress):
        yield progress
    elif progress:
        bars = extras.require("rich.progress", "'tropical-blas[graph]'")
        with bars.Progress(
            bars.BarColumn(), bars.TaskProgressColumn(), bars.TimeRemainingColumn(), transient=True
        ) as bar:
            task = bar.add_task("", total=1.0)
            yield lambda share: bar.update(task, completed=share)
    else:
        yield lambda share: None
