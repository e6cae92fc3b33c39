"""The former name of the package `tropical.einsum`."""

import warnings

from .einsum import Counted, einsum

__all__ = ["Counted", "einsum"]

warnings.warn(
    "tropical.contraction is deprecated: use tropical.einsum and tropical.Counted",
    DeprecationWarning,
    stacklevel=2,
)
