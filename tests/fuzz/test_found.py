"""What the fuzzer found: a wrong argument ends in an error that names the argument."""

import numpy as np
import pytest
from odd import Overriding

import tropical
from tropical import autograd, graph, nn, optim, sequence, spectral, tuning

WIDE = np.zeros((1,) * 64)
HUGE = range(2**70)
ARRAYS = "expected a mapping of names to arrays, got"


def sgd():
    return optim.SGD([nn.Parameter([1.0])], lr=0.1)


@pytest.mark.parametrize(
    "call,error,message",
    [
        (lambda: nn.ReLU().load_state_dict(3), TypeError, f"state: {ARRAYS} int"),
        (lambda: sgd().load_state_dict(np.zeros(3)), TypeError, f"state: {ARRAYS} ndarray"),
        (
            lambda: optim.Schedule(sgd(), lambda n: 1.0).load_state_dict(None),
            TypeError,
            f"state: {ARRAYS} NoneType",
        ),
        (lambda: nn.save_arrays("x", [1.0]), TypeError, f"arrays: {ARRAYS} list"),
        (lambda: sgd().minimize(1.0), TypeError, "minimize: expected a Tensor, got float"),
        (lambda: optim.Schedule(3, None), TypeError, "optimizer: expected an Optimizer, got int"),
        (
            lambda: optim.clip_grad_norm("ab", 1.0),
            TypeError,
            r"parameters\[0\]: expected a Tensor, got str",
        ),
        (lambda: nn.uniform(None, 1.0), TypeError, "shape: expected a tuple of ints, got NoneType"),
        (lambda: nn.normal((2, -1), 1.0), ValueError, r"shape\[1\]: expected .* got -1"),
        (lambda: nn.normal((2,), Overriding()), TypeError, "Overriding"),
        (lambda: nn.uniform((2,), Overriding()), TypeError, "Overriding"),
        (lambda: nn.he_normal((3,)), ValueError, "shape: expected at least 2 sizes, got 1"),
        (lambda: nn.he_normal(HUGE), TypeError, "shape: expected a tuple of ints, got range"),
        (lambda: autograd.reshape(np.zeros(1), HUGE), OverflowError, "int"),
        (lambda: autograd.reshape(np.zeros(1), range(65)), ValueError, "at most 64 .* got 65"),
        (lambda: autograd.dropout(np.zeros(1), rng=3), TypeError, "rng: expected .* got 3"),
        (
            lambda: autograd.check_gradients(autograd.exp, [1.0], step=0),
            ValueError,
            "step: expected a positive number, got 0",
        ),
        (lambda: tropical.show_config("x"), TypeError, "file: expected a text file, got str"),
        (lambda: spectral.convolve(WIDE[0], [1.0]), ValueError, "g: expected a shape that broad"),
        (
            lambda: spectral.schedule(np.zeros((1, 1)), [1.0], 2, inputs=WIDE),
            ValueError,
            "inputs: expected a shape that broadcasts",
        ),
        (
            lambda: sequence.viterbi([0.0], WIDE, [[0.0]]),
            ValueError,
            "log_transition .* expected batches that broadcast",
        ),
        (lambda: tuning.check_replaceable(3), TypeError, "int"),
        (lambda: tuning.read(3), TypeError, "int"),
        (lambda: tuning.write(3, {}), TypeError, "int"),
        # On CPython 3.11 NumPy's search through a matrix, whose rows are matrices, ends in a crash.
        (
            lambda: autograd.seed(np.ones((1, 1)).view(np.matrix)),
            TypeError,
            "number: expected an integer",
        ),
        (lambda: autograd.seed(1.5), TypeError, "number: expected an integer, got 1.5"),
        (lambda: autograd.seed(-1), ValueError, "number: expected 0 or more, got -1"),
        (lambda: spectral.schedule([[1]], [0], 1.5), TypeError, "steps: expected an integer"),
        (lambda: sequence.k_best([0.0], [[0.0]], [[0.0]], "2"), TypeError, "k: .* got '2'"),
        (lambda: sequence.sample([0.0], [[0.0]], [[0.0]], 1.5), TypeError, "size: .* got 1.5"),
        (lambda: sequence.Decoder([0.0], [[0.0]], lag=1.5), TypeError, "lag: expected an integer"),
        (
            lambda: spectral.convolve(np.float16([1]), np.float16([1])),
            TypeError,
            r'pass f\.astype\("float32"\), g\.astype\("float32"\)$',
        ),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_closures_check_progress_before_they_overwrite():
    a = np.array([[0.0, 1.0], [np.inf, 0.5]])
    before = a.copy()
    with pytest.raises(TypeError, match="progress: expected a function, got str"):
        graph.closure(a, overwrite=True, progress="x")
    np.testing.assert_array_equal(a, before)
