"""Products on an emulated GPU: the source of a real one, and the bits of the CPU."""

from types import SimpleNamespace

import numpy as np
import pytest
from emulated import DeviceArray, Emulator, on_gpu
from support import assert_same_bits, values

import tropical
from tropical import cuda, semirings
from tropical.cuda import kernels, runtime

PAIRS = [(ring, dtype) for ring in semirings.ALL for dtype in (*ring.dtypes, *ring.stored)]
EXACT = [(r, d) for r, d in PAIRS if r.idempotent or np.dtype(d).kind in "iub"]
SELECTIVE = [(r, d) for r, d in PAIRS if r.selective]


def names(pair):
    return f"{pair[0].name}-{pair[1]}"


def numpy_dtype(name):
    if name == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(name)


def small_numbers(shape, dtype, ring, seed=0):
    """Numbers whose sums and products no dtype rounds, with the semiring's zero among them."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape) == 1
    low = 0 if ring.nonnegative or dtype.startswith("u") else -4
    x = random.integers(low, 5, shape).astype(numpy_dtype(dtype))
    if ring.add != "+":
        x[random.random(shape) < 0.2] = ring.zero(dtype)
    return x


def aligned(x, order):
    """Return a copy that begins at a multiple of 16 bytes."""
    memory = np.empty(x.nbytes + 16, np.uint8)
    begin = -memory.ctypes.data % 16
    flat = memory[begin : begin + x.nbytes].view(x.dtype)
    y = (
        flat.reshape(x.shape)
        if order == "C"
        else flat.reshape(x.swapaxes(-1, -2).shape).swapaxes(-1, -2)
    )
    y[...] = x
    return y


def check(a, b, ring, **options):
    """The emulated product has the bits of the CPU's."""
    want = tropical.gemm(np.asarray(a), np.asarray(b), semiring=ring, **options)
    got = tropical.gemm(on_gpu(a), on_gpu(b), semiring=ring, **options)
    if not isinstance(want, tuple):
        want, got = (want,), (got,)
    for x, y in zip(got, want, strict=True):
        assert isinstance(x, DeviceArray)
        assert_same_bits(x, y)


@pytest.mark.parametrize("pair", PAIRS, ids=names)
def test_small_tiles(emulator, pair):
    ring, dtype = pair
    a, b = small_numbers((37, 19), dtype, ring, 1), small_numbers((19, 70), dtype, ring, 2)
    if ring.name == "logplus":
        want = tropical.gemm(a, b, semiring=ring)
        got = tropical.gemm(on_gpu(a), on_gpu(b), semiring=ring)
        np.testing.assert_allclose(np.asarray(got), want, rtol=4 * np.finfo(dtype).eps, atol=1e-6)
    else:
        check(a, b, ring)
    assert "Shape<2, 2," in emulator.launched[0].call


@pytest.mark.parametrize("pair", EXACT, ids=names)
def test_any_numbers(emulator, pair):
    """NaN, infinities, zeros, the greatest integers: the fast way, or that of the definition."""
    ring, dtype = pair
    if dtype in ring.stored:
        a, b = (values((23, 23), "float32", seed, "nan") for seed in (3, 4))
        with np.errstate(over="ignore"):
            a, b = (x.astype(numpy_dtype(dtype)) for x in (a, b))
    else:
        kind = "nan" if np.dtype(dtype).kind == "f" else "edge"
        a, b = (values((23, 23), dtype, seed, kind) for seed in (3, 4))
    a[3:5] = ring.one(dtype)  # no NaN in some rows
    b[:, :9] = ring.zero(dtype)
    check(a, b, ring)


BORDERS = {"int16": 5461, "int32": (2**30 - 2) // 3, "int64": (2**62 - 2) // 3}


@pytest.mark.parametrize("dtype", BORDERS)
@pytest.mark.parametrize("name", ["maxplus", "minplus"])
@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("sign", [-1, 1])
def test_at_the_border_of_the_fast_way(emulator, dtype, name, beyond, sign):
    """Of sums with zero and without, when the operands are as large as may be."""
    ring, border = semirings.get(name), BORDERS[dtype]
    numbers = [border, -border, sign * (border + beyond), ring.zero(dtype), 0, border - 1]
    random = np.random.default_rng(5)
    a, b = (random.choice(np.array(numbers, dtype), (40, 40)) for _ in range(2))
    a[random.random(a.shape) < 0.6] = ring.zero(dtype)
    check(a, b, ring)
    check(a, b, ring, return_argmax=True)


@pytest.mark.parametrize("name", ["maxtimes", "mintimes"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "float32"])
def test_products_beyond_the_dtype(emulator, name, dtype):
    ring = semirings.get(name)
    random = np.random.default_rng(6)
    border = {1: 181, 4: 46340, 8: 3037000499}[np.dtype(dtype).itemsize]
    most = min(border + 2, int(np.iinfo(dtype).max)) if dtype != "float32" else border
    a, b = (random.integers(most - 4, most, (33, 9)).astype(dtype) for _ in range(2))
    a[random.random(a.shape) < 0.3] = 0
    check(a, b.T, ring)
    if np.dtype(dtype).kind != "u":
        a[5] *= -1
        check(a, b.T, ring, return_argmax=True)


@pytest.mark.parametrize("pair", SELECTIVE, ids=names)
def test_argmax(emulator, pair):
    """The first of the best, also where sums saturate to the same number."""
    ring, dtype = pair
    a, b = small_numbers((33, 17), dtype, ring, 7), small_numbers((17, 34), dtype, ring, 8)
    check(a, b, ring, return_argmax=True)
    if np.dtype(numpy_dtype(dtype)).kind in "iu":
        a, b = (values((20, 20), dtype, seed, "edge") for seed in (9, 10))
        check(a, b, ring, return_argmax=True)


LARGE = [
    ("maxplus", "float32", False),
    ("maxplus", "float32", True),
    ("minplus", "float64", False),
    ("minplus", "float64", True),
    ("maxplus", "int32", False),
    ("maxmin", "int16", False),
    ("minplus", "int16", False),
    ("maxplus", "int8", True),
    ("minmax", "uint8", False),
    ("orand", "bool", False),
    ("plustimes", "int64", False),
]


@pytest.mark.parametrize("name,dtype,argmax", LARGE)
def test_large_tiles(emulator, name, dtype, argmax):
    """Tiles of which C has more than there are multiprocessors, the last ones not whole."""
    ring, emulator.multiprocessors = semirings.get(name), 1
    a, b = small_numbers((129, 21), dtype, ring, 11), small_numbers((21, 261), dtype, ring, 12)
    check(a, b, ring, **({"return_argmax": True} if argmax else {}))
    if np.dtype(dtype).kind in "fi" and ring.idempotent:  # one tile by definition
        a[7, 3] = np.nan if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
        check(a, b, ring, **({"return_argmax": True} if argmax else {}))
    assert "Shape<2, 2," not in emulator.launched[0].call


READS = [("minplus", dtype, "C") for dtype in ("float32", "float64", "float16", "int16", "int32")]
READS += [("maxmin", "int8", "C"), ("orand", "bool", "C"), ("plustimes", "int32", "C")]
READS += [("minplus", "float32", "F"), ("maxplus", "int16", "F")]


@pytest.mark.parametrize("name,dtype,order", READS)
def test_sixteen_bytes_at_once(emulator, name, dtype, order):
    """Rows, or columns, that lie side by side and begin at multiples of 16 bytes."""
    ring, emulator.multiprocessors = semirings.get(name), 1
    a = aligned(small_numbers((2, 144, 48), dtype, ring, 32), order)
    b = aligned(small_numbers((48, 272), dtype, ring, 33), order)
    check(a, b, ring)
    if dtype in ("float32", "int16"):
        a[0, 130, 40] = np.nan if dtype == "float32" else 20_000
        check(a, b, ring)
    expected = "steps, Reads::lines" if order == "C" else "lines, Reads::steps"
    assert f"Reads::{expected}>" in emulator.launched[-1].call
    check(a[0, :, 16:17], b[16:17], ring)
    check(a[:, 1:, 1:], b[1:, 1:], ring)
    assert "Reads::elements, Reads::elements>" in emulator.launched[-1].call


@pytest.mark.parametrize("dtype", ["int16", "int8"])
def test_without_dpx(emulator, dtype):
    emulator.architecture = 80
    a = small_numbers((20, 20), dtype, semirings.maxplus, 13)
    check(a, a, "maxplus")
    assert ", 1, Shape" in emulator.launched[0].call


@pytest.mark.parametrize("k", [*range(18), 40])
@pytest.mark.parametrize("shape", [(1, 1), (1, 33), (32, 1), (31, 65)], ids=str)
def test_sizes(emulator, k, shape):
    ring = semirings.maxplus
    a = small_numbers((shape[0], k), "float32", ring, 14)
    b = small_numbers((k, shape[1]), "float32", ring, 15)
    check(a, b, ring)
    check(a, b, ring, return_argmax=True)


def test_layouts_and_batches(emulator):
    ring = semirings.minplus
    a = small_numbers((3, 2, 40, 36), "float32", ring, 16)
    b = small_numbers((2, 36, 20), "float32", ring, 17)
    check(a[:, :, ::2, ::3], b[:, ::3], ring)
    check(a.swapaxes(-1, -2), np.concatenate([b, b], axis=1)[:, :40], ring)
    check(a[:, ::-1, ::-1], b[:, :, ::-1], ring)
    check(np.broadcast_to(a[:, :1], (3, 4, 40, 36)), b[:1], ring)
    check(a[0, 0], b[1, :, 0], ring)
    check(a[0, 0, 0], b[0], ring)
    check(a[0, 0, 0], b[0, :, 0], ring)
    five = small_numbers((2, 1, 3, 1, 2, 5, 6), "float32", ring, 18)
    check(five, small_numbers((4, 1, 3, 1, 6, 5), "float32", ring, 19), ring, return_argmax=True)


def test_accumulate_and_out(emulator):
    ring = semirings.maxplus
    a = small_numbers((36, 12), "float32", ring, 20)
    b = small_numbers((12, 40), "float32", ring, 21)
    old = values((36, 40), "float32", 22, "nan")
    whole = np.full((40, 90), 7, np.float32)
    whole[2:38, 3:83:2] = old
    want = tropical.gemm(a, b, semiring=ring, out=old.copy(), accumulate=True)
    given = on_gpu(whole)[2:38, 3:83:2]
    got = tropical.gemm(on_gpu(a), on_gpu(b), semiring=ring, out=given, accumulate=True)
    assert got is given
    assert_same_bits(whole[2:38, 3:83:2], want)
    whole[2:38, 3:83:2] = 7
    assert (whole == 7).all()  # the elements between stay
    square = a[:12, :12].copy()
    want = tropical.gemm(square, square, semiring=ring)
    tropical.gemm(on_gpu(square), on_gpu(square), semiring=ring, out=on_gpu(square))
    assert_same_bits(square, want)


def test_an_index_over_an_operand(emulator):
    a, b = np.arange(16).reshape(4, 4) % 5, np.arange(16).reshape(4, 4) % 7
    want = tropical.gemm(a, b, return_argmax=True)
    pairs = np.empty((4, 4, 2), np.int64)  # C and index in turns share no element
    pairs[..., 1] = a
    out = on_gpu(pairs)[..., 0], on_gpu(pairs)[..., 1]
    tropical.gemm(out[1], on_gpu(b), return_argmax=True, out=out)
    for x, y in zip(out, want, strict=True):
        assert_same_bits(x, y)


def test_an_empty_sum_of_unsigned_numbers(emulator):
    """Their fast way computes with signed ones."""
    a, b = np.empty((3, 0), np.uint32), np.empty((0, 3), np.uint32)
    check(a, b, "mintimes", return_argmax=True)
    out = np.full((3, 3), 4_000_000_000, np.uint32)
    tropical.gemm(on_gpu(a), on_gpu(b), semiring="mintimes", out=on_gpu(out), accumulate=True)
    assert (out == 4_000_000_000).all()


@pytest.mark.parametrize("name", ["mintimes", "maxtimes"])
def test_zeros_that_only_rounding_makes_have_no_sign(emulator, name):
    least = np.full((2, 2), np.finfo(np.float16).smallest_subnormal)
    check(least, np.full((2, 2), np.float16(-0.25)), name)


@pytest.mark.parametrize("dtypes", [("int8", "int32"), ("float32", "int16"), ("uint8", "int16")])
def test_promotion(emulator, dtypes):
    a = small_numbers((9, 9), dtypes[0], semirings.minplus, 23)
    check(a, small_numbers((9, 9), dtypes[1], semirings.minplus, 24), "minplus")


@pytest.mark.parametrize(
    "name,narrow,wide",
    [
        ("maxplus", "uint32", "int32"),
        ("maxplus", "uint16", "float16"),
        ("plustimes", "float16", "float64"),
        ("maxplus", "bool", "int8"),
    ],
)
def test_promotion_of_dtypes_that_are_not_the_semirings(emulator, name, narrow, wide):
    check(np.ones((3, 4), narrow), np.ones((4, 2), wide), name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_that_round(emulator, dtype):
    a, b = values((40, 100), dtype, 25), values((100, 40), dtype, 26)
    wide = a.astype(np.longdouble), b.astype(np.longdouble)
    bound = 100 * np.finfo(dtype).eps * (abs(wide[0]) @ abs(wide[1]))
    got = tropical.gemm(on_gpu(a), on_gpu(b), semiring="plustimes")
    assert (abs(np.asarray(got) - wide[0] @ wide[1]) <= bound).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms(emulator, dtype):
    a, b = (values((40, 40), dtype, seed, "nan") for seed in (27, 28))
    a[10:], b[:, 10:] = values((30, 40), dtype, 29) * 10, -np.inf
    b[3, 15:] = 1e30
    with np.errstate(all="ignore"):
        want = tropical.gemm(a, b, semiring="logplus")
        got = tropical.gemm(on_gpu(a), on_gpu(b), semiring="logplus")
    np.testing.assert_allclose(np.asarray(got), want, rtol=8 * np.finfo(dtype).eps, atol=1e-5)


def test_semiring_of_the_user(emulator):
    farthest = cuda.semiring("x > y ? x : y", "x > y ? x - y : y - x", zero=0)
    a, b = values((20, 30), "float32", 30), values((30, 25), "float32", 31)
    want = abs(a[:, :, None] - b).max(axis=1)
    got = tropical.gemm(on_gpu(a), on_gpu(b), semiring=farthest)
    assert_same_bits(got, want)
    tropical.gemm(on_gpu(a), on_gpu(b), semiring=farthest, out=got, accumulate=True)
    assert_same_bits(got, want)
    with pytest.raises(ValueError, match="multiply: expected one expression of C"):
        cuda.semiring("x + y", "x; y", 0)
    for wrong in (None, 10**400, [0]):
        with pytest.raises(TypeError, match="zero: expected a number or an expression"):
            cuda.semiring("x + y", "x * y", wrong)


@pytest.mark.parametrize(
    "zero,text",
    [
        (0, "0"),
        (True, "1"),
        (np.True_, "1"),
        (np.float32(0.5), "0.5"),
        (-np.inf, "-INFINITY"),
        (np.float32(np.inf), "INFINITY"),
        (np.nan, "NAN"),
    ],
)
def test_zeros_of_the_user(emulator, zero, text):
    ring = cuda.semiring("x > y ? x : y", "x + y", zero)
    assert ring.zero == text
    a = np.zeros((2, 0), np.float32)
    got = np.asarray(tropical.gemm(on_gpu(a), on_gpu(a.T), semiring=ring))
    np.testing.assert_array_equal(got, np.full((2, 2), zero, np.float32))


def test_refusals(emulator):
    x, ring = on_gpu(np.ones((4, 4), np.float32)), "plustimes"
    y = on_gpu(np.ones((4, 4), np.int64))
    overlapping = np.lib.stride_tricks.as_strided(x, strides=(4, 4), subok=True)
    wrong = [
        (ValueError, "b: expected an array on the GPU", lambda: tropical.gemm(x, np.ones((4, 4)))),
        (ValueError, "a, b: expected", lambda: tropical.gemm(x, x[:3])),
        (TypeError, "expected a dtype of orand", lambda: tropical.gemm(x, x, semiring="orand")),
        (NotImplementedError, "kernel: expected None", lambda: tropical.gemm(x, x, kernel="tiled")),
        (ValueError, "accumulate: expected out", lambda: tropical.gemm(x, x, accumulate=True)),
        (ValueError, "out: expected shape", lambda: tropical.gemm(x, x, out=x[:3])),
        (
            ValueError,
            "out: expected elements that share no memory",
            lambda: tropical.gemm(x, x, out=overlapping),
        ),
        (
            ValueError,
            "C and index that share no memory",
            lambda: tropical.gemm(y, y, return_argmax=True, out=(y, y)),
        ),
        (
            ValueError,
            "return_argmax",
            lambda: cuda.gemm(x, x, semiring=ring, return_argmax=True),
        ),
    ]
    for error, message, call in wrong:
        with pytest.raises(error, match=message):
            call()
    other = x.copy()
    other.device_id = 1
    with pytest.raises(ValueError, match="b: expected an array of emulated on GPU 0, got"):
        tropical.gemm(x, other)
    assert not emulator.launched


def test_shapes_fill_the_tables():
    """Each dtype of each semiring has a shape whose tiles the threads can fill."""
    for ring, dtype in PAIRS:
        for shape in kernels.shapes_of(ring, dtype, False, Emulator().architecture):
            assert shape.height * shape.depth % 256 == 0 == shape.width * shape.depth % 256


@pytest.mark.parametrize("before", [None, "another"])
def test_the_current_gpu_stays(monkeypatch, before):
    """As other libraries go by it; a stream is waited for on its own GPU."""
    current, waited = [before], []
    device = SimpleNamespace(
        compute_capability=(9, 0),
        properties=SimpleNamespace(multiprocessor_count=132),
        set_current=lambda: current.append("own"),
    )
    modules = {
        "cuda.core": SimpleNamespace(
            Device=lambda number: device,
            LEGACY_DEFAULT_STREAM=SimpleNamespace(sync=lambda: waited.append(current[-1])),
        ),
        "cuda.bindings.driver": SimpleNamespace(
            cuCtxGetCurrent=lambda: (0, current[-1]), cuCtxSetCurrent=current.append
        ),
    }
    monkeypatch.setattr(runtime, "require", lambda name, extra: modules[name])
    runtime.runtime_of.__wrapped__(1, 0).synchronize()
    assert waited == ["own"] and current[-1] == before
