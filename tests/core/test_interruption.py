"""Ctrl-C in the middle of a closure: heard before it ends, nothing corrupted, the next right."""

import pytest
from support import run_python

PROGRAM = """
import os, signal, threading
import numpy as np
from tropical.graph import closure, shortest_paths

def kill():
    begun.wait()
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job may ignore
a = np.ones({shape}, {dtype!r})
before = a.copy()
begun, shares = threading.Event(), []
threading.Thread(target=kill, daemon=True).start()
try:
    shortest_paths(a, {method!r}, progress=lambda share: (shares.append(share), begun.set()))
except KeyboardInterrupt:
    assert 0 < shares[-1] < 1, shares
    assert np.array_equal(a, before)
    small = a[..., :40, :40].copy()
    assert np.array_equal(closure(small), shortest_paths(small, {method!r}))
    print("interrupted")
"""


@pytest.mark.parametrize(
    "shape,dtype,method",
    [
        ((1500, 1500), "float32", "FW"),
        ((40_000, 32, 32), "int8", "FW"),
        ((800, 800), "float64", "D"),
    ],
)
def test_interruption(shape, dtype, method):
    if method == "D":
        pytest.importorskip("scipy", reason="whose Dijkstra is interrupted")
    program = PROGRAM.format(shape=shape, dtype=dtype, method=method)
    assert run_python(program) == "interrupted\n"
