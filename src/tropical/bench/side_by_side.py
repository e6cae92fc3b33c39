"""`python -m tropical bench`: rivals interleaved in one run, with intervals and significance.

`--json` keeps every time, so that `--compare` can compare two runs. Needs the extra ``bench``. A
rival that is not installed is left out, or is an error if `--contenders` names the rival.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

import tropical
from tropical.bench import cliffs_command, plots, record, show
from tropical.bench.record import Record, compete
from tropical.bench.rivals import RIVALS, Array
from tropical.measure import contenders
from tropical.measure.contenders import AbsentError, NotInstalledError, require
from tropical.measure.statistics import compare_unpaired
from tropical.measure.terminal import (
    NOT_NEGATIVE,
    POSITIVE,
    integer,
    new_file,
    new_folder,
    number,
    refusing,
)
from tropical.measure.timing import Budget, Contender, pinned

SIZES = (64, 256, 1024)
SIGNIFICANT = 0.01
COMPARED = (-64, -18, 7, 7, 26, 9, 8)  # widths of the columns of a comparison


def _invite(name: str, semiring: str, threads: int, a: Array, b: Array) -> Contender | AbsentError:
    """Return a contender that has computed once, or the reason why the contender cannot."""
    try:
        contender = RIVALS[name](a, b, semiring, threads)
        with contender.context():
            contender.call()
    except AbsentError as reason:
        return reason
    return contender


def measure(
    semiring: str,
    dtype: str,
    n: int,
    threads: int,
    names: Iterable[str],
    budget: Budget,
    *,
    named: bool = False,
) -> Record:
    """Return the times of a product of (n, n) by (n, n) for each rival that can compute it.

    `names` are keys of `RIVALS`. If the user named the rivals, a missing package is an error. The
    reference of the record is the ceiling of `threads` threads.
    """
    a, b = contenders.operands(n, n, n, dtype)
    invited = {name: _invite(name, semiring, threads, a, b) for name in names}
    for refusal in invited.values():
        if named and isinstance(refusal, NotInstalledError):
            raise refusal
    taking_part = [guest for guest in invited.values() if isinstance(guest, Contender)]
    row = Record(
        "side by side",
        f"{semiring} {dtype}, n = {n}, {threads} thread{'s' if threads > 1 else ''}",
        absent={name: str(why) for name, why in invited.items() if isinstance(why, AbsentError)},
        product=(semiring, dtype, n, threads),
    )
    if not taking_part:
        return row
    ceiling = contenders.ceiling(semiring, dtype)
    guard = replace(ceiling, work=threads * ceiling.work)
    with pinned() if threads == 1 else nullcontext():
        return compete(replace(row, reference=guard.name), taking_part, budget, guard)


def compare(old: Path, new: Path) -> int:
    """Print the changes between two reports; return how many contenders became slower.

    The numbers compared are ratios to the reference of each row, because load of the machine
    changes ratios less than times. Slower means by more than 2%, with p < 0.01.
    """
    before, after = record.read(old), record.read(new)
    print(f"{old} -> {new}")
    print(show.line(COMPARED, "", "", "before", "after", "after over before [95%]", "p", ""))
    slower = compared = 0
    for key, row in after.items():
        earlier = before.get(key)
        if earlier is None or not (row.rounds and earlier.rounds):
            continue
        for name in row.times:
            if name == row.reference or not {name, row.reference} <= earlier.times.keys():
                continue
            news, olds = row.ratios(name), earlier.ratios(name)
            comparison = compare_unpaired(news, olds)
            certain = comparison.p_value < SIGNIFICANT
            verdict = ""
            if certain and comparison.high < 0.98:
                verdict, slower = "slower", slower + 1
            elif certain and comparison.low > 1.02:
                verdict = "faster"
            compared += 1
            medians = (f"{np.median(ratios):.2f}" for ratios in (olds, news))
            cells = show.comparison_cells(comparison)
            print(show.line(COMPARED, row.case, name, *medians, *cells, verdict))
    if not compared:
        print("The reports have nothing in common.")
    return slower


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    # A part of --cliffs would not be seen by `main`.
    parser = argparse.ArgumentParser(
        prog="python -m tropical bench", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    dtypes = dict.fromkeys(dtype for known in tropical.semirings.ALL for dtype in known.dtypes)
    rivals = f"of {', '.join(RIVALS)}"
    count, share = integer(1), number(float, "a number from 0 to 100", lambda x: 0 <= x <= 100)
    add("--sizes", nargs="+", type=count, default=SIZES, metavar="N", help="default 64 256 1024")
    add("--semirings", nargs="+", choices=tropical.semirings.names(), default=["maxplus"])
    add("--dtypes", nargs="+", choices=list(dtypes), default=["float32"])
    add("--threads", nargs="+", type=count, default=[1], metavar="T", help="default 1")
    add(
        "--contenders",
        nargs="+",
        choices=list(RIVALS),
        metavar="NAME",
        help=f"{rivals}; default: all that can take part",
    )
    add("--baseline", choices=list(RIVALS), default="tropical", metavar="NAME", help=rivals)
    add("--rounds", type=count, default=25, help="most rounds to keep, a case")
    add("--seconds", type=NOT_NEGATIVE, default=4.0, help="time budget of a case")
    add(
        "--sample",
        type=POSITIVE,
        default=4e-3,
        metavar="SECONDS",
        help="the least time for which a contender runs in a round",
    )
    add(
        "--warm-up",
        type=share,
        default=0.125,
        metavar="SHARE",
        help="untimed calls before each sample, as a share of the timed ones; default 1/8",
    )
    add("--json", type=new_file, metavar="FILE", help="write every time to FILE")
    add(
        "--plots",
        type=new_folder,
        metavar="DIR",
        help="draw what was measured, as PNG files in DIR",
    )
    add(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("OLD", "NEW"),
        help="measure nothing, compare two files of --json; exits with 1 if slower",
    )
    add(
        "--cliffs",
        action="store_true",
        help="search for products that are slower than their neighbors: see bench --cliffs --help",
    )
    return parser.parse_args(argv)


def _run(options: argparse.Namespace, measured: list[Record]) -> None:
    budget = Budget(options.sample, options.seconds, options.rounds, warm_up=options.warm_up)
    every = itertools.product(options.semirings, options.dtypes, options.sizes, options.threads)
    cases = [case for case in every if case[1] in tropical.semirings.get(case[0]).dtypes]
    if not cases:
        raise ValueError(
            f"none of the semirings {options.semirings} is defined on the dtypes {options.dtypes}"
        )
    named = options.contenders is not None
    for case in cases:
        row = measure(*case, options.contenders or RIVALS, budget, named=named)
        measured.append(row)
        for text in show.case_lines(row, options.baseline):
            print(text, flush=True)


@refusing("bench")
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, or compare two reports; return 1 if the comparison finds a slower contender."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--cliffs" in arguments:
        arguments.remove("--cliffs")
        return cliffs_command.main(arguments)
    options = _parse(arguments)
    if options.compare:
        return int(compare(*options.compare) > 0)
    # Ask for the packages, and read the load of the machine, before minutes of measuring.
    for module in ("scipy.stats", *(["matplotlib"] if options.plots else [])):
        require(module)
    environment = record.environment()
    with record.kept(options.json, environment) as rows:
        _run(options, rows)
    if options.plots:
        for path in plots.draw(rows, options.plots):
            print(path)
    return 0
