"""Closures of dense graphs on a GPU."""

from __future__ import annotations

import math
from typing import Any

from tropical import semirings
from tropical.arrays import check_apart
from tropical.graph.predecessors import NO_PREDECESSOR
from tropical.graph.star import DivergenceError
from tropical.semirings import Semiring

from . import kernels
from .libraries import Library, View, in_library_context, library_of, refuse
from .products import gemm, item_size, reads_of
from .runtime import Runtime


@in_library_context
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
    refuse(None, progress=progress)
    ring = semirings.get(semiring)
    library = library_of(a=a)
    _check_overwrite(library, a, overwrite, "a")
    return library.finish(_star(library, a, ring, overwrite, False, "a")[0])


@in_library_context
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
        Write the lengths into `w` itself. Not for JAX.
    return_predecessors : bool, default False
        Return the predecessors as well.
    indices, targets, limit, min_only, weight, progress
        As by default: a GPU computes the paths between all vertices.

    Returns
    -------
    lengths : array, (..., n, n)
        The lengths.
    predecessors : array of int32, (..., n, n)
        Only with `return_predecessors`: the vertex before j on the path from i; -9999 where there
        is no path, and for i itself. Of several best paths it may be another one than on the CPU.

    Raises
    ------
    DivergenceError
        If there is a cycle of negative weight. The error carries no cycle.
    NotImplementedError
        If an argument is given that a GPU does not take.
    ValueError, TypeError, NotInstalledError, RuntimeError
        As of `closure`.

    Notes
    -----
    As `closure`. Where weights of floats are negative, potentials may come first, and the call
    waits for the GPU after each round of them, at most n times.
    """
    if method not in ("auto", "FW"):
        raise NotImplementedError(
            f"method: expected 'auto' or 'FW' for an array on a GPU, got {method!r}; pass an array "
            "on the CPU"
        )
    refuse(None, indices=indices, targets=targets, limit=limit, progress=progress)
    refuse(False, min_only=min_only)
    return _paths(w, semirings.minplus, directed, return_predecessors, overwrite, unweighted)


@in_library_context
def widest_paths(
    w: Any,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    overwrite: bool = False,
    indices: Any = None,
    targets: Any = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: str = "weight",
    progress: None = None,
) -> Any:
    """Return the capacities of the widest paths on a GPU, as `tropical.graph.widest_paths`.

    Parameters
    ----------
    w : array, (..., n, n)
        Capacities of the edges, of PyTorch, CuPy or JAX, in the memory of a GPU; -inf (the least
        integer) where there is no edge.
    directed, return_predecessors, overwrite, indices, targets, limit, min_only, weight, progress
        As in `shortest_paths`; the greater of two capacities counts.

    Returns
    -------
    capacities : array, (..., n, n)
        The capacities.
    predecessors : array of int32, (..., n, n)
        As in `shortest_paths`.

    Raises
    ------
    NotImplementedError, ValueError, TypeError, NotInstalledError, RuntimeError
        As in `shortest_paths`.
    """
    refuse(None, indices=indices, targets=targets, limit=limit, progress=progress)
    refuse(False, min_only=min_only)
    return _paths(w, semirings.maxmin, directed, return_predecessors, overwrite)


@in_library_context
def minimax_paths(
    w: Any,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    overwrite: bool = False,
    indices: Any = None,
    targets: Any = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: str = "weight",
    progress: None = None,
) -> Any:
    """Return the heights of the lowest paths on a GPU, as `tropical.graph.minimax_paths`.

    Parameters
    ----------
    w : array, (..., n, n)
        Heights of the edges, of PyTorch, CuPy or JAX, in the memory of a GPU; +inf (the greatest
        integer) where there is no edge.
    directed, return_predecessors, overwrite, indices, targets, limit, min_only, weight, progress
        As in `shortest_paths`.

    Returns
    -------
    heights : array, (..., n, n)
        The heights.
    predecessors : array of int32, (..., n, n)
        As in `shortest_paths`.

    Raises
    ------
    NotImplementedError, ValueError, TypeError, NotInstalledError, RuntimeError
        As in `shortest_paths`.
    """
    refuse(None, indices=indices, targets=targets, limit=limit, progress=progress)
    refuse(False, min_only=min_only)
    return _paths(w, semirings.minmax, directed, return_predecessors, overwrite)


def _paths(
    w: Any,
    ring: Semiring,
    directed: bool,
    predecessors: bool,
    overwrite: bool,
    unweighted: bool = False,
) -> Any:
    """Return the products of the best paths, and the predecessors if they are asked for."""
    library = library_of(w=w)
    dtype = _check(library, w, ring, "w")
    _check_overwrite(library, w, overwrite, "w")
    edges = w
    if unweighted:  # which hides what is refused
        _check_elements(library, w, ring, "w")
        _refuse_minus_infinity(w, _rounds(ring, dtype))
        edges = library.where(w == ring.zero(dtype), w, library.full(w, (), dtype, 1))
    if not directed:
        axes = (*range(w.ndim - 2), w.ndim - 1, w.ndim - 2)
        turned = library.arranged(edges, axes, w.shape)
        less_is_better = bool(ring.better(0, 1))
        edges = library.where((turned < edges) == less_is_better, turned, edges)
    own = overwrite or edges is not w
    found, before = _lengths(library, edges, ring, dtype, own, predecessors)
    if overwrite and found is not w:
        w[...] = found
        found = w
    found = library.finish(found)
    return (found, library.finish(before)) if predecessors else found


def _lengths(
    library: Library, edges: Any, ring: Semiring, dtype: str, overwrite: bool, predecessors: bool
) -> tuple[Any, Any]:
    """Return what `_paths` does.

    Sums of negative fractions round: so a cycle of weight 0 can seem to improve, and each vertex of
    the cycle be the predecessor of the next one. Then `_shifted` has the answer, as on the CPU.
    """
    rounds = _rounds(ring, dtype)
    if ring is not semirings.minplus or not (rounds and bool((edges < 0).any())):
        return _star(library, edges, ring, overwrite, predecessors, "w")
    _refuse_minus_infinity(edges, rounds)
    if predecessors:
        return _shifted(library, edges, dtype, True)
    try:
        return _star(library, edges, ring, False, False, "w")
    except DivergenceError:
        return _shifted(library, edges, dtype, False)


def _rounds(ring: Semiring, dtype: str) -> bool:
    return dtype in ring.stored or dtype.startswith("float")


def _refuse_minus_infinity(w: Any, rounds: bool) -> None:
    if rounds and bool((w == -math.inf).any()):
        raise ValueError("w: expected weights of minplus (min, +), got -inf")


def _shifted(library: Library, edges: Any, dtype: str, predecessors: bool) -> tuple[Any, Any]:
    """Return what `_lengths` does; potentials make the weights positive first, in float64.

    D. B. Johnson, "Efficient algorithms for shortest paths in sparse networks", Journal of the ACM
    24(1), 1977. The potential of a vertex is the length of the best path to it from anywhere.
    """
    ring, n = semirings.minplus, edges.shape[-1]
    _check_elements(library, edges, ring, "w")
    wide = library.converted(edges, "float64")
    h = library.full(wide, (*wide.shape[:-2], 1, n), "float64", 0)
    for _ in range(n):
        shorter = library.minimum(h, gemm(h, wide, semiring=ring))
        if bool((shorter == h).all()):
            break
        h = shorter
    else:
        raise DivergenceError(f"w: a cycle improves with every round, over {ring.name}")
    shift = h[..., 0, :, None] - h
    wide = wide + shift
    none = library.full(wide, (), "float64", 0)
    wide = library.where(wide > 0, wide, none)
    lengths, before = _star(library, wide, ring, library.mutable, predecessors, "w")
    return library.converted(lengths - shift, dtype), before


def _check(library: Library, a: Any, ring: Semiring, name: str) -> str:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: expected (..., n, n), got {tuple(a.shape)}")
    if not ring.idempotent:
        raise ValueError(f"semiring: expected one whose stars are no series, got {ring.name}")
    dtype = library.dtype(a)
    if dtype not in (*ring.dtypes, *ring.stored):
        raise TypeError(f"{name}: expected a dtype of {ring.name}, got {dtype}")
    return dtype


def _check_overwrite(library: Library, a: Any, overwrite: bool, name: str) -> None:
    if not overwrite:
        return
    if not library.mutable:
        raise ValueError("overwrite: expected False, as arrays of this library are immutable")
    check_apart(name, *library.view(a)[1:], 1)


def _check_elements(library: Library, a: Any, ring: Semiring, name: str) -> None:
    if bool((a != a).any()):
        raise ValueError(f"{name}: expected numbers, got a NaN")
    if ring.nonnegative and bool((a < 0).any()):
        raise ValueError(
            f"{name}: expected numbers of 0 or more for {ring.name}, got a negative one"
        )


def _star(
    library: Library, a: Any, ring: Semiring, overwrite: bool, predecessors: bool, name: str
) -> tuple[Any, Any]:
    """Return the star of matrices, and the predecessors if they are asked for."""
    dtype = _check(library, a, ring, name)
    star = a if overwrite else library.copied(a)
    _check_elements(library, a, ring, name)
    before = _first_predecessors(library, a, ring, dtype) if predecessors else None
    diverged = library.full(a, (1,), "int32", 0)
    addresses, n = [library.view(diverged).address], a.shape[-1]
    if before is not None:
        side = kernels.SIDE * kernels.square_rows(dtype, True)
        pivots = library.empty(a, (side, side), "float64")
        addresses += [library.view(before).address, library.view(pivots).address]
    for matrix in _matrices(library.view(star), item_size(dtype)):
        _star_of_one(library.runtime(a), matrix, ring, dtype, *addresses)
        if before is not None:
            addresses[1] += n * n * 4
    if bool(library.finish(diverged)[0]):
        raise DivergenceError(f"{name}: a cycle improves with every round, over {ring.name}")
    return star, before


def _first_predecessors(library: Library, a: Any, ring: Semiring, dtype: str) -> Any:
    """Return i for each edge from i to j; the kernels replace the diagonal."""
    rows = library.arange(a, a.shape[-1]).reshape(-1, 1)
    none = library.full(a, (), "int32", NO_PREDECESSOR)
    numbers = library.expanded(rows, a.shape)
    return library.copied(library.where(a != ring.zero(dtype), numbers, none))


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


def _star_of_one(
    runtime: Runtime,
    a: View,
    ring: Semiring,
    dtype: str,
    diverged: int,
    before: int = 0,
    pivots: int = 0,
) -> None:
    """Replace one matrix by its star, and the predecessors, of int32, unless their address is 0."""
    paths = bool(before)
    shape = kernels.square_shape(ring, dtype, paths, runtime.architecture)
    block = shape.height
    n, (row, column), size = a.shape[0], a.strides, item_size(dtype)
    reads = (
        reads_of(size, (a.address,), (row, n), (column, n)),
        reads_of(size, (a.address,), (column, n), (row, n)),
    )
    products = kernels.product(ring, dtype, "predecessor" if paths else "none", shape, reads)
    tiles = -(-n // block)

    def at(i: int, j: int) -> tuple[int, int]:
        """Return the addresses of an element and of its predecessor."""
        tree = before + (i * n + j) * 4 if paths else 0
        return a.address + (i * row + j * column) * size, tree

    def multiply(
        left: tuple[int, int],
        right: tuple[int, int],
        c: tuple[int, int],
        lengths: tuple[int, int, int],
        **skip: int,
    ) -> None:
        m, width, k = lengths
        blocks = -(-m // block) * -(-width // block)
        integers = [left[0], right[0], *c, m, width, k]
        integers += [row, column, row, column, row, column, n, 1]
        integers += [1, 0, 0, 0, 0, 0, 0, 0, 0]  # no batch
        integers += [int(len(skip) == 2), skip.get("row", -1), skip.get("column", -1)]
        runtime.launch(products, blocks, [*integers, right[1], n])

    for tile in range(tiles):
        k = tile * block
        size_k = min(block, n - k)
        corner = [a.address, n, row, column, k, diverged, before, pivots]
        runtime.launch(kernels.star(ring, dtype, paths), 1, corner)
        if tiles == 1:
            return
        if paths:
            runtime.launch(kernels.rows(ring, dtype), tiles - 1, corner)
        else:
            multiply(at(k, k), at(k, 0), at(k, 0), (size_k, n, size_k), column=tile)
        # The columns last, as the rest needs them as they were: all ends then choose among the same
        # first halves of paths, so that the predecessors of equally good paths form no loop.
        multiply(at(0, k), at(k, 0), at(0, 0), (n, n, size_k), row=tile, column=tile)
        multiply(at(0, k), at(k, k), at(0, k), (n, size_k, size_k), row=tile)
