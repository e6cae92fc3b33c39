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
    from collections.abc import Set as AbstractSet

    from .tensor import Tensor

Array: TypeAlias = NDArray[Any]
# Arrays, or Tensors where the walk itself is recorded.
Gradient: TypeAlias = Any
Rule: TypeAlias = "Callable[..., Gradient]"
# Takes a gradient; returns None, or what replaces it.
Hook: TypeAlias = "Callable[[Tensor], Any]"
# Takes a leaf and the rule, g and arguments that give its gradient; returns whether it used them.
Absorb: TypeAlias = "Callable[[Node, Rule, Gradient, tuple[Any, ...]], bool]"

next_number = itertools.count(1).__next__
OUTPUT = -1


class _State(threading.local):
    recording = True
    walk: Walk | None = None  # the innermost


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
    is_leaf : bool
        Whether gradients end here.
    replays : bool
        Whether the rules call a function of the user's.
    hooks : dict or None
        Called with the gradient when it is complete.
    tensor : weak reference to Tensor or None
        Where the gradient is put: that of a leaf, or of a value whose gradient is retained.
    """

    __slots__ = (
        "__weakref__",
        "hooks",
        "inputs",
        "is_leaf",
        "number",
        "replays",
        "rules",
        "saved",
        "sources",
        "tensor",
    )

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
        self.number = next_number()
        self.is_leaf = not inputs
        self.replays = False
        self.hooks: dict[int, Hook] | None = None
        self.tensor: weakref.ref[Tensor] | None = None

    def release(self) -> None:
        """Let go of everything that gradients need."""
        self.saved = None
        self.inputs = ()
        self.rules = ()


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

    def _recreate_cm(self) -> no_grad:
        return type(self)()  # a decorated function may run in several threads at once


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
        self._number = next_number()
        hooks[self._number] = hook

    def remove(self) -> None:
        """Take the hook away; more than once is allowed."""
        self._hooks.pop(self._number, None)


class GraphReleasedError(RuntimeError):
    """A graph is walked a second time, after its buffers were released."""


def _released() -> GraphReleasedError:
    return GraphReleasedError(
        "backward: this graph was walked before, and the buffers that it kept were released; call "
        "backward(retain_graph=True) the first time to walk it again"
    )


def _number(node: Node) -> int:
    return node.number


def behind(root: Node, ends: Callable[[Node], bool]) -> tuple[list[Node], set[Node]]:
    """Return the nodes behind `root` and itself, latest first, and those of them that end it.

    Raises
    ------
    GraphReleasedError
        If the buffers of one before the ends were released.
    """
    seen = {root}
    inner: list[Node] = []
    found: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if ends(node):
            found.add(node)
            continue
        if node.saved is None:
            raise _released()
        inner.append(node)
        for parent in node.inputs:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    inner.sort(key=_number, reverse=True)
    return inner, found


class Walk:
    """One walk back from `root`: each node once, when all of its gradient has arrived.

    Parameters
    ----------
    root : Node
        Where the walk begins.
    deliver : callable
        Called with a node and its complete gradient, which nobody else holds.
    retain : bool, optional
        Keep the buffers, for another walk; `recorded` unless given.
    recorded : bool
        Record the walk itself: gradients are Tensors, and rules get Tensors.
    wanted : set of Node, optional
        Deliver the gradients of these alone, and walk no further than they need; unless given,
        those of leaves and of values that retain theirs.
    ends : set of Node
        Where a walk ends that is a part of another one, which calls the hooks of these.
    absorb : callable, optional
        Is offered the rules of leaves that are used once; what it uses is not delivered. Asked only
        if no hook and no replay, which might look at the leaves, takes part in the walk.

    Attributes
    ----------
    leading : set of Node or None
        To those wanted, and these; None where all leaves are.
    replayed : dict
        What nodes that replay a function have found in this walk.
    """

    def __init__(
        self,
        root: Node,
        deliver: Callable[[Node, Gradient], None],
        *,
        retain: bool | None,
        recorded: bool,
        wanted: AbstractSet[Node] | None = None,
        ends: AbstractSet[Node] = frozenset(),
        absorb: Absorb | None = None,
    ) -> None:
        self.root = root
        self.deliver = deliver
        self.retain = recorded if retain is None else retain
        self.recorded = recorded
        self.wanted = wanted
        self.ends = ends
        self.absorb = absorb
        self.gradients: dict[Node, Gradient] = {}
        self.own: set[Node] = set()  # whose gradient is a sum made here, that may grow in place
        self.uses: dict[Node, int] = {}  # of the nodes where the walk ends: gradients still to come
        self.leading: set[Node] | None = None
        self.replayed: dict[object, dict[Node, Gradient]] = {}

    def run(self, first: Tensor) -> None:
        """Walk, beginning with the gradient of the root."""
        nodes = self._plan()
        gradient: Gradient = first if self.recorded else first.data
        if not nodes:
            if self.wanted is None or self.root in self.wanted:
                self._complete(self.root, gradient)
            return
        self.gradients[self.root] = gradient
        outer, recording = state.walk, state.recording  # a rule may walk a graph of its own
        if outer is None:
            _core.backward_begins()
        state.walk, state.recording = self, self.recorded
        try:
            self._walk(nodes)
        finally:
            state.walk, state.recording = outer, recording
            if outer is None:
                _core.step_boundary()

    def _plan(self) -> list[Node]:
        """Return the nodes to pass gradients on from, latest first; count the uses of the ends."""
        wanted = self.wanted
        if wanted is None:
            nodes, _ = behind(self.root, _is_leaf)
        else:
            oldest = min(map(_number, wanted), default=0)
            nodes, _ = behind(
                self.root,
                lambda node: node.is_leaf or node.number <= oldest or node in self.ends,
            )
            self.leading = leading = set(wanted)
            passing = []
            for node in reversed(nodes):
                if not leading.isdisjoint(node.inputs):
                    leading.add(node)
                    passing.append(node)
            nodes = passing[::-1]
        inner = set(nodes)
        uses = self.uses
        for node in nodes:
            for parent in node.inputs:
                if parent is not None and parent not in inner:
                    uses[parent] = uses.get(parent, 0) + 1
        if self.absorb is not None and any(node.hooks or node.replays for node in (*nodes, *uses)):
            self.absorb = None
        return nodes

    def _walk(self, nodes: list[Node]) -> None:
        # Mode "off" is the yardstick: no buffer goes back before the walk has ended.
        kept: list[Any] | None = [] if _core.get_memory_mode() == "off" else None
        for node in nodes:
            g = self.gradients.pop(node)
            if node.hooks or node.tensor is not None or self.wanted is not None:
                g = self._complete(node, g)
            if kept is not None:
                kept.append((g, node.saved))
            self._pass_on(node, g)
            if not self.retain:
                node.release()

    def _complete(self, node: Node, g: Gradient) -> Gradient:
        """Return the gradient as hooks leave it, delivered if it is one of those wanted."""
        is_wanted = node.tensor is not None if self.wanted is None else node in self.wanted
        if node.hooks and node not in self.ends:
            g = call_hooks(node.hooks, g)
        if is_wanted:  # what goes on to the inputs is not the array of whoever gets this
            self.deliver(node, g if node in self.uses else _copy(g))
        return g

    def _pass_on(self, node: Node, g: Gradient) -> None:
        saved = node.saved
        if saved is None:  # by a walk of another thread, or of a hook
            raise _released()
        if self.recorded:
            saved = _as_tensors(node)
        gradients, uses = self.gradients, self.uses
        leading, absorb = self.leading, self.absorb
        for parent, rule, arguments in zip(node.inputs, node.rules, saved, strict=True):
            if parent is None or (leading is not None and parent not in leading):
                continue
            left = uses.get(parent, 0) - 1
            sum_so_far = gradients.get(parent)
            alone = not left and sum_so_far is None
            if alone and absorb is not None and absorb(parent, rule, g, arguments):
                continue
            part = rule(g, *arguments)
            if sum_so_far is not None:
                part = self._sum(parent, sum_so_far, part)
            if left:
                gradients[parent] = part
                if left > 0:
                    uses[parent] = left
                continue
            gradients.pop(parent, None)
            self._complete(parent, _copy(part) if _is_shared(part, g) else part)

    def _sum(self, node: Node, sum_so_far: Gradient, part: Gradient) -> Gradient:
        if self.recorded or type(sum_so_far) is not np.ndarray:
            return sum_so_far + part
        if node in self.own:
            return np.add(sum_so_far, part, out=sum_so_far)
        self.own.add(node)
        return sum_so_far + part


def _is_leaf(node: Node) -> bool:
    return node.is_leaf


def _is_shared(part: Gradient, g: Gradient) -> bool:
    """Return whether others hold the array of a part of g, or it is not one in C order."""
    if not isinstance(part, (np.ndarray, np.generic)):
        part, g = part.data, g.data
    return (
        part is g
        or type(part) is not np.ndarray
        or part.base is not None
        or not part.flags.c_contiguous
    )


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
    """Return a gradient that nobody else holds, its data in C order; history stays."""
    from .tensor import Tensor, tensor_of

    if isinstance(gradient, Tensor):
        return tensor_of(np.array(gradient.data, order="C"), gradient.node)
    return np.array(gradient, order="C")


def call_hooks(hooks: dict[int, Hook], gradient: Gradient) -> Gradient:
    """Return the gradient as the hooks leave it: each may return another in its place."""
    from .shape import cast
    from .tensor import Tensor, tensor_of

    recorded = isinstance(gradient, Tensor)
    tensor = gradient if recorded else tensor_of(np.asarray(gradient), None)
    for hook in list(hooks.values()):
        replaced = hook(tensor)
        if replaced is None:
            continue
        replaced = replaced if isinstance(replaced, Tensor) else Tensor(replaced)
        if replaced.shape != tensor.shape:
            raise ValueError(
                f"a hook replaced a gradient of shape {tensor.shape} by one of {replaced.shape}"
            )
        tensor = _copy(replaced if replaced.dtype == tensor.dtype else cast(replaced, tensor.dtype))
    return tensor if recorded else tensor.data
