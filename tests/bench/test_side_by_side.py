"""python -m tropical bench: who takes part, what is written, what a comparison finds."""

import json
import math
import os
import shlex
import sys
from pathlib import Path

import numpy as np
import oracle
import pytest
from support import run_command

import tropical
from tropical.bench import plots, side_by_side
from tropical.bench.record import Record, Times
from tropical.bench.rivals import RIVALS
from tropical.bench.side_by_side import main, measure
from tropical.measure import contenders, timing
from tropical.measure.contenders import AbsentError, NotInstalledError
from tropical.measure.statistics import compare_paired, compare_unpaired

pytest.importorskip("scipy")


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("semiring", sorted(oracle.SEMIRINGS))
def test_everyone_computes_the_same(name, semiring):
    dtype = "bool" if semiring == "orand" else "float32"
    a, b = contenders.operands(7, 9, 5, dtype)
    try:
        contender = RIVALS[name](a, b, semiring, 1)
    except AbsentError as absent:
        pytest.skip(str(absent))
    with contender.context():
        result = np.asarray(contender.call())
    assert contender.work == 2 * 7 * 9 * 5
    want = a @ b if semiring == "plustimes" else oracle.gemm(a, b, semiring)
    np.testing.assert_allclose(result, want, rtol=1e-5)


def test_a_missing_package_is_an_error_only_if_asked_for(monkeypatch):
    def missing(*_):
        raise NotInstalledError("torch is not installed (pip install torch)")

    monkeypatch.setitem(RIVALS, "torch", missing)
    case = ("maxplus", "float32", 8, 1)
    row = measure(*case, ["tropical", "torch"], timing.QUICK)
    assert list(row.times) == ["tropical", "ceiling"]
    assert "not installed" in row.absent["torch"]
    with pytest.raises(NotInstalledError, match="torch"):
        measure(*case, ["torch"], timing.QUICK, named=True)
    assert measure(*case, ["numpy"], timing.QUICK).times == {}


def test_the_cure_of_a_missing_package_is_named_whole(monkeypatch, capsys):
    """Also what stands in brackets."""
    monkeypatch.setitem(RIVALS, "numba", lambda *_: contenders.require("no_such_package"))
    assert main(["--sizes", "8", "--seconds", "0", "--rounds", "3"]) == 0
    cure = "no_such_package is not installed (pip install 'tropical-blas[bench]')"
    assert f"without numba: {cure}" in capsys.readouterr().out
    assert main(["--sizes", "8", "--contenders", "numba"]) == 2
    assert f"bench: error: {cure}" in capsys.readouterr().err


def run(path, *arguments):
    options = ["--sizes", "16", "--seconds", "0", "--sample", "1e-4", "--rounds", "4"]
    assert main([*options, *arguments, "--json", str(path)]) == 0
    return json.loads(path.read_text())


def test_report(tmp_path, capsys):
    report = run(
        tmp_path / "new.json", "--semirings", "maxplus", "orand", "--dtypes", "int8", "bool"
    )
    products = [row["product"] for row in report["rows"]]
    assert products == [["maxplus", "int8", 16, 1], ["orand", "bool", 16, 1]]
    environment = report["environment"]
    assert environment["cpu"] and environment["compiler"] and environment["load"] is not None
    assert environment["libraries"]["numpy"] == np.__version__
    for row in report["rows"]:
        assert {"tropical", "naive", "tiled", "direct", "packed", "ceiling"} <= row["times"].keys()
        assert row["times"].keys().isdisjoint(row["absent"]) and row["reference"] == "ceiling"
        lengths = {len(times["seconds"]) for times in row["times"].values()}
        assert len(lengths) == 1 and lengths <= {3, 4}
        assert 0 < row["low"] <= row["measured"] <= row["high"]
    printed = capsys.readouterr().out
    assert "maxplus int8, n = 16, 1 thread" in printed and "without numpy:" in printed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_what_was_measured_is_kept_where_the_output_is_lost(tmp_path):
    few = ["--points", "1", "--work", "9", "--seconds", "1"]
    for command in (
        ["bench", "--sizes", "8", "--seconds", "0", "--rounds", "3"],
        ["bench", "--cliffs", *few],
        ["table", "--quick", "--rows", "extension"],
    ):
        file = tmp_path / "kept.json"
        lost = [sys.executable, "-m", "tropical", *command, "--json", str(file)]
        done = run_command(
            *("bash", "-c", f"{shlex.join(lost)} > /dev/full"),
            env={
                **os.environ,
                "PYTHONUNBUFFERED": "",
            },  # else headings fail before anything is lost
        )
        assert done.returncode and "No space left" in done.stderr
        assert len(json.loads(file.read_text())["rows"]) == 1
        file.unlink()


def slowed(report, factor, spread=0.01):
    """The report as if "packed" took `factor` times the time, in 30 rounds around it."""
    rng = np.random.default_rng(0)
    copy = json.loads(json.dumps(report))
    for row in copy["rows"]:
        for name, times in row["times"].items():
            base = 2 * factor if name == "packed" else 2
            times["seconds"] = (base * (1 + spread * rng.random(30))).tolist()
        row["times"]["ceiling"]["seconds"] = [1.0] * 30
    return copy


def test_compare(tmp_path, capsys):
    report = run(tmp_path / "new.json", "--contenders", "tropical", "packed")
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    for factor, status, verdict in ((1.2, 1, "slower"), (0.8, 0, "faster"), (1.0, 0, "")):
        old.write_text(json.dumps(slowed(report, 1)))
        new.write_text(json.dumps(slowed(report, factor)))
        capsys.readouterr()
        assert main(["--compare", str(old), str(new)]) == status
        printed = capsys.readouterr().out
        lines = [line for line in printed.splitlines() if " packed " in line]
        assert len(lines) == 1
        found = [word for word in ("slower", "faster") if word in lines[0]]
        assert found == [verdict] * bool(verdict), lines


def test_compare_refuses_times_that_are_no_numbers(tmp_path, capsys):
    report = run(tmp_path / "old.json", "--contenders", "tropical")
    report["rows"][0]["times"]["tropical"]["seconds"][0] = "fast"
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(report))
    assert main(["--compare", str(tmp_path / "old.json"), str(bad)]) == 2
    assert "bad.json: expected a report of table or bench" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}", "3", '{"format": 99}', '{"format": 2, "rows": [3]}'])
def test_what_is_no_report_is_refused(tmp_path, content, capsys):
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    for old in (bad, tmp_path / "absent.json"):
        for asked in (["--compare", str(old), str(bad)], ["--cliffs", "--show", str(old)]):
            assert main(asked) == 2
            assert old.name in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        ["--sizes", "0"],
        ["--sizes", "x"],
        ["--contenders", "nobody"],
        ["--seconds", "-1"],
        ["--sample", "0"],
        ["--semirings", "maxmax"],
        ["--threads", "0"],
        ["--json", "/no/such/folder/x.json"],
        ["--json", "/"],
        ["--plots", __file__],
        ["--plots", f"{__file__}/folder"],
        ["--clif"],
        ["--points", "0", "--cliffs"],
        ["--seconds", "0", "--cliffs"],
        ["--seed", "-1", "--cliffs"],
        ["--work", "0", "--cliffs"],
        ["--work", "1e-9", "--cliffs"],
        ["--work", "inf", "--cliffs"],
        ["--threads", "0", "--cliffs"],
        ["--rivals", "nobody", "--cliffs"],
        ["--worst", "x", "--cliffs"],
        ["--json", "/no/such/folder/x.json", "--cliffs"],
        ["--plot", "/no/such/folder/x.png", "--cliffs"],
        ["--sizes", "64", "--cliffs"],
    ],
)
def test_wrong_options(wrong, capsys):
    with pytest.raises(SystemExit) as error:
        main(wrong)
    assert error.value.code == 2 and wrong[0] in capsys.readouterr().err


@pytest.mark.parametrize("module", ["scipy.stats", "matplotlib"])
def test_what_is_missing_is_said_before_measuring(module, monkeypatch, capsys):
    def require(name, install=""):
        if name == module:
            raise NotInstalledError(f"{name} is not installed (pip install {install})")
        return contenders.require(name)

    monkeypatch.setattr(side_by_side, "require", require)
    monkeypatch.setattr(side_by_side, "measure", lambda *_, **__: pytest.fail("measured"))
    assert main(["--sizes", "8", "--plots", "never-made"]) == 2
    assert f"{module} is not installed" in capsys.readouterr().err


def test_nothing_to_do(capsys):
    assert main(["--semirings", "orand", "--dtypes", "float32"]) == 2
    assert "orand" in capsys.readouterr().err


def test_too_many_threads_take_no_part():
    threads = tropical.config.config()["cores"] + 1
    row = measure("maxplus", "float32", 8, threads, RIVALS, timing.QUICK)
    assert row.times.keys() <= {"torch-broadcast", "ceiling"}
    assert "cores" in row.absent["tropical"]


def test_intervals_hold_what_they_should():
    """Of samples with a known ratio: about 95 in 100 do; and equals are found equal."""
    rng = np.random.default_rng(1)
    inside = significant = 0
    for _ in range(100):
        reference = rng.lognormal(0, 0.1, 25)
        comparison = compare_paired(reference / 1.5 * rng.lognormal(0, 0.02, 25), reference)
        inside += comparison.low <= 1.5 <= comparison.high
        significant += compare_unpaired(rng.lognormal(0, 0.1, 25), reference).p_value < 0.05
    assert 85 <= inside <= 100 and significant <= 15
    once = compare_paired([1.0], [2.0])
    assert once.ratio == 2 and math.isnan(once.p_value) and math.isnan(once.low)
    assert compare_paired([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).p_value == 1


def test_plots(tmp_path):
    """Each picture is drawn where its cases were measured, shows their numbers, and else is not."""
    pytest.importorskip("matplotlib")

    def times(n, threads):
        ours = Times(2 * n**3, [2 * n**3 / (9e10 * threads)] * 2)
        ceiling = Times(1e11 * threads, [1.0, 1.0])
        return dict.fromkeys(("tropical", "direct", "packed"), ours) | {"ceiling": ceiling}

    def case(n, threads):
        product = "maxplus", "float32", n, threads
        name = f"{n} {threads}"
        return Record("side by side", name, times(n, threads), "ceiling", product=product)

    cases = [case(n, threads) for n in (16, 32, 512, 1024) for threads in (1, 2)]
    names = {path.name for path in plots.draw(cases, tmp_path / "new")}
    assert names == {
        f"maxplus-float32-{threads}-{picture}.png"
        for threads in ("1-thread", "2-threads")
        for picture in ("rate", "call")
    }
    assert all((tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG") for name in names)
    one = [case for case in cases if case.case.endswith(" 1")]
    (axes,) = plots.rate_by_size(one).axes
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_allclose(lines["tropical"], 90)
    np.testing.assert_allclose(lines["ceiling (registers only)"], 100)
    assert plots.rate_by_size(one[:1]) is plots.call_times(one[2:]) is None
    assert plots.draw([], tmp_path) == []
