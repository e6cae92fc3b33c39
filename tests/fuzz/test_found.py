"""What the fuzzer found: a wrong argument ends in an error that names the argument."""

import numpy as np
import pytest

import tropical
from tropical import autograd, nn, optim, tuning

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
        (lambda: tuning.check_replaceable(3), TypeError, "int"),
        (lambda: tuning.read(3), TypeError, "int"),
        (lambda: tuning.write(3, {}), TypeError, "int"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
