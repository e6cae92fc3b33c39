"""Sparse transitions against the same ones as dense matrices."""

import numpy as np
import pytest
from support import random_bits

import tropical
from tropical import _core, semirings
from tropical.sequence import (
    Decoder,
    backward,
    crf_log_likelihood,
    forward,
    k_best,
    log_likelihood,
    posteriors,
    viterbi,
)

sparse = pytest.importorskip("scipy.sparse", reason="makes sparse transitions")


def model(states, steps, seed=0, batch=(), scale=1.0, kept=3):
    parts = [
        ((random_bits(shape, seed + i) % np.uint64(1 << 12)) / 2**10 - 4) * scale
        for i, shape in enumerate([(states,), (states, states), (*batch, steps, states)])
    ]
    there = random_bits((states, states), seed + 7) % np.uint64(kept) == 0
    return *parts, there


def stored(transition, there):
    rows, columns = np.nonzero(there)
    order = random_bits((len(rows),), 3).argsort()
    data = transition[rows, columns]
    return sparse.coo_array((data[order], (rows[order], columns[order])), transition.shape)


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("states,steps", [(1, 3), (2, 20), (5, 33), (20, 17), (70, 40)])
def test_sums(states, steps, scale):
    initial, transition, emission, there = model(states, steps, batch=(3,), scale=scale)
    dense, edges = np.where(there, transition, -np.inf), stored(transition, there)
    near = {"rtol": 1e-11, "atol": 1e-9 * scale}
    lengths = [steps, 1, steps // 2]
    for function, first in ((forward, (initial,)), (backward, ())):
        got = function(*first, edges, emission, lengths)
        want = function(*first, dense, emission, lengths)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, **near)
    got = posteriors(initial, edges, emission, lengths)
    want = posteriors(initial, dense, emission, lengths)
    np.testing.assert_allclose(got.states, want.states, **near)
    assert log_likelihood(initial, edges, emission[0]) == got.log_likelihood[0]
    order = edges.tocsc()
    order.sort_indices()
    columns = np.repeat(np.arange(states), np.diff(order.indptr))
    np.testing.assert_allclose(got.transitions, want.transitions[:, order.indices, columns], **near)
    with tropical.options(threads=3):
        again = posteriors(initial, edges, emission, lengths)
    for x, y in zip(got, again, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("semiring", ["maxplus", "minplus", "maxtimes", "maxmin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_best_paths(semiring, dtype):
    zero = semirings.get(semiring).zero(dtype)
    for states, steps in [(1, 2), (4, 40), (9, 33), (50, 20)]:
        initial, transition, emission, there = model(states, steps, batch=(2,))
        initial, transition, emission = (
            (np.abs(x) * 2).round().astype(dtype) for x in (initial, transition, emission)
        )
        if semiring == "maxtimes":
            emission = np.minimum(emission, 1)
            transition = np.minimum(transition, 1)
        dense = np.where(there, transition, zero)
        got = viterbi(initial, stored(transition, there), emission, semiring=semiring)
        want = viterbi(initial, dense, emission, semiring=semiring)
        np.testing.assert_array_equal(got[1], want[1])
        np.testing.assert_array_equal(got[0], want[0])


def test_refused():
    initial, _, emission, _ = model(3, 5)
    edges = sparse.csr_array(np.ones((3, 3)))
    twice = sparse.coo_array(([0.0, 0.0], ([1, 1], [2, 2])), (3, 3))
    with pytest.raises(ValueError, match="expected each transition once"):
        viterbi(initial, twice, emission)
    with pytest.raises(ValueError, match=r"log_transition: expected \(3, 3\).*got \(4, 4\)"):
        viterbi(initial, sparse.csr_array(np.ones((4, 4))), emission)
    with pytest.raises(ValueError, match="per_step: expected False beside sparse"):
        viterbi(initial, edges, emission, per_step=True)
    with pytest.raises(TypeError, match="expected a dense matrix for k_best"):
        k_best(initial, edges, emission, 2)
    with pytest.raises(TypeError, match="sparse"):
        crf_log_likelihood(initial, edges, emission, [0] * 5)
    with pytest.raises(TypeError, match="sparse"):
        Decoder(initial, edges)
    edges.data[0] = np.nan
    with pytest.raises(ValueError, match=r"log_transition: .* got nan"):
        viterbi(initial, edges, emission)


def test_stored_diagonals():
    """A banded model: zeros on its diagonals are probabilities of one."""
    data = np.array([[0.0, -1, -2, -3], [-9, 0, -0.5, -1]])
    banded = sparse.dia_array((data, [0, 1]), (4, 4))
    dense = np.full((4, 4), -np.inf)
    dense[range(4), range(4)] = data[0]
    dense[range(3), range(1, 4)] = data[1, 1:]
    initial, _, emission, _ = model(4, 30)
    assert log_likelihood(initial, banded, emission) == log_likelihood(
        initial, sparse.coo_array((dense[dense > -np.inf], np.nonzero(dense > -np.inf))), emission
    )
    np.testing.assert_allclose(
        log_likelihood(initial, banded, emission), log_likelihood(initial, dense, emission)
    )


@pytest.mark.parametrize("semiring", ["maxplus", "minplus", "maxtimes", "maxmin"])
def test_a_nan_that_another_thread_writes(semiring):
    """The best path ends where nothing leads, as the NaN is no better; it consists of states."""
    edges = _core.ChainEdges(4, np.array([0, 1, 1, 2, 0, 3]), np.array([1, 1, 2, 2, 3, 3]))
    steps, start = 50, np.zeros(1, np.intp)
    emission = np.zeros((steps, 4))
    emission[-1, 0] = np.nan
    initial, transition = np.zeros((1, 4)), np.zeros((1, 6))
    chains = _core.Chains(initial, transition, emission, start, start + steps, None, edges)
    states = np.full((1, steps), 4)
    _core.best_paths(semiring, chains, start, states, np.empty((1, 1)))
    assert states.min() >= 0 and states.max() < 4
