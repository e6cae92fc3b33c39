"""Arrays of any library with DLPack, and the answer in the same library: by array-api-strict."""

import contextlib
import warnings

import numpy as np
import pytest
from support import assert_same_bits

import tropical
from tropical import foreign, graph, sequence
from tropical.interop import dlpack

xp = pytest.importorskip("array_api_strict")

LEGS = np.array([[0.0, 4.0, 9.0], [4.0, 0.0, 3.0], [9.0, 3.0, 0.0]])
INITIAL, TRANSITION = np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]])
EMISSION = np.log([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]])
CHAIN = (INITIAL, TRANSITION, EMISSION)

# A name, the function of arrays, and the arrays.
CALLS = {
    "gemm": (lambda *a: dlpack.gemm(*a, semiring="minplus"), LEGS, LEGS),
    "gemm and argmax": (lambda *a: dlpack.gemm(*a, return_argmax=True), LEGS, LEGS),
    "einsum": (lambda *a: tropical.einsum("ij,jk->ik", *a), LEGS, LEGS),
    "einsum of labels": (lambda a, b: tropical.einsum(a, [0, 1], b, [1, 2]), LEGS, LEGS),
    "einsum and argmax": (
        lambda *a: tropical.einsum("ij,jk->ik", *a, return_argmax=True),
        LEGS,
        LEGS,
    ),
    "closure": (graph.closure, LEGS),
    "closure of bool": (lambda a: graph.closure(a, "orand"), LEGS > 3),
    "closure of int16": (graph.closure, LEGS.astype(np.int16)),
    "matrix_power": (lambda a: graph.matrix_power(a, 2, "minplus"), LEGS),
    "shortest_paths": (graph.shortest_paths, LEGS),
    "predecessors": (lambda a: graph.shortest_paths(a, return_predecessors=True), LEGS),
    "shortest_paths from": (
        lambda a, i: graph.shortest_paths(a, indices=i),
        LEGS,
        np.array([2, 0]),
    ),
    "count_shortest_paths": (graph.count_shortest_paths, LEGS),
    "count of one pair": (lambda a: graph.count_shortest_paths(a, indices=0, targets=2), LEGS),
    "longest_paths": (graph.longest_paths, np.triu(LEGS, 1) + np.tril(np.full((3, 3), -np.inf))),
    "widest_paths": (graph.widest_paths, LEGS),
    "minimax_paths": (graph.minimax_paths, LEGS),
    "transitive_closure": (graph.transitive_closure, LEGS > 3),
    "viterbi": (sequence.viterbi, *CHAIN),
    "k_best": (lambda *a: sequence.k_best(*a, 2), *CHAIN),
    "forward": (sequence.forward, *CHAIN),
    "backward": (lambda *a: sequence.backward(*a[1:]), *CHAIN),
    "posteriors": (sequence.posteriors, *CHAIN),
    "log_likelihood": (sequence.log_likelihood, *CHAIN),
    "crf_log_likelihood": (sequence.crf_log_likelihood, *CHAIN, np.array([1, 0, 0])),
}


def parts(result):
    """The arrays of a result, also those within dicts."""
    if isinstance(result, tuple | dict):
        inner = result.values() if isinstance(result, dict) else result
        return [array for part in inner for array in parts(part)]
    return [result]


@pytest.mark.parametrize("name", CALLS)
def test_answers_in_the_library_of_the_arrays(name):
    function, *arrays = CALLS[name]
    wanted = function(*arrays)
    got = function(*map(xp.asarray, arrays))
    assert type(got) is type(wanted) or not isinstance(wanted, tuple)
    for mine, theirs in zip(parts(wanted), parts(got), strict=True):
        assert type(theirs).__module__.startswith("array_api_strict"), type(theirs)
        assert_same_bits(np.from_dlpack(theirs), np.asarray(mine))


def test_one_array_of_another_library_decides():
    got = sequence.viterbi(INITIAL, xp.asarray(TRANSITION), EMISSION)
    assert all(type(x).__module__.startswith("array_api_strict") for x in got)


writes = pytest.mark.skipif(
    not np.from_dlpack(xp.zeros(1)).flags.writeable,
    reason="NumPy 2.1 reads arrays of other libraries only",
)


@writes
def test_out_is_the_object_that_was_given():
    out = xp.zeros((3, 3), dtype=xp.float64)
    legs = xp.asarray(LEGS)
    assert tropical.einsum("ij,jk->ik", legs, legs, semiring="minplus", out=out) is out
    assert_same_bits(np.from_dlpack(out), tropical.gemm(LEGS, LEGS, semiring="minplus"))


@writes
def test_overwritten_in_place():
    legs = xp.asarray(LEGS.copy())
    assert graph.closure(legs, overwrite=True) is legs
    assert_same_bits(np.from_dlpack(legs), graph.closure(LEGS))


def test_numpys_arrays_and_lists_are_answered_by_numpy():
    for a in (LEGS, LEGS.tolist(), np.ma.masked_invalid(LEGS).filled(0)):
        assert type(graph.closure(a)) is np.ndarray


class OnTheGraphicsCard:  # of AMD
    def __array_namespace__(self):
        return xp

    def __dlpack__(self, **options):
        raise AssertionError("was exported")

    def __dlpack_device__(self):
        return 10, 0


@pytest.mark.parametrize(
    "call, name",
    [
        (graph.closure, "a"),
        (lambda a: graph.matrix_power(a=a, n=2, semiring="minplus"), "a"),
        (lambda a: tropical.einsum("ij,jk->ik", LEGS, a), "operand 1"),
        (lambda a: sequence.viterbi(INITIAL, a, EMISSION), "log_transition"),
    ],
)
def test_other_devices_are_refused_by_the_name_of_the_argument(call, name):
    with pytest.raises(BufferError, match=f"^{name}: expected an array on the CPU, got"):
        call(OnTheGraphicsCard())


def test_warnings_name_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph.shortest_paths(np.eye(3))
        graph.explain_shortest_paths(np.eye(3))
        graph.minimax_paths(np.eye(3))
        graph.matrix_power(LEGS, 2)
        for function in (
            graph.count_shortest_paths,
            lambda w: list(graph.k_shortest_paths(w, 0, 1)),
        ):
            with contextlib.suppress(ValueError):  # of cycles of weight 0
                function(np.eye(3))
    assert [x.filename for x in caught] == [__file__] * 6


def test_the_decorated_function_is_seen():
    assert graph.closure.__wrapped__.__name__ == graph.closure.__name__ == "closure"
    assert foreign.answers_alike.__doc__
