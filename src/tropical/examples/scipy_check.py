"""What `flights` found, against scipy's graph algorithms; says so where scipy is not installed.

Each check returns a line to print, and raises RuntimeError where scipy disagrees.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

_Arguments = ParamSpec("_Arguments")


def _check(compare: Callable[_Arguments, str]) -> Callable[_Arguments, str]:
    """Make a comparison with scipy a check that only runs where scipy is installed."""

    @wraps(compare)
    def check(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> str:
        try:
            import scipy
        except ModuleNotFoundError:
            return "scipy not installed: not checked"
        return f"checked against scipy {scipy.__version__}: {compare(*args, **kwargs)}"

    return check


@_check
def shortest(
    legs: NDArray[np.float64], cost: NDArray[np.float64], predecessor: NDArray[np.int32]
) -> str:
    """Check costs and predecessors by Dijkstra's algorithm from every airport.

    Of several shortest itineraries scipy may choose another, so a predecessor is right if its leg
    exists and attains scipy's cost.
    """
    theirs = _cheapest(legs)
    _require(np.array_equal(cost, theirs), "shortest lengths")
    origin, end = np.nonzero(np.isfinite(theirs) & ~np.eye(len(legs), dtype=np.bool_))
    last = predecessor[origin, end]
    attained = theirs[origin, last] + legs[last, end] == theirs[origin, end]
    _require(bool(attained.all()), "predecessors")
    return f"{origin.size:,} lengths are equal, every predecessor attains its length"


@_check
def passing(legs: NDArray[np.float64], per_leg: float, count: NDArray[np.intp]) -> str:
    """Check how many itineraries pass through each airport, where leg costs are meters + `per_leg`.

    The count is at most that of the pairs whose cost by scipy is attained through the airport, and
    less only where several itineraries attain it; together the counts are all stops of all
    itineraries.
    """
    theirs = _cheapest(legs)
    possible = np.array([_pairs_through(theirs, stop) for stop in range(len(legs))])
    _require(bool((count <= possible).all()), "pass counts")
    number_of_legs = theirs[np.isfinite(theirs) & (theirs > 0)] % 1 / per_leg
    _require(bool(count.sum() == (number_of_legs - 1).sum()), "pass counts together")
    return (
        f"every count is attained, {count.sum():,} passes together, "
        f"{possible.sum() - count.sum()} more possible by ties"
    )


def _cheapest(legs: NDArray[np.float64]) -> NDArray[np.float64]:
    return _distances(np.where(np.isfinite(legs), legs, 0), unweighted=False)


def _pairs_through(distance: NDArray[np.float64], stop: int) -> int:
    """Return for how many pairs a shortest itinerary has `stop` between its ends."""
    through = distance[:, stop, None] + distance[stop] == distance
    through &= np.isfinite(distance)
    through[stop] = through[:, stop] = False
    np.fill_diagonal(through, val=False)
    return int(np.count_nonzero(through))


@_check
def widest(flights: NDArray[np.int32], width: NDArray[np.int32], sample: Iterable[int]) -> str:
    """Check widths: w or more exactly where legs of at least w flights lead.

    For each w of `sample` and w + 1, which together prove the sampled widths, and for all pairs.
    """
    thresholds = sorted({threshold for w in sample for threshold in (w, w + 1)})
    others = ~np.eye(len(width), dtype=np.bool_)
    for threshold in thresholds:
        theirs = np.isfinite(_distances(flights >= threshold, unweighted=True))
        _require(np.array_equal((width >= threshold) & others, theirs & others), "widths")
    return f"{np.count_nonzero(others):,} widths are right at {len(thresholds)} thresholds"


@_check
def reachable(flights: NDArray[np.int32], reached: Sequence[NDArray[np.bool_]]) -> str:
    """Check where h legs lead by a breadth-first search from every airport."""
    legs = _distances(flights > 0, unweighted=True)
    for h, ours in enumerate(reached, 1):
        _require(np.array_equal(ours, legs <= h), f"reachability in {h} legs")
    _require(np.array_equal(reached[-1], np.isfinite(legs)), "reachability in any number of legs")
    return f"all are equal for h = 1 to {len(reached)}, and more legs connect no others"


def _distances(
    graph: NDArray[np.float64] | NDArray[np.bool_], *, unweighted: bool
) -> NDArray[np.float64]:
    """Return all distances, (n, n), in a graph whose missing edges are zero or False."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    distances: NDArray[np.float64] = shortest_path(
        csr_array(graph), method="D", unweighted=unweighted
    )
    return distances


def _require(equal: bool, what: str) -> None:
    if not equal:
        raise RuntimeError(f"{what} differ from what scipy finds")
