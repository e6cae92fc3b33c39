"""networkx's own tests of the functions that our backend takes over, run on it."""

import os
import re
import sys
from importlib.metadata import entry_points

import pytest
from support import run_command

pytest.importorskip("networkx", reason="the backend is networkx's")

ALGORITHMS = "networkx.algorithms"
FILES = [
    f"{ALGORITHMS}.shortest_paths",
    f"{ALGORITHMS}.tests.test_dag",
    f"{ALGORITHMS}.tests.test_distance_measures",
    f"{ALGORITHMS}.tests.test_efficiency",
    f"{ALGORITHMS}.tests.test_wiener",
    f"{ALGORITHMS}.centrality.tests.test_betweenness_centrality",
    f"{ALGORITHMS}.centrality.tests.test_closeness_centrality",
    f"{ALGORITHMS}.centrality.tests.test_harmonic_centrality",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen, least",
    [("not use_bounds", 300), pytest.param("use_bounds", 1, marks=pytest.mark.long)],
)
@pytest.mark.skipif(
    not entry_points(group="networkx.backends", name="tropical"),
    reason="networkx finds the backend of an installed distribution only",
)
def test_networkx_passes_its_own_tests_on_our_backend(tmp_path, chosen, least):
    """None fails, and none is expected to; 500 random graphs by bounds are one long test."""
    done = run_command(
        sys.executable, "-m", "pytest", "-q", "-rfEx", "-p", "no:cacheprovider",
        "-c", os.devnull, "-k", chosen, "--pyargs", *FILES,
        env={**os.environ, "NETWORKX_TEST_BACKEND": "tropical", "NETWORKX_FALLBACK_TO_NX": "True"},
        cwd=tmp_path, timeout=300,
    )  # fmt: skip
    summary = re.search(r"(\d+) passed(.*) in ", done.stdout)
    assert done.returncode == 0 and summary, f"{done.stdout}\n{done.stderr}"
    assert int(summary[1]) >= least
    assert "failed" not in summary[2] and "xfailed" not in summary[2], done.stdout
