"""Products of Dask arrays: a task for each pair of chunks, and a tree of (+) along k."""

from __future__ import annotations

from functools import partial
from math import isnan, prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np

import tropical
from tropical import semirings
from tropical.arrays import Array, check_product, is_kind, narrowed, promote, unmasked
from tropical.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tropical.semirings import Semiring

# A product of two chunks with its argmax: values, index from the first of its k, and that k.
Attained: TypeAlias = tuple[Array, Array, int]
Key: TypeAlias = tuple[Any, ...]
EXTRA = "'tropical-blas[dask]'"
RUN = 8  # products or sums that are added one by one
TASKS = 64  # fewest that products share: a run of products is one task where there are more


@overload
def gemm(
    a: Any, b: Any, *, semiring: str | Semiring = "maxplus", return_argmax: Literal[False] = False
) -> Any: ...
@overload
def gemm(
    a: Any, b: Any, *, semiring: str | Semiring = "maxplus", return_argmax: Literal[True]
) -> tuple[Any, Any]: ...
def gemm(
    a: Any, b: Any, *, semiring: str | Semiring = "maxplus", return_argmax: bool = False
) -> Any:
    """Multiply matrices over a semiring, lazily, in the chunks of the operands.

    Parameters
    ----------
    a : dask.array.Array or array_like, (..., m, k) or (k,)
        Left operand.
    b : dask.array.Array or array_like, (..., k, n) or (k,)
        Right operand. 1-D operands and batches are treated as by `numpy.matmul`.
    semiring : str or Semiring, default "maxplus"
        As for `tropical.gemm`.
    return_argmax : bool, default False
        Return the index as well, as `tropical.gemm` does.

    Returns
    -------
    C : dask.array.Array, (..., m, n)
        The chunks are those of the rows of `a` and the columns of `b`.
    index : dask.array.Array of intp, (..., m, n)
        Only with ``return_argmax=True``: the first p of the whole k that attains C[i, j].

    Raises
    ------
    ValueError
        If shapes do not fit, an operand is 0-D, the semiring is unknown or has no argmax, or the
        sizes of the chunks along k are unknown.
    TypeError
        If the semiring is not defined for the operands' common dtype.
    NotInstalledError
        Without Dask.

    Notes
    -----
    A task multiplies one chunk of `a` and one chunk of `b`: it holds three chunks. Where the task
    reads these chunks itself, from files or from a function, and there are 128 products or more,
    the task goes on with the next chunks along k, up to 8 products, and still holds three chunks.
    Other tasks add two such results: a tree of sums along k. A chunk of an operand is read once for
    each product that takes it, together with what Dask fuses with the reading: persist an operand
    that is costly to compute.

    The results are those of `tropical.gemm`, bit by bit, except over plustimes and logplus, whose
    sums round: the order of the sum differs.

    Examples
    --------
    >>> import dask.array as da
    >>> from tropical.interop.dask import gemm
    >>> legs = da.from_array([[0, 4, 9], [4, 0, 3], [9, 3, 0]], chunks=2)
    >>> lengths, via = gemm(legs, legs, semiring="minplus", return_argmax=True)
    >>> lengths.compute()
    array([[0, 4, 7],
           [4, 0, 3],
           [7, 3, 0]])
    >>> via.compute()
    array([[0, 0, 1],
           [0, 1, 1],
           [1, 1, 2]])
    """
    ring = semirings.get(semiring)
    a, b = lazy("a", a), lazy("b", b)
    _check(a, b)
    rows, columns = a if a.ndim > 1 else a[None, :], b if b.ndim > 1 else b[:, None]
    lengths = zip(rows.shape[-3::-1], columns.shape[-3::-1], strict=False)
    if any(1 not in (x, y) and (x < y or y < x) for x, y in lengths):  # NaN: unknown
        raise ValueError(f"a, b: expected batch axes that broadcast, got {a.shape} and {b.shape}")
    dtype = np.result_type(a.dtype, b.dtype)
    stored = dtype if return_argmax and dtype.name in ring.stored else None
    if stored is not None:  # the argmax is that of float32, also between chunks
        rows, columns = (_single(x, ring) for x in (rows, columns))
    empty: Any = (_attained if return_argmax else _product)(rows._meta, columns._meta, ring)
    empties: tuple[Array, ...] = empty[:2] if return_argmax else (empty,)
    total = _total(rows, columns, ring, return_argmax, meta=empties[0])
    if not return_argmax:
        return _without_axes(total, a, b)
    values, index = (
        map_chunks(itemgetter(i), total, f"tropical-gemm-{ring.name}-{part}", one)
        for i, (one, part) in enumerate(zip(empties, ("values", "index"), strict=True))
    )
    return tuple(_without_axes(part, a, b) for part in (rounded(values, stored), index))


def lazy(name: str, x: Any) -> Any:
    """Return an operand as an array of Dask."""
    da = require("dask.array", EXTRA)
    try:
        return da.asarray(x)
    except (AttributeError, TypeError):  # without a dtype of NumPy, such as a tensor or a frame
        return da.asarray(unmasked(name, x))


def map_chunks(function: Callable[..., Any], x: Any, prefix: str, meta: Array) -> Any:
    """Return an array of function(chunk) for each chunk, whose tasks have names with a prefix.

    Dask's ``map_blocks`` takes a whole name, and arrays with the same name are one array to Dask.
    """
    name = f"{prefix}-{require('dask.base', EXTRA).tokenize(function, x)}"
    return x.map_blocks(function, name=name, dtype=meta.dtype, meta=meta)


def rounded(x: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return numbers of float32 in a dtype of two bytes an element, as `narrowed` does."""
    if dtype is None:
        return x
    narrow = partial(narrowed, dtype=dtype)
    return map_chunks(narrow, x, "tropical-rounded", narrow(x._meta))


def _single(x: Any, ring: Semiring) -> Any:
    """Return an array in float32; the zero and the one of integers stay zero and one."""
    if not is_kind(x.dtype, "integer"):
        return x.astype(np.float32)
    wide = partial(promote, dtype="float32", semiring=ring)
    return map_chunks(wide, x, f"tropical-single-{ring.name}", x._meta.astype(np.float32))


def _check(a: Any, b: Any) -> None:
    """Raise ValueError unless the last axes of two arrays are known and fit."""
    for name, x, axis in ("a", a, -1), ("b", b, -2 if b.ndim > 1 else 0):
        if x.ndim and isnan(x.shape[axis]):
            raise ValueError(
                f"{name}: expected known chunk sizes along k, got {x.chunks[axis]}; call "
                f"{name}.compute_chunk_sizes()"
            )
    check_product(a.shape, b.shape)


class _Chunk(NamedTuple):
    """A chunk of an operand, as an argument of a task.

    Attributes
    ----------
    value : key or task
        A task becomes part of the one that takes the chunk.
    needs : set of key
        The results that are there before that task starts.
    """

    value: Any
    needs: set[Key]


Pair: TypeAlias = tuple[_Chunk, _Chunk]


class _Operand:
    """The chunks of an array, and the layers of a graph that they come from.

    What Dask would fuse with a task that takes a chunk becomes part of this task, such as the
    reading of a file. A chunk of another kind is the result of a task of its own.
    """

    def __init__(self, x: Any) -> None:
        dask, blockwise = require("dask", EXTRA), require("dask.blockwise", EXTRA)
        keys = list(dask.core.flatten(x.__dask_keys__()))
        graph = blockwise.fuse_roots(blockwise.optimize_blockwise(x.dask, keys), keys)
        self.layers, self.dependencies = dict(graph.layers), dict(graph.dependencies)
        self.needs, self._numblocks = {x.name}, x.numblocks
        self._chunks = {key[1:]: _Chunk(key, {key}) for key in keys}
        if isinstance(self.layers[x.name], blockwise.Blockwise):
            layer, before = self.layers.pop(x.name), graph.get_all_dependencies()
            self.needs = self.dependencies.pop(x.name)
            self._chunks = {key[1:]: _Chunk(layer[key], before[key]) for key in keys}

    def at(self, *place: int) -> _Chunk:
        """Return a chunk; where the array has one chunk of an axis, or no such axis, it repeats."""
        own = zip(place[-len(self._numblocks) :], self._numblocks, strict=True)
        return self._chunks[tuple(min(i, count - 1) for i, count in own)]


def _total(rows: Any, columns: Any, ring: Semiring, argmax: bool, meta: Array) -> Any:
    """Return the product of arrays (..., m, k) and (..., k, n); with `argmax`, of `Attained`."""
    da, dask = require("dask.array", EXTRA), require("dask", EXTRA)
    functions = (_attained, _attained_with, _best) if argmax else (_product, _product_with, _sum)
    multiply, multiply_with, add = (partial(function, ring=ring) for function in functions)
    batch = tuple(range(max(rows.ndim, columns.ndim) - 2))
    m, k, n = "mkn"
    # An axis of length 1 with an empty chunk beside would be broadcast chunk by chunk.
    rows, columns = (
        x.rechunk({axis: 1 for axis, length in enumerate(x.shape) if length == 1})
        for x in (rows, columns)
    )
    chunks, arrays = da.unify_chunks(
        rows,
        (*batch[len(batch) + 2 - rows.ndim :], m, k),
        columns,
        (*batch[len(batch) + 2 - columns.ndim :], k, n),
        warn=False,
    )
    left, right = map(_Operand, arrays)
    token = dask.base.tokenize(*arrays, ring.name, argmax)
    name, term, part = (
        f"tropical-{kind}-{ring.name}-{token}" for kind in ("product", "gemm", "sum")
    )
    tasks: dict[Key, Any] = {}
    shape, steps = [len(chunks[axis]) for axis in (*batch, m, n)], range(len(chunks[k]))
    longest = min(RUN, max(1, prod(shape) * len(steps) // TASKS))
    for *outer, i, j in np.ndindex(*shape):
        products: list[Key] = []
        pairs = [(left.at(*outer, i, p), right.at(*outer, p, j)) for p in steps]
        for (a, b), *others in _runs(pairs, longest):
            task: Any = (multiply, a.value, b.value)
            for other in others:
                task = (multiply_with, task, *(chunk.value for chunk in other))
            products.append((term, len(products), *outer, i, j))
            tasks[products[-1]] = task
        # The sum under another name.
        tasks[(name, *outer, i, j)] = _sum_in_runs(products, (part, *outer, i, j), add, tasks)
    whole = dask.highlevelgraph.HighLevelGraph(
        {**left.layers, **right.layers, name: tasks},
        {**left.dependencies, **right.dependencies, name: left.needs | right.needs},
    )
    return da.Array(whole, name, tuple(chunks[axis] for axis in (*batch, m, n)), meta=meta)


def _runs(pairs: list[Pair], longest: int) -> Iterator[list[Pair]]:
    """Yield pairs of chunks in runs, of one pair if the chunks are results of other tasks.

    A task has the results of all tasks that it depends on before it starts. Two of them are chunks
    that a product holds anyhow, or stand for the files that the operands are read from.
    """
    for start in range(0, len(pairs), longest):
        run = pairs[start : start + longest]
        if len(set().union(*(chunk.needs for pair in run for chunk in pair))) <= 2:
            yield run
        else:
            yield from ([pair] for pair in run)


def _sum_in_runs(
    level: list[Key], part: Key, add: Callable[[Any, Any], Any], tasks: dict[Key, Any]
) -> Key:
    """Add tasks that sum the results of some keys in order, and return the key of the sum.

    A run of `RUN` results is added one by one, as they come, then the sums of the runs likewise. So
    few results wait for others, and the sums of many are not one chain of tasks.
    """
    depth = 0
    while len(level) > 1:
        sums = []
        for start in range(0, len(level), RUN):
            total, *others = level[start : start + RUN]
            for p, other in enumerate(others):
                key = *part, depth, start, p
                tasks[key] = add, total, other
                total = key
            sums.append(total)
        level, depth = sums, depth + 1
    return level[0]


def _without_axes(product: Any, a: Any, b: Any) -> Any:
    """Return a product of matrices without the axes that 1-D operands were given."""
    if a.ndim == 1:
        product = product[..., 0, :]
    return product[..., 0] if b.ndim == 1 else product


def _product(a: Array, b: Array, ring: Semiring) -> Array:
    """Return the product of two chunks."""
    return tropical.gemm(a, b, semiring=ring)


def _product_with(total: Array, a: Array, b: Array, ring: Semiring) -> Array:
    """Add the product of two chunks to `total`, an array that no other task sees."""
    return tropical.gemm(a, b, semiring=ring, out=total, accumulate=True)


def _sum(first: Array, second: Array, ring: Semiring) -> Array:
    """Return the sum of two products."""
    with np.errstate(all="ignore"):  # gemm warns of nothing, either
        total: Array = ring.add_ufunc(first, second)
    return total


def _attained(a: Array, b: Array, ring: Semiring) -> Attained:
    """Return the product of two chunks, its argmax, and how long its k is."""
    return *tropical.gemm(a, b, semiring=ring, return_argmax=True), a.shape[-1]


def _attained_with(total: Attained, a: Array, b: Array, ring: Semiring) -> Attained:
    """Return the better of `total` and of the product of two chunks."""
    return _best(total, _attained(a, b, ring), ring)


def _best(first: Attained, second: Attained, ring: Semiring) -> Attained:
    """Return the better of two products, element by element, and where it is attained."""
    (values, index, before), (others, other_index, k) = first, second
    if before == 0 or k == 0:  # a product of nothing, whose index is -1
        return second if before == 0 else first
    later = ring.better(others, values) | (np.isnan(others) & ~np.isnan(values))
    return (
        np.where(later, others, values),
        np.where(later, other_index + before, index),
        before + k,
    )
