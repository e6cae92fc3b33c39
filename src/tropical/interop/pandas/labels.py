"""Frames to arrays and back: numbers, and the positions of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.arrays import Array, is_kind, promote
from tropical.extras import require

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd

    from tropical.semirings import Semiring


def library() -> Any:
    """Return pandas, imported at the first use."""
    return require("pandas", "'tropical-blas[pandas]'")


def check_frame(name: str, frame: object) -> None:
    """Raise TypeError unless `frame` is a frame of pandas."""
    if not isinstance(frame, library().DataFrame):
        kind = f"{type(frame).__module__}.{type(frame).__qualname__}".removeprefix("builtins.")
        raise TypeError(f"{name}: expected a pandas DataFrame, got {kind}")


def numbers_of(name: str, frame: pd.DataFrame, ring: Semiring) -> Array:
    """Return the numbers of a frame, with the semiring's zero for a missing value."""
    check_frame(name, frame)
    for label, dtype in frame.dtypes.items():
        if not library().api.types.is_numeric_dtype(dtype):
            raise TypeError(f"{name}: column {label!r}: expected numbers, got dtype {dtype}")
    kinds = [
        getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype)) for dtype in frame.dtypes
    ]
    common = np.result_type(*kinds) if kinds else np.dtype(np.float64)
    missing = frame.isna().any(axis=None)
    if missing and is_kind(common, "integer"):
        common = np.dtype(np.float64)
    if all(kind == common or not is_kind(kind, "integer") for kind in kinds):
        if missing:
            zero = False if is_kind(common, "bool") else ring.zero(common)  # False is no edge
            return np.asarray(frame.to_numpy(common, na_value=zero))
        return np.asarray(frame.to_numpy(common))
    values = np.full(frame.shape, ring.zero(common), common)
    for i, kind in enumerate(kinds):  # pyarrow makes no infinity of a missing integer
        column = frame.iloc[:, i]
        own = promote(column.to_numpy(kind, na_value=0), common, ring)
        np.copyto(values[:, i], own, where=~column.isna().to_numpy(bool))
    return values


def square(name: str, frame: pd.DataFrame, ring: Semiring) -> tuple[Array, pd.Index]:
    """Return the numbers of a frame, columns in the order of the rows, and the labels."""
    values = numbers_of(name, frame, ring)
    order = positions(f"the rows of {name}", frame.index, f"the columns of {name}", frame.columns)
    return values[:, order], frame.index


def positions(one: str, wanted: pd.Index, other: str, given: pd.Index) -> Array:
    """Return the positions in `given` of the labels `wanted`."""
    for what, labels in ((one, wanted), (other, given)):
        if not labels.is_unique:
            raise ValueError(f"{what} have a label twice: {_some(labels[labels.duplicated()])}")
        if (missing := _missing(labels)).any():
            raise ValueError(f"{what} have a missing label: {_some(labels[missing])}")
    alone = [(one, wanted[~wanted.isin(given)]), (other, given[~given.isin(wanted)])]
    wrong = [f"only {what} have {_some(labels)}" for what, labels in alone if len(labels)]
    if wrong:
        raise ValueError(f"{one} and {other} must have the same labels: {', '.join(wrong)}")
    return np.asarray(given.get_indexer(wanted))


def chosen(
    name: str, some: Sequence[Hashable] | None, labels: pd.Index, expected: str = "labels"
) -> Array:
    """Return the positions of some labels, all by default."""
    if some is None:
        return np.arange(len(labels))
    if not library().api.types.is_list_like(some):
        raise TypeError(f"{name}: expected a list of labels, got {some!r}")
    some = list(some)
    found: Array = labels.get_indexer(some)
    if (found < 0).any():
        raise KeyError(f"{name}: expected {expected}, got {some[int(np.argmin(found))]!r}")
    return found


def _missing(labels: pd.Index) -> Array:
    if isinstance(labels, library().MultiIndex):
        return np.asarray(np.any(np.less(labels.codes, 0), axis=0))
    return np.asarray(labels.isna())


def _some(labels: pd.Index) -> str:
    shown = ", ".join(repr(label) for label in labels[:3].tolist())
    return f"{shown} and {len(labels) - 3} more" if len(labels) > 3 else shown


def with_labels(numbers: Array, labels: pd.Index, like: pd.DataFrame) -> pd.DataFrame:
    """Return the labels at `numbers`, None for a negative number, in a frame as `like`."""
    found = np.full(numbers.shape, None, object)
    there = numbers >= 0
    found[there] = np.fromiter(labels, object, len(labels))[numbers[there]]
    return library().DataFrame(found, like.index, like.columns, dtype=object)
