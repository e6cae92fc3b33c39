"""`python -m tropical`: a question, its answer, how the answer came about, and what to try next."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from tropical.examples import airports
from tropical.examples.flights import SHORTEST, cheapest, itinerary_lines, leg_costs, reachable
from tropical.graph import path, widest_paths

PAIR = ("ADK", "STX")  # of all shortest ways, the longest
NEXT = {
    "flights SEA MIA": "the same questions for any two airports",
    "flights": "more questions and longer answers",
    "paths FILE --from A --to B": "a shortest path in your own graph",
    "doctor": "is this installation sound and fast?",
    "rates": "how fast is each semiring here?",
    "--help": "all commands",
}


def lines() -> Iterator[str]:
    """Yield the lines."""
    network = airports.load()
    n, flights = len(network.codes), network.flights
    here, there = (network.index(code) for code in PAIR)
    yield (
        f"tropical read the flights within the United States in 2008: "
        f"{n} airports, {np.count_nonzero(flights):,} routes."
    )
    yield f"\nWhich way from {network.places[here]} to {network.places[there]} is the shortest?"
    start = perf_counter()
    _, before = cheapest(leg_costs(network, SHORTEST))
    milliseconds = 1000 * (perf_counter() - start)
    yield from itinerary_lines(network, path(before, here, there))
    yield (
        f"\ntropical found this way and those of all other pairs of airports, "
        f"{np.count_nonzero(before >= 0):,} ways, in {milliseconds:.0f} ms."
    )

    yield """
How? A table has the length of each direct flight, and infinity where there is no flight.
Multiply the table by itself as a matrix, but add where you would multiply, and take the
minimum where you would add: each element becomes the length of the shortest way of two
flights. More such products give the ways of more flights.

Other pairs of operations, called semirings, answer other questions about the same flights:"""
    width = int(widest_paths(flights)[here, there])
    *_, third = (step for step, _ in zip(reachable(flights), range(3), strict=False))
    share = (np.count_nonzero(third) - n) / (n * (n - 1))
    yield "  (min, +)    the shortest way: see above"
    yield f"  (max, min)  the way with most flights on each leg: {width} or more a year"
    yield f"  (or, and)   which pairs of airports at most three flights connect: {share:.0%} of all"

    yield "\nTry next:"
    for arguments, text in NEXT.items():
        yield f"  {f'python -m tropical {arguments}':<46}  {text}"
