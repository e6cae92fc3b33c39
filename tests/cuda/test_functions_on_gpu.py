"""What answers arrays on a GPU besides `tropical.gemm`: closures, paths, chains, einsum."""

import numpy as np
import pytest
from emulated import DeviceArray, on_gpu
from support import assert_all_same_bits, assert_same_bits

import tropical
from tropical import semirings
from tropical.graph import DivergenceError, closure, minimax_paths, shortest_paths, widest_paths
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
    assert_same_bits(got, closure(a, ring))


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
    assert_same_bits(got, shortest_paths(w, **options))


def products_of(w, before, multiply, one):
    """The products of the edges of the paths that predecessors describe; each ends at its root."""
    n = len(w)
    roots, at = np.ogrid[:n, :n]
    at, found = np.broadcast_to(at, (n, n)), np.full((n, n), one)
    for _ in range(n):
        step = before[roots, at]
        if (step < 0).all():
            break
        found = np.where(step < 0, found, multiply(w[step.clip(0), at], found))
        at = np.where(step < 0, at, step)
    assert (at == roots)[before >= 0].all()
    return found


def check_paths(w, lengths, before):
    """Each path that the predecessors describe begins at its root and has its length."""
    assert before.dtype == np.int32
    reached = np.isfinite(lengths) & ~np.eye(len(w), dtype=bool)
    assert ((before >= 0) == reached).all()
    total = products_of(w.astype(float), before, np.add, 0.0)
    np.testing.assert_allclose(total[reached], lengths[reached], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [1, 40, 300])
@pytest.mark.parametrize("kind", ["positive", "zeros", "negative", "cycle of zero"])
def test_predecessors(emulator, n, kind):
    w = edges(n, "float32", semirings.minplus, 7)
    random = np.random.default_rng(8)
    if kind == "zeros":
        w[random.random(w.shape) < 0.2] = 0
    if kind in ("negative", "cycle of zero"):
        h = random.random(n) * 9
        w = (w - 1 + h[:, None] - h).astype(np.float32) + np.float32(1e-5)
    if kind == "cycle of zero" and n > 1:
        w[3, 5], w[5, 3] = 0.1, -0.1
        w[7, 3], w[5, 9] = 0.3, 0.7
        w[[3, 5, 7, 9]] = np.maximum(w[[3, 5, 7, 9]], -0.1)
        np.fill_diagonal(w, np.inf)
        if not np.isfinite(w).any():
            return
        try:
            shortest_paths(w)
        except DivergenceError:
            w = np.abs(w)
    lengths, before = shortest_paths(on_gpu(w), return_predecessors=True)
    assert isinstance(lengths, DeviceArray)
    assert isinstance(before, DeviceArray)
    np.testing.assert_allclose(np.asarray(lengths), shortest_paths(w), rtol=1e-5, atol=1e-5)
    check_paths(w, np.asarray(lengths), np.asarray(before))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("find", [widest_paths, minimax_paths])
def test_paths_over_other_semirings(emulator, find, directed):
    ring = semirings.maxmin if find is widest_paths else semirings.minmax
    a = edges(150, "int32", ring, 9)
    options = {"directed": directed, "overwrite": True}
    got, before = find(on_gpu(np.stack([a, a])), return_predecessors=True, **options)
    want = find(a, directed=directed)
    assert_same_bits(got[1], want)
    assert_same_bits(np.asarray(find(on_gpu(a), directed=directed)), want)
    before = np.asarray(before[1])
    both = a if directed else ring.add_ufunc(a, a.T)
    reached = (want != ring.zero("int32")) & ~np.eye(150, dtype=bool)
    assert ((before >= 0) == reached).all()
    product = products_of(both, before, ring.multiply_ufunc, ring.one("int32"))
    assert (product[reached] == want[reached]).all()


@pytest.mark.parametrize("find", [widest_paths, minimax_paths, shortest_paths])
def test_predecessors_of_equally_good_paths_form_no_loop(emulator, find):
    """Weights of float16 that round, among few others, on more vertices than a tile has."""
    n, random = 150, np.random.default_rng(10)
    ring = {widest_paths: semirings.maxmin, minimax_paths: semirings.minmax}.get(
        find, semirings.minplus
    )
    for share, most in ((0.02, 2), (0.3, 5)):
        w = random.integers(0, most, (n, n)) + random.integers(0, 3, (n, n)) / 512
        w = np.where(random.random(w.shape) < share, w, ring.zero("float16")).astype(np.float16)
        before = np.asarray(find(on_gpu(w), return_predecessors=True)[1])
        products_of(w, before, ring.multiply_ufunc, ring.one("float16"))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_predecessors_of_integers_beyond_the_fast_range_form_no_loop(emulator, dtype):
    n, random, most = 130, np.random.default_rng(3), np.iinfo(dtype).max
    for _ in range(3):
        w = random.integers(0, 3, (n, n)).astype(dtype)
        w[random.random((n, n)) < 0.3] = most // 5
        w[random.random((n, n)) < 0.9] = most
        lengths, before = shortest_paths(on_gpu(w), return_predecessors=True)
        assert_same_bits(lengths, shortest_paths(w))
        products_of(w, np.asarray(before), semirings.minplus.multiply_ufunc, 0)


def test_elements_that_share_memory_are_not_overwritten(emulator):
    x = np.lib.stride_tricks.as_strided(np.ones(20), (4, 4), (8, 8))
    with pytest.raises(ValueError, match="a: expected elements that share no memory, got strides"):
        closure(on_gpu(x), overwrite=True)
    with pytest.raises(ValueError, match="w: expected elements that share no memory, got strides"):
        shortest_paths(on_gpu(x), overwrite=True, directed=False)


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_unweighted_paths_refuse_what_others_do(emulator, number):
    w = np.array([[0, 1], [number, 0]])
    for x in (w, on_gpu(w)):
        with pytest.raises(ValueError, match="w: expected"):
            shortest_paths(x, unweighted=True)


def test_cycles_that_improve_by_fractions(emulator):
    w = np.full((3, 3), np.inf, np.float32)
    w[0, 1], w[1, 0] = 0.1, -0.2
    for predecessors in (False, True):
        with pytest.raises(DivergenceError):
            shortest_paths(on_gpu(w), return_predecessors=predecessors)
    w[1, 0] = -np.inf
    with pytest.raises(ValueError, match="got -inf"):
        shortest_paths(on_gpu(w))


def test_what_a_gpu_does_not_take(emulator):
    w = on_gpu(edges(5, "float32", semirings.minplus, 4))
    with pytest.raises(NotImplementedError, match="indices: expected None"):
        shortest_paths(w, indices=0)
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
        assert_same_bits(x, y)
    many = scores(2, states), scores(2, states, states), scores(2, 3, states)
    got = viterbi(*map(on_gpu, many), semiring=name)
    assert_all_same_bits(got, viterbi(*many, semiring=name))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_viterbi_of_integers(emulator, dtype):
    """Sums beyond the dtype tell paths apart, as on the CPU; scores saturate."""
    random = np.random.default_rng(6)
    most = np.iinfo(dtype).max  # no path
    shapes = (3,), (3, 3), (2, 4, 3)
    model = [random.integers(most // 2, most, shape, dtype, endpoint=True) for shape in shapes]
    model[1][0] = most
    want = viterbi(*model, semiring="minplus")
    assert (want[0] >= 0).all()
    assert_all_same_bits(viterbi(*map(on_gpu, model), semiring="minplus"), want)


def test_viterbi_refuses_what_the_cpu_does(emulator):
    initial, transition, emission = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 3, 2))
    lengths = np.array([2, 3])
    emission[0, 2, 1] = np.nan  # beyond the length
    on_cpu = initial, transition, emission, lengths
    assert_all_same_bits(viterbi(*map(on_gpu, on_cpu)), viterbi(*on_cpu))
    for place, number in ((0, np.nan), (1, np.inf), (2, np.inf)):
        wrong = [x.copy() for x in on_cpu]
        wrong[place][..., 1] = number
        for given in (wrong, [*map(on_gpu, wrong)]):
            with pytest.raises(ValueError, match=r"log_(initial|transition|emission): expected"):
                viterbi(*given)
    for given in (on_cpu, [*map(on_gpu, on_cpu)]):
        with pytest.raises(TypeError, match="lengths: expected integers"):
            viterbi(*given[:3], given[3] + 0.7)
    half = [on_gpu(x.astype(np.float16)) for x in (initial, transition, emission)]
    with pytest.raises(TypeError, match="log_initial: expected a dtype of maxplus"):
        viterbi(*half)
    with pytest.raises(TypeError, match="log_transition: expected float16, the dtype of log_init"):
        viterbi(half[0], on_gpu(transition), half[2])


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
    assert_same_bits(got, want)


def test_einsum_rounds_once_and_writes_to_out(emulator):
    random = np.random.default_rng(7)
    given = [random.random((6, 6)).astype(np.float16) for _ in range(3)]
    want = tropical.einsum("ij,jk,kl", *given)
    out = on_gpu(np.zeros((6, 6), np.float16))
    assert tropical.einsum("ij,jk,kl", *map(on_gpu, given), out=out) is out
    assert_same_bits(out, want)
    with pytest.raises(ValueError, match=r"out: expected shape \(6, 6\), got \(3, 6\)"):
        tropical.einsum("ij,jk", *map(on_gpu, given[:2]), out=out[:3])
    with pytest.raises(ValueError, match="operand 1: expected an array on the GPU"):
        tropical.einsum("ij,jk", on_gpu(given[0]), [[1.0]])
    with pytest.raises(ValueError, match="operand 0: expected an array on the GPU"):
        tropical.einsum("i->i", [1.0], out=out)
    with pytest.raises(TypeError, match="out: expected dtype float16, got float32"):
        tropical.einsum("ij,jk", *map(on_gpu, given[:2]), out=out.astype(np.float32))
