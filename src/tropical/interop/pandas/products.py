"""Labelled products and Kleene stars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tropical import _core, graph, semirings

from .labels import labelled, library, numbers_of, positions, square

if TYPE_CHECKING:
    import pandas as pd

    from tropical.semirings import Semiring


def closure(a: pd.DataFrame, semiring: str | Semiring = "minplus") -> pd.DataFrame:
    """Return the Kleene star of a labelled matrix, see `tropical.graph.closure`.

    Parameters
    ----------
    a : DataFrame, (n, n)
        Edges from row to column; the semiring's zero, or a missing value, where there is none. Rows
        and columns have the same labels, in any order.
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
        If `a` is no frame, or holds other than numbers.

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
    """Return the product of two labelled matrices, see `tropical.gemm`.

    Parameters
    ----------
    a : DataFrame, (m, k)
    b : DataFrame, (k, n)
        Its rows have the labels of the columns of `a`, in any order. A missing value in either is
        the semiring's zero.
    semiring : str or Semiring, default "maxplus"
    return_argmax : bool, default False
        Return also through which label each optimum leads.

    Returns
    -------
    c : DataFrame, (m, n)
        The rows of `a`, and the columns of `b`.
    through : DataFrame of labels, (m, n)
        Of those that attain the optimum, the first in the order of the columns of `a`; None if
        there are none, k being 0.

    Raises
    ------
    ValueError
        If the labels of the columns of `a` and the rows of `b` differ, stand twice, or are missing.
    TypeError
        If `a` or `b` is no frame, or holds other than numbers.

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
    return frame if index is None else (frame, labelled(index, a.columns, frame))
