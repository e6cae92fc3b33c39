"""Closures of memmaps, arrays of Zarr and datasets of HDF5, by blocks."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import assert_same_bits
from test_closure_blocks import random_matrix, whole_numbers

from tropical import semirings
from tropical.graph import closure, closure_blocks
from tropical.graph.blocks.arrays import place_of
from tropical.graph.blocks.layout import Layout


def make_memmap(path, a):
    array = np.lib.format.open_memmap(path / "a.npy", "w+", a.dtype, a.shape)
    array[...] = a
    return array, path / "a.npy.closure", lambda: np.load(path / "a.npy")


def make_hdf5(path, a):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(path / "a.h5", "w")
    array = file.create_dataset("roads/length", data=a, chunks=(30, 50))
    return array, path / "a.h5-roads-length.closure", lambda: file["roads/length"][...]


def make_zarr(path, a):
    zarr = pytest.importorskip("zarr", minversion="3")
    array = zarr.create_array(path / "a.zarr", shape=a.shape, dtype=a.dtype, chunks=(30, 30))
    array[...] = a
    again = lambda: zarr.open_array(path / "a.zarr", mode="r")[...]  # noqa: E731
    return array, path / "a.zarr.closure", again


def make_ndarray(path, a):
    array = a.copy()
    return array, None, lambda: array


MAKERS = [make_memmap, make_hdf5, make_zarr, make_ndarray]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", ["minplus", "maxmin", "orand"])
def test_arrays(make, name, tmp_path):
    ring = semirings.get(name)
    dtype = {"minplus": "float32", "maxmin": "int16", "orand": "bool"}[name]
    a = whole_numbers(150, dtype) if name == "minplus" else random_matrix(ring, dtype, 150)
    array, folder, read = make(tmp_path, a)
    scratch = tmp_path / "scratch" if folder is None else None
    assert closure_blocks(array, ring, block=64, scratch=scratch) is array
    assert_same_bits(read(), closure(a, ring))
    assert not folder.exists() if folder else not list(scratch.iterdir())


def stop_copying(monkeypatch, array, place=(1, 0), block=20, later=False, **options):
    """Leave an array between its matrix and its star, as a kill would; later, its predecessors."""
    original = Layout.read

    def fail(layout, i, j, k):
        if (i, j, k) == (*place, layout.count) and bool(layout.prefix) == later:
            raise KeyboardInterrupt
        return original(layout, i, j, k)

    monkeypatch.setattr(Layout, "read", fail)
    with pytest.raises(KeyboardInterrupt):
        closure_blocks(array, block=block, **options)
    monkeypatch.undo()


@pytest.mark.parametrize("make", MAKERS)
def test_interrupted_rounds_and_copies(make, tmp_path, monkeypatch):
    """The array is unchanged while rounds run; once copying began, only resuming is allowed."""
    a = whole_numbers(100)
    array, folder, read = make(tmp_path, a)
    folder = folder or tmp_path / "scratch"
    seen = []

    def stop(share):
        seen.append(share)
        if len(seen) % 20 == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closure_blocks(array, block=32, scratch=folder, progress=stop)
    assert_same_bits(read(), a)
    stop_copying(monkeypatch, array, (2, 1), 32, scratch=folder)
    assert (read() != a).any()
    with pytest.raises(ValueError, match="resume: expected True"):
        closure_blocks(array, scratch=folder, resume=False)
    closure_blocks(array, scratch=folder)
    assert_same_bits(read(), closure(a))
    assert not list(folder.iterdir())  # the caller's folder stays


def stop_deleting(monkeypatch, files, *arguments, **options):
    """Stop a call after it has deleted so many files at its end, as a kill would."""
    delete, unlink, left = Layout.delete, Path.unlink, iter(range(files))

    def fail(path, **how):
        if next(left, None) is None:
            raise KeyboardInterrupt
        unlink(path, **how)

    def begin(layout):
        monkeypatch.setattr(Path, "unlink", fail)
        delete(layout)

    monkeypatch.setattr(Layout, "delete", begin)
    with pytest.raises(KeyboardInterrupt):
        closure_blocks(*arguments, **options)
    monkeypatch.undo()


@pytest.mark.parametrize("files", [0, 1, 7, 17, 18])
def test_interrupted_while_files_are_deleted(files, tmp_path, monkeypatch):
    """The next call ends that, and does not take the star for a matrix."""
    a = whole_numbers(24)
    want, scratch = np.zeros(a.shape, np.int32), tmp_path / "scratch"
    star = closure_blocks(a.copy(), block=8, predecessors=want, scratch=tmp_path / "other")
    array, found = make_memmap(tmp_path, a)[0], np.zeros(a.shape, np.int32)
    how = {"scratch": scratch, "block": 8}
    stop_deleting(monkeypatch, files, array, predecessors=found, **how)
    with pytest.raises(ValueError, match="predecessors: expected the array that has those of"):
        closure_blocks(array, predecessors=np.zeros_like(found), **how)
    with pytest.raises(ValueError, match=r"predecessors: expected the rounds .* to go on with"):
        closure_blocks(array, **how)
    assert closure_blocks(array, predecessors=found, **how) is array
    assert_same_bits(array, star)
    assert_same_bits(found, want)
    assert not list(scratch.iterdir())


def test_a_new_matrix_after_files_were_not_deleted(tmp_path, monkeypatch):
    for n in (50, 60):
        a = whole_numbers(n)
        stop_deleting(monkeypatch, 3, whole_numbers(50), block=20, scratch=tmp_path)
        assert_same_bits(closure_blocks(2 * a, block=20, scratch=tmp_path), closure(2 * a))
        assert not list(tmp_path.iterdir())


def test_relative_paths(tmp_path, monkeypatch):
    """They mean the same folder in each call, also where a process or a worker changes its own."""
    h5py = pytest.importorskip("h5py")
    a = whole_numbers(50)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def stop(share):
        raise KeyboardInterrupt

    for how in ({}, {"scratch": "rounds"}):
        monkeypatch.chdir(tmp_path)
        with h5py.File("a.h5", "w") as file:
            array = file.create_dataset("a", data=a)
            with pytest.raises(KeyboardInterrupt):
                closure_blocks(array, block=20, progress=stop, **how)
            go = lambda share: monkeypatch.chdir(tmp_path / "elsewhere")  # noqa: E731
            closure_blocks(array, progress=go, **how)
            assert_same_bits(array[...], closure(a))


def test_a_copy_into_a_file_with_a_relative_path(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    a = whole_numbers(50)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with h5py.File("a.h5", "w") as file:
        stop_copying(monkeypatch, file.create_dataset("a", data=a))
    monkeypatch.chdir(tmp_path / "elsewhere")
    with h5py.File("../a.h5", "r+") as file:
        closure_blocks(file["a"])
        assert_same_bits(file["a"][...], closure(a))


def test_a_block_that_is_larger_than_the_array(tmp_path):
    a = whole_numbers(10)
    want = closure(a)
    assert_same_bits(closure_blocks(a, block=20, scratch=tmp_path), want)


def test_the_rounds_of_another_array(tmp_path):
    a = whole_numbers(50)

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closure_blocks(a.copy(), block=20, scratch=tmp_path, progress=stop)
    with pytest.raises(ValueError, match=r"\(50, 50\) of float64, got \(50, 50\) of float32"):
        closure_blocks(a.astype("float32"), scratch=tmp_path)
    with pytest.raises(ValueError, match=r"block: expected 20"):
        closure_blocks(a.copy(), block=30, scratch=tmp_path)


KILLED = """
import os, signal, sys
import h5py
from tropical.graph import closure_blocks
from tropical.graph.blocks.layout import Layout
read = Layout.read
def kill(layout, i, j, k):
    if k == layout.count and (i, j) == (3, 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return read(layout, i, j, k)
Layout.read = kill
closure_blocks(h5py.File(sys.argv[1], "r+", rdcc_nbytes=3 * 30 * 50 * 8)["a"], block=20)
"""


def test_killed_while_hdf5_copies(tmp_path):
    """Its cache holds three chunks, and gives them to the file in an order of its own."""
    h5py = pytest.importorskip("h5py")
    a, path = whole_numbers(100), tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=a, chunks=(30, 50))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with h5py.File(path, "r+") as file:
        assert (file["a"][...] != a).any()
        closure_blocks(file["a"])
        assert_same_bits(file["a"][...], closure(a))


def test_an_array_that_cannot_be_read_after_a_kill(tmp_path, monkeypatch):
    array = np.memmap(tmp_path / "a.bin", "f8", "w+", shape=(50, 50))
    array[...] = whole_numbers(50)
    stop_copying(monkeypatch, array)

    def fails(*arguments):
        raise RuntimeError("chunk (1, 0) is torn")

    monkeypatch.setattr("tropical.graph.blocks.arrays._checksum", fails)
    with pytest.raises(ValueError, match=r"cannot be read \(chunk .* torn\); BlockFolder\(.* star"):
        closure_blocks(array)


CHANGES = {
    "negated": lambda a: np.negative(a, out=a),
    "swapped": lambda a: a.__setitem__([0, 32], a[[32, 0]]),
    "one word": lambda a: a.__setitem__((70, 3), 5),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_an_array_that_changed_since_its_rounds_began(change, tmp_path):
    """Also by changes that keep the sums of many words."""
    array, _, _ = make_memmap(tmp_path, whole_numbers(256))

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closure_blocks(array, block=128, progress=stop)
    CHANGES[change](array)
    changed = array.copy()
    with pytest.raises(ValueError, match=r"store: block \(0, 0\) has changed since the rounds"):
        closure_blocks(array)
    assert_same_bits(array, changed)


SECOND = """
import sys
import numpy as np
from tropical.graph import closure_blocks
try:
    closure_blocks(np.load(sys.argv[1], mmap_mode="r+"))
except BlockingIOError as error:
    print(error)
"""


def test_another_call_works_on_the_array(tmp_path):
    a = whole_numbers(50)
    array, folder, _ = make_memmap(tmp_path, a)
    said = []

    def call(share):
        if not said:
            with pytest.raises(BlockingIOError, match="store: expected an array that no other"):
                closure_blocks(array)  # and the lock of this call stays
            command = [sys.executable, "-c", SECOND, str(tmp_path / "a.npy")]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            said.append(done.stdout)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closure_blocks(array, progress=call)
    assert "store: expected an array that no other call works on" in said[0]
    assert not (folder / "closure.lock").exists()
    (folder / "closure.lock").touch()  # a killed process leaves it
    closure_blocks(array)
    assert_same_bits(array, closure(a))
    assert not folder.exists()


def test_arrays_of_one_file_have_places_of_their_own(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3")
    h5py = pytest.importorskip("h5py")
    how = {"shape": (5, 5), "dtype": "f8"}
    group, root = zarr.create_group(tmp_path / "z.zarr"), tmp_path / "z.zarr2"
    with h5py.File(tmp_path / "a.h5", "w") as file:
        sets = [file.create_dataset(name, **how) for name in ("a/b", "a-b", "a%2Db", "a%b")]
        sets += [zarr.create_array(root, **how), group.create_array("2", **how)]
        places = [place_of(array) for array in sets]
    assert len(set(places)) == len(sets)
    assert places[0] == str(tmp_path / "a.h5-a-b") and places[4] == str(root)


def test_a_wrong_argument_leaves_nothing(tmp_path):
    a = whole_numbers(50)
    a[3, 40] = -1
    array = make_memmap(tmp_path, a)[0]
    for ring, how, why in (
        ("minplus", {"memory": "33MB", "block": 48}, "memory: expected at least"),
        ("maxtimes", {"block": 48}, "expected numbers of 0 or more"),
    ):
        with pytest.raises(ValueError, match=why):
            closure_blocks(array, ring, **how)
        assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]
    array[3, 40] = np.nan
    with pytest.raises(ValueError, match="got a NaN"):
        closure_blocks(array)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]
    array[3, 40] = a[3, 40] = 1
    closure_blocks(array, block=20)
    assert_same_bits(array, closure(a))


def test_rounds_of_another_version(tmp_path):
    array, folder, _ = make_memmap(tmp_path, whole_numbers(20))
    folder.mkdir()
    (folder / "closure.json").write_text(json.dumps({"version": 1}))
    with pytest.raises(ValueError, match=r"closure\.json: expected version 2, got 1; go on with"):
        closure_blocks(array)


def sparse_map(path, n, dtype):
    """A view of the middle of a file without content."""
    return np.memmap(path, dtype, "w+", 8, (n + 2, n))[1:-1]


def test_sparse_files_get_their_disk_before_the_rounds(tmp_path):
    """Else a full disk would kill the process while the star is copied."""
    n = 300
    a, before = (sparse_map(tmp_path / dtype, n, dtype) for dtype in ("f4", "i4"))

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closure_blocks(a, predecessors=before, progress=stop)
    for name in ("f4", "i4"):
        known = (tmp_path / name).stat()
        assert known.st_size == 8 + 4 * n * (n + 2)
        assert 512 * known.st_blocks >= 4 * n * n


@pytest.mark.parametrize("name", ["store", "predecessors"])
def test_a_full_disk_under_a_sparse_file(name, tmp_path, monkeypatch):
    a, before = (sparse_map(tmp_path / name, 300, "i4") for name in ("store", "predecessors"))
    allocate = os.posix_fallocate

    def fails(file, first, length):
        assert (first, length) == (8 + 1200, 360_000)
        if os.path.sameopenfile(file, wanted.fileno()):
            raise OSError(errno.ENOSPC, "No space left on device")
        allocate(file, first, length)

    monkeypatch.setattr(os, "posix_fallocate", fails)
    with (
        (tmp_path / name).open("rb") as wanted,
        pytest.raises(OSError, match=f"{name}: expected 0.00036 GB of disk for its file"),
    ):
        closure_blocks(a, predecessors=before)
    assert not a.any() and not before.any()
    assert not list(tmp_path.glob("*.closure"))


def test_read_only_datasets(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = np.ones((5, 5))
    with (
        h5py.File(tmp_path / "a.h5", "r") as file,
        pytest.raises(ValueError, match="store: expected a writeable array"),
    ):
        closure_blocks(file["a"])


def test_a_star_goes_where_its_matrix_was(tmp_path, monkeypatch):
    """Not into another part of the file, nor over a matrix that was written there meanwhile."""
    a = whole_numbers(50)
    both = np.memmap(tmp_path / "two.bin", "f8", "w+", shape=(2, 50, 50))
    both[0], both[1] = a, 10 * a
    stop_copying(monkeypatch, both[0])
    with pytest.raises(
        ValueError, match=r"store: expected .*two\.bin from byte 0 on.* got .*20000"
    ):
        closure_blocks(both[1])
    assert_same_bits(both[1], 10 * a)
    kept = both[0].copy()
    both[0] = 3 * a
    with pytest.raises(ValueError, match=r"store: block \(0, 1\) has changed since the star"):
        closure_blocks(both[0])
    assert_same_bits(both[0], 3 * a)
    both[0] = kept
    closure_blocks(both[0])
    assert_same_bits(both[0], closure(a))
    closure_blocks(both[1])
    assert_same_bits(both[1], closure(10 * a))


def test_a_sparse_matrix_that_was_written_meanwhile_stays(tmp_path, monkeypatch):
    """Most of its blocks are those of the other matrix, and of the star: nothing but +inf."""
    array = np.memmap(tmp_path / "a.bin", "f8", "w+", shape=(100, 100))
    array[...] = np.inf
    array[0, 1], array[1, 75] = 1, 2
    stop_copying(monkeypatch, array)
    array[...] = np.inf
    array[5, 6], array[6, 75], array[50, 99] = 7, 7, 7
    given = array.copy()
    with pytest.raises(ValueError, match="has changed since the star was copied"):
        closure_blocks(array)
    assert_same_bits(array, given)


def test_interrupted_rounds_of_the_other_order_of_bytes(tmp_path):
    a = whole_numbers(50)
    array = np.memmap(tmp_path / "a.bin", ">f8", "w+", shape=a.shape)
    array[...] = a

    def stop(share):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closure_blocks(array, block=20, progress=stop)
    closure_blocks(array)
    np.testing.assert_array_equal(array, closure(a))


def test_predecessors_need_an_array_of_their_own(tmp_path):
    array = np.memmap(tmp_path / "a.bin", "i4", "w+", shape=(5, 5))
    array[...] = 1
    same = np.memmap(tmp_path / "a.bin", "i4", "r+", shape=(5, 5))
    os.link(tmp_path / "a.bin", tmp_path / "b.bin")
    linked = np.memmap(tmp_path / "b.bin", "i4", "r+", shape=(5, 5))
    os.truncate(tmp_path / "a.bin", 300)
    half, behind = (np.memmap(tmp_path / "a.bin", "i4", "r+", b, (5, 5)) for b in (48, 100))
    for before in (array, same, np.asarray(array), linked, half):
        with pytest.raises(ValueError, match="predecessors: expected another array than store"):
            closure_blocks(array, predecessors=before)
    assert (array == 1).all()
    closure_blocks(array, predecessors=behind)
    assert (array == 1 - np.eye(5)).all()


def test_arrays_whose_files_are_not_there(tmp_path, monkeypatch):
    """Their rounds would lie in a folder that is not beside them, and be lost."""
    h5py = pytest.importorskip("h5py")
    array = make_memmap(tmp_path, np.ones((5, 5)))[0]
    monkeypatch.chdir(tmp_path)
    with h5py.File(io.BytesIO(), "w") as memory, h5py.File("a.h5", "w") as file:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        (tmp_path / "a.npy").unlink()
        sets = [each.create_dataset("a", data=array) for each in (memory, file)]
        for lost in (array, *sets):
            with pytest.raises(ValueError, match="scratch: expected a folder for the rounds of a"):
                closure_blocks(lost)
    assert not list((tmp_path / "elsewhere").iterdir())
