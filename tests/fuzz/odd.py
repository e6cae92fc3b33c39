"""Objects of every odd kind, which a caller may pass where an array, a number or a name belongs."""

import array
import ctypes
import datetime
import decimal
import fractions
import io
import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

import tropical

SQUARE = [[0.0, 2.0, np.inf], [1.0, 0.0, 5.0], [np.inf, 3.0, 0.0]]


class OddError(Exception):
    """What odd objects raise; a function may let it pass."""


def raising(*names, base=object):
    """Return an object whose methods of these names raise `OddError`."""

    def refuse(self, *args, **kwargs):
        raise OddError

    return type("Raising", (base,), dict.fromkeys(names, refuse))()


def answering(base=object, **answers):
    """Return an object whose methods give these answers."""
    methods = {
        f"__{name}__": lambda self, *args, answer=answer, **kwargs: answer
        for name, answer in answers.items()
    }
    return type("Answering", (base,), methods)()


class Subclass(np.ndarray):
    pass


class NoUfunc(np.ndarray):
    __array_ufunc__ = None


class Short(np.ndarray):
    """Lies when it is converted."""

    def astype(self, *args, **kwargs):
        return np.zeros(1)


class Overriding:
    def __array_ufunc__(self, *args, **kwargs):
        return "overridden"

    def __array_function__(self, *args, **kwargs):
        return "overridden"


class Liar:
    """Says that it is an array."""

    __class__ = np.ndarray  # type: ignore[assignment]


class Anything:
    """Has every attribute."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self


def square(dtype="float64"):
    with np.errstate(invalid="ignore"):
        return np.array(SQUARE).astype(dtype)


def locked(x):
    x.flags.writeable = False
    return x


def unaligned():
    return np.zeros(73, np.uint8)[1:].view(np.float64).reshape(3, 3)


def nested(depth):
    x = 1.0
    for _ in range(depth):
        x = [x]
    return x


def itself():
    x = [1.0]
    x.append(x)
    return x


def released():
    view = memoryview(np.zeros((3, 3)))
    view.release()
    return view


def closed():
    file = io.BytesIO(b"abc")
    file.close()
    return file


def graph(kind="DiGraph"):
    nx = __import__("networkx")
    made = getattr(nx, kind)([("a", 1, {"weight": 2}), (1, None, {"weight": "x"})][:1])
    made.add_node((1, 2))
    return made


def sparse(form="csr_array", dtype="float64"):
    matrix = np.nan_to_num(np.array(SQUARE), posinf=0).astype(dtype)
    return getattr(__import__("scipy.sparse").sparse, form)(matrix)


def frame():
    return __import__("pandas").DataFrame(SQUARE, index=list("abc"), columns=list("abc"))


DTYPES = (
    *("bool", "int8", "uint8", "int16", "int64", "uint64", "float16", "float32", "longdouble"),
    *("complex64", "complex128", "clongdouble", ">f8", ">i4", "U5", "S5", "O", "V8"),
    *("M8[s]", "m8[D]"),
)
ARRAYS = {
    **{f"dtype {name}": lambda name=name: square(name) for name in DTYPES if name[0] not in "MmV"},
    **{f"dtype {name}": lambda name=name: np.zeros((3, 3), name) for name in ("M8[s]", "m8[D]")},
    "void": lambda: np.zeros((3, 3), "V8"),
    "structured": lambda: np.zeros((3, 3), [("x", "f8"), ("y", "i4")]),
    "records": lambda: np.zeros(3, [("x", "f8")]).view(np.recarray),
    "None in it": lambda: np.array([[1.0, None], [2.0, "x"]], object),
    "lists in it": lambda: np.array([[1], [1, 2], None], object),
    "big integers in it": lambda: np.array([[10**30, 1], [2**64, -(2**65)]], object),
    "0-d": lambda: np.array(1.5),
    "0-d object": lambda: np.array(None, object),
    **{f"empty {shape}": lambda shape=shape: np.zeros(shape) for shape in ((0,), (0, 3), (3, 0))},
    "empty and wide": lambda: np.zeros((0, 2**40)),
    "empty and tall": lambda: np.zeros((2**40, 0)),
    "empty batch": lambda: np.zeros((0, 3, 3)),
    "one element": lambda: np.zeros((1, 1)),
    "vector": lambda: np.arange(3.0),
    "64 dimensions": lambda: np.zeros((1,) * 64),
    "batch": lambda: np.zeros((2, 3, 3)),
    "not square": lambda: np.zeros((2, 5)),
    "huge strides": lambda: as_strided(np.zeros(9), (1, 3, 3), (2**62, 24, 8)),
    "strides 0": lambda: np.broadcast_to(2.0, (3, 3)),
    "negative strides": lambda: square()[::-1, ::-1],
    "not contiguous": lambda: np.zeros((6, 6))[::2, ::2],
    "transposed": lambda: square().T,
    "overlapping": lambda: as_strided(np.zeros(9), (3, 3), (8, 8)),
    "read-only": lambda: locked(square()),
    "unaligned": unaligned,
    "NaN": lambda: np.full((3, 3), np.nan),
    "inf": lambda: np.full((3, 3), np.inf),
    "-inf": lambda: np.full((3, 3), -np.inf),
    "great": lambda: np.full((3, 3), 1e308),
    "subnormal": lambda: np.full((3, 3), 5e-324),
    "extreme integers": lambda: np.array([[-(2**63), 2**63 - 1]] * 2),
    "subclass": lambda: square().view(Subclass),
    "without ufuncs": lambda: square().view(NoUfunc),
    "short astype": lambda: square().view(Short),
    "matrix": lambda: np.asmatrix(square()),
    "masked": lambda: np.ma.masked_invalid(square()),
    "unmasked": lambda: np.ma.array(square()),
    "masked constant": lambda: np.ma.masked,
    "masked rows": lambda: [np.ma.array([1.0, 2.0], mask=[0, 1])] * 2,
    "tensor": lambda: tropical.autograd.Tensor(square()),
    "tensor with gradient": lambda: tropical.autograd.Tensor(np.ones((3, 3)), requires_grad=True),
    "integer tensor": lambda: tropical.autograd.Tensor(np.ones((3, 3), int)),
    "csr": sparse,
    "coo": lambda: sparse("coo_matrix"),
    "bsr of bytes": lambda: sparse("bsr_array", "int8"),
    "complex csc": lambda: sparse("csc_array", "complex128"),
    "frame": frame,
    "graph": graph,
    "multigraph": lambda: graph("MultiDiGraph"),
}
NUMBERS = (
    *(True, False, 0, 1, 2, -1, 7, 2**31, -(2**31) - 1, 2**63, -(2**63), 2**64, 10**400),
    *(0.0, -0.0, 0.5, 1e308, 5e-324, math.nan, math.inf, -math.inf, 1j, complex(math.nan, 1)),
    *(np.int8(-1), np.uint64(2**64 - 1), np.float16(1), np.float32(np.nan), np.longdouble(1)),
    *(np.bool_(True), np.datetime64("NaT", "s"), np.timedelta64(1, "s"), np.str_("a")),
    *(np.bytes_(b"a"), np.void(b"abc"), decimal.Decimal("NaN"), fractions.Fraction(1, 3)),
    datetime.date(2020, 2, 2),
)
TEXTS = ("", "x", "maxplus", "max_plus", "é\0", "\ud800", "../x", "float32", "x" * 100_000, "ij,jk")
OTHERS = {
    "None": lambda: None,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(8),
    "array.array": lambda: array.array("d", [1, 2]),
    "ctypes": lambda: (ctypes.c_double * 3)(),
    "memoryview": lambda: memoryview(square()),
    "memoryview of bytes": lambda: memoryview(b"abcdefgh"),
    "released memoryview": released,
    "closed file": closed,
    "[]": list,
    "[[]]": lambda: [[]],
    "()": tuple,
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "lists": lambda: [list(row) for row in SQUARE],
    "list of arrays": lambda: [np.zeros(3), np.zeros(4)],
    "list of tensors": lambda: [tropical.autograd.Tensor([1.0]), None],
    "list of strings": lambda: ["a", "b"],
    "nested 70": lambda: nested(70),
    "nested 10,000": lambda: nested(10_000),
    "contains itself": itself,
    "generator": lambda: (x for x in SQUARE),
    "iterator": lambda: iter([1, 2]),
    "range": lambda: range(3),
    "huge range": lambda: range(2**70),
    "dict": lambda: {"a": np.zeros(3)},
    "dict of anything": lambda: {1: None, (2,): "x"},
    "set": lambda: {1, 2},
    "slice": lambda: slice(None, None, -1),
    "type": lambda: int,
    "dtype": lambda: np.dtype("f4"),
    "function": lambda: len,
    "lambda": lambda: lambda *args, **kwargs: args[0] if args else None,
    "raising function": lambda: raising("__call__").__call__,
    "module": lambda: np,
    "object": object,
    "exception": lambda: ValueError("x"),
    "workspace": tropical.GemmWorkspace,
    "semiring": lambda: tropical.semirings.orand,
    "generator of NumPy": lambda: np.random.default_rng(0),
    "Overriding": Overriding,
    "Liar": Liar,
    "Anything": Anything,
    **{
        f"raising {name}": lambda name=name: raising(f"__{name}__")
        for name in (
            *("array", "index", "len", "float", "int", "bool", "iter", "getitem", "str", "repr"),
            *("eq", "hash", "getattr", "fspath", "array_ufunc", "dlpack", "complex", "call"),
        )
    },
    "raising repr of a string": lambda: raising("__repr__", "__str__", "__eq__", base=str),
    "raising list": lambda: raising("__len__", "__iter__", "__getitem__", base=list),
    "raising integer": lambda: raising("__index__", "__lt__", "__add__", "__mul__", base=int),
    "raising float": lambda: raising("__float__", "__lt__", "__add__", "__mul__", base=float),
    "raising dict": lambda: raising("items", "keys", "__iter__", "__getitem__", base=dict),
    "array is text": lambda: answering(array="text"),
    "array is 0-d": lambda: answering(array=np.array(1.0)),
    "array is a subclass": lambda: answering(array=square().view(Subclass)),
    "index is huge": lambda: answering(index=2**70),
    "index is text": lambda: answering(index="1"),
    "index is negative": lambda: answering(index=-1),
    "length is huge": lambda: answering(len=2**62, getitem=1.0),
    "length is negative": lambda: answering(len=-1, getitem=1.0),
    "float is text": lambda: answering(float="1"),
    "interface is None": lambda: type("Interface", (), {"__array_interface__": None})(),
    "interface is empty": lambda: type("Interface", (), {"__array_interface__": {}})(),
    "dlpack is None": lambda: answering(dlpack=None, dlpack_device=(1, 0)),
    "device is text": lambda: answering(dlpack=None, dlpack_device="cpu"),
    "subclass of str": lambda: type("Text", (str,), {})("maxplus"),
    "subclass of int": lambda: type("Whole", (int,), {})(2),
}
KINDS = {
    **ARRAYS,
    **{f"number {i}: {x!r}"[:40]: lambda x=x: x for i, x in enumerate(NUMBERS)},
    **{f"text {i}": lambda x=x: x for i, x in enumerate(TEXTS)},
    **OTHERS,
}
