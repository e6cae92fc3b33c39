"""`asv run` on three commits and `asv publish`: the site has a graph with a point for each commit.

The commits are of a repository made here, whose benchmarks are ours; all are measured on the
installed package, so that nothing is built. Skipped where git or asv is missing.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import run_command

ROOT = Path(__file__).resolve().parents[2]
BENCHMARK = "small.Overhead.time_gemm"
SIZES = 7  # the benchmark's parameter
MACHINES = ("epyc", "xeon")  # whose results are shipped


def call(*command, cwd, home):
    path = os.environ.get("PYTHONPATH", "")  # which asv does not hand on under this name
    env = {**os.environ, "HOME": str(home), "ASV_PYTHONPATH": path}
    done = run_command(*command, cwd=cwd, env=env)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def _needs_asv_and_git():
    pytest.importorskip("asv")
    if not shutil.which("git"):
        pytest.skip("git is not installed")


def points(site, benchmark):
    """The points of a benchmark's graphs, one for each machine, (revision, value) each."""
    graphs = site.glob(f"graphs/**/{benchmark}.json")
    found = [json.loads(path.read_text()) for path in graphs if "summary" not in path.parts]
    return [point for graph in found for point in graph]


def test_site_of_three_commits(tmp_path):
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
    assert len(points(site, BENCHMARK)) == 3
    for _, times in points(site, BENCHMARK):
        assert len(times) == SIZES and all(0 < seconds < 60 for seconds in times)


def test_site_of_the_landmarks(tmp_path):
    """The results that are shipped make a site with a point for each commit."""
    results = ROOT / "asv_benches" / "results"
    shipped = [path for machine in MACHINES for path in (results / machine).glob("*-*.json")]
    known = [json.loads(path.read_text())["commit_hash"] for path in shipped]
    for commit in known:
        have = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
        if subprocess.run(have, cwd=ROOT, capture_output=True).returncode:
            pytest.skip("not a clone with the whole history")
    git = functools.partial(call, "git", home=tmp_path)
    history = tmp_path / "history"
    git("init", "-q", "--bare", history, cwd=tmp_path)
    git("push", "-q", history, "HEAD:refs/heads/main", cwd=ROOT)
    settings = (ROOT / "asv_benches" / "asv.conf.json").read_text()
    assert '"repo": ".."' in settings
    settings = settings.replace('"repo": ".."', f'"repo": "{history}"')
    (tmp_path / "asv.conf.json").write_text(settings)
    for machine in MACHINES:
        shutil.copytree(results / machine, tmp_path / "results" / machine)
    shutil.copy(results / "benchmarks.json", tmp_path / "results")
    call(sys.executable, "-m", "asv", "publish", cwd=tmp_path, home=tmp_path)
    ratios = points(tmp_path / "html", "gemm.CeilingBySize.track_times_ceiling")
    assert len(ratios) == len(known) and len(set(known)) >= 20
    for _, values in ratios:  # None: the machine was too noisy
        assert all(value is None or 0.5 < value < 5 for value in values)
