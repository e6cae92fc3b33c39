"""`asv run` on three commits and `asv publish`: the site has a graph with a point for each commit.

The commits are of a repository made here, whose benchmarks are ours; all are measured on the
installed package, so that nothing is built. Skipped where git or asv is missing.
"""

import functools
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from support import run_command

ROOT = Path(__file__).resolve().parents[2]
BENCHMARK = "small.Overhead.time_gemm"
SIZES = 7  # the benchmark's parameter


def call(*command, cwd, home):
    path = os.environ.get("PYTHONPATH", "")  # which asv does not hand on under this name
    env = {**os.environ, "HOME": str(home), "ASV_PYTHONPATH": path}
    done = run_command(*command, cwd=cwd, env=env)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def test_site_of_three_commits(tmp_path):
    pytest.importorskip("asv")
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    repository = tmp_path / "repository"
    folder = repository / "asv_benches"
    ignored = shutil.ignore_patterns("env", "html", "results", "__pycache__")
    shutil.copytree(ROOT / "asv_benches", folder, ignore=ignored)
    git = functools.partial(call, "git", "-c", "user.name=t", "-c", "user.email=t@localhost")
    git = functools.partial(git, cwd=repository, home=tmp_path)
    asv = functools.partial(call, sys.executable, "-m", "asv", cwd=folder, home=tmp_path)
    git("init", "-q", "-b", "main")
    asv("machine", "--yes")
    for number in range(3):
        (repository / "change").write_text(str(number))
        git("add", "-A")
        git("commit", "-qm", f"change {number}")
        how = ("--python=same", "--quick", f"--set-commit-hash={git('rev-parse', 'HEAD')}")
        asv("run", *how, rf"--bench={BENCHMARK}\(")
    asv("publish")
    site = folder / "html"
    assert BENCHMARK in json.loads((site / "index.json").read_text())["benchmarks"]
    (graph,) = (
        path for path in site.glob(f"graphs/**/{BENCHMARK}.json") if "summary" not in path.parts
    )
    points = json.loads(graph.read_text())
    assert len(points) == 3
    for _, times in points:
        assert len(times) == SIZES and all(0 < seconds < 60 for seconds in times)
