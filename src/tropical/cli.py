"""The command line, ``python -m tropical``: the flight network, paths, configuration, bench."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import tropical
from tropical import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RATE_SIZE = 512


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process unless given.

    Returns
    -------
    int
        The exit status. Wrong arguments exit with 2 and a message that names them.
    """
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
        _core.set_settings({})  # what a file says, or why it cannot be read, is no matter now
    try:
        tropical.config.config()
    except (ValueError, RuntimeError) as error:  # TROPICAL_ISA and the like
        parser.error(str(error))

    if arguments.command == "table":
        from tropical.bench import table

        return table.main(rest)
    if arguments.command == "bench":
        from tropical.bench import side_by_side

        return side_by_side.main(rest)
    if arguments.command == "tune":
        from tropical.bench import tune

        return tune.main(rest)
    if arguments.command == "paths":
        from tropical.graph import command

        return command.main(rest)
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
    """Yield a line per semiring: the rate of one thread and its share of the machine's ceiling.

    The ceiling is the same two operations in registers alone, timed in turns with the product.
    """
    from tropical.bench import contenders
    from tropical.bench.timing import Budget, interleave

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
