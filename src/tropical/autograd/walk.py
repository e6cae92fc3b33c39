"""The backward pass, from a value to the leaves; no operation but `cast_to` is known here."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import _core
from .operation import cast_to
from .tensor import Tensor, tensor_of
from .value import (
    OUTPUT,
    Array,
    Changes,
    Gradient,
    GraphReleasedError,
    Hook,
    Node,
    Rule,
    innermost_pass,
    recording,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

# A function of a leaf and of the rule, g and arguments of its gradient. True: the function used
# them, and the pass computes no gradient.
Absorb: TypeAlias = "Callable[[Node, Rule, Gradient, tuple[Any, ...]], bool]"


def _released() -> GraphReleasedError:
    return GraphReleasedError(
        "backward: the buffers of this graph were released; call backward(retain_graph=True) the "
        "first time to run a second backward pass"
    )


def behind(root: Node, ends: Callable[[Node], bool]) -> tuple[list[Node], set[Node]]:
    """Return `root` and the nodes that it depends on, latest first, and the nodes that are ends.

    Raises
    ------
    GraphReleasedError
        If the buffers of a node before the ends were released.
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
    inner.sort(key=attrgetter("number"), reverse=True)
    return inner, found


class Walk:
    """One backward pass from `root`: each node once, when its gradient is complete.

    Parameters
    ----------
    root : Node
        The node of the output.
    deliver : callable
        A function of a node and its complete gradient, which nothing else refers to.
    retain : bool, optional
        Keep the buffers for another pass; `recorded` by default.
    recorded : bool
        Record the pass itself: gradients are Tensors, and rules get Tensors.
    wanted : set of Node, optional
        Deliver the gradients of these nodes only, and visit only the nodes between; by default
        deliver the gradients of leaves and of values with `retain_grad`.
    ends : set of Node
        The ends of a pass inside another pass, which calls the hooks of these nodes.
    absorb : callable, optional
        See `Absorb`; called for leaves that are used once, and only in a pass without hooks,
        replays and rules from outside the package, which might read the leaves or raise an error.

    Attributes
    ----------
    leading : set of Node or None
        The wanted nodes and the nodes that depend on them; None if all leaves are wanted.
    replayed : dict
        The gradients found by the nodes that replay a function in this pass.
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
        self.retain: bool = recorded if retain is None else retain
        self.recorded = recorded
        self.wanted = wanted
        self.ends = ends
        self.absorb = absorb
        self.gradients: dict[Node, Gradient] = {}
        self.own: set[Node] = set()  # nodes whose gradient is an array of this pass
        self.uses: dict[Node, int] = {}  # gradients still to come, for the nodes at the ends
        self.leading: set[Node] | None = None
        self.replayed: dict[object, dict[Node, Gradient]] = {}

    def run(self, first: Tensor) -> None:
        """Run the pass from the gradient of the root."""
        nodes = self._plan()
        gradient: Gradient = first if self.recorded else first.data
        if not nodes:
            if self.wanted is None or self.root in self.wanted:
                self._complete(self.root, gradient)
            return
        self.gradients[self.root] = gradient
        outer, outside = innermost_pass.get(), recording.get()  # a rule may run a pass of its own
        if outer is None:
            _core.backward_begins()
        try:
            innermost_pass.set(self)
            recording.set(self.recorded)
            self._walk(nodes)
        finally:
            try:
                recording.set(outside)
            finally:  # Ctrl-C may raise its exception after any call
                innermost_pass.set(outer)
                if outer is None:
                    _core.step_boundary()

    def _plan(self) -> list[Node]:
        """Return the nodes that pass gradients on, latest first; count the uses of the ends."""
        wanted = self.wanted
        if wanted is None:
            nodes, _ = behind(self.root, attrgetter("is_leaf"))
        else:
            oldest = min((node.number for node in wanted), default=0)
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
        _check_unchanged(nodes, self.root)
        inner = set(nodes)
        uses = self.uses
        for node in nodes:
            for parent in node.inputs:
                if parent is not None and parent not in inner:
                    uses[parent] = uses.get(parent, 0) + 1
        if self.absorb is not None and any(map(_runs_code_of_others, (*nodes, *uses))):
            self.absorb = None
        return nodes

    def _walk(self, nodes: list[Node]) -> None:
        # Mode "off" is for comparisons: it frees no buffer before the end of the pass.
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
        """Return the gradient after the hooks, and deliver it if it is wanted."""
        is_wanted = node.tensor is not None if self.wanted is None else node in self.wanted
        if node.hooks and node not in self.ends:
            g = call_hooks(node.hooks, g)
        if is_wanted:  # the inputs must not share the delivered array
            self.deliver(node, g if node in self.uses else _copy(g))
        return g

    def _pass_on(self, node: Node, g: Gradient) -> None:
        saved = node.saved
        if saved is None:  # by a pass of another thread, or of a hook
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


def _check_unchanged(nodes: list[Node], root: Node) -> None:
    """Raise RuntimeError if a leaf has changed whose old data the rules of the nodes need."""
    if not nodes or Changes.last < nodes[-1].number:  # the graph is younger than the last change
        return
    _, leaves = behind(root, lambda node: node.is_leaf or node.saved is None)
    for leaf in sorted(leaves, key=attrgetter("number")):
        tensor = leaf.tensor() if leaf.tensor is not None else None
        if tensor is None:
            continue
        for node in nodes:
            if node.number < leaf.changed and _needs(node, leaf, tensor.data):
                raise RuntimeError(
                    f"backward: a parameter of shape {tensor.shape} has changed since the forward "
                    "pass, whose gradients need the old data; call backward before the step of an "
                    "optimizer, or compute the forward pass again"
                )


def _needs(node: Node, leaf: Node, data: Array) -> bool:
    """Return whether the rules of a node need the data of a leaf."""
    return (node.replays and leaf in node.inputs) or any(
        isinstance(argument, np.ndarray) and np.may_share_memory(argument, data)
        for arguments in node.saved or ()
        for argument in arguments
    )


def _runs_code_of_others(node: Node) -> bool:
    """Return whether a node's gradients need code that may read parameters, or raise an error."""
    return bool(node.hooks) or node.replays or node.has_foreign_rules


def _is_shared(part: Gradient, g: Gradient) -> bool:
    """Return whether the array of a part of g may be shared, or has gaps between its elements."""
    if not isinstance(part, (np.ndarray, np.generic)):
        part, g = part.data, g.data
    return part is g or type(part) is not np.ndarray or part.base is not None or not part.flags.forc


def _as_tensors(node: Node) -> tuple[tuple[Any, ...], ...]:
    """Return the saved arguments of a node, with Tensors for those with a history."""
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
    """Return a copy of a gradient, in C order, with the same history."""
    if isinstance(gradient, Tensor):
        return tensor_of(np.array(gradient.data, order="C"), gradient.node)
    return np.array(gradient, order="C")


def call_hooks(hooks: dict[int, Hook], gradient: Gradient) -> Gradient:
    """Return the gradient after the hooks, each of which may replace it."""
    recorded = isinstance(gradient, Tensor)
    tensor = gradient if recorded else tensor_of(np.asarray(gradient), None)
    for hook in list(hooks.values()):
        replaced = hook(tensor)
        if replaced is None:
            continue
        replaced = replaced if isinstance(replaced, Tensor) else Tensor(replaced)
        if replaced.shape != tensor.shape:
            raise ValueError(f"hook: expected a gradient {tensor.shape}, got {replaced.shape}")
        tensor = _copy(
            replaced if replaced.dtype == tensor.dtype else cast_to(replaced, tensor.dtype)
        )
    return tensor if recorded else tensor.data
