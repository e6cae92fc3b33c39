"""Maps of the flight network: ``python -m tropical.examples.maps FOLDER`` draws two pictures.

One shows three itineraries between two towns; the other shows the flights a year on the weakest
leg of the widest itinerary to each airport. Needs matplotlib (extra ``bench``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.examples import flights, new_figure, new_parser, pictures
from tropical.examples.airports import Network, load
from tropical.graph import path, widest_paths
from tropical.measure.terminal import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PAIR = ("MFR", "BTV")  # Medford in Oregon, Burlington in Vermont
HUB = "SEA"
HUB_LEGS = 6  # the fewest onward legs of an airport whose name is shown
WEST, EAST, SOUTH, NORTH = -126.0, -66.0, 23.5, 50.0  # of the contiguous states
SPREAD = np.cos(np.radians(38))  # of a degree of longitude beside one of latitude


def itineraries(network: Network) -> Any:
    """Draw the shortest itinerary of `PAIR`, the widest, and the one of fewest legs."""
    start, end = map(network.index, PAIR)
    width = int(widest_paths(network.flights, indices=start)[end])
    names = f"{network.label(start)} to {network.label(end)}"
    figure, axes = _map(network, f"Three ways from {names}", "0.75")
    answers = flights.itineraries(network, start, end, width)
    for (question, stops), style in zip(answers, ("C0-", "C1--", "C2-."), strict=True):
        route = " - ".join(network.codes[stop] for stop in stops)
        axes.plot(*_places(network, stops), style, label=f"{_short(question)}: {route}")
        _name(axes, network, stops)
    axes.legend(loc="lower left", fontsize=8)
    return figure


def bottlenecks(network: Network) -> Any:
    """Draw the widest itineraries from `HUB`, and color each airport by its weakest leg."""
    start = network.index(HUB)
    width, before = widest_paths(network.flights, indices=start, return_predecessors=True)
    width[start] = width[width < np.iinfo(width.dtype).max].max()
    title = f"Flights in 2008 on the weakest leg of the widest way from {network.label(start)}"
    figure, axes = _map(network, title, np.where(width > 0, width, np.nan))
    for airport in np.flatnonzero(before >= 0):
        leg = path(before, start, int(airport))[-2:]
        axes.plot(*_places(network, leg), color="0.8", linewidth=0.6, zorder=0)
    legs_from = np.bincount(before[before >= 0], minlength=len(before))
    _name(axes, network, np.flatnonzero(legs_from >= HUB_LEGS).tolist())
    return figure


def _short(question: str) -> str:
    """Return the beginning of a question, without its conditions."""
    return question.split(" (")[0].split(",")[0]


def _map(network: Network, title: str, color: str | NDArray[np.floating[Any]]) -> tuple[Any, Any]:
    figure = new_figure(8, 4.6, dpi=90)
    axes = figure.add_subplot(title=title, aspect=1)
    axes.set_xlim(WEST * SPREAD, EAST * SPREAD)
    axes.set_ylim(SOUTH, NORTH)
    axes.set_xticks([])
    axes.set_yticks([])
    everywhere = range(len(network.codes))
    points = axes.scatter(*_places(network, everywhere), s=12, c=color, norm=_scale(color))
    if not isinstance(color, str):
        figure.colorbar(points, ax=axes, shrink=0.7, label="flights a year")
    return figure, axes


def _scale(color: str | NDArray[np.floating[Any]]) -> str | None:
    return None if isinstance(color, str) else "log"


def _places(network: Network, stops: Sequence[int]) -> tuple[Any, Any]:
    where = list(stops)
    return network.longitude[where] * SPREAD, network.latitude[where]


def _name(axes: Any, network: Network, stops: Sequence[int]) -> None:
    for stop, x, y in zip(stops, *_places(network, stops), strict=True):
        axes.annotate(
            network.codes[stop],
            (x, y),
            (3, 3),
            textcoords="offset points",
            fontsize=8,
            clip_on=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write ``itineraries.png`` and ``bottlenecks.png``."""
    parser = new_parser("maps", __doc__)
    parser.add_argument("folder", type=pictures, help="the folder that the pictures go to")
    target = parser.parse_args(arguments).folder
    target.mkdir(parents=True, exist_ok=True)
    network = load()
    for draw in (itineraries, bottlenecks):
        file = target / f"{draw.__name__}.png"
        draw(network).savefig(file, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    run("python -m tropical.examples.maps", main)
