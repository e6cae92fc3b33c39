"""Conditional random fields against every path, and their gradients against differences."""

import itertools

import numpy as np
import pytest
from support import values

from tropical.sequence import crf_log_likelihood, posteriors


def model(states, steps, batch=(), seed=0):
    shapes = (states,), (states, states), (*batch, steps, states)
    return [values(shape, "float64", seed + i) / 32 for i, shape in enumerate(shapes)]


def score(path, initial, transition, emission):
    total = initial[path[0]] + emission[range(len(path)), path].sum()
    return total + sum(transition[a, b] for a, b in itertools.pairwise(path))


@pytest.mark.parametrize("states,steps", [(1, 1), (2, 4), (3, 3)])
def test_every_path_together_has_probability_1(isa, states, steps):
    parts = model(states, steps)
    total = 0.0
    for path in itertools.product(range(states), repeat=steps):
        known = crf_log_likelihood(*parts, list(path))
        total += np.exp(known.value)
        ratio = score(list(path), *parts) - known.value
        assert ratio == pytest.approx(
            np.log(
                sum(
                    np.exp(score(list(p), *parts))
                    for p in itertools.product(range(states), repeat=steps)
                )
            )
        )
    assert total == pytest.approx(1)


def test_gradients(isa):
    """By differences of the sum of all values."""
    lengths = np.array([5, 3, 0, 1])
    parts = model(3, 5, (4,))
    states = np.array([[0, 1, 2, 1, 0], [2, 2, 1, 9, -7], [0] * 5, [1, 0, 0, 0, 0]])
    known = crf_log_likelihood(*parts, states, lengths)
    assert known.value[2] == 0 and not known.emission[1, 3:].any()
    sums = known.initial.sum(axis=0), known.transition.sum(axis=0), known.emission
    for part, gradient in zip(parts, sums, strict=True):
        for at in np.ndindex(part.shape):
            middle, ends = part[at], []
            for step in (1e-5, -1e-5):
                part[at] = middle + step
                ends.append(crf_log_likelihood(*parts, states, lengths).value.sum())
            part[at] = middle
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(gradient[at], abs=1e-8)


def test_float32_and_impossible_transitions():
    initial, transition, emission = (x.astype(np.float32) for x in model(4, 50, (2,)))
    transition[0, 1] = -np.inf
    states = np.full((2, 50), 2)
    known = crf_log_likelihood(initial, transition, emission, states)
    assert {x.dtype for x in known} == {np.dtype(np.float32)}
    assert not known.transition[:, 0, 1].any()
    states[1, 3:5] = 0, 1
    with pytest.raises(ValueError, match=r"states: expected states of finite scores.*\(1,\)"):
        crf_log_likelihood(initial, transition, emission, states)


@pytest.mark.parametrize("scale", [1, 1000])  # the second leaves the range of float64
@pytest.mark.parametrize("count", [3, 9, 40])
def test_gradients_are_what_is_given_minus_what_is_expected(isa, count, scale):
    parts = [x * scale for x in model(count, 70, (6,))]
    lengths = np.array([70, 1, 33, 0, 34, 2])
    states = values((6, 70), "int64", 5) % count
    known, expected = (
        crf_log_likelihood(*parts, states, lengths),
        posteriors(*parts, lengths),
    )
    for c, length in enumerate(lengths):
        path = states[c, :length]
        steps, pairs = np.zeros((70, count)), np.zeros((count, count))
        steps[np.arange(length), path] = 1
        np.add.at(pairs, (path[:-1], path[1:]), 1)
        near = {"rtol": 1e-9, "atol": 1e-12}
        np.testing.assert_allclose(known.emission[c], steps - expected.states[c], **near)
        np.testing.assert_allclose(known.transition[c], pairs - expected.transitions[c], **near)
        np.testing.assert_array_equal(known.initial[c], known.emission[c, 0])
        if length:
            total = score(path, *parts[:2], parts[2][c])
            want = total - expected.log_likelihood[c]
            assert known.value[c] == pytest.approx(want, rel=1e-12, abs=1e-9)


def test_a_finite_score_may_leave_float32():
    emission = np.zeros((4, 2), np.float32)
    emission[:, 0] = -1.7e38
    model = np.zeros(2, np.float32), np.zeros((2, 2), np.float32), emission
    with np.errstate(over="ignore"):
        known = crf_log_likelihood(*model, [0, 0, 0, 0])
    assert known.value == -np.inf
    np.testing.assert_array_equal(known.emission, [[1, -1]] * 4)


def test_gradients_of_what_is_not_there_are_positive_zeros():
    known = crf_log_likelihood(np.zeros(2), np.zeros((2, 2)), np.zeros((1, 2)), [0])
    assert not known.transition.any() and not np.signbit(known.transition).any()


def test_states_of_any_integers_and_layout():
    parts = model(3, 4, (2,))
    states = np.array([[0, 1, 2, 1], [2, 2, 0, 1]])
    want = crf_log_likelihood(*parts, states).value
    for dtype in (np.int8, np.uint64, ">i4"):
        given = np.asfortranarray(states.astype(dtype))
        np.testing.assert_array_equal(crf_log_likelihood(*parts, given).value, want)
    for wrong in (2**64 - 1, 2**63):
        given = states.astype(np.uint64)
        given[1, 3] = wrong
        with pytest.raises(ValueError, match=rf"states: expected 0 to 2, got {wrong} at \(1, 3\)"):
            crf_log_likelihood(*parts, given)
        crf_log_likelihood(*parts, given, [4, 3])  # which does not read it


def test_no_steps():
    """An empty list has no integers, and is enough for a sequence without steps."""
    known = crf_log_likelihood(np.zeros(2), np.zeros((2, 2)), np.zeros((0, 2)), [])
    assert known.value == 0 and not known.initial.any() and known.emission.shape == (0, 2)


@pytest.mark.parametrize(
    "states,error,message",
    [
        ([0, 1], ValueError, r"states: expected \(3,\), as emission has, got \(2,\)"),
        ([0, 1, 2], ValueError, r"states: expected 0 to 1, got 2 at \(2,\)"),
        ([0.0, 1.0, 1.0], TypeError, "states: expected integers, got float64"),
    ],
)
def test_refused(states, error, message):
    with pytest.raises(error, match=message):
        crf_log_likelihood(np.zeros(2), np.zeros((2, 2)), np.zeros((3, 2)), states)
