"""Products and Kleene stars of frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tropical import _core, graph, semirings

from .labels import library, numbers_of, positions, square, with_labels

if TYPE_CHECKING:
    import pandas as pd

    from tropical.semirings import Semiring


def closure(a: pd.DataFrame, semiring: str | Semiring = "minplus") -> pd.DataFrame:
    """Return the Kleene star of a frame, see `tropical.graph.closure`.

    Parameters
    ----------
    a : DataFrame, (n, n)
        Edges from row to column; the semiring's zero, or a missing value, means no edge. Rows and
        columns have the same labels, in any order.
    semiring : str or Semiring, default "minplus"

    Returns
    -------
    DataFrame, (n, n)
        Rows and columns in the order of the rows of `a`.

    Raises
    ------
    DivergenceError
        If a cycle improves with every round.
    ValueError
        If labels of rows and columns differ, stand twice, or are missing.
    TypeError
        If `a` is not a frame of numbers.

    Examples
    --------
    The widest way from Ulm to Bonn:

    >>> import pandas as pd
    >>> from tropical.interop.pandas import closure, from_edges
    >>> pipes = pd.DataFrame({"source": ["Ulm", "Ulm", "Kiel"], "target": ["Bonn", "Kiel", "Bonn"],
    ...                       "weight": [1.0, 5.0, 4.0]})
    >>> closure(from_edges(pipes, semiring="maxmin"), "maxmin").loc["Ulm", "Bonn"]
    np.float64(4.0)
    """
    ring = semirings.get(semiring)
    values, labels = square("a", a, ring)
    return library().DataFrame(graph.closure(values, ring), labels, labels)


def gemm(
    a: pd.DataFrame,
    b: pd.DataFrame,
    *,
    semiring: str | Semiring = "maxplus",
    return_argmax: bool = False,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """Return the product of two frames, see `tropical.gemm`.

    Parameters
    ----------
    a : DataFrame, (m, k)
    b : DataFrame, (k, n)
        The rows have the labels of the columns of `a`, in any order. A missing value in a frame is
        the semiring's zero; in a frame of booleans alone, it is False.
    semiring : str or Semiring, default "maxplus"
    return_argmax : bool, default False
        Also return the label that attains each optimum.

    Returns
    -------
    c : DataFrame, (m, n)
        The rows of `a`, and the columns of `b`.
    through : DataFrame of labels, (m, n)
        The first column of `a` that attains the optimum; None where `c` is the semiring's zero:
        there is no path.

    Raises
    ------
    ValueError
        If the labels of the columns of `a` and the rows of `b` differ, stand twice, or are missing.
    TypeError
        If `a` or `b` is not a frame of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from tropical.interop.pandas import gemm
    >>> flights = pd.DataFrame({"Oslo": [1.0, 4.0], "Rome": [3.0, 2.0]}, ["Bonn", "Kiel"])
    >>> trains = pd.DataFrame({"Bergen": [9.0, 7.0]}, ["Rome", "Oslo"])
    >>> hours, through = gemm(flights, trains, semiring="minplus", return_argmax=True)
    >>> hours
          Bergen
    Bonn     8.0
    Kiel    11.0
    >>> through
         Bergen
    Bonn   Oslo
    Kiel   Oslo
    """
    ring = semirings.get(semiring)
    left, right = numbers_of("a", a, ring), numbers_of("b", b, ring)
    order = positions("the columns of a", a.columns, "the rows of b", b.index)
    found = _core.gemm(left, right[order], semiring=ring, return_argmax=return_argmax)
    product, index = found if return_argmax else (found, None)
    frame = library().DataFrame(product, a.index, b.columns)
    if index is None:
        return frame
    values = frame.to_numpy()
    through = np.where(values == ring.zero(values.dtype), -1, index)
    return frame, with_labels(through, a.columns, frame)
