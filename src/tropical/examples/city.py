"""The center of Helsinki for walkers: how far a walk gets, and what a closed street changes.

``python -m tropical.examples.city`` prints a table of walks between addresses, what is near them,
the busiest street, and what changes if that street is closed. ``--plots FOLDER`` draws the maps of
the manual (needs matplotlib, extra ``bench``).

© OpenStreetMap contributors, Open Database License 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import extras
from tropical.examples import new_figure, new_parser, pictures
from tropical.examples.flights import print_lines
from tropical.examples.streets import NOTICE, Streets, load
from tropical.graph import accessibility, closeness, edge_betweenness, nearest_facilities
from tropical.measure.terminal import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tropical.graph import Factor

# Longitude and latitude of some addresses.
ADDRESSES = {
    "Railway station": (24.9414, 60.1719),
    "Kiasma": (24.9368, 60.1719),
    "Cathedral": (24.9520, 60.1704),
    "Esplanadi": (24.9475, 60.1675),
    "Market Square": (24.9525, 60.1676),
    "Erottaja": (24.9440, 60.1660),
    "Hakaniemi": (24.9508, 60.1788),
}
SHOPS = ("Railway station", "Market Square", "Hakaniemi")  # of a service that has three
RADII = (2.0, 5.0, 10.0)  # minutes
ISOCHRONES = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0)
SAMPLE = 600  # corners at which walks begin, to find the busiest street
ASIDE = 15.0  # meters from a closed street to the ways beside it, which are closed, too


def corners(streets: Streets) -> NDArray[np.intp]:
    """Return the corners nearest to the addresses."""
    return np.array([streets.nearest(*place) for place in ADDRESSES.values()])


def busiest(streets: Streets) -> tuple[str, NDArray[np.float64]]:
    """Return the named street that most shortest walks pass, and the share at each street."""
    sample = np.random.default_rng(0).choice(len(streets.longitude), SAMPLE, replace=False)
    share = edge_betweenness(streets.edges(), sample, directed=False)
    names, number = np.unique(streets.names, return_inverse=True)
    minutes = np.bincount(number, streets.minutes)
    passing = np.bincount(number, share * streets.minutes)  # walkers in the street at a time
    passing[(names == "") | (minutes < 3)] = 0
    return str(names[passing.argmax()]), share


def close(factor: Factor, streets: Streets, name: str) -> None:
    """Close a street, with the ways beside it."""
    first, last = streets.ends[streets.along(name, ASIDE)].T
    factor.update_edges(first, last, np.inf)


def detours(streets: Streets, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the minutes from each corner to the railway station, and the detour if it is closed.

    The detour is +inf where no way is left.
    """
    station = corners(streets)[0]
    factor = streets.factor()
    before = factor.lengths(station)
    close(factor, streets, name)
    return before, factor.lengths(station) - before


def report(streets: Streets) -> Iterator[str]:
    """Yield the lines of all questions and answers."""
    factor, places = streets.factor(), corners(streets)
    yield (
        f"The center of Helsinki: {factor.n:,} corners, {len(streets.minutes):,} streets and paths "
        f"({NOTICE})"
    )
    yield "\nMinutes of a walk"
    yield " " * 18 + "".join(f"{name.split()[0]:>12}" for name in ADDRESSES)
    for name, row in zip(ADDRESSES, factor.lengths(places, places), strict=True):
        yield f"  {name:<16}" + "".join(f"{minutes:>12.1f}" for minutes in row)

    yield "\nCorners within " + ", ".join(f"{radius:g}" for radius in RADII) + " minutes"
    near = accessibility(factor, RADII)
    for name, place in zip(ADDRESSES, places, strict=True):
        yield f"  {name:<16}" + "".join(f"{count:>8,.0f}" for count in near[place])
    yield "  all corners, mean" + "".join(f"{count:>8,.0f}" for count in near.mean(axis=0))[2:]
    best = int(closeness(factor).argmax())
    yield f"The corner with the shortest walks to all others is in {_street(streets, best)}"

    yield f"\nA service in {len(SHOPS)} places"
    shops = [places[list(ADDRESSES).index(name)] for name in SHOPS]
    minutes, nearest = nearest_facilities(factor, shops)
    for k, name in enumerate(SHOPS):
        area = nearest == k
        yield (
            f"  {name:<16}nearest for {np.count_nonzero(area):,} corners, "
            f"{minutes[area].mean():.1f} minutes away on average"
        )

    name, _ = busiest(streets)
    _, detour = detours(streets, name)
    longer, cut = (detour > 0.01) & (detour < np.inf), detour == np.inf
    yield f"\nMost shortest walks pass {name}. If it is closed, the way to the railway station"
    yield (
        f"  is longer from {np.count_nonzero(longer):,} corners, by {detour[longer].mean():.1f} "
        f"minutes on average and {detour[longer].max():.1f} at most"
    )
    yield f"  is cut off from {np.count_nonzero(cut):,} corners, those in the street among them"


def _street(streets: Streets, corner: int) -> str:
    """Return the name of a street at a corner, the nearest one that has a name."""
    east, north = (streets.places - streets.places[corner]).T
    far = east**2 + north**2
    there = np.array([bool(name) for name in streets.names])
    return streets.names[int(np.where(there, far[streets.ends].min(axis=1), np.inf).argmin())]


def isochrones(streets: Streets) -> Any:
    """Draw how far a walk from the railway station gets."""
    station = corners(streets)[0]
    minutes = streets.factor().lengths(station)
    figure, axes = _figure("Minutes of a walk from the railway station")
    levels = np.array([0.0, *ISOCHRONES])
    lines = _map(axes, streets, minutes[streets.ends].max(axis=1), levels)
    axes.plot(*streets.places[station], "k*", markersize=11)
    figure.colorbar(lines, ax=axes, shrink=0.8, extend="max", label="minutes")
    return figure


def access(streets: Streets) -> Any:
    """Draw how many corners are within five minutes of each street."""
    near = accessibility(streets.factor(), RADII[1])
    figure, axes = _figure(f"Corners within {RADII[1]:g} minutes")
    lines = _map(axes, streets, near[streets.ends].mean(axis=1), np.linspace(0, near.max(), 9))
    figure.colorbar(lines, ax=axes, shrink=0.8, format="%.0f")
    return figure


def closure(streets: Streets) -> Any:
    """Draw the detours to the railway station while the busiest street is closed."""
    name, _ = busiest(streets)
    _, detour = detours(streets, name)
    figure, axes = _figure(f"Minutes of detour to the railway station if {name} is closed")
    value = detour[streets.ends].max(axis=1)
    value[np.isinf(value)] = np.nan
    lines = _map(axes, streets, value, np.array([0.0, 0.05, 0.5, 1, 2, 3, 4, 6]))
    here = streets.places[streets.ends[streets.along(name, ASIDE)]]
    axes.plot(here[:, :, 0].T, here[:, :, 1].T, color="tab:red", linewidth=2)
    figure.colorbar(lines, ax=axes, shrink=0.8, label="minutes")
    return figure


def _figure(title: str) -> tuple[Any, Any]:
    figure = new_figure(5, 6, dpi=80)
    axes = figure.add_subplot(aspect=1)
    axes.set_title(title, fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel(NOTICE, fontsize=7)
    return figure, axes


def _map(
    axes: Any, streets: Streets, values: NDArray[np.float64], levels: NDArray[np.float64]
) -> Any:
    """Draw each street in the color of its value's level."""
    collections = extras.require("matplotlib.collections", "'tropical-blas[bench]'")
    colors = extras.require("matplotlib.colors", "'tropical-blas[bench]'")
    shades = extras.require("matplotlib", "'tropical-blas[bench]'").colormaps["viridis_r"]
    lines = collections.LineCollection(
        streets.places[streets.ends],
        array=values,
        cmap=shades.resampled(len(levels)),
        norm=colors.BoundaryNorm(levels, len(levels), extend="max"),
        linewidths=1.1,
    )
    axes.add_collection(lines)
    axes.autoscale_view()
    return lines


PICTURES = {"city-isochrones": isochrones, "city-access": access, "city-closed": closure}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the answers, and draw the maps into a folder if there is one."""
    parser = new_parser("city", __doc__)
    parser.add_argument(
        "--plots", type=pictures, metavar="FOLDER", help="draw the maps into a folder"
    )
    plots = parser.parse_args(arguments).plots
    streets = load()
    print_lines(report(streets))
    if plots is not None:
        plots.mkdir(parents=True, exist_ok=True)
        for name, draw in PICTURES.items():
            draw(streets).savefig(plots / f"{name}.png", pil_kwargs={"optimize": True})


if __name__ == "__main__":
    run("python -m tropical.examples.city", main)
