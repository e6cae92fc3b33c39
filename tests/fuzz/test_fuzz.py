"""Calls with odd arguments crash, hang or change nothing, and raise only what is documented."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SECONDS = float(os.environ.get("TROPICAL_FUZZ_SECONDS", "60"))
FIRST = int(os.environ.get("TROPICAL_FUZZ_FIRST", "0"))


def run_child(report, seconds, first, program=HERE / "calls.py"):
    """Make calls from number `first` on in a child; return (number of the last, what is wrong)."""
    report.write_text("")
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(program), str(report), str(seconds), str(first)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=seconds + 120,
        check=False,
    )
    lines = report.read_text().splitlines()
    calls = [i for i, line in enumerate(lines) if line[0].isdigit()]
    assert calls, f"no call was made:\n{done.stderr}"
    wrong = [f"{lines[i - 1]}\n{line}" for i, line in enumerate(lines) if line[:6] == "wrong:"]
    if lines[-1] != "end":
        wrong.append(f"{lines[calls[-1]]}\nended with status {done.returncode}:\n{done.stderr}")
    return int(lines[calls[-1]].split()[0]), wrong


@pytest.mark.long
def test_odd_arguments(tmp_path):
    """TROPICAL_FUZZ_FIRST=100000 makes other calls, TROPICAL_FUZZ_SECONDS=600 more of them."""
    pytest.importorskip("networkx")
    pytest.importorskip("pandas")
    pytest.importorskip("scipy")
    end, first, wrong = time.monotonic() + SECONDS, FIRST, []
    while (left := end - time.monotonic()) > 0 and len(wrong) < 20:
        last, found = run_child(tmp_path / "report", left, first)
        wrong += found
        first = last + 1
    print(f"{first - FIRST} calls")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body,said",
    [
        ("raise KeyError(1)", "KeyError: 1"),
        ("tropical.set_num_threads(1)", "changed [('threads', 2, 1)]"),
        ("x[:] = 1; raise ValueError('late')", "raised ValueError('late') after it changed"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended with status -11"),
        ("time.sleep(60)", "Timeout (0:00:01)!"),
    ],
)
def test_it_finds(body, said, tmp_path):
    """Each kind of defect, seeded into a function, is found and named with its call."""
    program = tmp_path / "seeded.py"
    program.write_text(
        "import os, signal, sys, time, calls, numpy, tropical\n"
        f"def seeded(x):\n    {body}\n"
        "calls.SECONDS = 1\n"
        "calls.targets = lambda: {'seeded': (seeded, None)}\n"
        "calls.arguments = lambda function, chance: ([numpy.zeros(3)], {}, ['x=zeros'])\n"
        "calls.main(sys.argv[1], 0.1, 7)\n"
    )
    last, wrong = run_child(tmp_path / "report", 0.1, 7, program)
    assert last >= 7 and wrong[0].startswith("7 seeded(x=zeros)\n") and said in wrong[0]
