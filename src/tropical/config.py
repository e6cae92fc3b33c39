"""Seeing and choosing what runs: the configuration, the scheduler's plans, per-thread overrides."""

from __future__ import annotations

import sys
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from . import __version__, _core

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ._core import HasName


@dataclass(frozen=True)
class Plan:
    """How the scheduler would run one product; `explain` makes it, ``print`` shows it.

    Attributes
    ----------
    m, n, k : int
        The product is (m, k) by (k, n).
    dtype, semiring : str
        Names of the element type and of the semiring.
    batch : int
        Number of such products in the call.
    kernel : str
        The kernel: ``"naive"``, ``"tiled"``, ``"direct"`` or ``"packed"``.
    isa : str
        The instruction set.
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
    batch: int
    kernel: str
    isa: str
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
        return _aligned(
            f"{self.semiring} {self.dtype}, {batch}({self.m} x {self.k}) by ({self.k} x {self.n})",
            {
                "kernel": f"{self.kernel}: {self.reason}",
                "isa": self.isa,
                "micro-tile": f"{self.mr} x {self.nr} (mr x nr)",
                "blocks": f"mc {self.mc}, kc {self.kc}, nc {self.nc}",
                "threads": f"{self.threads} ({self.tasks:,} {_plural(self.tasks, 'task')})",
                "packing": _size(self.bytes),
            },
        )


def explain(
    m: int,
    n: int,
    k: int,
    *,
    dtype: DTypeLike = "float32",
    semiring: str | HasName = "maxplus",
    threads: int | None = None,
    kernel: str | None = None,
    return_argmax: bool = False,
    batch: int = 1,
) -> Plan:
    """Return how `tropical.gemm` would compute an (m, k) by (k, n) product, without computing it.

    Parameters
    ----------
    m, n, k : int
        Sizes of the product.
    dtype : dtype
        Element type, after promotion of the operands.
    semiring, threads, kernel, return_argmax
        As `tropical.gemm` takes them.
    batch : int
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
    )
    known = semiring if isinstance(semiring, str) else semiring.name
    return Plan(m=m, n=n, k=k, dtype=name, semiring=known.replace("_", ""), batch=batch, **fields)


def config() -> dict[str, Any]:
    """Return what this build and this machine are, as a dictionary.

    Returns
    -------
    dict
        ``version``, ``compiler``, ``isa_built``, ``isa_supported``, ``isa`` (the one in use),
        ``vector_bytes``, ``cpu``, ``cores`` (usable by this process), ``threads``, ``pinned``,
        the sizes ``l1d``, ``l2``, ``l3`` of the caches in bytes, ``settings`` (the scheduler's, by
        name) and ``tuned`` (the names of those that were measured, see `tropical.tuning`; the
        others are derived from the caches).

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
        "settings": settings,
        "tuned": [name for name in settings if settings[name] != suggested[name]],
    }


def show_config(file: TextIO | None = None) -> None:
    """Print compiler, instruction sets, caches, threads, processor and the scheduler's settings.

    Parameters
    ----------
    file : text file, optional
        Where to print; standard output unless given.
    """
    here = config()
    text = _aligned(
        f"tropical {here['version']}",
        {
            "compiler": here["compiler"],
            "isa": f"{here['isa']}, {8 * here['vector_bytes']}-bit vectors",
            "built": ", ".join(here["isa_built"]),
            "supported": ", ".join(here["isa_supported"]),
            "cpu": here["cpu"],
            "caches": ", ".join(
                f"{cache.upper()} {_size(here[cache])}" for cache in ("l1d", "l2", "l3")
            ),
            "cores": f"{here['cores']} usable by this process",
            "threads": f"{here['threads']}{', pinned' if here['pinned'] else ''}",
            "settings": ", ".join(f"{name} {value}" for name, value in here["settings"].items()),
            "tuned": ", ".join(here["tuned"]) or "nothing: settings are derived from the caches",
        },
    )
    print(text, file=sys.stdout if file is None else file)


class options(ContextDecorator):
    """Choose kernel, instruction set and threads for the calls that this thread makes in a block.

    What is None stays as it is outside; blocks nest. Arguments of a call itself go first, then
    these options, then the environment (TROPICAL_KERNEL, TROPICAL_ISA, TROPICAL_NUM_THREADS).

    Parameters
    ----------
    kernel : str, optional
        ``"naive"``, ``"tiled"``, ``"direct"`` or ``"packed"``.
    isa : str, optional
        An instruction set that this build has: ``"baseline"``, ``"avx2"``, ``"avx512"``,
        ``"neon"``.
    threads : int, optional
        The most threads that a call uses, at least 1.

    Raises
    ------
    ValueError
        For an unknown kernel or instruction set, or ``threads < 1``.
    RuntimeError
        For an instruction set that this CPU lacks.
    TypeError
        For a name that is no string, or threads that are no integer. All are raised where the block
        begins.

    Examples
    --------
    >>> import tropical
    >>> with tropical.options(isa="baseline", threads=1):
    ...     plan = tropical.explain(512, 512, 512)
    >>> plan.isa, plan.threads
    ('baseline', 1)
    """

    def __init__(
        self, kernel: str | None = None, isa: str | None = None, threads: int | None = None
    ) -> None:
        self._chosen = (kernel, isa, threads)
        self._outside: list[tuple[str | None, str | None, int | None]] = []

    def __enter__(self) -> None:
        """Set what was chosen, for this thread."""
        outside = _core.set_options(None, None, None)
        try:
            kernel, isa, threads = self._chosen
            _core.set_options(
                outside[0] if kernel is None else kernel,
                outside[1] if isa is None else isa,
                outside[2] if threads is None else threads,
            )
        except BaseException:
            _core.set_options(*outside)
            raise
        self._outside.append(outside)

    def __exit__(self, *_: object) -> None:
        """Set what was chosen outside of the block."""
        _core.set_options(*self._outside.pop())


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
