"""GemmWorkspace: buffers that only grow, hold any product, and refuse two callers at once."""

import itertools
import threading
import time

import numpy as np
import oracle
import pytest
from support import EXACT, KERNELS, assert_same_bits, check, example, run_python, values

import tropical
from tropical import _core

SHAPES = [(3, 4, 5), (90, 130, 70), (1, 500, 40), (17, 66, 600), (90, 130, 70)]


def test_every_product_in_one_workspace(isa):
    """All dtypes and semirings in turn: what one leaves behind never matters to the next."""
    workspace = tropical.GemmWorkspace()
    for shape, kernel in itertools.product(SHAPES, (None, *KERNELS)):
        for semiring, dtype in EXACT:
            a, b, c = example(*shape, semiring, dtype)
            check(a, b, semiring, c, kernel=kernel, workspace=workspace, threads=2)


POISONED = [("maxplus", "float32"), ("minplus", "int16"), ("maxtimes", "float64")]


@pytest.mark.parametrize("kernel", KERNELS)
def test_poisoned_content(isa, kernel):
    """Buffers full of NaN from another product, of another dtype, leak into no edge or padding."""
    workspace = tropical.GemmWorkspace()
    poison = np.full((300, 300), np.nan)
    for shape in SHAPES:
        tropical.gemm(poison, poison, workspace=workspace, kernel="packed", threads=2)
        for semiring, dtype in POISONED:
            a, b, c = example(*shape, semiring, dtype)
            check(a, b, semiring, c, kernel=kernel, workspace=workspace)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kernel", [None, *KERNELS])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_reserved_is_enough(isa, threads, kernel, dtype):
    for m, n, k in SHAPES:
        workspace = tropical.GemmWorkspace()
        a, b, c = example(m, n, k, "minplus", dtype)
        with tropical.options(kernel=kernel):
            workspace.reserve(m, n, k, dtype, "minplus", threads)
            reserved = workspace.nbytes
            check(a, b, "minplus", c, workspace=workspace, threads=threads)
        assert workspace.nbytes == reserved, (m, n, k)


def test_sizes(isa):
    workspace = tropical.GemmWorkspace()
    assert workspace.nbytes == 0
    workspace.reserve(500, 500, 500)
    small = workspace.nbytes
    assert 0 < small < 500 * 500 * 4 * 8
    workspace.reserve(10, 10, 10)
    assert workspace.nbytes == small, "it only grows"
    workspace.reserve(1000, 1000, 1000, dtype=np.float64, semiring=tropical.semirings.minplus)
    large = workspace.nbytes
    assert large > small
    workspace.clear()
    assert workspace.nbytes == 0
    a, b, c = example(90, 130, 70, "maxplus", "float32")
    check(a, b, "maxplus", c, workspace=workspace, kernel="packed")
    assert 0 < workspace.nbytes < large


@pytest.mark.parametrize("wake_share", [1 << 10, 1 << 30])
def test_a_steady_state_allocates_nothing(wake_share):
    """Neither where sleeping workers are woken nor where the caller then works alone."""
    before = _core.settings()
    workspace = tropical.GemmWorkspace()
    assert workspace.allocations == 0
    try:
        _core.set_settings({"thread_share": 1 << 10, "wake_share": wake_share})
        for m, n, k in SHAPES:
            workspace.reserve(m, n, k, "float32", "minplus", 3)
        allocations = workspace.allocations
        assert 0 < allocations <= len(SHAPES)
        for pause in (0, 1e-3):
            for m, n, k in SHAPES:
                a, b, c = example(m, n, k, "minplus", "float32")
                time.sleep(pause)
                check(a, b, "minplus", c, workspace=workspace, threads=3)
        assert workspace.allocations == allocations
    finally:
        _core.set_settings(before)
    workspace.clear()
    workspace.reserve(500, 500, 500)
    assert workspace.allocations == allocations + 1


def test_wrong_arguments():
    workspace = tropical.GemmWorkspace()
    for wrong in ({"m": -1}, {"semiring": "maxmax"}, {"threads": 0}):
        with pytest.raises(ValueError, match=str(*wrong.values())):
            workspace.reserve(**{"m": 3, "n": 3, "k": 3, **wrong})
    for wrong in ({"dtype": "complex64"}, {"dtype": "float32", "semiring": "orand"}, {"m": 2.5}):
        with pytest.raises(TypeError):
            workspace.reserve(**{"m": 3, "n": 3, "k": 3, **wrong})
    with pytest.raises(ValueError, match="too large"):
        workspace.reserve(2**40, 2**40, 2**40)
    assert workspace.nbytes == 0
    workspace.reserve(300, 300, 300, dtype=">f4")
    assert workspace.nbytes > 0


def test_two_threads_at_once(isa):
    """The second caller gets RuntimeError and its `out` unchanged; the first is not disturbed."""
    workspace = tropical.GemmWorkspace()
    n = 400
    a, b, c = example(n, n, n, "maxplus", "float32")
    started, results = threading.Event(), []

    def first():
        with tropical.options(isa=isa):
            started.set()
            deadline = time.monotonic() + 20
            while not refused and time.monotonic() < deadline:
                results.append(tropical.gemm(a, b, workspace=workspace, kernel="packed", threads=1))

    refused = []
    thread = threading.Thread(target=first)
    thread.start()
    started.wait()
    x, out = values((5, 5), "float32"), np.zeros((5, 5), np.float32)
    deadline = time.monotonic() + 20
    while not refused and time.monotonic() < deadline:
        for call in (
            lambda: tropical.gemm(x, x, workspace=workspace, out=out),
            lambda: workspace.reserve(900, 900, 900),
            workspace.clear,
        ):
            out[...] = 7
            try:
                call()
            except RuntimeError as error:
                assert np.all(out == 7)
                refused.append(str(error))
    thread.join()
    assert refused, "never met"
    assert "workspace" in refused[0]
    assert_same_bits(results[-1], c)
    check(x, x, "maxplus", oracle.gemm(x, x, "maxplus"), workspace=workspace)


def test_usable_after_an_error(isa):
    """An error on the way releases the workspace."""
    workspace = tropical.GemmWorkspace()
    a, b, c = example(90, 130, 70, "maxplus", "float32")
    for wrong in ({"b": a}, {"kernel": "fast"}, {"out": c}):
        with pytest.raises(ValueError, match=r"shape|kernel|out"):
            tropical.gemm(a, **{"b": b, "workspace": workspace, **wrong})
        check(a, b, "maxplus", c, workspace=workspace)


def test_created_in_one_thread_used_in_another():
    run_python("""
        import threading, numpy as np, tropical
        made = []
        def make():
            made.append(tropical.GemmWorkspace())
            tropical.gemm(np.ones((300, 300)), np.ones((300, 300)), workspace=made[0])
        thread = threading.Thread(target=make); thread.start(); thread.join()
        c = tropical.gemm(np.ones((300, 300)), np.ones((300, 300)), workspace=made[0])
        assert (c == 2).all()
    """)


def test_new_alone_makes_an_empty_workspace():
    workspace = tropical.GemmWorkspace.__new__(tropical.GemmWorkspace)
    assert (workspace.nbytes, workspace.allocations) == (0, 0)
    workspace.clear()
    workspace.reserve(300, 300, 300)
    a = np.eye(300, dtype=np.float32)
    assert np.array_equal(tropical.gemm(a, a, workspace=workspace), tropical.gemm(a, a))
    assert workspace.nbytes > 0


def test_a_subclass_may_take_arguments():
    class Named(tropical.GemmWorkspace):
        def __init__(self, name):
            super().__init__()
            self.name = name

    workspace = Named("one")
    workspace.reserve(3, 3, 3)
    assert workspace.name == "one"


@pytest.mark.parametrize("kind", [_core.BitGraph, _core.Components])
def test_new_takes_the_arguments_of_init(kind):
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        kind.__new__(kind)
    graph = kind.__new__(kind, np.ones((3, 3), bool))
    graph.__init__(np.ones((5, 5), bool))  # does nothing a second time
    if kind is _core.Components:
        graph.advance(10)
    else:
        graph.pass_(0)
    closure = np.zeros((3, 3), bool)
    graph.store(closure)
    assert closure.all()


def test_new_packs_bytes():
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        _core.PackedBytes.__new__(_core.PackedBytes)
