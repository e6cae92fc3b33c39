"""Products of bytes against NumPy's int32, on every instruction set and its instructions."""

import copy
import itertools
import pickle
import sys

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from support import random_bits, run_python

import tropical
from tropical import _core, quantized
from tropical.quantized import Quantization, QuantizedArray

BYTES = (np.int8, np.uint8)
BYTE_PRODUCTS = tropical.config.config()["byte_products"]


def random_bytes(shape, dtype, seed):
    """Bytes whose extremes are as likely as all others together."""
    bits = random_bits(shape, seed)
    limits = np.iinfo(dtype)
    ends = np.where(bits >> np.uint64(40) & np.uint64(1), limits.min, limits.max)
    return np.where(bits >> np.uint64(50) & np.uint64(1), bits.astype(dtype), ends.astype(dtype))


@pytest.mark.parametrize("dtypes", [*itertools.product(BYTES, BYTES)])
@pytest.mark.parametrize(
    "m, k, n", [(1, 9, 5), (3, 64, 33), (13, 516, 40), (60, 1030, 70), (40, 4200, 9)]
)
def test_sums_are_numpys(isa_or_amx, m, k, n, dtypes):
    a, b = random_bytes((m, k), dtypes[0], 1), random_bytes((k, n), dtypes[1], 2)
    want = a.astype(np.int32) @ b.astype(np.int32)
    found = tropical.config.config()["byte_products"]
    own = {"avx2": "madd", "avx512": "madd", "neon": "plain", "amx": "madd"}
    assert own.get(isa_or_amx, found[0]) == found[0]
    assert ("amx" in found) == (isa_or_amx == "amx")
    for instructions in found:
        for x in (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2], a[::-1][::-1]):
            for y in (b, np.asfortranarray(b), quantized.pack(b, instructions=instructions)):
                got = quantized.gemm(x, y, instructions=instructions)
                assert got.dtype == np.int32
                np.testing.assert_array_equal(got, want)


def quantized_operands(m, k, n, seed=3):
    """Rows and columns with scales and zero points of their own."""
    numbers = (random_bits((m + n,), seed) % np.uint64(1000)).astype(np.float32) / 500 + 0.01
    zeros = (random_bits((m + n,), seed + 1) % np.uint64(256)).astype(np.int32)
    a = random_bytes((m, k), np.uint8, seed + 2)
    b = random_bytes((k, n), np.int8, seed + 3)
    of_a = Quantization(numbers[:m], zeros[:m], np.uint8, axis=0)
    of_b = Quantization(numbers[m:], zeros[m:] - 128, np.int8, axis=-1)
    return QuantizedArray(a, of_a), QuantizedArray(b, of_b)


def test_numbers_are_those_of_the_definition(isa_or_amx):
    """Each operation is rounded once, in float32, whatever the instructions."""
    a, b = quantized_operands(14, 100, 37)
    bias = np.linspace(-50, 50, 37, dtype=np.float32)
    sums = (a.values.astype(np.int64) - a.quantization.zero_point[:, None]) @ (
        b.values.astype(np.int64) - b.quantization.zero_point
    )
    scale = a.quantization.scale[:, None] * b.quantization.scale
    want = np.maximum(sums.astype(np.float32) * scale + bias, 0)
    for right in (b, quantized.pack(b)):
        got = quantized.gemm(a, right, bias=bias, activation="relu")
        np.testing.assert_array_equal(got, want)
    result = Quantization(np.float32(want.max() / 200), 11, np.uint8)
    got = quantized.gemm(a, b, bias=bias, activation="relu", quantization=result)
    inverse = np.float32(1) / result.scale
    np.testing.assert_array_equal(got.values, np.clip(np.rint(want * inverse) + 11, 0, 255))
    np.testing.assert_allclose(got.dequantize(), want, atol=float(result.scale) * 0.51)


@pytest.mark.parametrize(
    "shapes",
    [((5,), (5,)), ((5,), (5, 3)), ((2, 5), (5,)), ((4, 2, 5), (5, 3)), ((2, 5), (4, 5, 3)),
     ((3, 1, 2, 5), (4, 5, 3)), ((5,), (4, 5, 3)), ((0, 5), (5, 3)), ((2, 0), (0, 3)),
     ((2, 5), (5, 0)), ((0, 2, 5), (0, 5, 3))],
)  # fmt: skip
def test_shapes_are_those_of_matmul(shapes):
    a, b = (random_bytes(shape, np.int8, i) for i, shape in enumerate(shapes))
    want = np.matmul(a.astype(np.int32), b.astype(np.int32))
    got = quantized.gemm(a, b)
    np.testing.assert_array_equal(got, want)
    assert type(got) is type(want) and got.dtype == np.int32
    itself = Quantization(1, 0, np.int8)
    numbers = (QuantizedArray(x, itself) for x in (a, b))
    again = quantized.gemm(*numbers, quantization=itself)
    np.testing.assert_array_equal(again.values, np.clip(want, -128, 127))
    if got.ndim:
        out = np.full((*want.shape, 2), -1, np.int32)[..., 0]
        assert quantized.gemm(a, b, out=out) is out
        np.testing.assert_array_equal(out, want)


def test_out_may_overlap_an_operand():
    memory = random_bytes((8, 32), np.int8, 1)
    a, out = memory[:, :8], memory.reshape(-1).view(np.int32)[:64].reshape(8, 8)
    want = a.astype(np.int32) @ a.astype(np.int32)
    quantized.gemm(a, a, out=out)
    np.testing.assert_array_equal(out, want)


def test_out_without_masks_whose_elements_share_no_memory():
    windows = sliding_window_view(np.zeros(5, np.int32), 4, writeable=True)
    for out, error in ((windows[:, :2], ValueError), (np.ma.zeros((2, 2), "i4"), TypeError)):
        for b, place in ((RAW.T, out), (RAW.T[None], out[None])):
            with pytest.raises(error, match=r"out: .* no memory|out is a masked array"):
                quantized.gemm(RAW, b, out=place)


def test_out_of_a_matrix_times_a_vector():
    for shape in ((3, 4), (2, 3, 4), (2, 1, 3, 4)):
        a, b = random_bytes(shape, np.int8, 1), random_bytes((4,), np.uint8, 2)
        out = np.empty(shape[:-1], np.int32)
        assert quantized.gemm(a, b, out=out) is out
        np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


SMALL_STACK = """
import ctypes
import numpy as np
from tropical import config, quantized


class Stack(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


memory = ctypes.create_string_buffer(4096)
stack = Stack(ctypes.addressof(memory), 0, len(memory))
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0
a = np.full((40, 70), 2, np.int8)
assert (quantized.gemm(a, a.T) == 280).all()
assert "amx" not in config.config()["byte_products"] + config.config()["bf16_products"]
"""


@pytest.mark.skipif("amx" not in BYTE_PRODUCTS, reason="this CPU lacks AMX, or TROPICAL_ISA is set")
def test_linux_refuses_tiles_beside_a_small_stack_for_signals():
    run_python(SMALL_STACK)


def test_threads_and_workspaces_change_nothing():
    a, b = random_bytes((300, 500), np.uint8, 1), random_bytes((500, 400), np.int8, 2)
    want = a.astype(np.int32) @ b.astype(np.int32)
    workspace = tropical.GemmWorkspace()
    for threads in (1, 2, 3):
        for right in (b, quantized.pack(b)):
            got = quantized.gemm(a, right, threads=threads, workspace=workspace)
            np.testing.assert_array_equal(got, want)
    held = workspace.allocations
    quantized.gemm(a, b, threads=1, workspace=workspace)
    assert workspace.allocations == held


def test_long_sums_wrap_as_int32_does():
    ones = np.full((1, 40_000), 255, np.uint8)
    want = (ones.astype(np.int32) @ ones.T.astype(np.int32)).item()
    assert quantized.gemm(ones, ones.T).item() == want < 0
    q = Quantization(1.0, 0, np.uint8)
    with pytest.raises(ValueError, match="at most 33025 products, got 40000"):
        quantized.gemm(QuantizedArray(ones, q), QuantizedArray(ones.T, q))


X = quantized.quantize(np.ones((2, 3)))
W = quantized.quantize(np.ones((3, 4)), axis=1)
C = quantized.quantize(np.ones((3, 4)), axis=0)
RAW = np.ones((2, 3), np.int8)
THREE = QuantizedArray(RAW[0], Quantization([1.0, 2.0, 3.0], 0, np.int8, axis=0))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: quantized.gemm(RAW, W), TypeError, "two quantized arrays or none"),
        (lambda: quantized.gemm(RAW.astype("i2"), RAW.T), TypeError, "a: expected int8 or uint8"),
        (lambda: quantized.gemm(RAW, RAW), ValueError, r"\(2, 3\) and \(2, 3\)"),
        (lambda: quantized.gemm(RAW, RAW.T, bias=np.ones(2)), TypeError, "None for bytes alone"),
        (lambda: quantized.quantize(np.full((2, 2), np.nan), C.quantization), ValueError, "length"),
        (lambda: quantized.quantize(np.full((3, 2), np.nan), C.quantization), ValueError, "no NaN"),
        (lambda: quantized.gemm(X, W, bias=[1.0]), ValueError, r"bias: expected shape \(4,\)"),
        (lambda: quantized.gemm(X, W, activation="tanh"), ValueError, "activation: .*'tanh'"),
        (lambda: quantized.gemm(X, X.T.T), ValueError, r"\(2, 3\) and \(2, 3\)"),
        (lambda: quantized.gemm(X, C), ValueError, "b: expected scales that differ along axis -1"),
        (lambda: quantized.gemm(RAW, RAW.T, out=np.zeros((2, 3), "i4")), ValueError, "shape"),
        (lambda: quantized.gemm(RAW, RAW.T, out=np.zeros((2, 2), "f4")), TypeError, "of int32"),
        (lambda: quantized.gemm(RAW, RAW.T, out=np.zeros((2, 2), ">i4")), TypeError, "of int32"),
        (lambda: quantized.gemm(X, THREE), ValueError, "b: expected scales that differ along"),
        (lambda: quantized.gemm(RAW, RAW.T, instructions="sse"), ValueError, "instructions: .*sse"),
        (lambda: quantized.gemm(RAW, RAW.T, threads=0), ValueError, "threads"),
        (
            lambda: quantized.gemm(X, W, bias=[np.nan, np.inf, 0, 0], quantization=X.quantization),
            ValueError,
            "bias: expected no NaN",
        ),
        (lambda: quantized.gemm(RAW, RAW.T, workspace=3), TypeError, "workspace"),
        (lambda: quantized.gemm(np.int8(1), RAW.T), ValueError, "at least 1 dimension"),
        (lambda: quantized.pack(RAW[0]), ValueError, "b: expected 2 dimensions"),
        (lambda: quantized.quantize([np.nan]), ValueError, "finite"),
        (lambda: quantized.quantize([np.inf], "affine"), ValueError, "finite"),
        (lambda: quantized.quantize([1j]), TypeError, "floats or integers"),
        (lambda: quantized.quantize([1.0], "odd"), ValueError, "scheme: .*'odd'"),
        (lambda: quantized.quantize([1.0], axis=1), ValueError, "axis: .*got 1"),
        (lambda: quantized.quantize([1.0], dtype="u1"), TypeError, "int8 for the symmetric"),
        (lambda: Quantization(0.0, 0, "i1"), ValueError, "scale: "),
        (lambda: Quantization(1.0, 200, "i1"), ValueError, "zero_point: "),
        (lambda: Quantization(1.0, 0, "i2"), TypeError, "dtype: "),
        (lambda: Quantization([1.0], 0, "i1"), ValueError, "scale, zero_point: "),
        (lambda: Quantization(1.0, 0, "i1").quantize([np.nan]), ValueError, "no NaN"),
        (lambda: QuantizedArray(RAW.view("u1"), X.quantization), TypeError, "values: "),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("scheme, dtype", [("symmetric", "i1"), ("affine", "u1"), ("affine", "i1")])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_numbers_come_back(scheme, dtype, axis):
    x = (random_bits((6, 5), 4) % np.uint64(1000)).astype(np.float64) / 100 - 3
    x[2] *= 100
    q = quantized.quantize(x, scheme, axis=axis, dtype=dtype)
    scale, _ = q.quantization.along(2)
    assert (np.abs(q.dequantize() - x) <= 0.501 * scale).all()
    assert q.values.dtype == dtype and q.shape == x.shape
    np.testing.assert_array_equal(np.asarray(q.T), q.dequantize().T)
    again = quantized.quantize(q.dequantize(), q.quantization)
    np.testing.assert_array_equal(again.values, q.values)


def test_one_zero_point_serves_all_scales():
    rows = Quantization(np.ones(2, np.float32), 1, np.int8, axis=0)
    got = quantized.gemm(QuantizedArray(RAW, rows), quantized.quantize(np.ones((3, 4))))
    np.testing.assert_array_equal(got, np.zeros((2, 4)))


def test_numbers_out_of_range_become_the_ends():
    x = np.array([1e300, -1e300, np.inf, -np.inf, 0.4])
    for q in (Quantization(0.01, 0, "i1"), Quantization(np.full(5, 0.01), 0, "i1", axis=0)):
        assert q.quantize(x).values.tolist() == [127, -128, 127, -128, 40]


@pytest.mark.parametrize(
    "x", [np.zeros(3), np.zeros((0, 3)), np.float32(2), [1e-40], [3e38, -3e38]]
)
def test_quantizing_odd_arrays(x):
    for scheme in ("symmetric", "affine"):
        q = quantized.quantize(x, scheme)
        assert (np.abs(q.dequantize() - x) <= 0.501 * q.quantization.scale).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (5, 7), (700, 30)])
def test_packed_matrices_are_pickled(dtype, shape):
    limits = np.iinfo(dtype)
    b = np.random.default_rng(0).integers(limits.min, limits.max + 1, shape).astype(dtype)
    a = np.random.default_rng(1).integers(-128, 128, (3, shape[0])).astype(np.int8)
    packed = pickle.loads(pickle.dumps(quantized.pack(b)))
    assert packed.shape == shape
    np.testing.assert_array_equal(quantized.gemm(a, packed), a.astype(int) @ b.astype(int))
    scaled = quantized.quantize(np.random.default_rng(2).normal(size=shape), axis=-1)
    again = pickle.loads(pickle.dumps(quantized.pack(scaled)))
    a = quantized.QuantizedArray(a, quantized.Quantization(0.5, 3, np.int8))
    want = quantized.gemm(a, quantized.pack(scaled))
    np.testing.assert_array_equal(quantized.gemm(a, again), want)


def test_arrays_that_were_pickled():
    """Their dtypes are equal to NumPy's own, and other objects."""
    a, b, out = (
        pickle.loads(pickle.dumps(np.ones((2, 2), dtype)))
        for dtype in (np.int8, np.uint8, np.int32)
    )
    np.testing.assert_array_equal(quantized.gemm(a, b, out=out), np.full((2, 2), 2))


def test_relu_keeps_nan(isa_or_amx):
    one = quantized.quantize(np.ones((1, 2)))
    bias = np.array([np.nan, -9, 1], np.float32)
    columns = quantized.quantize(np.ones((2, 3)))
    got = quantized.gemm(one, columns, bias=bias, activation="relu")
    np.testing.assert_array_equal(got[0, :2], [np.nan, 0])


def test_numbers_that_bytes_would_not_give_back_are_refused():
    big = np.array([3.4e38, -3.4e38], np.float32)
    assert np.isfinite(quantized.quantize(big).dequantize()).all()
    for x, scheme in ((np.array([1e39]), "symmetric"), (big, "affine")):
        with pytest.raises(ValueError, match="x: expected a range that float32 holds"):
            quantized.fit(x, scheme)
    for scales, axis in (([1.0], 1), ([1.0, 2.0], 5)):
        q = quantized.Quantization(scales, 0, np.int8, axis=axis)
        with pytest.raises(ValueError, match=r"values: expected length .* got shape \(2, 3\)"):
            quantized.QuantizedArray(np.ones((2, 3), np.int8), q)


def test_types_are_checked_at_once():
    with pytest.raises(TypeError, match=r"axis: expected an int or None, got 0\.0"):
        quantized.Quantization([1.0], 0, np.uint8, axis=0.0)
    with pytest.raises(TypeError, match="values: expected an ndarray, got list"):
        quantized.QuantizedArray([1, 2], quantized.Quantization(1.0, 0, np.uint8))


def test_a_quantization_does_not_change():
    """It keeps what it has computed of its scales."""
    scales = np.array([0.5, 0.25], np.float32)
    q = quantized.Quantization(scales, 3, np.int8, axis=0)
    scales[:] = 1
    np.testing.assert_array_equal(q.scale, [0.5, 0.25])
    for same in (q, copy.deepcopy(q), pickle.loads(pickle.dumps(q))):
        for array in (same.scale, same.zero_point):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


@pytest.mark.parametrize(
    "bias", [np.arange(8.0)[::2], [0, 2, 4, 6], np.arange(0, 8, 2, dtype=">f4")]
)
def test_a_bias_of_any_kind(bias):
    want = quantized.gemm(X, W, bias=np.arange(0, 8, 2, dtype=np.float32))
    np.testing.assert_array_equal(quantized.gemm(X, W, bias=bias), want)
    vector = quantized.quantize(np.ones(3))
    assert quantized.gemm(vector, vector, bias=2.0) == quantized.gemm(vector, vector) + 2


def test_out_that_names_its_byte_order():
    out = np.zeros((2, 2), np.dtype("i4").newbyteorder("<" if sys.byteorder == "little" else ">"))
    np.testing.assert_array_equal(quantized.gemm(RAW, RAW.T, out=out), np.full((2, 2), 3))


@pytest.mark.parametrize("name", ["a_zero", "b_zero"])
def test_zero_points_of_the_core_are_bytes(name):
    """Sums would leave int32."""
    a, b, out = np.ones((2, 3), np.int8), np.ones((3, 2), np.int8), np.empty((2, 2), np.int32)
    for zero in (-129, 256, 2**31 - 1):
        with pytest.raises(ValueError, match=f"{name}: expected bytes from -128 to 255, got"):
            _core.multiply_bytes(a, b, out, **{name: np.array([0, zero], np.int32)})
