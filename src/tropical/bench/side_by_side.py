"""`python -m tropical bench`: rivals interleaved in one run, with intervals and significance.

Times are kept in full in the JSON file, so that two runs can be compared later. Needs the extra
``bench``; rivals that are not installed are left out, and an error if they were asked for by name.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import tropical
from tropical.bench import contenders, plots, report, staircase, terminal
from tropical.bench.contenders import AbsentError, NotInstalledError, require
from tropical.bench.report import Case, Times
from tropical.bench.rivals import RIVALS, Array
from tropical.bench.statistics import compare_unpaired
from tropical.bench.table import environment
from tropical.bench.timing import Budget, Contender, interleave, pinned

__all__ = ["compare", "main", "measure"]

SIZES = (64, 256, 1024)
SIGNIFICANT = 0.01
LIBRARIES = ("numpy", "scipy", "torch", "numba", "tropical-gemm", "threadpoolctl")


def _invite(name: str, case: Case, a: Array, b: Array) -> Contender | AbsentError:
    """Make a contender and let it compute once; or say why it takes no part."""
    try:
        contender = RIVALS[name](a, b, case.semiring, case.threads)
        with contender.context():
            contender.call()
    except AbsentError as reason:
        return reason
    return contender


def measure(case: Case, names: Iterable[str], budget: Budget, *, named: bool = False) -> Case:
    """Run a case.

    Parameters
    ----------
    case : Case
        Says what to compute; not changed.
    names : iterable of str
        Keys of `RIVALS`.
    budget : Budget
        How long.
    named : bool
        The user asked for these names: a missing package is an error.

    Returns
    -------
    Case
        With times.

    Raises
    ------
    NotInstalledError
        If `named` and a package is missing.
    """
    a, b = contenders.operands(case.n, case.n, case.n, case.dtype)
    invited = {name: _invite(name, case, a, b) for name in names}
    for refusal in invited.values():
        if named and isinstance(refusal, NotInstalledError):
            raise refusal
    taking_part = [guest for guest in invited.values() if isinstance(guest, Contender)]
    absent = {name: str(why) for name, why in invited.items() if isinstance(why, AbsentError)}
    if not taking_part:
        return Case(*case.key, absent=absent)
    guard = contenders.ceiling(case.semiring, case.dtype)
    with pinned() if case.threads == 1 else nullcontext():
        timings = interleave(taking_part, guard=guard, budget=budget)
    times = {
        name: Times(name, contender.work, timings.seconds[name])
        for name, contender in timings.contenders.items()
    }
    ceiling = times.pop(guard.name)
    return Case(*case.key, ceiling, list(times.values()), timings.discarded, absent)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _environment() -> dict[str, Any]:
    cpu = require("cpuinfo").get_cpu_info()
    variables = ("OMP_", "OPENBLAS_", "MKL_", "NUMBA_", "RAYON_", "TROPICAL_")
    return {
        **environment(),
        "cpu": cpu.get("brand_raw", "unknown"),
        "cpu_flags": cpu.get("flags", []),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "variables": {k: v for k, v in os.environ.items() if k.startswith(variables)},
    }


def compare(old: Path, new: Path) -> int:
    """Print what changed between two reports: shares of the ceiling, which a busy machine moves
    less than times.

    Returns
    -------
    int
        How many contenders became slower, significantly (p < 0.01) and by more than 2%.
    """  # noqa: D205
    before, after = report.read(old), report.read(new)
    console = terminal.new_console()
    headings = ("contender", "share before", "after", "after over before [95%]", "p", "")
    table = terminal.new_table(f"{old} -> {new}", headings)
    slower = 0
    for key, case in after.items():
        for times in case.contenders:
            old_times = before[key].find(times.name) if key in before else None
            olds = before[key].shares(old_times) if old_times else []
            shares = case.shares(times)
            if not olds or not shares:
                continue
            comparison = compare_unpaired(shares, olds)
            certain = comparison.p_value < SIGNIFICANT
            verdict = ""
            if certain and comparison.high < 0.98:
                verdict, slower = "slower", slower + 1
            elif certain and comparison.low > 1.02:
                verdict = "faster"
            table.add_row(
                str(case),
                times.name,
                f"{np.median(olds):.2f}",
                f"{np.median(shares):.2f}",
                terminal.ratio_text(comparison),
                terminal.p_value_text(comparison),
                verdict,
            )
    console.print(table if table.row_count else "The reports have nothing in common.")
    return slower


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tropical bench", description=__doc__)
    semirings = tropical.semirings.names()
    dtypes = dict.fromkeys(dtype for known in tropical.semirings.ALL for dtype in known.dtypes)

    def positive(text: str) -> int:
        value = int(text)
        if value < 1:
            raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
        return value

    parser.add_argument(
        "--sizes",
        nargs="+",
        type=positive,
        metavar="N",
        help="64 256 1024 unless given; 512 1024 2048 for --staircase",
    )
    parser.add_argument("--semirings", nargs="+", choices=semirings, default=["maxplus"])
    parser.add_argument("--dtypes", nargs="+", choices=list(dtypes), default=["float32"])
    parser.add_argument("--threads", nargs="+", type=positive, metavar="T", help="1 unless given")
    parser.add_argument(
        "--contenders",
        nargs="+",
        choices=list(RIVALS),
        metavar="NAME",
        help=f"of {', '.join(RIVALS)}; all that can take part unless given",
    )
    parser.add_argument("--baseline", choices=list(RIVALS), default="tropical", metavar="NAME")
    parser.add_argument("--rounds", type=positive, default=25, help="kept at most, a case")
    parser.add_argument("--seconds", type=float, default=4.0, help="time budget of a case")
    parser.add_argument(
        "--sample",
        type=float,
        default=4e-3,
        metavar="SECONDS",
        help="the least time for which a contender runs in a round",
    )
    parser.add_argument(
        "--warm-up",
        type=float,
        default=0.125,
        metavar="SHARE",
        help="untimed calls before each sample, as a share of the timed ones; 1/8 unless given",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every time to FILE")
    parser.add_argument(
        "--plots", type=Path, metavar="DIR", help="draw what was measured, as PNG files in DIR"
    )
    parser.add_argument(
        "--staircase",
        action="store_true",
        help="from three loops to five and to all cores, at 512, 1024 and 2048: takes minutes",
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("OLD", "NEW"),
        help="measure nothing, compare two such files; exits with 1 if slower",
    )
    options = parser.parse_args(argv)
    if not (options.sample > 0 and 0 <= options.seconds < np.inf and 0 <= options.warm_up <= 100):
        parser.error(
            "--sample must be positive, --seconds not negative and --warm-up from 0 to 100, "
            f"got {options.sample}, {options.seconds} and {options.warm_up}"
        )
    if options.staircase:
        for name in ("threads", "contenders", "json", "plots"):
            if getattr(options, name) is not None:
                parser.error(f"--staircase takes no --{name}: its steps are fixed, and printed")
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json: there is no folder {options.json.parent}")
    return options


def _cases(options: argparse.Namespace, sizes: Sequence[int]) -> list[Case]:
    threads = options.threads or [1]
    every = itertools.product(options.semirings, options.dtypes, sizes, threads)
    cases = [Case(*case) for case in every if case[1] in tropical.semirings.get(case[0]).dtypes]
    if not cases:
        raise ValueError(
            f"none of the semirings {options.semirings} is defined on the dtypes {options.dtypes}"
        )
    return cases


def _run(options: argparse.Namespace) -> list[Case]:
    budget = Budget(options.sample, options.seconds, options.rounds, warm_up=options.warm_up)
    cases = _cases(options, options.sizes or SIZES)
    measured = []
    with terminal.new_progress(terminal.new_console()) as bar:
        task = bar.add_task("", total=len(cases))
        for case in cases:
            bar.update(task, description=str(case))
            done = measure(
                case, options.contenders or RIVALS, budget, named=options.contenders is not None
            )
            measured.append(done)
            terminal.print_case(bar.console, done, options.baseline)
            bar.advance(task)
    return measured


def _climb(options: argparse.Namespace) -> None:
    console = terminal.new_console()
    sizes = options.sizes or staircase.SIZES
    for case in _cases(options, sizes[:1]):
        name = f"{case.semiring} {case.dtype}"
        with console.status(name) as status:

            def show(n: int, name: str = name, status: Any = status) -> None:
                status.update(f"{name}, n = {n}")

            steps = staircase.climb(case.semiring, case.dtype, sizes, on_size=show)
        title = f"{name}: Gop/s, times the step before, of ceiling"
        console.print(terminal.staircase_table(title, steps))


@terminal.refusing("bench")
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, or compare two reports.

    Parameters
    ----------
    argv : sequence of str, optional
        Options; the command line if not given.

    Returns
    -------
    int
        Exit status: 1 if a comparison found something slower, 2 if a package is missing or a file
        cannot be used, else 0.
    """
    options = _parse(argv)
    if options.compare:
        return int(compare(*options.compare) > 0)
    if options.staircase:
        _climb(options)
        return 0
    # What is missing, and the load of the machine, are known before minutes of measuring.
    for module in ("scipy.stats", *(["matplotlib"] if options.plots else [])):
        require(module)
    environment = _environment()
    cases = _run(options)
    if options.json:
        report.write(options.json, environment, cases)
    if options.plots:
        for path in plots.draw(cases, options.plots):
            print(path)
    return 0
