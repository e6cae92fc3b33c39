"""What every function here takes as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def unmasked(name: str, given: ArrayLike) -> NDArray[Any]:
    """Return an array, not copied if it is one; raise TypeError for a masked one.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.arrays import unmasked
    >>> unmasked("a", np.ma.masked_array([1.0, 2.0], [False, True]))
    Traceback (most recent call last):
    TypeError: a is a masked array, and products know no masks; fill it, for example with the \
semiring's zero
    """
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, and products know no masks; fill it, for example with the "
            "semiring's zero"
        )
    return np.asarray(given)
