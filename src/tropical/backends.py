"""The former name of `tropical.interop.opt_einsum`."""

import sys
import warnings

from .interop.opt_einsum import MODULES, Summand, implementation, tensordot

__all__ = ["Summand", "implementation", "tensordot"]

warnings.warn(
    "tropical.backends is deprecated: use tropical.interop.opt_einsum",
    DeprecationWarning,
    stacklevel=2,
)
globals().update(MODULES)
sys.modules.update({f"{__name__}.{name}": module for name, module in MODULES.items()})
