"""Products with gathered matrices, and the convolutions that they compute, by their definitions."""

import numpy as np
import pytest
from layouts import read_only
from support import assert_same_bits

import tropical
from tropical import _core, autograd
from tropical.autograd import Tensor
from tropical.autograd.convolution import Windows

RNG = np.random.default_rng
# m, k, n: around micro-tiles, blocks of A, groups of rows that are packed at once, blocks of k.
SIZES = [(1, 1, 1), (3, 5, 7), (8, 64, 33), (16, 200, 65), (16, 65, 200), (40, 130, 500)]
SIZES += [(2, 2100, 40), (0, 3, 4), (3, 0, 4), (3, 4, 0)]


def draw(m, k, n, runs, dtype, rng):
    """Columns in runs of neighbors, that begin anywhere."""
    starts = rng.integers(0, 50, n // runs + 1)
    columns = (starts[:, None] + np.arange(runs)).ravel()[:n]
    rows = rng.integers(0, 40, k)
    source = rng.standard_normal(50 + runs + 40).astype(dtype)
    return {
        "a": rng.standard_normal((m, k)).astype(dtype),
        "source": source,
        "rows": rows,
        "columns": columns,
        "out": np.full((m, n), np.nan, dtype),
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("runs", [1, 2, 3, 5, 14, 28, 100])
@pytest.mark.parametrize("size", SIZES)
def test_gather_product(size, runs, dtype, isa):
    given = draw(*size, runs, dtype, RNG(0))
    assert _core.gather_product(**given)
    matrix = given["source"][np.add.outer(given["rows"], given["columns"])]
    want = given["a"].astype(float) @ matrix
    eps = 4 * np.finfo(dtype).eps * max(size[1], 1)
    np.testing.assert_allclose(given["out"], want, rtol=eps, atol=10 * eps)
    packed = tropical.gemm(given["a"], matrix, semiring="plustimes", kernel="packed")
    assert_same_bits(given["out"], packed)


def test_gather_product_on_threads(isa):
    given = draw(64, 300, 4000, 14, "float32", RNG(1))
    with tropical.options(threads=1):
        assert _core.gather_product(**given)
    one = given["out"].copy()
    with tropical.options(threads=4):
        assert _core.gather_product(**given)
    assert_same_bits(given["out"], one)


def test_last_elements_are_read_alone():
    """The pieces of the last run end with the source."""
    for length in range(1, 40):
        source = np.arange(length, dtype=np.float32)
        out = np.empty((1, length), np.float32)
        zero = np.zeros(1, np.intp)
        _core.gather_product(np.ones((1, 1), "f4"), source, zero, np.arange(length), out)
        assert_same_bits(out[0], source)


@pytest.mark.parametrize("kernel", ["naive", "tiled", "direct"])
def test_another_kernel_computes_nothing(kernel):
    given = draw(3, 5, 7, 2, "float32", RNG(0))
    with tropical.options(kernel=kernel):
        assert not _core.gather_product(**given)
    assert np.isnan(given["out"]).all()


def test_gather_product_refuses():
    good = draw(3, 5, 7, 2, "float32", RNG(0))
    for name in ("a", "source", "out"):
        array = good[name]
        cases = [
            (ValueError, array[None]),
            (TypeError, np.zeros(array.shape, int)),
            (TypeError, array.astype(array.dtype.newbyteorder())),
        ]
        if name != "a":
            cases.append((ValueError, np.repeat(array, 2, axis=-1)[..., ::2]))
        if name == "out":
            cases += [(ValueError, array[1:]), (ValueError, read_only(array))]
        for error, wrong in cases:
            with pytest.raises(error, match=f"^{name}: expected .*"):
                _core.gather_product(**{**good, name: wrong})
    with pytest.raises(ValueError, match=r"rows: expected \(5,\), got \(4,\)"):
        _core.gather_product(**{**good, "rows": good["rows"][1:]})
    size = len(good["source"])
    for name in ("rows", "columns"):
        unaligned = np.frombuffer(b" " + good[name].tobytes(), np.uint8)[1:].view(np.intp)
        with pytest.raises(ValueError, match=f"^{name}: expected an array in C order"):
            _core.gather_product(**{**good, name: unaligned})
        for wrong in (-1, size, np.iinfo(np.intp).max, np.iinfo(np.intp).min):
            offsets = good[name].copy()
            offsets[2] = wrong
            with pytest.raises(ValueError, match=f"expected offsets from 0 to {size - 1} in sum"):
                _core.gather_product(**{**good, name: offsets})
    assert np.isnan(good["out"]).all()


def definition(x, weight, windows):
    """Each window times each filter."""
    (p, q), (s, t), (height, width) = windows.padding, windows.stride, windows.kernel
    down, across = windows.count(*x.shape[2:])
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (q, q)))
    y = np.empty((len(x), len(weight), down, across))
    for i in range(down):
        for j in range(across):
            window = x[:, :, i * s : i * s + height, j * t : j * t + width]
            y[:, :, i, j] = np.tensordot(window, weight, ((1, 2, 3), (1, 2, 3)))
    return y


WINDOWS = [
    Windows((5, 5), (1, 1), (2, 2)),
    Windows((1, 1), (1, 1), (0, 0)),
    Windows((2, 3), (1, 1), (4, 1)),  # more padding than the filter has rows
    Windows((3, 2), (2, 3), (1, 0)),
    Windows((3, 3), (1, 2), (0, 5)),
]


@pytest.mark.parametrize("kernel", [None, "naive"])
@pytest.mark.parametrize("windows", WINDOWS)
def test_gradients_of_conv2d(windows, kernel, isa):
    """Both are the adjoints of the layer, and linear as it is."""
    rng = RNG(0)
    x, weight = rng.standard_normal((3, 2, 7, 6)), rng.standard_normal((4, 2, *windows.kernel))
    y = definition(x, weight, windows)
    g = rng.standard_normal(y.shape)
    tensors = Tensor(x, requires_grad=True), Tensor(weight, requires_grad=True)
    with tropical.options(kernel=kernel):
        got = autograd.conv2d(*tensors, stride=windows.stride, padding=windows.padding)
        of_x, of_weight = autograd.grad((got * g).sum(), tensors)
    np.testing.assert_allclose(got.data, y, atol=1e-12)
    u, v = rng.standard_normal(x.shape), rng.standard_normal(weight.shape)
    assert np.vdot(of_x.data, u) == pytest.approx(np.vdot(definition(u, weight, windows), g))
    assert np.vdot(of_weight.data, v) == pytest.approx(np.vdot(definition(x, v, windows), g))


def test_conv2d_of_arrays_and_of_nothing():
    images, filters = np.arange(18).reshape(1, 2, 3, 3), np.ones((1, 2, 2, 2), int)
    want = [[[[52, 60], [76, 84]]]]
    assert_same_bits(autograd.conv2d(images, filters), np.array(want))
    of_bytes = autograd.conv2d(images.astype(np.uint8) * 9, filters.astype(np.int8))
    assert_same_bits(of_bytes, np.array(want) * 9)
    for n, channels, count in ((0, 2, 1), (1, 0, 1), (1, 2, 0)):
        x, weight = Tensor(np.zeros((n, channels, 3, 3))), Tensor(np.zeros((count, channels, 2, 2)))
        assert not autograd.conv2d(x, weight).data.any()
        assert autograd.conv2d(x, weight).shape == (n, count, 2, 2)


POOLS = [(2, 2, 0), (2, 2, 1), (3, 1, 1), (3, 2, 1), (4, 5, 2), (1, 3, 0)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel, stride, padding", POOLS)
@pytest.mark.parametrize("width", [5, 16, 29, 33, 150])
def test_max_pool(width, kernel, stride, padding, dtype, isa):
    """Windows of less and more than a register, ties, NaN, images that are not contiguous."""
    x = RNG(0).integers(-2, 3, (3, 2, 9, width)).astype(dtype)[:, ::-1, 1:]
    x[0, 0, 0, : width // 2] = -np.inf
    x[0, 0, 1:4, :4] = -np.inf
    x[1, 1, 3, width // 2 :][:10] = np.nan
    windows = Windows((kernel,) * 2, (stride,) * 2, (padding,) * 2)
    down, across = windows.count(*x.shape[2:])
    value, index = np.empty((3, 2, down, across), dtype), np.empty((3, 2, down, across), np.intp)
    given = windows.kernel, windows.stride, windows.padding
    _core.max_pool(x, *given, value, index)
    numbers = np.arange(8 * width).reshape(8, width)
    for i, j in np.ndindex(down, across):
        y, z = i * stride - padding, j * stride - padding
        part = np.s_[max(y, 0) : y + kernel, max(z, 0) : z + kernel]
        pixels = x[(..., *part)].reshape(3, 2, -1)
        first = pixels.argmax(-1)  # the first NaN, if there is one
        assert_same_bits(index[:, :, i, j], numbers[part].ravel()[first])
        want = np.take_along_axis(pixels, first[..., None], -1)[..., 0]
        assert_same_bits(value[:, :, i, j], want)


def test_max_pool_refuses():
    x = np.zeros((2, 3, 4, 6))
    good = {"x": x, "kernel": (2, 3), "stride": (2, 3), "padding": (1, 0)}
    good |= {"value": np.zeros((2, 3, 3, 2)), "index": np.zeros((2, 3, 3, 2), np.intp)}
    _core.max_pool(**good)
    with pytest.raises(ValueError, match="expected windows within 0 pixels"):
        autograd.max_pool2d(np.zeros((2, 3, 0, 6)), 2, padding=1)
    value = good["value"]
    for name, error, wrong in [
        ("x", ValueError, x[0]),
        ("x", ValueError, x[..., ::2]),
        ("x", TypeError, x.astype(int)),
        ("x", TypeError, x.astype(">f8")),
        ("kernel", ValueError, (0, 3)),
        ("kernel", ValueError, (7, 3)),
        ("kernel", ValueError, (1 << 62, 3)),
        ("stride", ValueError, (2, 0)),
        ("padding", ValueError, (2, 0)),
        ("padding", ValueError, (-1, 0)),
        ("value", ValueError, value[1:]),
        ("value", TypeError, value.astype("f4")),
        ("value", ValueError, read_only(value)),
        ("value", ValueError, np.zeros((2, 3, 3, 4))[..., ::2]),
        ("index", ValueError, good["index"][..., 1:]),
        ("index", TypeError, good["index"].astype(float)),
        ("index", ValueError, read_only(good["index"])),
    ]:
        with pytest.raises(error, match=f"{name}.*: expected"):
            _core.max_pool(**{**good, name: wrong})


@pytest.mark.parametrize("border", [(0, 0), (2, 3), (0, 1), (1, 0)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex128"])
def test_pad_images(dtype, border):
    x = RNG(0).integers(1, 100, (5, 3, 4, 6)).astype(dtype).transpose(1, 0, 2, 3)[:, ::-2, ::-1, :4]
    want = np.pad(x, [(0, 0), (0, 0), *((b, b) for b in border)])
    out = np.full_like(want, 7)
    for threads in (1, 2):
        with tropical.options(threads=threads):
            _core.pad_images(x, border, out)
        assert_same_bits(out, want)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (1, 1)])
@pytest.mark.parametrize("border", [(0, 2), (1, 0), (3, 1)])
def test_pad_images_without_pixels(shape, border):
    """All that is written is a border, and nothing is written behind it."""
    x = np.ones((2, 3, *shape))
    want = np.pad(x, [(0, 0), (0, 0), *((b, b) for b in border)])
    memory = np.full(want.size + 50, 7.0)
    _core.pad_images(x, border, memory[: want.size].reshape(want.shape))
    assert_same_bits(memory[: want.size], want.ravel())
    assert (memory[want.size :] == 7).all()


def test_conv2d_of_images_without_rows():
    got = autograd.conv2d(np.ones((2, 1, 0, 5)), np.ones((4, 1, 1, 1)), np.arange(4.0), padding=1)
    assert_same_bits(got.data, np.broadcast_to(np.arange(4.0)[:, None, None], (2, 4, 2, 7)).copy())


def test_pad_images_refuses():
    x = np.zeros((2, 3, 4, 6))
    good = {"x": x, "border": (1, 2), "out": np.zeros((2, 3, 6, 10))}
    _core.pad_images(**good)
    for name, error, wrong in [
        ("x", ValueError, x[0]),
        ("x", ValueError, x[..., ::2]),
        ("x", TypeError, x.astype(object)),
        ("x", TypeError, np.zeros(x.shape, [("a", "O")])),
        ("border", ValueError, (-1, 2)),
        ("border", ValueError, (1, 1 << 62)),
        ("out", ValueError, x),
        ("out", TypeError, good["out"].astype("f4")),
        ("out", ValueError, read_only(good["out"])),
    ]:
        with pytest.raises(error, match=f"{name}.*: expected"):
            _core.pad_images(**{**good, name: wrong})
