"""One digest of a fixed corpus, equal for every instruction set, kernel, thread count and layout.

Only floating plus-times, which rounds, is left out. The corpus comes from integer arithmetic and
the digest below from the oracle, so another machine, compiler or NumPy must arrive at the same.
"""

import functools
import hashlib

import oracle
import pytest
from layouts import contiguous, fortran, reversed_both, sliced, transposed_view, wide_rows
from support import EXACT, KERNELS, SELECTIVE, THREADS, operands

import tropical

DIGEST = "3a0bf33305fac03d740c41b9c08fe7a36e723303f095f2abd5766160f739c6de"
SHAPES = [(1, 1, 1), (1, 33, 20), (33, 1, 20), (13, 34, 70), (40, 9, 3), (7, 5, 400)]
LAYOUTS = [contiguous, fortran, transposed_view, reversed_both, sliced, wide_rows]


# The corpus stays as it is when semirings and dtypes come.
SEMIRINGS = {"plustimes", "maxplus", "minplus", "maxtimes", "maxmin", "minmax", "orand"}
DTYPES = {"float32", "float64", "int8", "int16", "int32", "int64", "bool"}


@functools.cache
def corpus():
    return [
        (semiring, dtype, *operands(m, n, k, semiring, dtype, kind, seed=1000 * m + n))
        for semiring, dtype in EXACT
        if semiring in SEMIRINGS and dtype in DTYPES
        for m, n, k in SHAPES
        for kind in ("plain", "ties", "edge", "nan", "zeros")
    ]


def digest(product):
    """SHA-256 of the little-endian results, the tuples product(a, b, semiring, selective)."""
    sha = hashlib.sha256()
    for semiring, dtype, a, b in corpus():
        for result in product(a, b, semiring, (semiring, dtype) in SELECTIVE):
            little = result.dtype.newbyteorder("<") if result.dtype.name != "intp" else "<i8"
            sha.update(result.astype(little).tobytes())
    return sha.hexdigest()


def by_the_oracle(a, b, semiring, selective):
    c = oracle.gemm(a, b, semiring)
    return (c, oracle.argmax(a, b, semiring)) if selective else (c,)


def test_of_the_oracle():
    assert digest(by_the_oracle) == DIGEST


CHOICES = [None, *KERNELS]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", CHOICES)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_of_every_way(isa, kernel, layout):
    """Every two of kernel, layout and number of threads meet."""
    threads = THREADS[(CHOICES.index(kernel) + LAYOUTS.index(layout)) % len(THREADS)]

    def product(a, b, semiring, selective):
        how = {"kernel": kernel, "threads": threads, "semiring": semiring}
        c = tropical.gemm(layout(a), layout(b), return_argmax=selective, **how)
        return c if selective else (c,)

    assert digest(product) == DIGEST
