"""The answers on the flight network, against SciPy's graph algorithms."""

import numpy as np
import pytest

from tropical.examples import airports, flights
from tropical.graph import widest_paths

sparse = pytest.importorskip("scipy.sparse", reason="finds the paths in another way")
csgraph = pytest.importorskip("scipy.sparse.csgraph", reason="finds the paths in another way")


@pytest.fixture(scope="module")
def network():
    return airports.load()


@pytest.fixture(scope="module")
def legs(network):
    return flights.leg_costs(network, flights.SHORTEST)


def distances(graph, unweighted=False):
    """All distances, (n, n), in a graph whose missing edges are zero or False."""
    return csgraph.shortest_path(sparse.csr_array(graph), method="D", unweighted=unweighted)


def test_shortest_itineraries(legs):
    """Of several shortest itineraries SciPy may choose another: predecessors attain its cost."""
    cost, before = flights.cheapest(legs)
    theirs = distances(np.where(np.isfinite(legs), legs, 0))
    np.testing.assert_array_equal(cost, theirs)
    origin, end = np.nonzero(np.isfinite(theirs) & ~np.eye(len(legs), dtype=bool))
    last = before[origin, end]
    np.testing.assert_array_equal(theirs[origin, last] + legs[last, end], theirs[origin, end])


def test_airports_that_itineraries_pass_through(legs):
    """Each count is possible, and all together are the stops of all itineraries."""
    cost, before = flights.cheapest(legs)
    count = flights.passing(before)
    finite = np.isfinite(cost)
    for stop, passes in enumerate(count):
        through = finite & (cost[:, stop, None] + cost[stop] == cost)
        through[stop] = through[:, stop] = False
        np.fill_diagonal(through, val=False)
        assert passes <= np.count_nonzero(through)
    number_of_legs = cost[finite & (cost > 0)] % 1 / flights.SHORTEST
    assert count.sum() == (number_of_legs - 1).sum()


def test_widest_itineraries(network):
    """Some have w flights on every leg exactly where legs of at least w flights lead."""
    width = widest_paths(network.flights)
    pairs = [tuple(map(network.index, pair)) for pair in flights.PAIRS]
    others = ~np.eye(len(width), dtype=bool)
    for threshold in {threshold for p in pairs for threshold in (width[p], width[p] + 1)}:
        theirs = np.isfinite(distances(network.flights >= threshold, unweighted=True))
        np.testing.assert_array_equal((width >= threshold) & others, theirs & others)


def test_reachable_pairs(network):
    number_of_legs = distances(network.flights > 0, unweighted=True)
    reached = list(flights.reachable(network.flights))
    for h, ours in enumerate(reached, 1):
        np.testing.assert_array_equal(ours, number_of_legs <= h)
    np.testing.assert_array_equal(reached[-1], np.isfinite(number_of_legs))
