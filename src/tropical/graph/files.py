"""Graphs in files: CSV, DIMACS, GraphML, MatrixMarket, and npy and npz files."""

from __future__ import annotations

import inspect
import io
import re
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import extras
from tropical.arrays import Array

from . import edges as graphs
from .edge_lists import read_csv, read_dimacs
from .edges import Edges, both_ways, number_of_vertices
from .elimination import read_edges
from .sources import EdgeFileError, open_source, unnamed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tropical.semirings import Semiring

    from .sources import Source

EXTRA = "'tropical-blas[graph]'"


@dataclass(frozen=True)
class Named:
    """A graph whose vertices have labels.

    Attributes
    ----------
    labels : (n,) array of str or int
        The labels of a CSV in the order of their first appearance; numbers if the file has none.
    graph : Edges or (n, n) array
        What `shortest_paths` takes.
    directed : bool
        Whether an edge leads in one direction alone.
    """

    labels: Array
    graph: Edges | Array
    directed: bool = True

    def ways(self, ring: Semiring) -> Edges | Array:
        """Return the graph with an edge for each direction that an edge leads in."""
        return self.graph if self.directed else both_ways(self.graph, ring)

    def index(self, label: str) -> int:
        """Return the vertex of that label; KeyError if there is none."""
        found = np.flatnonzero(self.labels.astype(str) == label)
        if not len(found):
            raise KeyError(label)
        return int(found[0])


def load(file: str | Path, ring: Semiring, columns: Sequence[str] = ()) -> Named:
    """Read a graph in the format that the suffix of the file names.

    Parameters
    ----------
    file : str or Path
        ``-`` is standard input, read as CSV. A file may be compressed by gzip; the format is then
        that of the suffix before ``.gz``.

        ``.csv`` (or another suffix): one line per edge with source, target and weight; the weight
        is 1 if the line has none. Commas, semicolons or tabs separate the fields, whichever gives
        the first line most fields; tabs in ``.tsv``. Lines that begin with ``#`` are comments.

        The first line holds names of columns if a word stands in place of the weight, and no other
        line has the same labels. Without weights, the first line holds names if both labels are
        words such as "source" and "target", or if all labels but these two are numbers.

        ``.graphml``, read by networkx. ``.mtx``: MatrixMarket, read by SciPy; vertices count from
        1. ``.gr``: the format of DIMACS' shortest path challenge; vertices count from 1. ``.npy``:
        a matrix; vertices count from 0. ``.npz``: a file of ``scipy.sparse.save_npz``, or an array
        ``weights`` (or any single array) and optional ``labels``, each of which is that of one
        vertex; vertices without labels count from 0.
    ring : Semiring
        The semiring whose zero means no edge in an array.
    columns : sequence of str, optional
        Source, target and weight in a CSV, by the names in its first line or by numbers from 1; in
        GraphML the last one is the name of the weight.

    Raises
    ------
    EdgeFileError
        If the file holds no graph; the message names the file, and the line if there are lines.
    OSError
        If the file cannot be read.
    NotInstalledError
        If SciPy or networkx is asked for and not installed.
    """
    source = open_source(file)
    if columns and source.suffix in (".gr", ".mtx", ".npy", ".npz"):
        raise source.error(f"expected no names of columns, got {', '.join(columns)}")
    try:
        match source.suffix:
            case ".graphml":
                return _graphml(source, ring, columns)
            case ".mtx":
                return _matrix_market(source, ring)
            case ".npy":
                with _damage_of(source):
                    w = np.lib.format.read_array(io.BytesIO(source.data), allow_pickle=False)
                return _numbered(source, ring, w)
            case ".npz":
                return _npz(source, ring)
            case ".gr":
                return Named(*read_dimacs(source))
            case _:
                return Named(*read_csv(source, columns))
    except (ValueError, TypeError) as error:
        if isinstance(error, EdgeFileError):
            raise
        raise source.error(unnamed(error)) from error


def _graphml(source: Source, ring: Semiring, columns: Sequence[str]) -> Named:
    networkx = extras.require("networkx", EXTRA)
    try:
        graph = networkx.read_graphml(io.BytesIO(source.data))
    except Exception as error:
        line, _ = getattr(error, "position", (None, None))  # of XML's parsers
        raise source.error(error, line) from error
    if columns and graph.size() and all(columns[-1] not in x for *_, x in graph.edges(data=True)):
        raise source.error(f"no edge has {columns[-1]!r}")
    labels = np.array([str(node) for node in graph], dtype=np.str_)
    return Named(labels, *read_edges(graph, ring, True, columns[-1] if columns else "weight"))


def _matrix_market(source: Source, ring: Semiring) -> Named:
    mmread = extras.require("scipy.io", EXTRA).mmread
    sparse = extras.require("scipy.sparse", EXTRA)
    # From SciPy 1.18 on, mmread warns unless a call says which kind of array it expects.
    kind = {"spmatrix": False} if "spmatrix" in inspect.signature(mmread).parameters else {}
    try:
        matrix = sparse.csr_array(mmread(io.BytesIO(source.data), **kind))
    except (ValueError, OverflowError) as error:
        line = re.match(r"Line (\d+): ", str(error))
        why = str(error)[line.end() if line else 0 :]
        raise source.error(why, int(line[1]) if line else None) from error
    return Named(np.arange(1, matrix.shape[0] + 1), graphs.read(matrix, ring))


def _npz(source: Source, ring: Semiring) -> Named:
    file = io.BytesIO(source.data)
    with _damage_of(source):
        zipfile.ZipFile(file).close()  # np.load alone would also read an .npy or a pickle
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise source.error(f"{name}: expected an array, got another file")
    labels = arrays.pop("labels", None)
    if "format" in arrays:
        sparse = extras.require("scipy.sparse", EXTRA)
        file.seek(0)
        with _damage_of(source):
            matrix = sparse.load_npz(file)
        return _numbered(source, ring, matrix, labels)
    name = "weights" if "weights" in arrays else next(iter(arrays), None)
    if name is None or (len(arrays) > 1 and name != "weights"):
        raise source.error(f"no array 'weights' among {', '.join(arrays) or 'none'}")
    return _numbered(source, ring, arrays[name], labels, f"{name}: ")


@contextmanager
def _damage_of(source: Source) -> Iterator[None]:
    """Raise EdgeFileError for what is wrong with a file of NumPy."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # zipfile, what decompresses, NumPy and SciPy raise many types
        why = error.args[0] if isinstance(error, KeyError) else error
        raise source.error(why) from error


def _numbered(
    source: Source, ring: Semiring, w: Any, labels: Array | None = None, name: str = ""
) -> Named:
    """Return a graph with its labels, or with the numbers of its vertices."""
    graph = graphs.read(w, ring)
    if not isinstance(graph, Edges) and graph.ndim > 2:
        raise source.error(f"{name}expected (n, n), got {graph.shape}")
    n = number_of_vertices(graph)
    if labels is None:
        return Named(np.arange(n), graph)
    if labels.shape != (n,):
        raise source.error(f"labels: expected ({n},), got {labels.shape}")
    if labels.dtype.kind not in "iu":
        labels = labels.astype(np.str_)
    different, counts = np.unique(labels, return_counts=True)
    if len(different) < n:
        label, count = different[counts.argmax()].item(), counts.max()
        raise source.error(f"labels: expected different ones, got {label!r} for {count} vertices")
    return Named(labels, graph)
