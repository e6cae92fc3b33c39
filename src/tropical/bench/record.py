"""The records of `table` and `bench`, one for each row, and their JSON file."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.bench.rivals import blas_libraries
from tropical.config import config
from tropical.measure.timing import Budget, Contender, interleave

FORMAT = 2
LIBRARIES = ("numpy", "scipy", "torch", "numba", "tropical-gemm", "threadpoolctl")
VARIABLES = ("OMP_", "OPENBLAS_", "MKL_", "NUMBA_", "RAYON_", "TROPICAL_")


@dataclass(frozen=True)
class Times:
    """The times of one contender: `work` of one call, and seconds a call in each kept round."""

    work: float
    seconds: list[float]

    @property
    def rate(self) -> float:
        """Work per second, from the median time."""
        return self.work / float(np.median(self.seconds))


@dataclass(frozen=True)
class Record:
    """One row: the contenders, their times, and the promise.

    Attributes
    ----------
    group, case : str
        The names of the row; no two records of a run agree in both.
    times : dict of str to Times
        The times of all contenders, ours first.
    reference : str
        The contender that the others are compared with: a rival or the ceiling.
    discarded : int
        Rounds in which the ceiling moved.
    absent : dict of str to str
        The contenders that took no part, with the reasons.
    bar : float or None
        The promise on `measured`; None without a promise.
    at_most : bool
        Whether the promise is an upper limit of a ratio of times; else a lower limit of rates.
    number : float or None
        A number that was counted or derived, not timed.
    product : tuple of (str, str, int, int), optional
        Semiring, dtype, n and threads of a product of (n, n) by (n, n).
    """

    group: str
    case: str
    times: dict[str, Times] = field(default_factory=dict)
    reference: str = ""
    discarded: int = 0
    absent: dict[str, str] = field(default_factory=dict)
    bar: float | None = None
    at_most: bool = False
    number: float | None = None
    product: tuple[str, str, int, int] | None = None

    @property
    def rounds(self) -> int:
        """Kept rounds."""
        return min((len(times.seconds) for times in self.times.values()), default=0)

    def ratios(self, name: str, reference: str = "") -> NDArray[np.float64]:
        """Return the rate of a contender over that of the reference, for each round."""
        ours, other = self.times[name], self.times[reference or self.reference]
        return ours.work / other.work * np.divide(other.seconds, ours.seconds)

    def quartiles(self) -> tuple[float, float, float] | None:
        """Return the quartiles of the ratio of the promise, or None if no round was kept."""
        if not self.rounds:
            return None
        ratios = self.ratios(next(iter(self.times)))
        low, median, high = np.percentile(1 / ratios if self.at_most else ratios, [25, 50, 75])
        return float(low), float(median), float(high)

    @property
    def measured(self) -> float | None:
        """The number, or the median ratio; None if there is neither."""
        quartiles = self.quartiles()
        return quartiles[1] if quartiles else self.number

    @property
    def met(self) -> bool | None:
        """Whether the promise is kept; None if there is no promise or no measurement."""
        if self.bar is None or self.measured is None:
            return None
        return self.measured <= self.bar if self.at_most else self.measured >= self.bar

    @property
    def skipped(self) -> str:
        """Why there is no measurement; empty if there is one."""
        if self.measured is not None:
            return ""
        if self.times:
            return f"the ceiling moved in all of {self.discarded} rounds"
        return "; ".join(self.absent.values()) or "nothing was measured"


def compete(
    record: Record, contenders: Sequence[Contender], budget: Budget, guard: Contender | None = None
) -> Record:
    """Return `record` with the times of contenders, ours first; see `interleave`."""
    timings = interleave(contenders, guard=guard, budget=budget)
    times = {
        name: Times(contender.work, timings.seconds[name])
        for name, contender in timings.contenders.items()
    }
    return dataclasses.replace(record, times=times, discarded=timings.discarded)


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def environment() -> dict[str, Any]:
    """Return the environment: build, processor, versions, BLAS, variables, load."""
    return {
        **config(),
        "python": platform.python_version(),
        "libraries": {library: _version(library) for library in LIBRARIES},
        "blas": blas_libraries(),
        "system": platform.platform(),
        "variables": {k: v for k, v in os.environ.items() if k.startswith(VARIABLES)},
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def write(
    path: Path, environment: dict[str, Any], records: Sequence[Record], **more: object
) -> None:
    """Write records as JSON, with ratios and verdicts; `more` are fields of the report."""
    rows = []
    for record in records:
        low, _, high = record.quartiles() or (None, None, None)
        derived = {
            "measured": record.measured,
            "low": low,
            "high": high,
            "met": record.met,
            "skipped": record.skipped,
        }
        rows.append({**dataclasses.asdict(record), **derived})
    report = {"format": FORMAT, "environment": environment, **more, "rows": rows}
    path.write_text(json.dumps(report, indent=1) + "\n")


@contextlib.contextmanager
def kept(path: Path | None, environment: dict[str, Any], **more: object) -> Iterator[list[Record]]:
    """Yield a list for records, and write what it has at the end, also after an error.

    The report has the seconds that the block took, too.
    """
    records: list[Record] = []
    start = time.perf_counter()
    try:
        yield records
    finally:
        if path and records:
            write(path, environment, records, **more, seconds=time.perf_counter() - start)


def _record(row: dict[str, Any]) -> Record:
    known = {f.name: row[f.name] for f in dataclasses.fields(Record)}
    times = {
        name: Times(float(fields["work"]), list(map(float, fields["seconds"])))
        for name, fields in row["times"].items()
    }
    return Record(**{**known, "times": times})


def read(path: Path) -> dict[tuple[str, str], Record]:
    """Read the records of a JSON file, by group and case.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not a report; the message gives the reason.
    """
    try:
        report = json.loads(path.read_text())
        if report["format"] != FORMAT:
            raise ValueError(f"expected format {FORMAT}, got {report['format']!r}")
        return {(record.group, record.case): record for record in map(_record, report["rows"])}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: expected a report of table or bench: {error!r}") from error
