"""A graph as arrays: read from arrays, masked arrays, SciPy's sparse arrays and networkx graphs.

`read` returns a dense array, whose missing edges are the semiring's zero, or `Edges`. `read` copies
nothing that it can avoid. SciPy and networkx are not imported here: nobody passes an object of a
module that the process has not imported.
"""

from __future__ import annotations

import reprlib
import sys
import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import semirings
from tropical.arrays import Array, check_square, is_kind, unmasked, widened

from .edge_arrays import Compressed, check_count
from .edge_arrays import Edges as Edges
from .edge_arrays import Mirrored as Mirrored

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.semirings import Semiring

# networkx graphs and SciPy's sparse arrays have no types of their own.
GraphLike: TypeAlias = ArrayLike | Any
# The name of an attribute of networkx's edges, or a function of two vertices and attributes.
Weight: TypeAlias = "str | Callable[[Any, Any, Any], float | None] | None"


def dense_of(graph: Array | Edges, ring: Semiring) -> Array:
    """Return a graph as an array, `ring`'s zero where there is no edge; an array unchanged."""
    if not isinstance(graph, Edges):
        return graph
    a = np.full((graph.n, graph.n), ring.zero(graph.dtype), graph.dtype)
    ring.add_ufunc.at(a, (graph.source, graph.target), graph.weight)
    return a


def matrix_of(a: GraphLike, ring: Semiring) -> Array:
    """Return `a` as an array without a copy, but a sparse array or a graph of networkx as a matrix.

    Where these have no edge, the matrix has `ring`'s zero.
    """
    if not is_sparse(a) and not _is_networkx(a):
        return unmasked("a", a)
    if set(ring.dtypes) == {"bool"}:
        pattern = read_pattern(a)
        if not isinstance(pattern, Edges):
            return pattern
        there = np.zeros((pattern.n, pattern.n), np.bool_)
        there[pattern.source, pattern.target] = True
        return there
    edges = _from_sparse(a, "a") if is_sparse(a) else _from_networkx(a, "weight", "a")
    return dense_of(edges, ring)


def edges_of(graph: Array | Edges, ring: Semiring) -> Edges:
    """Return the edges of an (n, n) array in the order of their sources; `Edges` unchanged."""
    if isinstance(graph, Edges):
        return graph
    source, target = np.nonzero(graph != ring.zero(graph.dtype))
    return Edges(len(graph), source, target, graph[source, target])


def both_ways(graph: Array | Edges, ring: Semiring) -> Array | Edges:
    """Return the graph in which each edge leads in both directions, the better of two counting."""
    if isinstance(graph, Edges):
        return graph.both_ways()
    return ring.add_ufunc(graph, graph.swapaxes(-1, -2))


def leads_both_ways(graph: Array | Edges, directed: bool) -> bool:
    """Return whether every edge leads in both directions, with the same weight."""
    return not directed or isinstance(graph, Mirrored)


def number_of_vertices(graph: Array | Edges) -> int:
    """Return n."""
    return graph.n if isinstance(graph, Edges) else int(graph.shape[-1])


def read(
    w: GraphLike,
    ring: Semiring,
    weight: Weight = "weight",
    keep: bool = False,
    name: str = "w",
) -> Array | Edges:
    """Return a graph as an array or as `Edges`, checked; `shortest_paths` says what `w` may be.

    `read` returns an array of the right dtype unchanged, so nobody may write to the result; one of
    float16 or bfloat16 becomes float32. `keep`: edges whose weight is the semiring's zero, which
    lead nowhere, may stay. `name`: the argument's, for errors.
    """
    graph = _read(w, ring, weight, name)
    if isinstance(graph, Edges):
        check_weights(graph.weight, ring, graph.least, name)
        return graph if keep else graph.without(ring.zero(graph.dtype))
    check_square(name, graph)
    ring.zero(graph.dtype)  # raises TypeError where the semiring has no such dtype
    check_weights(graph, ring, name=name)
    if not isinstance(w, np.ma.MaskedArray):  # the mask says where there is no edge
        _warn_of_zeros(graph, ring, name)
    return graph


def _warn_of_zeros(a: Array, ring: Semiring, name: str) -> None:
    """Warn of a matrix that seems to say "no edge" by 0, which is the best edge of all to `ring`.

    SciPy reads dense matrices so. Every path would have length 0, without an error. The sign is
    that most elements off the diagonal are 0 and none of them is `ring`'s zero. The first graph of
    a batch speaks for all: to count the zeros of 10,000 small graphs takes a seventh of the time.
    """
    n = a.shape[-1]
    if n < 2 or ring.add_ufunc is not np.minimum or not a.size:
        return
    a = a[(0,) * (a.ndim - 2)]
    zeros = a.size - np.count_nonzero(a)
    if 2 * zeros <= a.size - a.size // n:  # so few that the diagonal's need not be subtracted
        return
    off_diagonal = ~np.eye(n, dtype=np.bool_)
    values = a[..., off_diagonal]
    if 2 * np.count_nonzero(values) < values.size and not (values == ring.zero(a.dtype)).any():
        warnings.warn(
            f"{name}: most elements are 0, which is an edge of weight 0 in an array, not a missing "
            f"edge; where there is no edge, expected {ring.zero(a.dtype)}, or pass "
            f"scipy.sparse.csr_array({name})",
            stacklevel=_callers_level(),
        )


def _callers_level() -> int:
    """Return the ``stacklevel`` that names the line outside of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith("tropical."):
        level, frame = level + 1, frame.f_back
    return level


def check_weights(weights: Array, ring: Semiring, least: Any = None, name: str = "w") -> None:
    """Raise ValueError for a NaN, and for a weight that makes all paths with it the same.

    `least` is the least weight, where that is known.
    """
    if is_kind(weights.dtype, "bool") or not weights.size:
        return
    known = ring.add_ufunc is np.minimum and least is not None
    best: Any = least if known else ring.add_ufunc.reduce(weights, axis=None)
    if np.isnan(best):
        zero = ring.zero(weights.dtype)
        raise ValueError(f"{name}: expected numbers, got a NaN; {zero} says that there is no edge")
    if ring.nonnegative and weights.min() < 0:
        raise ValueError(
            f"{name}: expected weights of 0 or more for {ring.name}, got {weights.min()}"
        )
    if ring.multiply_ufunc is np.add and np.isinf(best) and best != ring.zero(weights.dtype):
        raise ValueError(f"{name}: expected weights of {ring}, got {best}")


def converted(given: Array, ring: Semiring, dtype: np.dtype[Any], name: str) -> Array:
    """Return weights in another dtype, in which the semiring's zero, no edge, is that of the dtype.

    Raises
    ------
    TypeError
        If the semiring has no such dtype.
    ValueError
        If the dtype does not have an integer, or another weight would become no edge.
    """
    zero = ring.zero(dtype)
    if is_kind(dtype, "bool"):
        return np.asarray(given).astype(dtype)
    closed = np.zeros(given.shape, np.bool_)
    if given.dtype.name in ring.dtypes:
        closed = np.asarray(given == ring.zero(given.dtype))
    with np.errstate(invalid="ignore", over="ignore"):
        weights = np.asarray(given).astype(dtype)
        weights[closed] = zero
        fits = weights != zero
        if is_kind(dtype, "integer"):
            fits &= weights == given
    if not (fits | closed).all():
        wrong = given[~(fits | closed)]
        raise ValueError(f"{name}: expected weights of {dtype}, got {wrong.flat[0]}")
    return weights


def read_pattern(a: GraphLike) -> NDArray[np.bool_] | Edges:
    """Return where a graph has edges, (..., n, n); an array of booleans is returned unchanged.

    A sparse array and a networkx graph are returned as `Edges`, whose weights mean nothing.
    """
    if isinstance(a, Edges):
        return a
    if _is_networkx(a) or is_sparse(a):
        return _from_sparse(a, "a") if is_sparse(a) else _from_networkx(a, None, "a")
    values = unmasked("a", a.filled(0) if isinstance(a, np.ma.MaskedArray) else a)
    values = widened(values, semirings.minplus)
    check_square("a", values)
    if not is_kind(values.dtype, "bool", "integer", "floating", "complexfloating"):
        raise TypeError(f"a: expected numbers or booleans, got dtype {values.dtype}")
    if is_kind(values.dtype, "floating", "complexfloating") and not np.isfinite(values).all():
        wrong = values[~np.isfinite(values)][0]
        raise ValueError(
            f"a: expected finite numbers, got {wrong}; pass np.isfinite(a) if {wrong} is no edge"
        )
    return values if values.dtype == np.bool_ else values != 0


def _read(w: GraphLike, ring: Semiring, weight: Weight, name: str) -> Array | Edges:
    if isinstance(w, Edges):
        return w
    if _is_networkx(w):
        return _from_networkx(w, weight, name)
    if is_sparse(w):
        return _from_sparse(w, name)
    zero = ring.zero("float64")
    if isinstance(w, np.ma.MaskedArray):
        values = widened(w.data, ring)
        a = np.array(values, dtype=_floating(values.dtype, name))
        a[np.ma.getmaskarray(w)] = zero
        return a
    a = widened(unmasked(name, w), ring)
    if a.dtype == np.bool_:
        return np.where(a, 1.0, zero)
    return a if a.dtype.isnative else a.astype(a.dtype.newbyteorder("="))


def _floating(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """Return the dtype of weights where a mask or a missing element says that there is no edge.

    Integers become float64, as in SciPy: an integer dtype has no infinity for "no path".
    """
    if not is_kind(dtype, "bool", "integer", "floating"):
        raise TypeError(f"{name}: expected real numbers, got dtype {dtype}")
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def is_sparse(w: object) -> bool:
    """Return whether `w` is one of SciPy's sparse arrays or matrices."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(w))


def _is_networkx(w: object) -> bool:
    """Return whether `w` is a graph of networkx."""
    module = sys.modules.get("networkx")
    return module is not None and isinstance(w, module.Graph)


def _from_sparse(w: Any, name: str) -> Edges:
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(f"{name}: expected (n, n), got {w.shape}")
    check_count(w.shape[0], name)
    rows = w.tocsr()  # which adds up what COO stores twice, as SciPy's own functions do
    if w.format == "bsr":  # blocks are filled up with 0
        rows.eliminate_zeros()
    m = int(rows.indptr[-1])  # the arrays may be longer
    values = rows.data[:m].astype(_floating(rows.dtype, name), copy=False)
    return Compressed(rows.shape[0], rows.indptr, rows.indices[:m], values)


def _from_networkx(graph: Any, weight: Weight, name: str) -> Edges:
    position = {vertex: i for i, vertex in enumerate(graph)}
    if callable(weight):  # as networkx calls it; None hides the edge
        listed = (
            (u, v, weight(u, v, attributes))
            for u, neighbors in graph.adjacency()
            for v, attributes in neighbors.items()
        )
        triples = [triple for triple in listed if triple[2] is not None]
    else:
        triples = list(graph.edges(data=weight, default=1))
    source, target = (
        np.array([position[triple[side]] for triple in triples], dtype=np.intp) for side in (0, 1)
    )
    values = np.array([_number(x, weight, name) for _, _, x in triples], dtype=np.float64)
    edges = Edges(len(position), source, target, values)
    if graph.is_directed():
        return edges
    return _mirrored(edges) if callable(weight) else edges.both_ways()


def _mirrored(edges: Edges) -> Edges:
    """Return edges, listed in both directions, as `Mirrored` if the weights of both are the same.

    A function may give each direction a weight of its own.
    """
    there, back = (
        edges.where(np.lexsort(ends))
        for ends in ((edges.target, edges.source), (edges.source, edges.target))
    )
    same = (
        np.array_equal(there.source, back.target)
        and np.array_equal(there.target, back.source)
        and np.array_equal(there.weight, back.weight)
    )
    # networkx lists an edge where its first end stands.
    return edges.where(edges.source <= edges.target).both_ways() if same else edges


def _number(x: Any, weight: Weight, name: str) -> float:
    got = ""
    try:
        # float() takes the real part of NumPy's complex numbers, and warns.
        if not isinstance(x, complex | np.complexfloating):
            return float(x)
    except OverflowError as error:
        got = str(error)
    except (TypeError, ValueError):
        pass  # which tell of float()
    got = got or reprlib.repr(x)
    raise TypeError(f"{name}: expected a number as an edge's {weight!r}, got {got}")
