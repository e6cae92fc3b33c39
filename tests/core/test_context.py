"""Blocks that change settings: of options, of the memory mode, of recording."""

import asyncio
import contextvars
import sys
import threading

import numpy as np
import pytest
from support import in_threads

import tropical
from tropical import _core
from tropical.autograd import enable_grad, is_grad_enabled, no_grad
from tropical.memory import get_memory_mode, memory_mode


def threads():
    return _core.get_options()[2]


# Two blocks of a kind, what to ask, and the answers outside, in the first and in the second.
KINDS = [
    pytest.param(
        lambda: tropical.options(threads=2),
        lambda: tropical.options(threads=3),
        threads,
        (None, 2, 3),
        id="options",
    ),
    pytest.param(
        lambda: memory_mode("pool"),
        lambda: memory_mode("off"),
        get_memory_mode,
        (None, "pool", "off"),
        id="memory_mode",
    ),
    pytest.param(no_grad, enable_grad, is_grad_enabled, (True, False, True), id="no_grad"),
]
# Whether a thread begins with a copy of the context that starts it, as in CPython without a GIL.
INHERITED = bool(getattr(sys.flags, "thread_inherit_context", 0))
every_kind = pytest.mark.parametrize("first, second, ask, answers", KINDS)


@every_kind
def test_blocks_end_in_any_order(first, second, ask, answers):
    outside, in_first, in_second = answers
    a, b = first(), second()
    a.__enter__()
    b.__enter__()
    assert ask() == in_second
    a.__exit__(None, None, None)
    assert ask() == in_second
    b.__exit__(None, None, None)
    assert ask() == outside
    a.__enter__()
    b.__enter__()
    b.__exit__(None, None, None)
    assert ask() == in_first
    a.__exit__(None, None, None)
    assert ask() == outside


def test_a_block_that_ends_early_takes_its_options_along():
    a, b = tropical.options(kernel="tiled", threads=2), tropical.options(threads=3)
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    assert _core.get_options() == (None, None, 3, False, "float32")
    b.__exit__(None, None, None)
    assert _core.get_options() == (None, None, None, False, "float32")


@every_kind
def test_one_object_in_two_threads(first, second, ask, answers):
    outside, inside, _ = answers
    block = first()
    entered, left = threading.Event(), threading.Event()
    seen = []

    def other():
        seen.append(ask())
        with block:
            seen.append(ask())
            entered.set()
            left.wait(20)
            seen.append(ask())
        seen.append(ask())

    thread = threading.Thread(target=other)
    with block:
        thread.start()
        assert entered.wait(20)
    assert ask() == outside
    left.set()
    thread.join()
    at_first = inside if INHERITED else outside
    assert seen == [at_first, inside, inside, at_first]
    assert ask() == outside


@every_kind
def test_tasks_do_not_share_blocks(first, second, ask, answers):
    outside, in_first, in_second = answers

    async def within(make, expected):
        with make():
            for _ in range(3):
                await asyncio.sleep(0)
                assert ask() == expected
            assert await asyncio.to_thread(ask) == expected
        assert ask() == outside

    async def both():
        await asyncio.gather(within(first, in_first), within(second, in_second))
        assert ask() == outside

    asyncio.run(both())


@every_kind
def test_decorated_functions(first, second, ask, answers):
    outside, inside, _ = answers

    @first()
    def plain(depth=2):
        """Return the answer of the innermost call."""
        return plain(depth - 1) if depth else ask()

    @first()
    def generator():
        got = []
        try:
            while True:
                got.append((ask(), (yield ask())))
        except KeyError:
            yield "caught", ask()
        return got

    @first()
    async def coroutine():
        await asyncio.sleep(0)
        return ask()

    assert (plain(), plain.__doc__) == (inside, "Return the answer of the innermost call.")
    items = generator()
    assert (next(items), ask()) == (inside, outside)
    assert (items.send(5), ask()) == (inside, outside)
    assert (items.throw(KeyError), ask()) == (("caught", inside), outside)
    with pytest.raises(StopIteration) as stop:
        next(items)
    assert (stop.value.value, ask()) == ([(inside, 5)], outside)

    async def run():
        return await coroutine()

    assert (asyncio.run(run()), ask()) == (inside, outside)


def test_a_decorated_generator_is_closed_in_the_block():
    seen = []

    @no_grad()
    def generator():
        try:
            yield 1
        finally:
            seen.append(is_grad_enabled())

    items = generator()
    next(items)
    items.close()
    assert seen == [False]


def test_async_generators_are_refused():
    async def generator():
        yield 1

    with pytest.raises(TypeError, match="expected a function or a generator function"):
        tropical.options(threads=1)(generator)


@every_kind
def test_a_block_that_ends_in_another_context_changes_nothing(first, second, ask, answers):
    outside = answers[0]
    block = first()
    contextvars.copy_context().run(block.__enter__)
    block.__exit__(None, None, None)
    assert ask() == outside


@every_kind
def test_eight_threads_do_not_see_each_others_blocks(first, second, ask, answers):
    outside, in_first, in_second = answers
    together = threading.Barrier(8, timeout=20)

    def work(number):
        make, expected = ((first, in_first), (second, in_second))[number % 2]
        for _ in range(20):
            together.wait()
            assert ask() == outside  # also where threads inherit, as they start outside of blocks
            together.wait()
            with make():
                together.wait()
                assert ask() == expected

    in_threads(work, 8)
    assert ask() == outside


# Each caller's own kernel and threads, and what then runs.
CHOICES = [("naive", 1), ("tiled", 2), ("packed", 3), ("direct", 4)]


def plan_within(kernel, threads):
    with tropical.options(kernel=kernel, threads=threads):
        plan = tropical.explain(2000, 2000, 2000)
        yield plan.kernel == kernel and plan.threads <= threads
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        yield np.array_equal(tropical.gemm(x, x.T), (x[:, None] + x).max(-1))


def test_threads_compute_by_their_own_options():
    together = threading.Barrier(len(CHOICES), timeout=20)

    def work(number):
        for done in plan_within(*CHOICES[number]):
            together.wait()
            assert done

    in_threads(work, len(CHOICES))


def test_the_process_has_one_number_of_threads():
    """`set_num_threads` is for all threads and tasks; `options` of a context go before it."""
    before = tropical.get_num_threads()
    seen = []
    try:
        with tropical.options(threads=2):
            in_threads(lambda _: tropical.set_num_threads(3), 1)
            seen.append(tropical.explain(2000, 2000, 2000).threads)
        assert tropical.get_num_threads() == 3 and seen[0] <= 2
    finally:
        tropical.set_num_threads(before)


def test_options_of_the_context_reach_ufuncs():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    with tropical.options(isa="baseline"):
        assert np.array_equal(tropical.ufunc.minplus_multiply(x, x), x + x)
