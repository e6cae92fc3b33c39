"""``kernel="strassen"`` and ``options(fast_ring=True)``: errors, bounds, and who chooses it."""

import numpy as np
import pytest
from support import INSTANCES, assert_same_bits, values

import tropical
from tropical import _core

RINGS = [i for i in INSTANCES if i[0] == "plustimes" and i[1].startswith("float")]


@pytest.fixture
def side():
    """Return a function that sets how small blocks may be."""
    before = _core.settings()
    yield lambda n: _core.set_settings({**before, "strassen_side": n})
    _core.set_settings(before)


def gemm(a, b, **how):
    return tropical.gemm(a, b, semiring="plustimes", kernel="strassen", **how)


def levels(n, **how):
    plan = tropical.explain(n, n, n, semiring="plustimes", **how)
    assert (plan.kernel == "strassen") == (plan.levels > 0)
    return plan.levels


@pytest.mark.parametrize("semiring, dtype", RINGS)
@pytest.mark.parametrize("halvings", [1, 2, 3])
@pytest.mark.parametrize("shape", [(64, 64, 64), (130, 70, 201), (257, 300, 96)], ids=str)
def test_within_the_documented_bound(isa, side, semiring, dtype, halvings, shape):
    m, n, k = shape
    side(min(shape) >> halvings)
    a, b = values((m, k), dtype, 1), values((k, n), dtype, 2)
    plan = tropical.explain(m, n, k, semiring=semiring, dtype=dtype, kernel="strassen")
    assert plan.levels == halvings
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    depth = -(-k // 2**halvings)
    unit = np.finfo(dtype).eps / 2
    bound = (12**halvings * (depth**2 + 5 * depth)) * unit * abs(a).max() * abs(b).max()
    got = gemm(a, b)
    assert np.max(abs(got - exact)) <= bound
    out = np.ones((m, n), dtype)
    assert gemm(a, b, out=out, accumulate=True) is out
    assert np.max(abs(out - (exact + 1))) <= bound + 8 * unit * np.max(abs(exact) + 1)


@pytest.mark.parametrize("semiring, dtype", RINGS)
def test_batches_threads_and_layouts(isa, side, semiring, dtype):
    side(8)
    a, b = values((3, 2, 40, 50), dtype, 1, "ties"), values((2, 50, 64), dtype, 2, "ties")
    want = a @ b
    for threads in (1, 2, 7):
        assert_same_bits(gemm(a, b, threads=threads) + 0, want + 0)
    turned = np.ascontiguousarray(np.swapaxes(a, -1, -2)).swapaxes(-1, -2)
    assert_same_bits(gemm(turned, b[:, ::-1]) + 0, (turned @ b[:, ::-1]) + 0)
    out = np.empty((3, 2, 64, 40), dtype).swapaxes(-1, -2)
    assert_same_bits(gemm(a, b, out=out) + 0, want + 0)


def test_an_operand_may_be_the_result(side):
    side(8)
    a = values((64, 64), "float64", 1, "ties")
    want = a @ a
    assert_same_bits(gemm(a, a, out=a) + 0, want + 0)


def test_layers_with_bias_are_refused():
    x, bias = np.ones((8, 8), np.float32), np.ones(8, np.float32)
    for how in ({"bias": bias}, {"relu": True}):
        with pytest.raises(ValueError, match=r"kernel: .* with bias or activation"):
            _core.linear(x, x, kernel="strassen", **how)
    assert_same_bits(_core.linear(x, x, kernel="strassen"), x @ x)


def test_one_row_is_computed_as_scheduled():
    a, b = values((1, 50), "float32", 1, "ties"), values((50, 60), "float32", 2, "ties")
    assert tropical.explain(1, 60, 50, semiring="plustimes", kernel="strassen").levels == 0
    assert_same_bits(gemm(a, b) + 0, (a @ b) + 0)


def test_the_scheduler_chooses_it_only_if_asked():
    assert levels(9000) == 0
    with tropical.options(fast_ring=True):
        assert levels(1000) == 0
        assert levels(4096) == 1
        assert levels(9000) == 2
        assert levels(10**5) == 3
        assert levels(9000, kernel="packed") == 0
        assert tropical.explain(9000, 9000, 9000).levels == 0
        with tropical.options(threads=1):
            assert levels(9000) == 2
        with tropical.options(fast_ring=False):
            assert levels(9000) == 0
        assert levels(9000) == 2
    assert levels(9000) == 0
    assert levels(9000, kernel="strassen") == 2
    assert levels(16, kernel="strassen") == 1
    with pytest.raises(TypeError, match=r"fast_ring: .*got 1"), tropical.options(fast_ring=1):
        pass


def test_the_scheduler_computes_by_it(side):
    side(16)
    a = values((40, 40), "float32", 1)
    with tropical.options(fast_ring=True):
        fast = tropical.gemm(a, a, semiring="plustimes")
    assert_same_bits(fast, gemm(a, a))
