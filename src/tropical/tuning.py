"""Settings of the scheduler that `python -m tropical tune` measured on this machine.

The core calls `use` once, before its first product. Without a file, the sizes of the caches decide.
"""

from __future__ import annotations

import contextvars
import json
import os
import re
import stat
import warnings
from pathlib import Path

from . import __version__, _core

__all__ = ["check_replaceable", "file", "is_absent", "read", "use", "write"]

VARIABLE = "TROPICAL_TUNING"
MOST_BYTES = 1 << 16


def _machine() -> dict[str, str]:
    """Return what settings are good for: version, processor, instruction set of the process."""
    here = contextvars.Context().run(_core.config)  # without the options of this context
    return {"version": __version__, "cpu": here["cpu"], "isa": here["isa"]}


def file() -> Path | None:
    """Return where the settings of this machine are kept, whether or not they are.

    Returns
    -------
    Path or None
        What the environment variable TROPICAL_TUNING names, else a file in the user's cache
        directory whose name has version, processor and instruction set. None if the variable is
        ``off``, if platformdirs (extra ``tune``) cannot be imported, or if there is no home.
    """
    if chosen := os.environ.get(VARIABLE):
        return None if chosen.lower() == "off" else Path(chosen)
    try:
        import platformdirs

        folder = platformdirs.user_cache_path("tropical")
    except Exception:  # absent, broken, or without a home: no reason for a product to fail
        return None
    name = re.sub(r"[^a-z0-9.]+", "-", "-".join(_machine().values()).lower())
    return folder / f"tuning-{name}.json"


def _text(path: Path) -> str:
    """Read a file, without waiting for a pipe or filling the memory."""
    path = Path(path)
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is no regular file")
    if status.st_size > MOST_BYTES:
        raise ValueError(f"it has {status.st_size:,} bytes, more than any tuning file")
    return path.read_text()


def read(path: Path) -> dict[str, int]:
    """Read the settings in a file that `write` made on this machine.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is damaged, or was measured on another processor, instruction set or version.
    """
    try:
        found = json.loads(_text(path))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict) or not isinstance(found.get("settings"), dict):
        raise ValueError("it holds no settings")
    for name, here in _machine().items():
        if found.get(name) != here:
            raise ValueError(f"its {name} is {found.get(name)!r:.80}, here it is {here!r}")
    settings: dict[str, int] = found["settings"]
    return settings


def check_replaceable(path: Path) -> None:
    """Make sure that `write` may write a file, or that it may be deleted.

    Raises
    ------
    OSError
        If its folder cannot be made or written to.
    ValueError
        If something else is there: no regular file, or one that was never a tuning file.
    """
    path = Path(path)
    if not path.name:
        raise ValueError(f"{path} is no name of a file")
    if path.exists():
        if not path.is_file():
            raise ValueError(f"{path} is no regular file")
        text = _text(path)
        if text and not all(f'"{name}"' in text for name in ("version", "settings")):
            raise ValueError(f"{path} is no tuning file; delete it yourself if it is in the way")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{path.parent} cannot be written to")


def write(path: Path, settings: dict[str, int]) -> None:
    """Write settings for this machine, making folders as needed; a reader sees all of it or none.

    Raises
    ------
    OSError, ValueError
        As `check_replaceable` does, and if the file cannot be written.
    """
    path = Path(path).resolve()
    check_replaceable(path)
    text = json.dumps({**_machine(), "settings": settings}, indent=2)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        part.write_text(text + "\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def is_absent(reason: Exception) -> bool:
    """Return whether an error of `read` means that nobody keeps settings, or asked for a file."""
    none = (FileNotFoundError, NotADirectoryError, PermissionError)
    return isinstance(reason, none) and not os.environ.get(VARIABLE)


def use() -> None:
    """Let the scheduler use the settings of this machine, if there are any.

    Warns
    -----
    RuntimeWarning
        If the file cannot be used; it is ignored then.
    """
    path = file()
    if path is None:
        return
    try:
        _core.set_settings(read(path))
    except (OSError, ValueError, TypeError) as reason:
        if is_absent(reason):
            return
        warnings.warn(
            f"tropical ignores its tuning file {path}: {reason}; "
            "`python -m tropical tune` writes it anew",
            RuntimeWarning,
            stacklevel=2,
        )
