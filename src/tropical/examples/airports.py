"""The flight network of the examples: airports, routes and distances from ``tropical/data``."""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EARTH_RADIUS_KM = 6371.0088  # the mean radius (2a + b) / 3 of the IUGG's ellipsoid of 1980

DATA = Path(__file__).parents[1] / "data"


class UnknownAirportError(ValueError):
    """No airport has this code; the message names those with a similar code or city."""


@dataclass(frozen=True)
class Network:
    """n airports and the routes flown between them in a year.

    Attributes
    ----------
    codes : tuple of str
        IATA codes.
    places : tuple of str
        City and state; the airport's name where the data have no city.
    latitude, longitude : (n,) float64 arrays
        Degrees, north and east.
    meters : (n, n) float64 array
        Great-circle distances in meters, rounded to whole ones.
    flights : (n, n) int32 array
        Flights from i to j in the year; 0 where there is no route.
    """

    codes: tuple[str, ...]
    places: tuple[str, ...]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    meters: NDArray[np.float64]
    flights: NDArray[np.int32]

    def label(self, airport: int) -> str:
        """Return code and place, such as ``SEA Seattle, WA``."""
        return f"{self.codes[airport]} {self.places[airport]}"

    def index(self, code: str) -> int:
        """Return the position of an airport, by its code in upper or lower case.

        Raises
        ------
        UnknownAirportError
            If there is none; the message suggests similar codes and cities.
        """
        if code.upper() in self.codes:
            return self.codes.index(code.upper())
        near = [*self._near_cities(code), *difflib.get_close_matches(code.upper(), self.codes)]
        labels = [self.label(self.codes.index(found)) for found in dict.fromkeys(near)]
        hint = f"near matches: {'; '.join(labels)}" if near else "no code or city is similar"
        raise UnknownAirportError(f"unknown airport code {code!r} ({hint})")

    def _near_cities(self, text: str) -> list[str]:
        """Return the codes of airports whose city is spelled like `text`."""
        cities = [place.split(",")[0].casefold() for place in self.places]
        near = difflib.get_close_matches(text.casefold(), cities)
        return [self.codes[i] for city in near for i, own in enumerate(cities) if own == city]


def load() -> Network:
    """Read the US flight network of 2008 that comes with the package.

    Examples
    --------
    >>> from tropical.examples.airports import load
    >>> network = load()
    >>> len(network.codes), network.label(network.index("sea"))
    (305, 'SEA Seattle, WA')
    """
    airports = _rows("airports.csv")
    codes = tuple(row["iata"] for row in airports)
    position = {code: i for i, code in enumerate(codes)}
    flights = np.zeros((len(codes), len(codes)), np.int32)
    for row in _rows("flights_2008.csv"):
        flights[position[row["origin"]], position[row["destination"]]] = int(row["count"])
    latitude = np.array([float(row["latitude"]) for row in airports])
    longitude = np.array([float(row["longitude"]) for row in airports])
    return Network(
        codes=codes,
        places=tuple(
            row["name"] if row["city"] == "NA" else f"{row['city']}, {row['state']}"
            for row in airports
        ),
        latitude=latitude,
        longitude=longitude,
        meters=great_circle(latitude, longitude),
        flights=flights,
    )


def great_circle(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distances between n places on a sphere, by the haversine formula.

    Parameters
    ----------
    latitude, longitude : (n,) float64 arrays
        Degrees.

    Returns
    -------
    (n, n) float64 array
        Meters, rounded to whole ones; the sphere's radius is `EARTH_RADIUS_KM`.

    Examples
    --------
    A quarter of the equator:

    >>> import numpy as np
    >>> from tropical.examples.airports import great_circle
    >>> float(great_circle(np.array([0.0, 0.0]), np.array([0.0, 90.0]))[0, 1])
    10007557.0
    """
    phi, lam = np.radians(latitude), np.radians(longitude)
    haversine = (
        np.sin((phi[:, None] - phi) / 2) ** 2
        + np.cos(phi[:, None]) * np.cos(phi) * np.sin((lam[:, None] - lam) / 2) ** 2
    )
    meters: NDArray[np.float64] = np.rint(2000 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(haversine)))
    return meters


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
