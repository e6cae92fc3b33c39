"""The semirings of `tropical.gemm`, by name: ``semirings.maxplus``; all of them: ``semirings.ALL``.

The list comes from the C++ core. A `Semiring` knows its own properties, so other modules ask the
semiring and never look at its name or its symbols.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

# NumPy's function for each symbol of an operation.
_UFUNCS: dict[str, np.ufunc] = {
    "+": np.add,
    "x": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "or": np.logical_or,
    "and": np.logical_and,
    "logaddexp": np.logaddexp,
}


@dataclass(frozen=True)
class Semiring:
    """One semiring: the two operations that replace + and x in a matrix product.

    Attributes
    ----------
    name : str
        The name that ``semiring=`` takes, such as ``"maxplus"``.
    add, multiply : str
        The symbols of the two operations, such as ``"max"`` and ``"+"``.
    selective : bool
        Whether a sum is always one of its terms. Only then does the product have an argmax.
    exact : bool
        Whether a sum never rounds. The order of the terms then does not matter.
    dtypes : tuple of str
        The names of the dtypes that the product is defined for.
    stored : tuple of str
        The names of further dtypes that the matrices of `tropical.gemm`, `tropical.einsum` and
        functions of `tropical.graph` may have. Products are computed in float32, and rounded once.
    idempotent : bool
        Whether ``x (+) x = x`` for every x.
    nonnegative : bool
        Whether the operations form a semiring only on numbers that are not negative.
    direction : int
        1 if the greater of two numbers is their sum, -1 if the lesser is, 0 for other sums.

    Examples
    --------
    >>> from tropical import semirings
    >>> semirings.minplus.add, semirings.minplus.multiply
    ('min', '+')
    >>> print(semirings.minplus)
    minplus (min, +)
    >>> semirings.minplus.add_ufunc, semirings.minplus.multiply_ufunc
    (<ufunc 'minimum'>, <ufunc 'add'>)
    """

    name: str
    add: str
    multiply: str
    selective: bool
    exact: bool
    dtypes: tuple[str, ...]
    stored: tuple[str, ...]
    idempotent: bool
    nonnegative: bool
    direction: int

    @property
    def add_ufunc(self) -> np.ufunc:
        """NumPy's function for (+), such as ``np.maximum``."""
        return _UFUNCS[self.add]

    @property
    def multiply_ufunc(self) -> np.ufunc:
        """NumPy's function for (x), such as ``np.add``.

        The function saturates no integer, and zero does not annihilate where IEEE makes a NaN.
        """
        return _UFUNCS[self.multiply]

    def better(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Return, element by element, whether ``x (+) y`` is x and not y.

        Parameters
        ----------
        x, y : array_like
            Numbers, broadcast as NumPy does.

        Returns
        -------
        bool or ndarray of bool

        Raises
        ------
        ValueError
            If the semiring is not selective.

        Examples
        --------
        >>> from tropical import semirings
        >>> semirings.minplus.better([1, 2, 3], 2)
        array([ True, False, False])
        """
        if self.direction == 0:
            raise ValueError(f"semiring: expected a selective one, got {self.name}")
        return np.greater(x, y) if self.direction > 0 else np.less(x, y)

    def __str__(self) -> str:
        return f"{self.name} ({self.add}, {self.multiply})"

    def __reduce__(self) -> str:
        """Return the name in this module: a copy, also by pickle, is the semiring itself."""
        return self.name

    def zero(self, dtype: DTypeLike) -> float:
        """Return the identity of (+), which annihilates in (x).

        Parameters
        ----------
        dtype : dtype
            One of `dtypes` or `stored`.

        Returns
        -------
        float or int or bool
            Integer dtypes use their least value for -inf and their greatest value for +inf.

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
        return _constants(self.name, np.dtype(dtype))[0]

    def one(self, dtype: DTypeLike) -> float:
        """Return the identity of (x); see `zero`.

        Examples
        --------
        >>> from tropical import semirings
        >>> semirings.maxplus.one("int8"), semirings.maxmin.one("int8")
        (0, 127)
        """
        return _constants(self.name, np.dtype(dtype))[1]


ALL: tuple[Semiring, ...] = tuple(
    Semiring(
        name=entry["name"],
        add=entry["add"],
        multiply=entry["multiply"],
        selective=entry["selective"],
        exact=entry["exact"],
        dtypes=tuple(entry["dtypes"]),
        stored=tuple(entry["stored"]),
        idempotent=entry["idempotent"],
        nonnegative=entry["nonnegative"],
        direction=entry["better"],
    )
    for entry in _core.semirings()
)
_BY_NAME = {semiring.name: semiring for semiring in ALL}


@functools.cache
def _constants(name: str, dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return zero and one; those of a stored dtype are numbers of float32, and of the dtype."""
    stored = dtype.name in _BY_NAME[name].stored
    return _core.constants(name, "float32" if stored else dtype)


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
        A name, whose underscores are ignored, or a semiring, which is returned unchanged.

    Raises
    ------
    ValueError
        If there is no such semiring; the message lists the known names, and for a name such as
        ``"max-plus"`` or ``"(max, +)"`` says which semiring is meant.
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
            f"semiring: expected a name or a tropical.semirings.Semiring, got {semiring!r}"
        )
    try:
        return _BY_NAME[semiring.replace("_", "")]
    except KeyError:
        meant = _meant(semiring)
        hint = f"; did you mean {meant!r}? The" if meant else "; the"
        raise ValueError(
            f"semiring: unknown semiring {semiring!r}{hint} known ones are {', '.join(names())}"
        ) from None


def _meant(name: str) -> str | None:
    """Return the name of the semiring that is spelled like `name`, by its letters or its symbols.

    Examples
    --------
    >>> _meant("Max-Plus"), _meant("(max,+)"), _meant("minpluss"), _meant("nothing")
    ('maxplus', 'maxplus', 'minplus', None)
    """
    import difflib  # here, as importing tropical is to cost little more than NumPy's import

    spellings = {s.name: s.name for s in ALL} | {f"{s.add},{s.multiply}": s.name for s in ALL}
    plain = re.sub(r"[^a-z,+]", "", name.lower())
    near = difflib.get_close_matches(plain, spellings, n=1, cutoff=0.75)
    return spellings[near[0]] if near else None


if TYPE_CHECKING:  # the names of the core's list, as no type checker reads C++
    plustimes: Semiring
    maxplus: Semiring
    minplus: Semiring
    maxtimes: Semiring
    mintimes: Semiring
    maxmin: Semiring
    minmax: Semiring
    orand: Semiring
    logplus: Semiring
else:

    def __getattr__(name: str) -> Semiring:
        if name in _BY_NAME:
            return _BY_NAME[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_BY_NAME])
