"""What runs, and how to choose it: configuration, the scheduler's plans, options of a context."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, TextIO, TypeAlias

import numpy as np

from . import __version__, _core, semirings
from .context import Block, Blocks

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ._core import HasName
    from .epilogue import Epilogue

Options: TypeAlias = "tuple[str | None, str | None, SupportsIndex | None, bool, str]"


@dataclass(frozen=True)
class Plan:
    """How the scheduler would run one product; `explain` makes it, ``print`` shows it.

    Attributes
    ----------
    m, n, k : int
        The product is (m, k) by (k, n).
    dtype, semiring : str
        Names of the element type and of the semiring.
    computed : str
        Name of the element type in which products are computed: float32 where matrices are stored
        in float16 or bfloat16, else `dtype`.
    batch : int
        Number of such products in the call.
    kernel : str
        The kernel: ``"naive"``, ``"tiled"``, ``"direct"``, ``"packed"`` or ``"strassen"``.
    levels : int
        How often ``"strassen"`` halves the matrices, else 0. The fields below are then of a product
        of blocks.
    precision : str or None
        ``"bf16"``, ``"bf16x3"`` or ``"bf16x6"`` if the product is computed in pieces of bfloat16.
    isa : str
        The instruction set.
    instructions : str or None
        What multiplies pieces of bfloat16, one of ``config()["bf16_products"]``. All but ``"amx"``
        give the same bits.
    mr, nr : int
        Micro-tile height and width, in elements.
    mc, kc, nc : int
        Cache blocks of m, k and n, in elements.
    threads, tasks : int
        Threads that take part, and the pieces of work they share.
    bytes : int
        Packing memory of all threads together, in bytes.
    reason : str
        Why this kernel.
    """

    m: int
    n: int
    k: int
    dtype: str
    semiring: str
    computed: str
    batch: int
    kernel: str
    levels: int
    precision: str | None
    isa: str
    instructions: str | None
    mr: int
    nr: int
    mc: int
    kc: int
    nc: int
    threads: int
    tasks: int
    bytes: int
    reason: str

    def __str__(self) -> str:
        batch = f"{self.batch:,} x " if self.batch != 1 else ""
        stored = {"dtypes": f"stored in {self.dtype}, computed in {self.computed}"}
        halvings = f", {self.levels} {_plural(self.levels, 'halving')}" if self.levels else ""
        pieces = f", {self.precision} by {self.instructions}" if self.precision else ""
        return _aligned(
            f"{self.semiring} {self.dtype}, {batch}({self.m} x {self.k}) by ({self.k} x {self.n})",
            (stored if self.computed != self.dtype else {})
            | {
                "kernel": f"{self.kernel}{halvings}: {self.reason}",
                "isa": f"{self.isa}{pieces}",
                "micro-tile": f"{self.mr} x {self.nr} (mr x nr)",
                "blocks": f"mc {self.mc}, kc {self.kc}, nc {self.nc}",
                "threads": f"{self.threads} ({self.tasks:,} {_plural(self.tasks, 'task')})",
                "packing": _size(self.bytes),
            },
        )


def explain(
    m: SupportsIndex,
    n: SupportsIndex,
    k: SupportsIndex,
    *,
    dtype: DTypeLike = "float32",
    semiring: str | HasName = "maxplus",
    threads: SupportsIndex | None = None,
    kernel: str | None = None,
    return_argmax: bool = False,
    batch: SupportsIndex = 1,
    epilogue: Epilogue | None = None,
    precision: str | None = None,
) -> Plan:
    """Return how `tropical.gemm` would compute an (m, k) by (k, n) product, without computing it.

    Parameters
    ----------
    m, n, k : int
        Sizes of the product.
    dtype : dtype, default "float32"
        Element type, after promotion of the operands.
    semiring, threads, kernel, return_argmax, epilogue, precision
        As `tropical.gemm` takes them.
    batch : int, default 1
        Number of such products in the call.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError, TypeError
        As `tropical.gemm` raises them, and for a negative size.

    Examples
    --------
    >>> import tropical
    >>> plan = tropical.explain(512, 512, 512, semiring="minplus", kernel="packed")
    >>> plan.kernel, plan.mc % plan.mr
    ('packed', 0)
    """
    name = np.dtype(dtype).name
    fields = _core.explain(
        m,
        n,
        k,
        dtype=name,
        semiring=semiring,
        threads=threads,
        kernel=kernel,
        return_argmax=return_argmax,
        batch=batch,
        epilogue=epilogue,
        precision=precision,
    )
    known = semirings.get(semiring if isinstance(semiring, str) else semiring.name)
    return Plan(
        m=index(m),
        n=index(n),
        k=index(k),
        dtype=name,
        semiring=known.name,
        computed="float32" if name in known.stored else name,
        batch=index(batch),
        **fields,
    )


def config() -> dict[str, Any]:
    """Return what this build and this machine are, as a dictionary.

    Returns
    -------
    dict
        ``version``, ``compiler``, ``isa_built``, ``isa_supported``, ``isa`` (the one in use),
        ``vector_bytes``, ``byte_products`` (the instructions of `tropical.quantized.gemm` that it
        has, fastest last), ``bf16_products`` (the instructions for products in pieces of bfloat16:
        ``"amx"`` where it is there, else the faster ones), ``stored`` (the dtypes in which matrices
        may be stored alone, see `Semiring.stored`), ``cpu``, ``cores`` (usable by this process),
        ``threads``, the sizes ``l1d``, ``l2``, ``l3`` of the caches in bytes, ``settings`` (the
        settings of the scheduler, by name) and ``tuned`` (the names of the measured settings, see
        `tropical.tuning`; the other settings are derived from the caches).

    Examples
    --------
    >>> from tropical.config import config
    >>> here = config()
    >>> here["isa"] in here["isa_supported"]
    True
    """
    settings, suggested = _core.settings(), _core.suggested_settings()
    return {
        **_core.config(),
        "version": __version__,
        "stored": list(semirings.maxplus.stored),
        "settings": settings,
        "tuned": [name for name in settings if settings[name] != suggested[name]],
    }


def show_config(file: TextIO | None = None) -> None:
    """Print compiler, instruction sets, caches, threads, processor and the scheduler's settings.

    Parameters
    ----------
    file : text file, optional
        Where to print; standard output unless given.

    Raises
    ------
    TypeError
        If `file` is no file.
    """
    if file is not None and not hasattr(file, "write"):
        raise TypeError(f"file: expected a text file, got {type(file).__name__}")
    here = config()
    text = _aligned(
        f"tropical {here['version']}",
        {
            "compiler": here["compiler"],
            "isa": f"{here['isa']}, {8 * here['vector_bytes']}-bit vectors",
            "built": ", ".join(here["isa_built"]),
            "supported": ", ".join(here["isa_supported"]),
            "bf16": f"products by {_bf16_products(here['bf16_products'])}",
            "bytes": f"products of tropical.quantized by {here['byte_products'][-1]}",
            "stored": f"{', '.join(here['stored'])}: computed in float32, rounded once",
            "cpu": here["cpu"],
            "caches": ", ".join(
                f"{cache.upper()} {_size(here[cache])}" for cache in ("l1d", "l2", "l3")
            ),
            "cores": f"{here['cores']} usable by this process",
            "threads": str(here["threads"]),
            "settings": ", ".join(f"{name} {value}" for name, value in here["settings"].items()),
            "tuned": ", ".join(here["tuned"]) or "nothing: settings are derived from the caches",
        },
    )
    print(text, file=sys.stdout if file is None else file)


def _bf16_products(known: list[str]) -> str:
    return "amx" if "amx" in known else " or ".join(known)


class options(Block[Options]):
    """Choose kernel, instruction set and threads for the calls that this context makes in a block.

    An argument that is None keeps the value from outside the block. Blocks can nest, and an object
    also decorates functions. The options belong to the context (`contextvars`), as those of
    `numpy.errstate` do: a task of asyncio and `asyncio.to_thread` have the options of the context
    that created them, a new thread has none (without a GIL, CPython's threads begin with a copy of
    the context that starts them). The arguments of a call come first, then these options, then the
    environment variables TROPICAL_KERNEL, TROPICAL_ISA and TROPICAL_NUM_THREADS.

    Parameters
    ----------
    kernel : str, optional
        ``"naive"``, ``"tiled"``, ``"direct"`` or ``"packed"``; or ``"strassen"``, for the products
        that it fits.
    isa : str, optional
        An instruction set that this build has: ``"baseline"``, ``"avx2"``, ``"avx512"``,
        ``"neon"``. The best that this processor supports unless given. The tiles of AMX are used
        only if none is named, here or by TROPICAL_ISA.
    threads : int, optional
        The most threads that a call uses, at least 1.
    fast_ring : bool, optional
        Whether the scheduler may choose the kernel ``"strassen"`` for large products over
        ``"plustimes"`` of floats: faster, with larger errors, see `tropical.gemm`. False unless
        given.
    precision : str, optional
        The precision of products over ``"plustimes"`` of float32, those of layers and of their
        gradients included: ``"bf16"``, ``"bf16x3"``, ``"bf16x6"``, or ``"float32"``, as they are;
        see `tropical.gemm`. Other products, convolutions with their gradients, and calls that name
        another kernel than ``"packed"``, are computed as they are.

    Raises
    ------
    ValueError
        For an unknown kernel, instruction set or precision, or ``threads < 1``.
    RuntimeError
        For an instruction set that this CPU lacks.
    TypeError
        If a name is not a string, `threads` is not an integer, or `fast_ring` is not a bool. The
        block raises all errors where it begins.

    Examples
    --------
    >>> import tropical
    >>> with tropical.options(isa="baseline", threads=1):
    ...     plan = tropical.explain(512, 512, 512)
    >>> plan.isa, plan.threads
    ('baseline', 1)
    """

    _open: ClassVar[Blocks] = ContextVar("tropical.options.open")

    def __init__(
        self,
        kernel: str | None = None,
        isa: str | None = None,
        threads: SupportsIndex | None = None,
        fast_ring: bool | None = None,
        precision: str | None = None,
    ) -> None:
        self._chosen = (kernel, isa, threads, fast_ring, precision)

    def __repr__(self) -> str:
        kernel, isa, threads, fast_ring, precision = self._chosen
        return f"options({kernel=}, {isa=}, {threads=}, {fast_ring=}, {precision=})"

    def _get(self) -> Options:
        return _core.get_options()

    def _set(self, setting: Options) -> None:
        _core.set_options(*setting)

    def _within(self, outside: Options) -> Options:
        kernel, isa, threads, fast_ring, precision = self._chosen
        return (
            outside[0] if kernel is None else kernel,
            outside[1] if isa is None else isa,
            outside[2] if threads is None else threads,
            outside[3] if fast_ring is None else fast_ring,
            outside[4] if precision is None else precision,
        )


def _aligned(title: str, rows: dict[str, str]) -> str:
    return "\n".join([title, *(f"  {label:<12}{text}" for label, text in rows.items())])


def _size(count: int) -> str:
    """Return a number of bytes in binary units: 48 KiB, 1.5 MiB."""
    value, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:,.1f}".removesuffix(".0") + f" {unit}"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
