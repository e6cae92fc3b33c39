"""The semirings that `tropical.gemm` knows, by name: ``semirings.maxplus``, ``semirings.ALL``.

The list is the one that the C++ core was built from; nothing here repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import _core

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


@dataclass(frozen=True)
class Semiring:
    """One semiring: what takes the place of + and x in a matrix product.

    Attributes
    ----------
    name : str
        The name that ``semiring=`` takes, such as ``"maxplus"``.
    add, multiply : str
        The two operations, such as ``"max"`` and ``"+"``.
    selective : bool
        Whether a sum is always one of its terms, so that the product has an argmax.
    exact : bool
        Whether a sum never rounds, so that its order does not matter.
    dtypes : tuple of str
        Names of the dtypes that the product is defined for.

    Examples
    --------
    >>> from tropical import semirings
    >>> semirings.minplus.add, semirings.minplus.multiply
    ('min', '+')
    >>> print(semirings.minplus)
    minplus (min, +)
    """

    name: str
    add: str
    multiply: str
    selective: bool
    exact: bool
    dtypes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({self.add}, {self.multiply})"

    def zero(self, dtype: DTypeLike) -> float:
        """Return the identity of the addition, which annihilates in the multiplication.

        Parameters
        ----------
        dtype : dtype
            One of `dtypes`.

        Returns
        -------
        float or int or bool
            For integers, -inf and +inf are the least and the greatest value of the dtype.

        Raises
        ------
        TypeError
            If the semiring is not defined for `dtype`.

        Examples
        --------
        >>> from tropical import semirings
        >>> semirings.maxplus.zero("float32"), semirings.maxplus.zero("int8")
        (-inf, -128)
        """
        return _core.constants(self.name, np.dtype(dtype).str)[0]

    def one(self, dtype: DTypeLike) -> float:
        """Return the identity of the multiplication; see `zero`.

        Examples
        --------
        >>> from tropical import semirings
        >>> semirings.maxplus.one("int8"), semirings.maxmin.one("int8")
        (0, 127)
        """
        return _core.constants(self.name, np.dtype(dtype).str)[1]


ALL: tuple[Semiring, ...] = tuple(
    Semiring(
        entry["name"],
        entry["add"],
        entry["multiply"],
        entry["selective"],
        entry["exact"],
        tuple(entry["dtypes"]),
    )
    for entry in _core.semirings()
)
_BY_NAME = {semiring.name: semiring for semiring in ALL}


def names() -> tuple[str, ...]:
    """Return the names of all semirings, in the order of `ALL`.

    Examples
    --------
    >>> from tropical import semirings
    >>> "maxplus" in semirings.names()
    True
    """
    return tuple(_BY_NAME)


def get(semiring: str | Semiring) -> Semiring:
    """Return the semiring of that name.

    Parameters
    ----------
    semiring : str or Semiring
        A name, in which underscores are ignored, or a semiring, which is returned as it is.

    Raises
    ------
    ValueError
        If there is no such semiring; the message lists the known names.
    TypeError
        If `semiring` is neither.

    Examples
    --------
    >>> from tropical import semirings
    >>> semirings.get("max_plus") is semirings.maxplus
    True
    """
    if isinstance(semiring, Semiring):
        return semiring
    if not isinstance(semiring, str):
        raise TypeError(
            f"semiring must be a name or a tropical.semirings.Semiring, got {semiring!r}"
        )
    try:
        return _BY_NAME[semiring.replace("_", "")]
    except KeyError:
        raise ValueError(
            f"unknown semiring {semiring!r}; the known ones are {', '.join(names())}"
        ) from None


def __getattr__(name: str) -> Semiring:
    if name in _BY_NAME:
        return _BY_NAME[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_BY_NAME])
