"""What finds the rows of lengths: a factor where elimination pays, else searches; also in files."""

from __future__ import annotations

import functools
import hashlib
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tropical import semirings
from tropical.arrays import is_kind
from tropical.npz import load_arrays, save_arrays

from ..edge_arrays import Compressed
from ..elimination import read_edges
from ..factor import Factor
from ..method import cheapest_of_rows
from ..other_paths import longest_paths
from ..search import improves
from ..searcher import Searcher
from ..star import DivergenceError
from ..weights import Weights

if TYPE_CHECKING:
    from pathlib import Path

    from tropical.semirings import Semiring

    from ..edges import Edges, GraphLike, Weight

Finder: TypeAlias = Factor | Searcher
FACTOR, SEARCHES = "E", "D"  # as in `shortest_paths`

_loading = threading.Lock()


def finder_of(
    graph: GraphLike | Finder,
    ring: Semiring,
    directed: bool,
    weight: Weight,
    sources: int | None,
    limit: float | None,
    method: str | None,
) -> Finder:
    """Return a factor or a searcher of a graph: of an earlier call's method, or of the cheapest.

    Parameters
    ----------
    graph, ring, directed, weight
        As in `write_lengths`.
    sources : int, optional
        From how many vertices paths are wanted; all by default.
    limit : float, optional
    method : str, optional
        What `method_of` returned.
    """
    if isinstance(graph, Finder):
        return graph._as_it_is() if isinstance(graph, Factor) else graph
    listed, directed = read_edges(graph, ring, directed, weight, keep=True)
    edges = listed.without(ring.zero(listed.dtype))
    if method is None:
        method = _choose(edges, ring, directed, sources, limit)
    if method == SEARCHES:
        return Searcher(edges, ring, directed=directed)
    try:
        return Factor._of(Weights(listed, ring, directed, None))  # as `factorize` makes it
    except DivergenceError:
        if ring is semirings.maxplus:
            ways = edges if directed else edges.both_ways()
            longest_paths(ways, indices=[])  # raises CycleError, which carries the cycle
        raise
    except MemoryError:
        if not _can_search(edges, ring):
            raise
        return Searcher(edges, ring, directed=directed)


def _can_search(edges: Edges, ring: Semiring) -> bool:
    free = ring is semirings.minplus or not improves(edges, ring)
    return ring.selective and is_kind(edges.dtype, "floating") and free


def _choose(
    edges: Edges, ring: Semiring, directed: bool, sources: int | None, limit: float | None
) -> str:
    """Return the method of the least estimated time.

    Where that is a closure by blocks, which needs all rows at once, elimination has almost as few
    operations.
    """
    if not _can_search(edges, ring) or not edges.n:
        return FACTOR
    if limit is not None:
        return SEARCHES  # which end at the limit
    count = edges.n if sources is None else sources
    choice = cheapest_of_rows(edges, ring, directed, count)
    return SEARCHES if choice.method == SEARCHES else FACTOR


def method_of(finder: Finder) -> str:
    """Return what `finder_of` takes to make the same finder again."""
    return FACTOR if isinstance(finder, Factor) else SEARCHES


def edges_in(finder: Finder) -> Edges:
    """Return the edges of a finder."""
    return finder._weights.edges if isinstance(finder, Factor) else finder._edges


def checksum_of(finder: Finder) -> str:
    """Return the SHA-256 of what decides the bits of rows: edges, semiring, order."""
    edges = edges_in(finder)
    parts, directed = [edges.source, edges.target, edges.weight], True
    if isinstance(finder, Factor):
        parts.append(finder._weights.elimination.order)
        directed = finder.directed
    return checksum((method_of(finder), finder.n, finder.semiring.name, directed), *parts)


def checksum(kind: object, *arrays: Any) -> str:
    """Return the SHA-256 of a text and of arrays."""
    found = hashlib.sha256(repr(kind).encode())
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).data if array.size else b"")
    return found.hexdigest()


def save(finder: Finder, path: Path) -> None:
    """Write a finder to an ``.npz`` file, from which each worker makes it once."""
    if isinstance(finder, Factor):
        finder.save(path)
        return
    edges = finder._edges
    arrays = {"start": edges.start, "head": edges.head, "weight": edges.weight}
    save_arrays(path, {**arrays, "semiring": np.array(finder.semiring.name)})


def load(path: Path, method: str, checksum: str) -> Finder:
    """Return the finder of a file, which this process reads once."""
    with _loading:  # other threads of this worker wait
        return _load(path, method, checksum)


def forget() -> None:
    """Free the finder that `load` has read, in this process."""
    _load.cache_clear()


@functools.lru_cache(maxsize=1)
def _load(path: Path, method: str, checksum: str) -> Finder:
    if method == FACTOR:
        return Factor.load(path)
    arrays = load_arrays(path)
    start = arrays["start"]
    edges = Compressed(len(start) - 1, start, arrays["head"], arrays["weight"])
    return Searcher(edges, str(arrays["semiring"]))
