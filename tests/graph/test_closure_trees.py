"""Predecessors of matrices on disk: each names a path whose product is the stored length."""

from concurrent.futures import ThreadPoolExecutor

import graphs
import numpy as np
import pytest
from support import assert_same_bits, check_refused
from test_closure_blocks import KILLED, kill_and_resume, random_matrix, whole_numbers
from test_closure_of_arrays import MAKERS, stop_copying
from test_closure_workers import OneByOne, Pool

from tropical import semirings
from tropical.graph import (
    BlockFolder,
    DamagedChunkError,
    DivergenceError,
    closure,
    closure_blocks,
    path,
    shortest_paths,
)
from tropical.graph.blocks import tasks
from tropical.graph.blocks.schedule import Schedule

SELECTIVE = [ring for ring in semirings.ALL if ring.selective]


def trees_on_disk(a, place, block, ring="minplus", **how):
    folder = BlockFolder.from_array(place, a, block=block)
    return closure_blocks(folder, ring, predecessors=True, **how)


def check(a, place, block, ring):
    """The star is that of `closure`, and the predecessors name a path for each sampled element."""
    found = trees_on_disk(a, place, block, ring)
    assert_same_bits(found, closure(a, ring))
    pairs = np.random.default_rng(0).integers(0, len(a), (200, 2))
    before = np.asarray(found.predecessors)
    graphs.assert_predecessors(before, np.asarray(found), a, ring, path, pairs)


@pytest.mark.parametrize("ring", SELECTIVE, ids=lambda ring: ring.name)
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_paths(ring, dtype, tmp_path, isa):
    check(graphs.random_graphs(ring, dtype, 170, 0, degree=5), tmp_path, 80, ring)


@pytest.mark.parametrize("block", [13, 66])
@pytest.mark.parametrize("ring", SELECTIVE, ids=lambda ring: ring.name)
def test_ties_everywhere(ring, block, tmp_path):
    """Edges of one weight that costs nothing, back and forth, and loops: all paths are equal."""
    rng = np.random.default_rng(block)
    there = rng.random((80, 80)) < 3 / 80
    there[:5] = there[:, :5] = False  # which no path joins to others
    np.fill_diagonal(there, rng.random(80) < 0.5)
    weight = 3 if ring.multiply in ("min", "max") else ring.one("float64")
    a = np.where(there | there.T, weight, ring.zero("float64"))
    check(a, tmp_path, block, ring)


@pytest.mark.parametrize("n, block", [(0, 1), (1, 1), (2, 1), (3, 5)])
def test_sizes(n, block, tmp_path):
    a = whole_numbers(n)
    found = trees_on_disk(a, tmp_path, block)
    want = shortest_paths(a, "FW", return_predecessors=True)
    assert_same_bits(found, want[0])
    assert found.predecessors.shape == (n, n) and found.predecessors.dtype == np.int32
    assert_same_bits(np.asarray(found.predecessors), want[1])


def test_rounded_sums_have_paths_too(tmp_path):
    a = random_matrix(semirings.minplus, "float32", 150)
    found = trees_on_disk(a, tmp_path, 64)
    np.testing.assert_allclose(np.asarray(found), closure(a), rtol=1e-6)
    for i, j in np.random.default_rng(0).integers(0, 150, (200, 2)):
        stops = path(found.predecessors[i], i, j)
        np.testing.assert_allclose(found[i, j], a[stops[:-1], stops[1:]].sum(), rtol=1e-6)


def test_nothing_else_stays_and_executors_give_the_same_bits(tmp_path):
    a = whole_numbers(100, "float32")
    want = trees_on_disk(a, tmp_path / "alone", 40)
    places = [f"{i}-{j}.3.npy" for i in range(3) for j in range(3)]
    names = {"closure.json", *places, *(f"before-{name}" for name in places)}
    assert {file.name for file in (tmp_path / "alone").iterdir()} == names
    with ThreadPoolExecutor(3) as threads, Pool() as processes:
        pools = {"threads": threads, "processes": processes, "twice": OneByOne()}
        for name, executor in pools.items():
            found = trees_on_disk(a, tmp_path / name, 40, executor=executor, workers=3)
            assert_same_bits(found, want)
            assert_same_bits(np.asarray(found.predecessors), np.asarray(want.predecessors))


def test_a_task_runs_twice(tmp_path):
    a = whole_numbers(100, "float32")
    want = trees_on_disk(a, tmp_path / "once", 40)
    folder = BlockFolder.from_array(tmp_path / "twice", a, block=40)
    work = tasks.Work(folder._layout, "minplus", 128, None, True)
    schedule = Schedule(folder._layout.levels())
    while task := schedule.next():
        tasks.run(work, *task)
        tasks.run(work, *task)
        if schedule.end(task):
            folder._layout.tidy(schedule.levels)
    for place in ((1, 2), (0, 0)):
        got, expected = (x._layout.before.read(*place, 3) for x in (folder, want))
        assert_same_bits(got, expected)


@pytest.mark.parametrize(
    "n, block, kills", [(250, 64, 3), pytest.param(1500, 192, 20, marks=pytest.mark.long)]
)
def test_killed_and_resumed(n, block, kills, tmp_path):
    a = whole_numbers(n, "float32")
    want = trees_on_disk(a, tmp_path / "want", block)
    folder = BlockFolder.from_array(tmp_path / "folder", a, block=block)
    script = KILLED.replace("sys.argv[1],", "sys.argv[1], predecessors=True,")
    kill_and_resume(a, folder, np.random.default_rng(3), kills, 20, script, predecessors=True)
    assert_same_bits(np.asarray(folder.predecessors), np.asarray(want.predecessors))


def test_a_flipped_byte_is_found(tmp_path):
    found = trees_on_disk(whole_numbers(50), tmp_path, 30)
    file = tmp_path / "before-1-0.2.npy"
    content = bytearray(file.read_bytes())
    content[200] ^= 1
    file.write_bytes(content)
    with pytest.raises(DamagedChunkError, match=r"before-1-0\.2\.npy: the chunk is damaged"):
        found.predecessors[40]


def test_cycles_that_improve(tmp_path):
    a = np.full((50, 50), np.inf)
    i = np.arange(50)
    a[i, (i + 1) % 50] = 0
    a[49, 0] = -1
    folder = BlockFolder.from_array(tmp_path, a, block=20)
    for _ in range(2):
        with pytest.raises(DivergenceError, match=r"store: has no minplus star.*-1\.0"):
            closure_blocks(folder, predecessors=True)
    with pytest.raises(ValueError, match=r"predecessors: expected a star .* got a diverged with"):
        _ = folder.predecessors


@pytest.mark.parametrize("make", MAKERS)
def test_arrays(make, tmp_path, monkeypatch):
    """Both arrays are complete also after a call that ends while they are written."""
    a = whole_numbers(100)
    want = trees_on_disk(a, tmp_path / "want", 32)
    for name in ("lengths", "before"):
        (tmp_path / name).mkdir()
    array, _, read = make(tmp_path / "lengths", a)
    before, _, read_before = make(tmp_path / "before", np.zeros((100, 100), np.int32))
    options = {"scratch": tmp_path / "scratch", "predecessors": before}
    stop_copying(monkeypatch, array, (2, 1), 32, later=True, **options)
    with pytest.raises(ValueError, match=r"predecessors: expected the rounds .* with them"):
        closure_blocks(array, scratch=tmp_path / "scratch")
    left = BlockFolder(tmp_path / "scratch")  # where the file of an array is lost
    assert left.state == "copying"
    assert_same_bits(left[:], np.asarray(want))
    assert_same_bits(left.predecessors[:], np.asarray(want.predecessors))
    assert closure_blocks(array, **options) is array
    assert_same_bits(read(), np.asarray(want))
    assert_same_bits(read_before(), np.asarray(want.predecessors))


def test_bad_arguments(tmp_path):
    a = np.ones((10, 10))
    folder = BlockFolder.from_array(tmp_path / "folder", a, block=4)
    before = np.zeros((10, 10), np.int32)
    check_refused(
        lambda store, given, **how: closure_blocks(store, predecessors=given, **how),
        (TypeError, "predecessors: expected True or False for a folder", folder, before),
        (TypeError, "predecessors: expected an array, as store is one, got True", a, True),
        (TypeError, "predecessors: expected dtype int32, got int64", a, before.astype("int64")),
        (ValueError, r"predecessors: expected \(10, 10\), got \(9, 10\)", a, before[1:]),
    )
    logical = BlockFolder.from_array(tmp_path / "logical", a > 0, block=4)
    with pytest.raises(ValueError, match=r"semiring: expected one whose.* got orand"):
        closure_blocks(logical, "orand", predecessors=True)
    assert folder.state == "matrix"
    with pytest.raises(ValueError, match="memory: expected at least"):
        closure_blocks(folder, memory=100, predecessors=True)
    closure_blocks(folder)
    with pytest.raises(ValueError, match="to go on without them, as they have begun, got True"):
        closure_blocks(folder, predecessors=True)
    with pytest.raises(ValueError, match=r"predecessors: expected a star .* got a star without"):
        _ = folder.predecessors
