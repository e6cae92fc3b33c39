"""Choosing and seeing: options, environment variables, threadpoolctl, explain, config."""

import dataclasses
import io
import re
import threading

import numpy as np
import pytest
from support import INSTANCES, KERNELS, run_python

import tropical
from tropical import _core

CONFIG = tropical.config.config()
SUPPORTED = CONFIG["isa_supported"]


def now():
    plan = tropical.explain(300, 300, 300)
    return plan.kernel, plan.isa, _core.set_options(*_core.set_options(None, None, None))


def test_options_nest_and_restore():
    outside = now()
    with tropical.options(kernel="tiled"):
        assert tropical.explain(300, 300, 300).kernel == "tiled"
        with tropical.options(isa="baseline", threads=1):
            plan = tropical.explain(300, 300, 300)
            assert (plan.kernel, plan.isa, plan.threads) == ("tiled", "baseline", 1)
            with tropical.options(kernel="direct"):
                assert tropical.explain(300, 300, 300).kernel == "direct"
            assert tropical.explain(300, 300, 300).kernel == "tiled"
        assert tropical.explain(300, 300, 300).isa == outside[1]
    assert now() == outside
    with pytest.raises(ZeroDivisionError), tropical.options(kernel="naive", threads=3):
        _ = 1 / 0
    assert now() == outside


@pytest.mark.parametrize(
    "wrong", [{"kernel": "fast"}, {"isa": "sse9"}, {"threads": 0}, {"threads": -3}]
)
def test_unknown_options(wrong):
    outside = now()
    value = str(next(iter(wrong.values())))
    with pytest.raises(ValueError, match=value), tropical.options(**wrong):
        pass
    assert now() == outside


def test_an_instruction_set_that_this_cpu_lacks():
    lacking = set(CONFIG["isa_built"]) - set(SUPPORTED)
    if not lacking:
        pytest.skip("this CPU has every instruction set that was built")
    for name in lacking:
        with pytest.raises(RuntimeError, match=name), tropical.options(isa=name):
            pass


def test_an_instruction_set_of_another_machine():
    """Known, but not in this build: an error too, never a silent fallback."""
    other = "avx2" if "neon" in CONFIG["isa_built"] else "neon"
    with pytest.raises(RuntimeError, match=other), tropical.options(isa=other):
        pass


@pytest.mark.parametrize("wrong", [{"kernel": 3}, {"isa": 3}, {"isa": b"avx2"}, {"threads": "2"}])
def test_options_of_the_wrong_type(wrong):
    outside = now()
    ((name, value),) = wrong.items()
    with pytest.raises(TypeError, match=f"{name} .*{value}"), tropical.options(**wrong):
        pass
    assert now() == outside


def test_options_again_and_as_a_decorator():
    chosen = tropical.options(isa="baseline")
    outside = now()
    for _ in range(2):
        with chosen, chosen:
            assert now()[1] == "baseline"
        assert now() == outside
    assert chosen(now)()[1] == "baseline"
    assert now() == outside


@pytest.mark.parametrize("wrong", [0, -1, None, "2", 1.5])
def test_wrong_numbers_of_threads(wrong):
    before = tropical.get_num_threads()
    with pytest.raises((TypeError, ValueError), match="n must be .*" + re.escape(repr(wrong))):
        tropical.set_num_threads(wrong)
    assert tropical.get_num_threads() == before


def test_more_threads_than_help():
    plan = tropical.explain(9000, 9000, 9000, threads=10**9)
    assert plan.threads <= max(64, 4 * CONFIG["cores"])


@pytest.mark.parametrize("name", ["m", "n", "k", "batch"])
def test_wrong_sizes(name):
    sizes = {"m": 3, "n": 3, "k": 3, "batch": 1}
    for wrong, error in ((-1, ValueError), (2**64, ValueError), (2.5, TypeError), ("3", TypeError)):
        with pytest.raises(error, match=f"{name} .*{wrong}"):
            tropical.explain(**{**sizes, name: wrong})
    with pytest.raises(ValueError, match="too large"):
        tropical.explain(2**40, 2**40, 2**40)


def test_options_are_per_thread():
    seen = []
    with tropical.options(kernel="naive", isa="baseline"):
        thread = threading.Thread(target=lambda: seen.append(now()))
        thread.start()
        thread.join()
    assert seen == [now()]


def test_arguments_go_before_options():
    with tropical.options(kernel="naive", threads=1):
        assert tropical.explain(900, 900, 900, kernel="packed", threads=2).kernel == "packed"
        assert tropical.explain(900, 900, 900, kernel="packed", threads=2).threads == 2


SHOW = """
    import tropical
    plan = tropical.explain(900, 900, 900)
    print(plan.isa, plan.kernel, plan.threads, tropical.get_num_threads())
"""


@pytest.mark.parametrize("isa", SUPPORTED)
def test_environment_isa(isa):
    assert run_python(SHOW, TROPICAL_ISA=isa).split()[0] == isa


@pytest.mark.parametrize("kernel", KERNELS)
def test_environment_kernel(kernel):
    assert run_python(SHOW, TROPICAL_KERNEL=kernel).split()[1] == kernel


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_environment_threads(threads):
    assert run_python(SHOW, TROPICAL_NUM_THREADS=threads).split()[3] == threads


UNKNOWN = [("TROPICAL_ISA", "sse9"), ("TROPICAL_ISA", "AVX"), ("TROPICAL_KERNEL", "fast")]
UNKNOWN += [
    ("TROPICAL_NUM_THREADS", x) for x in ("0", "-1", "many", "2x", "1e3", "99999999999999999999")
]


@pytest.mark.parametrize("variable,value", UNKNOWN)
def test_environment_errors(variable, value):
    """Importing works; the first use raises an error that names the variable and its value."""
    run_python(
        f"""
        import tropical
        for call in (lambda: tropical.gemm([[1.0]], [[1.0]]), lambda: tropical.explain(9, 9, 9)):
            try:
                call()
            except (ValueError, RuntimeError) as error:
                assert {variable!r} in str(error) and {value!r} in str(error), error
            else:
                raise SystemExit("no error")
        """,
        **{variable: value},
    )


def test_environment_is_left_as_it_is():
    run_python("""
        import os
        before = dict(os.environ)
        import numpy as np, tropical
        tropical.gemm(np.ones((300, 300)), np.ones((300, 300)))
        assert dict(os.environ) == before
    """)


def test_set_num_threads():
    before = tropical.get_num_threads()
    try:
        for threads in (1, 2, 5):
            tropical.set_num_threads(threads)
            assert tropical.get_num_threads() == threads
            assert tropical.explain(2000, 2000, 2000).threads <= threads
            seen = []
            thread = threading.Thread(
                target=lambda seen=seen: seen.append(tropical.get_num_threads())
            )
            thread.start()
            thread.join()
            assert seen == [threads], "the setting is the process's"
        for wrong in (0, -1):
            with pytest.raises(ValueError, match=str(wrong)):
                tropical.set_num_threads(wrong)
        with pytest.raises(TypeError):
            tropical.set_num_threads(1.5)
        assert tropical.get_num_threads() == 5
    finally:
        tropical.set_num_threads(before)


def test_threadpoolctl():
    """Its limits hold inside the block; by default there are as many threads as usable cores."""
    pytest.importorskip("threadpoolctl")
    run_python("""
        import os
        for name in ("TROPICAL_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.pop(name, None)
        import tropical, threadpoolctl
        for limit in (1, 2, 3):
            with threadpoolctl.threadpool_limits(limit):
                assert tropical.get_num_threads() == limit, limit
                assert tropical.explain(2000, 2000, 2000).threads <= limit
        assert tropical.get_num_threads() == len(os.sched_getaffinity(0))
    """)


@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_explain(isa, semiring, dtype):
    for m, n, k in [(1, 1, 1), (8, 8, 8), (64, 64, 64), (700, 700, 700), (1, 4000, 4000)]:
        for kernel in (None, *KERNELS):
            plan = tropical.explain(
                m, n, k, dtype=dtype, semiring=semiring, kernel=kernel, threads=2
            )
            assert plan.kernel == (kernel or plan.kernel)
            assert (plan.isa, plan.m, plan.n, plan.k) == (isa, m, n, k)
            assert 1 <= plan.threads <= 2 and plan.bytes >= 0
            assert plan.reason and str(plan.kernel) in str(plan)
    packed = tropical.explain(700, 700, 700, dtype=dtype, semiring=semiring, kernel="packed")
    assert packed.mc % packed.mr == 0 and packed.nc % packed.nr == 0
    assert packed.bytes >= packed.kc * packed.mr * np.dtype(dtype).itemsize
    assert packed.nr * np.dtype(dtype).itemsize % tropical.config.config()["vector_bytes"] == 0


def test_explain_of_empty_products(isa):
    for shape in [(0, 5, 3), (5, 0, 3), (5, 3, 0), (0, 0, 0)]:
        for kernel in (None, *KERNELS):
            assert tropical.explain(*shape, kernel=kernel, batch=0).isa == isa
            assert tropical.explain(*shape, kernel=kernel).threads == 1


def test_explain_refuses_what_gemm_refuses():
    for error, wrong in [
        (ValueError, {"semiring": "maxmax"}),
        (ValueError, {"kernel": "fast"}),
        (ValueError, {"threads": 0}),
        (ValueError, {"m": -1}),
        (ValueError, {"semiring": "plustimes", "return_argmax": True}),
        (TypeError, {"dtype": "float16"}),
        (TypeError, {"semiring": "orand"}),
        (TypeError, {"dtype": "bool"}),
    ]:
        with pytest.raises(error):
            tropical.explain(**{"m": 3, "n": 3, "k": 3, **wrong})


def test_a_plan_is_frozen():
    plan = tropical.explain(3, 4, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.kernel = "naive"


def test_show_config():
    file = io.StringIO()
    tropical.show_config(file)
    text = file.getvalue()
    for part in (
        tropical.__version__,
        CONFIG["compiler"],
        CONFIG["cpu"],
        CONFIG["isa"],
        *CONFIG["isa_built"],
    ):
        assert part in text
    assert set(SUPPORTED) <= set(CONFIG["isa_built"]) and "baseline" in SUPPORTED
    assert 0 < CONFIG["l1d"] <= CONFIG["l2"] and CONFIG["l3"] >= 0 and CONFIG["cores"] >= 1


@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_ceilings_count_their_operations(isa, semiring, dtype):
    lanes = tropical.config.config()["vector_bytes"] // np.dtype(dtype).itemsize
    for count in (_core.ceiling(semiring, dtype, 100), _core.micro_kernel(semiring, dtype, 10, 10)):
        assert count > 0 and count % (2 * 100 * lanes) == 0
    assert _core.ceiling(semiring, dtype, 200) == 2 * _core.ceiling(semiring, dtype, 100)
