"""Strides and results beyond 2^31, where an index of 32 bits wraps."""

import mmap
import sys

import numpy as np
import oracle
import pytest
from numpy.lib.stride_tricks import as_strided
from support import KERNELS, check, values

import tropical

pytestmark = [
    pytest.mark.big,
    pytest.mark.skipif(sys.maxsize < 2**40, reason="needs 64-bit addresses"),
]


def sparse_memory(nbytes):
    """Zeros of which only what is written takes memory."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    return np.frombuffer(mmap.mmap(-1, nbytes, flags), np.uint8)


def far_apart(x, row_stride):
    memory = sparse_memory(row_stride * (x.shape[0] - 1) + x.nbytes)
    view = as_strided(memory.view(x.dtype), x.shape, (row_stride, x.itemsize))
    view[...] = x
    return view


@pytest.mark.parametrize("kernel", [None, *KERNELS])
@pytest.mark.parametrize("row_stride", [2**31, 2**32 + 64, 3 * 2**30])
def test_strides(isa, kernel, row_stride):
    a, b = values((14, 9), "float32", 1), values((9, 40), "float32", 2)
    c = oracle.gemm(a, b, "maxplus")
    far_a, far_b, out = far_apart(a, row_stride), far_apart(b, row_stride), far_apart(c, row_stride)
    out[...] = 0
    check(far_a, far_b, "maxplus", c, kernel=kernel, out=out)
    check(far_a[::-1], far_b, "maxplus", c[::-1], kernel=kernel)
    turned = (far_apart(x.T.copy(), row_stride) for x in (b, a))
    check(*turned, "maxplus", c.T, kernel=kernel)


def test_batches():
    """An axis of the batch that is more than 2^31 bytes long."""
    a, b = values((3, 5, 6), "float64", 1), values((6, 7), "float64", 2)
    stride = 2**32
    memory = sparse_memory(2 * stride + a[0].nbytes)
    view = as_strided(memory.view(a.dtype), a.shape, (stride, *a.strides[1:]))
    view[...] = a
    check(view, b, "maxplus", oracle.gemm(a, b, "maxplus"), threads=2)


@pytest.mark.parametrize("shape", [(2**16, 2**15 + 3), (1, 2**31 + 5), (2**31 + 5, 1)], ids=str)
def test_result_of_more_than_2_to_the_31_elements(shape):
    """Right, sampled at both ends and around 2^31; or refused with MemoryError."""
    m, n = shape
    period = np.arange(0, 101, dtype=np.int8) // 8  # of a prime length
    a, b = np.resize(period, (m, 1)), np.resize(period, (1, n))
    try:
        c = tropical.gemm(a, b)
    except MemoryError:
        return
    for at in (0, 1, 2**31 - 1, 2**31, 2**31 + 1, m * n - 2, m * n - 1):
        i, j = divmod(at, n)
        assert c[i, j] == a[i, 0] + b[0, j], at
    rows = np.linspace(0, m - 1, 5).astype(int)
    for i in rows:
        assert np.array_equal(c[i], a[i, 0] + b[0])


def test_k_beyond_2_to_the_31():
    k = 2**31 + 9
    a, b = np.zeros((1, k), np.int8), np.zeros((k, 1), np.int8)
    for p in (0, 2**31 - 1, 2**31, k - 1):
        a[0, p] = 5
        c, index = tropical.gemm(a, b, return_argmax=True)
        assert (c.tolist(), index.tolist()) == ([[5]], [[p]])
        a[0, p] = 0
