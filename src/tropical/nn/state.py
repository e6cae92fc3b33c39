"""States, which are arrays by name: compared with targets, written to files, read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tropical.arrays import Array
from tropical.npz import PathLike, check_mapping, load_arrays, save_arrays

__all__ = ["PathLike", "apart", "load_arrays", "matching", "save_arrays"]


def matching(state: Mapping[str, Array], targets: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of a state, cast; raise unless each fits the target of the same name."""
    check_mapping("state", state)
    missing, unknown = targets.keys() - state.keys(), state.keys() - targets.keys()
    if missing or unknown:
        raise ValueError(f"state: missing {sorted(missing)}, unknown {sorted(unknown)}")
    arrays = {name: np.asarray(state[name]) for name in targets}
    for name, target in targets.items():
        array = arrays[name]
        if isinstance(state[name], np.ma.MaskedArray):
            raise TypeError(f"state: {name}: expected no mask, got a masked array")
        if array.shape != target.shape:
            raise ValueError(f"state: {name}: expected shape {target.shape}, got {array.shape}")
        if not np.can_cast(array.dtype, target.dtype, "same_kind"):
            raise TypeError(f"state: {name}: expected {target.dtype}, got {array.dtype}")
        if not target.flags.writeable:
            raise ValueError(f"state: {name}: expected a writeable target, got a read-only one")
    return {name: _cast(name, arrays[name], target.dtype) for name, target in targets.items()}


def _cast(name: str, array: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array in a dtype; ValueError if a number is beyond the range of that dtype."""
    with np.errstate(over="ignore"):
        cast = array.astype(dtype, copy=False)
    if cast is not array:
        beyond = np.isinf(cast) & ~np.isinf(array) if cast.dtype.kind == "f" else cast != array
        if beyond.any():
            raise ValueError(f"state: {name}: expected numbers in the range of {dtype}, got others")
    return cast


def apart(arrays: Mapping[str, Array], targets: Iterable[Array]) -> dict[str, Array]:
    """Return arrays by name, copied where a target, which is written to, may share their memory."""
    written = list(targets)
    return {
        name: array.copy() if any(np.may_share_memory(array, t) for t in written) else array
        for name, array in arrays.items()
    }
