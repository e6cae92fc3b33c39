"""The edges of a graph as arrays: in any order, or in the order of their sources (CSR)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical import _core
from tropical.arrays import Array

MOST_VERTICES = 2**31 - 1


@dataclass(frozen=True)
class Edges:
    """The m edges of a graph of n vertices; the best of several edges from i to j counts.

    Attributes
    ----------
    n : int
        Number of vertices.
    source, target : (m,) intp arrays
        The vertex that each edge leaves, and the vertex that it enters.
    weight : (m,) array
    """

    n: int
    source: NDArray[np.intp]
    target: NDArray[np.intp]
    weight: Array

    def __post_init__(self) -> None:
        check_count(self.n, "w")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the weights."""
        return self.weight.dtype

    @functools.cached_property
    def least(self) -> Any:
        """The least weight, NaN if any weight is NaN, 0 if there are no edges."""
        return self.weight.min() if len(self.weight) else self.weight.dtype.type(0)

    def where(self, chosen: Array | slice) -> Edges:
        """Return the chosen edges of the same vertices, by a mask, positions or a slice."""
        return Edges(self.n, self.source[chosen], self.target[chosen], self.weight[chosen])

    def with_weight(self, weight: Array) -> Edges:
        """Return the same edges with other weights."""
        return type(self)(self.n, self.source, self.target, weight)

    def without(self, zero: Any) -> Edges:
        """Return the edges that have another weight than `zero`; the same object if all have."""
        there = self.weight != zero
        return self if there.all() else self.where(there)

    def both_ways(self) -> Mirrored:
        """Return the graph in which each edge leads in both directions."""
        ends = np.append(self.source, self.target), np.append(self.target, self.source)
        return Mirrored(self.n, *ends, np.append(self.weight, self.weight))


class Mirrored(Edges):
    """Edges that lead in both directions: the second half of them leads back."""

    def once(self) -> Edges:
        """Return the first half."""
        return self.where(slice(len(self.weight) // 2))

    def without(self, zero: Any) -> Edges:
        """Return the edges that have another weight than `zero`, which still lead back."""
        half = self.once()
        rest = half.without(zero)
        return self if rest is half else rest.both_ways()


class Compressed(Edges):
    """Edges in the order of their sources; those of vertex i begin at ``start[i]``.

    Attributes
    ----------
    start : (n + 1,) array of int32 or int64
        From 0 to m.
    head : (m,) array of int32
        The targets. `source` and `target` are made when they are asked for: a short search must
        not pay for all edges.
    """

    start: NDArray[Any]
    head: NDArray[np.int32]
    _checked: bool

    def __init__(self, n: int, start: NDArray[Any], head: NDArray[Any], weight: Array) -> None:
        if head.dtype.itemsize > 4:
            _check_heads(head.astype(np.intp, copy=False), n)
        values = {
            "n": n,
            "start": np.ascontiguousarray(start),
            "head": np.ascontiguousarray(head, dtype=np.int32),
            "weight": weight,
            "_checked": False,
        }
        self.__dict__.update(values)  # a frozen class has no other way

    def with_weight(self, weight: Array) -> Compressed:
        """Return the same edges with other weights."""
        other = Compressed(self.n, self.start, self.head, weight)
        other.__dict__["_checked"] = self._checked
        return other

    @functools.cached_property
    def source(self) -> NDArray[np.intp]:
        """The vertex that each edge leaves."""
        self.check()
        return np.repeat(np.arange(self.n, dtype=np.intp), np.diff(self.start))

    @functools.cached_property
    def target(self) -> NDArray[np.intp]:
        """The vertex that each edge enters."""
        self.check()
        return self.head.astype(np.intp)

    def check(self) -> None:
        """Raise ValueError unless each edge is between vertices: users can write to SciPy's arrays.

        Best-first searches do without, as they look at each edge themselves.
        """
        if self._checked:
            return
        start = self.start
        if (
            len(start) != self.n + 1
            or start[0] != 0
            or start[-1] != len(self.head)
            or (start[1:] < start[:-1]).any()
        ):
            raise ValueError(f"w: expected {self.n + 1} starts of edges that rise from 0")
        _check_heads(self.head, self.n)
        self.__dict__["_checked"] = True


def check_count(n: int, name: str) -> None:
    """Raise ValueError if int32, in which the core numbers vertices, does not have so many."""
    if n > MOST_VERTICES:
        raise ValueError(f"{name}: expected at most {MOST_VERTICES} vertices, got {n}")


def _check_heads(head: NDArray[Any], n: int) -> None:
    """Raise ValueError unless edges, native integers, lead to vertices from 0 to n - 1."""
    if len(head) and head.view(f"u{head.itemsize}").max() >= n:  # negative ones, too
        wrong = head[(head < 0) | (head >= n)][0]
        raise ValueError(f"w: expected edges between its vertices, 0 to {n - 1}, got {wrong}")


def compressed(edges: Edges) -> Compressed:
    """Return edges in the order of their sources, those of one source in their order."""
    if isinstance(edges, Compressed):
        return edges
    if len(edges.source) and (np.diff(edges.source) < 0).any():
        edges = edges.where(np.argsort(edges.source, kind="stable"))
    return Compressed(edges.n, starts_of(edges), edges.target, edges.weight)


def starts_of(edges: Edges) -> NDArray[np.intp]:
    """Return where the edges of each vertex start in the order of their sources, (n + 1,)."""
    start = np.zeros(edges.n + 1, np.intp)
    np.cumsum(np.bincount(edges.source, minlength=edges.n), out=start[1:])
    return start


def in_core(edges: Edges, weight: Array | None = None, *, check: bool = True) -> _core.Search:
    """Return the core's view of a graph, of the edges' weights or of others in their order."""
    by_source = compressed(edges)
    if check:
        by_source.check()
    weight = by_source.weight if weight is None else weight
    if weight.dtype not in (np.float32, np.float64) or not weight.flags.c_contiguous:
        weight = np.ascontiguousarray(weight, np.float64)
    return _core.Search(by_source.start, by_source.head, weight)
