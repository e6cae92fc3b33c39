"""The command line, ``python -m tropical``: the flight network, paths, configuration, bench."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING

import tropical
from tropical import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RATE_SIZE = 512
# The commands that parse their own arguments, imported when they run.
MODULES = {
    "paths": "tropical.graph.command",
    "table": "tropical.bench.table",
    "bench": "tropical.bench.side_by_side",
    "tune": "tropical.measure.tune",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status; wrong arguments exit with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m tropical",
        description="Matrix products over semirings. Without a command: all-pairs itineraries in "
        "the US flight network of 2008, then the rate of each semiring on this machine.",
    )
    parser.add_argument("--version", action="version", version=f"tropical {tropical.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    flights = commands.add_parser("flights", help="the best itineraries between two airports")
    flights.add_argument("origin", help="IATA code, such as SEA")
    flights.add_argument("destination", help="IATA code, such as MIA")
    commands.add_parser("paths", help="best paths in a file's graph (paths --help)", add_help=False)
    commands.add_parser("info", help="compiler, instruction sets, caches, threads")
    commands.add_parser("table", help="the benchmark table (table --help)", add_help=False)
    commands.add_parser("bench", help="rivals side by side (bench --help)", add_help=False)
    commands.add_parser("tune", help="measure the best block sizes (tune --help)", add_help=False)
    arguments, rest = parser.parse_known_args(argv)
    if arguments.command == "tune":
        _core.set_settings({})  # tune ignores the settings of the file
    try:
        tropical.config.config()
    except (ValueError, RuntimeError) as error:  # of an environment variable or a tuning file
        parser.error(str(error))

    if arguments.command in MODULES:
        status: int = importlib.import_module(MODULES[arguments.command]).main(rest)
        return status
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if arguments.command == "info":
        tropical.show_config()
    elif arguments.command == "flights":
        _pair(flights, arguments.origin, arguments.destination)
    else:
        _everything()
    return 0


def _pair(parser: argparse.ArgumentParser, origin: str, destination: str) -> None:
    from tropical.examples import airports
    from tropical.examples.flights import answer, print_lines

    network = airports.load()
    try:
        start, end = network.index(origin), network.index(destination)
    except airports.UnknownAirportError as error:
        parser.error(str(error))
    if start == end:
        parser.error(f"origin and destination are both {network.label(start)}")
    print_lines(answer(network, start, end))


def _everything() -> None:
    from tropical.examples import airports
    from tropical.examples.flights import print_lines, report

    print_lines(report(airports.load()))
    print_lines(rates())


def rates() -> Iterator[str]:
    """Yield a line for each semiring: the rate of one thread and its share of the ceiling.

    The ceiling is the rate of the same operations in registers, timed in turns with the product.
    """
    from tropical.measure import contenders
    from tropical.measure.timing import Budget, interleave

    n = RATE_SIZE
    yield f"\nRates of one thread at {n} x {n} x {n}, two operations a product (G operations/s)"
    yield f"  {'':<24}{'dtype':<10}{'rate':>8}{'ceiling':>10}{'share':>8}"
    for semiring in tropical.semirings.ALL:
        dtype = "float32" if "float32" in semiring.dtypes else "bool"
        ours = contenders.ours(*contenders.operands(n, n, n, dtype), semiring.name)
        ceiling = contenders.ceiling(semiring.name, dtype)
        times = interleave([ours, ceiling], budget=Budget(sample=2e-3, seconds=0.05, rounds=15))
        yield (
            f"  {semiring!s:<24}{dtype:<10}{times.rate(ours.name) / 1e9:>8.1f}"
            f"{times.rate(ceiling.name) / 1e9:>10.1f}"
            f"{times.ratio(ours.name, ceiling.name).median:>8.0%}"
        )
