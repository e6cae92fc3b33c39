"""Graphs in text files that have a line for each edge: CSV and DIMACS."""

from __future__ import annotations

import csv
import importlib.util
import io
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from tropical import extras
from tropical.arrays import Array

from .edges import Edges

if TYPE_CHECKING:
    from .sources import Source

# Characters from which on pandas is faster than a loop, although it must be imported.
PANDAS_SIZE = 1 << 22
# Two of these words in the first line of a CSV without weights are names of columns.
NAMES = {"source", "target", "from", "to", "start", "end", "origin", "destination", "src", "dst"}
# Words that say that a weight is missing.
MISSING = {"na", "n/a", "none", "null"}

# m edges: the 2 m ends as numbers of labels, the labels, the m weights.
EdgeList: TypeAlias = tuple[Array, list[str], Array]


class _Layout(NamedTuple):
    """Which fields of a line are source, target and weight; no weight means 1."""

    where: list[int]
    named: bool  # whether the first line surely holds names
    only_two: bool  # whether a third field is an error


def read_csv(source: Source, columns: Sequence[str]) -> tuple[Array, Edges]:
    """Return the labels and the edges of a CSV, as `load` describes the file."""
    stream = io.StringIO(source.text(), newline="")
    delimiter = "\t" if source.suffix == ".tsv" else _delimiter(stream)
    rows = _rows(source, stream, delimiter)
    line, first = next(rows, (0, []))
    if not first:
        none = np.zeros(0, np.intp)
        return np.array([], np.str_), Edges(0, none, none, np.zeros(0))
    try:
        layout = _layout(first, columns)
        labels = [] if layout.named else list(dict.fromkeys(_ends(first, layout)))
    except ValueError as error:
        raise source.error(error, line) from None
    found = _by_pandas(stream, delimiter, layout, labels)
    ends, labels, weights = found or _by_rows(source, rows, layout, labels)
    if not layout.named:
        try:
            ends, labels, weights = _with_first(first, layout, ends, labels, weights)
        except ValueError as error:
            raise source.error(error, line) from None
    return np.array(labels, np.str_), Edges(len(labels), ends[::2], ends[1::2], weights)


def _delimiter(stream: io.StringIO) -> str:
    """Return what separates most fields in the first line, and go back to the begin."""
    lines = (line for line in stream if line.strip() and not line.lstrip().startswith("#"))
    first = next(lines, "")
    stream.seek(0)
    return max(
        ",;\t", key=lambda delimiter: len(next(csv.reader([first], delimiter=delimiter), []))
    )


def _rows(source: Source, stream: io.StringIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line, or of a row's last line, and the fields."""
    number, begun = 0, False

    def without_comments() -> Iterator[str]:
        nonlocal number, begun
        for line in stream:
            number += 1
            # A row that has begun goes on in this line: its label in quotes is no comment.
            if begun or not line.lstrip().startswith("#"):
                begun = True
                yield line

    try:
        for row in csv.reader(without_comments(), delimiter=delimiter, strict=True):
            begun = False
            fields = [field.strip() for field in row]
            if fields not in ([], [""]):
                yield number, fields
    except csv.Error as error:
        raise source.error(error, number) from None


def _layout(first: list[str], columns: Sequence[str]) -> _Layout:
    if all(name.isdecimal() for name in columns):
        where = [int(number) - 1 for number in columns] or list(range(min(len(first), 3)))
        return _Layout(where, named=False, only_two=len(where) == 2 and not columns)
    for name in columns:
        if not name.isdecimal() and name not in first:
            raise ValueError(f"no column {name!r} among {', '.join(first)}")
    where = [int(name) - 1 if name.isdecimal() else first.index(name) for name in columns]
    return _Layout(where, named=True, only_two=False)


def _ends(fields: list[str], layout: _Layout) -> list[str]:
    """Return source and target, or raise ValueError if the line lacks a field or has one more."""
    where = layout.where
    if len(where) < 2 or min(where) < 0 or max(where) >= len(fields):
        columns = ", ".join(str(i + 1) for i in where)
        expected = f"columns {columns}" if len(where) > 1 else "source and target"
        if len(fields) == 1:
            raise ValueError(
                f"expected {expected}, got one field, {fields[0]!r}; "
                "a comma, semicolon or tab separates fields (in .tsv only a tab)"
            )
        raise ValueError(f"expected {expected}, got {len(fields)} fields")
    if layout.only_two and any(fields[2:]):
        raise ValueError(f"expected 2 fields, as in the first line, got {len(fields)}")
    return [fields[i] for i in where[:2]]


def _weight(fields: list[str], layout: _Layout) -> float:
    return 1.0 if len(layout.where) < 3 else _number(fields[layout.where[2]])


def _number(text: str) -> float:
    if not _is_number(text) or text.lower().endswith("nan"):
        raise ValueError(f"the weight {text!r} is no number")
    return float(text)


def _by_rows(
    source: Source, rows: Iterator[tuple[int, list[str]]], layout: _Layout, labels: list[str]
) -> EdgeList:
    """Read the other lines one by one; `labels` are known already."""
    number = {label: i for i, label in enumerate(labels)}
    ends: list[int] = []
    weights: list[float] = []
    for line, fields in rows:
        try:
            ends += [number.setdefault(label, len(number)) for label in _ends(fields, layout)]
            weights.append(_weight(fields, layout))
        except ValueError as error:  # noqa: PERF203 - the line belongs to the message
            raise source.error(error, line) from None
    return np.array(ends, np.intp), list(number), np.array(weights)


def _by_pandas(
    stream: io.StringIO, delimiter: str, layout: _Layout, labels: list[str]
) -> EdgeList | None:
    """Read the other lines at once if they are many and plain; None if the loop must read them."""
    start = stream.tell()
    text = stream.read()
    stream.seek(start)
    # pandas drops a mark of the byte order, U+FEFF, from the first line that it reads.
    plain = not any(character in text for character in '"#\ufeff')
    if len(text) < PANDAS_SIZE or not plain or not importlib.util.find_spec("pandas"):
        return None
    pandas = extras.require("pandas", "'tropical-blas[pandas]'")
    # Before pandas 3.1 the last bit of a number is wrong by default.
    old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    try:
        table = pandas.read_csv(
            io.StringIO(text, newline=""),
            sep=delimiter,
            header=None,
            dtype=dict.fromkeys(layout.where[:2], object),
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            low_memory=False,
            **({"float_precision": "round_trip"} if old else {}),
        )
        sides = [table[i] for i in layout.where[:2]]
        weights = table[layout.where[2]] if len(layout.where) > 2 else np.ones(len(table))
    except (ValueError, KeyError):  # the loop finds the line
        return None
    if weights.dtype.kind not in "iuf" or (layout.only_two and table.shape[1] > 2):
        return None
    ends = np.array(labels + [""] * 2 * len(table), object)
    ends[len(labels) :: 2], ends[len(labels) + 1 :: 2] = sides
    numbers, found = pandas.factorize(ends)
    if any(not label or label != label.strip() for label in found):
        return None
    return numbers[len(labels) :].astype(np.intp), found.tolist(), np.asarray(weights, np.float64)


def _with_first(
    first: list[str], layout: _Layout, ends: Array, labels: list[str], weights: Array
) -> EdgeList:
    """Return the edges with that of the first line, unless this line holds names of columns."""
    own = dict.fromkeys(_ends(first, layout))
    new = len(own)
    if ends.min(initial=new) == new and _are_names(first, layout, labels[new:]):
        return ends - new, labels[new:], weights
    weight = _weight(first, layout)
    return np.append([0, new - 1], ends), labels, np.append(weight, weights)


def _are_names(first: list[str], layout: _Layout, others: list[str]) -> bool:
    """Return whether the first line holds names, whose labels are not among `others`.

    A word instead of a weight is a name, but "1,234" is a wrong number. Without weights, two known
    words are names, and so are two words above numbers alone.
    """
    if len(layout.where) > 2:
        word = first[layout.where[2]]
        return word[:1].isalpha() and word.lower() not in MISSING and not _is_number(word)
    own = _ends(first, layout)
    numbers = all(label.isdecimal() for label in others)
    words = {label.lower() for label in own} <= NAMES
    return words or (bool(others) and numbers and not any(label.isdecimal() for label in own))


def _is_number(text: str) -> bool:
    if "_" in text:  # which Python reads between digits
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_dimacs(source: Source) -> tuple[Array, Edges]:
    """Return the vertices, from 1, and the edges of a file of DIMACS' shortest path challenge."""
    size: list[int] = []
    ends, weights = array("q"), array("d")
    for number, line in enumerate(io.StringIO(source.text()), 1):
        try:
            match line.split():
                case ["a", start, end, weight] if size:
                    ends.extend([_vertex(start, size[0]), _vertex(end, size[0])])
                    weights.append(_number(weight))
                case ["p", "sp", vertices, arcs] if not size:
                    size = [_count(vertices), _count(arcs)]
                case [] | ["c", *_]:
                    pass
                case _:
                    expected = "'a FROM TO WEIGHT'" if size else "'p sp VERTICES ARCS'"
                    raise ValueError(f"expected {expected}, got {line.strip()!r}")
        except ValueError as error:  # noqa: PERF203 - the line belongs to the message
            raise source.error(error, number) from None
    if not size or len(weights) != size[1]:
        expected = f"{size[1]} arcs, got {len(weights)}" if size else "a line 'p sp VERTICES ARCS'"
        raise source.error(f"expected {expected}")
    numbers = np.array(ends, np.intp) - 1
    return np.arange(1, size[0] + 1), Edges(size[0], numbers[::2], numbers[1::2], np.array(weights))


def _count(text: str) -> int:
    if int(text) < 0:
        raise ValueError(f"expected a number of 0 or more, got {text}")
    return int(text)


def _vertex(text: str, n: int) -> int:
    if not 1 <= int(text) <= n:
        raise ValueError(f"expected a vertex from 1 to {n}, got {text}")
    return int(text)
