"""The oracle itself, against the contract's tables and small products worked out by hand."""

import numpy as np
import oracle
import pytest
import support
from support import INSTANCES

from tropical import _core

INF, NAN = np.inf, np.nan


def test_instances_are_those_of_the_contract():
    numeric = ["float32", "float64", "int8", "int16", "int32", "int64"]
    numeric += sorted({dtype for _, dtype in INSTANCES} - {*numeric, "bool"})
    dtypes = {"orand": ["bool"], "logplus": numeric[:2]}
    want = {
        (name, dtype)
        for name, s in oracle.SEMIRINGS.items()
        for dtype in dtypes.get(name, numeric)
        if s.zero(dtype) != s.one(dtype)  # of maxplus without a sign both are 0
    }
    assert set(INSTANCES) == want and len(INSTANCES) == len(want)


@pytest.mark.parametrize("entry", _core.semirings(), ids=lambda s: s["name"])
def test_table_of_semirings(entry):
    words = {"maximum": "max", "minimum": "min", "logical_or": "or", "logical_and": "and"}
    words |= {"add": "+", "logaddexp": "logaddexp"}
    s = oracle.SEMIRINGS[entry["name"]]
    assert entry["add"] == words[s.add.__name__]
    assert entry["selective"] == (entry["add"] in ("max", "min"))
    assert entry["multiply"] in (words.get(s.multiply.__name__), "x", "*", "×")


@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_zero_and_one(semiring, dtype):
    s = oracle.SEMIRINGS[semiring]
    zero, one = _core.constants(semiring, dtype)
    assert (zero, one) == (s.zero(dtype), s.one(dtype))
    assert isinstance(zero, {"f": float, "i": int, "u": int, "b": bool}[np.dtype(dtype).kind])


@pytest.mark.parametrize(
    "semiring,a,b,c",
    [
        ("maxplus", [[1.0, 2.0]], [[3.0], [1.0]], 4.0),
        ("minplus", [[1.0, 2.0]], [[3.0], [1.0]], 3.0),
        ("maxtimes", [[1.0, 2.0]], [[3.0], [1.0]], 3.0),
        ("maxmin", [[1.0, 2.0]], [[3.0], [1.0]], 1.0),
        ("minmax", [[1.0, 2.0]], [[3.0], [1.0]], 2.0),
        ("maxplus", [[-INF, 2.0]], [[INF], [1.0]], 3.0),
        ("maxplus", [[-INF]], [[INF]], -INF),
        ("minplus", [[INF]], [[-INF]], INF),
        ("maxtimes", [[0.0]], [[INF]], 0.0),
        ("maxtimes", [[-1.0]], [[2.0]], 0.0),
        ("maxplus", [[-INF, 1.0]], [[NAN], [1.0]], NAN),
        ("maxplus", [[-0.0]], [[-0.0]], 0.0),
        ("minmax", [[-0.0]], [[-0.0]], 0.0),
        ("orand", [[True, False]], [[False], [True]], False),
        ("orand", [[True, False]], [[True], [True]], True),
    ],
)
def test_by_hand(semiring, a, b, c):
    a, b = np.array(a), np.array(b)
    support.assert_same_bits(oracle.gemm(a, b, semiring), np.array([[c]], a.dtype))


@pytest.mark.parametrize(
    "semiring,a,b,c",
    [
        ("maxplus", 100, 100, 127),
        ("maxplus", -100, -100, -128),
        ("maxplus", -128, 127, -128),  # the zero annihilates
        ("maxplus", -127, 127, 0),
        ("minplus", 127, -128, 127),
        ("minplus", -128, -128, -128),
        ("minplus", 126, 2, 127),
        ("maxtimes", 100, 2, 127),
        ("maxtimes", -100, 2, 0),
        ("maxtimes", -128, -128, 127),
        ("maxmin", -128, 127, -128),
        ("minmax", -128, 127, 127),
        ("plustimes", 100, 2, -56),
    ],
)
def test_int8_by_hand(semiring, a, b, c):
    a, b = np.array([[a]], np.int8), np.array([[b]], np.int8)
    support.assert_same_bits(oracle.gemm(a, b, semiring), np.array([[c]], np.int8))


@pytest.mark.parametrize(
    "semiring", sorted(set(oracle.SEMIRINGS) - {"orand", "plustimes", "logplus"})
)
def test_the_wide_types_agree(semiring):
    """Python's unbounded integers give what 64-bit ones do where those suffice."""
    a, b = support.values((5, 6), "int64", 3), support.values((6, 4), "int64", 4)
    narrow = oracle.gemm(a, b, semiring)
    a, b = np.vstack([a, [[2**62] * 6]]), np.hstack([b, [[2**62]] * 6])
    assert oracle.wide_enough(a, b, np.add) is oracle.wide_enough(a, b, np.multiply) is object
    support.assert_same_bits(oracle.gemm(a, b, semiring)[:5, :4], narrow)


def test_argmax_by_hand():
    a = np.array([[1.0, 3.0, 3.0], [-INF, -INF, -INF], [0.0, NAN, NAN]])
    b = np.zeros((3, 1))
    assert oracle.argmax(a, b, "maxplus").tolist() == [[1], [0], [1]]
    assert oracle.argmax(a[:, :0], b[:0], "maxplus").tolist() == [[-1], [-1], [-1]]
    assert oracle.argmax(np.array([[-1.0, 0.0]]), np.ones((2, 1)), "maxtimes").tolist() == [[0]]
