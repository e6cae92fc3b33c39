"""The ids of tests are the same in each process, so pytest-xdist's workers agree on them."""

import sys
from pathlib import Path

import pytest
from support import run_command

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_no_id_holds_bytes_of_gzip():
    file = str(TESTS / "cli/test_paths_command.py")
    ids = run_command(sys.executable, "-m", "pytest", "--collect-only", "-q", file)
    assert "bytes" in ids.stdout and "\\x1f" not in ids.stdout
