"""Closures of dense graphs on a GPU."""

from __future__ import annotations

import math
from typing import Any

from tropical import semirings
from tropical.graph.star import DivergenceError
from tropical.semirings import Semiring

from . import kernels
from .libraries import Library, View, library_of
from .products import item_size, reads_of

__all__ = ["closure", "shortest_paths"]


def closure(
    a: Any,
    semiring: str | Semiring = "minplus",
    *,
    symmetric: bool = False,
    overwrite: bool = False,
    progress: None = None,
) -> Any:
    """Return the Kleene star of square matrices on a GPU, as `tropical.graph.closure`.

    Parameters
    ----------
    a : array, (..., n, n)
        Edges, of PyTorch, CuPy or JAX, in the memory of a GPU.
    semiring : str or Semiring, default "minplus"
        Any but plustimes and logplus.
    symmetric : bool, default False
        Accepted, and of no use: all products are computed.
    overwrite : bool, default False
        Compute in `a` itself. Not for JAX.
    progress : None
        A GPU reports none.

    Returns
    -------
    array, (..., n, n)
        The star, in the library of `a`, on its GPU.

    Raises
    ------
    DivergenceError, ValueError, TypeError
        As of `tropical.graph.closure`.
    NotImplementedError
        If `progress` is given.
    NotInstalledError, RuntimeError
        As of `gemm`.

    Notes
    -----
    G. Venkataraman, S. Sahni and S. Mukhopadhyaya, "A blocked all-pairs shortest-paths algorithm",
    Journal of Experimental Algorithmics 8, 2003: for each block of 128 vertices (64 where numbers
    have 64 bits) four kernels, its corner, its rows, its columns and the rest. The call waits for
    the GPU twice: for a look at the operand, and for the check that no cycle improves.

    Where sums round, the last bits differ from those of the CPU, whose blocks are others.
    """
    if progress is not None:
        raise NotImplementedError(f"progress: expected None for arrays on a GPU, got {progress!r}")
    ring = semirings.get(semiring)
    library = library_of(a=a)
    dtype = _check(library, a, ring)
    if overwrite and not library.mutable:
        raise ValueError("overwrite: expected False, as arrays of this library are immutable")
    star = a if overwrite else library.copied(a)
    _check_elements(library, a, ring)
    diverged = library.full(a, (1,), "int32", 0)
    view = library.view(star)
    for matrix in _matrices(view, item_size(dtype)):
        _star(library, star, matrix, ring, dtype, library.view(diverged).address)
    if bool(library.finish(diverged)[0]):
        raise DivergenceError(f"a: a cycle improves with every round, over {ring.name}")
    return library.finish(star)


def shortest_paths(
    w: Any,
    method: str = "auto",
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
    targets: Any = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: str = "weight",
    progress: None = None,
) -> Any:
    """Return the lengths of the shortest paths on a GPU, as `tropical.graph.shortest_paths`.

    Parameters
    ----------
    w : array, (..., n, n)
        Weights of the edges, of PyTorch, CuPy or JAX, in the memory of a GPU; +inf (the greatest
        integer) where there is no edge.
    method : {"auto", "FW"}
        A GPU has one method, `closure`.
    directed : bool, default True
        False: each edge leads in both directions, with the lesser of two weights.
    unweighted : bool, default False
        Count edges: each edge weighs 1.
    overwrite : bool, default False
        Write the lengths into `w` itself, if they are computed there; as for `closure`.
    return_predecessors, indices, targets, limit, min_only, weight, progress
        As by default: a GPU computes all lengths, and lengths alone.

    Returns
    -------
    array, (..., n, n)
        The lengths.

    Raises
    ------
    DivergenceError
        If there is a cycle of negative weight. The error carries no cycle.
    NotImplementedError
        If an argument is given that a GPU does not take.
    ValueError, TypeError, NotInstalledError, RuntimeError
        As of `closure`.
    """
    for name, given, usual in (
        ("method", method, ("auto", "FW")),
        ("return_predecessors", return_predecessors, (False,)),
        ("indices", indices, (None,)),
        ("targets", targets, (None,)),
        ("limit", limit, (None,)),
        ("min_only", min_only, (False,)),
    ):
        if not any(given is one or (isinstance(one, str) and given == one) for one in usual):
            raise NotImplementedError(
                f"{name}: expected {' or '.join(map(repr, usual))} for an array on a GPU, got "
                f"{given!r}; pass an array on the CPU"
            )
    ring = semirings.minplus
    library = library_of(w=w)
    dtype = _check(library, w, ring)
    edges = w
    if unweighted:
        none = ring.zero(dtype)
        one = library.full(w, (), dtype, 1)
        edges = library.where(w == none, w, one)
    if not directed:
        axes = (*range(w.ndim - 2), w.ndim - 1, w.ndim - 2)
        turned = library.arranged(edges, axes, w.shape)
        edges = library.minimum(edges, turned)
    return closure(edges, ring, overwrite=overwrite or edges is not w, progress=progress)


def _check(library: Library, a: Any, ring: Semiring) -> str:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"a: expected (..., n, n), got {tuple(a.shape)}")
    if not ring.idempotent:
        raise ValueError(f"semiring: expected one whose stars are no series, got {ring.name}")
    dtype = library.dtype(a)
    if dtype not in (*ring.dtypes, *ring.stored):
        raise TypeError(f"a: expected a dtype of {ring.name}, got {dtype}")
    return dtype


def _check_elements(library: Library, a: Any, ring: Semiring) -> None:
    if bool((a != a).any()):
        raise ValueError("a: expected numbers, got a NaN")
    if ring.nonnegative and bool((a < 0).any()):
        raise ValueError(f"a: expected numbers of 0 or more for {ring.name}, got a negative one")


def _matrices(view: View, size: int) -> list[View]:
    """Return the matrices of a batch."""
    n, row, column = view.shape[-1], *view.strides[-2:]
    found = [View(view.address, (n, n), (row, column))]
    for length, stride in zip(view.shape[:-2], view.strides[:-2], strict=True):
        found = [
            View(one.address + i * stride * size, one.shape, one.strides)
            for one in found
            for i in range(length)
        ]
    return found if math.prod(view.shape) else []


def _star(library: Library, like: Any, a: View, ring: Semiring, dtype: str, diverged: int) -> None:
    """Replace one matrix by its star."""
    shape = kernels.square_shape(dtype)
    block = shape.height
    runtime = library.runtime(like)
    n, (row, column), size = a.shape[0], a.strides, item_size(dtype)
    reads = (
        reads_of(size, (a.address,), (row, n), (column, n)),
        reads_of(size, (a.address,), (column, n), (row, n)),
    )
    corner = kernels.star(ring, dtype)
    products = kernels.product(ring, dtype, False, shape, reads)
    tiles = -(-n // block)

    def at(i: int, j: int) -> int:
        return a.address + (i * row + j * column) * size

    def multiply(left: int, right: int, c: int, lengths: tuple[int, int, int], **skip: int) -> None:
        m, width, k = lengths
        blocks = -(-m // block) * -(-width // block)
        integers = [left, right, c, 0, m, width, k]
        integers += [row, column, row, column, row, column, 0, 0]
        integers += [1, 0, 0, 0, 0, 0, 0, 0, 0]  # no batch
        integers += [int(len(skip) == 2), skip.get("row", -1), skip.get("column", -1)]
        runtime.launch(products, blocks, integers)

    for tile in range(tiles):
        k = tile * block
        size_k = min(block, n - k)
        runtime.launch(corner, 1, [a.address, n, row, column, k, diverged])
        if tiles == 1:
            return
        multiply(at(k, k), at(k, 0), at(k, 0), (size_k, n, size_k), column=tile)
        multiply(at(0, k), at(k, k), at(0, k), (n, size_k, size_k), row=tile)
        multiply(at(0, k), at(k, 0), at(0, 0), (n, n, size_k), row=tile, column=tile)
