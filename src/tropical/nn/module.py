"""Modules: parameters, buffers and other modules by name, with hooks and states."""

from __future__ import annotations

import inspect
import os
from abc import ABCMeta
from collections import deque
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tropical import autograd
from tropical.autograd import Tensor, is_grad_enabled
from tropical.autograd.value import Handle, note_change

from .state import PathLike, apart, load_arrays, matching, save_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from typing_extensions import Self

Array: TypeAlias = NDArray[Any]


class Parameter(Tensor):
    """A Tensor that requires grad and that a `Module` lists among its parameters."""

    __slots__ = ()

    def __init__(self, data: Any, *, dtype: DTypeLike | None = None) -> None:
        super().__init__(data, requires_grad=True, dtype=dtype)
        self.data: Array = np.array(self.data, order="C")


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a module or parameter, or those in a list, tuple or dict, with dotted names."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, (Module, Parameter)):
        yield name, value
    elif isinstance(value, (list, tuple, deque)):
        parts = enumerate(value)
    elif isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (set, frozenset)) or _of_objects(value):
        members = value.flat if isinstance(value, np.ndarray) else value
        if any(isinstance(part, (Module, Parameter)) for part in members):
            kind = "an array" if isinstance(value, np.ndarray) else "a set"
            raise TypeError(f"{name}: expected a list, tuple or dict of modules, got {kind}")
    for key, part in parts:
        yield from _inside(f"{name}.{key}", part)


def _of_objects(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.hasobject


class _ModuleHandle(Handle):
    """A registered hook of a module, whose `_hooks` are empty when the last one is removed."""

    def __init__(self, hooks: dict[str, dict[int, Any]], kind: str, hook: object) -> None:
        super().__init__(hooks.get(kind, {}), hook)
        hooks[kind] = self._hooks
        self._hooks_of_kinds = hooks
        self._kind = kind

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        super().remove()
        if not self._hooks_of_kinds.get(self._kind, True):
            del self._hooks_of_kinds[self._kind]


class ModuleKind(ABCMeta):
    """The class of `Module`: notes which arrays a constructor has set."""

    if not TYPE_CHECKING:
        __instancecheck__ = type.__instancecheck__  # ABCMeta's takes ten times as long

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        """Return a new module of the class."""
        module = super().__call__(*arguments, **keywords)
        module._buffers = {
            name for name, value in vars(module).items() if isinstance(value, np.ndarray)
        }
        return module

    @property
    def __signature__(cls) -> inspect.Signature:
        """What help and the manual show: that of the constructor, not that of `__call__`."""
        return inspect.signature(MethodType(cls.__init__, cls))  # type: ignore[misc]


def _copy(arrays: Mapping[str, Array], targets: Mapping[str, Array]) -> None:
    """Copy arrays, which have the dtypes of their targets."""
    for name, array in arrays.items():
        np.copyto(targets[name], array)


class Module(metaclass=ModuleKind):
    """A part of a network; a subclass sets parameters and modules as attributes, defines `forward`.

    A module lists its attributes that are a `Parameter`, a `Module`, or a buffer, which is state
    without training, in the order of their assignment. It also lists parameters and modules in
    lists, tuples and dicts among its attributes, with names such as ``blocks.0.weight``. These must
    not contain themselves, and a module in a set or an array is an error. A buffer is an array that
    the constructor sets, or `register_buffer`. Other arrays, such as those that `forward` keeps for
    later, are no state.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.Parameter([2.0])
    ...
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(np.ones(3)).data
    array([2., 2., 2.])
    """

    training: bool
    _hooks: dict[str, dict[int, Any]]
    _buffers: set[str] | None  # None in the constructor: every array

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        """Return a module that works also if its constructor does not call that of `Module`."""
        module = super().__new__(cls)
        module.training = True
        module._hooks = {}
        module._buffers = None
        return module

    def __init__(self) -> None:
        pass

    # Type checkers let subclasses override these two parameters by any others.
    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Compute the output; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Return the value of `forward` after the hooks."""
        if not self._hooks:
            return self.forward(*inputs, **keywords)
        return self._with_hooks(inputs, keywords)

    # --- hooks: they get positional inputs only, and must not change a value in place ---

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, inputs)`` before forward; a result other than None replaces inputs.

        The hook gets no keyword arguments, and must not change an input in place.
        """
        return _ModuleHandle(self._hooks, "forward_pre", hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, inputs, output)`` after forward; a result replaces the output.

        The hook must not change inputs or output in place, because gradients need both.
        """
        return _ModuleHandle(self._hooks, "forward", hook)

    def register_backward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, gradient)`` with the output's gradient, before the module's own pass.

        A result other than None replaces the gradient. The hook must not change the gradient in
        place. The output must be one Tensor.
        """
        return _ModuleHandle(self._hooks, "backward_pre", hook)

    def register_backward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, gradient)`` with the gradient of the first input.

        A result other than None replaces the gradient. The hook must not change the gradient in
        place. The first input must be a Tensor that requires grad.
        """
        return _ModuleHandle(self._hooks, "backward", hook)

    def _with_hooks(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        for hook in self._hooks_of("forward_pre"):
            replaced = hook(self, inputs)
            if replaced is not None:
                inputs = replaced if isinstance(replaced, tuple) else (replaced,)
        if inputs:
            inputs = (self._watched(inputs[0], "backward"), *inputs[1:])
        output = self.forward(*inputs, **keywords)
        for hook in self._hooks_of("forward"):
            replaced = hook(self, inputs, output)
            output = output if replaced is None else replaced
        return self._watched(output, "backward_pre")

    def _hooks_of(self, kind: str) -> list[Any]:
        return list(self._hooks.get(kind, {}).values())

    def _watched(self, value: Any, kind: str) -> Any:
        """Return a copy of a tensor, with the hooks on its gradient; other values unchanged."""
        hooks = self._hooks.get(kind)
        recorded = is_grad_enabled() and isinstance(value, Tensor) and value.requires_grad
        if not (hooks and recorded):
            return value
        watched = autograd.cast(value, value.dtype)
        for number in hooks:
            watched.register_hook(partial(self._call_hook, hooks, number))
        return watched

    def _call_hook(self, hooks: dict[int, Any], number: int, gradient: Tensor) -> Any:
        hook = hooks.get(number)  # None after its removal
        return None if hook is None else hook(self, gradient)

    # --- parts ---

    def register_buffer(self, name: str, array: Array) -> None:
        """Set an attribute to an array that belongs to the state.

        Raises
        ------
        TypeError
            If `array` is no array.
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(f"array: expected an ndarray, got {type(array).__name__}")
        setattr(self, name, array)
        if self._buffers is not None:
            self._buffers.add(name)

    def _parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the modules, parameters and buffers of this module itself, with names."""
        for name, value in vars(self).items():
            named = self._buffers is None or name in self._buffers
            if isinstance(value, np.ndarray) and named:
                yield name, value
            if name not in ("_hooks", "_buffers"):
                yield from _inside(name, value)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the modules among the attributes and in their lists and dicts, with names."""
        for name, value in self._parts():
            if isinstance(value, Module):
                yield name, value

    def children(self) -> Iterator[Module]:
        """Yield the modules among the attributes and in their lists and dicts."""
        for _, module in self.named_children():
            yield module

    def modules(self) -> Iterator[Module]:
        """Yield this module and all inside it."""
        found: set[Module] = {self}
        stack: list[Module] = [self]
        while stack:
            module = stack.pop()
            yield module
            inside = [child for child in module.children() if child not in found]
            found.update(inside)
            stack += inside[::-1]

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters of this module and all inside it, each once, with dotted names."""
        seen: set[int] = set()
        for name, value in self._named(Parameter):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters of this module and all inside it, each once."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, Array]]:
        """Yield the buffers of this module and all inside it, with dotted names."""
        yield from self._named(np.ndarray)

    def _named(
        self, kind: type[Any], prefix: str = "", above: tuple[Module, ...] = ()
    ) -> Iterator[tuple[str, Any]]:
        above = (*above, self)
        for name, value in self._parts():
            if isinstance(value, Module):
                if value not in above:  # a part may refer to the whole
                    yield from value._named(kind, f"{prefix}{name}.", above)
            elif isinstance(value, kind):
                yield prefix + name, value

    def train(self, mode: bool = True) -> Module:
        """Set this module and all inside it to training, or to evaluation."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Set this module and all inside it to evaluation."""
        return self.train(False)

    def zero_grad(self) -> None:
        """Set the gradients of all parameters to None."""
        for parameter in self.parameters():
            parameter.grad = None

    # --- files ---

    def state_dict(self) -> dict[str, Array]:
        """Return copies of parameters and buffers, by name."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def _arrays(self) -> dict[str, Array]:
        """Return the data of parameters, and the buffers, by name."""
        pairs = [(name, parameter.data) for name, parameter in self._named(Parameter)]
        pairs += self.named_buffers()
        arrays = dict(pairs)
        if len(arrays) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"state: expected different names, got {twice!r} twice")
        return arrays

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Copy values into parameters and buffers.

        Parameters
        ----------
        state : mapping of str to array
            A result of `state_dict`: an array of the right shape for every name.

        Raises
        ------
        ValueError
            If a name is missing or unknown, a shape differs, a target is read-only, a number is
            beyond the range of its target, or a module does not take the values; nothing is
            changed then.
        TypeError
            If an array does not cast to the dtype of its target; nothing is changed then.
        """
        targets = self._arrays()
        arrays = apart(matching(state, targets), targets.values())
        modules = list(self.modules())
        follows = any(type(module).state_loaded is not Module.state_loaded for module in modules)
        before = self.state_dict() if follows else {}
        try:
            _copy(arrays, targets)
            for module in modules:
                module.state_loaded()
        except BaseException:
            _copy(before, targets)
            for module in modules if follows else ():
                module.state_loaded()
            raise
        for parameter in self.parameters():
            if parameter.node is not None:
                note_change(parameter.node)

    def state_loaded(self) -> None:
        """Do what follows a change of the state; `load_state_dict` calls it for each module."""

    def save(self, path: PathLike) -> None:
        """Write the state to an ``.npz`` file in one step: a failure changes no old file.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        save_arrays(path, self.state_dict())

    def load(self, path: PathLike) -> None:
        """Read the state from a file that `save` wrote.

        Raises
        ------
        ValueError
            If the file is damaged or of another network.
        OSError
            If the file cannot be read.
        """
        state = load_arrays(path)
        try:
            self.load_state_dict(state)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def __repr__(self) -> str:
        children = self.named_children()
        inner = "".join(
            f"\n  {name}: {repr(m).replace(chr(10), chr(10) + '  ')}" for name, m in children
        )
        return f"{type(self).__name__}({self.extra_repr()}){inner}"

    def extra_repr(self) -> str:
        """Return the text in the brackets of the representation."""
        return ""
