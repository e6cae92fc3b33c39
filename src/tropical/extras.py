"""Packages that are no dependency of ours: imported when first used, and asked for by name."""

from __future__ import annotations

import importlib
from typing import Any


class NotInstalledError(ImportError):
    """A package that is no dependency of ours is missing; the message says how to get it."""


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
        If it cannot be imported; the message names `module` and `install`.

    Examples
    --------
    >>> from tropical.extras import require
    >>> require("abacus", "'tropical-blas[test]'")
    Traceback (most recent call last):
    tropical.extras.NotInstalledError: abacus is not installed (pip install 'tropical-blas[test]')
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotInstalledError(f"{module} is not installed (pip install {install})") from error
