"""Frames to arrays and back: numbers, and which label stands where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tropical.extras import require

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from tropical.semirings import Semiring

    Array: TypeAlias = NDArray[Any]


def library() -> Any:
    """pandas, imported when first used."""
    return require("pandas", "'tropical-blas[pandas]'")


def check_frame(name: str, frame: object) -> None:
    """Raise TypeError unless `frame` is one."""
    if not isinstance(frame, library().DataFrame):
        raise TypeError(f"{name}: a pandas DataFrame is wanted, got {type(frame).__name__}")


def numbers_of(name: str, frame: pd.DataFrame, ring: Semiring) -> Array:
    """The numbers of a frame, the semiring's zero where one is missing."""
    check_frame(name, frame)
    for label, dtype in frame.dtypes.items():
        if not library().api.types.is_numeric_dtype(dtype):
            raise TypeError(f"{name}: column {label!r} has dtype {dtype}, numbers are wanted")
    kinds = [
        getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype)) for dtype in frame.dtypes
    ]
    common = np.result_type(*kinds) if kinds else np.dtype(np.float64)
    if not frame.isna().any(axis=None):
        return np.asarray(frame.to_numpy(common))
    if common.kind in "iu":
        common = np.dtype(np.float64)
    return np.asarray(frame.to_numpy(common, na_value=ring.zero(common)))


def square(name: str, frame: pd.DataFrame, ring: Semiring) -> tuple[Array, pd.Index]:
    """The numbers of a frame, its columns in the order of its rows, and their labels."""
    values = numbers_of(name, frame, ring)
    order = positions(f"the rows of {name}", frame.index, f"the columns of {name}", frame.columns)
    return values[:, order], frame.index


def positions(one: str, wanted: pd.Index, other: str, given: pd.Index) -> Array:
    """Where the labels `wanted` stand in `given`."""
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


def _missing(labels: pd.Index) -> Array:
    if isinstance(labels, library().MultiIndex):
        return np.asarray(np.any(np.less(labels.codes, 0), axis=0))
    return np.asarray(labels.isna())


def _some(labels: pd.Index) -> str:
    shown = ", ".join(repr(label) for label in labels[:3].tolist())
    return f"{shown} and {len(labels) - 3} more" if len(labels) > 3 else shown


def labelled(numbers: Array, labels: pd.Index, like: pd.DataFrame) -> pd.DataFrame:
    """Labels by their numbers, None for negative ones, in a frame as `like`."""
    found = np.full(numbers.shape, None, object)
    there = numbers >= 0
    found[there] = np.fromiter(labels, object, len(labels))[numbers[there]]
    return library().DataFrame(found, like.index, like.columns, dtype=object)
