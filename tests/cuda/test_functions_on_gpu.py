"""What answers arrays on a GPU besides `tropical.gemm`: closures, paths, chains, einsum."""

import numpy as np
import pytest
from emulated import DeviceArray, on_gpu
from support import assert_same_bits

import tropical
from tropical import semirings
from tropical.graph import DivergenceError, closure, shortest_paths
from tropical.sequence import viterbi

STARS = [(r, d) for r in semirings.ALL if r.idempotent for d in r.dtypes]


def edges(n, dtype, ring, seed):
    """A sparse graph of small weights, so that sums are exact and no cycle improves."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random((n, n)) < 2 / n
    best = 1 if ring.name != "maxtimes" else 0
    x = random.integers(best, 6, (n, n)).astype(dtype)
    if ring.name == "maxplus":
        x = (-x).astype(dtype)
    if ring.name == "maxtimes":
        x = (x > 3).astype(dtype)
    x[random.random((n, n)) < 0.7] = ring.zero(dtype)
    return x


@pytest.mark.parametrize("ring,dtype", STARS, ids=lambda x: getattr(x, "name", x))
def test_closure(emulator, ring, dtype):
    a = edges(70 if dtype in ("float64", "int64") else 30, dtype, ring, 1)
    got = closure(on_gpu(a), ring)
    assert isinstance(got, DeviceArray)
    assert_same_bits(np.asarray(got), closure(a, ring))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_closure_of_several_blocks(emulator, dtype):
    a = edges(300, dtype, semirings.minplus, 2)
    want = closure(a)
    given = on_gpu(a)
    assert closure(given, overwrite=True) is given
    assert_same_bits(a, want)


def test_closure_of_a_batch(emulator):
    a = np.stack([edges(20, "float32", semirings.maxmin, seed) for seed in range(3)])
    assert_same_bits(np.asarray(closure(on_gpu(a), "maxmin")), closure(a, "maxmin"))


def test_cycles_that_improve(emulator):
    a = np.full((3, 3), np.inf, np.float32)
    a[0, 1], a[1, 0] = 1, -2
    with pytest.raises(DivergenceError):
        closure(on_gpu(a))
    a[2, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        closure(on_gpu(a))
    with pytest.raises(ValueError, match="semiring: expected"):
        closure(on_gpu(a), "plustimes")


@pytest.mark.parametrize("options", [{}, {"directed": False}, {"unweighted": True}], ids=str)
def test_shortest_paths(emulator, options):
    w = edges(40, "float32", semirings.minplus, 3)
    got = shortest_paths(on_gpu(w), **options)
    assert isinstance(got, DeviceArray)
    assert_same_bits(np.asarray(got), shortest_paths(w, **options))


def test_what_a_gpu_does_not_take(emulator):
    w = on_gpu(edges(5, "float32", semirings.minplus, 4))
    with pytest.raises(NotImplementedError, match="return_predecessors: expected False"):
        shortest_paths(w, return_predecessors=True)
    with pytest.raises(NotImplementedError, match="method: expected 'auto' or 'FW'"):
        shortest_paths(w, "D")
    with pytest.raises(NotImplementedError, match="return_argmax"):
        tropical.einsum("ij,jk->ik", w, w, return_argmax=True)


@pytest.mark.parametrize("name", ["maxplus", "minplus", "maxmin"])
@pytest.mark.parametrize("states", [1, 5, 300])
def test_viterbi(emulator, name, states):
    random = np.random.default_rng(5)
    zero = semirings.get(name).zero("float64")

    def scores(*shape):
        x = random.integers(-9, 0, shape).astype(np.float64)
        x[random.random(shape) < 0.2] = zero
        return x

    model = scores(states), scores(states, states), scores(4, 6, states)
    lengths = np.array([6, 0, 3, 1])
    want = viterbi(*model, lengths, semiring=name)
    got = viterbi(*map(on_gpu, model), on_gpu(lengths), semiring=name)
    for x, y in zip(got, want, strict=True):
        assert isinstance(x, DeviceArray)
        assert_same_bits(np.asarray(x), np.asarray(y))
    many = scores(2, states), scores(2, states, states), scores(2, 3, states)
    for x, y in zip(
        viterbi(*map(on_gpu, many), semiring=name), viterbi(*many, semiring=name), strict=True
    ):
        assert_same_bits(np.asarray(x), np.asarray(y))


EINSUMS = [
    ("ij,jk->ik", (4, 5), (5, 6)),
    ("ij,jk,kl->il", (4, 5), (5, 6), (6, 3)),
    ("bij,bkj->bik", (2, 4, 5), (2, 3, 5)),
    ("ii->i", (4, 4)),
    ("ij->j", (4, 5)),
    ("ij,ij->", (4, 5), (4, 5)),
    ("i,j->ji", (3,), (4,)),
    ("...ij,j->...i", (2, 3, 4), (4,)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum(emulator, case):
    subscripts, *shapes = case
    random = np.random.default_rng(6)
    given = [random.integers(-9, 9, shape).astype(np.float32) for shape in shapes]
    got = tropical.einsum(subscripts, *map(on_gpu, given), semiring="minplus")
    want = tropical.einsum(subscripts, *given, semiring="minplus")
    assert isinstance(got, DeviceArray)
    assert_same_bits(np.asarray(got), np.asarray(want))
