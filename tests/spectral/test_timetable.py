"""The timetable example: its matrix, its circuit, its delays."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from support import run_module

import tropical
from tropical.examples import timetable
from tropical.examples.airports import load
from tropical.graph import DivergenceError
from tropical.spectral import maximum_cycle_mean

NETWORK = load()
PLAN = timetable.shuttles(NETWORK)


def test_flights_there_and_back():
    assert len(PLAN.flights) == len(set(PLAN.flights)) == 110
    assert {(j, i) for i, j in PLAN.flights} == set(PLAN.flights)
    lax, jfk = NETWORK.index("LAX"), NETWORK.index("JFK")
    east, west = (timetable.gate_to_gate(NETWORK, *pair) for pair in ((lax, jfk), (jfk, lax)))
    assert 300 < east < west < 360
    for minutes, rounds in zip(PLAN.minutes, PLAN.rounds, strict=True):
        assert (rounds - 1) * 60 < minutes + timetable.TURN <= rounds * 60


def simulated(plan, rounds):
    """Departures flight by flight, from the rule alone; in round 0 and before nothing waits."""
    found = np.zeros((rounds + 1, len(plan.flights)))
    for k in range(1, rounds + 1):
        for j, (origin, end) in enumerate(plan.flights):
            for i, (start, stop) in enumerate(plan.flights):
                if stop == origin and k >= plan.rounds[i]:
                    stay = timetable.TURN if start == end else timetable.TRANSFER
                    ready = found[k - plan.rounds[i], i] + plan.minutes[i] + stay
                    found[k, j] = max(found[k, j], ready)
    return found


def test_the_system_is_the_rule():
    plan = timetable.shuttles(NETWORK, lines=12)
    a, departures = plan.system(), plan.departures()
    first = np.full(len(a), -np.inf)
    first[departures] = 0
    x = tropical.spectral.schedule(a, first, 15, inputs=np.where(np.isin(
        np.arange(len(a)), departures), 0, -np.inf)[None])  # fmt: skip
    np.testing.assert_array_equal(x[:, departures], simulated(plan, 15))


def test_the_circuit_has_the_mean():
    circuit = PLAN.critical()
    minutes = rounds = 0
    for flight, following in pairwise([*circuit, circuit[0]]):
        (origin, end), (start, onward) = PLAN.flights[flight], PLAN.flights[following]
        assert end == start
        stay = timetable.TURN if onward == origin else timetable.TRANSFER
        minutes += PLAN.minutes[flight] + stay
        rounds += PLAN.rounds[flight]
    assert maximum_cycle_mean(PLAN.system()).exact == Fraction(minutes, rounds) > 60


def test_more_aircraft():
    means = [maximum_cycle_mean(plan.system()).mean for _, plan in timetable.quickened(PLAN)]
    assert means == sorted(means, reverse=True)
    assert means[-1] <= 60 < means[-2]


def test_delays():
    period = 62
    none = np.zeros(len(PLAN.flights))
    np.testing.assert_array_equal(timetable.delays(PLAN, period, none, 5), 0)
    late = timetable.delays(PLAN, period + 8, timetable.storm(NETWORK, PLAN), 30)
    assert late[0].max() == timetable.STORM and late[-1].max() == 0
    assert set(np.flatnonzero(late[0])) == {
        i for i, (origin, _) in enumerate(PLAN.flights) if NETWORK.codes[origin] == "ORD"
    }
    with pytest.raises(DivergenceError):
        timetable.timetable(PLAN.system(), 61)


def test_it_runs_and_draws(tmp_path):
    pytest.importorskip("matplotlib", reason="draws the picture")
    lines = run_module("tropical.examples.timetable", str(tmp_path / "picture.png"))
    assert lines[0].startswith("55 lines between 29 airports, 306 aircraft")
    assert any("557/9 = 61.89 minutes" in line for line in lines)
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_no_aircraft_are_enough_for_no_time():
    with pytest.raises(ValueError, match="period: expected more than 0, got 0"):
        timetable.quickened(PLAN, 0)
