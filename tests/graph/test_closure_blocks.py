"""Closures of matrices on disk, against `closure`: the same bits from every way to get there."""

import errno
import itertools
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support import assert_same_bits, check_refused, run_python

import tropical
from tropical import semirings
from tropical.graph import (
    BlockFolder,
    DamagedChunkError,
    DivergenceError,
    closure,
    closure_blocks,
)
from tropical.graph.blocks import filling, layout, tasks
from tropical.graph.blocks.chunks import read_chunk, write_chunk
from tropical.graph.blocks.schedule import Schedule
from tropical.graph.blocks.sizes import bytes_of, choose_block, task_bytes

IDEMPOTENT = [ring for ring in semirings.ALL if ring.exact]


def random_matrix(ring, dtype, n, seed=0):
    """Weights without cycles that improve, half of them missing; sums of floats round."""
    rng = np.random.default_rng((seed, n))
    if dtype == "bool":
        return rng.random((n, n)) < 2 / max(n, 1)
    if np.dtype(dtype).kind == "f":
        worst = {"minplus": 0, "maxplus": -1, "maxtimes": 0, "mintimes": 1}.get(ring.name, 0)
        a = (rng.random((n, n)) + worst).astype(dtype)
    else:
        a = rng.integers(1, 100, (n, n)).astype(dtype)
        if ring.name == "maxplus":
            a = np.negative(a) if np.dtype(dtype).kind == "i" else np.zeros_like(a)
        elif ring.name == "maxtimes":
            a = np.minimum(a, 1)
    a[rng.random((n, n)) < 0.5] = ring.zero(dtype)
    return a


def whole_numbers(n, dtype="float64"):
    """A matrix for minplus whose sums do not round: any block gives the bits of `closure`."""
    return np.rint(100 * random_matrix(semirings.minplus, "float64", n)).astype(dtype)


def star_on_disk(a, path, ring="minplus", **how):
    options = {name: how.pop(name) for name in ("block", "memory") if name in how}
    return closure_blocks(BlockFolder.from_array(path, a, **options), ring, **how)


def matrix_on_disk(n, block, path):
    """A matrix, and a folder with it."""
    a = whole_numbers(n, "float32")
    return a, BlockFolder.from_array(path, a, block=block)


@pytest.mark.parametrize("ring", IDEMPOTENT, ids=lambda ring: ring.name)
def test_the_bits_of_closure(ring, tmp_path):
    for dtype in ring.dtypes:  # `closure` has blocks of 320 for n = 520
        n, block = (520, 320) if dtype[0] == "f" else (65, 30)
        a = random_matrix(ring, dtype, n)
        found = star_on_disk(a, tmp_path / dtype, ring, block=block)
        assert (found.state, found.semiring) == ("star", ring.name)
        assert found.rounds == -(-n // block)
        assert_same_bits(found, closure(a, ring), dtype)


@pytest.mark.parametrize(
    "n, block", [(0, None), (1, None), (2, 2), (600, 320), (1300, 448), (1300, 896)]
)
def test_sizes(n, block, tmp_path):
    """`closure` has blocks of 320 and 448 here; sums round elsewhere for others."""
    a = random_matrix(semirings.minplus, "float32", n)
    found = star_on_disk(a, tmp_path, block=block)
    want = closure(a)
    assert_same_bits(found, want)
    if n:
        assert_same_bits(found[n // 2], want[n // 2])
        assert_same_bits(found[-1, 0], want[-1, 0])
        assert_same_bits(found[n // 3 :, : n // 2 + 1], want[n // 3 :, : n // 2 + 1])


def test_other_blocks_round_elsewhere(tmp_path):
    a = random_matrix(semirings.minplus, "float32", 600)
    found = np.asarray(star_on_disk(a, tmp_path, block=250))
    want = closure(a)
    assert (found != want).any()
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_files_are_arrays_of_numpy_and_nothing_else_stays(tmp_path):
    a, folder = matrix_on_disk(100, 40, tmp_path)
    assert_same_bits(np.load(tmp_path / "2-0.0.npy"), a[80:, :40])
    closure_blocks(folder)
    names = {f"{i}-{j}.3.npy" for i in range(3) for j in range(3)} | {"closure.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    again = closure_blocks(tmp_path)  # there is nothing to do
    assert_same_bits(again, closure(a))


def test_graphs_and_functions(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(1)
    graph = sparse.random_array((90, 90), density=0.05, rng=rng, format="coo")
    graph.data = np.rint(100 * graph.data)
    for ring in ("minplus", "maxmin", "orand"):
        folder = BlockFolder.from_graph(tmp_path / ring, graph, ring, block=32)
        assert_same_bits(closure_blocks(folder, ring), closure(graph, ring))
    narrow = BlockFolder.from_graph(tmp_path / "narrow", graph, dtype="float32", block=32)
    assert narrow.dtype == np.float32
    dense = BlockFolder.from_graph(tmp_path / "dense", np.ones((4, 4)), dtype="float32", block=3)
    assert_same_bits(dense, np.ones((4, 4), np.float32))
    table = np.arange(25.0).reshape(5, 5)
    made = BlockFolder.from_function(tmp_path / "made", lambda i, j: table[i, j], 5, float, block=2)
    assert_same_bits(made, table)


def test_progress_and_context(tmp_path):
    seen = []
    with tropical.options(threads=1):
        _, folder = matrix_on_disk(100, 30, tmp_path)
        closure_blocks(folder, progress=seen.append)
    assert len(seen) == 4**3 and seen[-1] == 1 and seen == sorted(seen)


def test_bad_arguments(tmp_path):
    _, folder = matrix_on_disk(10, 4, tmp_path / "folder")
    array = np.zeros((3, 3))
    check_refused(
        lambda store, how: closure_blocks(store, **how),
        (ValueError, "semiring: unknown", folder, {"semiring": "nonsense"}),
        (ValueError, "semiring: expected an idempotent", folder, {"semiring": "plustimes"}),
        (TypeError, "orand", folder, {"semiring": "orand"}),
        (ValueError, "block: expected 4", folder, {"block": 5}),
        (ValueError, "scratch: expected None", folder, {"scratch": tmp_path}),
        (ValueError, "memory: expected at least", folder, {"memory": 100}),
        (ValueError, "memory: expected bytes", folder, {"memory": "much"}),
        (TypeError, "memory: expected bytes", folder, {"memory": [1]}),
        (ValueError, "workers: expected 1", folder, {"workers": 0}),
        (ValueError, "threads: expected 1", folder, {"threads": 0}),
        (TypeError, "executor: expected an object", folder, {"executor": 3}),
        (FileNotFoundError, "expected a folder of BlockFolder", tmp_path / "none", {}),
        (TypeError, "store: expected a folder or an array", [[1.0]], {}),
        (ValueError, "scratch: expected a folder", array, {}),
        (TypeError, "threads: expected an integer or None, got str", folder, {"threads": "2"}),
        *(
            (ValueError, r"store: expected \(n, n\), got ", np.zeros(shape), {"scratch": "x"})
            for shape in ((), (2,), (2, 3), (2, 2, 2))
        ),
    )
    read_only = np.zeros((3, 3))
    read_only.flags.writeable = False
    check_refused(
        lambda *given, **how: BlockFolder.from_array(*given),
        (FileExistsError, "expected a new folder", tmp_path / "folder", array),
        (TypeError, "dtype: expected one of a semiring", tmp_path / "y", array.astype(complex)),
        (TypeError, "masked", tmp_path / "z", np.ma.masked_array(array, array == 0)),
    )
    with pytest.raises(ValueError, match="store: expected a writeable"):
        closure_blocks(read_only, scratch=tmp_path / "r")
    assert folder.state == "matrix" and folder.rounds == 0
    with pytest.raises(TypeError, match=r"executor: expected a function .* got NoneType"):
        closure_blocks(folder, executor=lambda: None)
    with pytest.raises(IndexError, match="without a step"):
        folder[::2]
    with pytest.raises(IndexError, match="expected -10 <= index < 10, got 10"):
        folder[10]


def test_what_closure_refuses(tmp_path):
    a = np.ones((10, 10))
    a[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"1-0\.0\.npy: expected numbers, got a NaN"):
        BlockFolder.from_array(tmp_path / "nan", a, block=4)
    a[7, 2] = -1
    BlockFolder.from_array(tmp_path / "nan", a, block=4)
    folder = BlockFolder.from_array(tmp_path / "negative", a, block=4)
    with pytest.raises(ValueError, match=r"1-0\.0\.npy: expected numbers of 0 or more.*got -1\.0"):
        closure_blocks(folder, "maxtimes")
    assert folder.state == "matrix"


def test_cycles_that_improve(tmp_path):
    a = np.full((90, 90), np.inf)
    i = np.arange(90)
    a[i, (i + 1) % 90] = 0
    a[89, 0] = -1
    folder = BlockFolder.from_array(tmp_path / "folder", a, block=20)
    for _ in range(2):  # the second time the folder says so
        with pytest.raises(DivergenceError, match=r"store: has no minplus star.*-1\.0"):
            closure_blocks(folder)
        assert folder.state == "diverged"
    array = a.copy()
    with pytest.raises(DivergenceError):
        closure_blocks(array, scratch=tmp_path / "scratch", block=20)
    assert_same_bits(array, a)
    array[89, 0] = 1
    with pytest.raises(ValueError, match=r"store: block \(4, 0\) has changed"):
        closure_blocks(array, scratch=tmp_path / "scratch", block=20)
    want = closure(array)
    closure_blocks(array, scratch=tmp_path / "scratch", block=20, resume=False)
    assert_same_bits(array, want)


def test_another_semiring_or_a_new_start_is_refused(tmp_path):
    _, folder = matrix_on_disk(10, 4, tmp_path)
    closure_blocks(folder)
    with pytest.raises(ValueError, match=r"semiring: expected minplus.*got maxmin"):
        closure_blocks(folder, "maxmin")
    with pytest.raises(ValueError, match="resume: expected True"):
        closure_blocks(folder, resume=False)


@pytest.mark.parametrize("byte", [200, -1, 20])
def test_a_flipped_byte_is_found(byte, tmp_path):
    _, folder = matrix_on_disk(100, 40, tmp_path)
    path = tmp_path / "1-2.0.npy"
    content = bytearray(path.read_bytes())
    content[byte] ^= 16
    path.write_bytes(content)
    with pytest.raises(DamagedChunkError, match=r"1-2\.0\.npy: the chunk is damaged"):
        closure_blocks(folder)
    path.write_bytes(content[:-100])
    with pytest.raises(DamagedChunkError, match=r"1-2\.0\.npy: the chunk is damaged"):
        folder[45, 90]


def test_every_flipped_bit_of_words_is_found(tmp_path):
    """Also where sums of words stand for the bytes."""
    a = np.random.default_rng(0).random((200, 100))
    path = tmp_path / "a.npy"
    write_chunk(path, a)
    assert_same_bits(read_chunk(path, a.shape, a.dtype), a)
    content = path.read_bytes()
    for position in np.random.default_rng(1).integers(0, 8 * len(content), 60):
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(DamagedChunkError, match=r"a\.npy"):
            read_chunk(path, a.shape, a.dtype)


def test_every_damaged_byte_of_the_state_is_found(tmp_path):
    """Also in the name of the state: unfinished rounds are not the star."""
    _, folder = matrix_on_disk(30, 10, tmp_path)

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closure_blocks(folder, progress=stop)
    path = tmp_path / "closure.json"
    content = path.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"closure\.json: the file is damaged"):
            closure_blocks(tmp_path)
        with pytest.raises(FileExistsError):
            BlockFolder.from_array(tmp_path, np.eye(3))


def test_missing_chunks_are_named(tmp_path):
    _, folder = matrix_on_disk(100, 40, tmp_path)
    (tmp_path / "2-1.0.npy").unlink()
    with pytest.raises(FileNotFoundError, match="expected a chunk 2-1"):
        closure_blocks(folder)


@pytest.mark.parametrize("predecessors, writes", [(False, 4), (True, 7)])
def test_every_write_fails_once(predecessors, writes, tmp_path, monkeypatch):
    """A full disk at any write: a clear error, and the next call continues."""
    a, folder = matrix_on_disk(70, 30, tmp_path / "folder")
    want = star_on_disk(a, tmp_path / "want", block=30, predecessors=predecessors)
    errors = []

    def write(path, block, identity):
        nonlocal countdown
        countdown -= 1
        if countdown < 0:
            countdown = 10**6
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_chunk(path, block, identity)

    monkeypatch.setattr(layout, "write_chunk", write)
    countdown = 0
    while folder.state != "star":
        try:
            closure_blocks(folder, predecessors=predecessors)
        except OSError as error:  # noqa: PERF203
            errors.append(error)
            countdown = len(errors) % writes  # of the writes of the next call
    assert len(errors) > 5
    for error in errors:
        assert error.errno == errno.ENOSPC
        assert "of 3 rounds, and the next call continues" in str(error)
    assert_same_bits(folder, closure(a))
    if predecessors:
        assert_same_bits(np.asarray(folder.predecessors), np.asarray(want.predecessors))


def test_a_failed_copy_begins_anew(tmp_path, monkeypatch):
    def write(path, block, identity):
        if path.name == "1-0.0.npy":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_chunk(path, block, identity)

    a = np.ones((10, 10))
    monkeypatch.setattr(filling, "write_chunk", write)
    with pytest.raises(OSError, match="No space left"):
        BlockFolder.from_array(tmp_path, a, block=5)
    monkeypatch.undo()
    assert_same_bits(BlockFolder.from_array(tmp_path, a, block=5), a)


def test_the_disk_is_checked_first(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    _, folder = matrix_on_disk(100, 40, tmp_path / "folder")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(OSError, match="free disk"):
        closure_blocks(folder)
    assert folder.rounds == 0
    with pytest.raises(OSError, match="free disk"):
        BlockFolder.from_array(tmp_path / "new", np.ones((100, 100)))


def test_a_task_runs_twice(tmp_path):
    """Stragglers: a task runs again right after itself, and long after its inputs are gone."""
    a, folder = matrix_on_disk(100, 40, tmp_path)
    work = tasks.Work(folder._layout, "minplus", 128, None)
    schedule = Schedule(folder._layout.levels())
    old = []
    while task := schedule.next():
        tasks.run(work, *task)
        tasks.run(work, *task)
        old.append(task)
        if schedule.end(task):
            folder._layout.tidy(schedule.levels)
        tasks.run(work, *old[len(old) // 2])
    assert len(old) == 27 and schedule.left == 0
    assert_same_bits(folder, closure(a))


def test_a_late_task_leaves_another_matrix_alone(tmp_path):
    """A worker that hung reads or writes after another matrix of the same size took the place."""
    a, folder = matrix_on_disk(100, 40, tmp_path)
    work = tasks.Work(folder._layout, "minplus", 128, None)
    late = work.folder.chunk(0, 0, 1), work.folder.read(0, 0, 0)
    shutil.rmtree(tmp_path)
    for act in (partial(tasks.run, work, 0, 0, 0), partial(work.folder.write, *late)):
        with pytest.raises(FileNotFoundError):
            act()
    folder = BlockFolder.from_array(tmp_path, a + 1, block=40)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(DamagedChunkError):
        tasks.run(work, 0, 0, 0)
    with pytest.raises(RuntimeError, match="expected the matrix of this task, got another one"):
        work.folder.write(*late)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert_same_bits(folder, a + 1)


def test_a_chunk_of_another_matrix_is_damaged(tmp_path):
    """It appears where a worker hung for long between its last look and the end of its write."""
    a, folder = matrix_on_disk(100, 40, tmp_path)
    write_chunk(tmp_path / "0-1.0.npy", a[:40, 40:80].copy(), "of another matrix")
    with pytest.raises(DamagedChunkError, match=r"0-1\.0\.npy"):
        closure_blocks(folder)


def test_a_straggler_writes_a_chunk_of_an_earlier_round(tmp_path):
    """What it writes late is older than the chunk that is there, and nobody reads it."""
    a, folder = matrix_on_disk(100, 40, tmp_path)
    first = folder[:, :]
    closure_blocks(folder)
    block = np.ascontiguousarray(first[:40, 40:80])
    write_chunk(tmp_path / "0-1.1.npy", block, folder._layout.identity)
    assert_same_bits(folder, closure(a))
    assert folder.rounds == 3


def test_the_schedule_looks_ahead():
    """The next block of the diagonal does not wait for the end of a round."""
    schedule = Schedule(np.zeros((6, 6), np.intp))
    order = []
    while task := schedule.next():
        schedule.end(task)
        order.append(task)
    assert len(order) == len(set(order)) == 6**3
    place = {task: number for number, task in enumerate(order)}
    for k in range(1, 6):
        assert place[k, k, k] < max(place[i, j, k - 1] for i in range(6) for j in range(6)) - 10
    for i, j, k in order:  # after what it needs
        needs = [(i, j, k - 1)] * (k > 0)
        if not i == j == k:
            needs += [(k, k, k)] if k in (i, j) else [(k, j, k), (i, k, k)]
        assert all(place[need] < place[i, j, k] for need in needs)


KILLED = """
import sys
from tropical.graph import closure_blocks
closure_blocks(sys.argv[1], progress=lambda share: print(share, flush=True))
"""


def kill_and_resume(a, folder, rng, kills, tasks_each, script=KILLED, **how):
    """Kill a process at random moments, `kills` times; return the tasks that were seen to end."""
    ended = 0
    for _ in range(kills):
        command = (sys.executable, "-c", script, str(folder.path))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(rng.integers(1, tasks_each)):
                ended += bool(process.stdout.readline())
            time.sleep(rng.random() * 0.01)
            process.send_signal(signal.SIGKILL)
            ended += len(process.stdout.readlines())
    closure_blocks(folder, progress=lambda share: None, **how)
    assert_same_bits(folder, closure(a))
    return ended


def test_killed_and_resumed(tmp_path):
    a, folder = matrix_on_disk(300, 50, tmp_path)
    before = kill_and_resume(a, folder, np.random.default_rng(0), 3, 40)
    assert before > 10


@pytest.mark.long
def test_killed_at_twenty_moments(tmp_path):
    a, folder = matrix_on_disk(1500, 192, tmp_path)
    kill_and_resume(a, folder, np.random.default_rng(1), 20, 40)


def test_what_is_left_after_a_kill_is_not_repeated(tmp_path):
    """All tasks that had ended before an error count for the next call."""
    _, folder = matrix_on_disk(100, 20, tmp_path)
    seen = []

    def stop(share):
        seen.append(share)
        if len(seen) == 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closure_blocks(folder, progress=stop)
    closure_blocks(folder, progress=seen.append)
    assert 5**3 - 3 <= len(seen) <= 5**3  # up to three ended while the first call did
    assert folder.state == "star"


def test_memory_and_blocks():
    assert bytes_of("2GB") == 2 * 10**9 and bytes_of("1 GiB") == 1 << 30 and bytes_of(7) == 7
    for n, memory in ((24_000, "1GB"), (100_000, "4GB"), (5000, "100MB"), (1300, "40MB")):
        block = choose_block(n, "float32", memory=memory)
        step = tropical.graph.star.block_size(n)
        assert block % step == 0 and task_bytes(block, "float32", 2) <= bytes_of(memory)
        assert (
            block >= -(-n // (4 * step)) * step
            or block > 8192 - step
            or (task_bytes(block + step, "float32", 2) > bytes_of(memory))
        )
    with pytest.raises(ValueError, match="memory: expected at least"):
        choose_block(5000, "float64", memory="1MB")
    with pytest.raises(ValueError, match="block: expected 1 or more, got 0"):
        choose_block(10, "float64", block=0)
    with pytest.raises(TypeError, match="block: expected an integer, got float"):
        choose_block(10, "float64", block=2.0)


@pytest.mark.long
@pytest.mark.parametrize("predecessors", [False, True])
def test_memory_is_bounded(predecessors, tmp_path):
    """n = 6,000 takes 144 MB in memory; the blocks of this process may take 90 MB."""
    output = run_python(
        f"""
        import resource
        import numpy as np
        from tropical.graph import BlockFolder, closure_blocks

        def part(rows, columns):
            rng = np.random.default_rng((rows.start, columns.start))
            return rng.random((rows.stop - rows.start, columns.stop - columns.start), np.float32)

        small = BlockFolder.from_function({str(tmp_path / "small")!r}, part, 100, "float32")
        closure_blocks(small, predecessors={predecessors})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        folder = BlockFolder.from_function(
            {str(tmp_path / "large")!r}, part, 6000, "float32", memory="90MB"
        )
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        limit = used + 90_000_000 + (64 << 20)  # and an arena of glibc's
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        closure_blocks(folder, memory="90MB", predecessors={predecessors})
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(1024 * (after - before), folder.block)
        """,
        timeout=300,
    )
    used, block = map(int, output.split())
    assert used < 90_000_000 and block >= 1024


@pytest.mark.parametrize("semiring", ["minplus", "maxplus"])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
@pytest.mark.parametrize("n", [3, 5])
def test_predecessors_of_integers_in_blocks_of_one_vertex(n, dtype, semiring, tmp_path):
    rng, zero = np.random.default_rng(n), semirings.get(semiring).zero(dtype)
    for number in range(10):
        a = np.triu(rng.integers(1, 9, (n, n)), 1).astype(dtype)
        a[(rng.random((n, n)) < 0.5) | (a == 0)] = zero
        folder = BlockFolder.from_array(tmp_path / str(number), a, block=2)
        closure_blocks(folder, semiring, predecessors=True)
        np.testing.assert_array_equal(folder[:, :], closure(a, semiring))


def test_weights_that_the_dtype_does_not_have(tmp_path):
    sp = pytest.importorskip("scipy.sparse", reason="sparse graphs")
    road = np.array([[np.inf, 7, np.inf], [np.inf, np.inf, 1], [np.inf, np.inf, np.inf]])
    for number, graph in enumerate((road, sp.csr_array(np.nan_to_num(road, posinf=0)))):
        folder = BlockFolder.from_graph(tmp_path / str(number), graph, dtype=np.int16)
        none = np.iinfo(np.int16).max
        want = [[none, 7, none], [none, none, 1], [none, none, none]]
        np.testing.assert_array_equal(folder[:, :], want)
    for wrong, dtype in ((40000, "int16"), (0.5, "int32"), (32767, "int16"), (1e300, "float32")):
        for graph in (np.array([[np.inf, wrong], [1, np.inf]]), sp.csr_array([[0, wrong], [1, 0]])):
            with pytest.raises(ValueError, match=f"graph: expected weights of {dtype}"):
                BlockFolder.from_graph(tmp_path / "wrong", graph, dtype=dtype)
    assert not (tmp_path / "wrong").exists()


def test_files_of_others_stay(tmp_path):
    for number, name in enumerate(("2024-01.15.npy", "left-3.1.npy")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_text("mine")
        with pytest.raises(FileExistsError, match=f"no files with the names of chunks, got {name}"):
            BlockFolder.from_array(folder, np.eye(3))
        assert [path.name for path in folder.iterdir()] == [name]
    (tmp_path / "notes.txt").write_text("mine")
    BlockFolder.from_array(tmp_path, np.eye(3))
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_that_was_not_filled_is_filled_again(tmp_path):
    def fails(rows, columns):
        if rows.start:
            raise RuntimeError("not now")
        return np.ones((2, 2))

    with pytest.raises(RuntimeError, match="not now"):
        BlockFolder.from_function(tmp_path / "a", fails, 4, "float64", block=2)
    assert not list((tmp_path / "a").iterdir())
    folder = BlockFolder.from_array(tmp_path / "a", np.eye(3), block=2)
    np.testing.assert_array_equal(folder[:, :], np.eye(3))


def test_chunks_are_read_by_threads_without_the_parser(tmp_path, monkeypatch):
    """Python 3.11's parser may fail if two threads use it at once."""
    folder = BlockFolder.from_array(tmp_path / "a", np.eye(5), block=2)
    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", None)
    np.testing.assert_array_equal(folder[:, :], np.eye(5))


def test_a_folder_that_was_not_deleted_completely(tmp_path, monkeypatch):
    folder = BlockFolder.from_array(tmp_path / "a", np.eye(5), block=2)
    unlink, count = Path.unlink, itertools.count()

    def fails(path, *options, **names):
        if next(count) == 4:
            raise KeyboardInterrupt
        unlink(path, *options, **names)

    monkeypatch.setattr(Path, "unlink", fails)
    with pytest.raises(KeyboardInterrupt):
        layout.Layout.at(folder.path).remove()
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError, match="got a part of one"):
        BlockFolder(folder.path)
    again = BlockFolder.from_array(folder.path, 2 * np.eye(3), block=2)
    np.testing.assert_array_equal(again[:, :], 2 * np.eye(3))
