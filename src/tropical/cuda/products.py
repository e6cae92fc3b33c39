"""Products of matrices on a GPU."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from itertools import product as every
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropical import semirings
from tropical.arrays import check_apart, check_product

from . import kernels
from .libraries import Library, in_library_context, library_of, refuse
from .own import OwnSemiring

if TYPE_CHECKING:
    from .kernels import Kernel, Ring, Shape

_MOST_BLOCKS = 2**31 - 1
_MOST_STEPS = 2**31 - 1


class Matrices(NamedTuple):
    """A batch of matrices: their address, and strides of the batch's axes, of rows, of columns."""

    address: int
    batch: tuple[int, ...]
    row: int
    column: int


@in_library_context
def gemm(
    a: Any,
    b: Any,
    *,
    semiring: str | Ring = "maxplus",
    out: Any = None,
    accumulate: bool = False,
    return_argmax: bool = False,
    workspace: None = None,
    threads: int | None = None,
    kernel: None = None,
    epilogue: None = None,
    precision: None = None,
) -> Any:
    """Multiply matrices on a GPU, as `tropical.gemm`, which calls this function for such arrays.

    Parameters
    ----------
    a : array, (..., m, k) or (k,)
        Left operand, of PyTorch, CuPy or JAX, in the memory of a GPU, with any strides.
    b : array, (..., k, n) or (k,)
        Right operand, of the same library, on the same GPU.
    semiring : str, Semiring or OwnSemiring, default "maxplus"
        The two operations, also those that `semiring` returns.
    out : array or tuple of two, optional
        The array for C, of the result's shape and dtype; a tuple of two with `return_argmax`. Not
        for JAX, whose arrays are immutable.
    accumulate : bool, default False
        Compute ``out = out (+) C``.
    return_argmax : bool, default False
        Return the index as well.
    threads : int, optional
        Of the CPU; ignored.
    workspace, kernel, epilogue, precision : None
        Products on a GPU have none of these.

    Returns
    -------
    C : array, (..., m, n)
        The product, in the library of `a`, on its GPU.
    index : array of int64, (..., m, n)
        Only with `return_argmax`; as of `tropical.gemm`.

    Raises
    ------
    NotInstalledError
        If the extra "cuda" is not installed.
    TypeError, ValueError
        As of `tropical.gemm`; also if an operand is not on the GPU of the others.
    BufferError
        If an operand is a tensor of PyTorch that requires gradients.
    NotImplementedError
        If an argument is given that products on a GPU do not have.
    RuntimeError
        If there is no driver, or the GPU's compute capability is less than 8.0.

    Notes
    -----
    The elements have the bits of `tropical.gemm`, but where sums round: floats over plustimes and
    logplus are added up in another order.

    A kernel is compiled when it is first used, which takes seconds, and kept on disk. The kernel
    runs in the current stream of PyTorch or CuPy; the call does not wait for the result. For JAX
    it waits.
    """
    refuse(None, workspace=workspace, kernel=kernel, epilogue=epilogue, precision=precision)
    ring = semiring if isinstance(semiring, OwnSemiring) else semirings.get(semiring)
    library = library_of(a=a, b=b)
    _check_modes(ring, out, accumulate, return_argmax)
    dtype = _common_dtype(library, a, b, ring)
    shapes = tuple(a.shape), tuple(b.shape)
    check_product(*shapes)
    x, y = (promoted(library, operand, dtype, ring) for operand in (a, b))
    x = x.reshape(1, *x.shape) if x.ndim == 1 else x
    y = y.reshape(*y.shape, 1) if y.ndim == 1 else y
    try:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise ValueError(
            f"a, b: expected batches that broadcast, got {shapes[0]} and {shapes[1]}"
        ) from None
    rows = () if len(shapes[0]) == 1 else (int(x.shape[-2]),)
    columns = () if len(shapes[1]) == 1 else (int(y.shape[-1]),)
    shape = (*batch, *rows, *columns)
    given = out if isinstance(out, tuple) else (out, None)
    if len(given) != 2 or (isinstance(out, tuple) and not return_argmax):
        raise ValueError(f"out: expected an array or a tuple (C, index), got {type(out).__name__}")
    c = result_like(library, a, given[0], shape, dtype, "out")
    index = result_like(library, a, given[1], shape, "int64", "out[1]") if return_argmax else None
    if out is not None:
        if index is not None and _overlap(library, c, index):
            raise ValueError("out: expected arrays for C and index that share no memory")
        x, y = (
            library.copied(z) if any(_overlap(library, z, r) for r in (c, index)) else z
            for z in (x, y)
        )
    multiply(
        library,
        ring,
        dtype,
        (x, y),
        _as_matrices(library, c, batch, rows, columns),
        None if index is None else _as_matrices(library, index, batch, rows, columns),
        batch,
        accumulate,
    )
    c = library.finish(c)
    return c if index is None else (c, library.finish(index))


def multiply(
    library: Library,
    ring: Ring,
    dtype: str,
    operands: tuple[Any, Any],
    c: Matrices,
    index: Matrices | None,
    batch: Sequence[int],
    accumulate: bool = False,
) -> None:
    """Compute a batch of products of operands (..., m, k) and (..., k, n) into c and index."""
    runtime = library.runtime(operands[0])
    arrays = [*(_operand(library, x, batch) for x in operands), c]
    if index is not None:
        arrays.append(index)
    (m, k), n = operands[0].shape[-2:], operands[1].shape[-1]
    addresses = [x.address for x in arrays]
    for launch in _plan(
        ring,
        dtype,
        runtime.architecture,
        runtime.multiprocessors,
        (int(m), int(n), int(k)),
        tuple(batch),
        tuple(x._replace(address=x.address % 16) for x in arrays),
        bool(accumulate),
    ):
        there = [first + offset for first, offset in zip(addresses, launch.offsets, strict=True)]
        absent = [0] * (4 - len(there))
        runtime.launch(launch.kernel, launch.blocks, [*there, *absent, *launch.integers])


class _Launch(NamedTuple):
    """A kernel for a part of a batch: what to add to the addresses, and the other integers."""

    kernel: Kernel
    blocks: int
    offsets: tuple[int, ...]
    integers: tuple[int, ...]


@functools.lru_cache(256)
def _plan(
    ring: Ring,
    dtype: str,
    architecture: int,
    multiprocessors: int,
    sizes: tuple[int, int, int],
    batch: tuple[int, ...],
    arrays: tuple[Matrices, ...],
    accumulate: bool,
) -> tuple[_Launch, ...]:
    """Return what computes a batch of products; addresses are modulo 16."""
    m, n, k = sizes
    items = math.prod(batch)
    if not m * n * items:
        return ()
    if k > _MOST_STEPS:
        raise ValueError(f"a, b: expected k of at most {_MOST_STEPS} on a GPU, got {k}")
    argmax, size = len(arrays) == 4, item_size(dtype)
    shapes = kernels.shapes_of(ring, dtype, argmax, architecture)
    enough = (s for s in shapes if _blocks(s, m, n) * items >= multiprocessors)
    shape = next(enough, shapes[-1])
    a, b = arrays[:2]
    reads = kernels.SCATTERED
    if shape.rows > 2:
        reads = (
            reads_of(size, (a.address, *a.batch), (a.row, m), (a.column, k)),
            reads_of(size, (b.address, *b.batch), (b.column, n), (b.row, k)),
        )
    kernel = kernels.product(ring, dtype, "index" if argmax else "none", shape, reads)
    launches = []
    for part in _parts(batch, arrays):
        blocks = _blocks(shape, m, n) * part.items
        if blocks > _MOST_BLOCKS:
            raise ValueError(f"a, b: expected a smaller product on a GPU, got {blocks} tiles")
        offsets = tuple(
            offset * each for offset, each in zip(part.offsets, (size, size, size, 8), strict=False)
        )
        launches.append(_Launch(kernel, blocks, offsets, part.integers(arrays, sizes, accumulate)))
    return tuple(launches)


class _Part(NamedTuple):
    """Some items of a batch: offsets of the first of each array, and the last two axes."""

    offsets: tuple[int, ...]
    lengths: tuple[int, int]
    strides: tuple[tuple[int, int], ...]

    @property
    def items(self) -> int:
        return math.prod(self.lengths)

    def integers(
        self, arrays: Sequence[Matrices], sizes: tuple[int, int, int], accumulate: bool
    ) -> tuple[int, ...]:
        """Return the integers of ``Product`` behind the addresses."""
        within = [stride for x in arrays for stride in (x.row, x.column)]
        between = [stride for pair in self.strides for stride in pair]
        return (
            *sizes,
            *within,
            *([0] * (8 - len(within))),
            self.lengths[1],
            *between,
            *([0] * (8 - len(between))),
            int(accumulate),
            *(-1, -1),  # no tile is skipped
            *(0, 0),  # no paths
        )


def _parts(batch: Sequence[int], arrays: Sequence[Matrices]) -> Iterator[_Part]:
    """Yield parts of a batch that are at most two axes: the last ones, after merging."""
    axes = [(1, (0,) * len(arrays)), (1, (0,) * len(arrays))]
    for i, length in enumerate(batch):
        strides = tuple(x.batch[i] for x in arrays)
        last, before = axes[-1]
        if length == 1:
            continue
        if all(one == length * other for one, other in zip(before, strides, strict=True)):
            axes[-1] = last * length, strides
        else:
            axes.append((length, strides))
    (outer, outer_strides), (inner, inner_strides) = axes[-2:]
    pairs = tuple(zip(outer_strides, inner_strides, strict=True))
    rest = axes[:-2]
    for place in every(*(range(length) for length, _ in rest)):
        offsets = tuple(
            sum(p * strides[which] for p, (_, strides) in zip(place, rest, strict=True))
            for which in range(len(arrays))
        )
        yield _Part(offsets, (outer, inner), pairs)


def _blocks(shape: Shape, m: int, n: int) -> int:
    return -(-m // shape.height) * -(-n // shape.width)


def _operand(library: Library, x: Any, batch: Sequence[int]) -> Matrices:
    """Return an operand, whose strides are 0 along the axes of the batch in which it repeats."""
    view = library.view(x)
    strides = (0,) * (len(batch) + 2 - len(view.shape)) + tuple(
        0 if length == 1 else stride
        for length, stride in zip(view.shape[:-2], view.strides, strict=False)
    )
    return Matrices(view.address, strides, *view.strides[-2:])


def reads_of(
    size: int, places: Sequence[int], lines: tuple[int, int], steps: tuple[int, int]
) -> str:
    """Return which of ``Reads`` an operand of elements of `size` bytes allows.

    `places` are its address and the strides of its batch; `lines` and `steps` are stride and length
    across k and along it.
    """
    address, *batch = places
    for name, (stride, length), (other, _) in (("steps", steps, lines), ("lines", lines, steps)):
        bytes_ = (address, *(size * stride for stride in (*batch, other)), size * length)
        if stride == 1 and all(number % 16 == 0 for number in bytes_):
            return name
    return "elements"


def _as_matrices(
    library: Library,
    x: Any,
    batch: Sequence[int],
    rows: Sequence[int],
    columns: Sequence[int],
) -> Matrices:
    """Return a result, whose axes of rows and columns may be left out."""
    view = library.view(x)
    strides = list(view.strides)
    column = strides.pop() if columns else 0
    row = strides.pop() if rows else 0
    return Matrices(view.address, tuple(strides[: len(batch)]), row, column)


def _check_modes(ring: Ring, out: Any, accumulate: bool, argmax: bool) -> None:
    if argmax and not ring.selective:
        raise ValueError(
            f"return_argmax: expected a semiring that selects, got {ring.name}, which has no argmax"
        )
    if argmax and accumulate:
        raise ValueError(
            "return_argmax: expected no accumulate=True, as there may be no p that attains `out`"
        )
    if accumulate and out is None:
        raise ValueError("accumulate: expected out with accumulate=True, got None")


def _common_dtype(library: Library, a: Any, b: Any, ring: Ring) -> str:
    names = library.dtype(a), library.dtype(b)
    dtype = names[0]
    if names[0] != names[1]:
        if "bfloat16" in names:
            raise TypeError(f"a, b: expected one dtype, got {names[0]} and {names[1]}")
        dtype = np.result_type(*names).name
    allowed = _OWN if isinstance(ring, OwnSemiring) else (*ring.dtypes, *ring.stored)
    if dtype not in allowed:
        raise TypeError(
            f"a, b: expected a dtype of {ring.name} ({', '.join(allowed)}), got {dtype}"
        )
    return dtype


_OWN = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64")


def promoted(library: Library, x: Any, dtype: str, ring: Ring) -> Any:
    """Return an operand in a wider dtype, in which zero and one of the semiring stay these."""
    own = library.dtype(x)
    if own == dtype:
        return x
    wide = library.converted(x, dtype)
    if isinstance(ring, OwnSemiring) or own not in (*ring.dtypes, *ring.stored):
        return wide
    for constant in (ring.zero, ring.one):
        before, after = constant(own), constant(dtype)
        if before != after:
            there = library.full(x, (), dtype, after)
            wide = library.where(x == before, there, wide)
    return wide


def item_size(dtype: str) -> int:
    """Return the bytes of an element; NumPy alone knows no bfloat16."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def result_like(
    library: Library, like: Any, given: Any, shape: Sequence[int], dtype: str, name: str
) -> Any:
    """Return the array for a result: the given one, if it fits, else a new one."""
    if given is None:
        return library.empty(like, shape, dtype)
    library_of(a=like, **{name: given})
    if not library.mutable:
        raise ValueError(f"{name}: expected None, as arrays of this library are immutable")
    if tuple(given.shape) != tuple(shape):
        raise ValueError(f"{name}: expected shape {tuple(shape)}, got {tuple(given.shape)}")
    if library.dtype(given) != dtype:
        raise TypeError(f"{name}: expected dtype {dtype}, got {library.dtype(given)}")
    check_apart(name, *library.view(given)[1:], 1)
    return given


def _overlap(library: Library, x: Any, y: Any) -> bool:
    """Return whether two arrays share memory; None shares nothing."""
    if x is None or y is None:
        return False
    x, y = _shadow(library, x), _shadow(library, y)
    return np.shares_memory(x, y)


def _shadow(library: Library, x: Any) -> NDArray[Any]:
    """Return an array of NumPy at the addresses of another one, where nobody may read."""
    view, size = library.view(x), item_size(library.dtype(x))
    interface = {
        "version": 3,
        "data": (view.address, False),
        "typestr": f"|S{size}",  # NumPy 2.1.0 ends the process at |V
        "shape": view.shape,
        "strides": tuple(size * s for s in view.strides),
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface))
