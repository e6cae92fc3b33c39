"""A shuttle timetable on the busiest US routes of 2008: the shortest period, and its cause.

``python -m tropical.examples.timetable`` prints both; with a file name as argument, the command
also draws the picture of the manual. Times are in minutes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.examples import new_figure, new_parser, picture
from tropical.examples.airports import load
from tropical.examples.flights import print_lines
from tropical.graph import closure
from tropical.measure.terminal import run
from tropical.spectral import cyclicity, maximum_cycle_mean, schedule, transient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tropical.examples.airports import Network

LINES = 60  # pairs of airports with the most flights
HOURLY = 60
SPEED_KMH, WIND_KMH = 800, 60  # the wind blows to the east
TAXI = 30  # from gate to air, and from air to gate
TURN = 30  # from arrival to the same aircraft's way back
TRANSFER = 45  # from arrival to the departure that passengers change to
STORM = 120


@dataclass(frozen=True)
class Shuttles:
    """Flights that depart once in every round, there and back.

    Attributes
    ----------
    flights : tuple of (int, int)
        Numbers of origin and destination.
    minutes : tuple of int
        Minutes from gate to gate.
    rounds : tuple of int
        The number of aircraft of a flight: an aircraft departs again after so many rounds.
    """

    flights: tuple[tuple[int, int], ...]
    minutes: tuple[int, ...]
    rounds: tuple[int, ...]

    def departures(self) -> NDArray[np.intp]:
        """Return the position in the state of each flight's departure, (flights,)."""
        return np.cumsum([0, *self.rounds[:-1]])

    def system(self) -> NDArray[np.float64]:
        """Return the matrix A of ``x(k + 1) = A (x) x(k)`` over maxplus.

        A flight of r rounds has r elements of the state: its departures in the last r rounds. Each
        departure waits for the aircraft that comes back, and for passengers of other flights.
        """
        n = sum(self.rounds)
        start = self.departures()
        a = np.full((n, n), -np.inf)
        for i, (origin, end) in enumerate(self.flights):
            ages = np.arange(start[i], start[i] + self.rounds[i])
            a[ages[1:], ages[:-1]] = 0
            for j, (departure, onward) in enumerate(self.flights):
                if departure == end:
                    stay = TURN if onward == origin else TRANSFER
                    a[start[j], ages[-1]] = self.minutes[i] + stay
        return a

    def critical(self) -> list[int]:
        """Return the flights of a critical circuit in the order in which they are flown."""
        number = {int(state): i for i, state in enumerate(self.departures())}
        cycle = maximum_cycle_mean(self.system()).cycle
        # An edge leads from a departure to an earlier one, so the circuit runs back in time.
        return [number[state] for state in reversed(cycle) if state in number]


def shuttles(network: Network, lines: int = LINES, period: int = HOURLY) -> Shuttles:
    """Return the flights on the busiest lines that are connected with each other.

    Each flight has enough aircraft for departures on time if a round takes `period`.
    """
    both = np.triu(network.flights + network.flights.T)
    busiest = np.argsort(-both, axis=None, kind="stable")[:lines]
    there = [divmod(int(pair), len(both)) for pair in busiest]
    graph = np.zeros(both.shape, np.bool_)
    graph[tuple(zip(*there, strict=True))] = True
    reached = closure(graph | graph.T, "orand")
    main = reached[reached.sum(axis=1).argmax()]
    flights = tuple((i, j) for i, j in [*there, *((j, i) for i, j in there)] if main[i])
    minutes = tuple(gate_to_gate(network, i, j) for i, j in flights)
    rounds = tuple(math.ceil((minute + TURN) / period) for minute in minutes)
    return Shuttles(flights, minutes, rounds)


def gate_to_gate(network: Network, origin: int, end: int) -> int:
    """Return the minutes of a flight; the wind helps flights to the east."""
    wind = WIND_KMH if network.longitude[end] > network.longitude[origin] else -WIND_KMH
    kilometers = float(network.meters[origin, end]) / 1000
    return math.ceil(TAXI + 60 * kilometers / (SPEED_KMH + wind))


def with_aircraft(plan: Shuttles, flight: int) -> Shuttles:
    """Return the plan with one more aircraft on a flight."""
    rounds = list(plan.rounds)
    rounds[flight] += 1
    return replace(plan, rounds=tuple(rounds))


def quickened(plan: Shuttles, period: float = HOURLY) -> list[tuple[int, Shuttles]]:
    """Return the flights that get another aircraft, each with its plan, until `period` is kept.

    Only an aircraft on a critical circuit helps; each step adds the aircraft that helps most.

    Raises
    ------
    ValueError
        If no number of aircraft is enough.
    """
    if period <= 0:
        raise ValueError(f"period: expected more than 0, got {period}")
    steps: list[tuple[int, Shuttles]] = []
    while maximum_cycle_mean(plan.system()).mean > period:
        choices = [(flight, with_aircraft(plan, flight)) for flight in plan.critical()]
        steps.append(min(choices, key=lambda choice: maximum_cycle_mean(choice[1].system()).mean))
        plan = steps[-1][1]
    return steps


def timetable(a: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    """Return the earliest departures from 0 on that repeat every `period`, (n,).

    The least x >= 0 with ``a (x) x <= period + x``: row sums of the star of ``a - period``.

    Raises
    ------
    DivergenceError
        If the period is shorter than the greatest cycle mean.
    """
    earliest: NDArray[np.float64] = closure(a - period, "maxplus").max(axis=1)
    return earliest


def delays(
    plan: Shuttles, period: float, late: NDArray[np.float64], rounds: int
) -> NDArray[np.float64]:
    """Return the delay of each departure, (rounds + 1, flights).

    The flights of round 0 are `late`, (flights,); nothing departs before its time.
    """
    a, departures = plan.system(), plan.departures()
    planned = timetable(a, period) + period * np.arange(rounds + 1)[:, None]
    first = planned[0].copy()
    first[departures] += late
    x = schedule(a, first, rounds, inputs=planned[1:])
    lateness: NDArray[np.float64] = (x - planned)[:, departures]
    return lateness


def storm(network: Network, plan: Shuttles, code: str = "ORD") -> NDArray[np.float64]:
    """Return delays of `STORM` minutes for the departures from one airport, (flights,)."""
    origins = np.array([origin for origin, _ in plan.flights])
    return np.where(origins == network.index(code), float(STORM), 0.0)


def report(network: Network) -> Iterator[str]:
    """Yield the lines of all questions and answers."""
    plan = shuttles(network)
    a = plan.system()
    airports = {airport for flight in plan.flights for airport in flight}
    yield (
        f"{len(plan.flights) // 2} lines between {len(airports)} airports, {len(a)} aircraft, "
        "planned for one flight an hour"
    )
    mean = maximum_cycle_mean(a)
    yield f"\nA round takes {mean.exact} = {mean.mean:.2f} minutes, because of"
    yield from circuit_lines(network, plan)
    yield f"  from round {transient(a)} on everything repeats itself every {cyclicity(a)} rounds"
    yield "\nOne more aircraft at a time, where it helps most"
    for flight, quicker in quickened(plan):
        mean = maximum_cycle_mean(quicker.system())
        label = " - ".join(network.codes[airport] for airport in quicker.flights[flight])
        yield f"  {label}: a round takes {mean.mean:.2f} minutes"
    yield f"\nAfter {STORM} minutes' delay of all that departs from ORD in one round"
    for period in periods(plan):
        late = delays(plan, period, storm(network, plan), 48)
        worst, total = (late > 0).sum(axis=1).max(), late[1:].sum()
        last = np.flatnonzero((late > 0).any(axis=1))[-1] + 1
        after = "still late after 48 rounds" if last == 49 else f"on time after {last} rounds"
        yield (
            f"  a round of {period} minutes: up to {worst} flights late, {total:,.0f} minutes "
            f"together, {after}"
        )


def circuit_lines(network: Network, plan: Shuttles) -> Iterator[str]:
    """Yield a line for each flight of a critical circuit."""
    circuit = plan.critical()
    for flight, following in pairwise([*circuit, circuit[0]]):
        origin, end = plan.flights[flight]
        back = plan.flights[following] == (end, origin)
        stay, what = (TURN, "turn round") if back else (TRANSFER, "change")
        yield (
            f"    {network.label(origin):<24} -> {network.label(end):<24}"
            f"{plan.minutes[flight]:>4} + {stay} to {what}, {plan.rounds[flight]} aircraft"
        )


def periods(plan: Shuttles) -> list[int]:
    """Return the shortest period in whole minutes, and two longer ones."""
    least = math.ceil(maximum_cycle_mean(plan.system()).mean)
    return [least, least + 3, least + 8]


def draw(network: Network, path: str) -> None:
    """Draw the lines with the critical circuit, and the delays after a storm.

    Raises
    ------
    NotInstalledError
        If matplotlib is missing.
    """
    figure = new_figure(10, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    plan = shuttles(network)
    _map(left, network, plan)
    for period in periods(plan):
        hours = delays(plan, period, storm(network, plan), 36).sum(axis=1) / 60
        (line,) = right.plot(hours, marker=".")
        right.annotate(f"every {period} minutes", (18, hours[18] + 8), color=line.get_color())
    right.set(xlabel="rounds after the storm", ylabel="hours of delay, all flights")
    right.set_ylim(0, 1.1 * right.get_ylim()[1])
    right.grid(alpha=0.3)
    figure.savefig(path)


def _map(axes: Any, network: Network, plan: Shuttles) -> None:
    east, north = network.longitude, network.latitude
    axes.plot(east, north, ".", color="0.8", markersize=3)
    for origin, end in plan.flights:
        axes.plot(east[[origin, end]], north[[origin, end]], color="0.6", linewidth=0.6)
    for flight in plan.critical():
        origin, end = plan.flights[flight]
        axes.annotate(
            "",
            (east[end], north[end]),
            (east[origin], north[origin]),
            arrowprops={"arrowstyle": "-|>", "color": "tab:red", "linewidth": 1.8},
        )
    for airport in {airport for flight in plan.flights for airport in flight}:
        axes.annotate(network.codes[airport], (east[airport], north[airport]), fontsize=6)
    axes.set(xlim=(-126, -66), ylim=(24, 50), xticks=[], yticks=[], aspect=1.25)
    axes.set_title("Busiest lines, and the circuit that sets the pace", fontsize=10)


def _main() -> None:
    parser = new_parser("timetable", __doc__)
    parser.add_argument(
        "picture", type=picture, nargs="?", metavar="FILE", help="draw the manual's picture"
    )
    options = parser.parse_args()
    print_lines(report(load()))
    if options.picture:
        draw(load(), options.picture)


if __name__ == "__main__":
    run("python -m tropical.examples.timetable", _main)
