"""Modules to run: ``python -m tropical.examples.xor`` and so on; each answers ``--help``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tropical.extras import require
from tropical.measure.terminal import new_file, new_folder

DRAWING = "'tropical-blas[bench]'"  # has matplotlib


def new_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of an example's command line; the description is the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m tropical.examples.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def run_comparison(
    parser: argparse.ArgumentParser,
    column: str,
    compare: Callable[..., Sequence[Any]],
    draw: Callable[[Sequence[Any], int, str], None],
    arguments: Sequence[str] | None,
) -> None:
    """Run `halvings` or `precisions`: compare products of one side, print, and draw on request.

    A row of the table begins with its attribute `column`.
    """
    parser.add_argument("side", type=int, nargs="?", default=2048, help="rows of the matrices")
    parser.add_argument("--seconds", type=float, default=10.0, help="about how long to measure")
    parser.add_argument("--picture", type=picture, metavar="FILE", help="draw the table (SVG, PNG)")
    options = parser.parse_args(arguments)
    try:
        rows = compare(options.side, seconds=options.seconds)
    except ValueError as error:
        parser.error(str(error))
    print(f"{column}  time   largest error  mean error")
    for row in rows:
        first = f"{getattr(row, column):{len(column)}}"
        print(f"{first}  {row.time:.2f}  {row.largest:14.1e}  {row.mean:10.1e}")
    if options.picture:
        draw(rows, options.side, options.picture)


def picture(given: str) -> str:
    """Return the path of a picture, as argparse's ``type``: refused before work is done for it."""
    if new_file(given).suffix.lower() not in (".svg", ".png", ".pdf"):
        raise argparse.ArgumentTypeError(f"expected .svg, .png or .pdf at the end, got {given}")
    require("matplotlib.figure", DRAWING)
    return given


def pictures(given: str) -> Path:
    """Return the path of a folder for pictures, as `picture` does."""
    folder = new_folder(given)
    require("matplotlib.figure", DRAWING)
    return folder


def new_figure(width: float, height: float, dpi: int = 110) -> Any:
    """Return matplotlib's figure of so many inches, which pyplot does not know."""
    module = require("matplotlib.figure", DRAWING)
    return module.Figure(figsize=(width, height), dpi=dpi, layout="constrained")


def save(figure: Any, path: str) -> None:
    """Write a figure to a file: SVG without its date, so that the same picture is the same file."""
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)
