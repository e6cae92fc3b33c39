"""Settings of the scheduler that `python -m tropical tune` measured on this machine.

The core calls `use` once, before its first product. Without a file, the sizes of the caches decide.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from pathlib import Path

from . import __version__, _core

__all__ = ["file", "read", "use", "write"]

VARIABLE = "TROPICAL_TUNING"


def _machine() -> dict[str, str]:
    """Return what settings are good for: this version, processor and instruction set."""
    here = _core.config()
    return {"version": __version__, "cpu": here["cpu"], "isa": here["isa"]}


def file() -> Path | None:
    """Return where the settings of this machine are kept, whether or not they are.

    Returns
    -------
    Path or None
        What the environment variable TROPICAL_TUNING names, else a file in the user's cache
        directory whose name has version, processor and instruction set. None if the variable is
        ``off``, or if platformdirs (extra ``tune``) is not installed.
    """
    if chosen := os.environ.get(VARIABLE):
        return None if chosen == "off" else Path(chosen)
    try:
        import platformdirs
    except ImportError:
        return None
    name = re.sub(r"[^a-z0-9.]+", "-", "-".join(_machine().values()).lower())
    return platformdirs.user_cache_path("tropical") / f"tuning-{name}.json"


def read(path: Path) -> dict[str, int]:
    """Read the settings in a file that `write` made on this machine.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is damaged, or was measured on another processor, instruction set or version.
    """
    found = json.loads(path.read_text())
    if not isinstance(found, dict) or not isinstance(found.get("settings"), dict):
        raise ValueError("it holds no settings")
    for name, here in _machine().items():
        if found.get(name) != here:
            raise ValueError(f"its {name} is {found.get(name)!r}, here it is {here!r}")
    settings: dict[str, int] = found["settings"]
    return settings


def write(path: Path, settings: dict[str, int]) -> None:
    """Write settings for this machine, making folders as needed; a reader sees all of it or none.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**_machine(), "settings": settings}, indent=2)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text + "\n")
    part.replace(path)


def use() -> None:
    """Let the scheduler use the settings of this machine, if there are any.

    Warns
    -----
    RuntimeWarning
        If the file cannot be used; it is ignored then.
    """
    path = file()
    if path is None or not (path.exists() or os.environ.get(VARIABLE)):
        return
    try:
        _core.set_settings(read(path))
    except (OSError, ValueError, TypeError) as reason:
        warnings.warn(
            f"tropical ignores its tuning file {path}: {reason}; "
            "`python -m tropical tune` writes it anew",
            RuntimeWarning,
            stacklevel=2,
        )
