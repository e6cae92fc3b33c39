"""Every test that takes the fixture `isa` runs once on each instruction set that was built.

TROPICAL_TEST_ISAS=avx2,baseline (an emulator, CI): these must run, failing where the CPU lacks one,
and no others do. TROPICAL_TEST_BIG=1, TROPICAL_TEST_SEEDED=1, TROPICAL_TEST_LONG=1 add the tests
marked `big`, `seeded`, `long`.
"""

import os

import pytest
import support

import tropical
from tropical import _core

# Threads for small products too, as if workers never slept. No tuning file of this machine is read,
# here or in a child.
_core.set_settings({"thread_share": 1 << 14, "wake_share": 1024})
os.environ["TROPICAL_TUNING"] = "off"

OPT_IN = {
    "big": "needs tens of gigabytes of address space, and seconds",
    "seeded": "builds the extension once for each seeded bug: minutes",
    "long": "trains for half a minute",
}
CONFIG = tropical.config.config()
REQUIRED = os.environ.get("TROPICAL_TEST_ISAS", "")


def isa_parameters():
    if REQUIRED:
        return REQUIRED.split(",")
    lacking = set(CONFIG["isa_built"]) - set(CONFIG["isa_supported"])
    return [
        pytest.param(name, marks=[pytest.mark.skip(f"this CPU lacks {name}")] * (name in lacking))
        for name in CONFIG["isa_built"]
    ]


@pytest.fixture(params=isa_parameters())
def isa(request):
    """The name of the instruction set that this test runs on, forced and seen to be in use."""
    with tropical.options(isa=request.param):
        assert tropical.config.config()["isa"] == request.param
        for kernel in support.KERNELS:
            plan = tropical.explain(40, 40, 40, kernel=kernel)
            assert (plan.isa, plan.kernel) == (request.param, kernel)
        support.ran["isa", request.param] += 1
        yield request.param


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: long, and no more telling under a sanitizer")
    for marker, why in OPT_IN.items():
        config.addinivalue_line("markers", f"{marker}: {why}; set TROPICAL_TEST_{marker.upper()}=1")


def pytest_collection_modifyitems(items):
    for item in items:
        for marker, why in OPT_IN.items():
            name = f"TROPICAL_TEST_{marker.upper()}"
            if marker in item.keywords and os.environ.get(name) != "1":
                item.add_marker(pytest.mark.skip(f"{why}; set {name}=1"))


def pytest_terminal_summary(terminalreporter):
    def line(what):
        counts = [f"{name} {count}" for (kind, name), count in support.ran.items() if kind == what]
        return ", ".join(counts) or "none"

    terminalreporter.section("tropical")
    terminalreporter.line(f"CPU: {CONFIG['cpu']}; built: {', '.join(CONFIG['isa_built'])}")
    terminalreporter.line(f"tests run on instruction set: {line('isa')}")
    terminalreporter.line(f"products checked by kernel: {line('kernel')}")
    terminalreporter.line(f"products checked by threads: {line('threads')}")
