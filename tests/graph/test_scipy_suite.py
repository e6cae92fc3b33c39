"""SciPy's own tests of its shortest paths, from the SciPy that is installed: all pass on ours.

What we do not have runs on SciPy: Yen's method, Dijkstra's with a limit or from the nearest source.
"""

import os
import re
import sys

import pytest
from support import TESTS, run_command

SUITE = "scipy.sparse.csgraph.tests.test_shortest_path"
pytest.importorskip("scipy", reason="whose tests these are")
pytest.importorskip(SUITE, reason="this SciPy was installed without its tests")


def test_scipy_suite(tmp_path):
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    pytest_with = "-m", "pytest", "-q", "-p", "scipy_adapter", "-p", "no:cacheprovider"
    env = {**os.environ, "PYTHONPATH": path}
    done = run_command(sys.executable, *pytest_with, "--pyargs", SUITE, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    passed, calls = (
        re.search(rf"(\d+) {what}", done.stdout) for what in ("passed", "calls of ours")
    )
    assert int(passed[1]) >= 60 and int(calls[1]) >= 100, done.stdout
