"""The short examples: what they learn is right, and they run as modules."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from support import run_command, run_module, run_python

from tropical.autograd import Tensor
from tropical.examples import airports, city, halvings, learn_paths, letters, maps, precisions, xor
from tropical.examples import streets as streets_module


def test_maps(tmp_path):
    pytest.importorskip("matplotlib", reason="draws the maps")
    maps.main([str(tmp_path / "new")])
    for name in ("itineraries", "bottlenecks"):
        drawn = (tmp_path / "new" / f"{name}.png").read_bytes()
        assert drawn.startswith(b"\x89PNG") and len(drawn) < 120_000
    (axes,) = maps.itineraries(airports.load()).axes
    entries = [text.get_text() for text in axes.get_legend().get_texts()]
    assert entries[0] == "Shortest: MFR - RDM - IDA - MSP - BTV" and len(set(entries)) == 3


def test_halvings():
    rows = halvings.compare(64, seconds=0.1)
    assert [row.halvings for row in rows] == [0, 1, 2, 3]
    for row in rows:
        assert 0 < row.mean < row.largest < 1e-4 and row.time > 0


def test_precisions():
    rows = precisions.compare(64, seconds=0.1)
    assert [row.precision for row in rows] == list(precisions.PRECISIONS)
    for row in rows:
        assert 0 < row.mean < row.largest < 2**-7 and row.time > 0
    assert rows[1].mean > 50 * rows[2].mean > 500 * rows[3].mean


@pytest.mark.parametrize("example, least, first", [(halvings, 8, "0"), (precisions, 1, "float32")])
def test_comparisons_run(example, least, first, tmp_path, capsys):
    with pytest.raises(SystemExit):
        example.main([str(least - 1)])
    assert f"side: expected at least {least}, got {least - 1}" in capsys.readouterr().err
    drawn = tmp_path / "drawn.svg"
    picture = ["--picture", str(drawn)] if importlib.util.find_spec("matplotlib") else []
    example.main(["64", "--seconds", "0", *picture])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[1].split()[:2] == [first, "1.00"]
    assert not picture or drawn.read_text().count("<svg") == 1


def test_city(tmp_path, capsys):
    streets = city.load()
    n = len(streets.longitude)
    assert n == 6213 and len(streets.names) == len(streets.ends) == 7592
    assert streets.ends.min() == 0 and streets.ends.max() == n - 1
    lengths = np.linalg.norm(np.diff(streets.places[streets.ends], axis=1)[:, 0], axis=1)
    slow = streets.minutes * streets_module.WALK / np.maximum(lengths, 1)
    assert 0.98 < np.median(slow) < 1.02 and slow.max() < 2.5  # steps
    name, share = city.busiest(streets)
    assert share.shape == (7592,) and name in streets.names
    before, detour = city.detours(streets, name)
    assert before.min() == 0 and np.isfinite(before).all()
    # Rounding aside, nobody walks less; some are cut off, those in the street among them.
    assert detour.min() > -1e-9 and 100 < np.isinf(detour).sum() < 300
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib draws the maps")
    city.main(["--plots", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert "© OpenStreetMap contributors" in lines[0] and lines[-1].startswith("  is cut off")
    for picture in city.PICTURES:
        drawn = (tmp_path / f"{picture}.png").read_bytes()
        assert drawn.startswith(b"\x89PNG") and len(drawn) < 200_000


RUNNABLE = [
    path.stem
    for path in sorted(Path(xor.__file__).parent.glob("[!_]*.py"))
    if "__main__" in path.read_text()
]


def test_examples_answer_help(tmp_path):
    """They neither run nor write a file of that name, and refuse options that they lack."""
    assert len(RUNNABLE) >= 7
    out = run_python(f"""
        import os, runpy, sys
        os.chdir({str(tmp_path)!r})
        for name in {[*RUNNABLE, "mnist"]}:
            for option, status in (("--help", 0), ("--no-such", 2)):
                sys.argv = [name, option]
                try:
                    runpy.run_module(f"tropical.examples.{{name}}", run_name="__main__")
                except SystemExit as error:
                    assert (error.code or 0) == status, (name, option, error.code)
                else:
                    raise AssertionError(f"{{name}} {{option}} was no reason to stop")
    """)
    assert out.lower().count("usage: ") == len(RUNNABLE) + 1 and not list(tmp_path.iterdir())


def test_a_reader_that_has_seen_enough():
    """A closed pipe, as behind `| head -1`, is no traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    command = sys.executable, "-m", "tropical.examples.flights"
    done = run_command(*command, capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.returncode == 1 and not done.stderr


def test_a_package_for_pictures_that_is_missing(tmp_path):
    """It is asked for before the example computes, in one line."""
    pictures = {"letters": "--picture=", "timetable": "", "city": "--plots=", "maps": ""}
    for name, option in pictures.items():
        program = f"""
            import runpy, sys
            sys.modules["matplotlib"] = None
            sys.argv = ["x", {f"{option}{tmp_path / 'x.svg'}"!r}]
            runpy.run_module("tropical.examples.{name}", run_name="__main__")
        """
        done = run_command(sys.executable, "-c", textwrap.dedent(program))
        assert done.returncode == 1 and not done.stdout
        missing = "error: matplotlib.figure is not installed (pip install 'tropical-blas[bench]')"
        assert done.stderr == f"python -m tropical.examples.{name}: {missing}\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "main, arguments, expected",
    [
        (letters.main, ["--picture", "x.xyz"], ".svg, .png or .pdf at the end, got x.xyz"),
        (letters.main, ["--picture", "nowhere/x.svg"], "a file in a folder that can be written to"),
        (letters.main, ["--picture", "folder.png"], "a file in a folder that can be written to"),
        (maps.main, ["file/folder"], "a folder that can be written to, got file/folder"),
        (city.main, ["--plots", "file"], "a folder that can be written to, got file"),
    ],
)
def test_pictures_that_cannot_be_written(main, arguments, expected, tmp_path, capsys, monkeypatch):
    """They are refused before the example computes what it would draw."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit):
        main(arguments)
    assert f": expected {expected}" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(5))
def test_xor_is_learned_from_any_weights(seed):
    answers = xor.learn(seed)(xor.QUESTIONS).data
    np.testing.assert_allclose(answers, xor.ANSWERS, atol=0.05)


def test_xor_is_not_known_from_the_start():
    assert abs(xor.learn(steps=0)(xor.QUESTIONS).data - xor.ANSWERS).max() > 0.3


def test_xor_runs():
    lines = run_module("tropical.examples.xor")
    assert [line[:10] for line in lines] == [
        "0 xor 0 = ", "0 xor 1 = ", "1 xor 0 = ", "1 xor 1 = ",
    ]  # fmt: skip
    assert [round(float(line[10:])) for line in lines] == [0, 1, 1, 0]


def floyd_warshall(roads, lengths):
    n = roads.max() + 1
    far = np.full((n, n), np.inf)
    far[roads[:, 0], roads[:, 1]] = far[roads[:, 1], roads[:, 0]] = lengths
    np.fill_diagonal(far, 0)
    for stop in range(n):
        far = np.minimum(far, far[:, stop, None] + far[stop])
    return far


@pytest.mark.parametrize("side", [2, 3, 5])
def test_trips_are_the_shortest(side):
    roads = learn_paths.grid(side)
    lengths = np.random.default_rng(side).uniform(0.1, 5, len(roads))
    got = learn_paths.trips(Tensor(lengths), roads).data
    np.testing.assert_allclose(got, floyd_warshall(roads, lengths), rtol=1e-12)


def test_a_trip_longer_than_any_power_of_two_below():
    """A street of 10 places, whose ends are 9 roads apart."""
    roads = np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    lengths = Tensor(np.arange(1.0, 10), requires_grad=True)
    far = learn_paths.trips(lengths, roads)[0, 9]
    assert far.item() == 45
    far.backward()
    assert lengths.grad.data.tolist() == [1] * 9


@pytest.mark.parametrize("seed", range(3))
def test_roads_are_learned_from_trips(seed):
    """All of them from half of the trips between places that are no neighbors."""
    *_, last = (line for line in learn_paths.report(seed) if " km" in line and "." in line)
    _, road, _, trip, _ = last.split()
    assert float(road) < 0.02 and float(trip) < 0.02


def test_learn_paths_runs():
    lines = run_module("tropical.examples.learn_paths")
    assert lines[0] == "40 roads, unknown; 130 trips of two roads or more, known"
    true = np.random.default_rng(0).uniform(learn_paths.LEAST, learn_paths.MOST, 40)
    assert lines[-9:] == list(learn_paths.drawing(true))


@pytest.fixture(scope="module")
def learned():
    words = letters.reference()
    return words, *letters.learn(words)


def test_letters_are_vowels_and_consonants(learned):
    words, model, likelihoods = learned
    assert words.counts.sum() > 4000 and (np.diff(likelihoods) > -1e-6).all()  # EM never declines
    found = letters.vowels(model)
    assert set("aeiou") <= set(found) <= set("aeiouygh")
    for table in (model.initial, model.transition, model.emission):
        np.testing.assert_allclose(table.sum(axis=-1), 1)
    assert letters.decode(model, ["nobody", "named"]) == ["nObOdY", "nAmEd"]


def test_letters_report_and_draw(learned, tmp_path):
    words, model, likelihoods = learned
    lines = list(letters.report(words, model, likelihoods))
    assert lines[-1] == " ".join(letters.decode(model, letters.SENTENCE))
    assert letters.as_words([]).letters.shape == (0, 0)
    pytest.importorskip("matplotlib", reason="draws")
    letters.draw(model, letters.SENTENCE, str(tmp_path / "letters.svg"))
    assert (tmp_path / "letters.svg").read_text().count("<path") > 20


def test_letters_run(monkeypatch, capsys):
    short = letters.as_words(["banana", "papaya"])
    monkeypatch.setattr(letters, "reference", lambda: short)
    letters.main([])
    assert capsys.readouterr().out.startswith("2 words, 12 letters")
