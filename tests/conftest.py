"""Every test that takes the fixture `isa` runs on each instruction set that was built.

TROPICAL_TEST_ISAS=avx2,baseline (an emulator, CI): these must run, failing where the CPU lacks one,
and no others do. A test with many variants runs all of them on the fastest instruction set, and on
the others every sixth; TROPICAL_TEST_EVERY=1: all. Tests marked `big`, `long` or `seeded` run only
if `-m` names the marker.
"""

import os
import re
import zlib
from collections import Counter
from contextlib import contextmanager, suppress

import pytest
import support

import tropical
from tropical import _core

# Threads for small products too, as if workers never slept. No tuning file of this machine is read,
# here or in a child.
_core.set_settings({"thread_share": 1 << 14, "wake_share": 1024})
os.environ["TROPICAL_TUNING"] = "off"

with suppress(ImportError):  # the session `free_threaded` has no hypothesis
    import hypothesis

    # No example has to end within 200 ms: speed is for benchmarks.
    hypothesis.settings.register_profile("untimed", hypothesis.settings.default, deadline=None)
    hypothesis.settings.load_profile("untimed")

OPT_IN = ("big", "cubins", "long", "seeded")  # pyproject.toml says what they are
CONFIG = tropical.config.config()
REQUIRED = os.environ.get("TROPICAL_TEST_ISAS", "")
EVERY = int(os.environ.get("TROPICAL_TEST_EVERY", "6"))
MANY = 30  # variants of one test on one instruction set


def isa_parameters():
    if REQUIRED:
        return REQUIRED.split(",")
    lacking = set(CONFIG["isa_built"]) - set(CONFIG["isa_supported"])
    return [
        pytest.param(name, marks=[pytest.mark.skip(f"this CPU lacks {name}")] * (name in lacking))
        for name in CONFIG["isa_built"]
    ]


@contextmanager
def running_on(name):
    """Hold calls to an instruction set, which is seen to be in use."""
    with tropical.options(isa=name):
        assert tropical.config.config()["isa"] == name
        for kernel in support.KERNELS:
            plan = tropical.explain(40, 40, 40, kernel=kernel)
            assert (plan.isa, plan.kernel) == (name, kernel)
        support.ran["isa", name] += 1
        yield


@pytest.fixture(params=isa_parameters())
def isa(request):
    """The name of the instruction set that this test runs on."""
    with running_on(request.param):
        yield request.param


AMX = pytest.param(
    "amx",
    marks=pytest.mark.skipif(
        "amx" not in CONFIG["byte_products"], reason="this CPU lacks AMX, or TROPICAL_ISA is set"
    ),
)


@pytest.fixture(params=[*isa_parameters(), *[AMX] * (not REQUIRED)])
def isa_or_amx(request):
    """As `isa`; "amx": the best of this CPU with AMX, which no named instruction set has."""
    if request.param != "amx":
        with running_on(request.param):
            yield request.param
        return
    assert "amx" in tropical.config.config()["bf16_products"]
    support.ran["isa", "amx"] += 1
    yield request.param


def pytest_collection_modifyitems(config, items):
    for marker in OPT_IN:
        if not re.search(rf"\b{marker}\b", config.option.markexpr):
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(pytest.mark.skip(f"runs with -m {marker} only"))
    thin_out(config, items)


def thin_out(config, items):
    """Leave out variants on slower instruction sets: five of six, chosen by their names."""

    def group(item):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        isa = parameters.get("isa", parameters.get("isa_or_amx"))
        return item.nodeid.partition("[")[0], isa

    sizes = Counter(map(group, items))
    left_out = {
        item
        for item in items
        if group(item)[1] not in (None, CONFIG["isa"], "amx")
        and sizes[group(item)] > MANY
        and zlib.crc32(item.nodeid.encode()) % EVERY
    }
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_make_parametrize_id(val):
    """Bytes may hold the time of day, as gzip's do, and workers of xdist must agree on ids."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):  # of pytest-xdist: this is one of its workers
        session.config.workeroutput["ran"] = list(support.ran.items())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """As many workers as tropical has threads, but at most eight: one takes up to 2.3 GB."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # which pytest-xdist reads
    return min(tropical.get_num_threads(), 8)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    support.ran.update(dict(getattr(node, "workeroutput", {}).get("ran", ())))


def pytest_terminal_summary(terminalreporter):
    def line(what):
        counts = [f"{name} {count}" for (kind, name), count in support.ran.items() if kind == what]
        return ", ".join(counts) or "none"

    terminalreporter.section("tropical")
    terminalreporter.line(f"CPU: {CONFIG['cpu']}; built: {', '.join(CONFIG['isa_built'])}")
    terminalreporter.line(f"tests run on instruction set: {line('isa')}")
    terminalreporter.line(f"products checked by kernel: {line('kernel')}")
    terminalreporter.line(f"products checked by threads: {line('threads')}")
