"""Roads measured by the trips over them: ``python -m tropical.examples.learn_paths``.

We know the map and the lengths of the shortest trips between some places, but neither the length of
each road nor the roads of each trip. The lengths of trips are min-plus powers of the matrix of
roads; the gradient goes through the argmin to the roads of a trip only. Seismologists explore the
ground in the same way: D. Burton and Ph. L. Toint, "On an
instance of the inverse shortest paths problem", Mathematical Programming 53, 1992.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical import nn, optim
from tropical.autograd import Tensor, concatenate, exp, matmul, mse
from tropical.examples import new_parser
from tropical.examples.flights import print_lines
from tropical.measure.terminal import run

if TYPE_CHECKING:
    from collections.abc import Iterator

Array: TypeAlias = NDArray[Any]
SIDE = 5  # places in a row of the map
LEAST, MOST = 1.0, 2.0  # km: no way round is shorter than a road


def grid(side: int) -> Array:
    """Return the two ends of each road, (m, 2): first those along the rows, then those across.

    Examples
    --------
    >>> from tropical.examples.learn_paths import grid
    >>> grid(2).tolist()  # places 0 and 1 above 2 and 3
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    places = np.arange(side * side).reshape(side, side)
    along = np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()], axis=1)
    across = np.stack([places[:-1].ravel(), places[1:].ravel()], axis=1)
    return np.concatenate([along, across])


def trips(lengths: Tensor, roads: Array) -> Tensor:
    """Return the length of the shortest trip between all n places, (n, n).

    Parameters
    ----------
    lengths : Tensor, (m,)
        The length of each road, in both directions.
    roads : (m, 2) array
        The two ends of each road.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd import Tensor
    >>> from tropical.examples.learn_paths import trips
    >>> lengths = Tensor([1.0, 5.0, 2.0], requires_grad=True)
    >>> far = trips(lengths, np.array([[0, 1], [0, 2], [1, 2]]))[0, 2]
    >>> far.item()
    3.0
    >>> far.backward()  # it went by way of 1
    >>> lengths.grad
    Tensor([1., 0., 1.])
    """
    n = int(roads.max()) + 1
    road = np.full((n, n), len(roads))  # the road from i to j; len(roads) means none
    road[roads[:, 0], roads[:, 1]] = road[roads[:, 1], roads[:, 0]] = np.arange(len(roads))
    np.fill_diagonal(road, len(roads) + 1)  # staying is free
    best: Tensor = concatenate([lengths, np.array([np.inf, 0.0])])[road]
    for _ in range((n - 1).bit_length()):  # trips of up to 2, 4, 8, ... roads
        best = matmul(best, best, semiring="minplus")
    return best


def learn(roads: Array, pairs: Array, observed: Array, steps: int = 1000) -> Iterator[Array]:
    """Yield the lengths of the roads, (m,), after each step of learning them from trips.

    Parameters
    ----------
    roads : (m, 2) array
        The two ends of each road.
    pairs : (p, 2) array
        Start and end of each trip.
    observed : (p,) array
        The length of each trip.
    steps : int, default 1000
        The number of steps.
    """
    start, end = pairs.T
    logarithms = nn.Parameter(np.full(len(roads), np.log((LEAST + MOST) / 2)))  # keep above zero
    optimizer = optim.Adam([logarithms], lr=0.05)
    for step in range(steps):
        optimizer.lr = 0.05 * (1 - step / steps)
        loss = mse(trips(exp(logarithms), roads)[start, end], observed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield np.exp(logarithms.data)


def report(seed: int = 0) -> Iterator[str]:
    """Yield the lines of an experiment: make a map, learn its roads from half of the trips."""
    rng = np.random.default_rng(seed)
    roads = grid(SIDE)
    true = rng.uniform(LEAST, MOST, len(roads))
    lengths = trips(Tensor(true), roads).data
    # Neighbors would give their road away.
    far = np.argwhere(np.triu(trips(Tensor(np.ones(len(roads))), roads).data > 1))
    seen, unseen = np.array_split(rng.permutation(far), 2)
    yield f"{len(roads)} roads, unknown; {len(seen)} trips of two roads or more, known\n"
    yield "   step   worst road   worst of the trips that were not seen"
    for step, learned in enumerate(learn(roads, seen, lengths[tuple(seen.T)]), 1):
        if step in (1, 10, 30, 100, 300, 1000):
            wrong = np.abs(trips(Tensor(learned), roads).data - lengths)[tuple(unseen.T)]
            yield f"{step:>7}{np.abs(learned - true).max():>10.4f} km{wrong.max():>10.4f} km"
    yield "\nThe map that was learned (km)\n"
    yield from drawing(learned)


def drawing(lengths: Array) -> Iterator[str]:
    """Yield the lines of a map of the grid, with a length at each road."""
    count = SIDE * (SIDE - 1)
    along, across = lengths[:count].reshape(SIDE, -1), lengths[count:].reshape(-1, SIDE)
    for row in range(SIDE):
        yield "  o" + "".join(f" {length:.2f} o" for length in along[row])
        if row < SIDE - 1:
            yield " " + "   ".join(f"{length:.2f}" for length in across[row])


def _main() -> None:
    new_parser("learn_paths", __doc__).parse_args()
    print_lines(report())


if __name__ == "__main__":
    run("python -m tropical.examples.learn_paths", _main)
