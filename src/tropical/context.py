"""Blocks that change a setting of the context (`PEP 567 <https://peps.python.org/pep-0567/>`_)."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from typing_extensions import Self

Setting = TypeVar("Setting")
Function = TypeVar("Function", bound="Callable[..., Any]")
# The blocks that are open in this context, outermost first, each with the setting outside it.
Blocks = ContextVar[tuple[tuple["Block[Any]", Any], ...]]


class Block(ABC, Generic[Setting]):
    """A ``with`` block or a decorator that changes a setting until it ends.

    The context keeps the open blocks. So threads and tasks do not see each other's blocks, one
    object may open many blocks at once, and blocks may end in any order: what remains is what the
    open blocks set.
    """

    _open: ClassVar[Blocks]

    @abstractmethod
    def _get(self) -> Setting:
        """Return the setting of this context."""

    @abstractmethod
    def _set(self, setting: Setting) -> None:
        """Change the setting of this context. Raises where the setting is invalid."""

    @abstractmethod
    def _within(self, outside: Setting) -> Setting:
        """Return the setting within this block."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __enter__(self) -> Self:
        outside = self._get()
        self._set(self._within(outside))
        self._open.set((*self._open.get(()), (self, outside)))
        return self

    def __exit__(self, *error: object) -> None:
        blocks = self._open.get(())
        ending = len(blocks) - 1
        while ending >= 0 and blocks[ending][0] is not self:
            ending -= 1
        if ending < 0:  # a generator's block, which began in another context
            return
        setting = blocks[ending][1]
        kept = blocks[:ending]
        for block, _ in blocks[ending + 1 :]:
            kept = (*kept, (block, setting))
            setting = block._within(setting)
        self._open.set(kept)
        self._set(setting)

    def __call__(self, function: Function) -> Function:
        """Decorate a function, a coroutine function or a generator function."""
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"expected a function or a generator function, got {function!r}")

        def of_function(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        async def of_coroutine(*args: Any, **kwargs: Any) -> Any:
            with self:
                return await function(*args, **kwargs)

        def of_generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return self._resume(function(*args, **kwargs))

        decorated: Any = of_function
        if inspect.iscoroutinefunction(function):
            decorated = of_coroutine
        elif inspect.isgeneratorfunction(function):
            decorated = of_generator
        return cast("Function", functools.wraps(function)(decorated))

    def _resume(self, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run a generator in blocks that end whenever the generator yields."""
        resume: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with self:
                    value = resume()
            except StopIteration as stop:
                return stop.value
            try:
                resume = functools.partial(generator.send, (yield value))
            except GeneratorExit:
                with self:
                    generator.close()
                raise
            except BaseException as error:
                resume = functools.partial(generator.throw, error)
