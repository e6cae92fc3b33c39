"""Tables of the values of best paths between labelled vertices, from and to files."""

from __future__ import annotations

import csv
import difflib
import io
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropical import semirings

from .factor import Factor
from .other_paths import longest_paths, star_paths
from .paths import shortest_paths
from .progress import shown
from .sources import open_source
from .star import DivergenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tropical.arrays import Array
    from tropical.semirings import Semiring

    from .files import Named
    from .progress import Progress

ALL = "all"
SUFFIXES = (".csv", ".npy", ".npz")
BLOCK_BYTES = 1 << 26  # of rows that are in memory at a time, but for .npz


def vertices_in(name: str, named: Named) -> NDArray[np.intp]:
    """Return the vertices whose labels a file lists, one a line; all vertices for "all".

    Raises
    ------
    EdgeFileError
        If a label is that of no vertex; the message names the file, the line and near labels.
    """
    if name == ALL:
        return np.arange(len(named.labels))
    source = open_source(name)
    labels = [str(label) for label in named.labels.tolist()]
    number = {label: i for i, label in reversed(list(enumerate(labels)))}
    found = []
    lines = io.StringIO(source.text(), newline=None)  # which end as those of CSV do
    for line, text in enumerate(lines, 1):
        if not (label := text.strip()):
            continue
        if label not in number:
            near = difflib.get_close_matches(label, labels)
            hint = f"; near: {', '.join(near)}" if near else ""
            raise source.error(f"no vertex {label!r}{hint}", line)
        found.append(number[label])
    return np.array(found, np.intp)


def within(values: Array, ring: Semiring, limit: float | None) -> Array:
    """Return the values of paths; of a path that is worse than the limit, the semiring's zero."""
    if limit is None:
        return values
    worse = ring.add_ufunc(values, np.float64(limit)) != values
    return np.where(worse, ring.zero(values.dtype), values)


def number_text(value: Any) -> str:
    """Return a value as text: a whole number with all digits, another one with 15 digits.

    A float of 2**53 or more is another one: it does not say which whole number was meant.
    """
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    return f"{number:.0f}" if number.is_integer() and abs(number) < 2**53 else f"{number:.15g}"


def table_of(named: Named, ring: Semiring) -> Callable[[Array, Array], Array]:
    """Return a function that returns the values of best paths, (sources, targets).

    It computes with a factor, unless the elimination adds more edges than fit into memory.
    """
    try:
        return Factor(named.graph, ring, directed=named.directed).lengths
    except MemoryError:
        pass
    except DivergenceError:
        if ring is semirings.maxplus:
            longest_paths(named.ways(ring), indices=[])  # raises CycleError, with the cycle
        raise

    return partial(best_paths, named, ring)


def best_paths(
    named: Named,
    ring: Semiring,
    sources: Array | int | None,
    targets: Array | None,
    *,
    limit: float | None = None,
    predecessors: bool = False,
    progress: Progress = None,
) -> Any:
    """Return what the function of paths for a semiring returns; over maxplus without a limit."""
    options: dict[str, Any] = {"indices": sources, "targets": targets, "progress": progress}
    options["return_predecessors"] = predecessors
    if ring is semirings.minplus:
        return shortest_paths(named.graph, directed=named.directed, limit=limit, **options)
    if ring is semirings.maxplus:
        return longest_paths(named.ways(ring), **options)
    bounds = (sources, targets, limit, False)
    return star_paths(
        named.graph, ring, named.directed, predecessors, False, bounds, None, progress
    ).answer()


def write_table(
    file: IO[bytes],
    suffix: str,
    named: Named,
    ring: Semiring,
    sources: NDArray[np.intp],
    targets: NDArray[np.intp],
    limit: float | None,
    progress: Progress,
) -> None:
    """Write the values of the best paths from `sources` to `targets`, those within a limit.

    Parameters
    ----------
    file : binary file
    suffix : {".csv", ".npy", ".npz"}
        .csv: a line for each source, a column for each target, their labels in front. .npy: the
        array. .npz: the arrays ``values``, ``sources`` and ``targets``, the last two of labels.
    """
    table = table_of(named, ring)

    def find(sources: Array, targets: Array) -> Array:
        return within(table(sources, targets), ring, limit)

    with shown(progress) as report:
        blocks = _blocks(find, sources, targets, named.graph.dtype, report)
        if suffix == ".csv":
            _write_csv(file, named.labels[sources], named.labels[targets], blocks)
        elif suffix == ".npy":
            first = next(blocks)
            header = np.lib.format.header_data_from_array_1_0(first)
            header["shape"] = (len(sources), len(targets))
            np.lib.format.write_array_header_1_0(file, header)
            file.write(first.tobytes())
            file.writelines(block.tobytes() for block in blocks)
        else:
            values, labels = np.concatenate(list(blocks)), named.labels
            np.savez(file, values=values, sources=labels[sources], targets=labels[targets])


def _blocks(
    find: Callable[[Array, Array], Array],
    sources: Array,
    targets: Array,
    dtype: np.dtype[Any],
    report: Callable[[float], object],
) -> Iterator[Array]:
    """Yield the rows of a table in blocks, at least one."""
    step = max(BLOCK_BYTES // max(len(targets) * dtype.itemsize, 1), 1)
    for first in range(0, max(len(sources), 1), step):
        yield np.ascontiguousarray(find(sources[first : first + step], targets))
        report(min((first + step) / max(len(sources), 1), 1.0))


def _write_csv(file: IO[bytes], sources: Array, targets: Array, blocks: Iterator[Array]) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["", *targets.tolist()])
    labels = iter(sources.tolist())
    for block in blocks:
        for row in block.tolist():
            writer.writerow([next(labels), *map(number_text, row)])
    text.flush()
    text.detach()
