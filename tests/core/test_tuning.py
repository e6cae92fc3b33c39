"""Settings measured by `tune`: kept, read lazily, never trusted blindly, never seen in results."""

import itertools
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import INSTANCES, run_python, values

import tropical
from tropical import _core, tuning
from tropical.cli import main
from tropical.measure import tune
from tropical.measure.timing import Contender, Timings

EXTREMES = [
    {"micro_panel": 8 << 10, "block": 16 << 10, "panel": 64 << 10, "direct_side": 1},
    {"micro_panel": 4 << 20, "block": 64 << 20, "panel": 256 << 20, "direct_side": 2048},
    {"heavy_side": 1, "argmax_steps": 16, "thread_share": 1 << 10, "wake_share": 1 << 10},
    {"heavy_side": 2048, "argmax_steps": 1024, "thread_share": 1 << 30, "wake_share": 1 << 30},
    {"thread_share": 1 << 10, "wake_share": 1 << 30},  # on workers only if they are awake
]


@pytest.fixture(autouse=True)
def restore():
    before = _core.settings()
    yield
    _core.set_settings(before)


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "tuning.json"
    monkeypatch.setenv("TROPICAL_TUNING", str(path))
    return path


@pytest.mark.parametrize("semiring, dtype", INSTANCES)
def test_settings_do_not_change_results(isa, semiring, dtype):
    a, b = values((70, 300), dtype, 1), values((300, 90), dtype, 2)
    if semiring == "plustimes":
        a, b = np.rint(a % 16).astype(dtype), np.rint(b % 16).astype(dtype)  # exact sums
    first = "packed" if semiring == "logplus" else "naive"  # which rounds otherwise
    expected = tropical.gemm(a, b, semiring=semiring, kernel=first)
    for settings, kernel in itertools.product(EXTREMES, (None, "packed")):
        _core.set_settings(settings)
        result = tropical.gemm(a, b, semiring=semiring, kernel=kernel)
        np.testing.assert_array_equal(result, expected, err_msg=f"{settings} {kernel}")


def test_settings_reach_the_plan():
    _core.set_settings({"micro_panel": 16 << 10, "direct_side": 32})
    plan = tropical.explain(200, 200, 2000)
    assert plan.kernel == "packed" and plan.kc * plan.nr * 4 <= 16 << 10
    _core.set_settings({"direct_side": 300})
    assert tropical.explain(200, 200, 200).kernel == "direct"
    _core.set_settings({"argmax_steps": 20})
    for dtype, most in (("float32", 20), ("int64", 20), ("int16", 40), ("uint8", 40)):
        for k, kernel in ((most, "direct"), (most + 1, "packed")):
            plan = tropical.explain(300, 300, k, dtype=dtype, semiring="maxmin", return_argmax=True)
            assert plan.kernel == kernel, (dtype, k)
    assert _core.settings()["micro_panel"] == _core.suggested_settings()["micro_panel"]


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"no_such": 1}, ValueError, "no_such"),
        ({"block": 1}, ValueError, "block: expected at least 16384, got 1"),
        ({"block": 1 << 62}, ValueError, "block: expected at most"),
        ({"block": 1.5}, TypeError, "block: expected an integer, got 1.5"),
        ({"panel": 1 << 20, "block": None}, TypeError, "block"),
        ({3: 4}, TypeError, "str"),
    ],
)
def test_bad_settings_change_nothing(settings, error, message):
    before = _core.settings()
    with pytest.raises(error, match=message):
        _core.set_settings(settings)
    assert _core.settings() == before


def test_write_and_use(path):
    tuning.write(path, {"block": 123456})
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    tuning.use()
    assert _core.settings() == {**_core.suggested_settings(), "block": 123456}


def test_a_file_is_used_before_the_first_product_and_not_by_import(path):
    tuning.write(path, {"direct_side": 7})
    script = """
        import sys
        import numpy as np
        import tropical
        assert "tropical.tuning" not in sys.modules and "platformdirs" not in sys.modules
        {first}
        assert "tropical.tuning" in sys.modules
        assert tropical._core.settings()["direct_side"] == 7
        assert tropical.config.config()["tuned"] == ["direct_side"]
        assert tropical.explain(64, 64, 64).kernel == "packed"
    """
    for first in (
        "tropical.gemm(np.ones((2, 2)), np.ones((2, 2)))",
        "tropical.explain(64, 64, 64)",
        "tropical.GemmWorkspace().reserve(64, 64, 64)",
        "tropical.show_config(open('/dev/null', 'w'))",
    ):
        run_python(script.replace("{first}", first), TROPICAL_TUNING=str(path))


def damage(text):
    """Ways in which a file can be wrong, by what the warning says of it."""
    good = json.loads(text)
    return {
        "Expecting value": "",
        "Unterminated|Expecting|delimiter": text[: len(text) // 2],
        "holds no settings": "[]",
        "its cpu is 'abacus'": json.dumps({**good, "cpu": "abacus"}),
        "its version is None": json.dumps({k: v for k, v in good.items() if k != "version"}),
        "its isa is 'mmx'": json.dumps({**good, "isa": "mmx"}),
        "block: expected at least": json.dumps({**good, "settings": {"block": -1}}),
        "block: expected an integer": json.dumps({**good, "settings": {"block": "large"}}),
        "unknown setting 'colour'": json.dumps({**good, "settings": {"colour": 3}}),
        "codec can't decode": b"\xff\xfe\xfd",
        "nested too deeply": "[" * 60_000,
        "has 70,000 bytes": " " * 70_000,
    }


def test_damaged_files_are_ignored_with_a_warning(path):
    _core.set_settings({})
    tuning.write(path, {"block": 123456})
    for message, content in damage(path.read_text()).items():
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.warns(RuntimeWarning, match=message) as caught:
            tuning.use()
        assert str(path) in str(caught[0].message)
        assert _core.settings() == _core.suggested_settings()
    path.unlink()
    with pytest.warns(RuntimeWarning, match="No such file"):  # it was named, so it should be there
        tuning.use()


def test_a_warning_names_the_caller_and_the_product_is_right(path):
    path.parent.mkdir()
    path.write_text("nonsense")
    run_python(
        """
        import warnings
        import numpy as np
        import tropical
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                assert tropical.gemm(np.eye(2), np.eye(2))[0, 0] == 2
        assert len(caught) == 1 and caught[0].category is RuntimeWarning
        assert caught[0].filename == "<string>", caught[0].filename
        """,
        TROPICAL_TUNING=str(path),
    )


def test_where_the_file_is(monkeypatch, tmp_path):
    pytest.importorskip("platformdirs")
    monkeypatch.delenv("TROPICAL_TUNING")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tuning.file()
    assert path.parent == tmp_path / "tropical"
    version = tropical.__version__.replace("+", "-")
    assert version in path.name and _core.config()["isa"] in path.name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuning.use()  # there is none, which is nothing to warn of
        monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
        tuning.use()  # no folder, no file
        monkeypatch.setitem(sys.modules, "platformdirs", None)  # makes its import fail
        assert tuning.file() is None
        tuning.use()
        monkeypatch.delitem(sys.modules, "platformdirs")
        (tmp_path / "platformdirs.py").write_text("raise AttributeError")  # a broken one
        monkeypatch.syspath_prepend(tmp_path)
        assert tuning.file() is None
    monkeypatch.setenv("TROPICAL_TUNING", "off")
    assert tuning.file() is None


@pytest.mark.slow
def test_tune_keeps_what_it_finds(path, capsys):
    pytest.importorskip("platformdirs")
    before = _core.settings()
    assert tune.main(["--seconds", "0"]) == 0
    assert "kept in" in capsys.readouterr().out
    assert _core.settings() == before
    found = tuning.read(path)
    assert set(found) <= set(before)
    tuning.use()
    assert _core.settings() == {**_core.suggested_settings(), **found}
    assert tune.main(["--reset"]) == 0
    assert not path.exists()


def test_tune_that_keeps_nothing(path, capsys, monkeypatch):
    pytest.importorskip("platformdirs")
    with monkeypatch.context() as patched:
        patched.setattr(tune, "interleave", timed({}))
        assert tune.main(["--seconds", "0", "--dry-run"]) == 0
    assert not path.exists()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    before = _core.settings()
    monkeypatch.setattr(tune, "interleave", interrupt)
    assert tune.main(["--seconds", "0"]) == 130
    assert "nothing was kept" in capsys.readouterr().err
    assert _core.settings() == before and not path.exists()
    monkeypatch.setenv("TROPICAL_TUNING", "off")
    assert tune.main(["--seconds", "0"]) == 2
    assert "TROPICAL_TUNING is off" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        tune.main(["--reset", "--dry-run"])
    for bad in ("-1", "nan", "inf"):
        with pytest.raises(SystemExit, match="2"):
            tune.main(["--seconds", bad])
        assert "--seconds: expected a number of at least 0, got" in capsys.readouterr().err


def test_what_is_no_tuning_file_is_left_alone(path, capsys, monkeypatch):
    path.parent.mkdir()
    path.write_text("my thesis")
    package = path.with_name("package.json")
    package.write_text('{"name": "mine", "version": "1.0"}')
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)
    for other, message in (
        (path, "is no tuning file"),
        (package, "is no tuning file"),
        (pipe, "no regular file"),
        (path.parent, "no regular file"),
        (Path("/"), "no name of a file"),
    ):
        monkeypatch.setenv("TROPICAL_TUNING", str(other))
        for option in ("--reset", "--seconds=0"):
            assert tune.main([option]) == 2
            assert message in capsys.readouterr().err
    assert path.read_text() == "my thesis" and "mine" in package.read_text()
    assert {p.name for p in path.parent.iterdir()} == {path.name, package.name, "pipe"}
    monkeypatch.setenv("TROPICAL_TUNING", str(pipe))
    with pytest.warns(RuntimeWarning, match="no regular file"):
        tuning.use()


def test_a_link_stays_a_link(path):
    target = path.parent.parent / "target.json"
    path.parent.mkdir()
    path.symlink_to(target)
    tuning.write(path, {"block": 123456})
    assert path.is_symlink() and tuning.read(target) == {"block": 123456}


def test_the_instruction_set_is_that_of_the_process(path):
    tuning.write(path, {"block": 123456})
    with tropical.options(isa="baseline"):
        assert tuning.read(path) == {"block": 123456}


def test_the_command_does_not_complain_of_what_it_replaces(path, capsys):
    pytest.importorskip("platformdirs")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["tune", "--reset"]) == 0
    assert "is gone" in capsys.readouterr().out


def test_tune_without_its_packages(path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    assert tune.main(["--seconds", "0"]) == 2
    assert "tropical-blas[tune]" in capsys.readouterr().err


def timed(rates, noise=0.0, rounds=25, seed=0):
    """What stands in for `interleave`: contenders of given rates, 1 unless named, with noise."""
    rng = np.random.default_rng(seed)

    def interleave(contenders, *, budget):
        def seconds(contender):
            rate = rates(contender) if callable(rates) else rates.get(contender.name, 1.0)
            return (rng.lognormal(0, noise, rounds) * contender.work / rate).tolist()

        named = {contender.name: contender for contender in contenders}
        return Timings(named, {name: seconds(c) for name, c in named.items()}, 0)

    return interleave


def sized_pairs(sides=(32, 64, 128, 256, 512)):
    return ((n, *(Contender(x, lambda: None, n) for x in ("first", "second"))) for n in sides)


def test_a_setting_is_changed_only_if_that_pays(monkeypatch):
    suggested = _core.suggested_settings()["panel"]
    product = tune._product(4, "float32", "maxplus")
    for gain, best in ((1.01, suggested), (1.10, 2 * suggested), (0.5, suggested)):
        monkeypatch.setattr(tune, "interleave", timed({str(2 * suggested): gain}, 0.001))
        finding = tune._tune_blocks("panel", (1, 2), [product, product], 0.0)
        assert (finding.before, finding.after) == (suggested, best)


@pytest.mark.parametrize("rounds", [5, 9, 25])
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_noise_is_no_gain(noise, rounds, monkeypatch):
    """No setting is changed where all contenders are equal, on machines that are not quiet."""
    monkeypatch.setattr(tune, "interleave", timed({}, noise, rounds))
    products = [tune._product(4, "float32", "maxplus")] * 3
    for _ in range(30):
        blocks = tune._tune_blocks("block", (0.5, 0.75, 1, 1.5, 2), products, 0.0)
        switch = tune._tune_switch("direct_side", sized_pairs(), 0.0)
        assert blocks.after == blocks.before and switch.after == switch.before


@pytest.mark.parametrize("crossing", [0, 64, 128, 512])
def test_switch_points_are_found(crossing, monkeypatch):
    """`first` is twice as fast up to the crossing, `second` from there on."""

    def rate(contender):
        return 1.0 if contender.name != "first" else 2.0 if contender.work <= crossing else 0.5

    monkeypatch.setattr(tune, "interleave", timed(rate, 0.01))
    _core.set_settings({})
    finding = tune._tune_switch("direct_side", sized_pairs(), 0.0)
    assert finding.before == _core.suggested_settings()["direct_side"] == 256
    assert finding.after == (crossing or 16)
    assert finding.gain > 1.02


def test_a_device_is_not_replaced():
    with pytest.raises(ValueError, match="/dev/null is no regular file"):
        tuning.check_replaceable("/dev/null")
