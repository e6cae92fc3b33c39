"""The semirings in opt_einsum and cotengra, both as installed."""

import pickle

import numpy as np
import pytest
from support import assert_same_bits, check_refused, run_python

import tropical
from tropical import semirings
from tropical.interop import opt_einsum as backends
from tropical.interop.opt_einsum import Summand, implementation, tensordot

NUMERIC = ["plustimes", *(ring.name for ring in semirings.ALL if ring.selective)]


def network(ring, seed=0, dtype="float32"):
    """A ring of six, each with an open index; some of their elements are the semiring's zero."""
    rng = np.random.default_rng(seed)
    arrays = rng.integers(0, 3, (6, 4, 2, 4)).astype(dtype)
    if ring != "plustimes":
        arrays[rng.random(arrays.shape) < 0.2] = semirings.get(ring).zero(dtype)
    return arrays


TEXT = "abc,cde,efg,ghi,ijk,kla->"


@pytest.mark.parametrize("ring", NUMERIC)
def test_tensordot(ring):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, (2, 3, 4)), rng.integers(0, 5, (4, 3, 5))
    whole = tropical.gemm(a.transpose(0, 2, 1).reshape(2, 12), b.reshape(12, 5), semiring=ring)
    for axes in (([1, 2], [1, 0]), ((-2, -1), (-2, -3))):
        assert_same_bits(tensordot(a, b, axes, semiring=ring), whole)
    for axes in (1, np.int64(1), (2, 0), ([2], [0])):
        want = np.tensordot(a, b, axes)
        got = tensordot(a, b, axes, semiring=ring)
        assert got.shape == want.shape
        if ring == "plustimes":
            assert_same_bits(got, want)
    assert tensordot(a, b, ((), ()), semiring=ring).shape == (2, 3, 4, 4, 3, 5)
    assert type(tensordot(a[0, 0], a[0, 0], 1, semiring=ring)) is np.ndarray


def test_wrong_axes():
    a, b = np.ones((2, 3, 4)), np.ones((1, 3, 4))
    kind = "axes: expected a number, or axes of a and of b"
    check_refused(
        lambda axes: tensordot(a, b, axes, semiring="maxplus"),
        (ValueError, r"expected axes of a, of shape \(2, 3, 4\), got \[-1, 0, 1, 2\]", 4),
        (ValueError, r"expected axes of a, of shape \(2, 3, 4\), got \[-1, 0, 1, 2\]", 2**70),
        (ValueError, r"expected axes of a, .* got \[0, 0\]", ([0, 0], [0, 1])),
        (ValueError, r"expected axes of a, .* got \[0, -3\]", ([0, -3], [0, 1])),
        (ValueError, r"expected axes of b, .* got \[3\]", ([0], [3])),
        (ValueError, r"as many of a as of b, got \[0, 1\] and \[0\]", ([0, 1], [0])),
        (ValueError, r"\(2, 3, 4\) and \(1, 3, 4\) differ along 0 and 0", ([0], [0])),
        *((TypeError, kind, wrong) for wrong in (None, "x", "xy", ([0],), ([0], [0], [0]))),
        *((TypeError, kind, wrong) for wrong in (([0.0], [0]), ([0], [None]))),
    )


@pytest.mark.parametrize("ring", NUMERIC)
@pytest.mark.parametrize("output", ["", "bdfhjl", "ljb"])
def test_opt_einsum(ring, output):
    opt_einsum = pytest.importorskip("opt_einsum", reason="which imports the backend")
    arrays = network(ring)
    want = tropical.einsum(TEXT + output, *arrays, semiring=ring, optimize=False)
    backend = f"tropical.interop.opt_einsum.{ring}"
    assert_same_bits(opt_einsum.contract(TEXT + output, *arrays, backend=backend), want)
    some = opt_einsum.contract(TEXT + output, *arrays, backend=backend, memory_limit=64)
    assert_same_bits(some, want)
    expression = opt_einsum.contract_expression(TEXT + output, *[x.shape for x in arrays])
    assert_same_bits(expression(*arrays, backend=backend), want)
    if output:
        out = np.empty_like(want)
        opt_einsum.contract(TEXT + output, *arrays, backend=backend, out=out)
        assert_same_bits(out, want)


def test_opt_einsum_over_truth():
    opt_einsum = pytest.importorskip("opt_einsum", reason="which imports the backend")
    arrays = np.random.default_rng(0).random((3, 9, 9)) < 0.2
    got = opt_einsum.contract("ij,jk,lk->il", *arrays, backend="tropical.interop.opt_einsum.orand")
    a, b, c = arrays.astype(int)
    assert_same_bits(got, a @ b @ c.T > 0)


def test_backends_are_modules():
    assert_same_bits(backends.minplus.einsum("ij->i", np.eye(2)), np.zeros(2))
    with pytest.raises(AttributeError, match="maxpus"):
        backends.maxpus  # noqa: B018
    run_python("""
        import importlib, sys
        module = importlib.import_module("tropical.interop.opt_einsum.maxplus")
        from tropical.interop.opt_einsum import maxplus
        import tropical
        assert tropical.interop.opt_einsum.maxplus is maxplus is module
        assert "opt_einsum" not in sys.modules and "cotengra" not in sys.modules
    """)


def test_former_name():
    run_python("""
        import importlib, warnings, numpy as np
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = importlib.import_module("tropical.backends.maxplus")
        assert "use tropical.interop.opt_einsum" in str(caught[0].message), caught
        from tropical.interop import opt_einsum as new
        from tropical import backends
        assert backends.maxplus is module is new.maxplus
        assert backends.implementation is new.implementation
        try:
            import opt_einsum
        except ImportError:
            pass
        else:
            a, backend = np.eye(2), "tropical.backends.maxplus"
            got = opt_einsum.contract("ij,jk", a, a, backend=backend)
            assert (got == [[2, 1], [1, 2]]).all()
    """)


@pytest.mark.parametrize("ring", NUMERIC)
@pytest.mark.parametrize("output", ["", "bdfhjl", "bl"])
@pytest.mark.parametrize("sliced", ["", "a", "ce", "b", "bg"])
def test_cotengra(ring, output, sliced):
    cotengra = pytest.importorskip("cotengra", reason="which takes the implementation")
    arrays = list(network(ring))
    want = tropical.einsum(TEXT + output, *arrays, semiring=ring, optimize=False)
    tree = cotengra.einsum_tree(TEXT + output, *[x.shape for x in arrays])
    for index in sliced:
        tree.remove_ind_(index)
    assert (tree.nslices > 1) == bool(sliced)
    got = tree.contract(arrays, implementation=implementation(ring))
    assert_same_bits(np.asarray(got), want)


def test_cotengra_elsewhere():
    """In its own functions, and where it would scale by floats."""
    cotengra = pytest.importorskip("cotengra", reason="which takes the implementation")
    arrays = list(network("minplus"))
    want = tropical.einsum(TEXT, *arrays, semiring="minplus")
    assert implementation("minplus") == implementation(semirings.minplus)
    how = {"implementation": implementation("min_plus")}
    assert cotengra.einsum(TEXT, *arrays, **how) == want
    assert cotengra.einsum(TEXT, *arrays, **how, prefer_einsum=True) == want
    with pytest.raises(TypeError, match="strip_exponent"):
        cotengra.einsum(TEXT, *arrays, **how, strip_exponent=True)


def test_summands():
    einsum, _ = implementation("minplus")
    a, b = einsum("ij->i", np.eye(2)), einsum("ij->i", -np.eye(2))
    assert isinstance(a, Summand)
    assert_same_bits(np.asarray(a + b), np.full(2, -1.0))
    a += b
    assert_same_bits(np.asarray(a[::-1] + b), np.full(2, -1.0))
    scalar = einsum("ij->", np.eye(2))
    assert isinstance(scalar, Summand) and np.asarray(scalar + scalar) == 0
    other = implementation("maxplus")[0]("ij->i", np.eye(2))
    for wrong in (1, np.ones(2), other):
        with pytest.raises(TypeError, match="expected another result over minplus"):
            b + wrong
    with pytest.raises(TypeError, match="got int"):
        1 + b
    assert type(np.asarray(b) + 1) is np.ndarray


def test_summands_of_other_processes():
    """As slices that workers contract come back."""
    part = implementation("minplus")[1](np.eye(2), np.eye(2), 1)
    back = pickle.loads(pickle.dumps(part))
    assert_same_bits(np.asarray(back + part), np.asarray(part))
    bare = np.ones(2).view(Summand)
    with pytest.raises(TypeError, match="Summand without a semiring"):
        bare + bare
