"""Graphs for the tests of paths, and what is right for them by slow definitions."""

import importlib
import itertools

import numpy as np

import tropical
from tropical.graph.elimination import DTYPES

# The semirings and dtypes of factors.
FACTORS = [
    (ring.name, dtype)
    for ring in tropical.semirings.ALL
    if ring.idempotent
    for dtype in ring.dtypes
    if dtype in DTYPES
]
MULTIPLY = {
    "+": lambda x, y: x + y,
    "x": lambda x, y: x * y,
    "min": min,
    "max": max,
}


def random_graph(rng, n, ring="minplus", dtype="float64", density=0.4, negative=False):
    """An (n, n) array of small whole weights, or of powers of 2, for which no cycle improves."""
    ring = tropical.semirings.get(ring)
    there = rng.random((n, n)) < density
    if dtype == "bool":
        return there
    if not ring.nonnegative:
        weights = rng.integers(-2 if negative else 0, 9, (n, n))
        weights = weights * (-1 if ring.name == "maxplus" else 1)
    elif dtype[0] == "f" or ring.direction < 0:
        weights = 2.0 ** (-ring.direction * rng.integers(0, 3, (n, n)))
    else:
        weights = there
    zero = np.array(ring.zero(dtype), dtype)  # of int64 it would be rounded among floats
    return np.where(there, weights.astype(dtype), zero)


def random_graphs(ring, dtype, n, seed, batch=(), degree=4):
    """Random graphs without cycles that improve; their numbers are whole, so sums are exact."""
    rng = np.random.default_rng((seed, n))
    there = rng.random((*batch, n, n)) < degree / max(n, 1)
    if dtype == "bool":
        return there
    low, high = (0 if dtype[0] == "u" else -9), 9
    if ring.multiply == "+":
        low, high = (0, 9) if ring.direction < 0 else (-9, 0)
    elif ring.multiply == "x":
        low, high = (1, 2) if ring.direction < 0 else (0, 1)
    weights = rng.integers(low, high, (*batch, n, n), endpoint=True).astype(dtype)
    return np.where(there, weights, ring.zero(dtype)).astype(dtype)


def thin_and_dense(rng, sizes, ring, dtype):
    """A `random_graph` of each size and of several densities, without edges to half of all."""
    for n, edges in itertools.product(sizes, (0, 1, 4, 0.5)):
        yield random_graph(rng, n, ring, dtype, edges if edges == 0.5 else edges / n)


def random_csr(seed, n, m, dtype="float64", least=0, acyclic=False):
    """A CSR array with parallel edges, ties and edges of weight 0, and loops unless acyclic."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, max(n, 1), (2, m if n else 0))
    if acyclic:
        number = rng.permutation(n)
        keep = number[source] < number[target]
        source, target = source[keep], target[keep]
    order = np.argsort(source, kind="stable")
    start = np.searchsorted(source[order], np.arange(n + 1))
    weight = rng.integers(least, 9, len(source)).astype(dtype)
    sparse = importlib.import_module("scipy.sparse")
    return sparse.csr_array((weight, target[order], start), shape=(n, n))


def product(stops, w, ring):
    """The product of the edges between `stops`, or one."""
    value = ring.one(w.dtype)
    for i, j in itertools.pairwise(stops):
        if w[i, j] == ring.zero(w.dtype):
            return ring.zero(w.dtype)
        value = MULTIPLY[ring.multiply](value, w[i, j].item())
    return value


def simple_paths(n, i, j):
    """Every sequence of different vertices from i to j."""
    if i == j:
        yield (i,)
        return
    others = [v for v in range(n) if v not in (i, j)]
    for count in range(n - 1):
        for between in itertools.permutations(others, count):
            yield (i, *between, j)


def best_of(values, ring, dtype):
    return {-1: min, 1: max}[ring.direction]([ring.zero(dtype), *values])


def enumerated(w, ring):
    """The best products over all simple paths; enough where no cycle improves."""
    n = len(w)
    return np.array(
        [
            [
                best_of((product(p, w, ring) for p in simple_paths(n, i, j)), ring, w.dtype)
                for j in range(n)
            ]
            for i in range(n)
        ],
        w.dtype,
    ).reshape(n, n)


def assert_predecessors(predecessors, values, w, ring, path, pairs=None):
    """The predecessors are paths of `w` that attain `values`, for all pairs unless given."""
    assert predecessors.dtype == np.int32 and predecessors.shape == values.shape
    none = ring.zero(w.dtype)
    for i, j in itertools.product(range(len(w)), repeat=2) if pairs is None else pairs:
        stops = path(predecessors, i, j)
        if i != j and values[i, j] == none:
            assert stops == [] and predecessors[i, j] == -9999
        elif i == j:
            assert stops == [i] and predecessors[i, j] == -9999
        else:
            assert (stops[0], stops[-1]) == (i, j) and len(set(stops)) == len(stops)
            assert product(stops, w, ring) == values[i, j]
