"""States, which are arrays by name: compared with targets, written to files, read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
PathLike: TypeAlias = "str | os.PathLike[str]"


def check_mapping(name: str, x: object) -> None:
    """Raise TypeError unless `x` is a mapping of names to arrays."""
    if not isinstance(x, Mapping):
        raise TypeError(f"{name}: expected a mapping of names to arrays, got {type(x).__name__}")


def matching(state: Mapping[str, Array], targets: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of a state; raise unless each fits the target of the same name."""
    check_mapping("state", state)
    missing, unknown = targets.keys() - state.keys(), state.keys() - targets.keys()
    if missing or unknown:
        raise ValueError(f"state: missing {sorted(missing)}, unknown {sorted(unknown)}")
    arrays = {name: np.asarray(state[name]) for name in targets}
    for name, target in targets.items():
        array = arrays[name]
        if array.shape != target.shape:
            raise ValueError(f"state: {name}: expected shape {target.shape}, got {array.shape}")
        if not np.can_cast(array.dtype, target.dtype, "same_kind"):
            raise TypeError(f"state: {name}: expected {target.dtype}, got {array.dtype}")
    return arrays


def save_arrays(path: PathLike, arrays: Mapping[str, Array]) -> None:
    """Write arrays by name to an ``.npz`` file, without pickle; replace the file in one step.

    If `path` is a symbolic link, its target is replaced.

    Raises
    ------
    TypeError
        If `arrays` is not a mapping.
    OSError
        If the file cannot be written.
    """
    check_mapping("arrays", arrays)
    path = Path(path).resolve()
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_arrays(path: PathLike) -> dict[str, Array]:
    """Read the arrays of an ``.npz`` file.

    Raises
    ------
    ValueError
        If the file is not an ``.npz`` file of arrays, or is damaged; the message names the file.
    OSError
        If the file cannot be opened.
    """
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return {
                    name.removesuffix(".npy"): _member(archive, name) for name in archive.namelist()
                }
        except Exception as error:  # zipfile, zlib and NumPy raise many types
            raise ValueError(
                f"{os.fspath(path)}: expected an undamaged .npz file of arrays ({error})"
            ) from None


def _member(archive: zipfile.ZipFile, name: str) -> Array:
    with archive.open(name) as member:
        array: Array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read():  # to the end, where the checksum is compared
            raise ValueError(f"{name}: expected one array, got more bytes")
    return array
