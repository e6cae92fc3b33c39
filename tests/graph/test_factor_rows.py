"""Lengths to all vertices, whose working rows are reused, are those to targets, to the bit."""

import graphs
import numpy as np
import pytest

import tropical
from tropical.graph import factorize

sp = pytest.importorskip("scipy.sparse", reason="whose arrays are factorized")


def one_by_one(factor, sources):
    """Return the lengths by rows that are neither reused nor wide."""
    targets = np.arange(factor.n)
    return np.concatenate([factor.lengths([source], targets) for source in sources])


def numbered(rng, source, target, n):
    """Return a graph with these edges whose vertices are numbered at random."""
    number = rng.permutation(n)
    weights = rng.integers(1, 9, len(source)).astype(np.float32)
    return sp.coo_array((weights, (number[source], number[target])), shape=(n, n)).tocsr()


def grid(side):
    v = np.arange(side * side)
    right, up = v[v % side > 0], v[side:]
    return np.concatenate([right, up]), np.concatenate([right - 1, up - side]), side * side


def families(rng):
    yield np.arange(99_999), np.arange(1, 100_000), 100_000  # a chain
    yield np.zeros(2_999, int), np.arange(1, 3_000), 3_000  # a star
    roots = np.arange(5_000) % 100 == 0
    yield (
        np.arange(5_000)[~roots],
        (rng.random(5_000) * np.arange(5_000)).astype(int)[~roots],
        5_000,
    )
    yield *np.nonzero(np.triu(np.ones((70, 70)), 1)), 70  # a clique
    yield grid(60)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("directed", [False, True])
def test_families(number, directed):
    rng = np.random.default_rng(number)
    source, target, n = list(families(rng))[number]
    factor = factorize(numbered(rng, source, target, n), directed=directed)
    sources = rng.integers(0, n, 70)
    assert np.array_equal(factor.lengths(sources), one_by_one(factor, sources))


@pytest.mark.parametrize("name, dtype", graphs.FACTORS)
def test_every_number_of_sources(name, dtype):
    """Less than a row of X has, a row, wide rows, more than one of them; on several threads."""
    rng = np.random.default_rng(7)
    n = 300
    w = (
        graphs.random_graph(rng, n, name, dtype, 3 / n)
        if dtype != "bool"
        else rng.random((n, n)) < 0.01
    )
    factor = factorize(w, name)
    every = one_by_one(factor, range(n))
    for count in (1, 7, 33, 64, 65, 200, 300):
        sources = rng.integers(0, n, count)
        for threads in (1, 3):
            with tropical.options(threads=threads):
                assert np.array_equal(factor.lengths(sources), every[sources])


def test_targets_of_many_sources():
    rng = np.random.default_rng(8)
    factor = factorize(numbered(rng, *grid(50)), directed=False)
    sources, targets = rng.integers(0, 2_500, 400), rng.integers(0, 2_500, 333)
    assert np.array_equal(factor.lengths(sources, targets), factor.lengths(sources)[:, targets])


def test_results_at_odd_places():
    """Rows that begin anywhere in a cache line, and more than the caches hold."""
    rng = np.random.default_rng(9)
    factor = factorize(numbered(rng, *grid(150)), directed=False)
    sources = rng.integers(0, factor.n, 450)
    want = factor.lengths(sources)
    for skip in (1, 3, 8, 13):
        memory = np.full(sources.size * (factor.n + skip) + skip, -1, np.float32)
        out = memory[skip:].reshape(sources.size, -1)[:, : factor.n]
        factor.lengths(sources, out=out)
        assert np.array_equal(out, want)
        assert (memory[skip:].reshape(sources.size, -1)[:, factor.n :] == -1).all()
        assert (memory[:skip] == -1).all()
