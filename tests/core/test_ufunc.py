"""The products as generalized ufuncs: gemm's results to the bit, numpy.matmul's manners."""

import copy
import pickle

import numpy as np
import pytest
import support
from layouts import LAYOUTS, WRITEABLE
from support import INSTANCES, assert_same_bits, in_threads, operands, run_python, values

import tropical
from tropical import semirings, ufunc

RINGS = list(semirings.names())
# And batches that are one run of NumPy's loop, and such that are many.
SHAPES = [
    *support.MATMUL_SHAPES,
    ((3, 4), (4, 6)),
    ((1, 33), (33, 1)),
    ((40, 50), (50, 70)),
    ((6, 1, 9), (9, 1)),
    ((2, 3, 1, 4, 5), (2, 1, 3, 5, 2)),
]


@pytest.mark.parametrize("name", RINGS)
def test_is_a_ufunc(name):
    function = getattr(ufunc, name)
    assert isinstance(function, np.ufunc) and function.__name__ == name and name in dir(ufunc)
    assert function.signature == np.matmul.signature and (function.nin, function.nout) == (2, 1)
    assert function is getattr(tropical.ufunc, name) and repr(function) == f"<ufunc '{name}'>"
    assert "tropical.gemm" in function.__doc__
    assert pickle.loads(pickle.dumps(function)) is function is copy.deepcopy(function)


def test_unknown_names():
    with pytest.raises(AttributeError, match="maxmax"):
        ufunc.maxmax  # noqa: B018


def test_made_at_first_use():
    run_python("""
        import sys, tropical
        assert "tropical.ufunc" not in sys.modules
        import numpy as np
        assert isinstance(tropical.ufunc.maxplus, np.ufunc)
    """)


@pytest.mark.parametrize("kind", ["edge", "nan"])
@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_bits_are_those_of_gemm(isa, semiring, dtype, kind):
    function = getattr(ufunc, semiring)
    for left, right in SHAPES:
        a, b = values(left, dtype, 1, kind), values(right, dtype, 2, kind)
        got, want = function(a, b), tropical.gemm(a, b, semiring=semiring)
        assert type(got) is type(want)
        assert_same_bits(got, want, isa, left, right)


@pytest.mark.parametrize("threads", [1, 3])
def test_large_batches(isa, threads):
    a, b = values((30, 40, 50), "float32", 1), values((30, 50, 60), "float32", 2)
    with tropical.options(threads=threads):
        for left, right in [(a, b), (a, b[0]), (a[0], b), (a[:, None], b[:7])]:
            assert_same_bits(ufunc.maxplus(left, right), tropical.gemm(left, right))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "function, by, shape_b",
    [(ufunc.maxplus, tropical.gemm, (17, 9)), (ufunc.maxplus_multiply, np.add, (13, 17))],
)
def test_layouts(isa, function, by, shape_b, layout):
    a, b = values((13, 17), "float32", 1), values(shape_b, "float32", 2)
    want = by(a, b)
    assert_same_bits(function(layout(a), layout(b)), want, layout)
    if layout in WRITEABLE:
        out = layout(np.full_like(want, np.nan))
        assert function(a, b, out=out) is out
        assert_same_bits(out, want, layout)


DTYPES = [*"?bBhHiIlLqQefdgFO", "S3", "U2", "M8[s]", "m8[s]"]


@pytest.mark.parametrize("kind", ["", "_multiply"])
@pytest.mark.parametrize("name", ["maxplus", "plustimes", "orand"])
def test_dtypes_are_those_of_gemm(name, kind):
    """Every pair gives the dtype that gemm gives, or is a TypeError as there, or of float16."""

    def outcome(function, *pair):
        try:
            return function(*pair).dtype
        except TypeError:
            return TypeError

    ones = [np.ones((2, 2), int).astype(dtype) for dtype in DTYPES]
    for x in ones:
        for y in ones:
            want = outcome(lambda x, y: tropical.gemm(x, y, semiring=name), x, y)
            want = TypeError if want == np.float16 else want
            assert outcome(getattr(ufunc, name + kind), x, y) == want, (x.dtype, y.dtype)


def test_unsupported_dtypes_are_named():
    small = np.ones((2, 2), np.uint8)
    with pytest.raises(TypeError, match="uint8 is not supported over maxplus, which takes float32"):
        ufunc.maxplus(small, small)
    with pytest.raises(TypeError, match="uint8 is not supported"):
        ufunc.maxplus([[1.0]], [[1.0]], dtype=np.uint8)
    with pytest.raises(TypeError, match="float64 is not supported over orand, which takes bool"):
        ufunc.orand([[1.0]], [[1.0]])
    half = np.ones((2, 2), np.float16)
    for function in (ufunc.maxplus, ufunc.maxplus_multiply):
        with pytest.raises(TypeError, match=r"got float16: pass x\.astype\(.float32.\), or call"):
            function(half, half)


def test_resolve_dtypes():
    """The loop converts integers by itself: their least value becomes -inf."""
    got = ufunc.maxplus.resolve_dtypes((np.dtype("f4"), np.dtype("i8"), None))
    assert got == (np.dtype("f8"), np.dtype("i8"), np.dtype("f8"))
    got = ufunc.plustimes.resolve_dtypes((np.dtype("f4"), np.dtype("i8"), None))
    assert got == (np.dtype("f8"),) * 3


A, B = values((3, 4), "float64", 1), values((4, 5), "float64", 2)
KEYWORDS = [
    {"dtype": np.float32},
    {"signature": "ff->f"},
    {"dtype": np.int32, "casting": "unsafe"},
    {"order": "F"},
    {"axes": [(0, 1), (0, 1), (1, 0)]},
    {"axes": [(-1, -2), (-2, -1), (0, 1)]},
    {"out": np.empty((3, 5), np.float32)},
    {"out": (np.empty((3, 5)),)},
    {"dtype": np.int32},
    {"signature": "ff->d"},
    {"casting": "no", "dtype": np.float32},
    {"where": True},
    {"axis": 0},
    {"keepdims": True},
    {"axes": [(0, 1), (0, 1)]},
    {"out": np.empty((3, 5), np.int32)},
    {"out": np.empty((5, 3))},
    {"out": np.broadcast_to(np.zeros(1), (3, 5))},
    {"workspace": None},
]


@pytest.mark.parametrize("keywords", KEYWORDS, ids=lambda k: "-".join(map(str, k)))
def test_keywords_are_those_of_matmul(keywords):
    """The result's dtype, shape and order are numpy.matmul's, or the kind of its error."""

    def outcome(function):
        a = A.T if "axes" in keywords and keywords["axes"][0] == (-1, -2) else A
        try:
            got = function(a, B, **copy.deepcopy(keywords))
        except (TypeError, ValueError) as error:
            return isinstance(error, TypeError)
        return got.dtype, got.shape, got.strides

    assert outcome(ufunc.maxplus) == outcome(np.matmul)


def test_axes():
    """Rows and columns anywhere: b (n, batch, m) of operands that hold theirs elsewhere."""
    a, b = values((4, 3, 7), "int32", 1), values((7, 4, 5), "int32", 2)
    got = ufunc.minplus(a, b, axes=[(1, 0), (1, 2), (2, 0)])
    want = tropical.gemm(a.transpose(2, 1, 0), b, semiring="minplus")
    assert_same_bits(got, want.transpose(2, 0, 1))


@pytest.mark.parametrize(
    "a, b",
    [((), (3, 3)), ((3, 3), ()), ((2, 3), (4, 5)), ((3,), (4,)), ((2, 3, 4), (3, 4, 5))],
)
def test_shapes_that_do_not_fit(a, b):
    out = np.full((9, 9), 7.0)
    for keywords in ({}, {"out": out}):
        with pytest.raises(ValueError, match=r"maxplus: |broadcast"):
            ufunc.maxplus(np.ones(a), np.ones(b), **keywords)
    assert (out == 7.0).all()


@pytest.mark.parametrize("method", ["reduce", "accumulate", "outer", "at"])
def test_methods_of_elementwise_ufuncs(method):
    with pytest.raises((RuntimeError, TypeError)):
        getattr(ufunc.maxplus, method)(A, B)


def test_overrides_take_over():
    class Other:
        def __array_ufunc__(self, function, method, *inputs, **keywords):
            return function, method, inputs, keywords

    class Refuses:
        __array_ufunc__ = None

    other = Other()
    assert ufunc.minplus(A, other, dtype="f4") == (
        ufunc.minplus,
        "__call__",
        (A, other),
        {"dtype": "f4"},
    )
    with pytest.raises(TypeError, match="does not support ufuncs"):
        ufunc.minplus(A, Refuses())


def test_subclasses_are_kept():
    class Labelled(np.ndarray):
        pass

    assert type(ufunc.maxplus(A.view(Labelled), B)) is Labelled
    assert type(ufunc.maxplus(A.view(Labelled), B, subok=False)) is np.ndarray


@pytest.mark.parametrize("semiring,dtype", [i for i in INSTANCES if i[1].startswith("float")])
def test_no_floating_point_errors(isa, semiring, dtype):
    """Neither of infinities and overflow in a product, nor of what was raised before it."""
    function = getattr(ufunc, semiring)
    with np.errstate(all="raise"):
        for n in (2, 40, 130):
            a, b = operands(n, n, n, semiring, dtype, "edge")
            function(a, b)
            function(np.stack([a] * 3), b)


def test_options_and_the_environment_hold():
    with tropical.options(threads=2, kernel="naive"):
        assert_same_bits(ufunc.maxplus(A, B), tropical.gemm(A, B))
    run_python(
        """
        import pytest, tropical, numpy as np
        out = np.full((1, 1), 7.0)
        with pytest.raises(ValueError, match="TROPICAL_KERNEL"):
            tropical.ufunc.maxplus([[1.0]], [[1.0]], out=out)
        assert out == 7
        """,
        TROPICAL_KERNEL="abacus",
    )


def test_many_callers():
    a, b = values((12, 60, 60), "float32", 1), values((12, 60, 60), "float32", 2)
    want = tropical.gemm(a, b)
    results = []

    def work(_):
        results.extend(ufunc.maxplus(a, b) for _ in range(5))

    in_threads(work, 8)
    assert len(results) == 40
    for got in results:
        assert_same_bits(got, want)
