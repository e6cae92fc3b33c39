"""Choosing and seeing: options, environment variables, threadpoolctl, explain, config."""

import dataclasses
import io
import re

import numpy as np
import pytest
from support import INSTANCES, KERNELS, assert_same_bits, in_threads, run_python

import tropical
from tropical import _core

CONFIG = tropical.config.config()
SUPPORTED = CONFIG["isa_supported"]
OTHER = "avx2" if "neon" in CONFIG["isa_built"] else "neon"  # of another machine
LACKING = [OTHER, *sorted(set(CONFIG["isa_built"]) - set(SUPPORTED))]


def now():
    plan = tropical.explain(300, 300, 300)
    return plan.kernel, plan.isa, _core.get_options()


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
    "name, value, error, message",
    [
        ("kernel", "fast", ValueError, "fast"),
        ("isa", "sse9", ValueError, "sse9"),
        ("threads", 0, ValueError, "0"),
        ("threads", -3, ValueError, "-3"),
        ("kernel", 3, TypeError, "kernel: .*3"),
        ("isa", 3, TypeError, "isa: .*3"),
        ("isa", b"avx2", TypeError, "isa: .*b'avx2'"),
        ("threads", "2", TypeError, "threads: .*2"),
        # Known, but not of this build or CPU: an error too, never a silent fallback.
        *(("isa", isa, RuntimeError, isa) for isa in LACKING),
    ],
)
def test_wrong_options(name, value, error, message):
    outside = now()
    with pytest.raises(error, match=message), tropical.options(**{name: value}):
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


@pytest.mark.parametrize(
    "wrong, error",
    [(0, ValueError), (-1, ValueError), (None, TypeError), ("2", TypeError), (1.5, TypeError)],
)
def test_wrong_numbers_of_threads(wrong, error):
    before = tropical.get_num_threads()
    with pytest.raises(error, match="n: expected .*" + re.escape(repr(wrong))):
        tropical.set_num_threads(wrong)
    assert tropical.get_num_threads() == before


def test_more_threads_than_help():
    plan = tropical.explain(9000, 9000, 9000, threads=10**9)
    assert plan.threads <= max(64, 4 * CONFIG["cores"])


@pytest.mark.parametrize("name", ["m", "n", "k", "batch"])
def test_wrong_sizes(name):
    sizes = {"m": 3, "n": 3, "k": 3, "batch": 1}
    for wrong, error in ((-1, ValueError), (2**64, ValueError), (2.5, TypeError), ("3", TypeError)):
        with pytest.raises(error, match=f"{name}: .*{wrong}"):
            tropical.explain(**{**sizes, name: wrong})
    with pytest.raises(ValueError, match="too large"):
        tropical.explain(2**40, 2**40, 2**40)


def test_arguments_go_before_options():
    with tropical.options(kernel="naive", threads=1):
        assert tropical.explain(900, 900, 900, kernel="packed", threads=2).kernel == "packed"
        assert tropical.explain(900, 900, 900, kernel="packed", threads=2).threads == 2


SHOW = """
    import tropical
    plan = tropical.explain(900, 900, 900)
    print(plan.isa, plan.kernel, plan.threads, tropical.get_num_threads())
"""


KNOWN = [("TROPICAL_ISA", isa, 0) for isa in SUPPORTED]
KNOWN += [("TROPICAL_KERNEL", kernel, 1) for kernel in KERNELS]
KNOWN += [("TROPICAL_NUM_THREADS", threads, 3) for threads in ("1", "2", "5")]


@pytest.mark.parametrize("variable, value, word", KNOWN)
def test_environment(variable, value, word):
    assert run_python(SHOW, **{variable: value}).split()[word] == value


UNKNOWN = [("TROPICAL_ISA", "sse9"), ("TROPICAL_ISA", "AVX"), ("TROPICAL_KERNEL", "fast")]
UNKNOWN += [
    ("TROPICAL_NUM_THREADS", x) for x in ("0", "-1", "many", "2x", "1e3", "99999999999999999999")
]


@pytest.mark.parametrize("variable,value", UNKNOWN)
def test_environment_errors(variable, value):
    """Importing works; the first use raises an error that names the variable and its value."""
    run_python(
        f"""
        import pytest, tropical
        for call in (lambda: tropical.gemm([[1.0]], [[1.0]]), lambda: tropical.explain(9, 9, 9)):
            with pytest.raises((ValueError, RuntimeError)) as caught:
                call()
            assert {variable!r} in str(caught.value) and {value!r} in str(caught.value)
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
            in_threads(lambda _, seen=seen: seen.append(tropical.get_num_threads()), 1)
            assert seen == [threads], "the setting is the process's"
    finally:
        tropical.set_num_threads(before)


def test_as_many_threads_as_usable_cores():
    run_python("""
        import os
        for name in ("TROPICAL_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.pop(name, None)
        import tropical
        assert tropical.get_num_threads() == len(os.sched_getaffinity(0))
    """)


@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_explain(isa, semiring, dtype):
    for m, n, k in [(1, 1, 1), (8, 8, 8), (64, 64, 64), (700, 700, 700), (1, 4000, 4000)]:
        for kernel in (None, *KERNELS):
            plan = tropical.explain(
                m, n, k, dtype=dtype, semiring=semiring, kernel=kernel, threads=2
            )
            assert plan.kernel in ([kernel] if kernel else KERNELS)
            assert (plan.isa, plan.m, plan.n, plan.k) == (isa, m, n, k)
            assert 1 <= plan.threads <= 2 and plan.tasks >= 1 and plan.bytes >= 0
            assert min(plan.mr, plan.nr, plan.mc, plan.kc, plan.nc) > 0
            assert len(plan.reason.split()) > 3 and str(plan.kernel) in str(plan)
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
        (TypeError, {"dtype": "complex64"}),
        (TypeError, {"semiring": "orand"}),
        (TypeError, {"dtype": "bool"}),
    ]:
        with pytest.raises(error):
            tropical.explain(**{"m": 3, "n": 3, "k": 3, **wrong})


@pytest.mark.parametrize(
    "option, semiring, dtype",
    [
        ({"kernel": "strassen"}, "maxplus", "float32"),
        ({"kernel": "strassen"}, "plustimes", "int32"),
        ({"kernel": "strassen"}, "logplus", "float64"),
        ({"precision": "bf16"}, "maxplus", "float32"),
        ({"precision": "bf16"}, "plustimes", "int32"),
        ({"precision": "bf16"}, "plustimes", "float64"),
    ],
)
def test_other_arithmetic_is_refused(option, semiring, dtype):
    a, out = np.ones((8, 8), dtype), np.zeros((8, 8), dtype)
    ((name, value),) = option.items()
    for call in (
        lambda: tropical.gemm(a, a, semiring=semiring, out=out, **option),
        lambda: tropical.explain(8, 8, 8, semiring=semiring, dtype=dtype, **option),
    ):
        with pytest.raises(ValueError, match=f"{name}: .*'{value}', got {semiring} over {dtype}"):
            call()
    assert not out.any()
    # What a context chooses is for the products that it fits.
    want = tropical.gemm(a, a, semiring=semiring)
    with tropical.options(**option):
        assert tropical.explain(64, 64, 64, semiring=semiring, dtype=dtype).levels == 0
        assert_same_bits(tropical.gemm(a, a, semiring=semiring), want)


def test_a_plan_names_what_is_stored_and_computed():
    stored = tropical.explain(300, 300, 300, dtype="float16", semiring="min_plus")
    assert (stored.dtype, stored.computed, stored.semiring) == ("float16", "float32", "minplus")
    assert "\n  dtypes      stored in float16, computed in float32\n" in str(stored)
    plain = tropical.explain(300, 300, 300, dtype="int8")
    assert plain.computed == "int8" and "stored" not in str(plain)


def test_a_plan_is_frozen():
    plan = tropical.explain(3, 4, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.kernel = "naive"


def test_show_config():
    file = io.StringIO()
    tropical.show_config(file)
    text = file.getvalue()
    shown = [CONFIG[what] for what in ("compiler", "cpu", "isa")]
    assert all(part in text for part in (tropical.__version__, *shown, *CONFIG["isa_built"]))
    assert f"tropical.quantized by {CONFIG['byte_products'][-1]}\n" in text
    assert "float16, bfloat16: computed in float32" in text
    assert set(SUPPORTED) <= set(CONFIG["isa_built"]) and "baseline" in SUPPORTED
    assert 0 < CONFIG["l1d"] <= CONFIG["l2"] and CONFIG["l3"] >= 0 and CONFIG["cores"] >= 1


@pytest.mark.parametrize("semiring,dtype", INSTANCES)
def test_ceilings_count_their_operations(isa, semiring, dtype):
    lanes = tropical.config.config()["vector_bytes"] // np.dtype(dtype).itemsize
    for count in (_core.ceiling(semiring, dtype, 100), _core.micro_kernel(semiring, dtype, 10, 10)):
        assert count > 0 and count % (2 * 100 * lanes) == 0
    with pytest.raises(ValueError, match="panels that fit memory"):
        _core.micro_kernel(semiring, dtype, 2**60, 1)
    assert _core.ceiling(semiring, dtype, 200) == 2 * _core.ceiling(semiring, dtype, 100)
