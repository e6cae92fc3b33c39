"""Matrix products over semirings, as fast as the machine allows.

`gemm` multiplies matrices with (max, +), (min, +), (max, x), (max, min), (min, max) or (or, and) in
place of (+, x), and with (+, x) itself; `semirings` lists them.
"""

__version__ = "0.1.0"

import importlib as _importlib
from typing import Any as _Any

from . import semirings
from ._core import GemmWorkspace, gemm, get_num_threads, set_num_threads
from .config import Plan, explain, options, show_config

_LATER = ("autograd", "graph", "nn", "optim", "sequence")  # imported when first used


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "GemmWorkspace",
    "Plan",
    "__version__",
    "explain",
    "gemm",
    "get_num_threads",
    "options",
    "semirings",
    "set_num_threads",
    "show_config",
]
