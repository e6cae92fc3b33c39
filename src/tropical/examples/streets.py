"""The streets of the center of Helsinki, as a walker uses them, from ``tropical/data``.

© OpenStreetMap contributors, Open Database License 1.0; see ``SOURCE.md`` beside the data.
"""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tropical.graph import Factor
from tropical.graph.edges import Edges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

DATA = Path(__file__).parents[1] / "data"
NOTICE = "© OpenStreetMap contributors"
METERS_PER_DEGREE = 111_195  # of latitude, on a sphere of the earth's mean radius
WALK = 80.0  # meters a minute, 4.8 km an hour
STEPS = 2.0  # how much longer steps take


@dataclass(frozen=True)
class Streets:
    """The n corners of a city and the m streets between them.

    Attributes
    ----------
    longitude, latitude : (n,) float64 arrays
        Degrees.
    ends : (m, 2) intp array
        The corners that each street joins.
    minutes : (m,) float64 array
        How long a walker takes.
    names : tuple of str, m
        Empty for paths without a name.
    """

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    ends: NDArray[np.intp]
    minutes: NDArray[np.float64]
    names: tuple[str, ...]

    @property
    def places(self) -> NDArray[np.float64]:
        """Meters to the east and to the north of the first corner, (n, 2)."""
        degree = METERS_PER_DEGREE * np.cos(np.radians(self.latitude.mean()))
        east = (self.longitude - self.longitude[0]) * degree
        north = (self.latitude - self.latitude[0]) * METERS_PER_DEGREE
        return np.stack([east, north], axis=1)

    def nearest(self, longitude: float, latitude: float) -> int:
        """Return the corner that is nearest to a place, as the crow flies."""
        shrink = np.cos(np.radians(latitude))
        east, north = (self.longitude - longitude) * shrink, self.latitude - latitude
        return int(np.argmin(east**2 + north**2))

    def edges(self, minutes: NDArray[np.float64] | None = None) -> Edges:
        """Return the streets as edges, with other times if they are given."""
        source, target = self.ends.T
        return Edges(
            len(self.longitude), source, target, self.minutes if minutes is None else minutes
        )

    def factor(self) -> Factor:
        """Return the factor of the streets; each leads in both directions."""
        return Factor(self.edges(), directed=False)

    def along(self, name: str, meters: float) -> NDArray[np.intp]:
        """Return the streets of that name and those beside them, at most so many meters away."""
        named = np.array(self.names) == name
        there = self.places[np.unique(self.ends[named])]
        far = np.linalg.norm(self.places[:, None] - there, axis=2).min(axis=1, initial=np.inf)
        return np.flatnonzero(named | (far[self.ends] <= meters).all(axis=1))


def load() -> Streets:
    """Read the streets."""
    nodes, edges = list(_rows("helsinki_nodes")), list(_rows("helsinki_edges"))
    meters = np.array([float(edge["metres"]) for edge in edges])
    steps = np.array([edge["highway"] == "steps" for edge in edges])
    return Streets(
        longitude=np.array([float(node["lon"]) for node in nodes]),
        latitude=np.array([float(node["lat"]) for node in nodes]),
        ends=np.array([(int(edge["source"]), int(edge["target"])) for edge in edges]),
        minutes=meters / WALK * np.where(steps, STEPS, 1.0),
        names=tuple(edge["name"] for edge in edges),
    )


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = gzip.decompress((DATA / f"{name}.csv.gz").read_bytes()).decode()
    return csv.DictReader(io.StringIO(text))
