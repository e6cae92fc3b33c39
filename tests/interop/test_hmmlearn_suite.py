"""hmmlearn's own tests, run on our recursions."""

import os
import re
import sys
from pathlib import Path

import pytest
from support import run_command

import tropical

pytest.importorskip("hmmlearn", reason="runs the tests of hmmlearn, which is not installed")

FILES = [f"hmmlearn.tests.test_{name}" for name in ("base", "categorical_hmm", "gaussian_hmm")]


@pytest.mark.parametrize(
    "chosen,least",
    [
        ("not criterion and not fit", 60),
        pytest.param("criterion or fit", 60, marks=pytest.mark.long),
    ],
)
def test_hmmlearn_passes_its_own_tests_on_our_recursions(tmp_path, chosen, least):
    """Decoding, scores and posteriors; learning is a long test."""
    plugins = Path(__file__).parent / "plugins"
    paths = f"{plugins}{os.pathsep}{Path(tropical.__file__).parents[1]}"
    done = run_command(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull,
        "-p", "hmmlearn_by_tropical", "-k", chosen, "--pyargs", *FILES,
        env={**os.environ, "PYTHONPATH": paths}, cwd=tmp_path, timeout=600,
    )  # fmt: skip
    summary = re.search(r"(\d+) passed(.*) in ", done.stdout)
    assert done.returncode == 0 and summary, f"{done.stdout}\n{done.stderr}"
    assert int(summary[1]) >= least and "failed" not in summary[2], done.stdout
