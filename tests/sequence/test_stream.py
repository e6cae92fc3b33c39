"""Streams against `viterbi` on the whole sequence."""

import copy
import pickle

import numpy as np
import pytest
from support import random_bits

from tropical.sequence import Decoder, viterbi


def by_pickle(x):
    return pickle.loads(pickle.dumps(x))


def model(states, steps, seed):
    """Multiples of 1/8, whose sums are exact; some impossible transitions."""
    parts = [
        (random_bits(shape, seed + i) % np.uint64(64)) / 8.0 - 4
        for i, shape in enumerate([(states,), (states, states), (steps, states)])
    ]
    parts[1][random_bits(parts[1].shape, seed + 9) % np.uint64(5) == 0] = -np.inf
    return parts


@pytest.mark.parametrize("seed", range(30))
def test_with_patience_it_is_viterbi(seed):
    states, steps = 1 + seed % 5, 1 + 7 * seed % 50
    initial, transition, emission = model(states, steps, seed)
    path, score = viterbi(initial, transition, emission)
    decoder = Decoder(initial, transition, lag=steps)
    cut = seed % (steps + 1)
    got = [*decoder.push(emission[:cut]), *decoder.push(emission[cut:]), *decoder.finish()]
    assert len(got) == steps
    if score > -np.inf:
        assert got == path.tolist()


def test_lag():
    """States come in time, one by one, and mostly those of the best path; memory stays bounded."""
    initial, transition, emission = model(4, 500, 3)
    transition = np.maximum(transition, -4)
    path, _ = viterbi(initial, transition, emission)
    for lag in (0, 1, 5, 30):
        decoder, got = Decoder(initial, transition, lag=lag), []
        for step, emitted in enumerate(emission):
            got += decoder.push(emitted).tolist()
            assert step - lag < len(got) <= step + 1
            assert len(decoder._before) <= lag
        got += decoder.finish().tolist()
        assert len(got) == 500
        assert np.mean(np.array(got) == path) > (0.6 if lag == 0 else 0.85)
    assert got == path.tolist()


def test_impossible_and_again():
    decoder = Decoder([0.0, -np.inf], [[0.0, -np.inf], [-np.inf, 0.0]], lag=1)
    assert decoder.push([[0.0, 0.0], [-np.inf, 0.0], [0.0, 0.0]]).tolist() == [0, -1]
    assert decoder.finish().tolist() == [-1]
    assert decoder.push([0.0, 0.0]).tolist() == [0] and decoder.finish().tolist() == []


def test_refused():
    with pytest.raises(ValueError, match="lag: expected 0 or more, got -1"):
        Decoder([0.0], [[0.0]], lag=-1)
    with pytest.raises(TypeError, match="lag: expected an integer, got '5'"):
        Decoder([0.0], [[0.0]], lag="5")
    with pytest.raises(ValueError, match=r"log_transition: expected \(s, s\)"):
        Decoder([0.0], [[[0.0]]])
    decoder = Decoder([0.0, 0.0], np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"log_emission: .* got nan at \(1, 0\)"):
        decoder.push([[0.0, 0.0], [np.nan, 0.0]])
    expected = r"log_emission: expected \(2,\) or \(steps, 2\), got "
    for wrong, shape in (([0.0, 0.0, 0.0], r"\(3,\)"), (0.0, r"\(\)"), ([[[0.0, 0.0]]], "")):
        with pytest.raises(ValueError, match=expected + shape):
            decoder.push(wrong)
    assert decoder.push([0.0, -np.inf]).tolist() == [0]


def test_integers_and_masks():
    """The zero of integers is that of float64, and masks are refused before a step."""
    none = np.iinfo(np.int64).min
    decoder = Decoder(np.array([none, 0]), np.array([[none, 5], [3, none]]), lag=9)
    assert [*decoder.push(np.zeros((3, 2), int)), *decoder.finish()] == [1, 0, 1]
    assert [*decoder.push(np.array([[0, none], [0, 0]])), *decoder.finish()] == [-1, -1]
    with pytest.raises(TypeError, match="log_emission is a masked array"):
        decoder.push(np.ma.masked_array(np.zeros((1, 2)), [[True, False]]))
    assert decoder.finish().size == 0


def test_very_large_numbers():
    """Sums beyond float64 are neither impossible nor alike."""
    most = np.finfo(float).max
    for large in (most, -most, most / 8):
        initial, emission = np.full(2, large), np.full((6, 2), large) * [1, 0.5]
        transition = np.array([[large, 0], [0, large]])
        decoder = Decoder(initial, transition, lag=9)
        got = [*decoder.push(emission), *decoder.finish()]
        assert got == viterbi(initial, transition, emission)[0].tolist()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, by_pickle])
def test_copies_go_on_by_themselves(copied):
    initial, _, emission = model(4, 60, 5)
    transition = np.where(np.eye(4), 0, -np.inf)  # paths that never meet: all steps wait
    decoder = Decoder(initial, transition, lag=60)
    first = decoder.push(emission[:20]).tolist()
    other = copied(decoder)
    tails = emission[20:30], emission[30:]
    pairs = zip((other, decoder), tails, strict=True)
    ends = [[*one.push(tail), *one.finish()] for one, tail in pairs]
    for end, tail in zip(ends, tails, strict=True):
        whole = np.concatenate([emission[:20], tail])
        assert first + end == viterbi(initial, transition, whole)[0].tolist()
