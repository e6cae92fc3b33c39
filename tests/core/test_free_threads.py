"""Threads share everything but what belongs to their context; without a GIL as with one."""

import importlib.machinery
import sysconfig
import textwrap

import numpy as np
import pytest
from support import example, in_threads, run_python, values

import tropical
from tropical import _core, graph, sequence
from tropical.autograd import Tensor
from tropical.memory import memory_mode, memory_stats

pytestmark = pytest.mark.portable

THREADS, ROUNDS = 8, 6


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="a build with a GIL")
def test_importing_leaves_the_gil_off():
    """All of tropical that needs NumPy alone; a module that needs the GIL would turn it on."""
    run_python("""
        import sys, warnings
        warnings.simplefilter("error")
        import tropical, tropical.graph, tropical.nn, tropical.sequence, tropical.spectral
        tropical.gemm([[1.0]], [[2.0]])
        assert not sys._is_gil_enabled()
    """)


def test_interpreters_beside_the_main_one_are_refused():
    interpreters = pytest.importorskip("concurrent.interpreters", reason="new in Python 3.14")
    code = f"""
        from importlib import machinery, util
        loader = machinery.ExtensionFileLoader("tropical._core", {_core.__file__!r})
        try:
            util.module_from_spec(util.spec_from_loader("tropical._core", loader))
        except ImportError as error:
            assert "tropical._core does not support loading in subinterpreters" in str(error)
        else:
            raise AssertionError("imported")
    """
    assert isinstance(_core.__loader__, importlib.machinery.ExtensionFileLoader)
    other = interpreters.create()
    try:
        other.exec(textwrap.dedent(code))
    finally:
        other.close()


def test_an_interpreter_that_is_the_first_to_import():
    pytest.importorskip("_xxsubinterpreters", reason="before Python 3.13")
    code = """
import _xxsubinterpreters as interpreters
try:
    interpreters.run_string(interpreters.create(), "import tropical")
except interpreters.RunFailedError as error:
    print(error)
"""
    assert "ImportError" in run_python(code)


def test_products_of_shared_operands():
    """Small ones, which keep the GIL, and large ones; `out` is each thread's own."""
    samples = [
        (semiring, *example(m, n, k, semiring, dtype))
        for semiring, dtype in [("maxplus", "float32"), ("minplus", "int16"), ("orand", "bool")]
        for m, n, k in [(8, 8, 8), (1, 300, 40), (130, 90, 70)]
    ]
    wrong = []

    def work(number):
        for _ in range(ROUNDS):
            for semiring, a, b, c in samples[number:] + samples[:number]:
                out = np.zeros_like(c)
                tropical.gemm(a, b, semiring=semiring, out=out, threads=1 + number % 2)
                if out.tobytes() != c.tobytes():
                    wrong.append((number, semiring, a.shape))

    in_threads(work, THREADS)
    assert not wrong


def test_one_workspace_has_one_user():
    """A caller has the right result, or a RuntimeError and its `out` unchanged."""
    workspace = tropical.GemmWorkspace()
    a, b, c = example(120, 110, 90, "maxplus", "float32")
    computed, refused = [], []

    def work(number):
        for _ in range(20):
            out = np.full_like(c, number)
            try:
                tropical.gemm(a, b, out=out, workspace=workspace, kernel="packed", threads=1)
            except RuntimeError:
                refused.append((out == number).all())
            else:
                computed.append(out.tobytes() == c.tobytes())

    in_threads(work, THREADS)
    assert computed and all(computed) and all(refused)
    assert len(computed) + len(refused) == 20 * THREADS


def train(rng, steps):
    """The weights after some steps of a small model, whose arrays come and go."""
    w = Tensor(rng.standard_normal((5, 4)), requires_grad=True)
    x = rng.standard_normal((16, 5))
    for _ in range(steps):
        ((Tensor(x) @ w).relu() ** 2).mean().backward()
        w = Tensor(w.data - 0.1 * w.grad.data, requires_grad=True)
    return w.data


def test_one_memory_for_the_arrays_of_all():
    want = [train(np.random.default_rng(number), 10) for number in range(THREADS)]
    before = memory_stats().live_buffers
    wrong = []

    def work(number):
        with memory_mode("pool"):
            for _ in range(ROUNDS):
                got = train(np.random.default_rng(number), 10)
                if not np.array_equal(got, want[number]):
                    wrong.append(number)
                del got

    in_threads(work, THREADS)
    assert not wrong
    assert memory_stats().live_buffers == before


def test_arrays_that_other_threads_free():
    """A buffer of the pool belongs to one array at a time, whoever made it and whoever drops it."""
    handed = [[] for _ in range(THREADS)]

    def work(number):
        with memory_mode("pool"):
            for i in range(200):
                handed[(number + i) % THREADS].append(np.full(40 + i % 7, number))
                try:
                    got = handed[number].pop()
                except IndexError:
                    continue
                assert (got == got[0]).all()

    before = memory_stats().live_buffers
    in_threads(work, THREADS)
    handed.clear()
    assert memory_stats().live_buffers == before


def test_one_gradient_of_many_threads():
    """Each backward pass adds to the same leaf."""
    w = Tensor(np.ones(3), requires_grad=True)

    def work(number):
        for _ in range(200):
            (w * float(number)).sum().backward()

    in_threads(work, THREADS)
    assert w.grad.data.tolist() == [200 * sum(range(THREADS))] * 3


def test_one_factor_and_one_searcher():
    n = 60
    weights = values((n, n), "float64") ** 2 + 1
    weights[values((n, n), "float64", seed=1) > -1] = np.inf
    weights[np.arange(n), (np.arange(n) + 1) % n] = 5
    want = graph.shortest_paths(weights)
    factor, searcher = graph.factorize(weights), graph.Searcher(weights)
    wrong = []

    def work(number):
        for source in range(number, n, THREADS):
            near = [(source + 3) % n]
            if not (
                np.allclose(factor.lengths(source), want[source])
                and np.allclose(searcher.lengths(source), want[source])
                and np.allclose(searcher.lengths(source, near), want[source, near])
            ):
                wrong.append(source)

    in_threads(work, THREADS)
    assert not wrong


def test_chains_of_shared_transitions():
    states, steps = 5, 40
    model = [values(shape, "float64") for shape in ((states,), (states, states), (steps, states))]
    want = sequence.viterbi(*model)
    wrong = []

    def work(number):
        for _ in range(ROUNDS):
            got = sequence.viterbi(*model)
            if not all(np.array_equal(x, y) for x, y in zip(got, want, strict=True)):
                wrong.append(number)

    in_threads(work, THREADS)
    assert not wrong


def test_the_first_use_of_everything_at_once():
    """What is made at first use is made once, or by each thread alike."""
    run_python("""
        import numpy as np, tropical
        from support import in_threads
        from tropical import memory
        x = np.arange(9.0).reshape(3, 3)
        def work(number):
            with memory.memory_mode("pool"), tropical.options(threads=1 + number % 2):
                y = tropical.gemm(x, x, semiring="minplus")
            assert y.tolist() == (x[:, :, None] + x).min(1).tolist()
            assert tropical.explain(3, 3, 3).threads == 1
            assert memory.memory_stats().allocations >= 1
        in_threads(work, 8)
    """)
