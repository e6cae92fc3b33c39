"""``gemm(..., epilogue=)``: the bits of the same operations of NumPy on the product."""

import numpy as np
import pytest
from support import INSTANCES, assert_same_bits, values

import tropical
from tropical import Epilogue

SHAPES = [(1, 1, 1), (3, 5, 0), (7, 9, 4), (70, 33, 130), (300, 310, 20), (40, 530, 8), (540, 1, 9)]


def ended(c, semiring, given):
    """Return what the epilogue makes of the product c."""
    y = c
    with np.errstate(all="ignore"):
        if "scale" in given:
            y = y * np.asarray(given["scale"], c.dtype)
        for name in ("bias", "residual"):
            y = y + np.asarray(given.get(name, 0), c.dtype) if name in given else y
        if given.get("activation") == "relu":
            y = np.where(y < 0, np.zeros(1, c.dtype), y)
        if "low" in given:
            y = np.maximum(y, given["low"])
        if "high" in given:
            y = np.minimum(y, given["high"])
    mask = given.get("mask", True)
    if isinstance(mask, str):
        rows, columns = np.indices(c.shape[-2:])
        mask = rows >= columns if mask == "lower" else rows <= columns
    zero = np.bool_(False) if c.dtype == bool else tropical.semirings.get(semiring).zero(c.dtype)
    y = np.where(mask, y, zero).astype(c.dtype)
    if given.get("symmetric"):
        y = np.where(np.tri(len(y), dtype=bool), y, y.T)
    return y


def some_epilogues(semiring, dtype, shape):
    """Each operand alone, then many of them."""
    m, n = shape
    masks = [
        "lower",
        "upper",
        values((m, n), "bool", 3),
        values((m, 1), "bool", 4),
        np.add.outer(np.arange(m) // 64, np.arange(n) // 64) % 3 == 0,
    ]
    given = [{"mask": mask} for mask in masks]
    if m == n:
        given.append({"symmetric": True})
    if semiring != "orand":
        bounds = {"low": values((m, n), dtype, 5), "high": values((n,), dtype, 6)}
        given += [{"low": bounds["low"]}, {"high": bounds["high"]}, {**bounds, "mask": "lower"}]
    if semiring == "plustimes":
        many = {
            "scale": values((m, 1), dtype, 7),
            "bias": values((n,), dtype, 8),
            "residual": values((m, n), dtype, 9),
            "activation": "relu",
        }
        given += [{name: value} for name, value in many.items()]
        given += [many, {**many, "high": 3, "mask": masks[-1]}, {"scale": 2, "symmetric": m == n}]
    return given


@pytest.mark.parametrize("semiring, dtype", INSTANCES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_of_the_operations_one_by_one(isa, semiring, dtype, shape):
    m, n, k = shape
    a, b = values((m, k), dtype, 1), values((k, n), dtype, 2)
    for number, given in enumerate(some_epilogues(semiring, dtype, (m, n))):
        how = {
            "threads": 1 + number % 2,
            "kernel": (None, "packed", "direct", "naive")[number % 4],
            "semiring": semiring,
        }
        want = ended(tropical.gemm(a, b, **how), semiring, given)
        out = np.empty((m, n), dtype, order="CF"[number // 2 % 2])
        assert tropical.gemm(a, b, out=out, epilogue=Epilogue(**given), **how) is out
        assert out.dtype == want.dtype
        np.testing.assert_array_equal(out, want, err_msg=f"{how}, {sorted(given)}")


@pytest.mark.parametrize("semiring, dtype", [("maxplus", "float32"), ("minmax", "float64")])
def test_nan_and_infinity(isa, semiring, dtype):
    a, b = values((150, 40), dtype, 1), values((40, 90), dtype, 2)
    a[[3, 100], [7, 0]] = np.nan
    b[5, 60] = np.inf
    for given in some_epilogues(semiring, dtype, (150, 90)):
        for kernel in ("packed", "direct"):
            c = tropical.gemm(a, b, semiring=semiring, kernel=kernel)
            got = tropical.gemm(a, b, semiring=semiring, kernel=kernel, epilogue=Epilogue(**given))
            np.testing.assert_array_equal(got, ended(c, semiring, given))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 7, 3), (130, 70, 40)], ids=str)
def test_gelu(isa, dtype, shape):
    m, n, k = shape
    a, b = values((m, k), dtype, 1), values((k, n), dtype, 2)
    bias = np.linspace(-9, 9, n, dtype=dtype)
    x = (tropical.gemm(a, b, semiring="plustimes") + bias).astype(np.longdouble)
    u = np.sqrt(2 / np.longdouble(np.pi)) * (x + np.longdouble(0.044715) * x**3)
    got = tropical.gemm(a, b, semiring="plustimes", epilogue=Epilogue(bias=bias, activation="gelu"))
    assert got.dtype == dtype
    with np.errstate(all="ignore"):
        error = np.abs(got - x / (1 + np.exp(-2 * u)))
    assert np.all(error <= 4 * np.finfo(dtype).eps * np.abs(x))
    ends = tropical.gemm(
        np.array([[np.inf], [np.nan], [0], [40]], dtype),
        np.ones((1, 1), dtype),
        semiring="plustimes",
        epilogue=Epilogue(activation="gelu"),
    )
    np.testing.assert_array_equal(ends[:, 0], np.array([np.inf, np.nan, 0, 40], dtype))


@pytest.mark.parametrize("given", [{}, {"mask": "lower"}, {"symmetric": True}])
def test_batches_and_vectors(isa, given):
    a, b = values((2, 3, 20, 9), "float32", 1), values((3, 9, 20), "float32", 2)
    for shape in [(20,), (20, 1), (3, 20, 20), (2, 1, 1, 20), (2, 3, 20, 20)]:
        beside = values(shape, "float32", 3)
        for threads in (1, 2):
            how = {"semiring": "plustimes", "threads": threads}
            c = tropical.gemm(a, b, **how)
            got = tropical.gemm(a, b, **how, epilogue=Epilogue(bias=beside, **given))
            for item in np.ndindex(2, 3):
                operand = np.broadcast_to(beside, c.shape)[item]
                want = ended(c[item], "plustimes", {"bias": operand, **given})
                assert_same_bits(got[item] + 0, want + 0)
    x = values((9,), "float32", 4)
    for left, right in [(x, b), (a, x), (x, x)]:
        c = tropical.gemm(left, right, semiring="plustimes")
        beside = values(np.shape(c), "float32", 5)
        got = tropical.gemm(left, right, semiring="plustimes", epilogue=Epilogue(residual=beside))
        assert_same_bits(got, c + beside)


def test_masks_that_differ_over_a_batch(isa):
    a, b = values((3, 300, 9), "int16", 1), values((3, 9, 300), "int16", 2)
    mask = np.zeros((3, 300, 300), bool)
    mask[0, :100] = mask[1, :, 280:] = mask[2, 7, 7] = True
    got = tropical.gemm(a, b, epilogue=Epilogue(mask=mask))
    zero = tropical.semirings.maxplus.zero("int16")
    np.testing.assert_array_equal(got, np.where(mask, tropical.gemm(a, b), zero))


@pytest.mark.parametrize("shape", [(30, 40, 20), (600, 530, 1100)], ids=str)
def test_half_types_round_once(isa, shape):
    m, n, k = shape
    a, b = values((m, k), "float16", 1), values((k, n), "float16", 2)
    low, high = values((m, n), "float16", 3), np.float16(7)
    wide = tropical.gemm(a.astype("f4"), b.astype("f4"), semiring="minplus")
    zero = np.float32(np.inf)
    for given in [{"low": low}, {"low": low, "high": high, "mask": "upper"}]:
        want = np.maximum(wide, low.astype("f4"))
        want = np.minimum(want, np.float32(7)) if "high" in given else want
        want = np.where(np.tri(n, m, dtype=bool).T, want, zero) if "mask" in given else want
        got = tropical.gemm(a, b, semiring="minplus", epilogue=Epilogue(**given))
        assert_same_bits(got, want.astype("f2"))
    batch = tropical.gemm(np.stack([a, a]), b, semiring="minplus", epilogue=Epilogue(low=low))
    assert_same_bits(batch[1], np.maximum(wide, low.astype("f4")).astype("f2"))


def test_operands_may_be_the_result(isa):
    a, b = values((50, 30), "float64", 1), values((30, 50), "float64", 2)
    out = values((50, 50), "float64", 3)
    want = tropical.gemm(a, b, semiring="plustimes") + out
    assert (
        tropical.gemm(a, b, semiring="plustimes", out=out, epilogue=Epilogue(residual=out)) is out
    )
    assert_same_bits(out, want)


def test_the_dtype_of_operands_widens(isa):
    a = np.zeros((2, 2), np.int32)
    least = np.array([-128, 127], np.int8)  # -inf of maxplus, and a number
    got = tropical.gemm(a, a, epilogue=Epilogue(high=least))
    np.testing.assert_array_equal(got, [[np.iinfo(np.int32).min, 0]] * 2)


@pytest.mark.parametrize(
    "given, error, said",
    [
        ({"activation": "tanh"}, ValueError, "activation: expected 'relu', 'gelu' or None"),
        ({"mask": "left"}, ValueError, "mask: expected 'lower', 'upper', an array"),
        ({"symmetric": 1}, TypeError, "symmetric: expected a bool, got 1"),
        ({"symmetric": True, "mask": "lower"}, ValueError, "mask: expected None"),
    ],
)
def test_bad_epilogues(given, error, said):
    with pytest.raises(error, match=said):
        Epilogue(**given)


@pytest.mark.parametrize(
    "given, how, error, said",
    [
        ({"bias": np.ones(3)}, {"semiring": "plustimes"}, ValueError, r"epilogue\.bias.*\(2, 4\)"),
        ({"bias": np.ones((1, 2, 4))}, {"semiring": "plustimes"}, ValueError, r"got \(1, 2, 4\)"),
        ({"scale": 2}, {}, ValueError, "epilogue.scale: expected None over maxplus"),
        ({"activation": "relu"}, {}, ValueError, "epilogue.activation: expected None over maxplus"),
        ({"low": "x"}, {}, TypeError, "low"),
        ({"low": np.ones(4, complex)}, {}, TypeError, "epilogue.low: expected a dtype"),
        ({"mask": np.ones(4)}, {}, TypeError, "epilogue.mask: expected dtype bool, got float64"),
        ({"symmetric": True}, {}, ValueError, r"a square result, got shape \(2, 4\)"),
        ({"mask": "lower"}, {"accumulate": True}, ValueError, "accumulate=True"),
        ({"mask": "lower"}, {"return_argmax": True}, ValueError, "return_argmax=True"),
        ({}, {"semiring": "plustimes", "kernel": "strassen"}, ValueError, "with an epilogue"),
    ],
)
def test_what_the_product_refuses(given, how, error, said):
    a, b = np.ones((2, 3)), np.ones((3, 4))
    out = None if how.get("return_argmax") else np.full((2, 4), 7.0)
    with pytest.raises(error, match=said):
        tropical.gemm(a, b, out=out, epilogue=Epilogue(**given), **how)
    assert out is None or (out == 7).all()


def test_numbers_beyond_the_dtype():
    a = np.ones((2, 2), np.int8)
    for given in ({"low": -200}, {"high": 2**70}):
        with pytest.raises(
            ValueError, match=r"epilogue\.(low|high): expected a number of int8, got"
        ):
            tropical.gemm(a, a, epilogue=Epilogue(**given))


def test_the_rest_of_what_the_product_refuses():
    ints = np.ones((3, 3), np.int32)
    with pytest.raises(TypeError, match=r"epilogue: expected a tropical\.Epilogue or None"):
        tropical.gemm(ints, ints, epilogue={"mask": "lower"})
    with pytest.raises(TypeError, match="of floats for 'gelu', got int32"):
        tropical.gemm(ints, ints, semiring="plustimes", epilogue=Epilogue(activation="gelu"))
    with pytest.raises(TypeError, match=r"epilogue\.high: expected a dtype that int32"):
        tropical.gemm(ints, ints, epilogue=Epilogue(high=2.5))
    truth = ints == 1
    with pytest.raises(ValueError, match=r"epilogue\.low: expected None over orand"):
        tropical.gemm(truth, truth, semiring="orand", epilogue=Epilogue(low=truth))


@pytest.mark.parametrize("given", [{"mask": "lower"}, {"mask": "upper"}, {"symmetric": True}])
def test_triangles_need_matrices(given):
    """The rows of a batch of vectors are no rows of a triangle."""
    a, v = np.ones((3, 3, 4)), np.ones(4)
    (name,) = given
    for operands in ((a, v), (np.ones(3), np.ones((3, 3, 3)))):
        with pytest.raises(ValueError, match=rf"epilogue\.{name}: expected matrices a and b"):
            tropical.gemm(*operands, epilogue=Epilogue(**given))


def test_explained():
    ring = {"semiring": "plustimes", "epilogue": Epilogue(scale=2)}
    with tropical.options(fast_ring=True):
        plan = tropical.explain(8192, 8192, 8192, **ring)
    assert plan.kernel == "packed"
    with pytest.raises(ValueError, match="with an epilogue"):
        tropical.explain(64, 64, 64, kernel="strassen", **ring)
