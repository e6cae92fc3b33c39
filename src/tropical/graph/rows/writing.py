"""`write_lengths`: rows of lengths from many vertices, into an array on disk."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from tropical import semirings

from ..all_pairs import sources_of
from ..available import available_bytes
from ..blocks.arrays import check_writeable, place_of, view_of
from ..blocks.crew import check_executor
from ..blocks.sizes import IN_PROCESS, bytes_of
from ..folds import count_of
from ..progress import Progress, shown
from ..wanted import number_of
from . import state as states
from . import stores
from .finders import Finder, checksum, checksum_of, edges_in, finder_of, method_of
from .state import State
from .tasks import Work, run

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tropical.arrays import Array
    from tropical.npz import PathLike
    from tropical.semirings import Semiring

    from ..edges import GraphLike, Weight
    from .stores import Store

# Rows of a block: the sweeps of a factor from more vertices at once are hardly faster.
_MOST = 256


def write_lengths(
    graph: GraphLike | Finder,
    out: PathLike | Any,
    semiring: str | Semiring = "minplus",
    *,
    sources: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    directed: bool = True,
    weight: Weight = "weight",
    labels: ArrayLike | None = None,
    memory: float | str | None = None,
    executor: Any = None,
    workers: int | None = None,
    threads: int | None = None,
    state: PathLike | None = None,
    resume: bool = True,
    progress: Progress = None,
) -> None:
    """Write the lengths of the best paths from many vertices, row by row, into an array on disk.

    Parameters
    ----------
    graph : sparse array (n, n), networkx graph, array_like (n, n), Factor or Searcher
        The edges, as in `factorize`. A factor is made of them, or searches find the paths,
        whichever takes less time.
    out : str, path or array, (sources, targets)
        A new file, ``.npy``, ``.zarr`` or ``.parquet``, or one that an earlier call began. Or an
        array of the dtype of the lengths whose slices can be written: a memmap, an array of Zarr, a
        dataset of h5py.
    semiring : str or Semiring, default "minplus"
        As in `factorize`; a `Factor` and a `Searcher` have their own, as they have `directed`.
    sources, targets : array_like of int, optional
        Vertices; all by default. Negative numbers count from the end.
    limit : float, optional
        A path that is worse than the limit is none.
    directed, weight
        As in `factorize`.
    labels : array_like of str or int, (n,), optional
        Names of the vertices, which a new file gets for its sources and targets; by default their
        numbers.
    memory : float or str, optional
        Bytes, or text such as ``"2GB"``, that the rows in the memory of one process may take,
        beside the graph and its factor; by default half of what is available.
    executor, workers, threads
        As in `closure_blocks`. Workers write themselves, so `out` must be a path, a memmap of a
        whole file or an array of Zarr in a folder, which all workers see under the same path. The
        graph goes to each worker once, in a file beside `state`.
    state : str or path, optional
        The file that says which rows are written; by default beside `out`, with the suffix
        ``.rows.json`` (of a view of a memmap also its first byte). It is that of one `out` alone.
    resume : bool, default True
        Continue what an earlier call left. False begins anew: then a path must be that of no file.
    progress : callable or bool, optional
        A function that is called now and then with the share that is done, up to 1. True draws a
        bar (needs rich).

    Raises
    ------
    ValueError
        If `out` has another shape, or an earlier call wrote lengths of another graph to it, or to
        other vertices; if it lacks rows that an earlier call wrote; if `memory` cannot hold the
        rows that must be written at once; or for a wrong graph, as in `factorize`.
    TypeError
        If `out` has another dtype, or an argument is of a wrong type.
    FileExistsError
        If there is a file at the path `out` that no earlier call began, or `resume` is False; if
        another process makes one while this call prepares the graph; or if the file for the labels
        of a new file is there. A call that is killed just after it made the file, and before
        `state`, leaves a file that must be deleted.
    NotInstalledError
        If `out` needs zarr or pyarrow, and that is not installed.
    OSError
        If the disk is full or fails. The next call continues.
    concurrent.futures.BrokenExecutor
        As in `closure_blocks`. The next call continues.

    Notes
    -----
    Some hundred rows are computed at a time. A block of rows counts as written once the file
    `state` says so, which is replaced in one step; after a kill, only blocks in progress are
    repeated. The next call reads what is written and compares checksums. The lengths have the same
    bits, whatever the executor and the restarts.

    If `out` is a symbolic link, the lengths go to its target, and the other files beside the link.
    A ``.npy`` file has a file ``.labels.npz`` beside it, with the arrays ``source`` and ``target``.
    A ``.zarr`` folder is a group of the arrays ``lengths``, ``source`` and ``target``, which xarray
    opens as a data set with coordinates. The files of Zarr survive a kill of the process; whether
    they survive a loss of power depends on the file system. A ``.parquet`` folder is a table with
    the columns ``source``, ``target`` and ``length`` and a line for each pair that a path joins, in
    the order of the sources; each of its files has a block of rows. A file of HDF5 may be
    unreadable after a kill or a full disk, with all its datasets.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import networkx as nx
    >>> import numpy as np
    >>> from tropical.graph import write_lengths
    >>> file = Path(tempfile.mkdtemp()) / "grid.npy"
    >>> write_lengths(nx.grid_2d_graph(30, 30), file, memory="1GB")
    >>> lengths = np.load(file, mmap_mode="r")
    >>> lengths.shape, float(lengths[0, 899])
    ((900, 900), 58.0)
    """
    ring, limit = semirings.get(semiring), number_of(limit)
    check_executor(executor, workers, threads)
    path = Path(out).absolute() if isinstance(out, (str, os.PathLike)) else None
    if path is None:
        _check_array(out, labels)
    side = _side(out if path is None else path, state)
    known = states.read(side) if resume else None
    place = "" if state is None else _place_from(side, out if path is None else path)
    if known is not None and known.out not in ("", place):
        raise ValueError(f"state: expected the state of {place}, got that of {known.out}: {side}")
    if path is not None and not path.exists():
        known = None
        stores.check_labels(path)
    elif path is not None and known is None:
        raise FileExistsError(
            errno.EEXIST,
            f"out: expected a new file, or {side.name} beside it and resume",
            str(path),
        )
    if path is not None:
        stores.check_installed(path)
    method = None if known is None else known.method
    finder = finder_of(graph, ring, directed, weight, count_of(sources), limit, method)
    ends = _vertices(finder, "sources", sources), _vertices(finder, "targets", targets)
    names = _labels(labels, finder.n)
    shape = len(ends[0]), len(ends[1])
    kind = finder.dtype.str
    asked = checksum(limit, *ends)
    begun = State(
        checksum_of(finder),
        asked,
        method_of(finder),
        shape,
        kind,
        0,
        out=place,
        labels="" if path is None else checksum(None, names[ends[0]], names[ends[1]]),
    )
    if known is not None:
        _check_same(begun, known, side)
    store = None
    if path is None or known is not None:
        store = stores.store_of(out) if path is None else stores.opened(path)
        _check_store(store, begun, executor)
    overhead = store.overhead if store is not None else stores.overhead_of(path)
    block, tasks = _block(begun, known, store, memory, executor, overhead)
    begun = replace(begun, block=block)
    sums: list[int | None] = [None] * begun.count if known is None else list(known.sums)
    if store is None:
        assert path is not None
        zero = finder.semiring.zero(finder.dtype)
        store = _created(path, side, begun, zero, (names[ends[0]], names[ends[1]]))
    elif known is None:
        begun.write(side, sums)
    store.check_disk()
    work = Work(
        store,
        begun,
        None if sources is None else ends[0],
        None if targets is None else ends[1],
        limit,
        1 if threads is None and executor is not None else threads,
        side.with_name(f".{side.name}.{uuid4().hex}.npz"),  # another call has its own
        finder,
    )
    _check_written(store, begun, sums)
    with shown(progress) as report:
        run(work, sums, side, report, executor, workers, tasks)


def _created(path: Path, side: Path, begun: State, zero: Any, labels: tuple[Array, Array]) -> Store:
    """Make a new file and its state, both or none."""
    if not path.exists():
        side.unlink(missing_ok=True)  # of a file that was deleted
    stores.create(path, begun, zero, labels)  # fails if another process has made the file meanwhile
    try:
        begun.write(side, [None] * begun.count)
    except BaseException:
        stores.remove(path)
        raise
    return stores.opened(path)


def _side(out: Any, state: PathLike | None) -> Path:
    """Return the file that says which rows are written."""
    if isinstance(out, Path) and out.suffix not in stores.SUFFIXES:
        known = ", ".join(stores.SUFFIXES)
        raise ValueError(f"out: expected a path that ends with one of {known}, got {out}")
    if state is not None:
        return _named_state(Path(state).absolute(), out)
    place = _place(out)
    if place is None:
        raise ValueError(f"state: expected a path, as {type(out).__name__} has none, got None")
    return Path(f"{place}{view_of(out)}.rows.json").absolute()


def _named_state(side: Path, out: Any) -> Path:
    if not side.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "state: expected a file in a folder that exists", str(side)
        )
    if (place := _place(out)) is not None:
        taken = Path(place).resolve()
        if side.resolve() in (taken, stores.labels_of(taken)):
            raise ValueError(f"state: expected another file than out and its labels, got {side}")
    return side


def _place_from(side: Path, out: Any) -> str:
    """Return where rows are, from the folder of `side` on, so that all may move together."""
    if (place := _place(out)) is None:
        return ""
    try:
        return os.path.relpath(place, side.parent) + view_of(out)
    except ValueError:  # of Windows, between two drives
        return place + view_of(out)


def _place(out: Any) -> str | None:
    return str(out) if isinstance(out, Path) else place_of(out)


def _check_array(out: Any, labels: ArrayLike | None) -> None:
    if not all(hasattr(out, name) for name in ("shape", "dtype", "__setitem__")):
        raise TypeError(f"out: expected a path or an array on disk, got {type(out).__name__}")
    if labels is not None:
        raise ValueError(f"labels: expected None, as out is an array, got {labels!r:.60}")
    check_writeable(out, "out")


def _vertices(finder: Finder, name: str, given: ArrayLike | None) -> NDArray[np.intp]:
    found = sources_of(given, edges_in(finder), name)
    return np.arange(finder.n) if found is None else found.ravel()


def _labels(labels: ArrayLike | None, n: int) -> Array:
    found = np.arange(n) if labels is None else np.asarray(labels)
    if found.shape != (n,):
        raise ValueError(f"labels: expected ({n},), got {found.shape}")
    if found.dtype.kind not in "USiu":
        raise TypeError(f"labels: expected text or integers, got dtype {found.dtype}")
    return found


def _check_same(begun: State, known: State, side: Path) -> None:
    """Raise ValueError if an earlier call wrote something else."""
    if begun.graph != known.graph:
        raise ValueError(f"graph: expected the graph whose lengths {side} notes, got another one")
    if begun.ends != known.ends:
        raise ValueError(
            f"sources, targets, limit: expected those whose lengths {side} notes, got others"
        )

    if known.labels and begun.labels and begun.labels != known.labels:
        raise ValueError(f"labels: expected those that {side} notes, got others")


def _check_written(store: Store, begun: State, sums: list[int | None]) -> None:
    """Raise ValueError if rows that an earlier call wrote are not there: `out` was made anew."""
    for number, known in enumerate(sums):
        first, last = begun.rows(number)
        if known is not None and store.checksum(first, last) != known:
            raise ValueError(
                f"out: expected the lengths of an earlier call in rows {first} to {last - 1}, got "
                "others or none; pass resume=False to begin anew"
            )


def _check_store(store: Store, begun: State, executor: Any) -> None:
    if store.shape != begun.shape:
        raise ValueError(f"out: expected shape {begun.shape}, got {store.shape}")
    if store.dtype != begun.dtype:
        raise TypeError(f"out: expected dtype {np.dtype(begun.dtype)}, got {store.dtype}")
    if executor is not None and not store.shared:
        raise ValueError(
            "out: expected a path, a memmap of a file or a folder of Zarr with an executor, got "
            "an array that other processes cannot write to"
        )


def _block(
    begun: State,
    known: State | None,
    store: Store | None,
    memory: float | str | None,
    executor: Any,
    overhead: int,
) -> tuple[int, int]:
    """Return the rows of a block, and how many blocks are in the memory of a process at once."""
    count = max(begun.shape[0], 1)
    step = 1 if store is None else min(store.step, count)
    most = min(max(_MOST, step), count)
    if known is not None:
        if known.block % step:
            raise ValueError(f"out: expected chunks of rows that divide {known.block}, got {step}")
        step = most = known.block
    row = max(begun.shape[1] * np.dtype(begun.dtype).itemsize, 1)
    limit = available_bytes() // 2 if memory is None else bytes_of(memory)
    room = (limit - overhead) // row
    if room < step:
        least = overhead + step * row
        raise ValueError(f"memory: expected at least {least} bytes for {step} rows, got {limit}")
    tasks = IN_PROCESS if executor is None and room >= IN_PROCESS * step else 1
    return min(room // tasks, most) // step * step, tasks
