"""The manual names files and folders of today."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("asv_benches/*.md")]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="needs the manual")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_exist(page):
    """`cpp/gemm` stands for its header and its source; <name> in a path for any name."""
    for path in re.findall(
        r"`((?:\.ci|asv_benches|cmake|cpp|docs|src|tests)/[^` ]*)`",
        page.read_text(encoding="utf-8"),
    ):
        pattern = re.sub(r"<\w+>", "*", path.rstrip("/"))
        found = [*ROOT.glob(pattern), *ROOT.glob(pattern + ".*")]
        assert found, f"{page.name} names {path}, which does not exist"
