"""Closures of float16 and bfloat16: those of float32 where lengths are exact, else rounded."""

import itertools
import tracemalloc

import numpy as np
import pytest
from support import STORED_DTYPES, assert_same_bits, random_bits

import tropical
from tropical.graph import DivergenceError, closure, closure_blocks

INSTANCES = [*itertools.product(["minplus", "maxmin", "minmax", "maxtimes"], STORED_DTYPES)]


def graph(shape, dtype, semiring, few=20):
    """Weights 1 to `few`, of which powers of two for maxtimes are at most 1; many edges lack."""
    bits = random_bits(shape, 3)
    w = (bits % np.uint64(few) + np.uint64(1)).astype(np.float32)
    if semiring == "maxtimes":
        w = np.exp2(-w)
    w[bits % np.uint64(5) == 0] = tropical.semirings.get(semiring).zero("float32")
    return w.astype(dtype)


@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_exact_lengths(isa, semiring, dtype):
    for shape in [
        (0, 0),
        (1, 1),
        (5, 5),
        (64, 64),
        (70, 70),
        (3, 2, 20, 20),
        (4, 130, 130),
        (600, 600),
    ]:
        w = graph(shape, dtype, semiring)
        want = closure(w.astype(np.float32), semiring).astype(dtype)
        assert_same_bits(closure(w, semiring), want, shape)
        turned = np.swapaxes(w, -1, -2).copy()
        view = np.swapaxes(turned, -1, -2)
        assert closure(view, semiring, overwrite=True) is view
        assert_same_bits(view, want, shape)


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_rounding(dtype):
    """Up to 512 vertices once; then by a last place for each block of vertices."""
    for n in (40, 300, 1100):
        w = random_bits((n, n), 1).astype(np.float64) * 2.0**-60
        w = w.astype(dtype)
        got, want = closure(w), closure(w.astype(np.float32))
        if n <= 512:
            assert_same_bits(got, want.astype(dtype))
        else:
            blocks, relative = 3, 2.0 ** (-7 if dtype.name == "bfloat16" else -10)
            assert (abs(got.astype(np.float32) - want) <= blocks * relative * want).all()


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_overflow_is_no_path(dtype):
    """Quietly, as for float32."""
    w = np.full((3, 3), np.inf, dtype)
    w[0, 1] = w[1, 2] = 3e38 if dtype.name == "bfloat16" else 6e4
    assert closure(w)[0, 2] == np.inf


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_refused(dtype):
    cycle = np.array([[np.inf, 1], [-2, np.inf]], dtype)
    with pytest.raises(DivergenceError, match="a cycle improves to -1"):
        closure(cycle)
    # No number of the dtype lies between this cycle's product and 1.
    close = np.array([[0, 1 + 2.0**-7], [1 - 2.0**-8, 0]], dtype)
    little = np.array([[0, 1 + 2.0**-10], [1 - 2.0**-11, 0]], dtype)
    with pytest.raises(DivergenceError, match="maxtimes star"):
        closure(close if dtype.name == "bfloat16" else little, "maxtimes")
    with pytest.raises(ValueError, match="got a NaN"):
        closure(np.array([[0, np.nan], [1, 0]], dtype))
    with pytest.raises(ValueError, match="expected numbers of 0 or more for maxtimes, got -1"):
        closure(np.array([[0, -1], [1, 0]], dtype), "maxtimes")
    with pytest.raises(TypeError, match="not supported over plustimes"):
        closure(np.zeros((2, 2), dtype), "plustimes")
    read_only = np.zeros((2, 2), dtype)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        closure(read_only, overwrite=True)
    assert not read_only.any()


def test_blocks_on_disk_refuse_them(tmp_path):
    """Their order of vertices, and so the rounding, is not that of `closure`."""
    store = np.lib.format.open_memmap(tmp_path / "w.npy", "w+", np.float16, (70, 70))
    with pytest.raises(TypeError, match="float16 is not supported"):
        closure_blocks(store)


def test_no_wide_copy():
    """What NumPy allocates; the blocks of float32 belong to the core."""
    w = np.zeros((1500, 1500), np.float16)
    closure(w, overwrite=True)
    tracemalloc.start()
    closure(w, overwrite=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < w.nbytes
