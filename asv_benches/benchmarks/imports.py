"""Imports, each in a fresh interpreter: `import tropical` should cost little beside NumPy's."""

from __future__ import annotations


def timeraw_import_numpy() -> str:
    return "import numpy"


def timeraw_import_tropical() -> str:
    return "import tropical"


def timeraw_import_tropical_after_numpy() -> tuple[str, str]:
    return "import tropical", "import numpy"
