"""Closures by blocks on executors: pools of processes, pools that break, Dask."""

import multiprocessing
import os
import signal
import threading
from collections import Counter
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from support import assert_same_bits
from test_closure_blocks import matrix_on_disk

from tropical.graph import BlockFolder, DivergenceError, closure, closure_blocks
from tropical.graph.blocks import closure as closures
from tropical.graph.blocks import crew, panels, tasks

Pool = partial(ProcessPoolExecutor, 2, mp_context=multiprocessing.get_context("spawn"))


def test_executors_of_the_standard_library(tmp_path):
    a, folder = matrix_on_disk(200, 64, tmp_path / "processes")
    with Pool() as pool:
        closure_blocks(folder, executor=pool)
        assert_same_bits(folder, closure(a))
        a = np.full((9, 9), -1.0)  # errors come back from workers
        folder = BlockFolder.from_array(tmp_path / "diverging", a, block=4)
        with pytest.raises(DivergenceError, match="store: has no minplus star"):
            closure_blocks(folder, executor=pool)
        assert folder.state == "diverged"
    a, folder = matrix_on_disk(200, 64, tmp_path / "threads")
    with ThreadPoolExecutor(3) as pool:
        closure_blocks(folder, executor=pool)
    assert_same_bits(folder, closure(a))


class OneByOne:
    """The least that an executor has: `submit`, and futures; it runs each task twice."""

    def submit(self, function, *arguments):
        future = Future()
        function(*arguments)
        future.set_result(function(*arguments))
        return future


def test_anything_with_submit(tmp_path):
    a, folder = matrix_on_disk(200, 64, tmp_path)
    closure_blocks(folder, executor=OneByOne(), workers=3)
    assert_same_bits(folder, closure(a))


def test_workers_leave_ctrl_c_to_the_caller(tmp_path):
    """A terminal sends it to all processes; one that a pool lost with its lock hung the call."""
    a, folder = matrix_on_disk(200, 64, tmp_path)
    pools = []

    def make():
        pools.append(ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")))
        return pools[-1]

    def interrupt(share):
        for worker in pools[-1]._processes:
            os.kill(worker, signal.SIGINT)

    closure_blocks(folder, executor=make, progress=interrupt)
    assert len(pools) == 1
    assert_same_bits(folder, closure(a))


def kill_workers(when, pools):
    """A report that kills a worker of the last pool when the share passes the next of `when`."""
    left = sorted(when)

    def report(share):
        if left and share > left[0]:
            left.pop(0)
            os.kill(next(iter(pools[-1]._processes)), signal.SIGKILL)

    return report


@pytest.mark.slow
def test_a_worker_dies_in_each_round(tmp_path):
    a, folder = matrix_on_disk(250, 64, tmp_path)
    pools = []

    def make():
        pools.append(Pool())
        return pools[-1]

    closure_blocks(folder, executor=make, progress=kill_workers((0.1, 0.4, 0.7), pools))
    assert 2 <= len(pools) <= 4
    assert_same_bits(folder, closure(a))


def test_a_pool_that_cannot_be_made_anew(tmp_path):
    a, folder = matrix_on_disk(250, 64, tmp_path)
    with Pool() as pool, pytest.raises(BrokenExecutor):
        closure_blocks(folder, executor=pool, progress=kill_workers((0.3,), [pool]))
    assert folder.state == "rounds"
    assert_same_bits(closure_blocks(folder), closure(a))


class Broken:
    """An executor whose workers always die."""

    made = 0

    def __init__(self):
        Broken.made += 1

    def submit(self, function, *arguments):
        future = Future()
        future.set_exception(BrokenExecutor("workers died"))
        return future

    def shutdown(self, wait):
        pass


def test_workers_that_always_die(tmp_path):
    _, folder = matrix_on_disk(20, 10, tmp_path)
    with pytest.raises(BrokenExecutor, match="workers died"):
        closure_blocks(folder, executor=Broken)
    assert Broken.made == 3


class Hanging:
    """An executor whose workers hang when they first get the tasks of these numbers."""

    def __init__(self, numbers, fails=False):
        self.numbers, self.fails = numbers, fails
        self.given = []
        self.go_on = threading.Event()
        self.pool = ThreadPoolExecutor(2 + len(numbers))

    def submit(self, function, *task):
        hangs = task not in self.given and len(set(self.given)) + 1 in self.numbers
        self.given.append(task)
        return self.pool.submit(self.run, hangs, function, *task)

    def run(self, hangs, function, *task):
        if hangs:
            assert self.go_on.wait(60)
        function(*task)
        if hangs and self.fails:
            raise OSError("the worker's disk failed")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go_on.set()
        self.pool.shutdown()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("numbers", [(2,), (5, 9), (27,)])
def test_a_worker_that_hangs(numbers, fails, tmp_path, monkeypatch):
    """Its task is given to another one, once; what it does later changes nothing."""
    monkeypatch.setattr(crew, "_LEAST_LATE", 0.05)
    a, folder = matrix_on_disk(100, 40, tmp_path)
    seen = []
    with Hanging(numbers, fails) as executor:
        closure_blocks(folder, executor=executor, workers=2 + len(numbers), progress=seen.append)
        assert_same_bits(folder, closure(a))
        hung = [list(dict.fromkeys(executor.given))[number - 1] for number in numbers]
    assert all(executor.given.count(task) == 2 for task in hung)
    assert max(Counter(executor.given).values()) == 2
    assert len(seen) == 27 and seen[-1] == 1
    assert_same_bits(folder, closure(a))


def test_tasks_that_wait_for_a_worker_that_hangs(tmp_path, monkeypatch):
    """Two of two workers' tasks run, as far as one can see, but both are with the same worker."""
    monkeypatch.setattr(crew, "_LEAST_LATE", 0.05)
    a, folder = matrix_on_disk(100, 40, tmp_path)
    with Hanging((10, 11)) as executor:
        closure_blocks(folder, executor=executor, workers=2)
        assert_same_bits(folder, closure(a))
    assert_same_bits(folder, closure(a))


class HangingAtTheEnd(Hanging):
    """Its workers hang when they have read the blocks, and before they write one."""

    def run(self, hangs, function, *task):
        hanging.now = hangs
        function(*task)


hanging = threading.local()


def test_a_worker_that_hangs_at_an_array(tmp_path, monkeypatch):
    """It goes on in the midst of other rounds, in the same scratch folder, and changes nothing."""
    monkeypatch.setattr(crew, "_LEAST_LATE", 0.05)
    a, _ = matrix_on_disk(100, 40, tmp_path / "folder")
    star = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", a.dtype, a.shape)
    star[:] = a
    outcomes = []
    run, take = tasks.run, panels.take

    def noted(*task):
        try:
            run(*task)
        except Exception as error:
            outcomes.append(error)
            raise

    def taken(*blocks):
        if getattr(hanging, "now", False):
            assert executor.go_on.wait(60)
        return take(*blocks)

    monkeypatch.setattr(closures, "run", noted)
    monkeypatch.setattr(panels, "take", taken)
    with HangingAtTheEnd((5,)) as executor:
        closure_blocks(star, executor=executor, block=40, workers=3)
        assert not executor.go_on.is_set()
        assert max(Counter(executor.given).values()) == 2
        assert_same_bits(star, closure(a))
        star[:] = a.T

        def report(done):
            if done > 0.3:
                executor.go_on.set()
                executor.pool.shutdown()  # waits for the late task

        closure_blocks(star, block=40, progress=report)
    (error,) = outcomes
    assert "expected the matrix of this task, got another one" in str(error)
    assert_same_bits(star, closure(np.ascontiguousarray(a.T)))


def test_no_task_is_given_twice_while_others_end(tmp_path, monkeypatch):
    monkeypatch.setattr(crew, "_LEAST_LATE", 60.0)  # a disk may be slow
    a, folder = matrix_on_disk(100, 40, tmp_path)
    with Hanging(()) as executor:
        closure_blocks(folder, executor=executor, workers=1)
    assert len(executor.given) == len(set(executor.given)) == 27
    assert_same_bits(folder, closure(a))


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask's own, in its threads
def test_dask(cluster, tmp_path):
    """Also with a worker that is killed: its nanny replaces it, Dask runs the task again."""
    a, folder = matrix_on_disk(250, 64, tmp_path)
    seen = []

    def report(share):
        seen.append(share)
        if len(seen) == 20:
            pid = next(iter(cluster.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)

    closure_blocks(folder, executor=cluster, progress=report)
    assert len(seen) == 64
    assert_same_bits(folder, closure(a))
