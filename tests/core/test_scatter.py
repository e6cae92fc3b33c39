"""Sums by index, against the definition."""

import pickle

import numpy as np
import pytest
from layouts import read_only
from support import assert_same_bits

import tropical
from tropical import _core

R = np.random.default_rng


def definition(shape, index, g, axis):
    """One element after the other, in the order of memory."""
    sums = np.zeros(shape, g.dtype)
    batch = index.shape[:-2]
    whole = np.lib.stride_tricks.as_strided(  # what a batch repeats has stride 0
        sums,
        (*batch, *shape[-2:]),
        (*np.broadcast_to(sums, (*batch, *shape[-2:])).strides,),
    )
    for at in np.ndindex(*index.shape):
        p, place = index[at], list(at)
        if 0 <= p < shape[axis]:
            place[axis] = p
            whole[tuple(place)] += g[at]
    return sums


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape, own",
    [
        ((3, 4), ()),
        ((2, 3, 5, 4), (2, 3)),
        ((2, 3, 5, 4), (1, 3)),
        ((2, 3, 5, 4), (2, 1)),
        ((2, 3, 5, 4), ()),
        ((0, 4), ()),
        ((3, 0), ()),
        ((0, 3, 4), ()),
        ((40, 900), ()),
        ((3, 300, 130), ()),
    ],
)
def test_scatter(shape, own, dtype, threads):
    rng = R(0)
    for axis in (-1, -2):
        for k in (0, 1, 7):
            index = rng.integers(-1, k + 1, shape)  # -1 and k: nowhere
            g = rng.integers(-9, 9, shape).astype(dtype)  # whose sums are exact
            out = (*own, shape[-2], k) if axis == -1 else (*own, k, shape[-1])
            sums = np.zeros(out, dtype)
            with tropical.options(threads=threads):
                _core.scatter(sums, index, g, axis)
            assert_same_bits(sums, definition(out, index, g, axis))
            with tropical.options(threads=threads):
                _core.scatter(sums, index, g, axis)  # added to what is there
            assert_same_bits(sums, 2 * definition(out, index, g, axis))


def test_threads_give_the_same_bits():
    rng = R(1)
    index, g = rng.integers(0, 8, (2, 300, 400)), rng.random((2, 300, 400), np.float32)
    for axis, shape in ((-1, (2, 300, 8)), (-2, (2, 8, 400))):
        sums = [np.zeros(shape, np.float32) for _ in range(2)]
        for threads, out in zip((1, 4), sums, strict=True):
            with tropical.options(threads=threads):
                _core.scatter(out, index, g, axis)
        assert_same_bits(*sums)


def test_any_strides():
    rng = R(2)
    index = rng.integers(0, 6, (4, 10))[::-1, ::2]
    g = np.broadcast_to(rng.random(5), (4, 5))
    sums = np.zeros((6, 4)).T[::-1]
    _core.scatter(sums, index, g, -1)
    np.testing.assert_array_equal(sums, definition((4, 6), index, g, -1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 1), (40, 7), (3, 300), (2, 9, 33)])
def test_rows(shape, dtype):
    """One index for each row of g."""
    rng = R(3)
    rows = rng.integers(-1, 7, (*shape[:-1], 1))
    index, g = np.broadcast_to(rows, shape), rng.integers(-9, 9, shape).astype(dtype)
    out = np.zeros((*shape[:-2], 6, shape[-1]), dtype)
    for threads in (1, 3):
        out[:] = 0
        with tropical.options(threads=threads):
            _core.scatter(out, index, g, -2)
        assert_same_bits(out, definition(out.shape, index, g, -2))


def test_dtypes_need_not_be_the_same_objects():
    out, g = (pickle.loads(pickle.dumps(np.ones((2, 3), "f4"))) for _ in range(2))
    _core.scatter(out, np.zeros((2, 3), np.intp), g, -2)
    assert out.tolist() == [[3, 3, 3], [1, 1, 1]]


def test_refuses():
    index, g = np.zeros((2, 3), np.intp), np.ones((2, 3))
    for out, wrong, axis, error, message in [
        (np.zeros((2, 4), np.int64), (index, g), -1, TypeError, "out: expected .*, got int64"),
        (np.zeros((2, 4)), (index, g.astype("f4")), -1, TypeError, "g: .* float64, .* got float32"),
        (np.zeros((2, 4)), (index.astype("i4"), g), -1, TypeError, "index: .* got int32"),
        (np.zeros((2, 4)), (index, g), 0, ValueError, "axis: expected -1 or -2, got 0"),
        (np.zeros((2, 4)), (index, g), -2, ValueError, r"out has \(2, 4\), index has \(2, 3\)"),
        (np.zeros((3, 4)), (index, g), -1, ValueError, "shapes do not fit"),
        (np.zeros((2, 4)), (index, g[:1]), -1, ValueError, "shapes do not fit"),
        (np.zeros((2, 4)), (index[0], g[0]), -1, ValueError, "shapes do not fit"),
        (np.zeros((5, 2, 4)), (index, g), -1, ValueError, "shapes do not fit"),
        (np.zeros((5, 2, 4)), (np.array([index]), g[None]), -1, ValueError, "shapes do not fit"),
    ]:
        before = out.copy()
        with pytest.raises(error, match=message):
            _core.scatter(out, *wrong, axis)
        np.testing.assert_array_equal(out, before)
    with pytest.raises(ValueError, match="out: expected a writeable array"):
        _core.scatter(read_only(np.zeros((2, 4))), index, g, -1)
