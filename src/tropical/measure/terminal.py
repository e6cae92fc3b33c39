"""Commands on a terminal: types of arguments, errors, and tables by rich."""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tropical import extras
from tropical.measure.contenders import AbsentError, require

Number = TypeVar("Number", int, float)
_STOPPING = ("strict", "surrogateescape")  # at a character that the encoding lacks


def run(name: str, main: Callable[[], int | None]) -> None:
    """Run a command, and exit with its status; an error that is no fault of ours is one line.

    A broken pipe gets no line: its reader has seen enough. Characters that the encoding of the
    output lacks become escapes.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in _STOPPING:
        sys.stdout.reconfigure(errors="backslashreplace")
    status: int | None = 1
    try:
        status = main()
        print(end="", flush=True)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            print(f"{name}: error: {error}", file=sys.stderr)
        # What is still buffered cannot be written when Python exits either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        status = 130
    except MemoryError as error:
        print(f"{name}: error: out of memory: {error}", file=sys.stderr)
    except extras.NotInstalledError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
    sys.exit(status)


def refusing(name: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorate a command's main: print errors of packages, files and values, and return 2.

    A broken pipe is no error: its reader has seen enough.
    """

    def decorate(main: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(main)
        def wrapped(argv: Sequence[str] | None = None) -> int:
            try:
                return main(argv)
            except BrokenPipeError:
                raise
            except (AbsentError, OSError, ValueError) as error:
                print(f"{name}: error: {error}", file=sys.stderr)
                return 2

        return wrapped

    return decorate


def number(
    kind: Callable[[str], Number], expected: str, holds: Callable[[Number], bool]
) -> Callable[[str], Number]:
    """Return the argparse type of numbers for which `holds`; its refusal names what is expected."""

    def parse(text: str) -> Number:
        with contextlib.suppress(ValueError):
            if holds(value := kind(text)):
                return value
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text}")

    return parse


POSITIVE = number(float, "a positive number", lambda x: 0 < x < math.inf)
ONE_OR_MORE = number(float, "a number of at least 1", lambda x: 1 <= x < math.inf)
NOT_NEGATIVE = number(float, "a number of at least 0", lambda x: 0 <= x < math.inf)


def integer(least: int) -> Callable[[str], int]:
    """Return the argparse type of integers from `least` on."""
    return number(int, f"an integer of at least {least}", lambda x: x >= least)


def new_file(text: str) -> Path:
    """Return the path of a file to write, as argparse's ``type``: refused before work is done."""
    path = Path(text)
    if path.is_dir() or not _is_writable(path.parent):
        expected = "a file in a folder that can be written to"
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text}")
    return path


def new_folder(text: str) -> Path:
    """Return the path of a folder for files, which is there or can be made, as `new_file` does."""
    place = Path(text).absolute()
    if not _is_writable(next(x for x in (place, *place.parents) if os.access(x, os.F_OK))):
        raise argparse.ArgumentTypeError(f"expected a folder that can be written to, got {text}")
    return Path(text)


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def new_console() -> Any:
    """Return a console, wide enough for a table if the output is not a terminal."""
    console = require("rich.console").Console()
    if not console.is_terminal:
        console.width = 140
    return console


def new_table(title: str, headings: Iterable[str]) -> Any:
    """Return a table of numbers, whose first column names the rows and has no heading."""
    table = require("rich.table").Table(
        title=title, title_justify="left", box=require("rich.box").SIMPLE
    )
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
