"""The k best paths, and best paths over every semiring, against every path there is."""

import itertools

import numpy as np
import pytest
from support import random_bits

import tropical
from tropical import semirings
from tropical.sequence import k_best, viterbi

INF = np.inf
SELECTIVE = [name for name in semirings.names() if semirings.get(name).selective]


def model(states, steps, seed=0, batch=()):
    """Numbers from 1 to 9, so that few scores are equal and every one is exact."""
    return [
        (random_bits(shape, seed + i) % np.uint64(1 << 16)) / 2**13 + 1
        for i, shape in enumerate([(states,), (states, states), (*batch, steps, states)])
    ]


def every_path(initial, transition, emission, multiply):
    """Paths and scores; transition may have a matrix for each step."""
    steps, states = emission.shape
    matrices = np.broadcast_to(transition, (max(steps - 1, 0), states, states))
    for path in itertools.product(range(states), repeat=steps):
        score = multiply(initial[path[0]], emission[0, path[0]])
        for t in range(1, steps):
            score = multiply(score, matrices[t - 1][path[t - 1], path[t]])
            score = multiply(score, emission[t, path[t]])
        yield path, score


@pytest.mark.parametrize("semiring", ["maxplus", "minplus"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("states,steps", [(1, 3), (2, 1), (2, 6), (3, 5), (5, 4), (9, 3)])
def test_k_best(isa, semiring, dtype, states, steps):
    sign = -1 if semiring == "maxplus" else 1
    initial, transition, emission = (x.astype(dtype) for x in model(states, steps))
    zero = semirings.get(semiring).zero(dtype)
    transition[random_bits(transition.shape, 9) % np.uint64(5) == 0] = zero
    known = [
        (score, path)
        for path, score in every_path(initial, transition, emission, np.add)
        if score != zero
    ]
    known.sort(key=lambda item: sign * item[0])
    k = 40
    paths, scores = k_best(initial, transition, emission, k, semiring=semiring)
    assert paths.shape == (k, steps) and scores.shape == (k,) and scores.dtype == dtype
    some = min(k, len(known))
    np.testing.assert_allclose(scores[:some], [score for score, _ in known[:some]], rtol=1e-6)
    assert (scores[some:] == zero).all() and (paths[some:] == -1).all()
    found = [tuple(path) for path in paths[:some].tolist()]
    assert len(set(found)) == some
    score_of = {path: score for score, path in known}
    np.testing.assert_allclose([score_of[path] for path in found], scores[:some], rtol=1e-6)
    first, best = viterbi(initial, transition, emission, semiring=semiring)
    assert paths[0].tolist() == first.tolist() and scores[0] == best


def test_k_best_of_a_batch():
    """Every way to give it."""
    initial, transition, emission = model(3, 20, batch=(2, 5))
    lengths = np.array([[20, 0, 1, 17, 3], [5, 20, 2, 1, 16]])
    paths, scores = k_best(initial, transition, emission, 4, lengths)
    assert paths.shape == (2, 5, 4, 20) and scores.shape == (2, 5, 4)
    for at, length in np.ndenumerate(lengths):
        alone, score = k_best(initial, transition, emission[at][:length], 4)
        np.testing.assert_array_equal(paths[at][:, :length], alone)
        assert (paths[at][:, length:] == -1).all() and scores[at].tolist() == score.tolist()
    joined = np.concatenate([emission[at][:n] for at, n in np.ndenumerate(lengths)])
    packed, ranked = k_best(initial, transition, joined, 4, lengths.ravel(), concatenated=True)
    np.testing.assert_array_equal(ranked, scores.reshape(10, 4))
    want = np.concatenate([paths[at][:, :n] for at, n in np.ndenumerate(lengths)], axis=1)
    np.testing.assert_array_equal(packed, want)
    matrices = np.broadcast_to(transition, (19, 3, 3))
    got = k_best(initial, matrices, emission, 4, lengths, per_step=True)
    np.testing.assert_array_equal(got[0], paths)
    with tropical.options(threads=3):
        np.testing.assert_array_equal(k_best(initial, transition, emission, 4, lengths)[0], paths)


def test_k_best_of_a_long_sequence():
    """Scores that grow; the second best differs where the loss is least."""
    initial, transition, emission = model(6, 3000)
    paths, scores = k_best(initial, transition, emission, 10)
    assert (np.diff(scores) <= 0).all() and len({tuple(path) for path in paths.tolist()}) == 10
    for path, score in zip(paths, scores, strict=True):
        total = initial[path[0]] + emission[np.arange(3000), path].sum()
        total += transition[path[:-1], path[1:]].sum()
        np.testing.assert_allclose(score, total, rtol=1e-13)


def test_k_best_refuses():
    arguments = np.zeros(2), np.zeros((2, 2)), np.zeros((3, 2))
    with pytest.raises(ValueError, match="k: expected 1 or more, got 0"):
        k_best(*arguments, 0)
    with pytest.raises(TypeError, match=r"k: expected an integer, got 2\.0"):
        k_best(*arguments, 2.0)
    with pytest.raises(ValueError, match="semiring: expected maxplus or minplus, got maxmin"):
        k_best(*arguments, 2, semiring="maxmin")
    with pytest.raises(ValueError, match=r"semiring: expected one of maxplus, .*, got plustimes"):
        viterbi(*arguments, semiring="plustimes")
    with pytest.raises(ValueError, match=r"log_emission: expected numbers of minplus.*, got -inf"):
        viterbi(*arguments[:2], np.full((3, 2), -INF), semiring="minplus")
    with pytest.raises(ValueError, match=r"log_initial: .* got nan at \(1,\)"):
        viterbi([0, np.nan], *arguments[1:], semiring="maxmin")


@pytest.mark.parametrize("semiring", SELECTIVE)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "int64"])
def test_every_semiring(isa, semiring, dtype):
    ring = semirings.get(semiring)
    for states, steps, seed in [(1, 2, 0), (2, 5, 1), (3, 4, 2), (5, 3, 3), (6, 3, 4)]:
        parts = [x.astype(dtype) for x in model(states, steps, seed)]
        parts[1][random_bits(parts[1].shape, seed) % np.uint64(4) == 0] = ring.zero(dtype)

        def multiply(a, b):
            """(x) by the definition: zero annihilates, and integers saturate."""
            column = np.array([[b]], dtype)
            return tropical.gemm(np.array([[a]], dtype), column, semiring=semiring)[0, 0]

        known = dict(every_path(*parts, multiply))
        path, score = viterbi(*parts, semiring=semiring)
        best = ring.add_ufunc.reduce(np.array(list(known.values()), dtype))
        assert score.dtype == dtype
        if score == ring.zero(dtype):
            assert best == score and (path == -1).all()
        else:
            np.testing.assert_allclose(score, best, rtol=1e-5)
            np.testing.assert_allclose(known[tuple(path.tolist())], best, rtol=1e-5)
