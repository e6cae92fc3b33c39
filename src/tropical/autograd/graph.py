"""The graph that the forward pass builds, and the walk back through it; knows no operation.

A `Node` stands for one computed value. It keeps what its gradient rules name and nothing else: not
its value, not its tensor, so that a buffer dies with its last use.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tensor import Tensor

Array: TypeAlias = NDArray[Any]
# Arrays, or Tensors where the walk itself is recorded.
Gradient: TypeAlias = Any
Rule: TypeAlias = "Callable[..., Gradient]"
# Takes a gradient; returns None, or what replaces it.
Hook: TypeAlias = "Callable[[Tensor], Any]"

_number_of_next = itertools.count().__next__
INPUT_IS_CONSTANT = None
OUTPUT = -1


class _State(threading.local):
    recording = True
    walking = False


state = _State()


class Node:
    """One computed value in the graph, or a leaf, which has no inputs.

    Attributes
    ----------
    inputs : tuple of Node or None
        Where gradients go, one for each rule; None for a constant.
    rules : tuple of callables
        ``rule(g, *arguments)`` is the gradient for the input, g the one of this value.
    saved : tuple of tuples, or None once it has been released
        Each rule's arguments.
    sources : tuple of tuples
        What each argument is: the number of an input, `OUTPUT`, or None for a constant.
    number : int
        Counts values in the order of their computation: inputs come before what is made of them.
    hooks : dict or None
        Called with the gradient when it is complete.
    tensor : weak reference to Tensor or None
        Of a leaf: where the gradient is put.
    """

    __slots__ = ("__weakref__", "hooks", "inputs", "number", "rules", "saved", "sources", "tensor")

    def __init__(
        self,
        inputs: tuple[Node | None, ...],
        rules: tuple[Rule, ...],
        saved: tuple[tuple[Any, ...], ...],
        sources: tuple[tuple[int | None, ...], ...],
    ) -> None:
        self.inputs = inputs
        self.rules = rules
        self.saved: tuple[tuple[Any, ...], ...] | None = saved
        self.sources = sources
        self.number = _number_of_next()
        self.hooks: dict[int, Hook] | None = None
        self.tensor: weakref.ref[Tensor] | None = None


def leaf(tensor: Tensor) -> Node:
    """Return the node of a tensor that gradients end at."""
    node = Node((), (), (), ())
    node.tensor = weakref.ref(tensor)
    return node


class no_grad(contextlib.ContextDecorator):
    """Record nothing: a context manager, or a decorator.

    Examples
    --------
    >>> from tropical.autograd import Tensor, no_grad
    >>> weights = Tensor([1.0, 2.0], requires_grad=True)
    >>> with no_grad():
    ...     doubled = weights * 2
    >>> doubled.requires_grad
    False
    """

    mode = False

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(state.recording)
        state.recording = self.mode

    def __exit__(self, *error: object) -> None:
        state.recording = self._before.pop()


class enable_grad(no_grad):
    """Record again, inside `no_grad`."""

    mode = True


def is_grad_enabled() -> bool:
    """Return whether operations are recorded in this thread."""
    return state.recording


class Handle:
    """A registered hook."""

    def __init__(self, hooks: dict[int, Any], hook: object) -> None:
        self._hooks = hooks
        self._number = _number_of_next()
        hooks[self._number] = hook

    def remove(self) -> None:
        """Take the hook away; more than once is allowed."""
        self._hooks.pop(self._number, None)


class GraphReleasedError(RuntimeError):
    """A graph is walked a second time, after its buffers were released."""


def _reachable(root: Node) -> tuple[list[Node], dict[Node, int]]:
    """Return the nodes behind `root`, latest first, and of how many each leaf is an input."""
    seen = {root}
    inner: list[Node] = []
    uses: dict[Node, int] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node.tensor is not None:
            continue
        if node.saved is None:
            raise GraphReleasedError(
                "backward: this graph was walked before, and the buffers that it kept were "
                "released; call backward(retain_graph=True) the first time to walk it again"
            )
        inner.append(node)
        for parent in node.inputs:
            if parent is None:
                continue
            if parent.tensor is not None:
                uses[parent] = uses.get(parent, 0) + 1
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    inner.sort(key=_number, reverse=True)
    return inner, uses


def _number(node: Node) -> int:
    return node.number


class Walk:
    """One walk back from `root`: each node once, when all of its gradient has arrived.

    Parameters
    ----------
    root : Node
        Where the walk begins.
    deliver : callable
        Called with a leaf and its complete gradient, which nobody else holds.
    retain : bool, optional
        Keep the buffers, for another walk; `recorded` unless given.
    recorded : bool
        Record the walk itself: gradients are Tensors, and rules get Tensors.
    """

    def __init__(
        self,
        root: Node,
        deliver: Callable[[Node, Gradient], None],
        *,
        retain: bool | None,
        recorded: bool,
    ) -> None:
        self.root = root
        self.deliver = deliver
        self.retain = recorded if retain is None else retain
        self.recorded = recorded
        self.gradients: dict[Node, Gradient] = {}
        self.own: set[Node] = set()  # whose gradient is a sum made here, that may grow in place

    def run(self, first: Tensor) -> None:
        """Walk, beginning with the gradient of the root."""
        nodes, uses = _reachable(self.root)
        gradient: Gradient = first if self.recorded else first.data
        if self.root.tensor is not None:
            return self.deliver(self.root, _copy(gradient))
        self.gradients[self.root] = gradient
        del first, gradient
        outermost = not state.walking  # a rule may walk a graph of its own
        if outermost:
            _core.backward_begins()
        state.walking = True
        try:
            self._walk(nodes, uses)
        finally:
            if outermost:
                state.walking = False
                _core.step_boundary()

    def _walk(self, nodes: list[Node], uses: dict[Node, int]) -> None:
        # Mode "off" is the yardstick: no buffer goes back before the walk has ended.
        kept: list[Any] | None = [] if _core.get_memory_mode() == "off" else None
        for node in nodes:
            g = self.gradients.pop(node, None)
            if g is None:
                continue
            if node.hooks:
                g = call_hooks(node.hooks, g)
            if kept is not None:
                kept.append((g, node.saved))
            self._pass_on(node, g, uses)
            if not self.retain:
                node.saved = None
                node.inputs = ()

    def _pass_on(self, node: Node, g: Gradient, uses: dict[Node, int]) -> None:
        saved = node.saved
        assert saved is not None
        if self.recorded:
            saved = _as_tensors(node)
        gradients = self.gradients
        for parent, rule, arguments in zip(node.inputs, node.rules, saved, strict=True):
            if parent is None:
                continue
            part = rule(g, *arguments)
            ends = parent.tensor is not None
            sum_so_far = gradients.get(parent)
            if sum_so_far is not None:
                part = self._sum(parent, sum_so_far, part)
            elif ends and not self.recorded and (part is g or part.base is not None):
                part = _copy(part)  # others hold it
            gradients[parent] = part
            if ends:
                uses[parent] -= 1
                if not uses[parent]:
                    self.deliver(parent, gradients.pop(parent))

    def _sum(self, node: Node, sum_so_far: Gradient, part: Gradient) -> Gradient:
        if self.recorded or type(sum_so_far) is not np.ndarray:
            return sum_so_far + part
        if node in self.own:
            return np.add(sum_so_far, part, out=sum_so_far)
        self.own.add(node)
        return sum_so_far + part


def _as_tensors(node: Node) -> tuple[tuple[Any, ...], ...]:
    """Return what a node has saved, with Tensors for the values that depend on others."""
    from .tensor import tensor_of

    assert node.saved is not None

    def with_history(argument: Any, source: int | None) -> Any:
        if source is None:
            return argument
        origin = node if source == OUTPUT else node.inputs[source]
        return argument if origin is None else tensor_of(argument, origin)

    return tuple(
        tuple(map(with_history, arguments, sources))
        for arguments, sources in zip(node.saved, node.sources, strict=True)
    )


def _copy(gradient: Gradient) -> Gradient:
    return np.array(gradient) if isinstance(gradient, (np.ndarray, np.generic)) else gradient


def call_hooks(hooks: dict[int, Hook], gradient: Gradient) -> Gradient:
    """Return the gradient as the hooks leave it: each may return another in its place."""
    from .tensor import Tensor

    recorded = isinstance(gradient, Tensor)
    tensor = gradient if recorded else Tensor(gradient)
    for hook in list(hooks.values()):
        replaced = hook(tensor)
        if replaced is None:
            continue
        replaced = replaced if isinstance(replaced, Tensor) else Tensor(replaced)
        if replaced.shape != tensor.shape:
            raise ValueError(
                f"a hook replaced a gradient of shape {tensor.shape} by one of {replaced.shape}"
            )
        tensor = replaced
    return tensor if recorded else tensor.data
