"""einsum of float16 and bfloat16: all products are float32, the result is rounded once."""

import numpy as np
import pytest
from support import STORED_DTYPES, assert_same_bits, random_bits

import tropical
from tropical import semirings

SELECTIVE = [ring.name for ring in semirings.ALL if ring.selective]
CONTRACTIONS = ["ij,jk->ik", "ij,jk,kl->il", "ij,jk,kl,li->", "ij,kj->ji", "iij,jk->k"]


def operands(subscripts, dtype):
    """Fractions, whose sums and products no dtype of two bytes has; index i and j are 5 long."""
    inputs = subscripts.partition("->")[0].split(",")
    sizes = {"i": 5, "j": 5, "k": 30, "l": 4}
    return [
        (
            1 + (random_bits([sizes[c] for c in term], seed) % np.uint64(999)).astype("f4") / 128
        ).astype(dtype)
        for seed, term in enumerate(inputs)
    ]


@pytest.mark.parametrize("dtype", STORED_DTYPES)
@pytest.mark.parametrize("subscripts", CONTRACTIONS)
@pytest.mark.parametrize("semiring", SELECTIVE)
def test_rounded_once(semiring, subscripts, dtype):
    given = operands(subscripts, dtype)
    wide = [x.astype(np.float32) for x in given]
    got, where = tropical.einsum(subscripts, *given, semiring=semiring, return_argmax=True)
    want, place = tropical.einsum(subscripts, *wide, semiring=semiring, return_argmax=True)
    assert got.dtype == dtype
    assert_same_bits(np.asarray(got), np.asarray(want).astype(dtype))
    assert all(np.array_equal(where[index], place[index]) for index in place)


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_out_and_mixed_dtypes(dtype):
    a, b = operands("ij,jk", dtype)
    out = np.zeros((5, 30), dtype)
    assert tropical.einsum("ij,jk", a, b, out=out) is out
    assert_same_bits(out, tropical.gemm(a, b))
    with pytest.raises(TypeError, match=f"out: expected an array of {dtype}, got float32"):
        tropical.einsum("ij,jk", a, b, out=out.astype(np.float32))
    assert tropical.einsum("ij,jk", a, b.astype(np.float32)).dtype == np.float32
    empty = tropical.einsum("ij,jk", a[:, :0], b[:0], semiring="minplus")
    assert empty.dtype == dtype and (empty == np.inf).all()
    if dtype == np.float16:  # NumPy has no common dtype of int8 and bfloat16 everywhere
        ints = np.array([[-128, 3], [1, 2]], np.int8)  # -128 is the zero of maxplus
        halves = np.ones((2, 2), dtype)
        got = tropical.einsum("ij,jk", ints, halves)
        assert_same_bits(got, tropical.gemm(ints, halves))


@pytest.mark.parametrize("dtype", STORED_DTYPES)
def test_counts(dtype):
    best = tropical.einsum("i,i->", np.ones(3, dtype), np.ones(3, dtype), return_counts=True)
    assert best.values.dtype == dtype and (best.values, best.counts) == (2, 3)


@pytest.mark.parametrize("semiring", ["plustimes", "logplus", "orand"])
def test_refused(semiring):
    half = np.zeros((2, 2), np.float16)
    with pytest.raises(TypeError, match=f"float16 is not supported over {semiring}"):
        tropical.einsum("ij,jk", half, half, semiring=semiring)
