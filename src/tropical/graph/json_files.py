"""Small JSON files that say how far a call has come; a checksum finds damage."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from tropical.npz import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_CHECKSUM = "crc32"


def write(path: Path, version: int, fields: Mapping[str, Any]) -> None:
    """Write the fields and their checksum; the file is replaced in one step."""
    content = {"version": version, **fields}
    with replacing(path) as file:
        file.write(json.dumps({**content, _CHECKSUM: _checksum(content)}).encode())


def _checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content).encode())


def parse(content: bytes, version: int) -> dict[str, Any]:
    """Return the fields of a file of this version.

    Raises
    ------
    ValueError
        If the file is damaged, or of another version.
    """
    try:
        fields: dict[str, Any] = dict(json.loads(content))
        found = int(fields["version"])
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"the file is damaged ({error!r})") from None
    checksum = fields.pop(_CHECKSUM, None)
    if checksum != _checksum(fields) and (found == version or checksum is not None):
        raise ValueError("the file is damaged: its checksum differs")
    if found != version:
        raise ValueError(f"expected version {version}, got {found}")
    del fields["version"]
    return fields
