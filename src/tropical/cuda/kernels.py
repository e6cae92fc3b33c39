"""The kernels: which C++ function a call needs, and the text that NVRTC compiles for it.

The functions stand in ``device/``. Each kernel is one ``extern "C"`` function, ``kernel``, of
integers of 64 bits: addresses, sizes and strides.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    from tropical.semirings import Semiring

    from .own import OwnSemiring

    Ring: TypeAlias = Semiring | OwnSemiring

DEVICE = Path(__file__).parent / "device"
# Folders of headers: ours, those that we share with the CPU, and what NVRTC lacks of C++'s.
FOLDERS = tuple(str(folder) for folder in (DEVICE, DEVICE / "core", DEVICE / "std"))
THREADS = 256  # of a block, as gemm.cuh has it
SIDE = 16
# How a kernel reads A and B, by names of ``Reads``: any strides, or rows of 16 bytes and more.
SCATTERED = ("elements", "elements")
ROW_MAJOR = ("steps", "lines")
MEASURED = 90  # the compute capability on which two blocks of products share a multiprocessor
DPX = 90  # the compute capability from which on processors add and compare at once


class Kernel(NamedTuple):
    """A function to compile.

    Attributes
    ----------
    header : str
        The file in ``device/`` that has it.
    call : str
        The function with its template arguments.
    arguments : int
        How many integers it takes.
    before : str
        Text between the header and the call, such as a semiring of the user's.
    together : int
        How many blocks a multiprocessor holds at once, so that registers suffice for them.
    """

    header: str
    call: str
    arguments: int
    before: str = ""
    together: int = 1

    @property
    def source(self) -> str:
        """The text to compile."""
        names = [f"x{i}" for i in range(self.arguments)]
        parameters = ", ".join(f"long long {name}" for name in names)
        return (
            f'#include "intrinsics.cuh"\n#include "{self.header}"\n{self.before}'
            f'extern "C" __global__ void __launch_bounds__({THREADS}, {self.together})\n'
            f"kernel({parameters}) {{\n"
            f"    using namespace tropical;\n    {self.call}({{{', '.join(names)}}});\n}}\n"
        )


class Shape(NamedTuple):
    """What a thread computes of a product.

    Attributes
    ----------
    rows : int
        Rows of C.
    columns : int
        Registers of columns of C.
    depth : int
        Steps of k in a tile.
    lanes : int
        Columns in a register.
    together : int
        Blocks of such threads that a multiprocessor holds at once, if they read `ROW_MAJOR`.
    """

    rows: int
    columns: int
    depth: int
    lanes: int
    together: int = 1

    @property
    def height(self) -> int:
        """The rows of C that a block computes."""
        return SIDE * self.rows

    @property
    def width(self) -> int:
        """The columns of C that a block computes."""
        return SIDE * self.columns * self.lanes


def lanes_of(ring: Ring, dtype: str, argmax: bool, architecture: int) -> int:
    """Return how many columns share a register."""
    if dtype == "bool":
        return 4
    pairs = dtype in ("int8", "uint8", "int16") and ring.multiply in ("+", "max", "min")
    return 2 if pairs and ring.selective and not argmax and architecture >= DPX else 1


def shapes_of(ring: Ring, dtype: str, argmax: bool, architecture: int) -> tuple[Shape, ...]:
    """Return the parts that a thread can have, the largest first: as large as registers allow."""
    lanes = lanes_of(ring, dtype, argmax, architecture)
    together = _together(ring, dtype, architecture)
    smaller = Shape(4, 4, 8, lanes), Shape(2, 2, 8, lanes)
    if _is_long(dtype):
        if ring.selective and not argmax:
            return Shape(4, 4, 16, lanes, together), smaller[-1]
        return smaller if argmax or ring.add != "+" else (Shape(8, 4, 8, lanes), *smaller)
    if ring.add == "logaddexp":
        return smaller
    if argmax:
        return Shape(8, 4, 8, lanes, together), *smaller
    if dtype == "bool":
        return Shape(8, 4, 16, lanes, 2 if architecture == MEASURED else 1), *smaller
    if dtype == "int16" and lanes == 2 and architecture == MEASURED:
        return Shape(8, 4, 16, lanes, 2), *smaller
    if together == 1 or lanes == 2:
        return Shape(8, 8, 16, lanes), *smaller
    return Shape(8, 8, 8, lanes, together), *smaller


def _together(ring: Ring, dtype: str, architecture: int) -> int:
    """Return for how many blocks the registers suffice, as the machine code shows."""
    few = _is_long(dtype) or "+" in (ring.add, ring.multiply)
    return 2 if few and architecture == MEASURED else 1


def square_rows(dtype: str, paths: bool) -> int:
    """Return the rows of a thread where tiles are square, as a closure needs them."""
    return 4 if paths or _is_long(dtype) else 8


def square_shape(ring: Ring, dtype: str, paths: bool, architecture: int) -> Shape:
    """Return the part of a thread of which the tiles are square."""
    rows, together = square_rows(dtype, paths), _together(ring, dtype, architecture)
    if paths:
        return Shape(rows, rows, 8, 1)
    return Shape(rows, rows, 16 if _is_long(dtype) or together == 1 else 8, 1, together)


def _is_long(dtype: str) -> bool:
    return dtype in ("float64", "int64")


def _item(name: str, items: str) -> str:
    """Return the C++ type of this name in a list of semirings or of dtypes."""
    return f'Item<place_of("{name}", {items}{{}}), {items}>'


@cache
def product(
    ring: Ring, dtype: str, winner: str, shape: Shape, reads: tuple[str, str] = SCATTERED
) -> Kernel:
    """Return the kernel of products; its integers are those of ``Product``.

    ``winner`` is a name of ``Winner``, and ``reads`` are names of ``Reads``, for A and for B.
    """
    rows, columns, depth, lanes, together = shape
    if reads != ROW_MAJOR:  # others need more registers
        together = 1
    own = getattr(ring, "struct", "")
    call = (
        f"multiply<{'Own' if own else _item(ring.name, 'Semirings')}, {_item(dtype, 'Rows')}, "
        f"Winner::{winner}, {lanes}, Shape<{rows}, {columns}, {depth}>, "
        f"Reads::{reads[0]}, Reads::{reads[1]}>"
    )
    return Kernel("gemm.cuh", call, 29, own, together)


@cache
def ceiling(ring: Semiring, dtype: str, architecture: int) -> tuple[Kernel, int]:
    """Return the kernel of steps in registers, and how many products a thread forms in a round.

    Its integers are those of ``Steps``. Not for logplus.
    """
    lanes = lanes_of(ring, dtype, False, architecture)
    rows, columns = 8, 4 if _is_long(dtype) else 8
    types = f"{_item(ring.name, 'Semirings')}, {_item(dtype, 'Rows')}"
    call = f"ceiling<{types}, {lanes}, {rows}, {columns}>"
    return Kernel("ceiling.cuh", call, 2), rows * rows * columns * lanes


@cache
def star(ring: Semiring, dtype: str, paths: bool) -> Kernel:
    """Return the kernel of the star of one square tile; its integers are those of ``Corner``."""
    types = f"{_item(ring.name, 'Semirings')}, {_item(dtype, 'Rows')}"
    rows = square_rows(dtype, paths)
    return Kernel("star.cuh", f"star<{types}, {rows}, {str(paths).lower()}>", 8)


@cache
def rows(ring: Semiring, dtype: str) -> Kernel:
    """Return the kernel of the rows beside that tile, with predecessors."""
    types = f"{_item(ring.name, 'Semirings')}, {_item(dtype, 'Rows')}"
    return Kernel("star.cuh", f"rows<{types}, {square_rows(dtype, True)}>", 8)


@cache
def viterbi(ring: Semiring, dtype: str) -> Kernel:
    """Return the kernel of best paths; its integers are those of ``Chain``."""
    types = f"{_item(ring.name, 'Semirings')}, {_item(dtype, 'Rows')}"
    return Kernel("viterbi.cuh", f"viterbi<{types}>", 12)
