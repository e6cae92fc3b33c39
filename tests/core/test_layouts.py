"""Strides of every kind, inputs untouched, nothing read or written past an operand."""

import itertools

import numpy as np
import oracle
import pytest
from layouts import LAYOUTS, WRITEABLE, guarded
from support import EXACT, FEW, KERNELS, assert_same_bits, check, example, values

SHAPES = [(1, 1, 1), (1, 37, 12), (37, 1, 12), (7, 37, 5), (35, 70, 19)]
SHAPES += [(1, 1, 8300), (3, 20, 300), (5, 1, 700)]  # few rows, whose lines pass through L1
SHAPES += [(1, 2, 300), (3, 3, 40), (300, 2, 3), (300, 3, 1), (1, 300, 3)]  # m, n, k: narrow
name = "{0.__name__}".format


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("layout", LAYOUTS, ids=name)
def test_layouts_of_both_operands(isa, semiring, dtype, layout):
    for shape, kernel in itertools.product(SHAPES, KERNELS):
        a, b, c = example(*shape, semiring, dtype, "nan")
        check(layout(a), layout(b), semiring, c, kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", FEW)
@pytest.mark.parametrize("of_out", WRITEABLE, ids=name)
def test_layouts_mixed(isa, semiring, dtype, of_out):
    """Each layout of `a` with each of `out` and every third of `b`, in turn."""
    a, b, c = example(19, 35, 9, semiring, dtype, "edge")
    turn = LAYOUTS.index(of_out)
    all_a, all_b, out = [f(a) for f in LAYOUTS], [f(b) for f in LAYOUTS], of_out(c.copy())
    pairs = [(x, y) for i, x in enumerate(all_a) for y in all_b[(i + turn) % 3 :: 3]]
    for (x, y), kernel in itertools.product(pairs, KERNELS):
        out[...] = 1
        assert check(x, y, semiring, c, kernel=kernel, out=out) is out


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_rows_whole_pages_apart(isa, semiring, dtype):
    """Strips of `b` share sets of L1, and pass through it in blocks of steps."""
    a, b, c = example(9, 70, 100, semiring, dtype, "nan")
    memory = np.ones((100, 4096), dtype)
    memory[:, 3:73] = b
    for kernel in (None, "direct"):
        check(a, memory[:, 3:73], semiring, c, kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_zero_strides(isa, semiring, dtype):
    row, column = values((1, 9), dtype, 1), values((9, 1), dtype, 2)
    a, b = np.broadcast_to(row, (20, 9)), np.broadcast_to(column, (9, 70))
    one = np.broadcast_to(values((1, 1), dtype, 3), (9, 9))
    for x, y, kernel in itertools.product((a, one), (b, one), KERNELS):
        check(x, y, semiring, oracle.gemm(x, y, semiring), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", FEW)
def test_fortran_and_transposed_operands_of_many_tiles(isa, semiring, dtype):
    """Large enough for whole packed tiles and blocks, where a transposed path may differ."""
    a, b, c = example(150, 260, 130, semiring, dtype)
    for of_a, of_b, threads in itertools.product(LAYOUTS[:6], LAYOUTS[:6], (1, 2)):
        check(of_a(a), of_b(b), semiring, c, kernel="packed", threads=threads)


@pytest.mark.parametrize("semiring,dtype", FEW)
def test_inputs_are_never_written(isa, semiring, dtype):
    a, b, c = example(35, 70, 19, semiring, dtype, "nan")
    for kernel in KERNELS:
        x, y = a.copy(), b.copy()
        check(x, y, semiring, c, kernel=kernel)
        assert_same_bits(x, a)
        assert_same_bits(y, b)


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("side", ["before", "after"])
def test_guard_pages(isa, semiring, dtype, side):
    """A read or write past any operand is a segmentation fault."""
    orders = "C", "F", "reversed", "gaps"
    for shape, order in itertools.product([*SHAPES, (9, 133, 3)], orders):
        a, b, c = example(*shape, semiring, dtype, "nan")
        near_a, near_b, out = (guarded(x, side, order) for x in (a, b, c))
        for kernel in KERNELS:
            out[...] = 1
            check(near_a, near_b, semiring, c, kernel=kernel, out=out)


@pytest.mark.parametrize("semiring,dtype", FEW)
@pytest.mark.parametrize("side", ["before", "after"])
def test_guard_pages_at_every_remainder(isa, semiring, dtype, side):
    for m, n in itertools.product(
        (*range(1, 10), 13, 17), (1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65)
    ):
        a, b, c = example(m, n, 1 + (m + n) % 6, semiring, dtype)
        out = guarded(np.zeros_like(c), side)
        for kernel in ("direct", "packed"):
            check(guarded(a, side), guarded(b, side), semiring, c, kernel=kernel, out=out)


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("kernel", KERNELS)
def test_canaries_around_out(isa, semiring, dtype, kernel):
    """Of a larger array of odd bytes, only the elements of `out` change."""
    for (m, n, k), accumulate in itertools.product(SHAPES, (False, True)):
        a, b, _ = example(m, n, k, semiring, dtype)
        memory = np.full((2 * m + 3, 2 * n + 5), 1, dtype)
        for window in (np.s_[1 : m + 1, 2 : n + 2], np.s_[1 : 2 * m + 1 : 2, 3 : 3 + 2 * n : 2]):
            memory[...] = 1
            want = memory.copy()
            want[window] = oracle.gemm(a, b, semiring, memory[window] if accumulate else None)
            how = {"kernel": kernel, "accumulate": accumulate}
            check(a, b, semiring, want[window], out=memory[window], **how)
            assert_same_bits(memory, want)


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("kernel", KERNELS)
def test_surroundings_of_inputs_never_matter(isa, semiring, dtype, kernel):
    """NaN (or the extreme integers) all around the operands and in `out` change nothing."""
    poison = np.iinfo(dtype).max if "int" in dtype else np.nan  # of a boolean: True
    for m, n, k in SHAPES:
        a, b, c = example(m, n, k, semiring, dtype)
        around_a, around_b = (np.full((r + 2, s + 2), poison, dtype) for r, s in (a.shape, b.shape))
        around_a[1:-1, 1:-1], around_b[1:-1, 1:-1] = a, b
        out = np.full((m, n), poison, dtype)
        check(around_a[1:-1, 1:-1], around_b[1:-1, 1:-1], semiring, c, kernel=kernel, out=out)
