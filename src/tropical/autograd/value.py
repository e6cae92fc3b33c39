"""What a recorded value is: the node that stands for the value, and whether operations record.

A `Node` keeps the arrays that its gradient rules name and nothing else: neither its value nor its
tensor. So NumPy frees a buffer after its last use. Nothing here knows an operation.
"""

from __future__ import annotations

import itertools
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from numpy.typing import NDArray

from ..context import Block, Blocks

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = NDArray[Any]
# An array, or a Tensor if the backward pass itself is recorded.
Gradient: TypeAlias = Any
Rule: TypeAlias = "Callable[..., Gradient]"
# A function of a gradient, a Tensor, that returns None or a replacement.
Hook: TypeAlias = "Callable[[Any], Any]"

next_number: Callable[[], int] = itertools.count(1).__next__
OUTPUT = -1


# Whether operations of this context record, and its innermost backward pass.
recording: ContextVar[bool] = ContextVar("tropical.autograd.recording", default=True)
innermost_pass: ContextVar[Any] = ContextVar("tropical.autograd.pass", default=None)


class Node:
    """One computed value in the graph, or a leaf, which has no inputs.

    Attributes
    ----------
    inputs : tuple of Node or None
        The inputs, one for each rule; None for a constant.
    rules : tuple of callables
        ``rule(g, *arguments)`` is the gradient of the input; g is the gradient of this value.
    saved : tuple of tuples, or None after the release
        The arguments of each rule.
    sources : tuple of tuples
        The source of each argument: the number of an input, `OUTPUT`, or None for a constant.
    number : int
        The position in the order of computation: an input has a smaller number than its result.
    is_leaf : bool
        Whether there are no inputs.
    replays : bool
        Whether the rules call a function of the user.
    hooks : dict or None
        Functions of the complete gradient.
    tensor : weak reference to Tensor or None
        The leaf, or the tensor with `retain_grad`, that collects the gradient.
    """

    __slots__ = (
        "__weakref__",
        "changed",
        "has_foreign_rules",
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
        self.inputs: tuple[Node | None, ...] = inputs
        self.rules: tuple[Rule, ...] = rules
        self.saved: tuple[tuple[Any, ...], ...] | None = saved
        self.sources: tuple[tuple[int | None, ...], ...] = sources
        self.number: int = next_number()
        self.is_leaf: bool = not inputs
        self.replays: bool = False
        self.has_foreign_rules: bool = False  # rules that are defined outside of this package
        # When the package last changed the data of the leaf, as a number.
        self.changed: int = 0
        self.hooks: dict[int, Hook] | None = None
        self.tensor: weakref.ref[Any] | None = None

    def release(self) -> None:
        """Drop the references that gradients need."""
        self.saved = None
        self.inputs = ()
        self.rules = ()


class Changes:
    """The number of the last change of any leaf: older graphs may need the old data."""

    last = 0


def note_change(node: Node) -> None:
    """Note that the data of a leaf changed in place.

    The number of the change lies between those of the values computed before and after it.
    """
    node.changed = Changes.last = next_number()


def leaf(tensor: Any) -> Node:
    """Return the node of a leaf."""
    node = Node((), (), (), ())
    node.tensor = weakref.ref(tensor)
    return node


class no_grad(Block[bool]):
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

    _open: ClassVar[Blocks] = ContextVar("tropical.autograd.open")
    recording = False

    def _get(self) -> bool:
        return recording.get()

    def _set(self, setting: bool) -> None:
        recording.set(setting)

    def _within(self, outside: bool) -> bool:
        return self.recording


class enable_grad(no_grad):
    """Record again, inside `no_grad`."""

    recording = True


def is_grad_enabled() -> bool:
    """Return whether operations are recorded in this context."""
    return recording.get()


class Handle:
    """A registered hook."""

    def __init__(self, hooks: dict[int, Any], hook: object) -> None:
        if not callable(hook):
            raise TypeError(f"hook: expected a function, got {type(hook).__name__}")
        self._hooks = hooks
        self._number = next_number()
        hooks[self._number] = hook

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        self._hooks.pop(self._number, None)


class GraphReleasedError(RuntimeError):
    """A second backward pass needs a graph whose buffers were released."""
