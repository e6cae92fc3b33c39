"""``python -m tropical paths``: best paths in a graph that a file holds."""

from __future__ import annotations

import argparse
import difflib
import math
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import extras, semirings
from tropical.arrays import Array
from tropical.npz import whole_file

from .cycles import CycleError, show
from .edges import Edges, edges_of
from .files import Named, load
from .predecessors import path
from .rows import stores
from .rows.writing import write_lengths
from .search import improves
from .sources import EdgeFileError, unnamed
from .tables import SUFFIXES, best_paths, number_text, vertices_in, within, write_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tropical.semirings import Semiring

_OPTIONS = {"memory": "--memory", "out": "--all-pairs"}  # of the arguments of write_lengths


def main(argv: Sequence[str]) -> int:
    """Run the command; a wrong argument or file exits with 2 and a message that names it."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    alone = arguments.all_pairs is None and arguments.table is None
    if arguments.start is None and (alone or arguments.end is not None):
        parser.error("--from: expected the first vertex of the paths, or --all-pairs, or --table")
    if (arguments.memory or arguments.resume) and not _by_rows(arguments):
        option = "--memory" if arguments.memory else "--resume"
        parser.error(f"{option}: expected with --all-pairs OUT.zarr, OUT.parquet or OUT.npy")
    if arguments.targets and (arguments.start is None or arguments.end is not None):
        parser.error("--targets: expected with --from, and without --to")
    inputs = {"EDGES": arguments.edges, "--targets": arguments.targets}
    if arguments.table:
        inputs |= {"SOURCES": arguments.table[0], "TARGETS": arguments.table[1]}
    _check_outputs(parser, arguments, inputs)
    asking = [name for name, file in inputs.items() if file == "-"]
    if len(asking) > 1:
        got = " and ".join(asking)
        parser.error(f"-: expected for one argument, as standard input is read once, got {got}")
    if arguments.columns is not None:
        arguments.columns = [name.strip() for name in arguments.columns.split(",")]
        if not all(arguments.columns) or len(arguments.columns) > 3:
            got = ",".join(arguments.columns)
            parser.error(f"--columns: expected one to three names or numbers, got {got!r}")
    least = 0 if arguments.semiring == "minplus" else -math.inf
    if arguments.limit is not None and not arguments.limit >= least:
        what = "0 or more" if least == 0 else "a number"
        parser.error(f"--limit: expected {what}, got {arguments.limit:g}")
    try:
        for line in _run(arguments):
            print(line)
    except (EdgeFileError, extras.NotInstalledError, _OptionError) as error:
        parser.error(str(error))
    return 0


def _is_stream(out: str | None) -> bool:
    """Return whether an output is a pipe or a device, whose name says nothing of a format."""
    return (
        out is not None and Path(out).exists() and not (Path(out).is_file() or Path(out).is_dir())
    )


def _check_outputs(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace, inputs: dict[str, str | None]
) -> None:
    """End the command if the suffix of an output is unknown, or if the output is an input."""
    outputs: dict[str, tuple[str | None, tuple[str, ...]]] = {}
    if not _is_stream(arguments.all_pairs):
        outputs["--all-pairs"] = (arguments.all_pairs, (".npz", *stores.SUFFIXES))
    if arguments.table:
        outputs["--table"] = (arguments.table[2], SUFFIXES)
    for option, (out, suffixes) in outputs.items():
        if out is None:
            continue
        if Path(out).suffix.lower() not in suffixes:
            parser.error(f"{option}: expected OUT with one of {', '.join(suffixes)}, got {out}")
        for name, file in inputs.items():
            if file and Path(out).exists() and Path(file).exists() and Path(out).samefile(file):
                parser.error(f"{option}: expected another file than {name}, got {out}")


def _run(arguments: argparse.Namespace) -> Iterator[str]:
    ring = semirings.get(arguments.semiring)
    named = load(arguments.edges, ring, arguments.columns or ())
    if arguments.undirected:
        named = replace(named, directed=False)
    if arguments.table:
        _write_table(arguments, named, ring)
    start = None if arguments.start is None else _vertex(named, "--from", arguments.start)
    ends = None
    if arguments.targets:
        ends = vertices_in(arguments.targets, named)
    elif arguments.end is not None:
        ends = np.array([_vertex(named, "--to", arguments.end)])
    if _by_rows(arguments):
        _write_rows(arguments, named, ring)
    elif arguments.all_pairs is not None:
        with whole_file(Path(arguments.all_pairs)) as file:
            values, before = _paths(arguments, named, ring)
            np.savez(file, distances=values, predecessors=before, labels=named.labels)
        if start is not None:
            values, before = values[start, slice(None) if ends is None else ends], before[start]
    if start is not None and (arguments.all_pairs is None or _by_rows(arguments)):
        values, before = _paths(arguments, named, ring, start, ends)
    if start is not None:
        ends = np.arange(len(named.labels)) if ends is None else ends
        if arguments.end is None:
            yield from _lines(named, ring, start, ends, values, before)
        else:
            yield from _one_path(named, ring, start, int(ends[0]), values[0], before)


def _paths(
    arguments: argparse.Namespace,
    named: Named,
    ring: Semiring,
    start: int | None = None,
    ends: Array | None = None,
) -> Any:
    """Return values and predecessors, of all paths or of those from `start` and to `ends`.

    Predecessors are those of paths of any value: a path within the limit may pass vertices beyond.
    """
    with _named_errors(arguments.edges, named):
        free = improves(edges_of(named.graph, ring), ring)
        limit = None if free else arguments.limit
        options: dict[str, Any] = {"limit": limit, "progress": arguments.progress}
        values, before = best_paths(named, ring, start, ends, predecessors=True, **options)
    return within(values, ring, arguments.limit), before


def _by_rows(arguments: argparse.Namespace) -> bool:
    """Return whether `write_lengths` writes all pairs."""
    return Path(arguments.all_pairs or "").suffix.lower() in stores.SUFFIXES


def _write_rows(arguments: argparse.Namespace, named: Named, ring: Semiring) -> None:
    out = Path(arguments.all_pairs)
    if out.exists() and not arguments.resume:
        raise _OptionError(f"--all-pairs: expected a new file, or --resume, got {out}")
    with _named_errors(arguments.edges, named, arguments.all_pairs):
        write_lengths(
            named.graph,
            out,
            ring,
            directed=named.directed,
            limit=arguments.limit,
            labels=named.labels,
            memory=arguments.memory,
            progress=arguments.progress,
        )


def _write_table(arguments: argparse.Namespace, named: Named, ring: Semiring) -> None:
    *names, out = arguments.table
    sources, targets = (vertices_in(name, named) for name in names)
    path = Path(out)
    with _named_errors(arguments.edges, named), whole_file(path) as file:
        suffix = path.suffix.lower()
        bounds = (sources, targets, arguments.limit)
        write_table(file, suffix, named, ring, *bounds, arguments.progress)


@contextmanager
def _named_errors(file: str, named: Named, out: str | None = None) -> Iterator[None]:
    """Raise EdgeFileError, with the labels of vertices, for what is wrong with a graph.

    What is wrong with another argument, or with `out` and the files beside it, is an error of its
    option.
    """
    try:
        yield
        return
    except CycleError as error:
        cycle = show([named.labels[vertex] for vertex in error.cycle])
        what = f"has a cycle of weight {number_text(error.weight)}: {cycle}"
    except (ValueError, TypeError) as error:
        what = unnamed(error)
        name, _, rest = what.partition(": ")
        if out is not None and what.startswith(out):
            raise _OptionError(f"{_OPTIONS['out']}: {what}") from None
        if name in _OPTIONS:
            raise _OptionError(f"{_OPTIONS[name]}: {rest}") from None
    raise EdgeFileError(f"{file}: {what}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tropical paths",
        allow_abbrev=False,
        description="Best paths in a graph: CSV (source, target, weight), TSV, GraphML, "
        "MatrixMarket (.mtx), DIMACS (.gr), .npy or .npz, also compressed (.gz).",
    )
    parser.add_argument(
        "edges",
        metavar="EDGES",
        help="the file; its suffix says the format; - is a CSV from stdin",
    )
    parser.add_argument("--from", dest="start", metavar="A", help="the label of the first vertex")
    parser.add_argument(
        "--to", dest="end", metavar="B", help="the label of the last vertex; all by default"
    )
    parser.add_argument(
        "--semiring",
        default="minplus",
        choices=[ring.name for ring in semirings.ALL if ring.selective],
        help="minplus: shortest (default); maxplus: longest, without cycles; maxmin: widest; "
        "minmax: lowest; maxtimes: most probable; mintimes: least product",
    )
    parser.add_argument(
        "--all-pairs",
        metavar="OUT",
        help="write distances, predecessors and labels of all vertices to OUT.npz; or distances "
        "alone, row by row, to OUT.zarr (needs zarr), OUT.parquet (needs pyarrow) or OUT.npy",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="with --all-pairs row by row: what the rows in memory may take, such as 2GB",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="with --all-pairs row by row: continue what an earlier call left, or begin",
    )
    parser.add_argument(
        "--table",
        nargs=3,
        metavar=("SOURCES", "TARGETS", "OUT"),
        help="write the lengths from SOURCES to TARGETS, files of one label a line, or all, into "
        "OUT: .csv, .npy or .npz",
    )
    parser.add_argument(
        "--targets",
        metavar="FILE",
        help="with --from: only the paths to the labels in FILE, one a line",
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="X",
        help="a path that is worse than X is none: one that is longer, or, over maxplus, maxmin "
        "and maxtimes, of less value",
    )
    parser.add_argument("--undirected", action="store_true", help="edges lead in both directions")
    parser.add_argument(
        "--columns",
        metavar="A,B,WEIGHT",
        help="names or numbers of a CSV's columns; in GraphML, the name of the weight",
    )
    parser.add_argument(
        "--progress", action="store_true", help="show a bar on standard error (needs rich)"
    )
    return parser


class _OptionError(ValueError):
    pass


def _vertex(named: Named, option: str, label: str) -> int:
    try:
        return named.index(label)
    except KeyError:
        near = difflib.get_close_matches(label, [str(known) for known in named.labels])
        hint = f"; near: {', '.join(near)}" if near else ""
        raise _OptionError(f"{option}: no vertex {label!r}{hint}") from None


def _lines(
    named: Named, ring: Semiring, start: int, ends: Array, values: Array, before: Array
) -> Iterator[str]:
    """Yield a line for each of `ends` that a path leads to."""
    labels = [str(label) for label in named.labels]
    for place in np.flatnonzero(values != ring.zero(values.dtype)):
        stops = path(before, start, end := int(ends[place]))
        yield f"{labels[end]}\t{number_text(values[place])}\t{_show_path(stops, labels)}"


def _one_path(
    named: Named, ring: Semiring, start: int, end: int, value: Any, before: Array
) -> Iterator[str]:
    """Yield the path to `end` edge by edge."""
    labels = [str(label) for label in named.labels]
    if value == ring.zero(value.dtype):
        yield f"no path from {labels[start]} to {labels[end]}"
        return
    stops = path(before, start, end)
    yield f"{ring}: {number_text(value)}"
    yield _show_path(stops, labels)
    graph = named.ways(ring)
    for i, j in pairwise(stops):
        yield f"  {labels[i]} -> {labels[j]}\t{number_text(_edge(graph, ring, i, j))}"


def _show_path(stops: list[int], labels: list[str]) -> str:
    return " -> ".join(labels[stop] for stop in stops)


def _edge(graph: Edges | Array, ring: Semiring, i: int, j: int) -> Any:
    if not isinstance(graph, Edges):
        return graph[i, j]
    weights = graph.weight[(graph.source == i) & (graph.target == j)]
    return ring.add_ufunc.reduce(weights)
