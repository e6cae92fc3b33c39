"""Packages that are no dependency: what is said of one that is missing, and of a broken one."""

import sys

import pytest

from tropical.extras import NotInstalledError, require

MISSING = "is not installed"


@pytest.mark.parametrize(
    "module, code, says",
    [
        ("nowhere", None, MISSING),
        ("nowhere.part", None, MISSING),
        ("here.part", "", MISSING),
        ("here", "import of_here", "cannot be imported: No module named 'of_here'"),
        ("here", "raise OSError('libhere.so: cannot open')", "cannot be imported: libhere.so: can"),
        ("here", "raise ImportError('needs NumPy 1')", "cannot be imported: needs NumPy 1"),
    ],
)
def test_a_package_that_cannot_be_imported(module, code, says, tmp_path, monkeypatch):
    if code is not None:
        (tmp_path / "here.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "here", raising=False)
    with pytest.raises(NotInstalledError) as error:
        require(module, "here")
    assert str(error.value).startswith(f"{module} {says}")
    assert str(error.value).endswith(" (pip install here)")


def test_memory_that_is_full(tmp_path, monkeypatch):
    (tmp_path / "large.py").write_text("raise MemoryError")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MemoryError):
        require("large", "large")
