"""threadpoolctl lists our threads and limits them, for the thread that asks."""

import sys

import pytest
from support import in_threads, run_python

import tropical
from tropical.extras import NotInstalledError
from tropical.interop.threadpoolctl import register

threadpoolctl = pytest.importorskip("threadpoolctl", reason="threadpoolctl is optional")


@pytest.fixture(autouse=True)
def four_threads():
    register()
    before = tropical.get_num_threads()
    tropical.set_num_threads(4)
    yield
    assert tropical.get_num_threads() == 4, "a limit was left behind"
    tropical.set_num_threads(before)


def ours():
    (entry,) = (e for e in threadpoolctl.threadpool_info() if e["internal_api"] == "tropical")
    return entry


def test_is_listed_once():
    register()
    entry = ours()
    assert entry["user_api"] == "blas" and entry["version"] == tropical.__version__
    assert entry["num_threads"] == 4 and entry["filepath"].endswith(".so")


def test_other_extensions_of_that_name_are_not_ours(tmp_path):
    """Many packages call theirs _core; only ours has the symbols."""
    run_python(f"""
        import ctypes, shutil, numpy.fft._pocketfft_umath as other
        ctypes.CDLL(shutil.copy(other.__file__, {str(tmp_path)!r} + "/_core.other.so"))
        import threadpoolctl, tropical
        files = [e["filepath"] for e in threadpoolctl.threadpool_info() if e["prefix"] == "_core."]
        assert files == [tropical._core.__file__], files
    """)


@pytest.mark.parametrize(
    "limits",
    [
        {"limits": 1},
        {"limits": 1, "user_api": "blas"},
        {"limits": 1, "user_api": "openmp"},
        {"limits": {"blas": 1}},
    ],
    ids=str,
)
def test_limits_hold_in_the_block(limits):
    with threadpoolctl.threadpool_limits(**limits):
        assert tropical.get_num_threads() == 1
        assert tropical.explain(2000, 2000, 2000).threads == 1
        with threadpoolctl.threadpool_limits(3, user_api=limits.get("user_api")):
            assert tropical.get_num_threads() == 3
            assert tropical.explain(2000, 2000, 2000).threads <= 3
        assert tropical.get_num_threads() == 1


def test_the_lower_limit_holds():
    with threadpoolctl.threadpool_limits({"blas": 2, "openmp": 3}):
        assert tropical.get_num_threads() == ours()["num_threads"] == 2
    with threadpoolctl.threadpool_limits({"blas": 3, "openmp": 1}):
        assert tropical.get_num_threads() == 1
        assert ours()["num_threads"] == 3, "OpenMP's number is listed beside"


def test_limits_are_the_threads_own():
    seen = []

    def work(_):
        seen.append(tropical.get_num_threads())
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            seen.append(tropical.get_num_threads())
        seen.append(tropical.get_num_threads())

    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        in_threads(work, 1)
        assert tropical.get_num_threads() == 1
    assert seen == [4, 2, 4]


def test_set_num_threads_within_and_after_a_block():
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        tropical.set_num_threads(5)
        assert tropical.get_num_threads() == 5
    assert tropical.get_num_threads() == 4, "what was before the block is restored"
    tropical.set_num_threads(6)
    assert tropical.get_num_threads() == 6
    tropical.set_num_threads(4)


def test_parts_of_the_pools_restored_in_any_order():
    """A controller of OpenMP alone, entered and left around one of all libraries."""
    openmp = threadpoolctl.ThreadpoolController().select(user_api="openmp")
    with openmp.limit(limits=1), threadpoolctl.threadpool_limits(2):
        assert tropical.get_num_threads() == 2


@pytest.mark.parametrize("first", ["threadpoolctl", "tropical"])
def test_imports_in_either_order(first):
    """Listed at once where threadpoolctl came first; limited in both."""
    run_python(f"""
        import {first}
        import threadpoolctl, tropical
        def listed():
            return [e["num_threads"] for e in threadpoolctl.threadpool_info()
                    if e["internal_api"] == "tropical"]
        assert len(listed()) == ({first!r} == "threadpoolctl")
        with threadpoolctl.threadpool_limits(1):
            assert tropical.get_num_threads() == 1
        from tropical.interop.threadpoolctl import register
        register()
        assert len(listed()) == 1
        with threadpoolctl.threadpool_limits(1, user_api="blas"):
            assert tropical.get_num_threads() == 1 and listed() == [1]
    """)


def test_import_beside_a_threadpoolctl_that_is_too_old():
    run_python("""
        import sys, types
        sys.modules["threadpoolctl"] = types.ModuleType("threadpoolctl")
        sys.modules["threadpoolctl"].__version__ = "2.2.0"
        import pytest, tropical
        from tropical.interop.threadpoolctl import register
        with pytest.raises(ImportError, match="2.2.0 is too old"):
            register()
    """)


def test_without_threadpoolctl(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)  # makes its import fail
    with pytest.raises(NotInstalledError, match="threadpoolctl is not installed"):
        register.__wrapped__()


def test_a_wrong_environment_is_not_threadpoolctls_trouble():
    run_python(
        """
        import threadpoolctl, tropical
        with threadpoolctl.threadpool_limits(1):
            assert any(e["internal_api"] == "tropical" for e in threadpoolctl.threadpool_info())
        """,
        TROPICAL_NUM_THREADS="many",
        TROPICAL_ISA="abacus",
    )


def test_a_number_that_nobody_set():
    """A program that lowers the main thread's OpenMP number leaves that of its other threads."""
    run_python(
        """
        import ctypes, threading
        try:
            openmp = ctypes.CDLL("libgomp.so.1")
        except OSError:
            raise SystemExit(0)  # another OpenMP
        openmp.omp_set_num_threads(2)
        import tropical
        if tropical.get_num_threads() != 2:
            raise SystemExit(0)  # built without OpenMP, or with another one

        def counts():
            found = [tropical.get_num_threads()]
            thread = threading.Thread(target=lambda: found.append(tropical.get_num_threads()))
            thread.start()
            thread.join()
            return found

        assert counts() == [2, 8]
        openmp.omp_set_num_threads(8)  # as it was before
        assert counts() == [8, 8]
        tropical.set_num_threads(1)
        assert counts() == [1, 1]
        openmp.omp_set_num_threads(3)  # which somebody set
        assert counts() == [3, 1]
        """,
        OMP_NUM_THREADS="8",
    )
