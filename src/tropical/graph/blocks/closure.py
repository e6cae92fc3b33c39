"""Kleene stars of matrices on disk: rounds of blocks that survive a kill."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import _core, semirings
from tropical.arrays import check_computed

from ..progress import Progress, shown
from ..star import DivergenceError, block_size
from . import arrays
from .crew import Crew, check_executor, with_progress
from .folder import BlockFolder
from .layout import Layout
from .lock import alone
from .schedule import Schedule
from .sizes import IN_PROCESS, bytes_of, check_disk, choose_block, element_bytes, task_bytes
from .tasks import Work, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tropical.npz import PathLike
    from tropical.semirings import Semiring

    from ..progress import Report
    from .schedule import Task


def closure_blocks(
    store: BlockFolder | PathLike | Any,
    semiring: str | Semiring = "minplus",
    *,
    block: int | None = None,
    memory: float | str | None = None,
    executor: Any = None,
    workers: int | None = None,
    threads: int | None = None,
    scratch: PathLike | None = None,
    predecessors: Any = False,
    resume: bool = True,
    progress: Progress = None,
) -> Any:
    """Replace a matrix on disk by its Kleene star, in rounds that survive a kill.

    Parameters
    ----------
    store : BlockFolder, path of one, or array (n, n)
        The matrix, the semiring's zero where there is no edge. An array is anything with a shape, a
        dtype and slices that can be read and written: a memmap, an array of Zarr, a dataset of
        h5py. Its rounds run in the folder `scratch`.
    semiring : str or Semiring, default "minplus"
        Any but plustimes and logplus.
    block : int, optional
        Rows and columns of a block of an array; a folder has its own, see
        `BlockFolder.from_array`.
    memory : float or str, optional
        Bytes, or text such as ``"2GB"``, that the blocks of one process may take; by default half
        of what is available. It bounds the size of an array's blocks.
    executor : executor or callable, optional
        What runs the tasks: an object whose ``submit`` returns futures, such as
        ``concurrent.futures.ProcessPoolExecutor``, ``dask.distributed.Client`` and mpi4py's
        ``MPIPoolExecutor``, or a function without arguments that makes one, which is called again
        when workers die. The workers must see the folder under the same path. By default this
        process runs the tasks, with all its threads.
    workers : int, optional
        How many tasks the executor runs at once; by default, what it says.
    threads : int, optional
        Threads of one task: by default 1 with an executor, else all.
    scratch : str or path, optional
        The folder for the rounds of an array, on a disk with room for it. By default beside the
        file of the array, with the suffix ``.closure``. Its files are deleted at the end.
    predecessors : bool or array (n, n) of int32, default False
        Keep the last vertex before each end, as ``shortest_paths(..., return_predecessors=True)``
        returns it, for a semiring whose (+) is max or min. For a folder True:
        `BlockFolder.predecessors` reads them. For an array another one, which they are written to.
    resume : bool, default True
        Continue what an earlier call left. False begins anew, from an array.
    progress : callable or bool, optional
        A function that is called now and then with the share that is done, up to 1. True draws a
        bar (needs rich).

    Returns
    -------
    BlockFolder or array
        The folder, or `store` if that is an array, which then holds the star.

    Raises
    ------
    DivergenceError
        If a cycle improves with every round. An array is unchanged.
    DamagedChunkError
        If a chunk is not what was written; the message names the file.
    ValueError
        If the matrix is not square, holds a NaN, or holds a negative number where the semiring has
        none, which the message names the chunk of; if `memory` cannot hold the blocks; if a folder
        holds the star of another semiring; if an array has changed since its rounds began; if the
        semiring has no predecessors, or the rounds have begun with them and go on without.
    TypeError
        If the semiring has no such dtype, or an argument is of a wrong type.
    BlockingIOError
        If another call runs the rounds of the array, here or in another process.
    OSError
        If the disk is full, too small, or fails. The next call continues.
    concurrent.futures.BrokenExecutor
        If a worker dies, and `executor` is not a function; or if workers die at a task three times.
        The next call continues.

    Notes
    -----
    Floyd and Warshall's algorithm by blocks (G. Venkataraman, S. Sahni and S. Mukhopadhyaya, "A
    blocked all-pairs shortest-paths algorithm", Journal of Experimental Algorithmics 8, 2003): in
    round k, block (k, k) becomes its star, then the blocks of row k and of column k take the paths
    through its vertices, then all others. A task reads at most three blocks and writes one. Tasks
    of the next round begin before a round ends, first those that others wait for. While one task
    computes, the next one reads and the last one writes.

    **The same bits.** If `block` is a multiple of the blocks of `closure` (the default is), the
    result has the bits of `closure`, whatever the executor, its workers' deaths and the restarts.
    For another `block`, sums of floating-point numbers may be rounded in another order.

    **Restarts.** A chunk is written to another file, flushed to the disk, and then renamed. Its
    name has its round, and no file ever changes. So a task may be repeated, or run twice at a time,
    and after a kill only tasks that were running are repeated. A task that takes five times as long
    as others, and a second or more, is given to another worker of `executor` as well, if one is
    free or no other task ends. The first worker may end after the call has returned; it does not
    write to another matrix that lies under the same path by then. An array is not written to before
    all rounds are done; a kill while the star is copied into it leaves the star in `scratch`, and
    the next call copies it again, unless HDF5 cannot open its file any more. Once a call has
    returned, the next one on that array takes the star as the matrix.

    **Predecessors.** They lie beside the chunks, are as safe, and resume in the same bits. Where no
    (x) rounds or saturates, `path` finds a path whose product is the stored length, also round
    cycles whose weight is one; else the product differs by rounding. Of equal paths, another
    `block` and `shortest_paths` may choose another one. Lengths may be rounded in another order
    than without predecessors. A task holds at most four blocks of lengths and four of predecessors.

    **Disk.** A folder grows by two block rows and two block columns, and by the predecessors. An
    array needs a folder of its size.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tropical.graph import BlockFolder, closure_blocks
    >>> inf = np.inf
    >>> road = np.array([[0, 7, inf, 2], [7, 0, 1, 3], [inf, 1, 0, inf], [2, 3, inf, 0]])
    >>> folder = BlockFolder.from_array(tempfile.mkdtemp(), road, block=2)
    >>> closure_blocks(folder)[0]
    array([0., 5., 6., 2.])
    >>> folder.state, folder.rounds
    ('star', 2)

    The same paths by their vertices:

    >>> from tropical.graph import path
    >>> folder = BlockFolder.from_array(tempfile.mkdtemp(), road, block=2)
    >>> star = closure_blocks(folder, predecessors=True)
    >>> path(star.predecessors[0], 0, 2)
    [0, 3, 1, 2]
    """
    ring = semirings.get(semiring)
    check_executor(executor, workers, threads)
    keep = predecessors is not False
    if keep and not ring.selective:
        raise ValueError(
            f"semiring: expected one whose (+) is max or min with predecessors, got {ring.name}"
        )
    if isinstance(store, (str, os.PathLike)):
        store = BlockFolder(store)
    run_all = partial(_run_all, ring, keep, block, memory, executor, workers, threads, progress)
    if isinstance(store, BlockFolder):
        if keep and predecessors is not True:
            kind = type(predecessors).__name__
            raise TypeError(f"predecessors: expected True or False for a folder, got {kind}")
        folder = Layout.at(store.path)
        _check_folder(folder, ring, scratch, resume)
        run_all(folder)
        return store
    if not all(hasattr(store, name) for name in ("shape", "dtype", "__setitem__")):
        kind = type(store).__name__
        raise TypeError(f"store: expected a folder or an array on disk, got {kind}")
    _check_ring(store.dtype, ring)
    n = (*store.shape, 0)[0]
    if tuple(store.shape) != (n, n):
        raise ValueError(f"store: expected (n, n), got {tuple(store.shape)}")
    arrays.check_writeable(store)
    if keep:
        arrays.check_predecessors(predecessors, n, store)
    path = arrays.scratch_of(store, scratch)
    choose = partial(choose_block, n, store.dtype, block, memory, keep)
    before = predecessors if keep else None
    with alone(path, keep=scratch is not None):
        folder = arrays.enter(store, before, path, choose, resume)
        try:
            run_all(folder)
        except (TypeError, ValueError):
            if folder.manifest.state == "matrix":  # a copy, which may not have the right blocks
                folder.delete()
            raise
        arrays.leave(store, before, folder)
    return store


def _run_all(
    ring: Semiring,
    predecessors: bool,
    block: int | None,
    memory: float | str | None,
    executor: Any,
    workers: int | None,
    threads: int | None,
    progress: Progress,
    folder: Layout,
) -> None:
    """Run the rounds of a folder that are left; the arguments are those of `closure_blocks`."""
    if block is not None and choose_block(folder.n, folder.dtype, block) != folder.block:
        raise ValueError(f"block: expected {folder.block}, as {folder.path} has, got {block}")
    tasks = _tasks_at_once(folder, memory, executor, predecessors)
    _begin(folder, ring, predecessors)
    if folder.manifest.state == "rounds":
        threads = 1 if threads is None and executor is not None else threads
        work = Work(folder, ring.name, block_size(folder.n), threads, predecessors)
        with shown(progress) as report:
            _run_rounds(work, partial(Crew, executor, workers, tasks, repeats=True), report)


def _check_ring(dtype: Any, ring: Semiring) -> None:
    """Raise the errors of `closure` for a dtype and a semiring."""
    # `closure` rounds stored dtypes after blocks of vertices of its own.
    check_computed("store", np.dtype(dtype), ring)
    _core.star(np.empty((0, 0), np.dtype(dtype).newbyteorder("=")), ring)


def _check_folder(
    folder: Layout,
    ring: Semiring,
    scratch: PathLike | None,
    resume: bool,
) -> None:
    if scratch is not None:
        raise ValueError(f"scratch: expected None, as {folder.path} is a folder, got {scratch}")
    if not resume and folder.manifest.state != "matrix":
        raise ValueError(
            f"resume: expected True, as the rounds of {folder.path} have begun, got False"
        )
    _check_ring(folder.dtype, ring)


def _tasks_at_once(
    folder: Layout, memory: float | str | None, executor: Any, predecessors: bool
) -> int:
    """Return how many tasks fit into the memory of this process, or of one with one task."""
    tasks = IN_PROCESS if executor is None else 1
    if memory is None:
        return tasks
    limit = bytes_of(memory)
    needs = [task_bytes(folder.block, folder.dtype, number, predecessors) for number in (1, tasks)]
    if limit < needs[0]:
        raise ValueError(
            f"memory: expected at least {needs[0]} bytes for blocks of {folder.block}, got {limit}"
        )
    return tasks if limit >= needs[1] else 1


def _begin(folder: Layout, ring: Semiring, predecessors: bool) -> None:
    """Note what the rounds compute, unless they have begun; raise the errors of `closure`."""
    known = folder.manifest
    if known.semiring not in (None, ring.name):
        raise ValueError(
            f"semiring: expected {known.semiring}, whose rounds {folder.path} has begun, got "
            f"{ring.name}"
        )
    if known.state != "matrix" and known.predecessors != predecessors:
        how = "with" if known.predecessors else "without"
        raise ValueError(
            f"predecessors: expected the rounds of {folder.path} to go on {how} them, as they have "
            f"begun, got {predecessors}"
        )
    if known.state == "diverged":
        raise DivergenceError(known.message)
    if known.state != "matrix":
        return
    if ring.nonnegative and known.least and known.least[0] < 0:
        low, name = known.least
        raise ValueError(f"{name}: expected numbers of 0 or more for {ring.name}, got {low}")
    new = replace(known, semiring=ring.name, state="rounds", predecessors=predecessors)
    new.write(folder.path)


def _run_rounds(work: Work, hire: Callable[[], Crew], report: Report) -> None:
    folder = work.folder
    levels = folder.levels()
    folder.remove_unfinished()
    folder.tidy(levels)
    schedule = Schedule(levels)
    done = sum(
        _products(folder, (i, j, k))
        for (i, j), taken in np.ndenumerate(levels)
        for k in range(taken)
    )

    def ended(task: Task, _: object) -> None:
        nonlocal done
        if schedule.end(task):
            folder.tidy(schedule.levels)
        done += _products(folder, task)
        report(done / folder.n**3)

    crew = hire()
    try:
        check_disk(folder.path, _growth(work, levels, crew.workers) if schedule.left else 0)
        crew.run(schedule, partial(run, work), ended)
    except DivergenceError as error:
        replace(folder.manifest, state="diverged", message=str(error)).write(folder.path)
        raise
    except OSError as error:
        taken = f"{folder.path} has taken {schedule.rounds} of {folder.count} rounds"
        raise with_progress(error, taken) from error
    finally:
        crew.close()
    replace(folder.manifest, state="star").write(folder.path)


def _growth(work: Work, levels: NDArray[np.intp], workers: int) -> int:
    """Return how many bytes of disk the rounds need beside the chunks that are there."""
    folder = work.folder
    panels = 4 * folder.n * folder.block * sum(layer.dtype.itemsize for layer in work.layers())
    running = (workers + 1) * folder.block**2 * element_bytes(folder.dtype, work.predecessors)
    new = sum(np.prod(folder.shape_of(i, j)) for i, j in np.argwhere(levels == 0))
    return panels + running + (int(new) * folder.before.dtype.itemsize if work.predecessors else 0)


def _products(folder: Layout, task: Task) -> int:
    """Return how many products of elements a task takes."""
    i, j, k = task
    rows, columns = folder.shape_of(i, j)
    return rows * columns * folder.shape_of(k, k)[0]
