"""Rows of lengths into arrays on disk, against `Factor.lengths`: the same bits after a kill."""

import errno
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from graphs import random_graph
from support import assert_same_bits, check_refused, run_command, run_python
from test_closure_workers import OneByOne, Pool, kill_workers

from tropical import semirings
from tropical.extras import NotInstalledError
from tropical.graph import (
    CycleError,
    Factor,
    NegativeCycleError,
    Searcher,
    closure,
    factorize,
    write_lengths,
)
from tropical.graph.rows import finders, parquet, stores, writing

sparse = pytest.importorskip("scipy.sparse")


def grid(k, seed=0):
    """The streets of a town of k * k corners, whose lengths round when they are added up."""
    corners = np.arange(k * k).reshape(k, k)
    source = np.append(corners[:-1], corners[:, :-1])
    target = np.append(corners[1:], corners[:, 1:])
    weights = np.random.default_rng(seed).random(len(source))
    return sparse.csr_array((weights, (source, target)), shape=(k * k, k * k))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(writing, "_MOST", 16)


@pytest.fixture(scope="module")
def factor():
    return factorize(grid(13), directed=False)


def arrays_on_disk(folder, shape, dtype):
    """A memmap, a view of one, and what is installed: an array of Zarr and a dataset of h5py."""
    yield np.memmap(folder / "a.raw", dtype, "w+", 64, shape)
    whole = np.memmap(folder / "b.raw", dtype, "w+", 0, (shape[0] + 3, shape[1]))
    yield whole[3:]
    try:
        import zarr

        yield zarr.create_array(folder / "a.zarr", shape=shape, dtype=dtype, chunks=(12, 50))
        shards = {"chunks": (4, 50), "shards": (8, 100)}
        yield zarr.create_array(folder / "b.zarr", shape=shape, dtype=dtype, **shards)
    except ImportError:
        pass
    try:
        import h5py

        with h5py.File(folder / "a.h5", "w") as file:
            yield file.create_dataset("lengths", shape, dtype, chunks=(7, 30))
    except ImportError:
        pass


@pytest.mark.usefixtures("small_blocks")
def test_a_factor_is_updated_meanwhile(tmp_path):
    """Rows are those of the weights with which the call began: the state file says so."""
    factor = factorize(grid(13))
    want, other = factor.closure(), np.ones(len(grid(13).data))
    write_lengths(factor, tmp_path / "a.npy", progress=lambda _: factor.update(other))
    assert_same_bits(np.load(tmp_path / "a.npy"), want)
    assert factor.lengths(0, 1) == 1


@pytest.mark.usefixtures("small_blocks")
def test_arrays(factor, tmp_path):
    want = factor.closure()
    for out in arrays_on_disk(tmp_path, want.shape, want.dtype):
        seen = []
        write_lengths(factor, out, progress=seen.append)
        assert_same_bits(out[:], want, type(out))
        assert seen == sorted(seen) and seen[-1] == 1 and len(seen) > 10
        seen.clear()
        write_lengths(factor, out, progress=seen.append)
        assert seen == [1]  # there is nothing to do


@pytest.mark.usefixtures("small_blocks")
def test_sources_and_targets(factor, tmp_path):
    sources, targets = np.arange(-1, -70, -2), [5, 7, 5, -3]
    file = tmp_path / "a.npy"
    names = np.array([f"v{i}" for i in range(factor.n)])
    write_lengths(factor, file, sources=sources, targets=targets, labels=names)
    assert_same_bits(np.load(file), factor.lengths(sources, targets))
    with np.load(tmp_path / "a.labels.npz") as labels:
        assert labels["source"].tolist() == names[sources].tolist()
        assert labels["target"].tolist() == ["v5", "v7", "v5", f"v{factor.n - 3}"]
    for ends in ({"sources": []}, {"targets": []}, {"sources": 3}):
        file = tmp_path / f"{ends}.npy"
        write_lengths(factor, file, **ends)
        some = {name: np.atleast_1d(np.array(found, int)) for name, found in ends.items()}
        assert_same_bits(np.load(file), factor.lengths(**some))


def test_zarr_with_labels(factor, tmp_path):
    zarr = pytest.importorskip("zarr")
    names = np.array([f"corner {i}" for i in range(factor.n)])
    write_lengths(factor, tmp_path / "a.zarr", targets=[8, 2], labels=names)
    group = zarr.open_group(tmp_path / "a.zarr", mode="r")
    lengths = group["lengths"]
    assert_same_bits(lengths[:], factor.lengths(targets=[8, 2]))
    assert lengths.metadata.dimension_names == ("source", "target")
    assert group["source"][:].tolist() == names.tolist()
    assert group["target"][:].tolist() == ["corner 8", "corner 2"]
    write_lengths(factor, tmp_path / "b.zarr", sources=[3, 4])
    group = zarr.open_group(tmp_path / "b.zarr", mode="r")
    assert group["source"][:].tolist() == [3, 4] and group["lengths"].shape == (2, factor.n)


LENGTHS = {  # whose products do not round
    "minplus": np.arange(5.0),
    "maxtimes": np.array([0.5, 1.0]),
    "orand": np.array([True]),
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ring", list(LENGTHS))
def test_tables(ring, tmp_path, monkeypatch):
    """A line for each pair that a path joins, in order, also where a block has many row groups."""
    table = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(parquet, "_GROUP", 200)
    rng, zero = np.random.default_rng(0), semirings.get(ring).zero(LENGTHS[ring].dtype)
    a = np.where(rng.random((90, 90)) < 0.01, rng.choice(LENGTHS[ring], (90, 90)), zero)
    want, sources, targets = closure(a, ring), np.arange(-1, -60, -1), [8, 2, 8, 40]
    names = np.array([f"corner {i}" for i in range(90)])
    some = {"sources": sources, "targets": targets, "labels": names}
    for options in ({}, some, {"sources": [5, 5]}, {"targets": []}):
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        write_lengths(a, out, ring, **options)
        seen = []
        write_lengths(a, out, ring, **options, progress=seen.append)
        assert seen == [1]  # there is nothing to do
        rows, columns = options.get("sources", range(90)), options.get("targets", range(90))
        part = want[np.ix_(rows, np.array(columns, int))]
        i, j = np.nonzero(part != zero)
        labels = options.get("labels", np.arange(90))
        found = table.read_table(out).to_pydict()
        assert found["source"] == labels[np.array(rows)[i]].tolist()
        assert found["target"] == labels[np.array(columns, int)[j]].tolist()
        assert found["length"] == part[i, j].tolist()
    table.write_table(table.read_table(out), tmp_path / "0.parquet" / "rows-000000000.parquet")
    with pytest.raises(ValueError, match="out: expected the lengths of an earlier call in rows 0"):
        write_lengths(a, tmp_path / "0.parquet", ring)
    (tmp_path / "0.parquet" / "rows-000000000.parquet").unlink()
    with pytest.raises(ValueError, match="out: expected the lengths of an earlier call in rows 0"):
        write_lengths(a, tmp_path / "0.parquet", ring)


def test_libraries_that_are_not_installed(factor, tmp_path, monkeypatch):
    for module, extra in (("pyarrow.parquet", "parquet"), ("zarr", "zarr")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(NotInstalledError, match=rf"pip install 'tropical-blas\[{extra}\]'"):
            write_lengths(factor, tmp_path / f"a.{extra}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ring", ["minplus", "maxplus", "maxmin", "minmax", "maxtimes", "orand"])
@pytest.mark.parametrize("limit", [None, 2.0])
def test_graphs_of_every_semiring(ring, limit, tmp_path):
    if ring == "orand":
        a, limit = np.random.default_rng(0).random((40, 40)) < 0.04, None
    else:
        a = random_graph(np.random.default_rng(0), 40, ring, density=0.1, negative=True)
    if ring in ("minplus", "maxplus"):  # without cycles: weights of either sign
        zero = semirings.get(ring).zero(a.dtype)
        a = np.where(np.triu(np.ones(a.shape), 1) > 0, a, zero)
    want = closure(a, ring)
    if limit is not None:
        add = semirings.get(ring).add_ufunc
        want = np.where(add(want, limit) == want, want, semirings.get(ring).zero(want.dtype))
    write_lengths(a, tmp_path / "a.npy", ring, limit=limit)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), want)


def test_what_finds_the_rows(tmp_path):
    """A factor of streets; searches in a random graph, within a limit, and from few vertices."""
    streets, minplus = grid(60), semirings.minplus
    crowd = sparse.random_array((3000, 3000), density=0.002, rng=np.random.default_rng(0))
    for graph, sources, limit, kind in (
        (streets, None, None, Factor),
        (streets, None, 3.0, Searcher),
        (streets, 1, None, Searcher),
        (crowd, 300, None, Searcher),
    ):
        found = finders.finder_of(graph, minplus, False, "weight", sources, limit, None)
        assert type(found) is kind
        again = finders.finder_of(found, minplus, False, "weight", sources, limit, None)
        assert finders.edges_in(again) is finders.edges_in(found)
    write_lengths(crowd, tmp_path / "a.npy", sources=[5, 9])
    assert_same_bits(np.load(tmp_path / "a.npy"), Searcher(crowd).lengths([5, 9]))
    dense = np.array([[0, 4, 9], [4, 0, 3], [9, 3, 0]])  # integers stay
    write_lengths(dense, tmp_path / "b.npy")
    assert_same_bits(np.load(tmp_path / "b.npy"), closure(dense))


def test_elimination_that_does_not_fit(monkeypatch, tmp_path):
    monkeypatch.setattr("tropical.graph.elimination.available_bytes", lambda: 1)
    graph = grid(20)
    found = finders.finder_of(graph, semirings.minplus, False, "weight", None, None, "E")
    assert isinstance(found, Searcher)
    with pytest.raises(MemoryError):
        finders.finder_of(graph, semirings.orand, False, "weight", None, None, None)


@pytest.mark.usefixtures("small_blocks")
def test_executors(factor, tmp_path):
    finder = Searcher(grid(13), directed=False)
    want = finder.lengths()
    with Pool() as pool:
        write_lengths(factor, tmp_path / "f.npy", executor=pool)
        write_lengths(finder, tmp_path / "a.npy", executor=pool)
        for suffix, module in LIBRARIES.items():
            if importlib.util.find_spec(module):
                write_lengths(finder, tmp_path / f"a.{suffix}", executor=pool)
                assert_same_bits(array_in(tmp_path / f"a.{suffix}", finder.n), want)
    assert_same_bits(np.load(tmp_path / "f.npy"), factor.closure())
    assert_same_bits(np.load(tmp_path / "a.npy"), want)
    out = np.memmap(tmp_path / "a.raw", want.dtype, "w+", 8, want.shape)
    write_lengths(finder, out, executor=OneByOne(), workers=3)
    assert_same_bits(np.asarray(out), want)
    assert not list(tmp_path.glob(".*"))
    view = np.memmap(tmp_path / "b.raw", want.dtype, "w+", 0, (len(want) + 1, len(want)))[1:]
    with pytest.raises(ValueError, match="out: expected a path, a memmap of a file"):
        write_lengths(finder, view, executor=OneByOne())


@pytest.mark.parametrize("executor", [None, OneByOne()])
def test_a_file_of_the_name_of_the_state_stays(factor, executor, tmp_path):
    """The graph for the workers has a name that no file of the caller has."""
    (tmp_path / "roads.npz").write_text("mine")
    state = tmp_path / "roads.json"
    workers = None if executor is None else 1
    write_lengths(factor, tmp_path / "a.npy", state=state, executor=executor, workers=workers)
    assert (tmp_path / "roads.npz").read_text() == "mine"
    names = ["a.labels.npz", "a.npy", "roads.json", "roads.npz"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.usefixtures("small_blocks")
def test_two_calls_at_once_with_executors(factor, tmp_path):
    """The first one to end leaves the other's file of the graph."""
    file, seen = tmp_path / "a.npy", []

    def second(share):
        if share and not seen:
            seen.append(share)
            write_lengths(factor, file, executor=OneByOne(), workers=1)
            finders._load.cache_clear()  # a worker that begins late reads its file

    write_lengths(factor, file, executor=OneByOne(), workers=1, progress=second)
    assert seen
    assert not finders._load.cache_info().currsize  # no copy of the factor stays in memory
    assert_same_bits(np.load(file), factor.closure())
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("small_blocks")
def test_a_worker_dies(factor, tmp_path):
    pools = []

    def make():
        pools.append(Pool())
        return pools[-1]

    report = kill_workers((0.3,), pools)
    write_lengths(factor, tmp_path / "a.npy", executor=make, progress=report)
    assert len(pools) == 2
    assert_same_bits(np.load(tmp_path / "a.npy"), factor.closure())


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore")  # of Dask's own, in its threads
def test_dask(factor, tmp_path):
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        write_lengths(factor, tmp_path / "a.npy", executor=client)
    assert_same_bits(np.load(tmp_path / "a.npy"), factor.closure())


LIBRARIES = {"zarr": "zarr", "parquet": "pyarrow"}


def array_in(out, n):
    """The lengths between all n vertices that a call wrote."""
    if out.suffix == ".npy":
        return np.load(out)
    if out.suffix == ".zarr":
        return stores.opened(out).array[:]
    table = importlib.import_module("pyarrow.parquet").read_table(out)
    lengths = np.full((n, n), np.inf)
    lengths[table["source"].to_numpy(), table["target"].to_numpy()] = table["length"].to_numpy()
    return lengths


KILLED = """
import sys
from tropical.graph import Factor, write_lengths
from tropical.graph.rows import writing
writing._MOST = 4
progress = lambda share: print(share, flush=True)
write_lengths(Factor.load(sys.argv[1]), sys.argv[2], progress=progress)
"""


@pytest.mark.parametrize("suffix", ["npy", *LIBRARIES])
def test_killed_and_resumed(factor, suffix, tmp_path):
    pytest.importorskip(LIBRARIES.get(suffix, "numpy"))
    factor.save(tmp_path / "f.npz")
    out = tmp_path / f"a.{suffix}"
    ended = 0
    for lines in (3, 12):
        command = (sys.executable, "-c", KILLED, str(tmp_path / "f.npz"), str(out))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            shares = [float(process.stdout.readline()) for _ in range(lines)]
            process.send_signal(signal.SIGKILL)
            shares += [float(line) for line in process.stdout.readlines()]
        assert shares[0] >= ended  # what had ended is not repeated
        ended = shares[-1]
    assert 0 < ended < 1
    write_lengths(factor, out)
    assert_same_bits(array_in(out, factor.n), factor.closure())


@pytest.mark.usefixtures("small_blocks")
def test_a_full_disk(factor, tmp_path, monkeypatch):
    """Every third write fails; each call continues where the last one ended."""
    writes, write = [], stores.FileRows.write

    def fails(store, first, rows):
        writes.append(first)
        if len(writes) % 3 == 0:
            raise OSError(errno.ENOSPC, "No space left on device", str(store.path))
        return write(store, first, rows)

    monkeypatch.setattr(stores.FileRows, "write", fails)
    errors = []
    while True:
        try:
            write_lengths(factor, tmp_path / "a.npy")
            break
        except OSError as error:
            errors.append(str(error))
    assert len(errors) > 3 and "of 11 blocks of rows are written, and the next call" in errors[0]
    assert len(writes) <= 11 + 3 * len(errors)
    assert_same_bits(np.load(tmp_path / "a.npy"), factor.closure())
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(OSError, match=r"out: expected .* GB of free disk"):
        write_lengths(factor, tmp_path / "b.npy")


@pytest.mark.parametrize("suffix", ["npy", *LIBRARIES])
def test_a_full_disk_while_the_state_is_written(factor, suffix, tmp_path, monkeypatch):
    """There is then no file, as nothing would say whose it is."""
    pytest.importorskip(LIBRARIES.get(suffix, "numpy"))
    out = tmp_path / f"a.{suffix}"

    def fails(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing.State, "write", fails)
    with pytest.raises(OSError, match="No space left"):
        write_lengths(factor, out)
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    write_lengths(factor, out)
    assert_same_bits(array_in(out, factor.n), factor.closure())


def test_ctrl_c_while_the_graph_is_saved_for_workers(factor, tmp_path, monkeypatch):
    def interrupted(finder, path):
        finders.save(finder, path)
        raise KeyboardInterrupt

    monkeypatch.setattr("tropical.graph.rows.tasks.save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_lengths(factor, tmp_path / "a.npy", executor=OneByOne())
    assert {path.name for path in tmp_path.iterdir()} == {
        "a.labels.npz",
        "a.npy",
        "a.npy.rows.json",
    }


@pytest.mark.parametrize("suffix", ["npy", *LIBRARIES])
def test_two_calls_at_once(factor, suffix, tmp_path, monkeypatch):
    """The second one prepares its graph while the first one makes the file and fills it."""
    pytest.importorskip(LIBRARIES.get(suffix, "numpy"))
    out, find = tmp_path / f"a.{suffix}", writing.finder_of

    def slow(*arguments):
        monkeypatch.setattr(writing, "finder_of", find)
        write_lengths(factor, out)
        return find(*arguments)

    monkeypatch.setattr(writing, "finder_of", slow)
    with pytest.raises(FileExistsError, match="out: expected a new file, got one that another"):
        write_lengths(factor, out)
    assert_same_bits(array_in(out, factor.n), factor.closure())
    write_lengths(factor, out)
    names = {path.name for path in tmp_path.iterdir()} - {"a.labels.npz"}
    assert names == {out.name, f"{out.name}.rows.json"}


def test_what_is_not_the_same(factor, tmp_path):
    file, side = tmp_path / "a.npy", tmp_path / "a.npy.rows.json"
    write_lengths(factor, file)
    other = factorize(grid(13, seed=1), directed=False)
    shape = factor.n, factor.n
    check_refused(
        lambda graph, out, **how: write_lengths(graph, out, **how),
        (ValueError, "graph: expected the graph whose lengths .*a.npy.rows.json", other, file),
        (TypeError, "out: expected a path or an array", factor, 3),
        (ValueError, "out: expected a path that ends with one of .npy, .zarr", factor, "a.csv"),
        (ValueError, "state: expected a path, as ndarray has none", factor, np.zeros(shape)),
        (NegativeCycleError, "cycle", np.array([[0, -3.0], [1.0, 0]]), tmp_path / "b.npy"),
    )
    for how, why in (
        ({"sources": [1]}, "sources, targets, limit: expected those"),
        ({"limit": 3.0}, "sources, targets, limit: expected those"),
        ({"limit": float("nan")}, "limit: expected a number, got nan"),
        ({"memory": "1MB"}, "memory: expected at least 6[0-9]{7} bytes for 169 rows"),
        ({"workers": 0}, "workers: expected 1"),
        ({"labels": [1]}, r"labels: expected \(169,\), got \(1,\)"),
    ):
        with pytest.raises(ValueError, match=why):
            write_lengths(factor, file, **how)
    with pytest.raises(TypeError, match="labels: expected text or integers"):
        write_lengths(factor, tmp_path / "c.npy", labels=np.ones(factor.n))
    with pytest.raises(FileExistsError, match="out: expected a new file"):
        write_lengths(factor, file, resume=False)
    with pytest.raises(CycleError, match="cycle"):
        write_lengths(np.array([[0, 3.0], [1.0, 0]]), tmp_path / "b.npy", "maxplus")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["a.npy", "a.npy.rows.json", "a.labels.npz"]
    )
    for version in (2, 4):
        side.write_text(json.dumps({"version": version}))
        with pytest.raises(ValueError, match=f"expected version 3, got {version}; delete it"):
            write_lengths(factor, file)
    for content in ("7", "[" * 100_000, '{"version": Infinity}'):
        side.write_text(content)
        with pytest.raises(ValueError, match="a file of write_lengths: the file is damaged"):
            write_lengths(factor, file)
    side.write_text("{")
    with pytest.raises(ValueError, match="expected a file of write_lengths"):
        write_lengths(factor, file)
    side.unlink()
    with pytest.raises(FileExistsError, match="out: expected a new file"):
        write_lengths(factor, file)


def test_a_state_that_is_no_file_of_its_own(factor, tmp_path):
    out, nowhere = tmp_path / "a.npy", tmp_path / "no" / "a.json"
    for side in (out, tmp_path / "a.labels.npz", tmp_path / "." / "a.npy"):
        with pytest.raises(ValueError, match="state: expected another file than out and its"):
            write_lengths(factor, out, state=side)
    with pytest.raises(FileNotFoundError, match="state: expected a file in a folder that exists"):
        write_lengths(factor, out, state=nowhere)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("small_blocks")
def test_a_state_is_of_one_array(factor, tmp_path):
    """Else the rows that one call wrote would count for another array."""
    side, one, other = (tmp_path / name for name in ("s.json", "one.npy", "other.npy"))

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lengths(factor, one, state=side, progress=stop)
    with pytest.raises(ValueError, match=r"state: expected the state of other.npy, got .* one.npy"):
        write_lengths(factor, other, state=side)
    (tmp_path / "moved").mkdir()
    moved = [path.rename(tmp_path / "moved" / path.name) for path in (side, one)]
    write_lengths(factor, moved[1], state=moved[0])
    assert_same_bits(np.load(moved[1]), factor.lengths())


def test_two_views_of_one_file(factor, tmp_path):
    whole = np.memmap(tmp_path / "m.raw", factor.dtype, "w+", 0, (2 * factor.n, factor.n))
    for rows in (whole[: factor.n], whole[factor.n :]):
        write_lengths(factor, rows)
    assert_same_bits(whole[: factor.n], factor.lengths())
    assert_same_bits(whole[factor.n :], factor.lengths())


def test_labels_are_those_of_the_first_call(factor, tmp_path):
    names = [f"v{i}" for i in range(factor.n)]
    for suffix in (".npy", ".zarr", ".parquet"):
        file = tmp_path / f"a{suffix}"
        try:
            write_lengths(factor, file, labels=names)
        except NotInstalledError:
            continue
        write_lengths(factor, file, labels=names)
        with pytest.raises(ValueError, match=r"labels: expected those that .* notes, got others"):
            write_lengths(factor, file, labels=names[::-1])


@pytest.mark.parametrize("suffix", ["npy", *LIBRARIES])
def test_links_lead_to_another_disk(factor, suffix, tmp_path, monkeypatch):
    pytest.importorskip(LIBRARIES.get(suffix, "numpy"))
    disk, link = tmp_path / "disk", tmp_path / f"a.{suffix}"
    disk.mkdir()
    link.symlink_to(disk / "large")
    monkeypatch.setattr(writing.State, "write", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        write_lengths(factor, link)
    monkeypatch.undo()
    assert link.is_symlink() and not list(disk.iterdir())
    write_lengths(factor, link)
    write_lengths(factor, link)
    assert link.is_symlink() and [path.name for path in disk.iterdir()] == ["large"]
    assert_same_bits(array_in(link, factor.n), factor.closure())


def test_wrong_arguments_leave_no_file(factor, tmp_path):
    names = ["\udc80"] * factor.n
    for suffix, how, why in (
        ("npy", {"limit": float("nan")}, "limit: expected a number, got nan"),
        ("parquet", {"labels": names}, "labels: expected text that UTF-8 has"),
    ):
        pytest.importorskip(LIBRARIES.get(suffix, "numpy"))
        with pytest.raises(ValueError, match=why):
            write_lengths(factor, tmp_path / f"a.{suffix}", **how)
        assert not list(tmp_path.iterdir())


def test_labels_of_another_file_stay(factor, tmp_path, monkeypatch):
    mine, find = tmp_path / "lab.labels.npz", writing.finder_of

    def slow(*arguments):
        mine.write_text("mine")
        return find(*arguments)

    mine.write_text("mine")
    for _ in range(2):  # the second time, the file appears late
        with pytest.raises(FileExistsError, match="out: expected no file but labels beside"):
            write_lengths(factor, tmp_path / "lab.npy")
        assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
        mine.unlink()
        monkeypatch.setattr(writing, "finder_of", slow)


def test_a_kill_while_the_file_is_made(factor, tmp_path):
    out = tmp_path / "a.npy"
    code = """
import os, signal, sys
from tropical.graph import Factor, write_lengths
from tropical.graph.rows import stores
save = stores.save_arrays
def save_and_die(*arguments):
    save(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
stores.save_arrays = save_and_die
write_lengths(Factor.load(sys.argv[1]), sys.argv[2])
"""
    factor.save(tmp_path / "factor.npz")
    run_command(sys.executable, "-c", code, str(tmp_path / "factor.npz"), str(out))
    assert not out.exists() and (tmp_path / "a.labels.npz").exists()
    write_lengths(factor, out)
    assert_same_bits(np.load(out), factor.closure())
    out.unlink()  # to begin anew
    write_lengths(factor, out)
    assert_same_bits(np.load(out), factor.closure())


@pytest.mark.parametrize("suffix", list(LIBRARIES))
def test_what_a_killed_process_left_is_in_nobodys_way(factor, suffix, tmp_path):
    """Also if this process has the number of that one."""
    pytest.importorskip(LIBRARIES[suffix])
    (tmp_path / f".a.{suffix}.{os.getpid()}").mkdir()
    write_lengths(factor, tmp_path / f"a.{suffix}")
    assert_same_bits(array_in(tmp_path / f"a.{suffix}", factor.n), factor.closure())


def lose_the_end(out):
    """Lose the rows behind the first blocks."""
    if out.suffix == ".npy":
        with out.open("r+b") as file:
            file.truncate(out.stat().st_size // 2)
    elif out.suffix == ".parquet":
        (out / "rows-000000080.parquet").unlink()
    else:
        (out / "lengths" / "c" / "5" / "0").unlink()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", ["npy", *LIBRARIES])
def test_rows_that_were_lost(factor, suffix, tmp_path):
    pytest.importorskip(LIBRARIES.get(suffix, "numpy"))
    out = tmp_path / f"a.{suffix}"
    write_lengths(factor, out)
    lose_the_end(out)
    with pytest.raises(ValueError, match="out: expected the lengths of an earlier call in rows "):
        write_lengths(factor, out)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_a_memmap_whose_file_has_another_name_by_now(factor, tmp_path):
    """The rows go through the map, and not into the file of the old name."""
    file = tmp_path / "a.raw"
    out = np.memmap(file, "f8", "w+", shape=(factor.n, factor.n))
    file.rename(tmp_path / "b.raw")
    file.write_bytes(bytes(out.nbytes))
    write_lengths(factor, out)
    assert_same_bits(np.asarray(out), factor.lengths())
    assert file.read_bytes() == bytes(out.nbytes)
    file.unlink()
    with pytest.raises(ValueError, match="state: expected a path, as memmap has none"):
        write_lengths(factor, out)
    write_lengths(factor, out, state=tmp_path / "a.json")


def anew(folder):
    """Arrays of 169 rows of no content, which a second call makes anew."""
    shape = 169, 1
    yield lambda: np.memmap(folder / "a.raw", "f8", "w+", shape=shape)
    if importlib.util.find_spec("zarr"):
        import zarr

        how = {"shape": shape, "dtype": "f8", "fill_value": np.inf, "overwrite": True}
        yield lambda: zarr.create_array(folder / "a.zarr", **how)
    if importlib.util.find_spec("h5py"):
        import h5py

        def dataset():
            file = h5py.File(folder / "a.h5", "w")
            return file.create_dataset("lengths", shape, "f8")

        yield dataset


@pytest.mark.usefixtures("small_blocks")
def test_an_array_made_anew_whose_first_row_is_its_fill_value(factor, tmp_path):
    """The length from a vertex to itself is 0, as is an empty memmap; beyond a limit, it is inf."""
    for make in anew(tmp_path):
        for target, limit in ((0, None), (168, 0.5)):
            some = {"targets": [target], "limit": limit}
            write_lengths(factor, make(), **some, resume=False)
            with pytest.raises(ValueError, match="out: expected the lengths of an earlier call in"):
                write_lengths(factor, make(), **some)


@pytest.mark.usefixtures("small_blocks")
def test_rows_that_became_zeros(factor, tmp_path):
    file = tmp_path / "a.npy"
    write_lengths(factor, file)
    size = file.stat().st_size
    for length in (size // 2, size):
        os.truncate(file, length)
    with pytest.raises(ValueError, match="earlier call in rows 80 to 95, got others or none"):
        write_lengths(factor, file)


def test_rows_that_changed_places(tmp_path):
    """Sums of words, which are faster than the checksum of all bytes, would stay the same."""
    graph = pytest.importorskip("networkx").path_graph(4096)
    file = tmp_path / "a.npy"
    write_lengths(graph, file, sources=[0, 1])
    rows = np.load(file, mmap_mode="r+")
    rows[:] = rows[::-1].copy()
    rows.flush()
    with pytest.raises(ValueError, match="earlier call in rows 0 to 1, got others or none"):
        write_lengths(graph, file, sources=[0, 1])


def test_a_folder_that_is_not_there(tmp_path):
    out = tmp_path / "none" / "x.npy"
    with pytest.raises(FileNotFoundError, match="out: expected a path in a folder") as error:
        write_lengths(np.ones((2, 2)), out)
    assert error.value.filename == str(out)


def test_every_damaged_byte_of_the_state_is_found(tmp_path):
    """Also where the file says that other rows are written."""
    a, side = np.ones((3, 3)), tmp_path / "a.npy.rows.json"
    write_lengths(a, tmp_path / "a.npy")
    content = side.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        side.write_bytes(damaged)
        with pytest.raises(ValueError, match="the file is damaged"):
            write_lengths(a, tmp_path / "a.npy")


def test_arrays_that_do_not_fit(factor, tmp_path):
    shape = factor.n, factor.n
    for wrong, error, why in (
        ((factor.n, 3), ValueError, r"out: expected shape \(169, 169\), got \(169, 3\)"),
        (shape, TypeError, "out: expected dtype float64, got float32"),
    ):
        out = np.memmap(tmp_path / "a.raw", "float32", "w+", 0, wrong)
        with pytest.raises(error, match=why):
            write_lengths(factor, out)
    out = np.memmap(tmp_path / "a.raw", "float64", "w+", 0, shape)
    with pytest.raises(ValueError, match="labels: expected None, as out is an array"):
        write_lengths(factor, out, labels=np.arange(factor.n))
    with pytest.raises(ValueError, match="out: expected a writeable array"):
        write_lengths(factor, np.memmap(tmp_path / "a.raw", "float64", "r", 0, shape))
    write_lengths(factor, out)
    out[:] = 0  # the array is made anew, but not what is noted about it
    with pytest.raises(ValueError, match="out: expected the lengths of an earlier call in rows 0"):
        write_lengths(factor, out)
    write_lengths(factor, out, resume=False)
    assert_same_bits(np.asarray(out), factor.closure())


def test_memory_chooses_the_block():
    """Two blocks are in memory, where two fit; a block of an earlier call stays."""
    begun = writing.State("", "", "E", (1000, 10_000), "<f4", 0)  # 40 kB a row
    rest = 1 << 26

    def block(rows, known=None, executor=None):
        memory = rest + rows * 40_000
        return writing._block(begun, known, None, memory, executor, rest)

    assert block(600) == (256, 2) and block(100) == (50, 2) and block(1) == (1, 1)
    assert block(100, executor=OneByOne()) == (100, 1)
    known = writing.State("", "", "E", (1000, 10_000), "<f4", 64)
    assert block(600, known) == (64, 2) and block(100, known) == (64, 1)
    with pytest.raises(ValueError, match=r"memory: expected at least .* bytes for 64 rows, got"):
        block(63, known)


def test_a_limit_takes_no_further_rows(tmp_path):
    """Two blocks of 256 rows are in memory, of which one is computed and one is written."""
    large = factorize(grid(40), directed=False)
    tracemalloc.start()
    write_lengths(large, tmp_path / "a.npy", limit=10.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * 256 * large.n * large.dtype.itemsize
    lengths = large.closure()
    want = np.where(lengths > 10, np.inf, lengths)
    assert_same_bits(np.load(tmp_path / "a.npy"), want)


@pytest.mark.long
@pytest.mark.parametrize("suffix", ["npy", *LIBRARIES])
def test_memory_is_bounded(suffix, tmp_path):
    """The lengths take 194 MB in memory; two blocks of 100 rows take 13 MB, and files the rest."""
    pytest.importorskip(LIBRARIES.get(suffix, "numpy"))
    output = run_python(
        f"""
        import resource
        from pathlib import Path
        import numpy as np
        from tropical.bench.paths import grid
        from tropical.graph import factorize, write_lengths
        from tropical.graph.rows import stores

        factor = factorize(grid(90, "float64"), directed=False)
        labels = np.array([f"the corner of street {{i}}" for i in range(factor.n)])
        out = Path({str(tmp_path)!r}) / "a.{suffix}"
        memory = stores.overhead_of(out) + 2 * 100 * 8 * factor.n
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        write_lengths(factor, out, sources=range(3000), labels=labels, memory=memory)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(1024 * (after - before), memory)
        """,
        timeout=300,
    )
    used, memory = map(int, output.split())
    assert used < memory
