"""python -m tropical bench --cliffs: which products, which neighbors, what is listed and drawn."""

import itertools
import json
import shlex
import sys

import numpy as np
import oracle
import pytest
from support import run_command

from tropical import semirings
from tropical.bench import cliffs_command, families, obvious
from tropical.bench.cliffs import (
    NEIGHBORS,
    ONE_THREAD,
    OURS,
    beside_neighbors,
    limits,
    measure,
    rankings,
    share,
)
from tropical.bench.families import BYTES, draw, kinds
from tropical.bench.points import LAYOUTS, SHARED, Point, lay_out, parse
from tropical.bench.record import Record, Times
from tropical.bench.side_by_side import main
from tropical.measure.contenders import AbsentError, NotInstalledError
from tropical.measure.timing import QUICK

WORK = 1e4


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(cliffs_command, "CAREFUL", QUICK)


def some(count, seed=0, work=WORK):
    return list(itertools.islice(draw(seed, work), count))


def row(point, shares, **others):
    """A record of `point`, which takes a second and reaches `shares` of the ceiling."""
    times = {OURS: Times(1, [1.0] * len(shares))}
    times |= {name: Times(1, [seconds] * len(shares)) for name, seconds in others.items()}
    return Record("cliffs", repr(point), times | {"ceiling": Times(1, shares)}, "ceiling")


def test_points_follow_from_the_seed():
    assert some(300) == some(300)
    assert some(50) == some(300)[:50]
    assert some(50) != some(50, seed=1)


def test_points_are_all_different_and_of_every_kind():
    points = some(4000)
    assert len(set(points)) == len(points)
    assert all(point.products <= WORK and point.nbytes <= BYTES for point in points)
    assert {(p.semiring, p.dtype, p.argmax) for p in points} == set(kinds())
    assert {p.a for p in points} == {p.b for p in points} == {*LAYOUTS, SHARED}
    assert {p.out for p in points} == set(LAYOUTS)
    assert {p.values for p in points} >= {"NaN", "wide", "zeros", "infinite"}
    assert min(p.m for p in points) == 1 and max(p.m for p in points) > 1000


def test_points_of_one_product_end(monkeypatch):
    monkeypatch.setattr(families, "kinds", lambda: [("orand", "bool", False)])
    points = list(draw(0, 1))
    assert len(points) > 1 and all(point.products == 1 for point in points)


@pytest.mark.parametrize("point", some(120, seed=3), ids=repr)
def test_a_point_is_a_product(point):
    """Also in its layouts; and its text makes it again."""
    assert parse(repr(point)) == point == eval(repr(point))
    a, b = point.operands()
    contender = point.contender()
    with contender.context():
        got = contender.call()
    got, index = got if point.argmax else (got, None)
    exact = semirings.get(point.semiring).exact
    if not exact:
        return
    for item in range(max(1, point.batch)):
        left, right = (a[item], b[item]) if point.batch else (a, b)
        want = oracle.gemm(left, right, point.semiring)
        np.testing.assert_array_equal(got[item] if point.batch else got, want)
    assert index is None or index.shape == got.shape


@pytest.mark.parametrize("text", ["", "Point(2)", "Point(2, 3, 4, x=1)", "3", "Point(2, 3, f())"])
def test_parse_refuses_other_text(text):
    with pytest.raises(ValueError, match="expected a point"):
        parse(text)


@pytest.mark.parametrize("layout", [*LAYOUTS, SHARED])
def test_layouts_hold_the_same_values(layout):
    x = np.arange(24.0).reshape(2, 3, 4)
    view = lay_out(layout, x)
    np.testing.assert_array_equal(view, x[:1].repeat(2, 0) if layout == SHARED else x)
    assert view.flags.c_contiguous == (layout == "rows")


def test_limits():
    cube, vector = Point(64, 64, 64), Point(1, 4096, 64)
    need = {name: need for name, (_, need) in limits(cube).items()}
    ceiling = limits(cube)["ceiling"][0]
    assert need["ceiling"] == 2 * 64**3 / ceiling.work and need["call"] == 1
    assert limits(cube, threads=2)["ceiling"][1] == need["ceiling"] / 2
    memory, times = limits(vector)["memory"]
    assert 2 * memory.work * times == vector.nbytes == 4 * (4096 + 4096 * 64 + 64)
    assert Point(2, 3, 4, argmax=True).nbytes - Point(2, 3, 4).nbytes == 2 * 4 * 8
    assert Point(2, 3, 4, a="strided").nbytes - Point(2, 3, 4).nbytes == 2 * 3 * 4


def test_measure():
    found = measure(Point(8, 8, 8), QUICK, rivals=["numpy"])
    assert list(found.times)[:2] == [OURS, "numpy"] and found.reference in found.times
    assert 0 < share(found) == found.measured and found.case == "Point(8, 8, 8)"


def test_neighbors_are_near_and_of_the_same_kind():
    """Ten sizes at share 1 and one at a fifth; and another dtype, which is not compared."""
    slow = Point(8, 8, 8)
    points = [Point(size, 8, 8) for size in (1, 2, 4, 16, 32)] + [slow]
    points += [Point(8, size, 8) for size in (1, 2, 4, 16, 32)]
    found = {point: row(point, [0.2 if point == slow else 1.0]) for point in points}
    found |= {point: row(point, [0.01]) for point in [Point(4096, 4096, 4096)] * 2}
    alone = Point(8, 8, 8, dtype="int8")
    found[alone] = row(alone, [0.5])
    ratios = beside_neighbors(found)
    assert ratios[slow] == 0.2 and alone not in ratios
    assert all(ratio == 1 for point, ratio in ratios.items() if point.m < 4096 and point != slow)
    assert len(points) == NEIGHBORS + 1
    assert beside_neighbors(found, nearest=1)[Point(8, 16, 8)] == 5


def test_rankings():
    points = [Point(size, 2, 2) for size in range(1, 6)]
    found = {p: row(p, [1 / p.m], **{"numpy": 0.5, ONE_THREAD: 0.1 * p.m}) for p in points}
    beside, over, numpy, threads = rankings(found)
    assert over.worst(2) == points[:2:-1] and over.numbers[points[4]] == pytest.approx(5)
    assert beside.worst(1) == points[4:] and beside.bad == 0
    assert numpy.bad == 5 and set(numpy.numbers.values()) == {2.0}
    assert threads.worst(1) == points[:1] and "one thread" in threads.title


def simple(count):
    """Points whose values need no rules that a simple loop lacks; integers wrap in such loops."""
    plain = (p for p in draw(5, 300) if np.dtype(p.dtype).kind in "fb")
    return list(itertools.islice((p for p in plain if p.values in ("ordinary", "zeros")), count))


@pytest.mark.parametrize("point", simple(40), ids=repr)
def test_the_obvious_loops_of_numpy_compute_products(point):
    contender = obvious.with_numpy(point)
    with contender.context():
        got = contender.call()
    ours = point.contender().call()
    if point.argmax and isinstance(got, tuple):
        got, ours = got[0][..., 0], ours[0]
    elif point.argmax:
        ours = ours[0]
    np.testing.assert_allclose(got, ours, rtol=1e-4)


@pytest.mark.parametrize("semiring", ["maxplus", "minmax"])
def test_the_obvious_loops_of_numba_find_the_same_index(semiring):
    pytest.importorskip("numba")
    for argmax in (False, True):
        point = Point(3, 9, 5, semiring=semiring, argmax=argmax)
        got, want = obvious.with_numba(point).call(), point.contender().call()
        for x, y in zip(got, want, strict=True) if argmax else [(got, want)]:
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("point", [Point(2, 3, 4, batch=2), Point(2, 3, 4, a="columns")], ids=repr)
def test_numba_has_loops_for_few_points(point):
    with pytest.raises(AbsentError):
        obvious.with_numba(point)


def test_broadcasting_is_small():
    with pytest.raises(AbsentError, match="broadcasting"):
        obvious.with_numpy(Point(4096, 4096, 9))


def test_command(tmp_path, capsys):
    """End to end; then the file is shown again, with the same lists and another picture."""
    pytest.importorskip("matplotlib")
    json_file, first, second = (tmp_path / name for name in ("x.json", "1.png", "2.png"))
    few = ["--points", "9", "--work", "1000", "--worst", "3", "--rivals", "numpy"]
    assert main(["--cliffs", *few, "--json", str(json_file), "--plot", str(first)]) == 0
    printed = capsys.readouterr().out
    assert "9 products" in printed and "times the time of numpy" in printed
    listed = [line.split("  ")[-1] for line in printed.splitlines() if line.endswith(")")]
    assert {parse(line) for line in listed if line.startswith("Point")} <= set(some(9, work=1000))
    report = json.loads(json_file.read_text())
    assert len(report["rows"]) == 9 and report["seed"] == 0
    again = ["--cliffs", "--show", str(json_file), "--worst", "3", "--plot", str(second)]
    assert main(again) == 0 and capsys.readouterr().out == printed
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (first, second))


def test_threads(capsys):
    try:
        Point(1, 1, 1).contender(threads=2)
    except AbsentError as absent:
        pytest.skip(str(absent))
    assert main(["--cliffs", "--points", "3", "--work", "100", "--threads", "2"]) == 0
    assert "times the time of one thread" in capsys.readouterr().out


def test_more_threads_than_cores(capsys):
    assert main(["--cliffs", "--points", "1", "--threads", "999999"]) == 2
    assert "bench: error: 999999 threads need as many cores" in capsys.readouterr().err


def test_without_any_output():
    command = sys.executable, "-m", "tropical", "bench", "--cliffs", "--points", "1", "--work", "9"
    run_command("bash", "-c", f"{shlex.join(command)} >&-").check_returncode()


def test_an_interruption_shows_what_was_found(monkeypatch, capsys):
    calls = itertools.count()

    def interrupted(point, budget, **options):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return row(point, [0.5])

    monkeypatch.setattr(cliffs_command, "measure", interrupted)
    assert main(["--cliffs"]) == 130
    assert "3 products; median share of the nearest limit: 0.50" in capsys.readouterr().out


def test_what_looks_slow_is_measured_again_and_time_ends(monkeypatch, capsys):
    """The second measurement counts; with no time, nothing is measured."""

    def moody(point, budget, **options):
        return row(point, [0.1 if budget is cliffs_command.FAST else 0.8])

    monkeypatch.setattr(cliffs_command, "measure", moody)
    assert main(["--cliffs", "--points", "20", "--worst", "10"]) == 0
    assert "median share of the nearest limit: 0.80" in capsys.readouterr().out
    assert main(["--cliffs", "--seconds", "1e-9"]) == 0
    assert "nothing was measured" in capsys.readouterr().out


@pytest.mark.parametrize(
    "module, options",
    [
        ("matplotlib", ["--plot", "never-made.png"]),
        ("threadpoolctl", ["--rivals", "numpy"]),
        ("numba", ["--rivals", "numba"]),
    ],
)
def test_what_is_missing_is_said_before_measuring(module, options, monkeypatch, capsys):
    def require(name):
        assert name == module
        raise NotInstalledError(f"{name} is not installed")

    monkeypatch.setattr(cliffs_command, "require", require)
    monkeypatch.setattr(cliffs_command, "measure", lambda *_, **__: pytest.fail("measured"))
    assert main(["--cliffs", *options]) == 2
    assert f"{module} is not installed" in capsys.readouterr().err
