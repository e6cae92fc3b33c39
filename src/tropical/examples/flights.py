"""Itineraries in the US flight network of 2008: a semiring for each question.

``python -m tropical.examples.flights`` answers all questions; ``python -m tropical flights SEA
MIA`` answers those about one pair of airports. `airports` reads the network.
"""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

import tropical
from tropical.examples import new_parser
from tropical.examples.airports import EARTH_RADIUS_KM, Network, load
from tropical.graph import path, shortest_paths, widest_paths
from tropical.measure.terminal import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

# The cost of a leg in addition to its meters. SHORTEST adds less than 1 m for 304 legs, the most of
# an itinerary: of the shortest itineraries, the one with the fewest legs wins. FEWEST is more than
# the meters of any itinerary: of those with the fewest legs, the shortest wins. The costs are
# multiples of 2**-10 m below 2**43 m, so float64 (53 bits) holds every sum exactly, and no route
# depends on rounding. float32 (24 bits) would round beyond 16 km.
SHORTEST = 2.0**-10
FEWEST = 2.0**33

# A direct flight, the longest shortest itinerary, and one of those with the most legs.
PAIRS = (("SEA", "MIA"), ("ADK", "STX"), ("BIS", "CDV"))


def leg_costs(network: Network, per_leg: float, least: int = 1) -> NDArray[np.float64]:
    """Return the cost of each leg: meters plus `per_leg`; +inf below `least` flights a year."""
    return np.where(network.flights >= least, network.meters + per_leg, np.inf)


def cheapest(legs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the cost of a cheapest itinerary for every pair, and the last stop before its end."""
    return shortest_paths(legs, "FW", return_predecessors=True)


def passing(predecessor: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return for each airport how many itineraries pass through it, (n,); ends do not count."""
    count = np.zeros(len(predecessor), np.intp)
    origin, end = np.nonzero(predecessor >= 0)
    while end.size:
        stop = predecessor[origin, end]
        on_the_way = stop != origin
        origin, end = origin[on_the_way], stop[on_the_way].astype(np.intp)
        count += np.bincount(end, minlength=len(count))
    return count


def reachable(flights: NDArray[np.int32]) -> Iterator[NDArray[np.bool_]]:
    """Yield which pairs at most h = 1, 2, ... legs connect, (n, n) bool, while h adds pairs."""
    step = (flights > 0) | np.eye(len(flights), dtype=np.bool_)
    reached, wider = np.zeros_like(step), step
    while not np.array_equal(reached, wider):
        reached = wider
        yield reached
        wider = tropical.gemm(reached, step, semiring="orand")


def answer(network: Network, origin: int, destination: int) -> Iterator[str]:
    """Yield the lines that answer for one pair: shortest, widest and fewest legs."""
    yield f"{network.label(origin)} to {network.label(destination)}"
    width = int(widest_paths(network.flights)[origin, destination])
    if width == 0:
        yield f"  no itinerary: {why_unreachable(network, origin, destination)}"
        return
    for question, stops in itineraries(network, origin, destination, width):
        yield f"\n{question}"
        yield from itinerary_lines(network, stops)


def itineraries(
    network: Network, origin: int, destination: int, width: int
) -> Iterator[tuple[str, list[int]]]:
    """Yield questions about one pair, and the stops that answer; `width` is that of the widest."""
    for question, legs in (
        ("Shortest", leg_costs(network, SHORTEST)),
        (
            f"Widest ({_count(width, 'flight')} or more on every leg), of those the shortest",
            leg_costs(network, SHORTEST, width),
        ),
        ("Fewest legs, of those the shortest", leg_costs(network, FEWEST)),
    ):
        _, before = cheapest(legs)
        yield question, path(before, origin, destination)


def why_unreachable(network: Network, origin: int, destination: int) -> str:
    """Return why no itinerary exists between two airports."""
    if not network.flights[origin].any():
        return f"no flight left {network.codes[origin]} in 2008"
    if not network.flights[:, destination].any():
        return f"no flight reached {network.codes[destination]} in 2008"
    return "no sequence of routes of 2008 connects them"


def itinerary_lines(network: Network, stops: Sequence[int]) -> Iterator[str]:
    """Yield a line for the whole itinerary and one for each of its legs."""
    legs = list(pairwise(stops))
    length = sum(network.meters[leg] for leg in legs) / 1000
    least = _count(min(network.flights[leg] for leg in legs), "flight")
    route = " - ".join(network.codes[stop] for stop in stops)
    yield f"  {route}: {length:,.0f} km, {_count(len(legs), 'leg')}, {least} or more"
    wide = max(28, *(len(network.label(stop)) for stop in stops))
    for start, end in legs:
        yield (
            f"    {network.label(start):<{wide}} -> {network.label(end):<{wide}}"
            f"{network.meters[start, end] / 1000:>7,.0f} km{network.flights[start, end]:>8,} a year"
        )


def report(network: Network) -> Iterator[str]:
    """Yield the lines of all questions and answers."""
    codes, flights = network.codes, network.flights
    n = len(codes)
    pairs = [(codes.index(origin), codes.index(end)) for origin, end in PAIRS]
    yield (
        f"US flights of 2008: {n} airports, {np.count_nonzero(flights):,} routes, "
        f"{flights.sum():,} flights"
    )
    yield f"(a leg is a great circle on a sphere of radius {EARTH_RADIUS_KM} km, to the meter)"

    start = perf_counter()
    legs = leg_costs(network, SHORTEST)
    _, before = cheapest(legs)
    found = np.count_nonzero(before >= 0)
    yield f"\nShortest itineraries, with the flights of each leg: (min, +) float64 {_since(start)}"
    for pair in pairs:
        yield from itinerary_lines(network, path(before, *pair))

    count = passing(before)
    yield f"\nAirports that most of these {found:,} itineraries pass through"
    for place in np.argsort(-count, kind="stable")[:10]:
        yield f"  {network.label(place):<28}{count[place]:>8,}{count[place] / found:>8.1%}"

    start = perf_counter()
    width = widest_paths(flights)
    yield f"\nWidest itineraries, most flights on the weakest leg: (max, min) int32 {_since(start)}"
    for pair in pairs:
        _, on_wide_legs = cheapest(leg_costs(network, SHORTEST, int(width[pair])))
        yield from itinerary_lines(network, path(on_wide_legs, *pair))

    start = perf_counter()
    reached = list(reachable(flights))
    yield f"\nOrdered pairs that at most h legs connect: (or, and) bool {_since(start)}"
    for h, where in enumerate(reached, 1):
        others = np.count_nonzero(where) - n
        yield f"  h = {h}{others:>10,}{others / (n * (n - 1)):>9.2%}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _since(start: float) -> str:
    return f"[{1000 * (perf_counter() - start):.0f} ms]"


def print_lines(lines: Iterable[str]) -> None:
    """Print lines as they come."""
    for line in lines:
        print(line, flush=True)


def _main() -> None:
    new_parser("flights", __doc__).parse_args()
    print_lines(report(load()))


if __name__ == "__main__":
    run("python -m tropical.examples.flights", _main)
