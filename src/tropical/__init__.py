"""Matrix products over semirings, as fast as the machine allows.

`gemm` multiplies matrices with (max, +), (min, +), (max, min), (or, and) or another semiring in
place of (+, x), and with (+, x) itself; `semirings` lists them.
"""

import importlib as _importlib
import sys as _sys
import typing as _typing

from . import semirings
from ._core import GemmWorkspace, gemm, get_num_threads, set_num_threads
from ._version import __version__
from .config import Plan, explain, options, show_config
from .einsum import einsum  # the function takes the name of its package, for good
from .epilogue import Epilogue

if _typing.TYPE_CHECKING:
    from . import autograd as autograd
    from . import cuda as cuda
    from . import graph as graph
    from . import nn as nn
    from . import optim as optim
    from . import quantized as quantized
    from . import sequence as sequence
    from . import spectral as spectral
    from . import ufunc as ufunc
    from .einsum import Counted

# Imported when first used.
_LATER = ("autograd", "cuda", "graph", "nn", "optim", "quantized", "sequence", "spectral", "ufunc")


if not _typing.TYPE_CHECKING:  # a type checker would take every name for one of the package

    def __getattr__(name: str) -> _typing.Any:
        if name in _LATER:
            return _importlib.import_module(f"{__name__}.{name}")
        if name == "Counted":
            return _importlib.import_module(f"{__name__}.einsum.counting").Counted
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, "Counted"})


__all__ = [
    "Counted",
    "Epilogue",
    "GemmWorkspace",
    "Plan",
    "__version__",
    "einsum",
    "explain",
    "gemm",
    "get_num_threads",
    "options",
    "semirings",
    "set_num_threads",
    "show_config",
]

if hasattr(_sys.modules.get("threadpoolctl"), "register"):  # it is in use: let it see our threads
    _importlib.import_module(f"{__name__}.interop.threadpoolctl").register()
