"""The notebooks are stored without outputs, and stand in the manual, whose build runs them."""

import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="needs the manual")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < 20_000
    notebook = json.loads(text)
    assert notebook["nbformat"] == 4 and notebook["metadata"]["kernelspec"]["name"] == "python3"
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
    assert f"\nnotebooks/{path.stem}\n" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2
