"""Every public `out` that is an operand, or shares memory with one: the result is as if it did not.

The matrices have many tiles; in one of a single tile, all is read before anything is written.
"""

import tracemalloc

import numpy as np
import pytest
from support import KERNELS, SELECTIVE, assert_same_bits, values

import tropical
from tropical import _core, semirings, ufunc
from tropical.interop import dlpack

RINGS = list(semirings.names())
SHAPES = [(16, 16), (130, 130), (3, 33, 33)]


def dtype_of(name):
    return np.bool_ if name == "orand" else np.float32


# Views a, b and out, each (..., n, n), of an array m (..., 2 n, 2 n).
VIEWS = {
    "out is a": lambda m, n: (m[..., :n, :n], m[..., n:, :n], m[..., :n, :n]),
    "out is b": lambda m, n: (m[..., n:, :n], m[..., :n, :n], m[..., :n, :n]),
    "all are one": lambda m, n: (m[..., :n, :n],) * 3,
    "a transposed": lambda m, n: (m[..., :n, :n].swapaxes(-1, -2), m[..., n:, :n], m[..., :n, :n]),
    "b transposed": lambda m, n: (m[..., n:, :n], m[..., :n, :n].swapaxes(-1, -2), m[..., :n, :n]),
    "reversed rows": lambda m, n: (m[..., :n, :n], m[..., n:, :n], m[..., :n, :n][..., ::-1, :]),
    "some rows later": lambda m, n: (m[..., :n, :n], m[..., n:, :n], m[..., 5 : n + 5, :n]),
    "some rows before": lambda m, n: (m[..., 5 : n + 5, :n], m[..., n:, n:], m[..., :n, :n]),
    "one column later": lambda m, n: (m[..., :n, :n], m[..., n:, :n], m[..., :n, 1 : n + 1]),
}


def as_if_apart(call, memory, n, views, *note):
    """`call` with views of `memory` gives what it gives with copies of them."""
    a, b, out = VIEWS[views](memory, n)
    want = out.copy()
    other = call(a.copy(), b.copy(), want)
    memory = memory.copy()
    a, b, out = VIEWS[views](memory, n)
    got = call(a, b, out)
    assert_same_bits(out, want, views, n, *note)
    if isinstance(got, tuple):
        assert_same_bits(got[1], other[1], "index", views, n, *note)


def calls(name):
    """The functions that take matrices a and b, and out, over a semiring; by what they are."""

    def gemm(**how):
        return lambda a, b, out: tropical.gemm(a, b, semiring=name, out=out, **how)

    yield "ufunc", lambda a, b, out: getattr(ufunc, name)(a, b, out=out)
    yield "gemm", gemm()
    yield "accumulate", gemm(accumulate=True)
    if name in {selective for selective, _ in SELECTIVE}:
        yield "index", gemm(return_argmax=True)
    text = "...ij,...jk->...ik"
    yield "einsum", lambda a, b, out: tropical.einsum(text, a, b, semiring=name, out=out)
    yield "dlpack", lambda a, b, out: dlpack.gemm(a, b, semiring=name, out=out)


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("name", RINGS)
def test_matrices(isa, name, views):
    for shape in SHAPES:
        n = shape[-1]
        memory = values((*shape[:-2], 2 * n, 2 * n), dtype_of(name), 1)
        for threads in (1, 3):
            with tropical.options(threads=threads):
                for what, call in calls(name):
                    as_if_apart(call, memory, n, views, what, shape, threads)


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(isa, kernel, views):
    workspace = tropical.GemmWorkspace()
    for dtype in ("float32", "int8"):
        memory = values((66, 66), dtype, 1)
        for accumulate in (False, True):
            how = {"kernel": kernel, "accumulate": accumulate, "workspace": workspace}
            as_if_apart(lambda a, b, out: tropical.gemm(a, b, out=out, **how), memory, 33, views)  # noqa: B023


@pytest.mark.parametrize("dtype", ["float64", "int8", "int64"])
def test_large(dtype):
    memory = values((600, 600), dtype, 1)
    with tropical.options(threads=3):
        for views in VIEWS:
            for what, call in calls("minplus"):
                as_if_apart(call, memory, 300, views, what)


@pytest.mark.parametrize("name", ["minplus", "plustimes"])
def test_vectors_and_batches_that_broadcast(isa, name):
    functions = {
        "ufunc": getattr(ufunc, name),
        "gemm": lambda a, b, out: tropical.gemm(a, b, semiring=name, out=out),
    }
    x, y = values((3, 130, 130), "float32", 1), values((3, 130, 130), "float32", 2)
    pairs = [(x, y[0]), (x[0], y), (y[0], x[0, 0]), (x[0, 0], y[0])]
    with tropical.options(threads=3):
        for what, function in functions.items():
            for position, pair in ((i, pair) for pair in pairs for i in range(2)):
                copies = [operand.copy() for operand in pair]
                out = copies[position]
                want = tropical.gemm(*pair, semiring=name)
                if out.shape == want.shape:
                    function(*copies, out=out)
                    assert_same_bits(out, want, what, position)
            # `out` is a batch whose first item is the other operand.
            batch = x.copy()
            function(batch[0], y, out=batch)
            assert_same_bits(batch, tropical.gemm(x[0], y, semiring=name), what)


@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_linear(isa, kernel):
    bias = values((300,), "float32", 3)
    for n in (16, 33, 130):
        memory = values((2 * n, 2 * n), "float32", 1)

        def call(x, weight, out, start):
            return _core.linear(x, weight, start, relu=True, kernel=kernel, threads=3, out=out)

        for views in VIEWS:
            as_if_apart(lambda *given: call(*given, bias[:n]), memory, n, views, kernel)  # noqa: B023
        x, weight = memory[:n, :n].copy(), memory[n:, :n]
        for row in (0, n - 1):
            out = memory[:n, n:].copy()
            want = call(x, weight, None, out[row].copy())
            call(x, weight, out, out[row])
            assert_same_bits(out, want, "bias is a row of out", row)


@pytest.mark.parametrize("subscripts", ["ij->ji", "ij->ij", "ij,jk->ki", "ij,ij->ij", "ij,k->ij"])
def test_einsum(subscripts):
    x, y = values((130, 130), "float32", 1), values((130, 130), "float32", 2)
    others = [y[0] if terms == "k" else y for terms in subscripts.split("->")[0].split(",")[1:]]
    want = tropical.einsum(subscripts, x, *others, semiring="minplus")
    assert tropical.einsum(subscripts, x, *others, semiring="minplus", out=x) is x
    assert_same_bits(x, want)


def test_einsum_with_index_and_counts():
    x, y = values((130, 130), "int32", 1, "ties"), values((130, 130), "int32", 2, "ties")
    how = {"semiring": "minplus", "return_counts": True, "return_argmax": True}
    best, where = tropical.einsum("ij,jk->ik", x, y, **how)
    got, there = tropical.einsum("ij,jk->ik", x, y, out=x, **how)
    assert got.values is x
    assert_same_bits(x, best.values)
    assert_same_bits(got.counts, best.counts)
    assert_same_bits(there["j"], where["j"])


# Operands a, b and out (..., n, n) of an array m (3, 2 n, 4 n). `out` shares no element.
BETWEEN = {
    "columns": lambda m, n: (m[0, :n, :n], m[0, n:, :n], m[0, :n, n : 2 * n]),
    "every other column": lambda m, n: (
        m[0, :n, : 2 * n : 2],
        m[1, :n, :n],
        m[0, :n, 1 : 2 * n : 2],
    ),
    "every other row": lambda m, n: (m[0, ::2, :n], m[0, ::2, n : 2 * n], m[0, 1::2, :n]),
    "thirds": lambda m, n: (
        m[0, :n, : 3 * n : 3],
        m[0, :n, 1 : 3 * n : 3],
        m[0, :n, 2 : 3 * n : 3],
    ),
    "turned": lambda m, n: (m[0, :n, :n].T, m[0, :n, n : 2 * n][::-1], m[0, :n, 2 * n : 3 * n]),
    "columns of a batch": lambda m, n: (m[:, :n, :n], m[:, n:, :n], m[:, :n, n : 2 * n]),
    "one for a batch": lambda m, n: (m[:, :n, ::4], m[0, n:, 1::4], m[:, :n, 3::4]),
    "a row": lambda m, n: (m[0, 1, :n], m[1, :n, :n], m[0, 1, 2 * n : 3 * n]),
}


@pytest.mark.parametrize("views", BETWEEN)
def test_out_between_operands_is_not_copied(isa, views):
    """Extents of memory that meet, elements that do not."""
    n = 40
    memory = values((3, 2 * n, 4 * n), "float32", 6)
    for accumulate in (False, True):
        want, got = memory.copy(), memory.copy()
        a, b, out = BETWEEN[views](want, n)
        how = {"accumulate": accumulate, "threads": 1}
        out[...] = tropical.gemm(a.copy(), b.copy(), out=out.copy(), **how)
        a, b, out = BETWEEN[views](got, n)
        tropical.gemm(a, b, out=out, **how)
        assert_same_bits(got, want)
        tracemalloc.start()
        tropical.gemm(a, b, out=out, **how)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < out.nbytes or out.nbytes < 1000


def test_one_element_that_is_shared(isa):
    """`out` meets an operand in a corner."""
    for n in (3, 40):
        memory = values((2 * n - 1, 2 * n - 1), "float32", 6)
        b, want = values((n, n), "float32", 7), memory.copy()
        want[n - 1 :, n - 1 :] = tropical.gemm(memory[:n, :n], b)
        tropical.gemm(memory[:n, :n], b, out=memory[n - 1 :, n - 1 :])
        assert_same_bits(memory, want)


def test_strides_whose_elements_are_hard_to_find(isa):
    """Bytes at distances with many sums in common."""
    bytes_ = values((40_000,), "int8", 3)
    shape = (7, 7, 7)
    for strides, start in (((3, 91, 1009), 5), ((5, 77, 997), 2), ((2, 30, 600), 1)):
        out = np.lib.stride_tricks.as_strided(bytes_[start:], shape, strides)
        a = np.lib.stride_tricks.as_strided(bytes_, shape, (7, 101, 1013))
        want = tropical.gemm(a.copy(), a.copy())
        tropical.gemm(a, a, out=out)
        assert_same_bits(out, want, strides)
