"""einsum, against the definition: every product of the whole grid of indices, then the sum."""

import importlib.util
import math
import sys

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import read_only
from support import assert_same_bits, check_refused, run_python, values

import tropical
from tropical import semirings
from tropical.extras import NotInstalledError

RINGS = [ring.name for ring in semirings.ALL if ring.exact or ring.name == "plustimes"]
SELECTIVE = [ring.name for ring in semirings.ALL if ring.selective]


def times(x, y, ring):
    """x (x) y element by element, by the oracle."""
    return oracle.products(x[..., None, None], y[..., None, None], ring)[..., 0, 0, 0]


def grid_of(inputs, arrays):
    """The length of each letter, and each array spread over a grid with an axis for each."""
    sizes = {}
    for term, array in zip(inputs, arrays, strict=True):
        for letter, length in zip(term, array.shape, strict=True):
            sizes[letter] = length if sizes.get(letter, 1) == 1 else sizes[letter]
    position = dict(zip(sizes, np.indices(tuple(sizes.values())), strict=True))
    spread = []
    for term, array in zip(inputs, arrays, strict=True):
        at = [
            np.minimum(position[letter], length - 1)
            for letter, length in zip(term, array.shape, strict=True)
        ]
        spread.append(np.broadcast_to(array[tuple(at)], tuple(sizes.values())))
    return sizes, spread


def definition(inputs, output, arrays, ring):
    """The result, and every product, with the axes of the result first."""
    dtype = np.result_type(*arrays)
    sizes, spread = grid_of(inputs, [array.astype(dtype) for array in arrays])
    product = np.full(tuple(sizes.values()), oracle.SEMIRINGS[ring].one(dtype), dtype)
    for array in spread:
        product = times(product, array, ring)
    letters = list(sizes)
    axes = [letters.index(letter) for letter in output]
    axes += [i for i, letter in enumerate(letters) if letter not in output]
    product = product.transpose(axes)
    flat = product.reshape(*product.shape[: len(output)], math.prod(product.shape[len(output) :]))
    add = oracle.SEMIRINGS[ring].add
    result = add.reduce(flat, axis=-1, initial=oracle.SEMIRINGS[ring].zero(dtype), dtype=dtype)
    return oracle.positive_zeros(np.asarray(result, dtype)), flat


def numbers(rng, shape, ring, dtype, special):
    """Small whole numbers, whose sums and products are exact; some are the zero, some NaN."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    low = 0 if semirings.get(ring).nonnegative or np.dtype(dtype).kind == "u" else -3
    x = np.asarray(rng.integers(low, 4, shape)).astype(dtype)
    if special != "none" and ring != "plustimes":
        x[rng.random(shape) < 0.3] = semirings.get(ring).zero(dtype)
        if special == "nan" and x.dtype.kind == "f":
            x[rng.random(shape) < 0.05] = np.nan
    return x


def network(what, seed, *kind):
    """The subscripts of `contractions`, and operands of these `numbers`."""
    inputs, output, shapes = what
    rng = np.random.default_rng(seed)
    arrays = [numbers(rng, shape, *kind) for shape in shapes]
    return f"{','.join(inputs)}->{output}", arrays


@st.composite
def contractions(draw, most=4, empty=True):
    """The letters of some operands and of the result, and the operands' shapes."""
    letters = "abcdE"
    sizes = {x: draw(st.sampled_from([1, 2, 3, 2, 3, 0] if empty else [1, 2, 3])) for x in letters}
    inputs = draw(st.lists(st.text(letters, max_size=3), min_size=1, max_size=most))
    shapes = []
    for term in inputs:
        whole = {x: sizes[x] if draw(st.integers(0, 7)) else 1 for x in term}  # or repeated
        shapes.append(tuple(whole[x] for x in term))
    used = sorted(set("".join(inputs)))
    output = "".join(draw(st.permutations(used)))[: draw(st.integers(0, len(used)))]
    return inputs, output, shapes


@pytest.mark.parametrize("ring", RINGS)
@given(
    what=contractions(),
    seed=st.integers(0, 99),
    special=st.sampled_from(["none", "zeros", "nan"]),
    optimize=st.sampled_from([True, False, "greedy"]),
    data=st.data(),
)
@settings(max_examples=40)
def test_is_what_the_definition_says(ring, what, seed, special, optimize, data):
    inputs, output, shapes = what
    dtype = data.draw(st.sampled_from(semirings.get(ring).dtypes))
    text, arrays = network(what, seed, ring, dtype, special)
    want, _ = definition(inputs, output, arrays, ring)
    got = tropical.einsum(text, *arrays, semiring=ring, optimize=optimize)
    assert_same_bits(got, want, text, shapes)
    interleaved = [part for pair in zip(arrays, inputs, strict=True) for part in pair]
    got = tropical.einsum(*interleaved, output, semiring=ring, optimize=optimize)
    assert_same_bits(got, want, text, shapes)
    if ring == "plustimes":
        np.testing.assert_array_equal(got, np.einsum(text, *arrays))


@pytest.mark.parametrize("ring", SELECTIVE)
@given(what=contractions(), seed=st.integers(0, 99), optimize=st.sampled_from([True, False]))
@settings(max_examples=40)
def test_the_configuration_attains_the_result(ring, what, seed, optimize):
    inputs, output, _ = what
    text, arrays = network(what, seed, ring, "float32", "zeros")
    how = {"semiring": ring, "optimize": optimize}
    got, where = tropical.einsum(text, *arrays, **how, return_argmax=True)
    assert_same_bits(got, tropical.einsum(text, *arrays, **how))
    sizes, spread = grid_of(inputs, arrays)
    assert list(where) == [letter for letter in sizes if letter not in output]
    for found in where.values():
        assert np.asarray(found).dtype == np.intp and np.shape(found) == got.shape
    if any(sizes[letter] == 0 for letter in where):
        assert all((found == -1).all() for found in map(np.asarray, where.values()))
        return
    at = dict(zip(output, np.ix_(*(range(sizes[letter]) for letter in output)), strict=True))
    at.update(where)
    product = np.full(got.shape, semirings.get(ring).one("float32"), np.float32)
    for array in spread:
        product = times(product, array[tuple(at[letter] for letter in sizes)], ring)
    np.testing.assert_array_equal(product, got)


@pytest.mark.parametrize("ring", ["maxplus", "minplus"])
@given(
    what=contractions(),
    seed=st.integers(0, 99),
    optimize=st.sampled_from([True, False]),
    dtype=st.sampled_from(["float64", "int16"]),
)
@settings(max_examples=40)
def test_counts_are_of_the_configurations_that_attain(ring, what, seed, optimize, dtype):
    inputs, output, _ = what
    text, arrays = network(what, seed, ring, dtype, "zeros")
    want, products = definition(inputs, output, arrays, ring)
    attain = (products == want[..., None]) & (products != semirings.get(ring).zero(dtype))
    how = {"semiring": ring, "optimize": optimize, "return_counts": True}
    got = tropical.einsum(text, *arrays, **how)
    assert isinstance(got, tropical.Counted)
    assert_same_bits(got.values, want)
    assert_same_bits(got.counts, attain.sum(-1).astype(np.int64))
    both, where = tropical.einsum(text, *arrays, **how, return_argmax=True)
    assert_same_bits(both.values, got.values)
    assert_same_bits(both.counts, got.counts)
    _, alone = tropical.einsum(text, *arrays, semiring=ring, optimize=optimize, return_argmax=True)
    assert where.keys() == alone.keys()


def broadcasts(rng):
    """Texts with ellipses, and operands of whole numbers."""
    whole = rng.integers(-4, 5, (2, 3, 4, 3))
    return [
        ("...ij,...jk->...ik", whole[..., :3, :], whole[0, :1, :3]),
        ("...ij,...jk", whole[0], np.swapaxes(whole, -1, -2)),
        ("i...,...j", whole[0], np.moveaxis(whole[0], 0, -1)),
        ("...", whole),
        ("i...->...", whole),
        ("...a,...a->...", whole, whole[0, 0]),
        ("b...,a...", whole[0], whole[:, :1, :, :1][:, 0]),
        ("...,...", 3, whole),
        ("i...i->...", whole[0, :, :, :3]),
        ("Z...a->a...Z", whole),
        (" i j , jk -> ik ", whole[0, 0], whole[0, 1].T),
        ("", 3),
        (",", 3, 4),
        ("i...j,...->j...", whole[0], 2),
        ("ba", whole[0, 0]),
        ("yzA", whole[0]),  # capitals sort first
        ("ji,jk", whole[0, 0], whole[0, 0]),
        ("ii->i", whole[0, :, 0]),
    ]


def test_the_grammar_is_numpys():
    for text, *arrays in broadcasts(np.random.default_rng(0)):
        got = tropical.einsum(text, *arrays, semiring="plustimes")
        want = np.einsum(text, *arrays)
        assert_same_bits(got, want, text)
        assert isinstance(got, np.ndarray) == isinstance(want, np.ndarray)
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    for labels in (([0, 1], [1, 2]), ([2, 0], [0, 1]), ([..., 0], [0, 1]), ([0, ...], [..., 1])):
        for last in ([], [[..., labels[0][0]]] if ... not in labels[0] + labels[1] else []):
            arguments = (a, labels[0], b, labels[1], *last)
            got = tropical.einsum(*arguments, semiring="plustimes")
            assert_same_bits(got, np.einsum(*arguments), labels)


def test_labels_are_whatever_hashes():
    a, b = np.ones((2, 3)), np.ones((3, 4))
    best, where = tropical.einsum(
        a, ["row", (1, 2)], b, [(1, 2), None], [None, "row"], return_argmax=True
    )
    assert best.shape == (4, 2) and list(where) == [(1, 2)]
    assert tropical.einsum("äж,жб->бä", a, b).shape == (4, 2)
    with pytest.raises(TypeError, match="labels such as 'row' and None cannot be sorted"):
        tropical.einsum(a, ["row", 1], b, [1, None])


def test_errors():
    three, square = np.ones(3), np.ones((3, 3))
    lengths = "index 'j': expected one length, got 3 in operand 0 and 4 in operand 1"
    batches = r"index '...'\[-2\]: expected one length, got 2 in operand 0 and 4 in operand 1"
    common = r"einsum: no common dtype: operand 0 has dtype timedelta64\[s\], operand 1 has"
    diagonal = "operand 0: expected one length along index 'i', got 1 and 3"
    dropped = "an ellipsis in the result for the 1 dimensions under"
    counted = tropical.Counted(three, np.ones(3, int))
    check_refused(
        tropical.einsum,
        (TypeError, "expected a string, or labels after each operand", three),
        (ValueError, "'i' names 1 operands, got 0", "i"),
        (ValueError, "'i,j->ij' names 2 operands, got 1", "i,j->ij", three),
        (ValueError, "letters and ellipses, got '1' in 'i1'", "i1", square),
        (ValueError, "letters and ellipses, got '.' in 'i.j->ij'", "i.j->ij", square),
        (ValueError, "'.' in", "i...j....->ij", square),
        (ValueError, "'-' in 'i->j->k'", "i->j->k", three),
        (ValueError, "operand 0: expected 2 dimensions, got 1", "ij", three),
        (ValueError, "operand 0: expected 1 dimensions, got 2", "i", np.ones((3, 2))),
        (ValueError, "operand 0: expected 2 dimensions, got 1", "ij...", three),
        (ValueError, "index 'j' of the result is in no operand", "i->ij", three),
        (ValueError, "index 'i' is twice in the result", "i->ii", three),
        (ValueError, dropped, "...i->i", np.ones((2, 3))),
        (ValueError, lengths, "ij,jk", np.ones((2, 3)), np.ones((4, 2))),
        (ValueError, batches, "...,...", np.ones((2, 3)), np.ones((4, 3))),
        (ValueError, diagonal, "ii", np.ones((1, 3))),
        (TypeError, r"sequence of labels, got \[\[\]\]", three, [[]]),
        (TypeError, "sequence of labels, got 0", three, 0),
        (ValueError, "one ellipsis at most", three, [..., ...]),
        (TypeError, "complex128", "i", np.ones(3, complex)),
        (TypeError, "dtype <U1 is not supported over maxplus", "i", ["a"]),
        (TypeError, common, "i,i", np.ones(3, "m8[s]"), np.ones(3)),
        (TypeError, "operand 0 is a masked array", "i", np.ma.ones(3)),
        (TypeError, "needs return_counts", "i", counted),
    )


NO_PATHS = 3, None, np.array([[0, 1], [0, 1]]), [0, 1], ("greedy", 100)


def test_errors_of_options():
    a = np.ones((2, 2))
    few = "return_counts: expected maxplus or minplus, got "
    check_refused(
        lambda ring: tropical.einsum("ij->i", a, semiring=ring),
        (ValueError, "maxpus", "maxpus"),
        (TypeError, "semiring: expected a name", None),
    )
    check_refused(
        lambda ring: tropical.einsum("ij->i", a, semiring=ring, return_counts=True),
        *((ValueError, few + ring, ring) for ring in ("maxtimes", "maxmin", "plustimes")),
    )
    with pytest.raises(ValueError, match="selective semiring, got plustimes"):
        tropical.einsum("ij->i", a, semiring="plustimes", return_argmax=True)
    check_refused(
        lambda out: tropical.einsum("ij->i", a, out=out),
        (TypeError, "out: expected an array", [0.0, 0.0]),
        (TypeError, "out: expected an array of float64, got float32", np.zeros(2, "f4")),
        (ValueError, r"out: expected shape \(2,\), got \(2, 1\)", np.zeros((2, 1))),
        (ValueError, "out: expected a writeable array", read_only(np.zeros(2))),
    )
    check_refused(
        lambda path: tropical.einsum("ij,jk,kl->il", a, a, a, optimize=path),
        (ValueError, r"step 0 of the path takes \(0, 3\), but there are 3 operands", [(0, 3)]),
        (ValueError, r"step 0 of the path takes \(0, 0\)", [(0, 0)]),
        (ValueError, r"step 1 of the path takes \(\), but there are 2 operands", [(0, 1), ()]),
        (ValueError, "leaves 2 operands", [(0, 1)]),
        *((TypeError, "optimize: expected a", path) for path in NO_PATHS),
    )


def test_out():
    a = np.arange(12.0).reshape(3, 4)
    want = tropical.einsum("ij,kj->ik", a, a)
    room = np.full((3, 6), np.nan)
    out = room[:, ::2]
    assert tropical.einsum("ij,kj->ik", a, a, out=out) is out
    assert_same_bits(out.copy(), want)
    assert np.isnan(room[:, 1::2]).all()
    square = np.arange(9.0).reshape(3, 3)
    want = tropical.einsum("ij,jk->ki", square, square)
    assert_same_bits(tropical.einsum("ij,jk->ki", square, square, out=square), want)
    scalar = np.empty(())
    assert tropical.einsum("ij->", a, out=scalar) is scalar and scalar == 11
    counted = tropical.einsum("ij->", a, out=scalar, return_counts=True)
    assert counted.values is scalar and counted.counts == 1


def test_results_are_new_and_operands_are_kept():
    a = read_only(np.array([[-0.0, -np.inf], [np.nan, 1.0]]))
    for text in ("ij->ij", "ij->ji", "ii->i"):
        got = tropical.einsum(text, a)
        assert got.flags.writeable and not np.shares_memory(got, a)
        assert not np.signbit(got.flat[0])  # zero is +0, as in every product
    assert tropical.einsum("ij->ij", a, optimize=[]).flags.writeable


@pytest.mark.parametrize("layout", ["F", "reversed", "strided", "big-endian"])
def test_layouts(layout):
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 9, (2, 5, 4, 3, 6)).astype("f8")
    change = {
        "F": np.asfortranarray,
        "reversed": lambda x: np.ascontiguousarray(x[::-1, :, ::-1])[::-1, :, ::-1],
        "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        "big-endian": lambda x: x.astype(">f8"),
    }[layout]
    for text in (
        "abcd,ebcd->ae",
        "abcd,aecd->bde",
        "abcd,abcd->cd",
        "abcd,efgd->agce",
        "abcd,abcd",
    ):
        for how in ({}, {"return_argmax": True}):
            want = tropical.einsum(text, a, b, **how)
            got = tropical.einsum(text, change(a), change(b), **how)
            want, got = (x[0] if how else x for x in (want, got))
            assert_same_bits(got, want, text)


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("n", [15, 16, 17, 2048, 5000])
def test_element_by_element(ring, n):
    """Long products of single elements, whose rules at the ends of the range are the core's."""
    for dtype in semirings.get(ring).dtypes:
        x, y = (values((n,), dtype, seed, "nan") for seed in (1, 2))
        if semirings.get(ring).nonnegative:
            x, y = abs(x), abs(y)
        if ring == "plustimes" and dtype.startswith("f"):
            continue  # rounds, and inf * 0 is left to IEEE
        want = oracle.gemm(x[:, None, None], y[:, None, None], ring)[:, 0, 0]
        assert_same_bits(tropical.einsum("i,i->i", x, y, semiring=ring), want)
        pairs = tropical.einsum(
            "ab,a->ba", x[: n // 3 * 3].reshape(-1, 3), y[: n // 3], semiring=ring
        )
        wide = np.repeat(y[: n // 3], 3)
        want = oracle.gemm(x[: len(wide), None, None], wide[:, None, None], ring)[:, 0, 0]
        assert_same_bits(np.ascontiguousarray(pairs.T).ravel(), want)


def test_dtypes_promote():
    a, b = np.ones((2, 2), np.int8), np.ones((2, 2), np.float32)
    assert tropical.einsum("ij,jk", a, b).dtype == np.float32
    assert tropical.einsum("ij,jk,kl", a, a, a.astype(np.int32)).dtype == np.int32
    assert tropical.einsum("ij,jk", a > 0, a > 0, semiring="orand").dtype == bool


def ring_of(n, length=2, seed=0):
    """A closed chain of n matrices: interleaved arguments, and the sum by products."""
    rng = np.random.default_rng(seed)
    links = rng.integers(-5, 6, (n, length, length)).astype(np.float32)
    arguments = [part for i, link in enumerate(links) for part in (link, [i, (i + 1) % n])]
    chain = links[0]
    for link in links[1:]:
        chain = tropical.gemm(chain, link)
    return arguments, np.diagonal(chain).max()


def hide(monkeypatch, *modules):
    """As if they were not installed."""
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in modules else real(name)
    )
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)


def test_without_opt_einsum(monkeypatch):
    hide(monkeypatch, "opt_einsum", "cotengra")
    arguments, want = ring_of(40)
    assert tropical.einsum(*arguments, []) == want  # NumPy's search
    arguments, want = ring_of(60)
    assert tropical.einsum(*arguments, [], optimize=False) == want
    for how in ({}, {"optimize": "greedy"}):
        with pytest.raises(NotInstalledError, match=r"tropical-blas\[einsum\]"):
            tropical.einsum(*arguments, [], **how)
    assert tropical.einsum("ij,jk", np.ones((2, 2)), np.ones((2, 2)), optimize="greedy").shape


@pytest.mark.filterwarnings("ignore:Couldn't:UserWarning")  # of cotengra
@pytest.mark.parametrize("n", [3, 30, 99, 100, 130])
def test_long_chains(n):
    pytest.importorskip("opt_einsum", reason="more than 52 indices need its search")
    arguments, want = ring_of(n)
    best, where = tropical.einsum(*arguments, [], return_argmax=True)
    assert best == want
    got = sum(arguments[2 * i][where[i], where[(i + 1) % n]] for i in range(n))
    assert got == want
    for optimize in (False, "greedy"):
        assert tropical.einsum(*arguments, [], optimize=optimize) == want


@pytest.mark.parametrize("side,length,long", [(0, 4, False), (0, 600, True), (16, 2, True)])
def test_no_search_takes_longer_than_the_contraction(side, length, long, monkeypatch):
    """A chain of 200 matrices by the greedy order, unless they are great; a square lattice not."""
    cotengra = pytest.importorskip("cotengra", reason="which finds the paths")
    order = importlib.import_module("tropical.einsum.order")
    chain = [(i, i + 1) for i in range(200)]
    corners = np.ndindex(side, side)
    lattice = [((x, y, 0), (x, y, 1), (x - 1, y, 0), (x, y - 1, 1)) for x, y in corners]
    inputs = lattice or chain
    sizes = dict.fromkeys((index for term in inputs for index in term), length)
    calls = []
    search = cotengra.array_contract_path
    monkeypatch.setattr(
        cotengra, "array_contract_path", lambda *a: calls.append(a) or search(*a, optimize="greedy")
    )
    assert len(order.find(inputs, (), sizes, True)) >= len(inputs) - 1
    assert bool(calls) is long


def test_paths_of_cotengra(monkeypatch):
    """Of networks with parts that do not hang together, scalars, and indices of many operands."""
    pytest.importorskip("cotengra", reason="which finds the paths")
    monkeypatch.setattr(sys.modules["tropical.einsum.order"], "MANY", 3)
    rng = np.random.default_rng(7)
    for text in ("ab,,ab,c->ca", "abc,a,a,bd,ea,ff->e", "a,b,c,d->", "ab,bc,cd,da,ac->bd"):
        inputs, output = text.split("->")
        arrays = [rng.integers(-3, 4, (3,) * len(term)) for term in inputs.split(",")]
        want, _ = definition(inputs.split(","), output, arrays, "minplus")
        assert_same_bits(tropical.einsum(text, *arrays, semiring="minplus"), want, text)


def test_paths():
    opt_einsum = pytest.importorskip("opt_einsum", reason="whose paths and optimizers we take")
    rng = np.random.default_rng(3)
    arrays = rng.integers(-9, 9, (4, 3, 3))
    text = "ij,jk,kl,lm->im"
    want = tropical.einsum(text, *arrays, optimize=False)
    for optimize in (
        np.einsum_path(text, *arrays)[0],
        opt_einsum.contract_path(text, *arrays)[0],
        opt_einsum.RandomGreedy(max_repeats=4),
        [(3, 1), (0, 2), (1, 0)],
        [(2, 0, 1), (1, 0)],
        [(0,), (0, 1, 2, 3)],
        "optimal",
        "dp",
    ):
        assert_same_bits(tropical.einsum(text, *arrays, optimize=optimize), want, optimize)
    with pytest.raises(ValueError, match=r"optimize: .*nonsense"):
        tropical.einsum(text, *arrays, optimize="nonsense")


def test_counted_operands():
    weights = tropical.Counted(np.array([[1, 5], [5, 2]], np.int32), np.array([[7, 2], [3, 9]]))
    best = tropical.einsum("ij,jk->ik", weights, weights, semiring="maxplus", return_counts=True)
    assert best.values.tolist() == [[10, 7], [7, 10]]
    assert best.counts.tolist() == [[6, 2 * 9], [9 * 3, 6]]
    plain = np.array([0, -1], np.int32)
    some = tropical.einsum("ij,j->i", weights, plain, semiring="maxplus", return_counts=True)
    assert (some.values.tolist(), some.counts.tolist()) == ([4, 5], [2, 3])
    none = tropical.Counted(np.array([-np.inf, 1]), np.array([5, 5]))
    assert tropical.einsum("i->i", none, return_counts=True).counts.tolist() == [0, 5]
    # An optimum found in two steps has the counts of one.
    a = np.random.default_rng(0).integers(0, 3, (6, 6, 6))
    whole = tropical.einsum("abc->a", a, return_counts=True)
    half = tropical.einsum("abc->ab", a, return_counts=True)
    assert_same_bits(tropical.einsum("ab->a", half, return_counts=True).counts, whole.counts)


@pytest.mark.parametrize(
    "values,counts,error,message",
    [
        ([1, 2], [1], ValueError, r"expected counts of shape \(2,\), got \(1,\)"),
        ([1, 2], [1.0, 2.0], TypeError, "expected counts of dtype int64, got float64"),
        ([1, 2], [1, -1], ValueError, r"expected counts from 0 to below 2\*\*62, got -1 to 1"),
        ([1, 2], [1, 2**62], ValueError, r".*below 2\*\*62, got 1 to 4611686018427387904"),
    ],
)
def test_wrong_counts(values, counts, error, message):
    with pytest.raises(error, match=f"operand 0: {message}"):
        tropical.einsum("i->", tropical.Counted(values, counts), return_counts=True)


def test_counts_do_not_wrap():
    big = tropical.Counted(np.zeros(2), np.array([2**30, 2**29]))
    got = tropical.einsum("i,j->", big, big, return_counts=True)
    assert got.counts == (2**30 + 2**29) ** 2 > 2**53
    with pytest.raises(OverflowError, match=r"a count is about 4.2e\+27"):
        tropical.einsum("i,j,k->", big, big, big, return_counts=True)
    # What could be too many is not, where it is no optimum.
    apart = tropical.Counted(np.array([0.0, 1.0]), np.array([2**31, 3]))
    assert tropical.einsum("i,i->", apart, apart, return_counts=True).counts == 9


def test_nothing_attains_the_zero():
    assert tropical.einsum("i,i", [-1e308], [-1e308], return_counts=True) == (-np.inf, 0)
    assert tropical.einsum("i,i", [-np.inf], [np.inf], return_counts=True) == (-np.inf, 0)
    assert tropical.einsum("i,i", [np.nan], [1.0], return_counts=True).counts == 0


def test_weights_that_saturate_are_not_counted():
    top = np.array([100, 90], np.int8)
    with pytest.raises(OverflowError, match="sums of weights from 0 to 200 could saturate in int8"):
        tropical.einsum("i,j->", top, top, return_counts=True)
    low = np.array([-128, -64], np.int8)  # the first is the zero
    with pytest.raises(OverflowError, match="from -128 to 0"):
        tropical.einsum("i,j->", low, low, return_counts=True)
    assert tropical.einsum("i,j->", low, low, semiring="maxplus", return_argmax=True)[0] == -128
    assert tropical.einsum("i,j->", low + np.int8(1), top // 2, return_counts=True).counts == 1


@pytest.mark.parametrize("ring,best", [("maxplus", np.inf), ("minplus", -np.inf)])
def test_counts_beside_what_absorbs_everything(ring, best):
    """best + 1 is as good as best + 2, so optima of parts are not enough."""
    how = {"semiring": ring, "return_counts": True}
    with pytest.raises(OverflowError, match=f"an optimum is {best}"):
        tropical.einsum("i,j->", [best, 0.0], [1.0, 2.0], **how)
    large = np.copysign(1e308, best)
    with pytest.raises(OverflowError, match=f"an optimum is {best}"):
        tropical.einsum("i,j->", [large, 0.0], [large, 1.0], **how)
    assert tropical.einsum("i,i->", [best, 0.0], [-best, 1.0], **how).counts == 1


def test_counts_of_large_products():
    """Longer than a block, with many optima."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 4, (300, 9)).astype("f4"), rng.integers(0, 4, (9, 200)).astype("f4")
    got = tropical.einsum("ij,jk", a, b, semiring="minplus", return_counts=True)
    every = a[:, :, None] + b
    assert_same_bits(got.counts, (every == every.min(1)[:, None]).sum(1))


def test_importing_is_left_for_the_first_use():
    run_python("""
        import sys, tropical
        assert "tropical.einsum.network" not in sys.modules
        assert tropical.einsum("i->", [1, 2]) == 2
        assert "opt_einsum" not in sys.modules
    """)


@pytest.mark.parametrize(
    "first",
    [
        "import tropical.einsum",
        "import tropical.einsum as einsum",
        "import tropical.einsum.counting",
        "from tropical.einsum import network",
        "from tropical.einsum.counting import Counted",
        "from tropical import einsum, Counted",
    ],
)
def test_einsum_is_the_function_after_any_import(first):
    run_python(f"""
        {first}
        import importlib, tropical, tropical.einsum.order
        from tropical.einsum import einsum
        assert tropical.einsum is einsum and einsum("i->", [1, 2]) == 2
        assert importlib.import_module("tropical.einsum").einsum is einsum
    """)


@pytest.mark.parametrize("strides", [(0, 8), (8, 0), (8, 16), (4, 24), (8, 20)])
def test_out_whose_elements_share_memory_is_refused(strides):
    out = np.lib.stride_tricks.as_strided(np.zeros(9), (3, 3), strides)
    with pytest.raises(ValueError, match="out: expected elements that share no memory"):
        tropical.einsum("ij,jk->ik", np.ones((3, 3)), np.ones((3, 3)), out=out)
    with pytest.raises(TypeError, match="out is a masked array"):
        tropical.einsum("ij,jk->ik", np.ones((3, 3)), np.ones((3, 3)), out=np.ma.zeros((3, 3)))
    assert not out.any()
