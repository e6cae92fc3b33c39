"""Packages that are no dependency of ours: imported when first used, and asked for by name."""

from __future__ import annotations

import importlib
from typing import Any


class NotInstalledError(ImportError):
    """A package that is no dependency of ours is missing, or broken; the message says which."""


def require(module: str, install: str) -> Any:
    """Import a module that is no dependency of ours.

    Parameters
    ----------
    module : str
        Its full name.
    install : str
        What pip installs it by, such as ``"'tropical-blas[test]'"``.

    Raises
    ------
    NotInstalledError
        If it cannot be imported; the message names `module` and `install`, and what went wrong
        if the package is there.

    Examples
    --------
    >>> from tropical.extras import require
    >>> require("abacus", "'tropical-blas[test]'")
    Traceback (most recent call last):
    tropical.extras.NotInstalledError: abacus is not installed (pip install 'tropical-blas[test]')
    """
    try:
        return importlib.import_module(module)
    except (NotInstalledError, MemoryError):  # the first of our own module, which needs another
        raise
    except Exception as error:  # a broken package raises anything, such as OSError for a library
        what = f"cannot be imported: {error}"
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            what = "is not installed"
        raise NotInstalledError(f"{module} {what} (pip install {install})") from error
