"""Tensors beside other types: masks are refused, and types with operators of their own answer."""

import operator

import numpy as np
import pytest

from tropical import autograd
from tropical.autograd import Tensor

X = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
MASKED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
OPERATORS = [getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "pow", "matmul")]
COMPARISONS = [getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")]
FUNCTIONS = {
    "tensor": Tensor,
    "matmul": lambda x: autograd.matmul(X, x),
    "minplus": lambda x: autograd.matmul(x, X, semiring="minplus"),
    "linear": lambda x: autograd.linear(X, x),
    "mse": lambda x: autograd.mse(X, x),
    "mse of targets": lambda x: autograd.mse(x, X),
    "cross_entropy": lambda x: autograd.cross_entropy(X, x[0] > 1),
    "maximum": lambda x: autograd.maximum(X, x),
    "where": lambda x: autograd.where(x, X, 0.0),
    "concatenate": lambda x: autograd.concatenate([X, x]),
    "exp": autograd.exp,
    "sum": autograd.sum,
    "index": lambda x: X[x > 1],
    "gradient": lambda x: (X * 1).backward(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_masks(name):
    with pytest.raises(TypeError, match="is a masked array"):
        FUNCTIONS[name](MASKED)
    assert X.grad is None


@pytest.mark.parametrize("function", [*OPERATORS, *COMPARISONS])
def test_operators_refuse_masks(function):
    with pytest.raises(TypeError, match="is a masked array"):
        function(X, MASKED)


def test_lists_of_masked_rows():
    for function in (Tensor, lambda x: autograd.matmul(X, x), lambda x: X + x):
        with pytest.raises(TypeError, match="is a masked array"):
            function(list(MASKED))


def test_in_place():
    plain = Tensor([[1.0, 2.0], [3.0, 4.0]])
    with autograd.no_grad(), pytest.raises(TypeError, match="is a masked array"):
        plain += MASKED
    assert plain.tolist() == [[1, 2], [3, 4]]


def answer(self, other):
    return "an answer of its own"


NAMES = ["add", "sub", "mul", "truediv", "pow", "matmul"]
REFLECTED = {f"__r{name}__": answer for name in NAMES}
REFLECTED |= {f"__{name}__": answer for name in ("eq", "ne", "lt", "le", "gt", "ge")}


def kind(*bases, **attributes):
    return type("Other", bases, {**REFLECTED, "__hash__": None, **attributes})


# Without ufuncs; with ufuncs of its own, but no array; an array without ufuncs.
OTHERS = [
    kind(__array_ufunc__=None)(),
    kind(__array_ufunc__=answer)(),
    np.ones((2, 2)).view(kind(np.ndarray, __array_ufunc__=None)),
]


@pytest.mark.parametrize("function", [*OPERATORS, *COMPARISONS])
@pytest.mark.parametrize("other", OTHERS, ids=["none", "own", "subclass"])
def test_other_types_answer(function, other):
    assert function(X, other) == "an answer of its own"


@pytest.mark.parametrize("function", OPERATORS)
def test_types_without_an_answer(function):
    class Silent:
        __array_ufunc__ = None

    for pair in ((X, Silent()), (Silent(), X)):
        with pytest.raises(TypeError):
            function(*pair)
    units = np.ones((2, 2)).view(kind(np.ndarray, __array_ufunc__=answer, __radd__=None))
    with pytest.raises(TypeError, match="__array_ufunc__ of its own, got "):
        function(X, units)


def test_arrays_of_other_libraries_are_converted():
    class Column:
        """As a column of pandas: ufuncs of its own, and an array."""

        __array_ufunc__ = answer

        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    assert (X + Column()).tolist() == [[2, 4], [4, 6]]
