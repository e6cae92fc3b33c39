"""Sums over axes: right in every layout, and as precise along one axis as along another."""

import itertools

import numpy as np
import pytest

from tropical import autograd
from tropical.autograd import Tensor
from tropical.autograd.sums import average, total

RNG = np.random.default_rng
SHAPES = [
    (300,),
    (300, 5),
    (1, 300, 4),
    (130, 3, 140),
    (200, 2, 3, 7),
    (0, 300),
    (300, 0),
    (513, 1, 2),
]
SHAPES = [*SHAPES, (128 * 128 * 2 + 5, 2)]


def layouts(x):
    for order in itertools.permutations(range(x.ndim)):
        y = x.transpose(order)
        yield from (y, y[::-1], np.ascontiguousarray(y)[..., ::2])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_those_of_numpy(shape):
    for x in layouts(RNG(0).random(shape)):
        for count in range(x.ndim + 1):
            for axes in itertools.combinations(range(x.ndim), count):
                for keepdims in (False, True):
                    want, got = np.sum(x, axes, keepdims=keepdims), total(x, axes, keepdims)
                    assert got.shape == want.shape, (x.shape, axes)
                    np.testing.assert_allclose(got, want, rtol=1e-12)
                if all(x.shape[axis] for axis in axes):
                    np.testing.assert_allclose(average(x, axes), np.mean(x, axes), rtol=1e-12)


@pytest.mark.parametrize("value", [np.inf, np.nan, -np.inf])
def test_infinities_and_nan(value):
    x = np.ones((1000, 3), np.float32)
    x[700, 1] = value
    np.testing.assert_array_equal(total(x, (0,)), [1000, value, 1000])


@pytest.mark.parametrize("x", [2.5, [1, 2], np.ones((300, 2), bool)])
def test_what_numpy_sums(x):
    for ours, numpy in ((autograd.sum, np.sum), (autograd.mean, np.mean)):
        got, want = ours(x), numpy(x)
        assert got == want and got.dtype == want.dtype


ROWS = 1 << 16


def positive(*shape, seed=0):
    """Sums of numbers of one sign, of which none but the first few can be added without error."""
    return RNG(seed).random(shape) * 1e-3 + np.float32(0.1)


def gradient_of(index):
    """A function of arrays that returns the gradient of its weighted sum for one of them."""

    def make(function, *arrays):
        tensors = [Tensor(a, requires_grad=True) for a in arrays]
        y = function(*tensors)
        weights = positive(*y.shape, seed=9).astype(y.dtype)
        (g,) = autograd.grad(y, [tensors[index]], weights)
        return g.data

    return make


def value_of(function, *arrays):
    return function(*map(Tensor, arrays)).data


def statistics(x):
    means, variances = np.zeros(3, x.dtype), np.zeros(3, x.dtype)
    autograd.batch_norm(x, running_mean=means, running_var=variances, momentum=1.0)
    return Tensor(np.stack([means, variances]))


WIDE = (ROWS, 3)
SUMS = {
    "sum": (value_of, lambda x: x.sum(0), [WIDE]),
    "sum of two axes": (value_of, lambda x: x.sum((0, 1)), [(ROWS // 256, 256, 3)]),
    "sum of an inner axis": (value_of, lambda x: x.sum(1), [(2, ROWS, 3)]),
    "mean": (value_of, lambda x: x.mean(0), [WIDE]),
    "var": (value_of, lambda x: x.var(0), [WIDE]),
    "logsumexp": (value_of, lambda x: x.logsumexp(0).exp(), [WIDE]),
    "softmax": (value_of, lambda x: autograd.softmax(x, 0), [WIDE]),
    "log_softmax": (value_of, lambda x: autograd.log_softmax(x, 0).exp(), [WIDE]),
    "cross entropy": (value_of, lambda x: autograd.cross_entropy(x, [0, 1, 2]).exp(), [(3, ROWS)]),
    "running statistics": (value_of, lambda x: statistics(x.data), [WIDE]),
    "bias of linear": (gradient_of(2), autograd.linear, [(ROWS, 2), (3, 2), (3,)]),
    "broadcast": (gradient_of(1), autograd.add, [WIDE, (3,)]),
    "bias of batch norm": (gradient_of(2), autograd.batch_norm, [WIDE, (3,), (3,)]),
    "bias of layer norm": (gradient_of(2), autograd.layer_norm, [WIDE, (3,), (3,)]),
}


@pytest.mark.parametrize("name", SUMS)
def test_rounding_errors_of_float32(name):
    """At most a few units in the last place; row after row, the sums have errors of 1e-5."""
    compute, function, shapes = SUMS[name]
    arrays = [positive(*shape, seed=seed).astype(np.float32) for seed, shape in enumerate(shapes)]
    want = compute(function, *[a.astype(np.float64) for a in arrays])
    got = compute(function, *arrays)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-6 if name != "var" else 1e-5, atol=0)
