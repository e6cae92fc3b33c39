"""Files of factors: the edges and the order of the elimination, which make the factor again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from tropical import semirings
from tropical.npz import load_arrays, save_arrays

from .edges import Edges
from .weights import Weights

if TYPE_CHECKING:
    from tropical.npz import PathLike

VERSION = 1  # of the files


def write(path: PathLike, weights: Weights) -> None:
    """Write a factor; `Factor.save` says how."""
    edges = weights.edges
    arrays = {
        "version": np.array(VERSION),
        "semiring": np.array(weights.ring.name),
        "directed": np.array(weights.directed),
        "order": weights.elimination.order,
        "source": edges.source.astype(np.int32),
        "target": edges.target.astype(np.int32),
        "weight": edges.weight,
    }
    save_arrays(path, arrays)


def read(path: PathLike) -> Weights:
    """Read a factor; `Factor.load` says how."""
    arrays = load_arrays(path)
    name = os.fspath(path)
    version = arrays.get("version", np.array(0))
    if version.shape != () or version.dtype.kind not in "iu" or version < 1:
        raise ValueError(f"{name}: expected a file of Factor.save, got other arrays")
    if version > VERSION:
        raise ValueError(f"{name}: expected version {VERSION} at most, got {version}")
    try:
        ends = (arrays[end] for end in ("source", "target"))
        source, target = (end.astype(np.intp, casting="safe") for end in ends)
        edges = Edges(len(arrays["order"]), source, target, arrays["weight"])
        ring = semirings.get(str(arrays["semiring"]))
        return Weights(edges, ring, bool(arrays["directed"]), arrays["order"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected a file of Factor.save ({error})") from None
