"""The bytes of a file that holds a graph: from a path or standard input, also compressed."""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

GZIP = b"\x1f\x8b"  # the first bytes of every gzip file


class EdgeFileError(ValueError):
    """A file holds no graph; the message begins with the name of the file, and the line."""


@dataclass(frozen=True)
class Source:
    """A file that has been read.

    Attributes
    ----------
    name : str
        For messages.
    suffix : str
        What names the format, such as ``.csv``, in lower case and without ``.gz``.
    data : bytes
        The content, decompressed.
    """

    name: str
    suffix: str
    data: bytes

    def text(self) -> str:
        """Return the content as text, or raise EdgeFileError."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.error(
                "is no UTF-8 text", self.data[: error.start].count(b"\n") + 1
            ) from None

    def error(self, why: object, line: int | None = None) -> EdgeFileError:
        """Return an error that names the file, and the line if there is one."""
        return EdgeFileError(f"{self.name}{'' if line is None else f':{line}'}: {why}")


def unnamed(error: Exception) -> str:
    """Return what an error says, without the name of the argument that took the file's graph."""
    return re.sub(r"^(a|w|graph): ", "", str(error))


def open_source(file: str | Path) -> Source:
    """Read a file; ``-`` is standard input."""
    path = Path(file)
    stdin = str(file) == "-"
    name = "standard input" if stdin else str(path)
    if stdin and sys.stdin is None:
        raise EdgeFileError(f"{name}: expected an open file, got a closed one")
    data = sys.stdin.buffer.read() if stdin else path.read_bytes()
    if path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise EdgeFileError(f"{name}: {error}") from error
    return Source(name, path.suffix.lower(), data)
