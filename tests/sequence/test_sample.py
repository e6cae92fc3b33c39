"""Paths drawn at random: frequencies against the probability of every path there is."""

import itertools

import numpy as np
import pytest
from support import random_bits

import tropical
from tropical import _core
from tropical.sequence import log_likelihood, posteriors, sample

INF = np.inf


def model(states, steps, seed=0, batch=(), scale=1.0):
    return [
        (random_bits(shape, seed + i) % np.uint64(1 << 12)) / 2**10 * scale
        for i, shape in enumerate([(states,), (states, states), (*batch, steps, states)])
    ]


def chances(initial, transition, emission):
    """The probability of every path."""
    steps, states = emission.shape
    scores = np.empty((states,) * steps)
    for path in itertools.product(range(states), repeat=steps):
        moves = sum(transition[a, b] for a, b in itertools.pairwise(path))
        scores[path] = initial[path[0]] + moves + emission[range(steps), path].sum()
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def frequencies(paths, states):
    counts = np.zeros((states,) * paths.shape[1])
    np.add.at(counts, tuple(paths.T), 1)
    return counts / len(paths)


def assert_drawn_by(got, want, size):
    """Every frequency within five standard deviations; what is impossible is never drawn."""
    assert (got[want == 0] == 0).all()
    assert (np.abs(got - want) <= 5 * np.sqrt(want * (1 - want) / size) + 2 / size).all()


@pytest.mark.parametrize("states,steps", [(1, 3), (2, 1), (2, 6), (3, 4), (9, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_frequencies(isa, dtype, states, steps):
    initial, transition, emission = (x.astype(dtype) for x in model(states, steps))
    transition[random_bits(transition.shape, 9) % np.uint64(5) == 1] = -INF
    paths = sample(initial, transition, emission, 50_000, rng=3)
    assert paths.shape == (50_000, steps) and paths.dtype == np.intp
    assert_drawn_by(frequencies(paths, states), chances(initial, transition, emission), 50_000)


def assert_moves(paths, known):
    """Numbers of transitions, within six standard deviations of Poisson's, doubled."""
    size, states = len(paths), len(known.transitions)
    moves = np.bincount((paths[:, :-1] * states + paths[:, 1:]).ravel(), minlength=states**2) / size
    want = known.transitions.ravel()
    assert (np.abs(moves - want) <= 6 * np.sqrt(2 * want / size) + 4 / size).all()


@pytest.mark.parametrize("states,steps", [(17, 40), (40, 100), (130, 20)])
def test_states_and_transitions_are_those_of_posteriors(isa, states, steps):
    parts, size = model(states, steps), 4_000
    known, paths = posteriors(*parts), sample(*parts, size, rng=np.random.default_rng(4))
    got = np.stack([np.bincount(at, minlength=states) for at in paths.T]) / size
    assert_drawn_by(got, np.clip(known.states, 0, 1), size)
    assert_moves(paths, known)


@pytest.mark.parametrize("states", [5, 16, 32, 33, 64, 65])
def test_paths_do_not_depend_on_their_number(isa, states):
    """Kernels draw some at a time; equal numbers give equal paths beside any others."""
    parts = model(states, 40)
    paths = sample(*parts, 300, rng=8)
    for size in (*range(1, 18), 255, 256, 257):
        np.testing.assert_array_equal(sample(*parts, size, rng=8), paths[:size])


@pytest.mark.parametrize("states", [5, 7, 12, 16, 21, 32, 33, 64])
def test_paths_of_a_batch_do_not_depend_on_their_number(isa, states):
    """Sequences lie side by side in memory: what one draws must not touch the next."""
    initial, transition, emission = model(states, 16 * 50)
    parts = initial, transition, emission.reshape(16, 50, states)
    paths = sample(*parts, 300, rng=7)
    for size in (*range(1, 10), 257):
        np.testing.assert_array_equal(sample(*parts, size, rng=7), paths[:, :size])


@pytest.mark.parametrize("states", [5, 33])
def test_results_larger_than_caches(isa, states):
    """They are written past the caches; sequences begin and end anywhere in a cache line."""
    lengths = [3, 1, 700, 0, 9, 16, 1201, 8, 2]
    parts = model(states, sum(lengths))
    paths = sample(*parts, 600, lengths, concatenated=True, rng=2)
    assert paths.nbytes > 8 << 20
    few = sample(*parts, 2, lengths, concatenated=True, rng=2)
    np.testing.assert_array_equal(paths[:2], few)
    assert paths.min() >= 0 and paths.max() < states
    ends = np.cumsum(lengths)
    alone = sample(
        *(parts[0], parts[1], parts[2][: ends[2]]), 600, lengths[:3], concatenated=True, rng=2
    )
    np.testing.assert_array_equal(paths[:, : ends[2]], alone)


def test_a_sequence_whose_rows_are_not_kept():
    """More than 6 MB of rows."""
    parts = model(60, 14_000)
    assert_moves(sample(*parts, 100, rng=4), posteriors(*parts))


@pytest.mark.parametrize("steps", [2, 16, 17, 18, 40])
def test_ranges_that_probabilities_do_not_span(isa, steps):
    """Emissions and transitions of -2,000 lead through states that would underflow."""
    initial, transition, emission = np.zeros(3), np.full((3, 3), -2000.0), np.zeros((steps, 3))
    np.fill_diagonal(transition, [0, -1, -3000])
    transition[0, 0] = -INF
    emission[steps // 2] = [-1e6, -2000, -2001]
    emission[-1] = [0, -1e5, -1e5]
    paths, size = sample(initial, transition, emission, 20_000, rng=5), 20_000
    known = posteriors(initial, transition, emission)
    got = np.stack([np.bincount(at, minlength=3) for at in paths.T]) / size
    assert_drawn_by(got, np.clip(np.round(known.states, 12), 0, 1), size)
    assert (transition[paths[:, :-1], paths[:, 1:]] > -INF).all()


def test_batches():
    parts = model(4, 33, batch=(2, 3))
    lengths = np.array([[33, 0, 1], [16, 17, 18]])
    paths = sample(*parts, 5, lengths, rng=1)
    assert paths.shape == (2, 3, 5, 33)
    within = np.arange(33) < lengths[..., None, None]
    assert ((paths >= 0) == within).all() and paths.max() == 3
    with tropical.options(threads=4):
        np.testing.assert_array_equal(sample(*parts, 5, lengths, rng=1), paths)
    assert (sample(*parts, 5, lengths, rng=2) != paths).any()
    assert sample(*parts, 0).shape == (2, 3, 0, 33)
    assert sample(*model(4, 0), 10**12).shape == (10**12, 0)
    assert sample(*model(4, 3, batch=(0,)), 2).shape == (0, 2, 3)


def test_layouts():
    initial, transition, _ = model(3, 1)
    table, symbols = np.log([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]), np.array([0, 1, 1, 0, 1, 0, 0])
    together = sample(initial, transition, table.T[symbols], 4, [3, 4], concatenated=True, rng=7)
    assert together.shape == (4, 7) and together.min() == 0
    again = sample(initial, transition, table, 4, [3, 4], symbols=symbols, concatenated=True, rng=7)
    np.testing.assert_array_equal(together, again)
    matrices = np.broadcast_to(transition, (6, 3, 3))
    for_each = sample(initial, matrices, table.T[symbols], 4, per_step=True, rng=7)
    np.testing.assert_array_equal(for_each, sample(initial, transition, table.T[symbols], 4, rng=7))


def test_sparse_transitions():
    sparse = pytest.importorskip("scipy.sparse", reason="makes sparse transitions")
    for scale in (1.0, 1000.0):
        initial, transition, emission = model(30, 50, scale=scale)
        dense = np.where(random_bits((30, 30), 8) % np.uint64(4) == 0, transition, -INF)
        np.fill_diagonal(dense, transition.diagonal())
        rows, columns = np.nonzero(dense > -INF)
        edges = sparse.coo_array((dense[rows, columns], (rows, columns)), dense.shape)
        got = sample(initial, edges, emission, 4_000, rng=6)
        assert (dense[got[:, :-1], got[:, 1:]] > -INF).all()
        counts = np.stack([np.bincount(at, minlength=30) for at in got.T]) / 4_000
        want = np.clip(posteriors(initial, dense, emission).states, 0, 1)
        assert_drawn_by(counts, np.where(want < 1e-12, 0, want), 4_000)


def test_impossible_sequences():
    initial, transition, emission = model(3, 20, batch=(2,))
    emission[1, 11] = -INF
    assert log_likelihood(initial, transition, emission)[1] == -INF
    paths = sample(initial, transition, emission, 3, rng=0)
    assert (paths[0] >= 0).all() and (paths[1] == -1).all()


def test_refused():
    parts = model(3, 5)
    with pytest.raises(ValueError, match="size: expected 0 or more, got -1"):
        sample(*parts, -1)
    with pytest.raises(TypeError, match=r"size: expected an integer, got 2\.5"):
        sample(*parts, 2.5)
    parts[2][3, 1] = np.nan
    with pytest.raises(ValueError, match=r"log_emission: .* got nan at \(3, 1\)"):
        sample(*parts, 2)


@pytest.mark.parametrize("stored", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("states", [2, 3, 9, 20, 70])
def test_a_nan_that_another_thread_writes(isa, states, stored):
    """Nobody checks emissions once more while paths are drawn: what is drawn is a state, or -1."""
    steps, start = 40, np.zeros(1, np.intp)
    transition, edges = np.zeros((1, 1, states, states)), None
    if stored:  # to itself and to the next one; nothing leads into state 0
        target = np.repeat(np.arange(1, states), 2)
        edges = _core.ChainEdges(states, target - np.tile([1, 0], states - 1), target)
        transition = np.full((1, len(target)), -0.7)
    for step in (0, 5, 20, steps - 1):
        for spread in (0.0, 1e3, 1e6):
            emission = np.zeros((steps, states))
            emission[::3, 0] = -spread
            emission[step, [0, -1]] = np.nan
            chains = _core.Chains(
                np.zeros((1, states)), transition, emission, start, start + steps, None, edges
            )
            paths = np.full((300, steps), states)
            _core.sample_paths(chains, start, paths, [1, 2])
            assert paths.min() >= -1 and paths.max() < states
