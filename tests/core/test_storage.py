"""float16 and bfloat16: matrices of two bytes an element, computed in float32 and rounded once."""

import importlib.util
import itertools

import numpy as np
import oracle
import pytest
from layouts import LAYOUTS, WRITEABLE
from support import (
    KERNELS,
    MATMUL_SHAPES,
    assert_same_bits,
    check_ways,
    example,
    random_bits,
    run_python,
)

import tropical
from tropical import _core

SELECTIVE = [s["name"] for s in _core.semirings() if s["selective"]]
STORAGES = ["float16"]
if importlib.util.find_spec("ml_dtypes"):
    import ml_dtypes

    STORAGES.append("bfloat16")
INSTANCES = [*itertools.product(SELECTIVE, STORAGES)]
FEW = [("maxplus", STORAGES[0]), ("minmax", STORAGES[-1]), ("maxtimes", STORAGES[-1])]
name = "{0.__name__}".format


def dtype_of(storage):
    return np.dtype(getattr(ml_dtypes, storage) if storage == "bfloat16" else storage)


def every_number(storage):
    return np.arange(2**16, dtype=np.uint16).view(dtype_of(storage))


def stored(x, storage):
    """`x` rounded as NumPy rounds it, with +0 for -0, and one NaN."""
    with np.errstate(all="ignore"):
        narrow = x.astype(dtype_of(storage))
    narrow[narrow == 0] = 0
    narrow[np.isnan(narrow)] = np.nan
    return narrow


def operands(storage, *shapes):
    """Arrays of any bits, but fewer NaN."""
    arrays = [
        random_bits(shape, seed).astype(np.uint16).view(dtype_of(storage)).reshape(shape)
        for seed, shape in enumerate(shapes)
    ]
    for x in arrays:
        with np.errstate(invalid="ignore"):  # of NaN that signal ml_dtypes warns
            nan = np.isnan(x)
        x[nan] = np.nan  # quiet ones
        x[nan & (random_bits(x.shape, 9) % np.uint64(16) > 0)] = 1.5
    return arrays


def by_float32(a, b, semiring, **how):
    return tropical.gemm(a.astype("f4"), b.astype("f4"), semiring=semiring, **how)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_number_is_widened(isa, storage):
    """max(x, -inf) is x, however many there are in a row."""
    x = every_number(storage)
    want = stored(x.astype("f4"), storage)
    for shape in [(2**16, 1), (2**11, 32), (3449, 19)]:
        rows = x[: shape[0] * shape[1]].reshape(shape)
        low = np.full((shape[0], 1), -np.inf, x.dtype)
        got = np.stack([tropical.gemm(low, row[None], semiring="minmax")[0] for row in rows[:40]])
        assert_same_bits(got, want[: got.size].reshape(got.shape))
    one = np.array([[np.inf]], x.dtype)
    assert_same_bits(tropical.gemm(x[:, None], one, semiring="maxmin")[:, 0], want)


@pytest.mark.parametrize("storage", STORAGES)
def test_float32_is_rounded_as_numpy_rounds_it(isa, storage):
    """Sums of neighbors lie halfway between two numbers; products are subnormal, or overflow."""
    x = every_number(storage)[::23][:, None]
    half_steps = np.array([[2.0**e for e in range(-24, 16)]], x.dtype)
    for semiring in ("maxplus", "maxtimes"):
        for y in (half_steps, -half_steps, x[::7].T, 1 + half_steps):
            got = tropical.gemm(x, y, semiring=semiring)
            assert_same_bits(got, stored(by_float32(x, y, semiring), storage), semiring)


@pytest.mark.parametrize("semiring,storage", INSTANCES)
def test_definition(isa, semiring, storage):
    for m, n, k in [(1, 1, 1), (7, 5, 3), (3, 40, 20), (70, 33, 35), (1, 100, 64), (90, 2, 9)]:
        a, b, c = operands(storage, (m, k), (k, n), (m, n))
        wide_a, wide_b = a.astype("f4"), b.astype("f4")
        want = oracle.gemm(wide_a, wide_b, semiring)
        for kernel in (None, *KERNELS):
            how = {"semiring": semiring, "kernel": kernel}
            got, index = tropical.gemm(a, b, return_argmax=True, **how)
            assert_same_bits(got, stored(want, storage), how)
            assert_same_bits(tropical.gemm(a, b, **how), got)
            assert_same_bits(index, oracle.argmax(wide_a, wide_b, semiring))
            out = c.copy()
            assert tropical.gemm(a, b, out=out, accumulate=True, **how) is out
            met = oracle.gemm(wide_a, wide_b, semiring, c.astype("f4"))
            assert_same_bits(out, stored(met, storage))


@pytest.mark.parametrize("semiring,storage", INSTANCES)
def test_shapes(semiring, storage):
    for shapes in MATMUL_SHAPES:
        a, b = operands(storage, *shapes)
        for how in ({}, {"return_argmax": True}):
            got = tropical.gemm(a, b, semiring=semiring, **how)
            want = by_float32(a, b, semiring, **how)
            if how:
                assert_same_bits(got[1], want[1], shapes)
                got, want = got[0], want[0]
            assert_same_bits(got, stored(np.asarray(want), storage), shapes)


@pytest.mark.parametrize("semiring,storage", FEW)
def test_blocks(isa, semiring, storage):
    """Each axis longer than a block; axes of the batch that make blocks of several items."""
    many = [((1030, 9), (9, 1100)), ((5, 2100), (2100, 7)), ((3, 1030), (1030, 1050))]
    many += [((2, 300, 40, 30), (300, 30, 50)), ((1500, 1, 300), (300, 40))]
    many += [((1050, 2100), (2100, 2)), ((1, 3), (3, 5000)), ((5000, 2), (2, 1))]
    many += [((70, 40), (900, 40, 30)), ((1, 2, 1100), (3, 1100, 2))]
    for shapes in many:
        a, b = operands(storage, *shapes)
        want, places = by_float32(a, b, semiring, return_argmax=True)
        got, index = tropical.gemm(a, b, semiring=semiring, return_argmax=True)
        assert_same_bits(got, stored(want, storage), shapes)
        assert_same_bits(index, places, shapes)
        c = operands(storage, got.shape)[0]
        out = c.copy()
        tropical.gemm(a, b, semiring=semiring, out=out, accumulate=True, threads=2)
        met = by_float32(a, b, semiring, out=c.astype("f4"), accumulate=True)
        assert_same_bits(out, stored(met, storage), shapes)


@pytest.mark.parametrize("semiring,storage", FEW)
@pytest.mark.parametrize("layout", LAYOUTS, ids=name)
def test_layouts(isa, semiring, storage, layout):
    if storage == "bfloat16" and layout.__name__ == "big_endian":
        pytest.skip("ml_dtypes has native elements alone")
    turn = LAYOUTS.index(layout)
    for m, n, k in [(1, 37, 12), (19, 35, 9), (300, 2, 3), (3, 300, 20)]:
        a, b = operands(storage, (m, k), (k, n))
        want = stored(by_float32(a, b, semiring), storage)
        for of_out in WRITEABLE[turn % 3 :: 3]:
            out = of_out(np.ones(want.shape, want.dtype))
            assert tropical.gemm(layout(a), layout(b), semiring=semiring, out=out) is out
            assert_same_bits(out, want, of_out)


@pytest.mark.parametrize("semiring,storage", FEW)
def test_ways(isa, semiring, storage):
    a, b = operands(storage, (300, 270), (270, 260))
    check_ways(lambda a, b, **how: tropical.gemm(a, b, semiring=semiring, **how), a, b)


@pytest.mark.parametrize("storage", STORAGES)
def test_out_may_overlap(storage):
    a, b = operands(storage, (60, 60), (60, 60))
    want = tropical.gemm(a, b)
    assert tropical.gemm(a, b, out=a) is a
    assert_same_bits(a, want)
    both = np.stack([want, want])
    tropical.gemm(both[0], both[0], out=both.reshape(-1)[30 : 30 + 3600].reshape(60, 60))
    assert_same_bits(both.reshape(-1)[30:3630].reshape(60, 60), tropical.gemm(want, want))


def test_mixed_operands_promote_as_in_numpy():
    a, b = (abs(x).astype("f2") for x in example(5, 6, 7, "maxplus", "float32")[:2])
    b = (b % 50).astype("i1")
    for other, common in [("f4", "f4"), ("f8", "f8"), ("i1", "f2"), ("u1", "f2"), ("i2", "f4")]:
        got = tropical.gemm(a, b.astype(other), semiring="minplus")
        want = by_float32(a, b, "minplus")
        assert_same_bits(got, stored(want, "float16") if common == "f2" else want.astype(common))
    zero = np.array([[-128, 3]], "i1")  # -128 is the zero of int8
    assert tropical.gemm(zero, np.array([[7], [1]], "f2")).item() == 4
    assert tropical.gemm(zero, np.array([[7], [-np.inf]], "f2")).item() == -np.inf


def test_refused():
    x, y = np.zeros((3, 3), "f2"), np.zeros((3, 3), "f4")
    for semiring in ("plustimes", "logplus", "orand"):
        with pytest.raises(TypeError, match=f"float16 is not supported over {semiring}.*a has dty"):
            tropical.gemm(x, x, semiring=semiring)
    with pytest.raises(TypeError, match="out: expected dtype float16, got float32"):
        tropical.gemm(x, x, out=y)
    with pytest.raises(TypeError, match="out: expected dtype float32, got float16"):
        tropical.gemm(y, x, out=x)
    with pytest.raises(ValueError, match="accumulate"):
        tropical.gemm(x, x, accumulate=True)
    with pytest.raises(TypeError, match="V2 is not supported"):
        tropical.gemm(np.zeros((3, 3), "V2"), np.zeros((3, 3), "V2"))
    assert not x.any() and not y.any()


@pytest.mark.parametrize("storage", STORAGES)
def test_memory_is_that_of_blocks(storage):
    dtype, workspace = dtype_of(storage), tropical.GemmWorkspace()
    for n, most in [(200, 2 << 20), (1500, 20 << 20), (10**6, 40 << 20)]:
        plan = tropical.explain(n, n, n, dtype=dtype, threads=1)
        assert plan.bytes <= most
    assert plan.kernel == "packed"
    workspace.reserve(0, 0, 0, dtype=dtype)
    assert tropical.explain(0, 3, 0, dtype=dtype).bytes < 4096
    workspace.reserve(1200, 1300, 1100, dtype=dtype)
    reserved, allocations = workspace.nbytes, workspace.allocations
    a, b = operands(storage, (1200, 1100), (1100, 1300))
    for how in ({}, {"return_argmax": True}, {"threads": 1}):
        tropical.gemm(a, b, workspace=workspace, **how)
    tropical.gemm(b.T, a.T, workspace=workspace, out=np.empty((1200, 1300), dtype).T)
    assert (workspace.nbytes, workspace.allocations) == (reserved, allocations)
    workspace.clear()
    assert workspace.nbytes == 0


def test_nobody_imports_ml_dtypes():
    run_python("""
        import sys, numpy as np, tropical
        x = np.ones((3, 3), np.float16)
        assert (tropical.gemm(x, x) == 2).all() and "ml_dtypes" not in sys.modules
    """)
