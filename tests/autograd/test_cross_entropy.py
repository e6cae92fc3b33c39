"""Cross entropy on every instruction set against its definition in float64, in any layout."""

import numpy as np
import pytest
from layouts import read_only
from support import assert_all_same_bits

from tropical import _core, autograd
from tropical.autograd import Tensor

RNG = np.random.default_rng
SHAPES = [(0, 3), (1, 1), (3, 2), (64, 10), (5, 33), (130, 8), (3, 5000)]


def definition(x, targets):
    """The sum of the losses, and its gradient."""
    x = x.astype(np.float64)
    shifted = x - x.max(1, keepdims=True, initial=-np.inf)
    powers = np.exp(shifted)
    totals = powers.sum(1, keepdims=True)
    rows = np.arange(len(x))
    error = powers / totals
    error[rows, targets] -= 1
    return (np.log(totals[:, 0]) - shifted[rows, targets]).sum(), error


def draw(shape, dtype, seed=0):
    rng = RNG(seed)
    return rng.standard_normal(shape).astype(dtype) * 4, rng.integers(0, shape[1], shape[0])


def compute(x, targets, reduction="sum"):
    x = Tensor(x, requires_grad=True)
    loss = autograd.cross_entropy(x, targets, reduction=reduction)
    return loss.data, autograd.grad(loss, [x])[0].data


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_definition(shape, dtype, isa):
    x, targets = draw(shape, dtype)
    tolerance = 1e-6 if dtype == "float32" else 1e-13
    want, wanted = definition(x, targets)
    for reduction, scale in [("sum", 1), ("mean", 1 / max(len(x), 1))]:
        loss, gradient = compute(x, targets, reduction)
        assert loss.shape == () and loss.dtype == gradient.dtype == dtype
        np.testing.assert_allclose(loss, want * scale, rtol=tolerance)
        np.testing.assert_allclose(gradient, wanted * scale, rtol=tolerance, atol=tolerance / 100)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distant_logits(dtype, isa):
    x = np.array([[0, -80, -300, -600], [1e30, 1e30, 0, -1e30], [-np.inf, 2, 2, -np.inf]], dtype)
    targets = [0, 1, 2]
    want, wanted = definition(x, targets)
    loss, gradient = compute(x, targets)
    np.testing.assert_allclose(loss, want, rtol=1e-6)
    tiny = np.finfo(dtype).tiny
    np.testing.assert_allclose(gradient[0, 1:], wanted[0, 1:], rtol=1e-6, atol=tiny)
    np.testing.assert_allclose(gradient[1:], wanted[1:], rtol=1e-6)
    assert compute(x, [0, 3, 3])[0] == np.inf


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_apart(dtype, isa):
    x, targets = draw((6, 5), dtype)
    want = compute(x, targets)[1]
    x[1, 3], x[3, 0], x[4] = np.nan, np.inf, -np.inf
    loss, gradient = compute(x, targets)
    assert np.isnan(loss)
    assert np.isnan(gradient[1]).all() and np.isnan(gradient[3]).any()
    assert np.isnan(gradient[4]).all()
    for row in (0, 2, 5):
        np.testing.assert_allclose(gradient[row], want[row], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_any_layout(dtype):
    x, targets = draw((60, 7), dtype)
    want = compute(x, targets)
    unaligned = np.empty(x.nbytes + 1, np.uint8)[1:].view(dtype).reshape(x.shape)
    unaligned[...] = x
    own = [np.asfortranarray(x), read_only(x), unaligned, np.repeat(x, 2, axis=1)[:, ::2]]
    for logits in [*own, x.astype(x.dtype.newbyteorder())]:
        assert_all_same_bits(compute(logits, targets), want)
    kinds = [targets.astype(kind) for kind in ("u1", "i2", ">i4", "u8")]
    for classes in [*kinds, targets.tolist(), np.repeat(targets, 2)[::2], read_only(targets)]:
        assert_all_same_bits(compute(x, classes), want)


def test_targets_that_are_no_classes():
    x = Tensor(np.zeros((2, 3), np.float32), requires_grad=True)
    large = np.array([0, 2**64 - 1], np.uint64)
    with pytest.raises(ValueError, match=f"targets: .* from 0 to 2, got 0 to {2**64 - 1}"):
        autograd.cross_entropy(x, large)
    with pytest.raises(ValueError, match="targets: expected classes from 0 to -1, got 0 to 1"):
        autograd.cross_entropy(np.zeros((2, 0)), [0, 1])
    targets = np.array([0, 2])
    loss = autograd.cross_entropy(x, targets)
    targets[1] = 3
    with pytest.raises(ValueError, match="targets: expected classes from 0 to 2, got 0 to 3"):
        loss.backward()
    assert x.grad is None


def test_refuses():
    x, targets = np.zeros((4, 3), np.float32), np.zeros(4, np.int64)
    out = np.ones_like(x)
    cases = [
        ("x", ValueError, r"expected \(m, n\), got", x[0]),
        ("x", TypeError, "expected dtype float32 or float64", x.astype(int)),
        ("targets", ValueError, r"expected \(4,\), got \(3,\)", targets[1:]),
        ("targets", ValueError, r"expected \(4,\), got \(4, 1\)", targets[:, None]),
        ("out", ValueError, r"expected shape \(4, 3\), .* got \(3, 3\)", out[1:]),
        ("out", TypeError, "expected dtype float32, .* got float64", out.astype(float)),
        ("out", ValueError, "expected an array in C order", np.asfortranarray(out)),
        ("out", ValueError, "expected a writeable array", read_only(out)),
    ]
    for name, error, message, wrong in cases:
        given = {"x": x, "targets": targets, "factor": 1.0, "out": out, name: wrong}
        with pytest.raises(error, match=f"{name}: {message}"):
            _core.cross_entropy_gradient(**given)
    for wrong in (-1, 3):
        assert _core.cross_entropy(x, np.full(4, wrong)) is None
        assert not _core.cross_entropy_gradient(x, np.full(4, wrong), 1.0, out)
    assert (out == 1).all()
