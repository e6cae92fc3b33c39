"""Chains of every range and size against recursions on logarithms in long double."""

import itertools

import numpy as np
import pytest
from support import random_bits

import tropical
from tropical.sequence import (
    backward,
    forward,
    log_likelihood,
    posteriors,
    sample,
    viterbi,
)

INF, MOST = np.inf, np.finfo(float).max


def log_sum(x, axis):
    most = np.max(x, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(most), most, 0)
    with np.errstate(divide="ignore"):
        return np.squeeze(np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift, axis)


def by_logarithms(initial, transition, emission):
    """Of one sequence: log_alpha, log_beta, states, expected transitions, log_likelihood."""
    initial, transition, emission = (
        np.asarray(x, np.longdouble) for x in (initial, transition, emission)
    )
    steps, states = emission.shape
    matrices = np.broadcast_to(transition, (max(steps - 1, 0), states, states))
    alpha, beta = np.empty_like(emission), np.zeros_like(emission)
    alpha[0] = initial + emission[0]
    for t in range(1, steps):
        alpha[t] = log_sum(alpha[t - 1][:, None] + matrices[t - 1], 0) + emission[t]
    for t in range(steps - 2, -1, -1):
        beta[t] = log_sum(matrices[t] + (emission[t + 1] + beta[t + 1]), 1)
    total = log_sum(alpha[-1], 0)
    known, pairs = np.zeros_like(emission), np.zeros_like(matrices)
    if total > -INF:
        both = alpha + beta
        known = np.exp(both - log_sum(both, 1)[:, None])
        for t in range(steps - 1):
            both = alpha[t][:, None] + matrices[t] + (emission[t + 1] + beta[t + 1])
            pairs[t] = np.exp(both - log_sum(both.ravel(), 0))
    return alpha, beta, known, pairs, total


def numbers(shape, seed, low, high):
    """Even between low and high."""
    return low + (random_bits(shape, seed) % np.uint64(1 << 20)) / 2**20 * (high - low)


def forbid(x, seed, one_in):
    x[random_bits(x.shape, seed) % np.uint64(one_in) == 0] = -INF
    return x


def mild(states, steps):
    return (
        numbers((states,), 1, -3, 0),
        numbers((states, states), 2, -3, 0),
        numbers((steps, states), 3, -3, 0),
    )


def with_impossible(states, steps):
    initial, transition, emission = mild(states, steps)
    return forbid(initial, 4, 5), forbid(transition, 5, 4), forbid(emission, 6, 6)


def left_to_right(states, steps):
    """Far states are out of the range of float64."""
    initial = np.full(states, -INF)
    initial[0] = 0
    transition = np.full((states, states), -INF)
    for i in range(states):
        transition[i, i] = -0.001
        if i + 1 < states:
            transition[i, i + 1] = -60
    return initial, transition, numbers((steps, states), 7, -5, 0)


def sharp_emissions(states, steps):
    """Of densities in many dimensions."""
    initial, transition, _ = mild(states, steps)
    return initial, transition, numbers((steps, states), 8, -4000, 500)


def masked_by_numbers(states, steps):
    initial, transition, emission = mild(states, steps)
    transition[random_bits((states, states), 9) % np.uint64(3) == 0] = -10_000
    return initial, transition, emission


def the_mass_dies(states, steps):
    """The states that hold all the mass become impossible now and then: the rest takes over."""
    initial, transition, emission = mild(states, steps)
    half = max(states // 2, 1)
    transition[:half, half:] = -700
    transition[half:, :half] = -INF
    initial[half:] = -800
    emission[5::7, :half] = -INF
    return initial, transition, emission


def clamped_alone(states, steps):
    """The only state that lives is one that the emissions nearly forbid."""
    initial, transition, emission = mild(states, steps)
    initial[1:] = -INF
    transition[...] = np.where(np.eye(states, dtype=bool), -0.5, -INF)
    emission[:, 0] = -1000
    return initial, transition, emission


def huge(states, steps):
    initial, transition, emission = mild(states, steps)
    return initial * 1e3, transition * 1e4, emission * 1e5


MODELS = [
    mild,
    with_impossible,
    left_to_right,
    sharp_emissions,
    masked_by_numbers,
    the_mass_dies,
    clamped_alone,
    huge,
]


def check(initial, transition, emission, **options):
    alpha, beta, known, pairs, total = by_logarithms(initial, transition, emission)
    size = max(
        float(np.max(np.abs(x), initial=0, where=np.isfinite(x))) for x in (alpha, beta, emission)
    )
    near = {"rtol": 1e-13, "atol": 1e-13 + 3e-15 * size}
    log_alpha, likelihood = forward(initial, transition, emission, **options)
    np.testing.assert_allclose(log_alpha, alpha.astype(float), **near)
    np.testing.assert_allclose(likelihood, float(total), **near)
    assert log_likelihood(initial, transition, emission, **options) == likelihood
    np.testing.assert_allclose(
        backward(transition, emission, **options), beta.astype(float), **near
    )
    got = posteriors(initial, transition, emission, **options)
    loose = {"rtol": 1e-11 + 1e-14 * size, "atol": 1e-13 + 3e-15 * size}
    np.testing.assert_allclose(got.states, known.astype(float), **loose)
    if not options.get("per_step"):
        pairs = pairs.sum(axis=0)
    np.testing.assert_allclose(got.transitions, pairs.astype(float), **loose)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("states,steps", [(1, 20), (2, 40), (3, 17), (9, 50), (17, 33), (40, 20)])
def test_sums(isa, model, states, steps):
    check(*model(states, steps))


def check_chances(states):
    assert ((states >= 0) & (states <= 1 + 1e-12)).all()
    np.testing.assert_allclose(states.sum(axis=-1), 1)


@pytest.mark.parametrize("number", [-MOST, MOST])
@pytest.mark.parametrize("states,steps", [(1, 20), (2, 40), (3, 17), (17, 33), (40, 20)])
def test_steps_of_one_score(isa, number, states, steps):
    """As padding is marked by the least number: nothing changes but the likelihood."""
    plain = mild(states, steps)
    marked = [x.copy() for x in plain]
    plain[2][1::3], marked[2][1::3] = 0, number
    want, got = posteriors(*plain), posteriors(*marked)
    np.testing.assert_allclose(got.states, want.states, rtol=1e-12)
    np.testing.assert_allclose(got.transitions, want.transitions, rtol=1e-12)
    total = np.sign(number) * 2.0**1000 * len(plain[2][1::3])
    np.testing.assert_allclose(got.log_likelihood, total, rtol=1e-12)
    assert log_likelihood(*marked) == got.log_likelihood
    assert (sample(*marked, 3, rng=1) == sample(*plain, 3, rng=1)).all()
    assert np.isfinite(forward(*marked)[0]).all() and np.isfinite(backward(*marked[1:])).all()


@pytest.mark.parametrize("states,steps", [(2, 40), (3, 17), (17, 33), (40, 20)])
def test_masks_by_the_least_number(isa, states, steps):
    """Where another path is possible, they do what -inf does."""
    free, masked = with_impossible(states, steps), with_impossible(states, steps)
    for x in (*free, *masked):
        x[..., 0] = -1  # one state that is always possible
    for x in masked:
        x[x == -INF] = -MOST
    want, got = posteriors(*free), posteriors(*masked)
    np.testing.assert_allclose(got.states, want.states, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(got.transitions, want.transitions, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(got.log_likelihood, want.log_likelihood, rtol=1e-13)


@pytest.mark.parametrize(
    "model,states",
    [
        (([0, -MOST], [[-INF, -INF], [-INF, -MOST]], [[0, 0], [0, 0]]), [[0, 1], [0, 1]]),
        (([-INF, -MOST], [[-INF, 0], [-INF, -MOST]], [[-INF, 0], [0, -MOST]]), [[0, 1], [0, 1]]),
        (([0, 0], [[-INF, -INF], [0, 0]], [[1e308, -1e308], [0, 0]]), [[0, 1], [0.5, 0.5]]),
        (([0, 0], [[0, -INF], [-INF, 0]], [[-MOST, -MOST], [0, -MOST]]), [[1, 0], [1, 0]]),
        (([MOST, 0], [[MOST, 0], [0, 0]], [[MOST, 0], [MOST, 0]]), [[1, 0], [1, 0]]),
    ],
)
def test_extreme_scores(isa, model, states):
    model = [np.array(x, float) for x in model]
    got = posteriors(*model)
    check_chances(got.states)
    np.testing.assert_allclose(got.states, states)
    assert np.isfinite(got.log_likelihood)
    paths = sample(*model, 20, rng=1)
    assert (np.take_along_axis(np.array(states)[None], paths[..., None], -1) > 0).all()


def test_extreme_scores_at_random(isa):
    rng = np.random.default_rng(3)
    numbers = np.array([0, -1, 5, MOST, -MOST, 1e308, -1e308, -INF])
    for _ in range(300):
        states, steps = rng.integers(1, 5), rng.integers(1, 20)
        model = [rng.choice(numbers, s) for s in ((states,), (states, states), (steps, states))]
        got = posteriors(*model)
        assert not np.isnan(got.log_likelihood)
        if np.isfinite(got.log_likelihood):
            check_chances(got.states)
        else:
            assert not got.states.any()
        for results in (forward(*model), [backward(*model[1:])]):
            assert not any(np.isnan(x).any() for x in results)


@pytest.mark.parametrize("steps", [1, 2, 3, 15, 16, 17, 18, 32, 33, 34])
def test_every_length(isa, steps):
    for model in (mild, sharp_emissions, with_impossible):
        check(*model(3, steps))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_matrix_for_each_step(isa, model):
    initial, transition, emission = model(5, 19)
    shifts = numbers((18, 5, 5), 11, -2, 0)
    check(initial, transition + shifts, emission, per_step=True)
    both = np.broadcast_to(transition, (18, 5, 5))
    path, score = viterbi(initial, transition, emission)
    path_of_steps, score_of_steps = viterbi(initial, both, emission, per_step=True)
    assert path.tolist() == path_of_steps.tolist() and score == score_of_steps


def ragged(batch, steps, states, seed=0):
    initial, transition = numbers((states,), seed, -3, 0), numbers((states, states), seed, -3, 0)
    lengths = (random_bits((batch,), seed) % np.uint64(steps + 1)).astype(int)
    return initial, transition, numbers((batch, steps, states), seed, -9, 0), lengths


# What each of the results has beyond the length of a sequence; None: not one for each step.
BEYOND = [-1, None, -INF, None, -INF, 0, None, None]


def results(initial, transition, emission, **options):
    path, score = viterbi(initial, transition, emission, **options)
    alpha, likelihood = forward(initial, transition, emission, **options)
    known = posteriors(initial, transition, emission, **options)
    return path, score, alpha, likelihood, backward(transition, emission, **options), *known


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("states", [1, 2, 5, 8, 16, 17, 33, 70])
def test_a_batch_is_its_sequences(isa, dtype, states):
    """The same bits for every batch and number of threads."""
    initial, transition, emission, lengths = ragged(11, 40, states)
    initial, transition, emission = (x.astype(dtype) for x in (initial, transition, emission))
    emission[3] *= 300  # of which sums need logarithms
    with tropical.options(threads=1):
        together = results(initial, transition, emission, lengths=lengths)
    with tropical.options(threads=3):
        again = results(initial, transition, emission, lengths=lengths)
    for one, other in zip(together, again, strict=True):
        np.testing.assert_array_equal(one, other)
    for i, length in enumerate(lengths):
        alone = results(initial, transition, emission[i, :length])
        for one, other, beyond in zip(together, alone, BEYOND, strict=True):
            if beyond is None:
                np.testing.assert_array_equal(one[i], other)
            else:
                assert (one[i, length:] == beyond).all()
                np.testing.assert_array_equal(one[i, :length], other)


def test_sequences_without_padding(isa):
    initial, transition, emission, lengths = ragged(7, 30, 4)
    joined = np.concatenate([x[:n] for x, n in zip(emission, lengths, strict=True)])
    padded = results(initial, transition, emission, lengths=lengths)
    packed = results(initial, transition, joined, lengths=lengths, concatenated=True)
    for one, other in zip(padded, packed, strict=True):
        if one.ndim > 1 and one.shape[1] == 30:
            one = np.concatenate([x[:n] for x, n in zip(one, lengths, strict=True)])
        np.testing.assert_array_equal(one, other)


def test_symbols(isa):
    initial, transition, _, lengths = ragged(7, 30, 4)
    table = numbers((4, 6), 3, -5, 0)
    symbols = (random_bits((7, 30), 1) % np.uint64(6)).astype(np.int8)
    want = results(initial, transition, table.T[symbols], lengths=lengths)
    got = results(initial, transition, table, symbols=symbols, lengths=lengths)
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(one, other)
    tables = numbers((7, 4, 6), 4, -5, 0)
    each = np.stack([t.T[s] for t, s in zip(tables, symbols, strict=True)])
    want = results(initial, transition, each, lengths=lengths)
    got = results(initial, transition, tables, symbols=symbols, lengths=lengths)
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(one, other)
    got = results(initial, transition, tables[:, None], symbols=symbols[:2])
    want = results(
        initial,
        transition,
        tables[:, None].swapaxes(-1, -2)[np.arange(7)[:, None, None], 0, symbols[None, :2]],
    )
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(one, other)
    joined = np.concatenate([x[:n] for x, n in zip(symbols, lengths, strict=True)])
    options = {"symbols": joined, "lengths": lengths, "concatenated": True}
    path, _ = viterbi(initial, transition, table, **options)
    want = viterbi(initial, transition, table.T[joined], lengths=lengths, concatenated=True)[0]
    assert path.tolist() == want.tolist()
    # Symbols beyond the lengths are not read.
    symbols[:, 5:] = 99
    viterbi(initial, transition, table, symbols=symbols, lengths=np.minimum(lengths, 5))


@pytest.mark.parametrize(
    "arguments,message",
    [
        ({"symbols": [0, 3]}, r"symbols: expected 0 to 2, as log_emission has 3 symbols, got 3"),
        ({"symbols": [0, -1]}, r"symbols: expected 0 to 2.*got -1 at \(1,\)"),
        ({"symbols": 1}, r"symbols: expected \(\.\.\., steps\)"),
        ({"lengths": [1, 1], "concatenated": True}, r"lengths: expected a sum of 2|sum of 3"),
        ({"lengths": [[1, 1]], "concatenated": True}, r"lengths: expected \(sequences,\)"),
        ({"per_step": True, "lengths": [2], "concatenated": True}, r"per_step: expected False"),
        ({"per_step": True}, r"log_transition: expected \(\.\.\., 1, 2, 2\)|\(\.\.\., 2, 2, 2\)"),
    ],
)
def test_refused(arguments, message):
    emission = np.zeros((2, 3)) if "symbols" in arguments else np.zeros((3, 2))
    with pytest.raises(ValueError, match=message):
        viterbi(np.zeros(2), np.zeros((2, 2)), emission, **arguments)


def test_refused_types():
    with pytest.raises(TypeError, match="symbols: expected integers, got float64"):
        viterbi(np.zeros(2), np.zeros((2, 2)), np.zeros((2, 3)), symbols=[0.0, 1.0])


def test_long_sequences_are_decoded_from_kept_scores(isa):
    """Beyond some megabytes only every sixteenth row is kept."""
    initial, transition, emission = mild(3, 60_000)
    emission = np.tile(emission, (8, 1))
    path, score = viterbi(initial, transition, emission)
    total = initial[path[0]] + emission[0, path[0]]
    total += transition[path[:-1], path[1:]].sum()
    total += emission[np.arange(1, len(path)), path[1:]].sum()
    np.testing.assert_allclose(score, total, rtol=1e-12)
    short, _ = viterbi(initial, transition, emission[:5000])
    assert path[:4900].tolist() == short[:4900].tolist()


def test_best_paths_of_all_sizes(isa):
    for states, steps in itertools.product([1, 7, 8, 9, 16, 31, 33, 65], [1, 2, 17, 40]):
        initial, transition, emission = (np.round(x * 4) / 4 for x in mild(states, steps))
        scores, path = np.empty((steps, states)), np.empty(steps, int)
        scores[0] = initial + emission[0]
        for t in range(1, steps):
            scores[t] = (scores[t - 1][:, None] + transition).max(axis=0) + emission[t]
        path[-1] = scores[-1].argmax()
        for t in range(steps - 2, -1, -1):
            path[t] = (scores[t] + transition[:, path[t + 1]]).argmax()
        got, score = viterbi(initial, transition, emission)
        assert got.tolist() == path.tolist() and score == scores[-1].max()


def wide_model(rng, states, steps, reach):
    """Most numbers are small, some as low as -reach, some -inf."""

    def numbers(*shape, scale=1):
        size = scale * reach * rng.random(shape) * (rng.random(shape) < rng.random())
        return np.where(rng.random(shape) < 0.1, -INF, -size.round())

    transition = numbers(states, states, scale=rng.choice([0, 0.1, 1]))
    return numbers(states), transition, numbers(steps, states)


@pytest.mark.parametrize("reach", [200, 250, 300, 400, 1000, 1e5])
def test_numbers_far_below_others(isa, reach):
    """What is raised to 2^-300 of the greatest must not matter where scaling lifts it again."""
    rng = np.random.default_rng(int(reach))
    for _ in range(200):
        states, steps = rng.integers(2, 5), rng.integers(2, 40)
        model = wide_model(rng, states, steps, reach)
        alpha, beta, known, pairs, total = by_logarithms(*model)
        near = {"rtol": 1e-11, "atol": 1e-9}
        np.testing.assert_allclose(log_likelihood(*model), float(total), **near)
        np.testing.assert_allclose(forward(*model)[0], alpha.astype(float), **near)
        np.testing.assert_allclose(backward(*model[1:]), beta.astype(float), **near)
        got = posteriors(*model)
        np.testing.assert_allclose(got.states, known.astype(float), atol=1e-8)
        np.testing.assert_allclose(got.transitions, pairs.sum(0).astype(float), atol=1e-7)
        for path in sample(*model, 3, rng=1):
            if total > -INF:
                score = model[0][path[0]] + model[2][range(steps), path].sum()
                score += model[1][path[:-1], path[1:]].sum()
                assert score > float(total) - 60


def test_emissions_raised_at_the_end_of_a_block():
    stay, emission = np.array([[0, -INF], [-INF, 0]]), np.zeros((18, 2))
    emission[16], emission[17] = [-10_000, 0], [0, -20_000]
    assert log_likelihood([0, 0], stay, emission) == -10_000
    short = emission[15:]
    assert log_likelihood([0, 0], np.stack([stay, stay]), short, per_step=True) == -10_000
    emission[15:] = [[0, -20_000], [-10_000, 0], [0, 0]]
    np.testing.assert_array_equal(backward(stay, emission)[0], [-10_000, -20_000])


def test_one_step_with_a_matrix_for_each_step():
    one = np.zeros(2), np.zeros((0, 2, 2)), np.array([[-1.0, -2.0]])
    assert viterbi(*one, per_step=True) == ([0], -1.0)
    assert posteriors(*one, per_step=True).transitions.shape == (0, 2, 2)
    tables, none = np.zeros((4, 2, 3)), np.zeros((4, 0), int)
    alpha, likelihood = forward(np.zeros(2), np.zeros((2, 2)), tables, symbols=none)
    assert alpha.shape == (4, 0, 2) and (likelihood == 0).all()
