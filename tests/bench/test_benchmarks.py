"""Every benchmark and every small row of the table runs once; timing does what it says."""

import importlib
import inspect
import itertools
import json
import math
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tropical.bench import training
from tropical.bench.bars import bars, figures
from tropical.bench.table import main
from tropical.measure import contenders, timing
from tropical.measure.timing import QUICK, Budget, Contender, interleave

ASV = Path(__file__).resolve().parents[2] / "asv_benches"
sys.path.insert(0, str(ASV))
common = importlib.import_module("benchmarks.common")
sys.path.remove(str(ASV))
PREFIXES = ("time_", "track_", "peakmem_")


def suites():
    """Every benchmark as (class, method name, arguments), with the first of its arguments.

    The session `asv` runs all of them.
    """
    found = []
    for path in sorted((ASV / "benchmarks").glob("[!_]*.py")):
        module = importlib.import_module(f"benchmarks.{path.stem}")
        for name, suite in inspect.getmembers(module, inspect.isclass):
            if suite.__module__ != module.__name__:
                continue
            methods = [m for m in dir(suite) if m.startswith(PREFIXES)]
            for method in methods:
                arguments = next(itertools.product(*getattr(suite, "params", ())))
                label = "-".join(map(str, (path.stem, name, method, *arguments)))
                found.append(pytest.param(suite, method, arguments, id=label))
    return found


def test_every_suite_file_has_benchmarks():
    files = {path.stem for path in (ASV / "benchmarks").glob("[!_]*.py")}
    with_suites = {case.id.split("-")[0] for case in suites()}
    assert files - with_suites == {"common", "imports"}  # `imports` is of functions, tested below


def test_a_pause_of_the_system_does_not_shorten_the_loop_of_a_ceiling(monkeypatch):
    """It made the call so short that mostly its overhead was measured, 200 times the ceiling."""
    now, pause = 0, 1_000_000  # ns

    def run(repeats):
        nonlocal now, pause
        now, pause = now + 1000 * repeats + pause, 0
        return repeats

    monkeypatch.setattr(contenders.time, "perf_counter_ns", lambda: now)
    assert contenders._counted("loop", run).work == 512


@pytest.mark.parametrize("suite, method, arguments", suites())
def test_benchmark_runs(suite, method, arguments, monkeypatch):
    pytest.importorskip("asv")  # the session `bench` has it, README's command saves a minute
    monkeypatch.setattr(common, "BUDGET", QUICK)
    monkeypatch.setattr(common, "interleave", partial(interleave, drift=math.inf))
    benchmark = suite()
    try:
        if hasattr(benchmark, "setup"):
            try:
                benchmark.setup(*arguments)
            except NotImplementedError as reason:  # how a benchmark tells asv to skip it
                pytest.skip(str(reason))
        result = getattr(benchmark, method)(*arguments)
    finally:
        if hasattr(benchmark, "teardown"):
            benchmark.teardown(*arguments)
    if method.startswith("track_"):
        assert result >= 0  # also false for NaN
        assert isinstance(benchmark.unit if hasattr(benchmark, "unit") else "", str)


@pytest.mark.parametrize("name", ["numpy", "tropical", "tropical_after_numpy"])
def test_import_benchmark_runs(name):
    code = getattr(importlib.import_module("benchmarks.imports"), f"timeraw_import_{name}")()
    statement, setup = code if isinstance(code, tuple) else (code, "")
    subprocess.run([sys.executable, "-c", f"{setup}\n{statement}"], check=True, timeout=60)


def test_asv_configuration_names_what_is_there():
    text = (ASV / "asv.conf.json").read_text()
    lines = [line for line in text.splitlines() if not line.strip().startswith("//")]
    settings = json.loads("\n".join(lines))
    assert (ASV / settings["benchmark_dir"] / "gemm.py").is_file()
    assert (ASV / settings["repo"] / "pyproject.toml").is_file()


def test_names_of_bars_differ():
    names = [row.name for row in (*bars(), *figures())]
    assert len(names) == len(set(names)) > 80


@pytest.mark.slow
def test_quick_table_runs_every_row(tmp_path, capsys):
    path = tmp_path / "table.json"
    assert main(["--quick", "--json", str(path)]) == 0
    report = json.loads(path.read_text())
    assert report["environment"]["cores"] >= 1
    printed = capsys.readouterr().out
    for row in report["rows"]:
        assert row["case"] in printed
        assert row["skipped"] or row["measured"] >= 0
        assert (row["met"] is None) == (row["bar"] is None or row["measured"] is None)
    assert sum(row["measured"] is not None for row in report["rows"]) > 30


def test_the_promises_of_chosen_rows_show_when_asked_for(capsys):
    """What users see without asking is what was measured, not what the project accepts."""
    row = ("--quick", "--rows", "MAXPLUS float32 64$")
    assert main(row) == 0
    assert not re.search(r"\bbars?\b|\bmet\b|>=|minplus", capsys.readouterr().out)
    assert main([*row, "--promises"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"share of the ceiling\n +maxplus float32 64 +[\d.]+ >= 0.80", printed)
    assert re.search(r"\d+ of \d+ bars met", printed)


def test_the_table_as_markdown(tmp_path):
    path = tmp_path / "figures.md"
    assert main(["--quick", "--rows", "maxplus float32 (64|128)$", "--markdown", str(path)]) == 0
    page = path.read_text(encoding="utf-8")
    assert re.search(
        r"^Measured on \d{4}-\d\d-\d\d by `python -m tropical table`", page, re.MULTILINE
    )
    assert "\n## Share of the ceiling\n\n| Case | Ratio | Quartiles | Rates |\n" in page
    row = r"^\| maxplus float32 64 \| [\d.]+ \| [\d.]+ \| [\d./ ]+ \|$"
    assert re.search(row, page, re.MULTILINE)
    widths = [line.count("|") for line in page.splitlines() if line.startswith("|")]
    assert set(widths) == {5}


def test_table_refuses_bad_patterns(capsys):
    assert main(["--rows", "no such row"]) == 2
    assert "no such row" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["--rows", "("])
    assert "regular expression" in capsys.readouterr().err


def test_absent_rival_is_a_skipped_row(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tropical_gemm", None)  # makes its import fail
    assert main(["--quick", "--rows", "over tropical-gemm: maxplus float32 64$"]) == 0
    assert "tropical-blas[bench]" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--json", "--markdown"])
def test_files_that_cannot_be_written_are_refused_first(option, tmp_path, capsys):
    for path in (tmp_path, tmp_path / "none" / "table"):
        with pytest.raises(SystemExit, match="2"):
            main(["--quick", option, str(path)])
        assert f"{option}: expected a file in a folder" in capsys.readouterr().err


def test_training_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(training, "DIGITS", 512)  # few enough for --quick
    monkeypatch.setitem(sys.modules, "torch", None)  # makes its import fail
    path = tmp_path / "table.json"
    rows = r"training: .*(numpy's, batch (64|512) threads=1|naive|torch)"
    assert main(["--quick", "--rows", rows, "--json", str(path)]) == 0
    report = json.loads(path.read_text())["rows"]
    measured = [row["case"] for row in report if row["measured"] is not None]
    assert len(measured) == 5 and len(report) == 12
    for row in report:
        if row["measured"] is None:
            assert "torch" in row["case"]
            assert re.search("torch is not installed|need as many cores", row["skipped"])


@pytest.mark.parametrize("figure", list(figures()), ids=lambda figure: figure.case)
def test_what_is_counted_meets_its_bar(figure):
    if figure.group == "extension":
        pytest.skip("depends on the build")
    assert figure.count() <= (1.0 if figure.value is None else figure.value)


def test_jax_keeps_its_one_thread(monkeypatch):
    monkeypatch.setenv("NPROC", "1")
    with pytest.raises(contenders.AbsentError, match=r"keeps the one thread|need as many cores"):
        training.epoch("jax", 64, threads=2)


def test_absent_instruction_set_and_cores():
    a, b = contenders.operands(2, 2, 2)
    with pytest.raises(contenders.AbsentError, match="no abacus here"):
        contenders.ours(a, b, isa="abacus")
    with pytest.raises(contenders.AbsentError, match="100000 threads"):
        contenders.ours(a, b, threads=100_000)


def scripted(monkeypatch, script):
    """Let each sample of a contender take the next time of its script, the last one for ever."""

    def sample(contender, calls, warm_up):
        times = script[contender.name]
        return times.pop(0) if len(times) > 1 else times[0]

    monkeypatch.setattr(timing, "_sample", sample)


def named(name, work=1.0):
    return Contender(name, lambda: None, work)


def test_rounds_in_which_the_guard_moved_are_discarded(monkeypatch):
    calibration = [1.0]  # one call of a second fills the sample
    ends = [1.0, 1.0, 1.2, 1.0, 1.0, 1.05, 1.0, 0.85, 1.0, 1.0]
    scripted(monkeypatch, {"guard": calibration + ends, "ours": [2.0]})
    budget = Budget(sample=1e-3, seconds=math.inf, rounds=3)
    timings = interleave([named("ours")], guard=named("guard"), budget=budget)
    assert (timings.rounds, timings.discarded) == (3, 2)
    assert timings.seconds["guard"] == pytest.approx([1.0, 1.025, 1.0])
    assert timings.ratio("ours", "guard").median == pytest.approx(0.5)


def test_a_guard_that_always_moves_leaves_no_round(monkeypatch):
    ends = itertools.cycle([1.0, 2.0])
    monkeypatch.setattr(timing, "_sample", lambda c, *_: next(ends) if c.name == "guard" else 1.0)
    budget = Budget(sample=1e-3, seconds=0.0, rounds=3, least_rounds=2)
    timings = interleave([named("ours")], guard=named("guard"), budget=budget)
    assert (timings.rounds, timings.discarded) == (0, 6)


def test_ratios_are_taken_round_by_round(monkeypatch):
    # The machine slows down tenfold, both alike: every ratio of a round is 2.
    scripted(monkeypatch, {"fast": [1.0, 1.0, 10.0, 10.0], "slow": [2.0, 2.0, 20.0, 20.0]})
    budget = Budget(sample=1e-3, seconds=math.inf, rounds=3)
    timings = interleave([named("fast"), named("slow")], budget=budget)
    ratio = timings.ratio("fast", "slow")
    assert (ratio.low, ratio.median, ratio.high) == (2.0, 2.0, 2.0)
    assert timings.rate("fast") == pytest.approx(1 / 10)


def test_work_enters_the_ratio(monkeypatch):
    scripted(monkeypatch, {"fast": [1.0], "slow": [1.0]})
    budget = Budget(sample=1e-3, seconds=math.inf, rounds=1)
    timings = interleave([named("fast", work=6.0), named("slow", work=2.0)], budget=budget)
    assert timings.ratio("fast", "slow").median == 3.0


@pytest.mark.parametrize("warm_up, untimed", [(0.0, 0), (0.125, 2), (1.0, 9), (2.0, 17)])
def test_warm_up_is_so_many_untimed_calls(warm_up, untimed):
    calls = []
    contender = Contender("counted", lambda: calls.append(0), 1.0)
    timing._sample(contender, 8, warm_up)
    assert len(calls) == 8 + untimed


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins no threads")
def test_pinning_is_undone():
    before = os.sched_getaffinity(0)
    with timing.pinned():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_equal_names_are_refused():
    with pytest.raises(ValueError, match=r"\['twice', 'twice'\]"):
        interleave([named("twice"), named("twice")])
