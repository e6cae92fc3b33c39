"""python -m tropical doctor: what is wrong makes the exit status 1, and what is not, does not."""

import importlib.util
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support import run_command

import tropical
from tropical import _core, tuning
from tropical.cli import doctor

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-W", "error", "-m", "tropical", "doctor")
USABLE = [isa for isa in _core.config()["isa_built"] if isa in _core.config()["isa_supported"]]


def run(**environment):
    return run_command(*COMMAND, env={**os.environ, **environment}, timeout=60)


def found(check):
    """The findings of one check, without the verdict "ok"."""
    return [(one.verdict, one.text) for one in check() if one.verdict != "ok"]


def test_a_sound_installation():
    done = run()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "This installation is sound." in done.stdout and "WRONG" not in done.stdout
    for name in (*USABLE, "bytes"):
        assert re.search(rf"test {name} +\d+ products are equal to NumPy's", done.stdout)
    shares = re.findall(r"(\d+)% of the ceiling", done.stdout)
    assert shares and all(0 < int(share) <= 100 for share in shares)


@pytest.mark.parametrize("name", ["TROPICAL_ISA", "TROPICAL_NUM_THREADS"])
def test_a_wrong_variable(name):
    done = run(**{name: "many"})
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(rf"WRONG +variables +.*{name}.*many", done.stdout)


def test_variables(monkeypatch):
    for name in doctor.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert found(doctor._variables) == []
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    ((verdict, text),) = found(doctor._variables)
    assert verdict == "note" and "OMP_NUM_THREADS=1" in text


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinity")
def test_affinity():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
        "from tropical.cli import doctor; print(*doctor._threads())"
    )
    done = run_command(sys.executable, "-c", code, timeout=60)
    assert done.returncode == 0, done.stderr
    if (os.cpu_count() or 1) > 1:
        assert re.search(r"may use 1 of \d+ cores", done.stdout)


def test_an_old_numpy(monkeypatch):
    monkeypatch.setattr(np, "__version__", "2.0.2")
    ((verdict, text),) = found(doctor._numpy)
    assert verdict == "WRONG" and "2.0.2" in text and "pip install 'numpy>=2.1'" in text


def test_a_product_that_differs(monkeypatch):
    """A kernel that returns another number is named, with its instruction set."""
    gemm = tropical.gemm

    def wrong(a, b, **options):
        result = gemm(a, b, **options)
        if options == {"semiring": tropical.semirings.minplus} and a.dtype == np.int16:
            result[0] += 1
        return result

    monkeypatch.setattr(tropical, "gemm", wrong)
    findings = found(doctor._self_test)
    assert len(findings) == len(USABLE)
    for verdict, text in findings:
        assert verdict == "WRONG" and "minplus int16 direct, minplus int16 packed" in text


@pytest.fixture
def _settings():
    before = _core.settings()
    yield
    _core.set_settings(before)


@pytest.mark.usefixtures("_settings")
def test_settings(monkeypatch, tmp_path):
    path = tmp_path / "settings.json"
    monkeypatch.setattr(tuning, "file", lambda: path)
    monkeypatch.delenv("TROPICAL_TUNING", raising=False)
    assert found(doctor._settings) == []
    tuning.write(path, {})
    assert found(doctor._settings) == []
    path.write_text("{}")
    ((verdict, text),) = found(doctor._settings)
    assert verdict == "WRONG" and str(path) in text and "holds no settings" in text
    path.unlink()
    for settings, why in (({"block": -1}, "block: expected "), ({"unknown": 1}, "unknown")):
        tuning.write(path, settings)
        ((verdict, text),) = found(doctor._settings)
        assert verdict == "WRONG" and why in text
    path.unlink()
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.F_OK)
    ((verdict, text),) = found(doctor._settings)
    assert verdict == "note" and str(tmp_path) in text


def test_a_cache_that_cannot_be_entered(monkeypatch, tmp_path):
    """Its files are absent, as they are for products."""
    path, access = tmp_path / "closed" / "tropical" / "settings.json", os.access
    real = Path.stat

    def stat(self, **options):
        if self.is_relative_to(tmp_path / "closed") and self != tmp_path / "closed":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, **options)

    monkeypatch.delenv("TROPICAL_TUNING", raising=False)
    monkeypatch.setattr(tuning, "file", lambda: path)
    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.F_OK and access(path, mode))
    (tmp_path / "closed").mkdir()
    ((verdict, text),) = found(doctor._settings)
    assert verdict == "note" and text.startswith(f"{tmp_path / 'closed'} cannot be written to")


def test_extras(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    findings = found(doctor._extras)
    assert len(findings) == len(doctor.EXTRAS)
    assert all("pip install 'tropical-blas[" in text for _, text in findings)


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs pyproject.toml")
def test_what_pyproject_says():
    """The least NumPy, and which extra brings which package."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'dependencies = ["numpy>={".".join(map(str, doctor.LEAST_NUMPY))}"]' in project
    for package, (extra, _) in doctor.EXTRAS.items():
        (packages,) = re.findall(rf"^{extra} = \[(.*?)\]$", project, re.MULTILINE | re.DOTALL)
        assert f'"{package}' in packages, f"the extra {extra} does not bring {package}"
