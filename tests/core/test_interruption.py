"""Ctrl-C and other signals during long work: heard soon, nothing corrupted, the next right."""

import functools
import signal

import numpy as np
import pytest
from support import KERNELS, run_python

import tropical

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
# Minutes of work over operands that are one element, repeated.
ROWS = np.broadcast_to(np.float32(1), (2048, 1 << 24))
BATCH = np.lib.stride_tricks.as_strided(np.ones(1 << 18), (1 << 16, 4096, 32), (8, 8, 8))
LONG_CHAIN = (np.float32([0] * 1024), np.zeros((1024, 1024), "f4"), np.zeros((40_000, 1024), "f4"))
KERNELS_AND_THREADS = {
    f"{kernel}-{threads}": functools.partial(
        tropical.gemm, ROWS, ROWS.T, kernel=kernel, threads=threads
    )
    for kernel in KERNELS
    for threads in (1, 2)
}


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


@pytest.mark.parametrize(
    "compute",
    [
        *KERNELS_AND_THREADS.values(),
        lambda: tropical.gemm(BATCH[:, None, :, 0], BATCH, kernel="naive"),
        lambda: tropical.gemm(ROWS, ROWS.T, return_argmax=True),
        lambda: tropical.gemm(ROWS, ROWS.T, workspace=tropical.GemmWorkspace()),
        lambda: tropical.ufunc.maxplus(ROWS, ROWS.T),
        lambda: tropical._core.linear(ROWS, ROWS),
        lambda: tropical.sequence.viterbi(*LONG_CHAIN),
        lambda: tropical.sequence.log_likelihood(*LONG_CHAIN),
    ],
)
def test_signals_are_heard_in_products(compute):
    """The first handler computes a product of its own; what the second raises ends the product."""
    a = np.arange(300 * 300.0).reshape(300, 300)
    right, found = tropical.gemm(a, a), []

    class HeardError(Exception):
        pass

    def hear(*_):
        if found:
            raise HeardError
        found.append(tropical.gemm(a, a, kernel="packed"))
        signal.setitimer(signal.ITIMER_REAL, 0.1)

    before = signal.signal(signal.SIGALRM, hear)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(HeardError):
            compute()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert np.array_equal(found[0], right) and np.array_equal(tropical.gemm(a, a), right)


def test_a_handler_leaves_the_work_that_it_interrupts_alone():
    """Both products and chains keep what they need in memory of their thread."""
    rng = np.random.default_rng(0)
    a, chain = rng.random((1500, 1500)), [rng.random(x) for x in [40, (40, 40), (3000, 40)]]
    long = [rng.random(x) for x in [200, (200, 200), (20_000, 200)]]
    calls = [
        lambda: tropical.gemm(a, a, kernel="packed", threads=1),
        lambda: tropical.sequence.viterbi(*long)[0],
        lambda: tropical.sequence.posteriors(*long).states,
    ]
    in_handler = [
        lambda: tropical.gemm(a[:400], a, kernel="packed"),
        lambda: tropical.sequence.viterbi(*chain)[0],
        lambda: tropical.sequence.posteriors(*chain).states,
    ]
    heard, wanted = [], [compute() for compute in in_handler]

    def hear(*_):
        heard.append([compute() for compute in in_handler])
        signal.setitimer(signal.ITIMER_REAL, 0.01)

    before = signal.signal(signal.SIGALRM, hear)
    try:
        for compute in calls:
            right = compute()
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            assert np.array_equal(compute(), right)
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard
    for results in heard:
        assert all(map(np.array_equal, results, wanted))
