"""Every kernel gives the bits of the definition, at every remainder of tiles and blocks."""

import functools
import itertools

import numpy as np
import oracle
import pytest
from support import EXACT, KERNELS, THREADS, check, example, operands

import tropical

KINDS = ("plain", "edge", "nan", "zeros")
DEPTHS = range(10)  # k of the remainder tests: every remainder of an unrolled loop of 2, 4 or 8


@functools.lru_cache(maxsize=8)
def prefixes(m, n, semiring, dtype, kind):
    """(a, b, products by k): the products of a[:, :k] and b[:k] for each k in DEPTHS."""
    a, b = operands(m, n, DEPTHS[-1], semiring, dtype, kind)
    return a, b, [oracle.gemm(a[:, :k], b[:k], semiring) for k in DEPTHS]


@pytest.mark.parametrize("semiring,dtype", EXACT)
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_remainders_of_the_tile(isa, semiring, dtype, kernel):
    """m from 1 to 2 MR + 1 and n from 1 to 2 NR + 1: each with a few of the other."""
    plan = tropical.explain(500, 500, 500, dtype=dtype, semiring=semiring, kernel="packed")
    assert plan.mr > 0 and plan.nr > 0
    ms, ns = range(1, 2 * plan.mr + 2), range(1, 2 * plan.nr + 2)
    few_ms = {1, 2, plan.mr, plan.mr + 1, ms[-1]}
    few_ns = {1, 2, plan.nr - 1, plan.nr, plan.nr + 1, ns[-1]} - {0}
    shapes = {*itertools.product(few_ms, ns), *itertools.product(ms, few_ns)}
    for m, n in sorted(shapes):
        k = (m + n) % len(DEPTHS)
        kind = KINDS[(m + 2 * n) % len(KINDS)]
        a, b, c = prefixes(ms[-1], ns[-1], semiring, dtype, kind)
        check(a[:m, :k], b[:k, :n], semiring, c[k][:m, :n], kernel=kernel, threads=1)


def around(block, limit):
    return [x for x in (block - 1, block, block + 1, 2 * block + 3) if 0 < x <= limit]


def shapes_around_blocks(plan):
    """(m, n, k) with m about MC, n about NC or k about KC, the others just beyond one tile."""
    m, n = plan.mr + 1, plan.nr + 1
    yield from ((m, n, k) for k in around(plan.kc, 2000))
    yield from ((m, n, 3) for m in around(plan.mc, 3000))
    yield from ((m, n, 3) for n in around(plan.nc, 20000))
    yield plan.mc + 1, 5, plan.kc + 1


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_around_the_blocks(isa, semiring, dtype):
    how = {"dtype": dtype, "semiring": semiring, "threads": 1}
    shapes = {
        shape
        for kernel in ("tiled", "packed")
        for size in ((2000, 2000, 2000), (20, 80, 5000), (2000, 80, 3), (20, 20000, 3))
        for shape in shapes_around_blocks(tropical.explain(*size, kernel=kernel, **how))
    }
    for i, (m, n, k) in enumerate(sorted(shapes)):
        a, b = operands(m, n, k, semiring, dtype, KINDS[i % 4] if k < 10 else "plain")
        c = oracle.gemm(a, b, semiring)
        for kernel in KERNELS:
            check(a, b, semiring, c, kernel=kernel, threads=1)


THREADED = [  # both sides large; one tile (k is split if (+) is exact); one row; column; skinny
    (100, 211, 60),
    (3, 2, 200003),
    (1, 4099, 300),
    (4099, 1, 300),
    (700, 500, 3),
]


@pytest.mark.slow
@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_threads(isa, semiring, dtype):
    how = {"dtype": dtype, "semiring": semiring}
    used = {tropical.explain(*shape, threads=7, **how).threads for shape in THREADED}
    assert max(used) > 1, f"no shape uses threads: {used}"
    for m, n, k in THREADED:
        a, b, c = example(m, n, k, semiring, dtype)
        for kernel, threads in itertools.product([None, *KERNELS], THREADS):
            if kernel in (None, "direct", "packed") or threads in (2, 7):  # the others take long
                check(a, b, semiring, c, kernel=kernel, threads=threads)


@pytest.mark.parametrize("semiring,dtype", EXACT[::9])
@pytest.mark.parametrize("shape", [(230, 240, 90), (3, 5, 300007), (1, 4099, 1100)], ids=str)
def test_seven_threads_at_work(isa, semiring, dtype, shape):
    """Enough products for the scheduler to use them: in rows and columns, over k, in columns."""
    assert tropical.explain(*shape, dtype=dtype, semiring=semiring, threads=7).threads > 3
    a, b, c = example(*shape, semiring, dtype)
    for kernel, threads in itertools.product([None, *KERNELS], (3, 7)):
        check(a, b, semiring, c, kernel=kernel, threads=threads)


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_each_step_of_k_counts_once(isa, semiring, dtype):
    """Operands that are zero (of the semiring) but for one column of `a` and one row of `b`."""
    s = oracle.SEMIRINGS[semiring]
    kc = tropical.explain(8, 33, 5000, dtype=dtype, semiring=semiring, kernel="packed").kc
    for k in sorted({1, 2, 3, 4, 5, 7, 8, 9, kc - 1, kc, kc + 1, kc + 4, 2 * kc + 1}):
        for p in sorted({0, k // 2, min(kc - 1, k - 1), min(kc, k - 1), k - 1}):
            a, b = np.full((5, k), s.zero(dtype)), np.full((k, 19), s.zero(dtype))
            a[:, p], b[p] = s.one(dtype), s.one(dtype)
            one = s.multiply(s.one(dtype), s.one(dtype))
            for kernel in KERNELS:
                check(a, b, semiring, np.full((5, 19), one, dtype), kernel=kernel)


@pytest.mark.parametrize("semiring,dtype", EXACT)
def test_the_scheduler_chooses_rightly(isa, semiring, dtype):
    """Whatever kernel and however many threads it takes by itself."""
    for m, n, k in [(1, 1, 1), (3, 3, 3), (8, 8, 8), (64, 64, 64), (130, 2, 70), (2, 130, 70)]:
        for kind in KINDS:
            a, b, c = example(m, n, k, semiring, dtype, kind)
            check(a, b, semiring, c)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_few_tiles_read_is_not_packed(dtype):
    for shape in [(8, 300, 400), (300, 4, 400), (32, 32, 3000)]:
        plan = tropical.explain(*shape, dtype=dtype, semiring="plustimes")
        assert plan.kernel == "direct", shape
    assert tropical.explain(300, 400, 400, dtype=dtype, semiring="plustimes").kernel == "packed"
    assert tropical.explain(8, 9000, 9000, dtype=dtype, semiring="plustimes").kernel == "packed"


def test_kernels_are_distinct():
    """`explain` cannot claim one kernel's name for another's tile: the packed one is blocked."""
    packed = tropical.explain(1000, 1000, 1000, kernel="packed")
    assert packed.mc < 1000 and packed.kc <= 1000
    for kernel in ("naive", "tiled", "direct"):
        assert tropical.explain(1000, 1000, 1000, kernel=kernel).bytes < packed.bytes / 4
    assert tropical.explain(1000, 1000, 1000).kernel == "packed"
    assert tropical.explain(4, 4, 4).kernel != "packed"
