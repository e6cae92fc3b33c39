"""Graphs in files: CSV, GraphML, MatrixMarket, and npz files of SciPy or of arrays."""

from __future__ import annotations

import csv
import inspect
import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tropical import extras
from tropical.arrays import Array

from . import edges as graphs
from .edges import Edges, number_of_vertices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tropical.semirings import Semiring

EXTRA = "'tropical-blas[graph]'"


class EdgeFileError(ValueError):
    """A file holds no graph; the message begins with the name of the file, and the line."""


@dataclass(frozen=True)
class Named:
    """A graph whose vertices have labels.

    Attributes
    ----------
    labels : (n,) array of str or int
        The labels of a CSV in the order of their first appearance; numbers if the file has none.
    graph : Edges or (n, n) array
        What `shortest_paths` takes.
    """

    labels: Array
    graph: Edges | Array

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
        ``.csv`` (or another suffix): one line per edge with source, target and weight; the weight
        is 1 if the line has none. Commas separate the fields, tabs in ``.tsv``. A first line whose
        weight is no number holds names; lines that begin with ``#`` are comments.
        ``.graphml``, read by networkx. ``.mtx``: MatrixMarket, read by SciPy; vertices count from
        1. ``.npz``: a file of ``scipy.sparse.save_npz``, or an array ``weights`` (or any single
        array) and optional ``labels``; vertices without labels count from 0.
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
    file = Path(file)
    read = {".graphml": _graphml, ".mtx": _matrix_market, ".npz": _npz}.get(file.suffix.lower())
    if read is None:
        return _csv(file, columns)
    if columns and read is not _graphml:
        raise EdgeFileError(f"{file}: expected no names of columns, got {', '.join(columns)}")
    try:
        return read(file, ring, columns)
    except (ValueError, TypeError) as error:
        if isinstance(error, EdgeFileError):
            raise
        raise EdgeFileError(f"{file}: {str(error).removeprefix('w: ')}") from error


def _csv(file: Path, columns: Sequence[str]) -> Named:
    position: dict[str, int] = {}
    source, target, weight = [], [], []
    for start, end, value in _csv_edges(file, columns):
        source.append(position.setdefault(start, len(position)))
        target.append(position.setdefault(end, len(position)))
        weight.append(value)
    edges = Edges(
        len(position), np.array(source, np.intp), np.array(target, np.intp), np.array(weight, float)
    )
    return Named(np.array(list(position), dtype=np.str_), edges)


def _csv_edges(file: Path, columns: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    text = io.StringIO(_text(file), newline="")
    lines: list[str] = []  # the lines of a row: a label in quotes that begins with # is no comment

    def noted() -> Iterator[str]:
        for line in text:
            lines.append(line)
            yield line

    rows = csv.reader(noted(), delimiter=delimiter, strict=True)
    where: list[int] | None = None
    try:
        for row in rows:
            comment = lines[0].lstrip().startswith("#")
            lines.clear()
            if comment or not row:
                continue
            fields = [field.strip() for field in row]
            if where is None:
                where, is_header = _columns(fields, columns)
                if is_header:
                    continue
            if len(where) == 2 and not columns and any(fields[2:]):
                raise ValueError(f"expected 2 fields, as in the first line, got {len(fields)}")
            yield _edge(fields, where)
    except (csv.Error, ValueError) as error:
        raise EdgeFileError(f"{file}:{rows.line_num}: {error}") from None


def _text(file: Path) -> str:
    data = file.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise EdgeFileError(f"{file}:{line}: is no UTF-8 text") from None


def _columns(first: list[str], wanted: Sequence[str]) -> tuple[list[int], bool]:
    """Return the positions of source, target and weight, and whether `first` is a line of names."""
    if any(not name.isdecimal() for name in wanted):
        missing = [name for name in wanted if not name.isdecimal() and name not in first]
        if missing:
            raise ValueError(f"no column {missing[0]!r} among {', '.join(first)}")
        where = [int(c) - 1 if c.isdecimal() else first.index(c) for c in wanted]
        return where, True
    where = [int(number) - 1 for number in wanted] or list(range(min(len(first), 3)))
    name = first[where[2]] if len(where) > 2 and where[2] < len(first) else ""
    return where, name != "" and not _is_number(name)


def _edge(fields: list[str], where: list[int]) -> tuple[str, str, float]:
    if len(where) < 2 or min(where) < 0 or max(where) >= len(fields):
        columns = ", ".join(str(i + 1) for i in where)
        expected = f"columns {columns}" if len(where) > 1 else "source and target"
        raise ValueError(f"expected {expected}, got {len(fields)} fields")
    if len(where) < 3:
        return fields[where[0]], fields[where[1]], 1.0
    weight = fields[where[2]]
    if not _is_number(weight) or weight.lower().endswith("nan"):
        raise ValueError(f"the weight {weight!r} is no number")
    return fields[where[0]], fields[where[1]], float(weight)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _graphml(file: Path, ring: Semiring, columns: Sequence[str]) -> Named:
    networkx = extras.require("networkx", EXTRA)
    try:
        graph = networkx.read_graphml(file)
    except Exception as error:
        if not hasattr(error, "position"):  # that of XML's parsers
            raise EdgeFileError(f"{file}: {error}") from error
        raise EdgeFileError(f"{file}:{error.position[0]}: {error}") from error
    if columns and graph.size() and all(columns[-1] not in x for *_, x in graph.edges(data=True)):
        raise EdgeFileError(f"{file}: no edge has {columns[-1]!r}")
    edges = graphs.read(graph, ring, columns[-1] if columns else "weight")
    return Named(np.array([str(node) for node in graph], dtype=np.str_), edges)


def _matrix_market(file: Path, ring: Semiring, columns: Sequence[str]) -> Named:
    mmread = extras.require("scipy.io", EXTRA).mmread
    sparse = extras.require("scipy.sparse", EXTRA)
    # From SciPy 1.18 on, mmread warns unless a call says which kind of array it expects.
    kind = {"spmatrix": False} if "spmatrix" in inspect.signature(mmread).parameters else {}
    try:
        matrix = sparse.csr_array(mmread(file, **kind))
    except (ValueError, OverflowError) as error:
        line = re.match(r"Line (\d+): ", str(error))
        where = f"{file}:{line[1]}" if line else str(file)
        raise EdgeFileError(f"{where}: {str(error)[line.end() if line else 0 :]}") from error
    return Named(np.arange(1, matrix.shape[0] + 1), graphs.read(matrix, ring))


def _npz(file: Path, ring: Semiring, columns: Sequence[str]) -> Named:
    try:
        # np.load alone would also read an .npy or a pickle.
        with zipfile.ZipFile(file), np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise EdgeFileError(f"{file}: {error}") from error
    labels = arrays.pop("labels", None)
    if "format" in arrays:
        sparse = extras.require("scipy.sparse", EXTRA)
        try:
            graph = graphs.read(sparse.load_npz(file), ring)
        except KeyError as error:
            raise EdgeFileError(f"{file}: {error.args[0]}") from error
    else:
        name = "weights" if "weights" in arrays else next(iter(arrays), None)
        if name is None or (len(arrays) > 1 and name != "weights"):
            raise EdgeFileError(f"{file}: no array 'weights' among {', '.join(arrays) or 'none'}")
        graph = graphs.read(arrays[name], ring)
        if not isinstance(graph, Edges) and graph.ndim > 2:
            raise EdgeFileError(f"{file}: {name}: expected (n, n), got {graph.shape}")
    n = number_of_vertices(graph)
    if labels is None:
        labels = np.arange(n)
    if labels.shape != (n,):
        raise EdgeFileError(f"{file}: labels: expected ({n},), got {labels.shape}")
    return Named(labels.astype(np.str_) if labels.dtype.kind == "S" else labels, graph)
