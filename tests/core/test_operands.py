"""What may be an operand: arrays of subclasses, masks, and arrays of other libraries."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from support import assert_same_bits

import tropical
from tropical import autograd, graph, sequence, spectral
from tropical._core import linear

X = np.array([[0.0, 1.0], [2.0, 0.0]], np.float32)
# The name of an argument, and a function that passes an object as this argument.
ENTRIES = {
    "a": lambda x: tropical.gemm(x, X),
    "b": lambda x: tropical.gemm(X, x),
    "weight": lambda x: linear(X, x),
    "operand 1": lambda x: tropical.einsum("ij,jk->ik", X, x),
    "a of closure": lambda x: graph.closure(x, "minplus"),
    "a of matrix_power": lambda x: graph.matrix_power(x, 3, "maxplus"),
    "a of transitive_closure": graph.transitive_closure,
    "w": graph.shortest_paths,
    "log_transition": lambda x: sequence.viterbi(np.zeros(2), x, X),
    "a of cycle_times": spectral.cycle_times,
    "data": autograd.Tensor,
}
entries = pytest.mark.parametrize("name", ENTRIES)


class Lying(np.ndarray):
    """Its methods and attributes say what is not so."""

    mask = "such as that of an image"

    def astype(self, *args, **kwargs):
        return np.zeros(1).view(Lying)

    def copy(self, *args):
        return np.zeros(1).view(Lying)

    def __array_function__(self, *args):
        return np.zeros(1)


class Own(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs):
        return "an answer of its own"


class Without(np.ndarray):
    __array_ufunc__ = None


def call(name, x):
    return ENTRIES[name](x)


def results(found):
    return found if isinstance(found, tuple) else (found,)


@entries
def test_subclasses_are_read_as_arrays(name):
    """Also one with an attribute `mask`, and one whose `astype` would be too small."""
    for x in (X, X.astype(np.int8), X.astype(">f8"), X.T):
        got, want = (results(call(name, y)) for y in (x.view(Lying), np.array(x)))
        for one, other in zip(got, want, strict=True):
            one, other = (getattr(z, "data", z) for z in (one, other))
            assert_same_bits(np.asarray(one), np.asarray(other), x.dtype)


def test_out_of_a_subclass():
    out = np.zeros((2, 2), np.float32).view(Lying)
    assert tropical.gemm(X, X, out=out) is out
    assert_same_bits(out.view(np.ndarray), tropical.gemm(X, X))
    both = np.array(X).view(Lying)  # it overlaps an operand
    assert tropical.gemm(both, both, out=both) is both
    assert_same_bits(both.view(np.ndarray), tropical.gemm(X, X))


@entries
def test_masks(name):
    plain = name.split()[0] if " of " in name else name
    rows = [np.ma.array(x, mask=[1, 0]) for x in X]
    objects = [rows, tuple(rows), [rows[0], [1.0, 2.0]]]
    if name not in ("w", "a of transitive_closure"):  # for them a mask says that there is no edge
        objects.append(np.ma.array(X, mask=X > 1))
    for x in objects:
        with pytest.raises(TypeError, match=f"^{plain} is a masked array"):
            call(name, x)
    assert len(results(call(name, X.tolist()))) >= 1


@entries
@pytest.mark.parametrize("kind", [Own, Without])
def test_ufuncs_of_their_own(name, kind):
    plain = name.split()[0] if " of " in name else name
    with pytest.raises(TypeError, match=rf"^{plain}: .*{kind.__name__}; pass numpy.asarray"):
        call(name, X.view(kind))


@pytest.mark.parametrize("name", ["a", "b", "operand 1", "data"])
def test_sparse_arrays(name):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=rf"^{name.split(' of ')[0]}: .* dense .*csr_array"):
        call(name, sparse.csr_array(X))


@entries
def test_tensors_that_require_gradients(name, monkeypatch):
    class Tensor:  # as torch's
        requires_grad = True

        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    plain = name.split()[0] if " of " in name else name
    with pytest.raises(RuntimeError, match=f"^{plain}: Can't call"):
        call(name, Tensor())
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    with pytest.raises(TypeError, match=rf"^{plain}: .*detach\(\)"):
        call(name, Tensor())
