"""What `python -m tropical bench` measures and keeps: cases, their times, and the JSON file."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Case", "Times", "read", "write"]

FORMAT = 1


@dataclass(frozen=True)
class Times:
    """One contender's: `work` in scalar operations a call, seconds a call for each kept round."""

    name: str
    work: float
    seconds: list[float]

    @property
    def rates(self) -> list[float]:
        """Operations per second, by rounds."""
        return [self.work / seconds for seconds in self.seconds]

    @property
    def rate(self) -> float:
        """Operations per second, from the median time."""
        return self.work / statistics.median(self.seconds)


@dataclass(frozen=True)
class Case:
    """One product, (n, n) by (n, n), and everyone who computed it.

    `discarded` counts the rounds in which the ceiling moved; `absent` says who took no part, and
    why.
    """

    semiring: str
    dtype: str
    n: int
    threads: int
    ceiling: Times | None = None
    contenders: list[Times] = field(default_factory=list)
    discarded: int = 0
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What makes two cases of two runs comparable."""
        return self.semiring, self.dtype, self.n, self.threads

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"{self.semiring} {self.dtype}, n = {self.n}, {threads}"

    def find(self, name: str) -> Times | None:
        """Return the times of the contender `name`; None if it took no part."""
        return next((times for times in self.contenders if times.name == name), None)

    def shares(self, times: Times) -> list[float]:
        """Of the ceiling of all threads, by rounds; empty if there is no ceiling."""
        if self.ceiling is None:
            return []
        pairs = zip(times.rates, self.ceiling.rates, strict=True)
        return [rate / (ceiling * self.threads) for rate, ceiling in pairs]


def write(path: Path, environment: dict[str, Any], cases: Sequence[Case]) -> None:
    """Write a report as JSON."""
    report = {
        "format": FORMAT,
        "environment": environment,
        "cases": [asdict(case) for case in cases],
    }
    path.write_text(json.dumps(report, indent=1) + "\n")


def _case_of(fields: dict[str, Any]) -> Case:
    fields = dict(fields)
    ceiling = fields.pop("ceiling")
    times = [Times(**entry) for entry in fields.pop("contenders")]
    return Case(**fields, ceiling=Times(**ceiling) if ceiling else None, contenders=times)


def read(path: Path) -> dict[tuple[str, str, int, int], Case]:
    """Read a report's cases, by their keys.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no such report; the message says why.
    """
    try:
        report = json.loads(path.read_text())
        if report["format"] != FORMAT:
            raise ValueError(f"format {report['format']!r}, this version reads {FORMAT}")
        return {case.key: case for case in map(_case_of, report["cases"])}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no report of bench: {error}") from error
