"""A product of matrices: shape, batch, layouts, dtype, semiring and values.

``repr(point)`` is a line of Python that makes the point again, and `parse` reads it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import semirings
from tropical.measure import contenders
from tropical.measure.timing import Contender

Array = NDArray[Any]

# What `values` may be, by kind of dtype; "NaN" is a single one in each operand.
VALUES: dict[Literal["floating", "integer", "bool"], tuple[str, ...]] = {
    "floating": ("ordinary", "zeros", "NaN", "infinite", "subnormal", "negative"),
    "integer": ("ordinary", "zeros", "wide"),
    "bool": ("ordinary", "zeros"),
}
LAYOUTS = ("rows", "columns", "strided", "reversed", "part")
SHARED = "shared"  # of `a` or `b`: all items of a batch are the same matrix


@dataclass(frozen=True, repr=False)
class Point:
    """A product of `a` (batch, m, k) by `b` (batch, k, n); batch = 0 stands for two matrices.

    Attributes
    ----------
    m, k, n, batch : int
    dtype, semiring : str
    argmax : bool
        Whether the index is computed too.
    a, b, out : str
        The layouts: ``rows`` and ``columns`` are contiguous, ``strided`` takes every second
        column of an array, ``reversed`` goes backward along both axes, ``part`` is a block of a
        larger array, and ``shared`` is one matrix for all items of a batch.
    values : str
        A word of `VALUES`. ``zeros``: a tenth is the semiring's zero. ``wide``: integers up to
        half of the greatest. ``subnormal``: a tenth, and a tenth is -0.0.

    Examples
    --------
    >>> point = Point(1, 1000, 1000, argmax=True, b="columns")
    >>> point
    Point(1, 1000, 1000, argmax=True, b='columns')
    >>> parse(repr(point)) == point
    True
    >>> product, index = point.contender().call()
    >>> product.shape, index.dtype
    ((1, 1000), dtype('int64'))
    """

    m: int
    k: int
    n: int
    batch: int = 0
    dtype: str = "float32"
    semiring: str = "maxplus"
    argmax: bool = False
    a: str = "rows"
    b: str = "rows"
    out: str = "rows"
    values: str = "ordinary"

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)[3:]
            if getattr(self, field.name) != field.default
        ]
        return f"Point({', '.join([f'{self.m}, {self.k}, {self.n}', *changed])})"

    @property
    def kind(self) -> str:
        """Semiring, dtype, and whether there is an argmax."""
        return f"{self.semiring} {self.dtype}{' argmax' if self.argmax else ''}"

    @property
    def products(self) -> int:
        """Products of elements."""
        return max(1, self.batch) * self.m * self.k * self.n

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the product must touch: those between strided elements too."""
        items = max(1, self.batch)
        width = np.dtype(self.dtype).itemsize
        total = items * self.m * self.n * 8 if self.argmax else 0
        sizes = {"a": self.m * self.k, "b": self.k * self.n, "out": self.m * self.n}
        for name, size in sizes.items():
            layout = getattr(self, name)
            times = {"strided": 2 * items, SHARED: 1}.get(layout, items)
            total += times * size * width
        return total

    def ordinary(self) -> Point:
        """Return the point with ordinary values, every matrix contiguous by rows."""
        return replace(self, a="rows", b="rows", out="rows", values="ordinary")

    def operands(self) -> tuple[Array, Array]:
        """Return `a` and `b`."""
        batch = (self.batch,) if self.batch else ()
        a, b = contenders.operands(self.m, self.k, self.n, self.dtype, batch=batch)
        rng = np.random.default_rng(1)
        return (
            lay_out(self.a, spoil(a, self.values, self.semiring, rng)),
            lay_out(self.b, spoil(b, self.values, self.semiring, rng)),
        )

    def contender(self, threads: int = 1, name: str = "tropical") -> Contender:
        """Return the call of `tropical.gemm`, which writes into `out`."""
        contenders.require_threads(threads)
        a, b = self.operands()
        semiring, out = self.semiring, lay_out(self.out, contenders.result_like(a, b))

        def plain() -> object:
            return tropical.gemm(a, b, semiring=semiring, out=out)

        call: Callable[[], object] = plain
        if self.argmax:
            both = out, np.zeros(out.shape, np.intp)

            def call() -> object:
                return tropical.gemm(a, b, semiring=semiring, out=both, return_argmax=True)

        context = functools.partial(tropical.options, threads=threads)
        return Contender(name, call, 2 * self.products, context)


def parse(text: str) -> Point:
    """Return the point that `text` shows; raise ValueError if it shows none."""
    try:
        node = ast.parse(text, mode="eval").body
        assert isinstance(node, ast.Call)
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
        return Point(*map(ast.literal_eval, node.args), **named)  # type: ignore[arg-type]
    except (AssertionError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"expected a point, such as Point(2, 3, 4), got {text!r}") from error


def spoil(x: Array, values: str, semiring: str, rng: np.random.Generator) -> Array:
    """Return `x`, which is overwritten, with the values of that name."""
    chance = rng.random(x.shape)
    if values == "zeros":
        x[chance < 0.1] = semirings.get(semiring).zero(x.dtype)
    elif values == "NaN":
        x.flat[x.size // 2] = np.nan
    elif values == "infinite":
        x[chance < 0.05], x[chance > 0.95] = np.inf, -np.inf
    elif values == "subnormal":
        x[chance < 0.1], x[chance > 0.9] = np.finfo(x.dtype).smallest_subnormal, -0.0
    elif values == "negative":
        x -= 0.5
    elif values == "wide":
        limits = np.iinfo(x.dtype)
        x[...] = rng.integers(limits.min // 2, limits.max // 2, x.shape, x.dtype)
    return x


def lay_out(layout: str, x: Array) -> Array:
    """Return an array with the values of `x` (..., rows, columns) in a layout."""
    *batch, rows, columns = x.shape
    if layout == "rows":
        return x
    if layout == SHARED:
        return np.broadcast_to(x[:1], x.shape)
    if layout == "columns":
        view = np.empty((*batch, columns, rows), x.dtype).swapaxes(-1, -2)
    elif layout == "strided":
        view = np.zeros((*batch, rows, 2 * columns), x.dtype)[..., ::2]
    elif layout == "reversed":
        view = np.empty(x.shape, x.dtype)[..., ::-1, ::-1]
    else:
        view = np.zeros((*batch, rows + 2, columns + 5), x.dtype)[..., 1:-1, 3:-2]
    view[...] = x
    return view
