"""Memory modes: every array has its own bytes for as long as a view of it lives, in every mode."""

import contextvars
import dataclasses
import gc
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import in_threads, run_python

from tropical import _core
from tropical.memory import (
    get_memory_mode,
    memory_mode,
    memory_stats,
    release_memory,
    reset_memory_stats,
    set_memory_mode,
)

MODES = ("off", "pool")


@pytest.fixture(autouse=True)
def fresh():
    """Each test begins with counters at zero, an empty pool and no mode."""
    gc.collect()
    with memory_mode("pool"):
        for _ in range(2):  # forget the steps of the test before
            _core.step_boundary()
    release_memory()
    reset_memory_stats()
    assert get_memory_mode() is None
    yield
    assert get_memory_mode() is None


@pytest.fixture(params=MODES)
def mode(request):
    with memory_mode(request.param):
        yield request.param


def buffer(size, value=0):
    x = np.empty(size, np.uint8)
    x.fill(value % 251)
    return x


def holds(x, value):
    """Every byte of x has this value; seen without a large temporary array."""
    return x.size == 0 or x.min() == x.max() == value


def train(sizes, keep=()):
    """One step: a stack of activations, backward freeing them in turn with a gradient for each."""
    activations = [buffer(size, i) for i, size in enumerate(sizes)]
    _core.backward_begins()
    kept = [activations[i] for i in keep]
    while activations:
        gradient = buffer(activations[-1].size, 100)
        gradient += activations[-1]
        assert holds(gradient, 100 + len(activations) - 1)
        del activations[-1]
    gradient = None
    _core.step_boundary()
    return kept


SIZES = [5000, 70000, 3000, 70000, 1024, 2000, 100]

# --- ordinary work --------------------------------------------------------------------------------


def test_ordinary_work(mode):
    x = np.arange(100000, dtype=np.float64)
    assert (x * 2 + 1).sum() == 100000 * 99999 + 100000
    assert np.array_equal(np.sort(x[::-1]), x)
    assert np.array_equal(np.argsort(x[::-1], kind="stable"), x[::-1].astype(int))
    assert np.linalg.solve(np.eye(40) * 2, np.ones(40)).sum() == 20
    assert np.concatenate([x[:10], x[:0], x[5:7]]).tolist() == [*range(10), 5, 6]
    assert x.data.contiguous and x.ctypes.data % 64 == 0
    assert x.reshape(100, 1000).T.copy().sum() == x.sum()


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000, 1 << 16, 5 << 20])
def test_zeros_are_zero_also_where_others_were(mode, size):
    for _ in range(3):
        x = np.zeros(size, np.uint8)
        assert x.size == size and not x.any()
        x.fill(255)
        del x


def test_empty_arrays(mode):
    for shape in [(0,), (3, 0), (0, 0, 5)]:
        x = np.empty(shape)
        assert x.shape == shape and x.sum() == 0
    assert np.array([]).tolist() == []
    assert np.array(5.0) == 5


@pytest.mark.parametrize("sizes", [(10, 20, 100000, 50, 0, 7), (5000, 5100, 3000, 1, 5000)])
def test_resize_keeps_content(mode, sizes):
    x = np.zeros(sizes[0], np.int32)
    want = []
    for size in sizes:
        want = (want + [0] * size)[:size]
        x.resize(size, refcheck=False)
        assert x.tolist() == want
        want = [size * 7 + i for i in range(size)]
        x[:] = want
    assert memory_stats().live_bytes == max(x.nbytes, 4)


def test_structured_and_object_arrays(mode):
    x = np.zeros(500, dtype=[("name", "U7"), ("value", "f8"), ("more", "i2", (3,))])
    x["name"], x["value"] = "abc", np.arange(500)
    assert x[77]["name"] == "abc" and x["value"].sum() == 500 * 499 / 2
    y = np.empty(300, dtype=object)
    assert all(item is None for item in y)
    y[:] = [[i] for i in range(300)]
    assert max(y.tolist()) == [299]
    y.resize(400, refcheck=False)
    assert y[299] == [299] and y[399] == 0
    assert np.array(["a", "bc"], dtype=np.dtypes.StringDType()).tolist() == ["a", "bc"]


def test_no_memory_is_an_error(mode):
    before = memory_stats()
    for make in (np.empty, np.zeros):
        for size in (1 << 60, 1 << 46):
            with pytest.raises(MemoryError):
                make(size, np.int8)
    x = np.ones(10)
    with pytest.raises(MemoryError):
        x.resize(1 << 58, refcheck=False)
    assert x.sum() == 10
    del x
    assert memory_stats().live_bytes == before.live_bytes
    assert memory_stats().reserved_bytes >= before.reserved_bytes


# --- whose memory it is ---------------------------------------------------------------------------


@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("then", [None, *MODES])
def test_arrays_outlive_their_mode(first, then):
    def use(arrays):
        while arrays:
            x, i = arrays.pop()
            assert holds(x, i)
            y = buffer(x.size, 77)
            assert holds(y, 77)

    with memory_mode(first):
        arrays = [(buffer(size, i), i) for i, size in enumerate((10, 2000, 10, 300000, 2000))]
        resized = np.ones(1000)
    if then is None:
        use(arrays)
        resized.resize(9000, refcheck=False)
    else:
        with memory_mode(then):
            use(arrays)
            resized.resize(9000, refcheck=False)
    assert resized.sum() == 1000
    del resized
    assert memory_stats().live_buffers == 0
    assert memory_stats().live_bytes == 0


def test_arrays_may_die_in_another_thread(mode):
    arrays = [buffer(size, 3) for size in (10, 5000, 10, 5000)]

    def finish(_):
        assert get_memory_mode() is None
        assert all(holds(x, 3) for x in arrays)
        arrays.clear()

    in_threads(finish, 1)
    assert memory_stats().live_buffers == 0
    assert holds(buffer(5000, 9), 9)


def test_a_view_keeps_its_memory(mode):
    """Also as a part of it, through memoryview, and by an array over the buffer of another."""
    views = []
    for i in range(60):
        x = buffer(4096, i)
        views.append((x[7:9], memoryview(x)[5:], np.frombuffer(x, np.uint16)[::-1])[i % 3])
        del x
        if i % 10 == 9:
            _core.step_boundary()
    for i, view in enumerate(views):
        assert set(bytes(np.ascontiguousarray(view).tobytes())) == {i}


operations = st.lists(
    st.one_of(
        st.tuples(st.just("new"), st.sampled_from([1, 64, 1000, 1024, 1025, 2000, 5000, 40000])),
        st.tuples(st.just("view"), st.integers(0, 1000)),
        st.tuples(st.just("free"), st.integers(0, 1000)),
        st.tuples(st.just("resize"), st.integers(0, 1000), st.integers(1, 6000)),
        st.tuples(st.just("zeros"), st.sampled_from([500, 2000, 5000])),
        st.tuples(st.just("boundary")),
        st.tuples(st.just("backward")),
        st.tuples(st.just("mode"), st.sampled_from([None, *MODES])),
        st.tuples(st.just("release")),
    ),
    min_size=5,
    max_size=60,
)


@pytest.mark.parametrize("start", MODES)
@settings(max_examples=200)
@given(trace=operations, rounds=st.integers(1, 4))
def test_nothing_is_handed_out_twice(start, trace, rounds):
    """Each round repeats the trace, while arrays of earlier rounds are still live."""
    live = []
    number = 0
    before = memory_stats().live_bytes
    with memory_mode(start):
        for _ in range(rounds):
            for what, *how in trace:
                if what in ("new", "zeros"):
                    x = np.zeros(how[0], np.uint8) if what == "zeros" else buffer(how[0])
                    assert not x.any()
                    number += 1
                    x.fill(number % 251)
                    live.append((x, number % 251))
                elif what == "view" and live:
                    x, own = live.pop(how[0] % len(live))
                    live.append((x[x.size // 2 :], own))
                elif what == "free" and live:
                    live.pop(how[0] % len(live))
                elif what == "resize" and live:
                    x, own = live[how[0] % len(live)]
                    if x.base is None:
                        x.resize(how[1], refcheck=False)
                        x.fill(own)
                elif what == "boundary":
                    _core.step_boundary()
                elif what == "backward":
                    _core.backward_begins()
                elif what == "mode":
                    set_memory_mode(how[0])
                elif what == "release":
                    release_memory()
            set_memory_mode(start)
            _core.step_boundary()
            assert all(holds(x, own) for x, own in live)
    live.clear()
    x = None
    assert memory_stats().live_bytes == before


# --- steady loops ---------------------------------------------------------------------------------


def test_a_steady_loop_allocates_nothing_after_its_third_step():
    with memory_mode("pool"):
        weights = [buffer(30000, i) for i in range(4)]
        for step in range(10):
            train(SIZES)
            stats = memory_stats()
            assert stats.steps == step + 1
            if step >= 3:
                assert stats.step_allocations == 0
            if step == 3:
                reserved = stats.reserved_bytes
        assert stats.reserved_bytes == reserved
        assert all(holds(w, i) for i, w in enumerate(weights))


def test_off_asks_the_system_each_time():
    with memory_mode("off"):
        for _ in range(5):
            train(SIZES)
            assert memory_stats().step_allocations >= 2 * len(SIZES)
    stats = memory_stats()
    assert (stats.reuses, stats.reserved_bytes) == (0, 0)


def test_plan_is_another_name_of_pool():
    with pytest.warns(DeprecationWarning, match="means 'pool'"):
        assert set_memory_mode("plan") is None
    assert set_memory_mode(None) == "pool"
    with pytest.warns(DeprecationWarning, match="means 'pool'"):
        mode = memory_mode("plan")
    with mode:
        assert get_memory_mode() == "pool"
    for name in ("planned_bytes", "misses"):
        with pytest.warns(DeprecationWarning, match=name):
            assert getattr(memory_stats(), name) == 0
    with pytest.raises(AttributeError, match="bytes_planned"):
        memory_stats().bytes_planned  # noqa: B018


# --- counters -------------------------------------------------------------------------------------


def test_live_bytes_return_to_what_they_were(mode):
    assert memory_stats().live_bytes == 0
    x = np.empty(1000)
    y = np.zeros((3, 5), np.int16)
    stats = memory_stats()
    assert (stats.live_bytes, stats.live_buffers) == (8030, 2)
    assert stats.reserved_bytes >= 8030
    del x
    assert (memory_stats().live_bytes, memory_stats().live_buffers) == (30, 1)
    del y
    stats = memory_stats()
    assert (stats.live_bytes, stats.live_buffers, stats.peak_live_bytes) == (0, 0, 8030)
    release_memory()
    assert memory_stats().reserved_bytes == 0
    small = np.empty(10)
    reset_memory_stats()
    stats = dataclasses.asdict(memory_stats())
    reserved = stats.pop("reserved_bytes")
    assert reserved > 80
    assert {k: v for k, v in stats.items() if v} == {
        "live_bytes": small.nbytes,
        "live_buffers": 1,
        "peak_live_bytes": 80,
    }


def test_every_buffer_is_an_allocation_or_a_reuse(mode):
    for _ in range(50):
        x = buffer(500)
        y = buffer(5000)
    stats = memory_stats()
    assert stats.allocations + stats.reuses == 100
    assert stats.allocations == (100 if mode == "off" else 4)
    del x, y


def test_activations_and_temporaries(mode):
    weights = [buffer(10000)]
    _core.step_boundary()
    for _ in range(5):
        activations = [buffer(100), buffer(3000)]
        weights.clear()
        buffer(5000)
        weights.append(buffer(10000))
        _core.backward_begins()
        buffer(700)
        del activations
        gradient = buffer(50)
        _core.step_boundary()
        stats = memory_stats()
        assert stats.activation_bytes == 100 + 3000 + 10000
        assert stats.temporary_bytes == 5000 + 700
        del gradient
    _core.step_boundary()
    stats = memory_stats()
    assert (stats.steps, stats.activation_bytes, stats.temporary_bytes) == (7, 0, 0)


def test_pool_wastes_at_most_an_eighth():
    """Sizes of one class share their blocks; a block is at most an eighth larger than asked."""
    overhead = 64 + 48
    with memory_mode("pool"):
        for size in [1, 64, 65, 72, 73, 128, 129, 1000, 1023, 1024, 1025, 99999, 3 << 20]:
            release_memory()
            x = buffer(size)
            room = memory_stats().reserved_bytes - overhead
            assert max(64, size) <= room <= max(64, size * 9 / 8 + 1)
            del x


# --- contexts -------------------------------------------------------------------------------------


def test_modes_nest():
    pool = memory_mode("pool")
    with pool:
        with memory_mode("off"), pool:
            assert get_memory_mode() == "pool"
            with memory_mode("off"):
                assert get_memory_mode() == "off"
            assert get_memory_mode() == "pool"
        assert get_memory_mode() == "pool"
        assert set_memory_mode(None) == "pool"
        assert get_memory_mode() is None
        assert set_memory_mode("off") is None
        assert get_memory_mode() == "off"
    assert get_memory_mode() is None
    assert np.lib.introspect is not None


def test_an_error_restores_the_mode():
    with memory_mode("pool"):
        with pytest.raises(ZeroDivisionError), memory_mode("off"):
            1 / 0  # noqa: B018
        assert get_memory_mode() == "pool"


@pytest.mark.parametrize("wrong", ["fast", "", "Pool", 3, b"pool"])
def test_unknown_modes(wrong):
    with pytest.raises(ValueError, match="off, pool"):
        set_memory_mode(wrong)
    with pytest.raises(ValueError, match=repr(wrong)), memory_mode(wrong):
        pass
    assert get_memory_mode() is None


def test_a_thread_has_a_mode_of_its_own(mode):
    seen = []

    def other(_):
        seen.append(get_memory_mode())
        before = memory_stats()
        np.empty(5000)
        _core.step_boundary()
        _core.backward_begins()
        seen.append(memory_stats() == before)
        with memory_mode("off"):
            seen.append(get_memory_mode())

    in_threads(other, 1)
    assert seen == [None, True, "off"]
    assert get_memory_mode() == mode
    assert contextvars.copy_context().run(get_memory_mode) == mode


def test_many_threads_share_the_memory():
    def work(seed):
        rng = np.random.default_rng(seed)
        with memory_mode(MODES[seed % 2]):
            for _ in range(150):
                xs = [(buffer(int(s), i), i) for i, s in enumerate(rng.integers(1, 9000, 8))]
                _core.step_boundary()
                assert all(holds(x, i) for x, i in xs)

    in_threads(work, 6)
    assert memory_stats().live_buffers == 0


def test_boundaries_without_a_mode_do_nothing():
    before = memory_stats()
    _core.step_boundary()
    _core.backward_begins()
    assert memory_stats() == before


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork with threads
def test_fork_in_the_middle(mode):
    for _ in range(4):
        train(SIZES)
    activations = [buffer(size, i) for i, size in enumerate(SIZES)]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            right = all(holds(x, i) for i, x in enumerate(activations))
            activations.clear()
            for _ in range(4):
                train(SIZES)
            status = 0 if right and memory_stats().live_buffers == 0 else 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(holds(x, i) for i, x in enumerate(activations))


def test_exit_with_a_mode_set_and_arrays_alive():
    for mode in MODES:
        run_python(f"""
            import numpy as np
            from tropical import memory
            assert memory.memory_stats().steps == 0
            assert memory.get_memory_mode() is None
            memory.release_memory()
            memory.set_memory_mode({mode!r})
            x = np.ones(100000)
            cycle = [np.ones(10)]
            cycle.append(cycle)
        """)


def test_another_allocator_comes_back():
    """A handler that is neither NumPy's nor ours is restored by the block."""
    with memory_mode("off"):
        foreign = _core.memory_handler()
    before = _core.memory_handler()
    _core.set_memory_handler(foreign)
    with memory_mode("pool"):
        pass
    assert _core.memory_handler() is foreign
    _core.set_memory_handler(before)
    with pytest.raises(TypeError, match="handler: expected what"):
        _core.set_memory_handler(3)
    assert np.ones(3).sum() == 3


def test_no_mode_is_no_block():
    with pytest.raises(ValueError, match="mode: expected 'off' or 'pool', got None"):
        memory_mode(None).__enter__()
