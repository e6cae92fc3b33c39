"""Who runs tasks: an executor of the caller, one that is made anew when it breaks, or threads."""

from __future__ import annotations

import contextvars
import os
import signal
import threading
import time
import uuid
from collections import Counter, deque
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from .sizes import IN_PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable

Task: TypeAlias = tuple[int, ...]

_TRIES = 3  # of a task whose workers die
_LATE = 5  # times what tasks take: where a task takes longer, and a worker is free, it runs twice
_LEAST_LATE = 1.0  # seconds


class Plan(Protocol):
    """The tasks that are left."""

    @property
    def left(self) -> int:
        """Number of tasks that have not ended."""
        ...

    def next(self) -> Any:
        """Return the first task that may run now, None if there is none."""

    def again(self, task: Any) -> None:
        """Take back a task that did not end."""

    def name(self, task: Any) -> str:
        """Return what Dask's dashboard calls tasks of this kind."""
        ...


class _Try(NamedTuple):
    """A task that an executor was given, at a time of `time.monotonic`."""

    task: Task
    future: Any
    begin: float


class _Threads(ThreadPoolExecutor):
    """Threads of this process: one computes, in the context of the caller, others use the disk."""

    def __init__(self, tasks: int) -> None:
        super().__init__(tasks, "tropical")
        self._turn = threading.Lock()

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
        context = contextvars.copy_context()
        given: Any = (context.run, function, *arguments, self._turn)
        return super().submit(*given, **options)


class Crew:
    """An executor, and the tasks that it was given and that have not ended.

    Parameters
    ----------
    executor : object with ``submit``, callable or None
        As for `closure_blocks`.
    workers : int, optional
        Tasks that run at once.
    tasks : int
        Tasks at once where `executor` is None.
    repeats : bool, default False
        Whether a task may still run after `run` has ended, because another try of it was faster.
    """

    def __init__(
        self,
        executor: Any,
        workers: int | None,
        tasks: int = IN_PROCESS,
        *,
        repeats: bool = False,
    ) -> None:
        self._make: Callable[[], Any] | None = executor if _makes(executor) else None
        if executor is None:
            self._make = lambda: _Threads(tasks)
        self._executor: Any = self._make() if self._make else executor
        if not hasattr(self._executor, "submit"):
            kind = type(self._executor).__name__
            raise TypeError(f"executor: expected a function that returns one, got {kind} from it")
        self._is_dask = hasattr(self._executor, "nthreads")
        self.workers: int = workers or self._workers()
        self._most = self.workers + (1 if executor is None else self.workers)
        self._may_repeat = repeats and executor is not None
        self._running: dict[int, _Try] = {}  # by the number of the try
        self._tries = 0
        self._repeated: set[Task] = set()  # that another worker was given, too
        self._times: deque[float] = deque(maxlen=100)  # seconds of the last tasks
        self._last_end = 0.0  # of a task
        self._deaths: Counter[Task] = Counter()
        self._ended: SimpleQueue[tuple[int, Any]] = SimpleQueue()

    def _workers(self) -> int:
        """Return how many tasks the executor runs at once, as far as it says."""
        if self._is_dask:
            return int(max(sum(self._executor.nthreads().values()), 1))
        for name in ("num_workers", "_max_workers"):  # mpi4py; the standard library
            if isinstance(found := getattr(self._executor, name, None), int) and found > 0:
                return found
        return os.cpu_count() or 1

    def run(
        self, plan: Plan, work: Callable[..., object], ended: Callable[[Any, Any], object]
    ) -> None:
        """Call `work` with each task of a plan; after each, call `ended` in this thread.

        `ended` gets the task and what `work` returned, and takes the task off the plan. If the
        executor is None, `work` also takes a lock and holds it while it computes. Twice as many
        tasks as workers are handed over at once: more would go before those that the next round
        waits for. If tasks may be repeated, a task that takes long is given to another worker as
        well, once, where one is free: the first of the two that ends counts.

        Raises
        ------
        BrokenExecutor or KilledWorker
            If workers die: for an executor that cannot be made anew at once, else if they die
            three times at the same task.
        Exception
            That a task raised.
        """
        while plan.left:
            try:
                while len(self._running) < self._most and (task := plan.next()):
                    self._submit(plan, work, task)
                end = self._await(plan, work)
            except BrokenExecutor:
                if self._make is None or max(self._deaths.values()) >= _TRIES:
                    raise
                self._renew(plan, self._make)
                continue
            if end is not None:
                ended(*end)

    def _submit(self, plan: Plan, work: Callable[..., object], task: Task) -> None:
        options: dict[str, Any] = {}
        if self._make and not isinstance(self._executor, _Threads):
            work = partial(_uninterrupted, work, os.getpid())
        if self._is_dask:  # the dashboard groups tasks by the name before the number
            options = {"key": f"{plan.name(task)}-{uuid.uuid4().hex}", "pure": False}
        try:
            future = self._executor.submit(work, *task, **options)
        except BrokenExecutor:
            self._note_death(plan, task)
            raise
        self._tries += 1
        self._running[self._tries] = _Try(task, future, time.monotonic())
        future.add_done_callback(partial(self._note_end, self._tries))

    def _note_end(self, number: int, future: Any) -> None:
        self._ended.put((number, future))

    def _note_death(self, plan: Plan, task: Task) -> None:
        self._deaths[task] += 1
        if not any(other.task == task for other in self._running.values()):
            plan.again(task)

    def _straggler(self) -> tuple[Task, float] | None:
        """Return the task that began first, and when another worker is to be given it as well.

        If as many tasks run as there are workers, that depends on when the last one ended: some of
        them may wait for a worker that hangs.
        """
        tries = [each for each in self._running.values() if each.task not in self._repeated]
        if not (self._may_repeat and self._times and tries):
            return None
        oldest = min(tries, key=lambda each: each.begin)
        free = len(self._running) < self.workers
        since = oldest.begin if free else max(oldest.begin, self._last_end)
        return oldest.task, since + max(_LATE * median(self._times), _LEAST_LATE)

    def _await(self, plan: Plan, work: Callable[..., object]) -> tuple[Task, Any] | None:
        """Wait until a task ends; return it and its result, None if it had ended before."""
        straggler = self._straggler()
        patience = max(straggler[1] - time.monotonic(), 0.0) if straggler else None
        try:
            number, future = self._ended.get(timeout=patience)
        except Empty:
            if straggler:
                self._repeated.add(straggler[0])
                self._submit(plan, work, straggler[0])
            return None
        if number not in self._running:  # of an executor that broke, or too late
            return None
        task, _, begin = self._running.pop(number)
        try:
            result = future.result()
        except Exception as error:
            if not _is_death(error):
                raise
            self._note_death(plan, task)
            if isinstance(error, BrokenExecutor) or self._deaths[task] >= _TRIES:
                raise
            return None
        self._last_end = time.monotonic()
        self._times.append(self._last_end - begin)
        if task in self._repeated:
            self._forget(task)
        return task, result

    def _forget(self, task: Task) -> None:
        """Cancel the other try of a task that has ended; what it does is ignored from now on."""
        for number, other in list(self._running.items()):
            if other.task == task:
                del self._running[number]
                other.future.cancel()

    def _renew(self, plan: Plan, make: Callable[[], Any]) -> None:
        """Make the executor anew, and take back the tasks that it had."""
        self._executor.shutdown(wait=True)
        for task in {each.task for each in self._running.values()}:
            plan.again(task)
        self._running.clear()
        self._executor = make()

    def close(self) -> None:
        """Cancel what has not begun, and wait for what runs in an executor of our own."""
        for each in list(self._running.values()):
            each.future.cancel()
        self._running.clear()
        if self._make:
            self._executor.shutdown(wait=True)


def _uninterrupted(work: Callable[..., object], caller: int, *task: int) -> object:
    """Run a task in a process of an executor of our own, which leaves Ctrl-C to the caller.

    A terminal sends Ctrl-C to all processes. It may stop a process of a pool while that holds a
    lock of the pool, and `close` would wait for ever.
    """
    if os.getpid() != caller and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return work(*task)


def check_executor(executor: Any, workers: int | None, threads: int | None) -> None:
    """Raise TypeError or ValueError unless `Crew` takes these."""
    if _makes(executor) and not (executor is None or callable(executor)):
        kind = type(executor).__name__
        raise TypeError(f"executor: expected an object with submit, or a function, got {kind}")
    for name, number in (("workers", workers), ("threads", threads)):
        if not (number is None or hasattr(number, "__index__")):
            raise TypeError(f"{name}: expected an integer or None, got {type(number).__name__}")
        if number is not None and number < 1:
            raise ValueError(f"{name}: expected 1 or more, got {number}")


def with_progress(error: OSError, done: str) -> OSError:
    """Return an error of the disk that also says what is done; the next call continues."""
    message = f"{error.strerror or error}; {done}, and the next call continues"
    return OSError(error.errno, message, error.filename)


def _makes(executor: Any) -> bool:
    """Return whether an executor is not one itself, but makes one: a class has ``submit``, too."""
    return isinstance(executor, type) or not hasattr(executor, "submit")


def _is_death(error: BaseException) -> bool:
    """Return whether an error says that a worker died; KilledWorker is Dask's, after some tries."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
