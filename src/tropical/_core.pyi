# Types of the C++ extension; its docstrings live in cpp/bindings.

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Unpack

from .epilogue import Epilogue

# Both operands of gemm have one of these, or the result is an NDArray[Any]: a TypeVar with a bound
# would take float32 and float64 for an abstract floating.
_Scalar = TypeVar(
    "_Scalar",
    np.float16,
    np.float32,
    np.float64,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.bool_,
)
_Out: TypeAlias = NDArray[Any] | tuple[NDArray[Any] | None, NDArray[np.intp] | None]

# What names a semiring, as tropical.semirings.Semiring does.
class HasName(Protocol):
    @property
    def name(self) -> str: ...

class Config(TypedDict):
    compiler: str
    isa_built: list[str]
    isa_supported: list[str]
    isa: str
    l1d: int
    l2: int
    l3: int
    cores: int
    threads: int
    cpu: str
    vector_bytes: int
    byte_products: list[str]
    bf16_products: list[str]

class GemmOptions(TypedDict, total=False):
    semiring: str | HasName
    accumulate: bool
    workspace: GemmWorkspace | None
    threads: SupportsIndex | None
    kernel: str | None
    epilogue: Epilogue | None
    precision: str | None

# As for numpy.matmul, two 1-D operands give a scalar; typed as an array, which has its methods.
@overload
def gemm(
    a: NDArray[_Scalar],
    b: NDArray[_Scalar],
    *,
    out: NDArray[_Scalar] | None = None,
    return_argmax: Literal[False] = False,
    **options: Unpack[GemmOptions],
) -> NDArray[_Scalar]: ...
@overload
def gemm(
    a: NDArray[_Scalar],
    b: NDArray[_Scalar],
    *,
    out: NDArray[_Scalar] | tuple[NDArray[_Scalar] | None, NDArray[np.intp] | None] | None = None,
    return_argmax: Literal[True],
    **options: Unpack[GemmOptions],
) -> tuple[NDArray[_Scalar], NDArray[np.intp]]: ...
@overload
def gemm(
    a: ArrayLike,
    b: ArrayLike,
    *,
    out: NDArray[Any] | None = None,
    return_argmax: Literal[False] = False,
    **options: Unpack[GemmOptions],
) -> NDArray[Any]: ...
@overload
def gemm(
    a: ArrayLike,
    b: ArrayLike,
    *,
    out: _Out | None = None,
    return_argmax: Literal[True],
    **options: Unpack[GemmOptions],
) -> tuple[NDArray[Any], NDArray[np.intp]]: ...
@overload
def gemm(
    a: ArrayLike,
    b: ArrayLike,
    *,
    semiring: str | HasName = "maxplus",
    out: _Out | None = None,
    accumulate: bool = False,
    workspace: GemmWorkspace | None = None,
    threads: SupportsIndex | None = None,
    kernel: str | None = None,
    return_argmax: bool,
    epilogue: Epilogue | None = None,
    precision: str | None = None,
) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.intp]]: ...
def linear(
    x: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    *,
    relu: bool = False,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex | None = None,
    kernel: str | None = None,
    workspace: GemmWorkspace | None = None,
) -> NDArray[Any]: ...

STAR_SIZE: int
MOST_STAR_SIZE: int

def star(
    a: NDArray[Any],
    semiring: str | HasName,
    *,
    threads: SupportsIndex | None = None,
) -> bool: ...

class Elimination:
    def __init__(
        self,
        n: int,
        source: NDArray[np.integer[Any]],
        target: NDArray[np.integer[Any]],
        order: NDArray[np.integer[Any]] | None = None,
        most_entries: int = ...,
        report: Callable[[float], object] | None = None,
        most_steps: int = ...,
        operation: float = ...,
    ) -> None: ...
    @property
    def order(self) -> NDArray[np.int32]: ...
    @property
    def parent(self) -> NDArray[np.int32]: ...
    @property
    def start(self) -> NDArray[np.intp]: ...
    @property
    def entries(self) -> int: ...
    @property
    def edge_entries(self) -> NDArray[np.intp]: ...
    @property
    def height(self) -> int: ...
    def edges_between(
        self,
        sources: NDArray[np.integer[Any]],
        targets: NDArray[np.integer[Any]],
        directed: bool,
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]: ...
    def update(
        self,
        up: NDArray[Any],
        down: NDArray[Any],
        semiring: str | HasName,
        weights: NDArray[Any],
        changed: NDArray[np.integer[Any]],
        before: NDArray[Any],
        refuses: bool = True,
    ) -> int | None: ...
    def path(
        self,
        up: NDArray[Any],
        down: NDArray[Any],
        semiring: str | HasName,
        weights: NDArray[Any],
        source: int,
        target: int,
    ) -> NDArray[np.int32]: ...
    def eliminate(
        self,
        weights: NDArray[Any],
        up: NDArray[Any],
        down: NDArray[Any],
        semiring: str | HasName,
        refuses: bool = True,
    ) -> int | None: ...
    def rows(
        self,
        up: NDArray[Any],
        down: NDArray[Any],
        semiring: str | HasName,
        sources: NDArray[np.integer[Any]],
        targets: NDArray[np.integer[Any]] | None,
        out: NDArray[Any],
    ) -> None: ...
    def trees(
        self,
        up: NDArray[Any],
        down: NDArray[Any],
        semiring: str | HasName,
        sources: NDArray[np.integer[Any]],
        lengths: NDArray[Any],
        weights: NDArray[Any],
        predecessors: NDArray[np.int32],
    ) -> None: ...
    def fold(
        self,
        up: NDArray[Any],
        down: NDArray[Any],
        sources: NDArray[np.integer[Any]],
        kind: Literal["lengths", "reciprocals", "within"],
        weight: NDArray[np.float64] | None = None,
        radii: Sequence[float] = (),
    ) -> NDArray[np.float64]: ...

class BitGraph:
    def __init__(self, a: NDArray[np.bool_]) -> None: ...
    @property
    def strips(self) -> int: ...
    def pass_(self, strip: int) -> None: ...
    def store(self, a: NDArray[np.bool_]) -> None: ...

class Components:
    def __init__(self, a: NDArray[np.bool_]) -> None: ...
    @property
    def left(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def most_rows(self) -> int: ...
    def advance(self, rows: int) -> None: ...
    def store(self, a: NDArray[np.bool_]) -> None: ...

class Potentials:
    def __init__(
        self,
        start: NDArray[np.intp],
        target: NDArray[np.intp],
        weight: NDArray[np.float64],
        sources: NDArray[np.intp],
    ) -> None: ...
    @property
    def done(self) -> bool: ...
    @property
    def cycle(self) -> list[int]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    def advance(self, arcs: int) -> None: ...

class Search:
    def __init__(
        self, start: NDArray[np.integer[Any]], head: NDArray[np.int32], weight: NDArray[Any]
    ) -> None: ...
    def best_first(
        self,
        semiring: str | HasName,
        sources: NDArray[np.int32],
        values: NDArray[np.float64] | None,
        together: bool,
        targets: NDArray[np.int32] | None,
        limit: float,
        out: NDArray[Any],
        before: NDArray[np.int32] | None,
        first: NDArray[np.int32] | None,
        count: NDArray[np.float64] | None,
    ) -> None: ...
    def ball(self, center: int, size: int, levels: int) -> tuple[int, int]: ...
    def components(self) -> NDArray[np.int32]: ...
    def sweep(
        self,
        semiring: str | HasName,
        sources: NDArray[np.int32],
        together: bool,
        order: NDArray[np.int32],
        values: NDArray[np.float64],
        before: NDArray[np.int32] | None,
    ) -> None: ...
    def rounds(
        self,
        semiring: str | HasName,
        sources: NDArray[np.int32],
        together: bool,
        k: int,
        at_most: bool,
        values: NDArray[np.float64],
        before: NDArray[np.int32],
    ) -> None: ...
    def reach(
        self,
        sources: NDArray[np.int32],
        together: bool,
        numbers: NDArray[np.int32],
        targets: NDArray[np.int32] | None,
        out: NDArray[np.bool_],
    ) -> None: ...

def betweenness(
    start: NDArray[np.intp],
    target: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    sources: NDArray[np.int32],
    endpoints: bool,
    vertices: NDArray[np.float64],
    arcs: NDArray[np.float64] | None,
) -> None: ...

class ChainEdges:
    def __init__(self, states: int, source: NDArray[np.intp], target: NDArray[np.intp]) -> None: ...

class Chains:
    def __init__(
        self,
        initial: NDArray[Any],
        transition: NDArray[Any],
        emission: NDArray[Any],
        first: NDArray[np.intp],
        lengths: NDArray[np.intp],
        symbols: NDArray[np.intp] | None,
        edges: ChainEdges | None = None,
    ) -> None: ...

def best_paths(
    semiring: str,
    chains: Chains,
    place: NDArray[np.intp],
    states: NDArray[np.intp],
    scores: NDArray[Any],
) -> None: ...
def sum_paths(
    chains: Chains,
    place: NDArray[np.intp],
    log_alpha: NDArray[Any] | None,
    log_beta: NDArray[Any] | None,
    states: NDArray[Any] | None,
    transitions: NDArray[Any] | None,
    log_likelihood: NDArray[np.float64] | None,
    given: NDArray[np.intp] | None = None,
) -> None: ...
def sample_paths(
    chains: Chains,
    place: NDArray[np.intp],
    states: NDArray[np.intp],
    key: NDArray[np.uint64],
) -> None: ...

class LooplessPaths:
    def __init__(
        self, graph: Search, to_target: NDArray[np.float64], source: int, target: int
    ) -> None: ...
    def next(self) -> tuple[float, list[int]] | None: ...

def eliminate(
    a: NDArray[Any], semiring: str | HasName, before: NDArray[np.int32], first: int
) -> None: ...
def relax(
    a: NDArray[Any],
    b: NDArray[Any],
    semiring: str | HasName,
    out: NDArray[Any],
    before: NDArray[np.int32],
    lookup: NDArray[np.int32],
) -> None: ...
def cross_entropy(x: NDArray[Any], targets: NDArray[Any]) -> float | None: ...
def cross_entropy_gradient(
    x: NDArray[Any], targets: NDArray[Any], factor: float, out: NDArray[Any]
) -> bool: ...
def gather_product(
    a: NDArray[Any],
    source: NDArray[Any],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    out: NDArray[Any],
) -> bool: ...
def layer_norm(
    x: NDArray[Any],
    weight: NDArray[Any],
    bias: NDArray[Any],
    eps: float,
    out: NDArray[Any],
    statistics: NDArray[Any],
) -> None: ...
def layer_norm_gradient(
    g: NDArray[Any],
    x: NDArray[Any],
    weight: NDArray[Any],
    statistics: NDArray[Any],
    out: NDArray[Any],
) -> None: ...
def layer_norm_weight_gradient(
    g: NDArray[Any], x: NDArray[Any], statistics: NDArray[Any], out: NDArray[Any]
) -> None: ...
def max_pool(
    x: NDArray[Any],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    value: NDArray[Any],
    index: NDArray[np.intp],
) -> None: ...
def pad_images(x: NDArray[Any], border: tuple[int, int], out: NDArray[Any]) -> None: ...
def optimizer_step(
    algorithm: str,
    p: NDArray[Any],
    g: NDArray[Any],
    states: tuple[NDArray[Any], ...] | list[NDArray[Any]],
    decay: float,
    coefficients: Sequence[Any],
) -> int: ...
def make_ufuncs() -> dict[str, np.ufunc]: ...
def scatter(out: NDArray[Any], index: NDArray[np.intp], g: NDArray[Any], axis: int) -> None: ...

class GemmWorkspace:
    def __init__(self) -> None: ...
    def reserve(
        self,
        m: SupportsIndex,
        n: SupportsIndex,
        k: SupportsIndex,
        dtype: str | type[np.generic] | np.dtype[Any] = "float32",
        semiring: str | HasName = "maxplus",
        threads: SupportsIndex | None = None,
    ) -> None: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def allocations(self) -> int: ...
    def clear(self) -> None: ...

def explain(
    m: SupportsIndex,
    n: SupportsIndex,
    k: SupportsIndex,
    *,
    dtype: str = "float32",
    semiring: str | HasName = "maxplus",
    threads: SupportsIndex | None = None,
    kernel: str | None = None,
    return_argmax: bool = False,
    batch: SupportsIndex = 1,
    epilogue: Epilogue | None = None,
    precision: str | None = None,
) -> dict[str, Any]: ...
def config() -> Config: ...
def get_options() -> tuple[str | None, str | None, int | None, bool, str]: ...
def set_options(
    kernel: str | None,
    isa: str | None,
    threads: SupportsIndex | None,
    fast_ring: bool,
    precision: str,
) -> None: ...
def settings() -> dict[str, int]: ...
def suggested_settings() -> dict[str, int]: ...
def set_settings(settings: dict[str, int]) -> None: ...
def get_num_threads() -> int: ...
def set_num_threads(n: SupportsIndex) -> None: ...
def semirings() -> list[dict[str, Any]]: ...
def promote(x: NDArray[Any], dtype: DTypeLike, semiring: str | HasName) -> NDArray[Any]: ...
def constants(semiring: str, dtype: DTypeLike) -> tuple[float, float]: ...
def ceiling(semiring: str, dtype: str, repeats: int) -> int: ...
def micro_kernel(semiring: str, dtype: str, k: int, repeats: int) -> int: ...
def packing(
    semiring: str, dtype: str, operand: Literal["a", "b"], length: int, depth: int, repeats: int
) -> int: ...

class PackedBytes:
    def __init__(self, b: NDArray[Any], instructions: str | None = None) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def instructions(self) -> str: ...

def multiply_bytes(
    a: NDArray[Any],
    b: NDArray[Any] | PackedBytes,
    out: NDArray[Any],
    a_zero: NDArray[np.int32] | None = None,
    b_zero: NDArray[np.int32] | None = None,
    a_scale: NDArray[np.float32] | None = None,
    b_scale: NDArray[np.float32] | None = None,
    bias: NDArray[np.float32] | None = None,
    relu: bool = False,
    inverse_scale: float = 1.0,
    zero_point: int = 0,
    threads: SupportsIndex | None = None,
    workspace: GemmWorkspace | None = None,
    instructions: str | None = None,
) -> None: ...
def quantize_bytes(
    x: NDArray[np.float32], out: NDArray[Any], inverse_scale: float, zero_point: int
) -> bool: ...
def quad_ceiling(repeats: int, instructions: str | None = None) -> int: ...
def get_memory_mode() -> str | None: ...
def set_memory_mode(mode: str | None) -> str | None: ...
def memory_handler() -> object: ...
def memory_handler_of(mode: str | None) -> object: ...
def set_memory_handler(handler: object) -> None: ...
def memory_stats() -> dict[str, int]: ...
def reset_memory_stats() -> None: ...
def release_memory() -> None: ...
def step_boundary() -> None: ...
def backward_begins() -> None: ...
