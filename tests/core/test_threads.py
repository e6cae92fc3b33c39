"""Many Python threads, the GIL, and what a call leaves behind in the process."""

import os
import sys
import threading
import time

import numpy as np
import pytest
from support import EXACT, SANITIZED, example, in_threads, run_python

import tropical

LINUX = sys.platform.startswith("linux")


def test_eight_threads_at_once(isa):
    """All semirings and dtypes, each thread in another order, threaded calls among them."""
    samples = [(s, *example(40, 50, 60, s, d)) for s, d in EXACT]
    samples += [(s, *example(130, 150, 90, s, d)) for s, d in EXACT[::5]]
    wrong = []

    def work(number):
        with tropical.options(isa=isa):
            for semiring, a, b, c in samples[number:] + samples[:number]:
                got = tropical.gemm(a, b, semiring=semiring, threads=1 + number % 3)
                if got.tobytes() != c.tobytes():
                    wrong.append((number, semiring, a.dtype))

    in_threads(work, 8)
    assert not wrong


@pytest.mark.parametrize("attempt", range(3))
def test_eight_threads_as_the_first_use(attempt):
    run_python("""
        import threading, numpy as np, tropical, oracle
        from support import EXACT, in_threads, operands
        barrier, right = threading.Barrier(8), []
        def work(i):
            semiring, dtype = EXACT[4 * i]
            a, b = operands(150, 170, 60, semiring, dtype, seed=i)
            want = oracle.gemm(a, b, semiring)
            barrier.wait()  # before the first use
            right.append(np.array_equal(tropical.gemm(a, b, semiring=semiring, threads=2), want))
        in_threads(work, 8)
        assert right == [True] * 8, right
    """)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_gil_is_released(threads):
    """A Python thread makes progress in the middle of a long call."""
    n = 400
    a, ticks, stop = np.ones((n, n)), [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        for _ in range(10):  # a busy machine may starve the ticker now and then, never always
            start = time.perf_counter()
            tropical.gemm(a, a, kernel="naive", threads=threads)
            end = time.perf_counter()
            quarter = (end - start) / 4
            if any(start + quarter < t < end - quarter for t in ticks):
                return
            n *= 2 if end - start < 0.02 else 1
            a = np.ones((n, n))
    finally:
        stop.set()
        ticker.join()
    raise AssertionError(f"no tick inside a call of {end - start:.3f} s")


def test_no_time_is_burnt_after_a_call():
    """Idle workers sleep: 200 ms of rest cost next to no processor time."""
    run_python("""
        import time, numpy as np, tropical
        a = np.ones((600, 600), np.float32)
        assert tropical.explain(600, 600, 600, threads=2).threads == 2
        for _ in range(3): tropical.gemm(a, a, threads=2)
        time.sleep(0.01)
        start = time.process_time()
        time.sleep(0.2)
        used = time.process_time() - start
        assert used < 0.02, f"{1000 * used:.0f} ms of processor time in 200 ms of rest"
    """)


def test_results_do_not_depend_on_other_callers():
    """Scratch memory is each thread's own: two kinds of product, interleaved, stay right."""
    samples = [
        ("maxplus", *example(90, 130, 70, "maxplus", "float32", kind)) for kind in ("plain", "nan")
    ]
    wrong = []

    def work(number):
        semiring, a, b, c = samples[number]
        for _ in range(200):
            got = tropical.gemm(a, b, semiring=semiring, kernel="packed")
            if got.tobytes() != c.tobytes():
                wrong.append(got)

    in_threads(work, 2)
    assert not wrong


@pytest.mark.parametrize("state", ["cold", "idle", "busy"])
def test_exit_is_clean(state):
    """With workers that were never made, that sleep, or that compute for a daemon thread."""
    run_python(f"""
        import sys, threading, time, numpy as np, tropical
        a = np.ones((300, 300))
        if {state!r} != "cold":
            tropical.gemm(a, a, threads=3)
        if {state!r} == "busy":
            def forever():
                while True: tropical.gemm(a, a, threads=3)
            for _ in range(2): threading.Thread(target=forever, daemon=True).start()
            time.sleep(0.1)
    """)


def test_exit_is_clean_while_daemon_threads_are_called_back():
    run_python("""
        import threading, time, numpy as np
        from tropical import _core
        source, target = np.random.default_rng(0).integers(0, 1000, (2, 3000)).astype(np.int32)
        class Slow:
            def __del__(self, sleep=time.sleep): sleep(0.1)
        slow = Slow()  # meanwhile daemon threads want the GIL back, and end
        def forever():
            while True: _core.Elimination(1000, source, target, report=lambda _: time.sleep(0.001))
        for _ in range(3): threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
    """)


def test_exit_while_a_long_call_runs():
    start = time.monotonic()
    run_python("""
        import threading, time, numpy as np, tropical
        a = np.ones((3000, 3000))
        def call():
            tropical.gemm(a, a, kernel="naive", threads=2)
        threading.Thread(target=call, daemon=True).start()
        time.sleep(0.2)
    """)
    assert time.monotonic() - start < 20, "it waited for the call"


@pytest.mark.skipif(not LINUX or SANITIZED, reason="reads /proc; sanitizers keep freed memory")
def test_threads_that_end_take_their_buffers_along():
    """Hundreds of short-lived callers: no thread-local memory stays behind."""
    run_python("""
        import threading, numpy as np, tropical
        a = np.ones((200, 200), np.float32)
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        def burst(count):
            for _ in range(count):
                thread = threading.Thread(target=lambda: tropical.gemm(a, a, kernel="packed"))
                thread.start(); thread.join()
        burst(50)
        before = rss()
        burst(300)
        assert rss() - before < 8 << 20, rss() - before
    """)


@pytest.mark.skipif(not LINUX, reason="reads /proc and affinities")
def test_the_process_stays_as_it_was():
    """Affinity, signal handlers and mask, and the main thread's name survive import and use."""
    run_python("""
        import os, signal, threading, numpy as np
        # The C library takes a signal for itself when the first thread is made.
        first = threading.Thread(target=int)
        first.start()
        first.join()
        def state():
            status = open("/proc/self/status").read().split("\\n")
            kept = [l for l in status if l.split(":")[0] in ("Name", "SigBlk", "SigIgn", "SigCgt")]
            handlers = [signal.getsignal(s) for s in sorted(signal.valid_signals())]
            return kept, handlers, os.sched_getaffinity(0)
        before = state()
        import tropical
        assert state() == before, "import"
        a = np.ones((500, 500))
        assert (tropical.gemm(a, a, threads=2) == 2).all()
        assert state() == before, "use"
    """)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs Linux's affinities")
def test_workers_keep_off_the_callers_core():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    run_python("""
        import os, time, numpy as np, tropical
        before = os.sched_getaffinity(0)
        x = np.ones((600, 600), np.float32)
        known = set(os.listdir("/proc/self/task"))
        tropical.gemm(x, x, threads=2)
        workers = set(os.listdir("/proc/self/task")) - known
        assert len(workers) == 1, workers
        allowed = os.sched_getaffinity(int(*workers))
        assert allowed < before and len(allowed) == len(before) - 1, (allowed, before)
        assert os.sched_getaffinity(0) == before
        os.sched_setaffinity(int(*workers), before)  # as if the caller might use other cores now
        time.sleep(0.2)
        tropical.gemm(x, x, threads=2)
        assert len(os.sched_getaffinity(int(*workers))) == len(before) - 1, "not looked again"
        core = min(before)
        os.sched_setaffinity(0, {core})  # the caller's alone: its workers stay where they were
        assert tropical.gemm(x, x, threads=2)[0, 0] == 2
        os.sched_setaffinity(0, before)
        assert tropical.gemm(x, x, threads=2)[0, 0] == 2
        assert os.sched_getaffinity(0) == before
    """)
