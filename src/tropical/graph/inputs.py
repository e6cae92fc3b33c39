"""What a graph can be given as: arrays, masked arrays, SciPy's sparse ones, networkx's graphs.

`read` makes one of two things of them, without a copy where it can: a dense array whose missing
edges are the semiring's zero, or `Edges`. NumPy is enough: nobody who has not imported SciPy or
networkx passes what is theirs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]
# networkx's graphs and SciPy's sparse arrays have no types of their own.
GraphLike: TypeAlias = ArrayLike | Any


@dataclass(frozen=True)
class Edges:
    """The edges of a graph of n vertices; where several lead from i to j, the best counts.

    Attributes
    ----------
    n : int
        Number of vertices.
    source, target : (m,) intp arrays
        Where each edge leads from and to.
    weight : (m,) array
        Their numbers.
    """

    n: int
    source: NDArray[np.intp]
    target: NDArray[np.intp]
    weight: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the weights."""
        return self.weight.dtype

    def dense(self, ring: Semiring) -> Array:
        """Return the (n, n) array of the edges, `ring`'s zero where there is none."""
        a = np.full((self.n, self.n), ring.zero(self.dtype), self.dtype)
        add = np.minimum if ring.add == "min" else np.maximum
        add.at(a, (self.source, self.target), self.weight)
        return a

    def both_ways(self) -> Edges:
        """Return the graph in which each edge can be gone in both directions."""
        return Edges(
            self.n,
            np.concatenate([self.source, self.target]),
            np.concatenate([self.target, self.source]),
            np.concatenate([self.weight, self.weight]),
        )


def read(w: GraphLike, ring: Semiring, weight: str | None = "weight") -> Array | Edges:
    """Return a graph as an array or as `Edges`, checked; see `shortest_paths` for what `w` may be.

    An array of the right dtype is returned as it is: not to be written to.
    """
    graph = _read(w, ring, weight)
    if isinstance(graph, Edges):
        return _checked(graph, ring)
    if graph.ndim < 2 or graph.shape[-1] != graph.shape[-2]:
        raise ValueError(f"w: has shape {graph.shape}, (..., n, n) is wanted")
    ring.zero(graph.dtype)  # raises TypeError where the semiring has no such dtype
    _refuse_no_weights(graph, ring)
    return graph


def _refuse_no_weights(weights: Array, ring: Semiring) -> None:
    """Raise where a weight is none: a NaN, or so good that all paths with it are the same."""
    if weights.dtype.kind == "b" or not weights.size:
        return
    best = weights.min() if ring.add == "min" else weights.max()
    if np.isnan(best):
        raise ValueError(
            f"w: holds a NaN; where there is no edge stands {ring.zero(weights.dtype)}"
        )
    if ring.name == "maxtimes" and weights.min() < 0:
        raise ValueError(f"w: weights of maxtimes are not negative, got {weights.min()}")
    if ring.multiply == "+" and np.isinf(best) and best != ring.zero(weights.dtype):
        raise ValueError(f"w: holds {best}, which is no weight for {ring}")


def read_pattern(a: GraphLike) -> NDArray[np.bool_]:
    """Return where a graph has edges, (..., n, n); `a` itself if it is an array of booleans."""
    if _is_from("networkx", "Graph", a) or is_sparse(a):
        edges = _from_sparse(a) if is_sparse(a) else _from_networkx(a, None)
        there = np.zeros((edges.n, edges.n), np.bool_)
        there[edges.source, edges.target] = True
        return there
    values = np.asarray(a.filled(0) if isinstance(a, np.ma.MaskedArray) else a)
    if values.ndim < 2 or values.shape[-1] != values.shape[-2]:
        raise ValueError(f"a: has shape {values.shape}, (..., n, n) is wanted")
    if values.dtype.kind not in "buifc":
        raise TypeError(f"a: has dtype {values.dtype}, numbers or booleans are wanted")
    if values.dtype.kind in "fc" and not np.isfinite(values).all():
        wrong = values[~np.isfinite(values)][0]
        raise ValueError(f"a: holds {wrong}, which may or may not be an edge; np.isfinite(a) says")
    return values if values.dtype == np.bool_ else values != 0


def _checked(edges: Edges, ring: Semiring) -> Edges:
    """Return the edges without those that are none."""
    _refuse_no_weights(edges.weight, ring)
    there = edges.weight != ring.zero(edges.dtype)
    if there.all():
        return edges
    return Edges(edges.n, edges.source[there], edges.target[there], edges.weight[there])


def _read(w: GraphLike, ring: Semiring, weight: str | None) -> Array | Edges:
    if isinstance(w, Edges):
        return w
    if _is_from("networkx", "Graph", w):
        return _from_networkx(w, weight)
    if is_sparse(w):
        return _from_sparse(w)
    zero = ring.zero("float64")
    if isinstance(w, np.ma.MaskedArray):
        a = np.array(w.data, dtype=_floating(w.dtype))
        a[np.ma.getmaskarray(w)] = zero
        return a
    a = np.asarray(w)
    if a.dtype == np.bool_:
        return np.where(a, 1.0, zero)
    return a if a.dtype.isnative else a.astype(a.dtype.newbyteorder("="))


def _floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of weights where what is not there is said otherwise than by a value.

    Integers become float64, as they do in SciPy: their infinity would not be looked for.
    """
    if dtype.kind not in "buif":
        raise TypeError(f"w: has dtype {dtype}, real numbers are wanted")
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def is_sparse(w: object) -> bool:
    """Tell whether `w` is one of SciPy's sparse arrays or matrices."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(w))


def _is_from(module: str, kind: str, w: object) -> bool:
    """Tell whether `w` is a `module`.`kind`; if `module` was never imported, it is not."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(w, getattr(loaded, kind))


def _from_sparse(w: Any) -> Edges:
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(f"w: has shape {w.shape}, (n, n) is wanted")
    rows = w.tocsr()  # which adds up what COO has twice, as SciPy's own functions let it
    n = rows.shape[0]
    source = np.repeat(np.arange(n, dtype=np.intp), np.diff(rows.indptr))
    values = rows.data.astype(_floating(rows.dtype), copy=False)
    return Edges(n, source, rows.indices.astype(np.intp, copy=False), values)


def _from_networkx(graph: Any, weight: str | None) -> Edges:
    position = {vertex: i for i, vertex in enumerate(graph)}
    rows = [(position[u], position[v], x) for u, v, x in graph.edges(data=weight, default=1)]
    source, target = (
        np.array([row[side] for row in rows], dtype=np.intp).reshape(-1) for side in (0, 1)
    )
    values = np.array([_number(row[2], weight) for row in rows], dtype=np.float64)
    edges = Edges(len(position), source, target, values)
    return edges if graph.is_directed() else edges.both_ways()


def _number(x: Any, weight: str | None) -> float:
    try:
        # Of NumPy's complex numbers float takes a part, and warns.
        if not isinstance(x, complex | np.complexfloating):
            return float(x)
        why = f"{x!r}"
    except (TypeError, ValueError, OverflowError) as error:
        why = str(error)
    raise TypeError(f"w: an edge's {weight!r} is no number: {why}")
