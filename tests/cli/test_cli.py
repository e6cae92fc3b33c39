"""python -m tropical: answers on the flight network against a plain Dijkstra; errors; rates."""

import csv
import heapq
import itertools
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import run_command

import tropical
from tropical.cli import COMMANDS, main
from tropical.cli.rates import rates_of
from tropical.measure import contenders
from tropical.measure.terminal import refusing
from tropical.measure.timing import QUICK

DATA = Path(tropical.__file__).parent / "data"
ROUTE = re.compile(
    r"^  ([A-Z]{3}(?: - [A-Z]{3})+): ([\d,]+) km, (\d+) legs?, ([\d,]+) flights? or more$",
    re.MULTILINE,
)


def rows(name):
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


PLACES = {r["iata"]: (float(r["latitude"]), float(r["longitude"])) for r in rows("airports.csv")}
FLIGHTS = {(r["origin"], r["destination"]): int(r["count"]) for r in rows("flights_2008.csv")}


def kilometers(one, other):
    """Great-circle distance by the haversine formula, Earth's mean radius."""
    (phi, lam), (psi, mu) = (map(math.radians, PLACES[x]) for x in (one, other))
    north, east = math.sin((phi - psi) / 2) ** 2, math.sin((lam - mu) / 2) ** 2
    h = north + math.cos(phi) * math.cos(psi) * east
    return 2 * 6371.0088 * math.asin(math.sqrt(h))


def dijkstra(origin, least=1, per_leg=0.0):
    """{airport: cost} over legs with at least `least` flights."""
    legs = {}
    for (start, end), count in FLIGHTS.items():
        if count >= least and start != end:
            legs.setdefault(start, []).append((end, kilometers(start, end) + per_leg))
    cost, queue = {}, [(0.0, origin)]
    while queue:
        so_far, here = heapq.heappop(queue)
        if here in cost:
            continue
        cost[here] = so_far
        for end, length in legs.get(here, ()):
            if end not in cost:
                heapq.heappush(queue, (so_far + length, end))
    return cost


def widest(origin, destination):
    """The largest number of flights that every leg of some itinerary has."""
    low, high = 0, max(FLIGHTS.values())
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if destination in dijkstra(origin, middle) else (low, middle - 1)
    return low


def number(text):
    return int(text.replace(",", ""))


@pytest.mark.parametrize(
    "origin,destination",
    [("SEA", "MIA"), ("JFK", "LAX"), ("ADK", "STX"), ("BIS", "CDV"), ("ABE", "ATL")],
)
def test_flights(capsys, origin, destination):
    """Length, width and number of legs of the three itineraries; each leg is a real route."""
    assert main(["flights", origin.lower(), destination]) == 0
    found = ROUTE.findall(capsys.readouterr().out)
    assert len(found) == 3
    width = widest(origin, destination)
    many = 1e6  # kilometers that a leg costs, to have as few as possible
    fewest = dijkstra(origin, per_leg=many)[destination]
    shortest, through = dijkstra(origin), dijkstra(origin, least=width)
    want = [shortest[destination], through[destination], fewest % many]
    for (route, km, legs, least), expected in zip(found, want, strict=True):
        stops = route.split(" - ")
        pairs = list(itertools.pairwise(stops))
        assert (stops[0], stops[-1], len(pairs)) == (origin, destination, int(legs))
        assert min(FLIGHTS[pair] for pair in pairs) == number(least)
        assert abs(sum(kilometers(*pair) for pair in pairs) - expected) < 0.01
        assert abs(number(km) - expected) <= 0.51
    assert number(found[1][3]) >= width
    assert int(found[2][2]) == fewest // many


@pytest.mark.parametrize(
    "arguments,expected",
    [
        (["flights", "SEB", "MIA"], ["SEB", "SEA"]),
        (["flights", "SEA", "Miami"], ["Miami", "MIA"]),
        (["flights", "SEA", "QQQQQQ"], ["QQQQQQ"]),
        (["flights", "SEA", "SEA"], ["SEA"]),
        (["flights", "SEA"], ["destination"]),
        (["fly"], ["fly"]),
        (["info", "now"], ["now"]),
    ],
)
def test_errors(capsys, arguments, expected):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    captured = capsys.readouterr()
    assert error.value.code == 2 and not captured.out
    assert all(part in captured.err for part in expected), captured.err


INFO = [sys.executable, "-m", "tropical", "info"]


def test_a_wrong_environment():
    done = run_command(*INFO, env={**os.environ, "TROPICAL_ISA": "AVX2"})
    assert done.returncode == 2 and "unknown TROPICAL_ISA 'AVX2'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(INFO, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("python -m tropical: error:") and "Traceback" not in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(INFO, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 1 and not done.stderr


def test_a_broken_pipe_is_no_error_of_a_command():
    @refusing("bench")
    def broken(argv):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        broken()


def test_characters_that_the_terminal_lacks():
    """A file of settings, and the notice of an example, with an encoding that has neither."""
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "TROPICAL_ISA": "é"}
    done = run_command(sys.executable, "-m", "tropical", "doctor", env=env)
    assert done.returncode == 1 and "unknown TROPICAL_ISA '\\xe9'" in done.stdout
    done = run_command(sys.executable, "-m", "tropical.examples.city", "--help", env=env)
    assert done.returncode == 0 and "\\xa9 OpenStreetMap" in done.stdout


def test_without_any_output():
    run_command("bash", "-c", f"{shlex.join(INFO)} >&-").check_returncode()


def test_an_interruption():
    code = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job may ignore
runpy.run_module("tropical", run_name="__main__")
"""
    command = [sys.executable, "-u", "-c", code, "table"]  # which takes minutes
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130 and errors == "python -m tropical: interrupted\n"


def test_info(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert tropical.__version__ in out and tropical.config.config()["isa"] in out


def test_version(capsys):
    with pytest.raises(SystemExit) as error:
        main(["--version"])
    assert error.value.code == 0 and tropical.__version__ in capsys.readouterr().out


def test_welcome():
    """A question and its answer come first, then what to try next; few lines, and none is wide."""
    run = run_command(sys.executable, "-W", "error", "-m", "tropical", timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert "305 airports" in lines[0] and "5,366 routes" in lines[0]
    assert len(lines) < 40 and max(map(len, lines)) <= 100
    ((route, km, legs, least),) = ROUTE.findall(run.stdout)
    pairs = list(itertools.pairwise(route.split(" - ")))
    assert len(pairs) == int(legs) and min(FLIGHTS[pair] for pair in pairs) == number(least)
    shortest = dijkstra(route[:3])
    assert abs(shortest[route[-3:]] - number(km)) < 1
    assert f"{widest(route[:3], route[-3:])} or more a year" in run.stdout
    assert re.search(r"91,810 ways, in \d+ ms", run.stdout)
    for command in re.findall(r"^  python -m tropical (\w+)", run.stdout, re.MULTILINE):
        assert command in COMMANDS


def test_rates(capsys):
    """No share is more than 100%, and no rate more than the ceiling beside it."""
    assert main(["rates"]) == 0
    out = capsys.readouterr().out
    for semiring in tropical.semirings.ALL:
        pattern = rf"{re.escape(str(semiring))}\s+\w+\s+([\d.]+)\s+([\d.]+)\s+(\d+)%"
        ((rate, ceiling, share),) = re.findall(pattern, out)
        assert float(rate) <= float(ceiling) and int(share) <= 100


def test_a_share_is_at_most_one(monkeypatch):
    """Also where the ceiling was measured while another program had the processor."""

    def slow(*arguments):
        ceiling = contenders.ceiling(*arguments)
        return replace(ceiling, work=ceiling.work / 1e3)

    monkeypatch.setattr(
        "tropical.cli.rates.contenders",
        SimpleNamespace(ours=contenders.ours, operands=contenders.operands, ceiling=slow),
    )
    (found,) = rates_of("maxplus", "float32", budget=QUICK)
    assert found.share == 1 and found.ceiling == found.rate


@pytest.fixture(scope="module")
def everything():
    """What `python -m tropical flights` prints."""
    run = run_command(sys.executable, "-W", "error", "-m", "tropical", "flights", timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_everything(everything):
    assert "305 airports" in everything and "5,366 routes" in everything
    for route, km, legs, least in ROUTE.findall(everything):
        stops = route.split(" - ")
        pairs = list(itertools.pairwise(stops))
        assert len(pairs) == int(legs) and min(FLIGHTS[pair] for pair in pairs) == number(least)
        assert abs(sum(kilometers(*pair) for pair in pairs) - number(km)) < 1
    assert len(ROUTE.findall(everything)) >= 6
    passed = r"^  [A-Z]{3} .*?\s[\d,]+\s+[\d.]+%$"  # test_flights.py says how often
    assert len(re.findall(passed, everything, re.MULTILINE)) == 10


def test_everything_counts_reachable_pairs(everything):
    index = {code: i for i, code in enumerate(PLACES)}
    step = np.eye(len(index), dtype=bool)
    for start, end in FLIGHTS:
        step[index[start], index[end]] = True
    reached = step
    lines = re.findall(r"^  h = (\d+)\s+([\d,]+)", everything, re.MULTILINE)
    assert len(lines) >= 3
    for h, count in lines:
        assert number(count) == reached.sum() - len(index), h
        reached = reached.astype(int) @ step > 0
    assert np.array_equal(reached, reached.astype(int) @ step > 0), "more legs would reach more"
