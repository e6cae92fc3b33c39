"""The command line, ``python -m tropical``: a first answer, and commands for everything else.

`welcome` is what a newcomer sees, `doctor` checks the installation, `rates` measures each semiring.
"""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING

import tropical
from tropical import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

# The commands that parse their own arguments, imported when they run.
MODULES = {
    "paths": "tropical.graph.command",
    "table": "tropical.bench.table",
    "bench": "tropical.bench.side_by_side",
    "tune": "tropical.measure.tune",
}
COMMANDS = {
    "flights": "the best itineraries between two airports, or between many",
    "paths": "the best paths in a graph of your own (paths --help)",
    "doctor": "whether this installation is sound, and how fast this machine is",
    "info": "compiler, instruction sets, caches, threads",
    "rates": "the rate of each semiring, and its share of the ceiling",
    "table": "every measured figure of the manual (table --help)",
    "bench": "other packages side by side (bench --help)",
    "tune": "measure the best block sizes (tune --help)",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status; wrong arguments exit with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m tropical",
        description="Matrix products over semirings. Without a command: a question about the "
        "flights within the United States in 2008, its answer, and what to try next.",
    )
    parser.add_argument("--version", action="version", version=f"tropical {tropical.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    parsers = {
        name: commands.add_parser(name, help=text, add_help=name not in MODULES)
        for name, text in COMMANDS.items()
    }
    flights = parsers["flights"]
    flights.description = "Without airports: more questions and answers about all flights of 2008."
    flights.add_argument("origin", nargs="?", help="IATA code, such as SEA")
    flights.add_argument("destination", nargs="?", help="IATA code, such as MIA")
    arguments, rest = parser.parse_known_args(argv)
    if rest and arguments.command not in MODULES:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if arguments.command == "doctor":  # which also reports a wrong environment
        from tropical.cli import doctor

        return doctor.main()
    if arguments.command == "tune":
        _core.set_settings({})  # tune ignores the settings of the file
    try:
        tropical.config.config()
    except (ValueError, RuntimeError) as error:  # of an environment variable or a tuning file
        parser.error(str(error))

    if arguments.command in MODULES:
        return importlib.import_module(MODULES[arguments.command]).main(rest)
    if arguments.command == "info":
        tropical.show_config()
    elif arguments.command == "flights":
        _flights(flights, arguments.origin, arguments.destination)
    else:
        from tropical.examples.flights import print_lines

        module = importlib.import_module(f"tropical.cli.{arguments.command or 'welcome'}")
        print_lines(module.lines())
    return 0


def _flights(parser: argparse.ArgumentParser, origin: str | None, end: str | None) -> None:
    from tropical.examples import airports
    from tropical.examples.flights import answer, print_lines, report

    network = airports.load()
    if origin is None:
        print_lines(report(network))
        return
    if end is None:
        parser.error(f"destination: expected an airport beside {origin}, got none")
    try:
        here, there = network.index(origin), network.index(end)
    except airports.UnknownAirportError as error:
        parser.error(str(error))
    if here == there:
        parser.error(f"origin and destination are both {network.label(here)}")
    print_lines(answer(network, here, there))
