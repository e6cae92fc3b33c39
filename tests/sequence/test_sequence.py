"""Chains against every path there is, and against scaled recursions in the linear domain."""

import itertools
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import check_refused, random_bits, run_python, values

from tropical.bench import sequences
from tropical.sequence import Decoder, backward, forward, k_best, posteriors, viterbi

INF = np.inf


def model(states, steps, batch=(), dtype="float64", seed=0, impossible=True):
    """Random logarithms, few of which are equal; some -inf."""
    shapes = (states,), (states, states), (*batch, steps, states)
    parts = [
        values(shape, dtype, seed + i) / np.dtype(dtype).type(32) for i, shape in enumerate(shapes)
    ]
    if impossible:
        for i, part in enumerate(parts):
            part[random_bits(part.shape, seed + 10 + i) % np.uint64(5) == 0] = -np.inf
    return parts


def score(path, initial, transition, emission):
    """Of one path, added up as the recursion does."""
    total = -np.inf if len(path) else 0.0
    for step, state in enumerate(path):
        into = initial[state] if step == 0 else total + transition[path[step - 1], state]
        total = into + emission[step, state]
    return total


def all_paths(initial, transition, emission):
    steps, states = emission.shape
    paths = np.array(list(itertools.product(range(states), repeat=steps)), int).reshape(-1, steps)
    return paths, np.array([score(p, initial, transition, emission) for p in paths])


def best_path(initial, transition, emission):
    """The best of all; of equal ones that whose last state is lowest, then the one before, ..."""
    paths, scores = all_paths(initial, transition, emission)
    best = scores.max()
    if best == -np.inf:
        return np.full(len(emission), -1), best
    return min(
        (p for p, s in zip(paths, scores, strict=True) if s == best), key=lambda p: tuple(p[::-1])
    ), best


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("states,steps", [(1, 1), (1, 4), (2, 1), (2, 7), (3, 5), (5, 3)])
def test_viterbi_by_every_path(isa, dtype, states, steps):
    initial, transition, emission = model(states, steps, (9,), dtype)
    paths, scores = viterbi(initial, transition, emission)
    assert paths.dtype == np.intp and scores.dtype == dtype
    for got, total, one in zip(paths, scores, emission, strict=True):
        path, best = best_path(initial, transition, one)
        assert got.tolist() == path.tolist()
        assert total == best or abs(total - best) < 1e-5 * abs(best)


@settings(max_examples=60)
@given(data=st.data())
def test_ties_go_to_the_lowest_states(data):
    states, steps = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    small = st.sampled_from([-np.inf, -1.0, 0.0])

    def draw(*shape):
        size = int(np.prod(shape))
        return np.array(data.draw(st.lists(small, min_size=size, max_size=size))).reshape(shape)

    initial, transition, emission = draw(states), draw(states, states), draw(steps, states)
    path, total = viterbi(initial, transition, emission)
    want, best = best_path(initial, transition, emission)
    assert path.tolist() == want.tolist() and total == best


def test_forward_backward_and_posteriors_by_every_path(isa):
    for (states, steps), seed in itertools.product([(1, 1), (2, 4), (3, 5), (4, 3)], range(3)):
        initial, transition, emission = model(states, steps, seed=seed)
        paths, scores = all_paths(initial, transition, emission)
        weight = np.exp(scores)
        log_alpha, total = forward(initial, transition, emission)
        log_beta = backward(transition, emission)
        known = posteriors(initial, transition, emission)
        near = {"rtol": 1e-12, "atol": 1e-300}
        np.testing.assert_allclose(np.exp(total), weight.sum(), **near)
        assert known.log_likelihood == total
        if weight.sum() == 0:
            assert total == -np.inf and not known.states.any() and not known.transitions.any()
            continue
        pairs = np.zeros((states, states))
        for step in range(steps):
            for state in range(states):
                there = weight[paths[:, step] == state].sum()
                np.testing.assert_allclose(
                    np.exp(log_alpha[step, state] + log_beta[step, state]), there, **near
                )
                np.testing.assert_allclose(known.states[step, state], there / weight.sum(), **near)
            if step:
                np.add.at(pairs, (paths[:, step - 1], paths[:, step]), weight / weight.sum())
        np.testing.assert_allclose(known.transitions, pairs, **near)


def scaled_forward_backward(initial, transition, emission):
    """Rabiner's scaling, in doubles; no impossible state may be the only one."""
    a, b = np.exp(transition), np.exp(emission)
    alpha, scale = np.empty_like(b), np.empty(len(b))
    for step in range(len(b)):
        alpha[step] = (np.exp(initial) if step == 0 else alpha[step - 1] @ a) * b[step]
        scale[step] = alpha[step].sum()
        alpha[step] /= scale[step]
    beta = np.ones_like(b)
    for step in range(len(b) - 2, -1, -1):
        beta[step] = a @ (b[step + 1] * beta[step + 1]) / scale[step + 1]
    later = b[1:] * beta[1:] / scale[1:, None]
    return alpha * beta, np.log(scale).sum(), a * (alpha[:-1].T @ later)


@pytest.mark.parametrize("dtype,room", [("float32", 2e-3), ("float64", 1e-10)])
def test_long_sequences_by_scaled_recursions(isa, dtype, room):
    """1,000 steps: likelihoods below what any float holds."""
    initial, transition, emission = model(9, 1000, (2,), dtype, impossible=False)
    emission -= 8
    known = posteriors(initial, transition, emission)
    assert {x.dtype for x in known} == {np.dtype(dtype)}
    np.testing.assert_allclose(known.states.sum(axis=-1), 1, rtol=1e-5)
    for i in range(2):
        states, total, pairs = scaled_forward_backward(
            *(x.astype(float) for x in (initial, transition, emission[i]))
        )
        assert total < -500 and abs(known.log_likelihood[i] - total) < room * 1e-3 * abs(total)
        np.testing.assert_allclose(known.states[i], states, atol=room)
        np.testing.assert_allclose(known.transitions[i], pairs, atol=room, rtol=room)


@pytest.mark.slow
def test_float32_does_not_lose_digits_with_the_length():
    """Steps of 4 on average: their sums round by 0.03 in float32, and decide by less."""
    narrow = [
        (random_bits(shape, i) % np.uint64(1024)).astype(np.float32) / np.float32(-128)
        for i, shape in enumerate([(4,), (4, 4), (2, 100_000, 4)])
    ]
    wide = [x.astype(float) for x in narrow]
    lengths = [100_000, 65_537]
    (path, total), (want, best) = viterbi(*narrow, lengths), viterbi(*wide, lengths)
    np.testing.assert_array_equal(path, want)  # float32 holds each difference exactly
    assert total.tolist() == best.astype(np.float32).tolist()
    known, exact = posteriors(*narrow, lengths), posteriors(*wide, lengths)
    for got, probability in zip(known[:2], exact[:2], strict=True):
        np.testing.assert_allclose(got, probability, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(known.log_likelihood, exact.log_likelihood, rtol=1e-7)
    for function, parts in ((forward, [0, 1, 2]), (backward, [1, 2])):
        some = [[x[i][..., :5_000, :] if i == 2 else x[i] for i in parts] for x in (narrow, wide)]
        got, want = (function(*x)[0] for x in some)
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=2e-5)


def test_states_out_of_reach_of_each_other():
    """A chain that moves on by one state or stays: sums of float32 that have to be taken anew."""
    states = 300
    initial = np.full(states, -INF, np.float32)
    initial[0] = 0
    transition = np.full((states, states), -INF, np.float32)
    for i in range(states):
        transition[i, i : i + 2] = -30.0
    emission = values((400, states), "float32", 5) / np.float32(8)
    narrow = forward(initial, transition, emission)
    wide = forward(*(x.astype(float) for x in (initial, transition, emission)))
    np.testing.assert_array_equal(np.isinf(narrow[0]), np.isinf(wide[0]))
    np.testing.assert_allclose(narrow[0], wide[0], rtol=2e-6, atol=1e-3)
    path, total = viterbi(initial, transition, emission)
    assert np.all((np.diff(path) == 0) | (np.diff(path) == 1)) and np.isfinite(total)


LENGTHS = [5, 0, 7, 1, 7, 3]


@pytest.mark.parametrize("order", [LENGTHS, sorted(LENGTHS), sorted(LENGTHS)[::-1]], ids=str)
@pytest.mark.parametrize("own_model", [False, True])
def test_lengths(isa, order, own_model):
    """Each as if alone and cut off; what lies beyond is not read."""
    initial, transition, emission = model(4, 7, (6,), impossible=False)
    if own_model:
        transition = values((6, 4, 4), "float64", 7) / 32
        initial = values((6, 4), "float64", 8) / 32
    for row, length in zip(emission, order, strict=True):
        row[length:] = np.nan
    paths, scores = viterbi(initial, transition, emission, order)
    log_alpha, likelihood = forward(initial, transition, emission, np.array(order, np.uint8))
    log_beta = backward(transition, emission, order)
    known = posteriors(initial, transition, emission, order)
    for i, length in enumerate(order):
        pi, a = (initial[i], transition[i]) if own_model else (initial, transition)
        one = pi, a, emission[i, :length]
        path, total = viterbi(*one)
        assert paths[i].tolist() == [*path, *[-1] * (7 - length)] and scores[i] == total
        alone = posteriors(*one)
        np.testing.assert_allclose(known.states[i, :length], alone.states)
        np.testing.assert_allclose(known.transitions[i], alone.transitions)
        for got, want in zip(
            (log_alpha[i], log_beta[i]), (forward(*one)[0], backward(*one[1:])), strict=True
        ):
            np.testing.assert_allclose(got[:length], want, rtol=1e-12)
            assert (got[length:] == -INF).all()
        assert likelihood[i] == pytest.approx(forward(*one)[1]) == known.log_likelihood[i]
        assert not known.states[i, length:].any()


def test_no_steps():
    """Nothing observed: nothing to explain, and probability 1."""
    initial, transition = np.log([0.5, 0.5]), np.zeros((2, 2))
    for emission, batch in (
        (np.zeros((0, 2)), ()),
        (np.zeros((3, 0, 2)), (3,)),
        (np.zeros((0, 4, 2)), (0,)),
    ):
        paths, scores = viterbi(initial, transition, emission)
        assert paths.shape == emission.shape[:-1] and np.shape(scores) == batch
        known = posteriors(initial, transition, emission)
        assert known.states.shape == emission.shape and known.transitions.shape == (*batch, 2, 2)
        assert (
            not np.any(scores) and not np.any(known.log_likelihood) and not known.transitions.any()
        )
        assert backward(transition, emission).shape == emission.shape
    assert viterbi(initial, transition, np.zeros((4, 2)), 0)[0].tolist() == [-1] * 4


def test_no_sequences():
    none = [viterbi([0, 0], np.zeros((2, 2)), np.zeros((0, 4, 2)), n)[0] for n in (None, [])]
    assert [paths.shape for paths in none] == [(0, 4), (0, 4)]


def test_batches_broadcast():
    """One model for many sequences, many models for one, and both."""
    initial = values((3, 1, 4), "float64", 1) / 32
    transition = values((2, 4, 4), "float64", 2) / 32
    emission = values((6, 4), "float64", 3) / 32
    lengths = [[6], [2], [4]]
    paths, scores = viterbi(initial, transition, emission, lengths)
    known = posteriors(initial, transition, emission, lengths)
    assert paths.shape == (3, 2, 6) and scores.shape == (3, 2)
    assert known.states.shape == (3, 2, 6, 4) and known.transitions.shape == (3, 2, 4, 4)
    for i, j in np.ndindex(3, 2):
        one = initial[i, 0], transition[j], emission[: lengths[i][0]]
        path, total = viterbi(*one)
        assert paths[i, j, : len(path)].tolist() == path.tolist() and scores[i, j] == total
        np.testing.assert_allclose(known.transitions[i, j], posteriors(*one).transitions)


def test_any_layout_and_inputs_untouched():
    initial, transition, emission = model(6, 20, (5,))
    want = viterbi(initial, transition, emission)
    strange = [np.asfortranarray(emission), emission[::-1].copy()[::-1], emission.astype(">f8")]
    strange.append(np.repeat(emission, 2, axis=-1)[..., ::2])
    moved = np.frombuffer(b"?" + emission.tobytes(), np.uint8)[1:].view(np.float64)
    strange.append(moved.reshape(emission.shape))
    assert not strange[-1].flags.aligned
    for other in strange:
        other.flags.writeable = False
        got = viterbi(initial, np.asfortranarray(transition), other)
        assert got[0].tolist() == want[0].tolist() and got[1].tolist() == want[1].tolist()


def test_integers():
    """Best paths keep them; sums do not."""
    integers = [0, -1], [[0, -1], [-1, 0]], [[-3, 0], [-1, 0], [0, -9]]
    path, total = viterbi(*integers)
    assert path.tolist() == [1, 1, 0] and total == -2 and total.dtype == np.int64
    assert forward(*integers)[0].dtype == np.float64
    assert viterbi(np.zeros(2, np.float32), [[0, -1], [-1, 0]], [[-3, 0]])[1].dtype == np.float64
    narrow = [np.array(x, np.int8) for x in integers]
    assert viterbi(*narrow)[1].dtype == np.int8
    assert viterbi(*(abs(x).astype(np.uint8) for x in narrow), semiring="minplus")[1] == 2
    impossible = np.full((3, 2), -128, np.int8)
    assert viterbi(*narrow[:2], impossible)[0].tolist() == [-1, -1, -1]
    assert viterbi(*narrow[:2], np.full((3, 2), -100, np.int8))[1] == -128  # sums saturate


PI, A, B, NAN = np.zeros(2), np.zeros((2, 2)), np.zeros((3, 2)), np.nan
BATCH = r"log_initial \(4, 2\), .* expected batches that broadcast"
STEPS = "lengths: expected 0 to 3, the steps of log_emission, got 4"
REFUSED = [  # and the initial and transition probabilities, the emissions, the lengths
    (ValueError, r"log_initial: expected \(..., 2\), as .*, got \(3,\)", np.zeros(3), A, B),
    (ValueError, r"log_transition: expected .* got \(2,\)", PI, PI, B),
    (ValueError, r"log_transition: expected \(..., 2, 2\), .* got \(3, 2\)", PI, B, B),
    (ValueError, r"expected \(2, 2\) for all steps, got \(2, 2, 2\)", PI, np.zeros((2, 2, 2)), B),
    (ValueError, r"log_emission: expected .* got \(2,\)", PI, A, PI),
    (ValueError, r"log_emission: expected .* got \(3, 0\)", PI, A, np.zeros((3, 0))),
    (ValueError, BATCH, np.zeros((4, 2)), A, np.zeros((5, 3, 2))),
    (ValueError, r"lengths \(2,\): expected batches", PI, A, np.zeros((5, 3, 2)), [1, 2]),
    (ValueError, r"log_emission: .* got nan at \(1, 0\)", PI, A, [[0, 0], [NAN, 0], [0, 0]]),
    (ValueError, r"log_initial: .* got inf at \(1,\)", [0, INF], A, B),
    (ValueError, r"log_transition: .* got nan at \(0, 1\)", PI, [[0, NAN], [0, 0]], B),
    (ValueError, STEPS, PI, A, B, 4),
    (ValueError, "lengths: expected 0 to 3, .* got -1", PI, A, B, -1),
    (TypeError, "lengths: expected integers, got float64", PI, A, B, 2.0),
    (TypeError, "log_initial is a masked array", np.ma.masked_array(PI, [1, 0]), A, B),
    (TypeError, "log_emission is a masked array", PI, A, np.ma.masked_array(B, B)),
    (TypeError, "lengths is a masked array", PI, A, B, np.ma.masked_array([3, 2], [0, 1])),
    (TypeError, "log_initial has complex128", np.zeros(2, complex), A, B),
    (TypeError, "log_emission has float16", *(x.astype(np.float16) for x in (PI, A, B))),
]


def test_a_batch_of_transitions_may_have_any_size():
    """As many as steps between observations too, if another argument is a batch."""
    transition = np.log(np.random.default_rng(1).random((2, 2, 2)))
    paths = viterbi(PI, transition, np.broadcast_to(B, (2, 3, 2)))[0]
    assert [x.tolist() for x in paths] == [viterbi(PI, x, B)[0].tolist() for x in transition]
    assert viterbi(PI, transition[:1], B[:2])[0].shape == (1, 2)


@pytest.mark.parametrize("states", [2, 5, 20, 70])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_beyond_the_range_of_floats(isa, dtype, states, sign):
    """A mask by the least number is as possible as any other score; impossible steps stay so."""
    most = sign * np.finfo(dtype).max
    around = np.full((states, states), -np.inf, dtype)
    around[np.arange(states), (np.arange(states) + 1) % states] = 0
    emission = np.full((2, 37, states), most, dtype)
    emission[0] = 1
    model = np.zeros(states, dtype), around, emission
    ones = viterbi(*model[:2], np.ones_like(emission))[0]
    paths, scores = viterbi(*model)
    assert (paths == ones).all() and scores[0] == 37
    assert scores[1] / most > 0 and np.isfinite(scores[1])
    assert (k_best(*model, 2)[0][:, 0] == ones).all()
    cheapest = viterbi(model[0], -around, -emission, semiring="minplus")
    assert (cheapest[0] == ones).all() and (cheapest[1] == -scores).all()
    decoder = Decoder(*model[:2])
    assert [*decoder.push(emission[1]), *decoder.finish()] == ones[1].tolist()


def test_sequences_whose_scores_are_finite_stay_beside_others(isa):
    """Only those without a finite score are bounded, and no rank of the others."""
    emission = np.array([[-3e303, -2e303]] * 2)
    model = np.zeros(2), np.array([[0, -np.inf], [-np.inf, 0]]), emission
    best, score = viterbi(*model)
    assert best.tolist() == [1, 1] and score == -4e303
    many = np.stack([emission, np.full((2, 2), -np.inf), np.full((2, 2), -1.5e308)])
    paths, scores = viterbi(*model[:2], many)
    assert paths.tolist() == [[1, 1], [-1, -1], [0, 0]]
    assert scores[:2].tolist() == [-4e303, -np.inf] and np.isfinite(scores[2])
    paths, scores = k_best(*model, 4)
    assert paths.tolist() == [[1, 1], [0, 0], [-1, -1], [-1, -1]]
    assert scores.tolist() == [-4e303, -6e303, -np.inf, -np.inf]


def test_scores_beyond_the_dtype(isa):
    most = np.finfo(np.float32).max
    for sign in (1, -1):
        much = np.full((400, 3), sign * most, np.float32)
        path, score = viterbi(np.zeros(3, np.float32), np.zeros((3, 3), np.float32), much)
        assert (path == 0).all() and score == sign * most
    tenfold = np.full((400, 3), 10.0)
    with pytest.raises(ValueError, match=r"paths whose scores float64 holds, got inf for"):
        viterbi(np.ones(3), np.ones((3, 3)), tenfold, semiring="maxtimes")


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8])
def test_integers_whose_sums_saturate(isa, dtype):
    """The path is that of their sums, and the score the nearest number of the dtype."""
    bits = random_bits((400, 5), 3)
    most = np.iinfo(dtype).max
    costs = (bits % np.uint64(most // 2) + np.uint64(most // 4)).astype(dtype)
    jumps = (random_bits((5, 5), 4) % np.uint64(100)).astype(dtype)
    none = np.zeros(5, dtype)
    wide = viterbi(none.astype(float), jumps.astype(float), costs.astype(float), semiring="minplus")
    path, score = viterbi(none, jumps, costs, semiring="minplus")
    assert (path == wide[0]).all()
    signed = np.result_type(dtype, np.int8)
    assert score == min(wide[1], np.iinfo(signed).max) and score.dtype == signed
    if dtype == np.uint8:
        return  # which has no infinity of int16
    jumps[:, 2] = np.iinfo(dtype).max  # no edge
    none[2] = np.iinfo(dtype).max
    assert (viterbi(none, jumps, costs, semiring="minplus")[0] != 2).all()


def test_refuses():
    for function in (viterbi, forward, posteriors):
        check_refused(function, *REFUSED)
    others = [(*case[:2], *case[3:]) for case in REFUSED if case[2] is PI]
    assert len(others) == 13
    check_refused(backward, *others)


@pytest.mark.parametrize("formulation", sequences.FORMULATIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_it_is_timed_against_computes_the_same(formulation, dtype):
    size = (5, 11, 7, dtype)
    rival, contender = sequences.numpy_viterbi(formulation, *size), sequences.ours(*size)
    assert rival.work == contender.work == 2 * 5 * 11 * 49
    for got, want in zip(rival.call(), contender.call(), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("lengths", [[20, 20, 20], [20, 0, 3]])
def test_memory_of_results_is_filled(isa, monkeypatch, lengths):
    """Results begin as memory with any numbers, also those of impossible sequences."""
    initial, transition, emission = model(3, 20, (3,), impossible=False)
    emission[0, 7] = -np.inf
    calls = [
        lambda: posteriors(initial, transition, emission, lengths),
        lambda: forward(initial, transition, emission, lengths),
        lambda: (backward(transition, emission, lengths),),
    ]
    want = [call() for call in calls]
    assert not want[0].states[0].any() and not want[0].transitions[0].any()
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 7, dtype))
    for call, results in zip(calls, want, strict=True):
        for got, result in zip(call(), results, strict=True):
            np.testing.assert_array_equal(got, result)


def test_arrays_from_other_processes():
    """A dtype that was pickled is equal to NumPy's own, and another object."""
    model = [np.zeros(3), np.eye(3), np.arange(12.0).reshape(4, 3)]
    for function in (viterbi, forward, posteriors):
        want = function(*model)
        for number in range(3):
            given = [
                pickle.loads(pickle.dumps(x)) if i == number else x for i, x in enumerate(model)
            ]
            got = function(*given)
            for one, other in zip(got, want, strict=True):
                np.testing.assert_array_equal(one, other)


def test_concatenated_sequences_have_one_model_each():
    """More models than sequences would write to the same rows."""
    initial, matrix, emission = np.zeros(2), np.zeros((2, 2)), np.zeros((3, 2))
    two = np.stack([matrix, matrix])
    for model in ((initial, two), (np.zeros((3, 2)), matrix), (np.zeros((3, 1, 2)), matrix)):
        for lengths in (None, [3]):
            for function in (viterbi, forward, posteriors):
                with pytest.raises(ValueError, match="concatenated: expected one model, or"):
                    function(*model, emission, lengths, concatenated=True)
    one = viterbi(initial, matrix, emission, [1, 2], concatenated=True)
    each = viterbi(np.zeros((2, 2)), two, emission, [1, 2], concatenated=True)
    for got, want in zip(each, one, strict=True):
        np.testing.assert_array_equal(got, want)


def test_matrices_of_steps_beyond_the_length_are_not_read():
    matrices = np.stack([np.zeros((2, 2)), np.full((2, 2), np.nan)])
    path, score = viterbi(np.zeros(2), matrices, np.zeros((3, 2)), 2, per_step=True)
    assert path.tolist() == [0, 0, -1] and score == 0
    paths, _ = viterbi(np.zeros(2), matrices, np.zeros((2, 3, 2)), [2, 1], per_step=True)
    assert paths.tolist() == [[0, 0, -1], [0, -1, -1]]
    with pytest.raises(ValueError, match=r"log_transition: expected .* got nan at \(1, 1, 0, 0\)"):
        viterbi(np.zeros(2), matrices, np.zeros((2, 3, 2)), [2, 3], per_step=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space")
def test_memory_is_asked_for_tasks_not_for_threads():
    """One sequence needs some megabytes, and so many threads several gigabytes."""
    run_python("""
        import resource
        import numpy as np
        from tropical import options
        from tropical.sequence import viterbi
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
        for states, dtype in [(2, "f8"), (24, "f4"), (8, "i8")]:
            emission = np.zeros((1_000_000, states), dtype)
            with options(threads=64):
                path, score = viterbi(emission[0], emission[:states], emission)
            assert score == 0 and not path.any()
    """)
