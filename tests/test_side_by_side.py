"""python -m tropical bench: who takes part, what is written, what a comparison finds."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import oracle
import pytest

import tropical
from tropical.bench import contenders, plots, side_by_side, staircase, timing
from tropical.bench.contenders import AbsentError, NotInstalledError
from tropical.bench.report import Case, Times
from tropical.bench.rivals import RIVALS
from tropical.bench.side_by_side import main, measure
from tropical.bench.statistics import compare_paired, compare_unpaired

if TYPE_CHECKING:
    from pathlib import Path

for module in ("rich", "cpuinfo", "scipy"):
    pytest.importorskip(module)


@pytest.fixture(autouse=True)
def _never_discard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine would leave no round; timing itself is tested elsewhere."""

    def interleave(*arguments: Any, **options: Any) -> timing.Timings:
        return timing.interleave(*arguments, **options, drift=math.inf)

    monkeypatch.setattr(side_by_side, "interleave", interleave)


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("semiring", sorted(oracle.SEMIRINGS))
def test_everyone_computes_the_same(name: str, semiring: str) -> None:
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


def test_a_missing_package_is_an_error_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise NotInstalledError("torch is not installed (pip install torch)")

    monkeypatch.setitem(RIVALS, "torch", missing)
    case = measure(Case("maxplus", "float32", 8, 1), ["tropical", "torch"], timing.QUICK)
    assert [times.name for times in case.contenders] == ["tropical"]
    assert "not installed" in case.absent["torch"]
    with pytest.raises(NotInstalledError, match="torch"):
        measure(Case("maxplus", "float32", 8, 1), ["torch"], timing.QUICK, named=True)
    assert measure(Case("maxplus", "float32", 8, 1), ["numpy"], timing.QUICK).contenders == []


def run(path: Path, *arguments: str) -> dict[str, Any]:
    options = ["--sizes", "16", "--seconds", "0", "--sample", "1e-4", "--rounds", "4"]
    assert main([*options, *arguments, "--json", str(path)]) == 0
    report: dict[str, Any] = json.loads(path.read_text())
    return report


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(
        tmp_path / "new.json", "--semirings", "maxplus", "orand", "--dtypes", "int8", "bool"
    )
    assert [(case["semiring"], case["dtype"]) for case in report["cases"]] == [
        ("maxplus", "int8"),
        ("orand", "bool"),
    ]
    environment = report["environment"]
    assert environment["cpu"] and environment["compiler"] and environment["load"] is not None
    assert environment["libraries"]["numpy"] == np.__version__
    for case in report["cases"]:
        names = {times["name"] for times in case["contenders"]}
        assert {"tropical", "naive", "tiled", "direct", "packed"} <= names
        assert names.isdisjoint(case["absent"])
        lengths = {len(times["seconds"]) for times in [case["ceiling"], *case["contenders"]]}
        assert len(lengths) == 1 and lengths <= {3, 4}
    printed = capsys.readouterr().out
    assert "maxplus int8, n = 16, 1 thread" in printed and "without numpy:" in printed


def slowed(report: dict[str, Any], factor: float, spread: float = 0.01) -> dict[str, Any]:
    """The report as if "packed" took `factor` times the time, in 30 rounds around it."""
    rng = np.random.default_rng(0)
    copy: dict[str, Any] = json.loads(json.dumps(report))
    for case in copy["cases"]:
        case["ceiling"]["seconds"] = [1.0] * 30
        for times in case["contenders"]:
            base = 2 * factor if times["name"] == "packed" else 2
            times["seconds"] = (base * (1 + spread * rng.random(30))).tolist()
    return copy


def test_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


@pytest.mark.parametrize("content", ["", "{}", '{"format": 99}', '{"format": 1, "cases": [3]}'])
def test_compare_refuses_what_is_no_report(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    for old in (bad, tmp_path / "absent.json"):
        assert main(["--compare", str(old), str(bad)]) == 2
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
        ["--staircase", "--threads", "2"],
        ["--staircase", "--json", "x.json"],
        ["--json", "/no/such/folder/x.json"],
    ],
)
def test_wrong_options(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(wrong)
    assert error.value.code == 2 and wrong[0] in capsys.readouterr().err


@pytest.mark.parametrize("module", ["scipy.stats", "cpuinfo", "matplotlib"])
def test_what_is_missing_is_said_before_measuring(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def require(name: str, install: str = "") -> Any:
        if name == module:
            raise NotInstalledError(f"{name} is not installed (pip install {install})")
        return contenders.require(name)

    monkeypatch.setattr(side_by_side, "require", require)
    monkeypatch.setattr(side_by_side, "measure", lambda *_, **__: pytest.fail("measured"))
    assert main(["--sizes", "8", "--plots", "never-made"]) == 2
    assert f"{module} is not installed" in capsys.readouterr().err


def test_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--semirings", "orand", "--dtypes", "float32"]) == 2
    assert "orand" in capsys.readouterr().err


def test_too_many_threads_take_no_part() -> None:
    threads = tropical.config.config()["cores"] + 1
    case = measure(Case("maxplus", "float32", 8, threads), RIVALS, timing.QUICK)
    assert case.contenders == [] or {t.name for t in case.contenders} <= {"torch-broadcast"}
    assert "cores" in case.absent["tropical"]


def test_intervals_hold_what_they_should() -> None:
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


def test_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each picture is drawn where its cases were measured, shows their numbers, and else is not."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(plots, "_memory_rate", lambda: 30.0)
    cases = [
        Case(
            "maxplus",
            "float32",
            n,
            threads,
            Times("ceiling", 1e11, [1.0, 1.0]),
            [
                Times(name, 2 * n**3, [2 * n**3 / (rate * threads) for rate in (9e10, 9e10)])
                for name in ("tropical", "direct", "packed")
            ],
        )
        for n in (16, 32, 512, 1024)
        for threads in (1, 2)
    ]
    names = {path.name for path in plots.draw(cases, tmp_path / "new")}
    assert names == {
        "maxplus-float32-threads.png",
        "maxplus-float32-roofline.png",
        *(
            f"maxplus-float32-{threads}-{picture}.png"
            for threads in ("1-thread", "2-threads")
            for picture in ("rate", "kernels", "call")
        ),
    }
    assert all((tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG") for name in names)
    one = [case for case in cases if case.threads == 1]
    (axes,) = plots.rate_by_size(one).axes
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_allclose(lines["tropical"], 90)
    np.testing.assert_allclose(lines["ceiling (registers only)"], 100)
    (axes,) = plots.thread_scaling(cases).axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [1, 2])
    (axes,) = plots.kernels(one).axes
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], 90)
    assert [plots.rate_by_size(one[:1]), plots.thread_scaling(one), plots.call_times(one[2:])] == [
        None,
        None,
        None,
    ]
    assert plots.draw([], tmp_path) == []


@pytest.mark.parametrize("semiring", ["maxplus", "plustimes"])
def test_staircase(semiring: str, capsys: pytest.CaptureFixture[str]) -> None:
    steps = staircase.climb(semiring, "float32", [16, 32], timing.QUICK)
    labels = [step.label.split(":")[0] for step in steps if step.n == 16]
    assert labels[:4] == ["naive", "tiled", "direct", "packed"]
    for before, step in itertools.pairwise(steps[:4]):
        assert step.factor == pytest.approx(step.rate / before.rate)
    assert math.isnan(steps[0].factor) and all(step.share > 0 for step in steps)
    assert main(["--staircase", "--sizes", "8", "--semirings", semiring]) == 0
    printed = capsys.readouterr().out
    assert "naive: three loops" in printed and ("BLAS" in printed) == (semiring == "plustimes")
