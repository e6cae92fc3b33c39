"""`python -m tropical doctor`: whether this installation is sound, and how fast this machine is.

Each check yields findings. A finding that is wrong makes the exit status 1; a note does not.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import _core, tuning
from tropical.cli.rates import SIZE, rates_of
from tropical.examples.flights import print_lines
from tropical.measure import contenders
from tropical.measure.timing import Budget
from tropical.semirings import Semiring

LEAST_NUMPY = (2, 1)
KERNELS = ("direct", "packed")
SHAPE = (37, 70, 41)  # m, k, n of the self-test: no multiple of any tile
BUDGET = Budget(sample=2e-3, seconds=1.0, rounds=25, least_rounds=5)
SLOW = 0.5  # a share of the ceiling below which other programs probably use the processor
# What changes how tropical computes; tropical reads each variable once.
VARIABLES = (
    "TROPICAL_ISA",
    "TROPICAL_KERNEL",
    "TROPICAL_NUM_THREADS",
    "TROPICAL_TUNING",
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
)
# The extra that brings a package, and what the package serves.
EXTRAS = {
    "scipy": ("graph", "sparse graphs and their files"),
    "networkx": ("networkx", "the networkx backend"),
    "pandas": ("pandas", "frames with labels"),
    "torch": ("torch", "products of PyTorch's tensors"),
    "jax": ("jax", "products of JAX's arrays"),
    "dask": ("dask", "products and paths of Dask's arrays"),
    "opt_einsum": ("einsum", "contractions of many arrays"),
    "pymetis": ("metis", "the order of METIS for factors"),
    "platformdirs": ("tune", "a file for measured settings"),
    "matplotlib": ("mnist", "pictures, and the training of MNIST"),
    "numba": ("bench", "benchmarks beside other packages"),
}


@dataclass(frozen=True)
class Finding:
    """One line: a verdict (``"ok"``, ``"note"`` or ``"WRONG"``), what was checked, and the result.

    Examples
    --------
    >>> print(Finding("ok", "NumPy", "2.1.0"))
      ok     NumPy         2.1.0
    """

    verdict: str
    subject: str
    text: str

    def __str__(self) -> str:
        return f"  {self.verdict:<6} {self.subject:<13} {self.text}"


def _extension() -> Iterator[Finding]:
    yield Finding("ok", "extension", f"{_core.__file__}, compiled by {_core.config()['compiler']}")


def _numpy() -> Iterator[Finding]:
    found = tuple(int(part) for part in np.__version__.split(".")[:2])
    if found < LEAST_NUMPY:
        least = ".".join(map(str, LEAST_NUMPY))
        text = f"expected {least} or newer, got {np.__version__}: pip install 'numpy>={least}'"
        yield Finding("WRONG", "NumPy", text)
    else:
        yield Finding("ok", "NumPy", np.__version__)


def _processor() -> Iterator[Finding]:
    here = _core.config()
    tiles = " and amx" if "amx" in here["byte_products"] else ""
    yield Finding("ok", "processor", f"{here['cpu']}, {here['isa']}{tiles} in use")
    if lacking := sorted(set(here["isa_built"]) - set(here["isa_supported"])):
        text = f"this processor, or its system, lacks {', '.join(lacking)}"
        yield Finding("note", "", f"{text}; tropical uses none of it")


def _threads() -> Iterator[Finding]:
    here, every = _core.config(), os.cpu_count() or 1
    yield Finding("ok", "threads", f"a product uses up to {here['threads']}")
    if here["cores"] < every:
        text = f"this process may use {here['cores']} of {every} cores (affinity or container)"
        yield Finding("note", "", text)
    if here["threads"] != here["cores"]:
        yield Finding(
            "note", "", f"not one for each of the {here['cores']} cores that this process may use"
        )


def _variables() -> Iterator[Finding]:
    chosen = [f"{name}={os.environ[name]}" for name in VARIABLES if os.environ.get(name)]
    if chosen:
        yield Finding("note", "variables", f"{', '.join(chosen)} change how tropical computes")
    else:
        yield Finding("ok", "variables", "none changes how tropical computes")


def _settings() -> Iterator[Finding]:
    path = tuning.file()
    if path is None:
        why = "TROPICAL_TUNING is off" if os.environ.get(tuning.VARIABLE) else "no folder for them"
        yield Finding("ok", "settings", f"from the caches ({why})")
        return
    try:
        _core.set_settings(tuning.read(path))  # as the first product does
    except (OSError, ValueError, TypeError) as error:
        if not tuning.is_absent(error):
            text = f"{path}: {error}; delete the file, or run `python -m tropical tune`"
            yield Finding("WRONG", "settings", text)
            return
    else:
        yield Finding("ok", "settings", f"measured: {path}")
        return
    yield Finding("ok", "settings", "from the caches, as `python -m tropical tune` was not run")
    folder = next(parent for parent in path.absolute().parents if os.access(parent, os.F_OK))
    if not os.access(folder, os.W_OK | os.X_OK):
        text = f"{folder} cannot be written to, so tune could not keep its settings"
        yield Finding("note", "", text)


def definition(
    semiring: Semiring, a: NDArray[Any], b: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
    """Return the product of `a` (m, k) by `b` (k, n) by NumPy, and its argmax if there is one.

    Examples
    --------
    >>> legs = np.array([[0, 4, 9], [4, 0, 3], [9, 3, 0]])
    >>> definition(tropical.semirings.minplus, legs, legs)[0]
    array([[0, 4, 7],
           [4, 0, 3],
           [7, 3, 0]])
    """
    terms = semiring.multiply_ufunc(a[:, :, None], b[None])
    value: NDArray[Any] = semiring.add_ufunc.reduce(terms, axis=1, dtype=a.dtype)
    if not semiring.selective:
        return value, None
    return value, terms.argmax(axis=1) if semiring.direction > 0 else terms.argmin(axis=1)


def _equal(semiring: Semiring, found: NDArray[Any], wanted: NDArray[Any]) -> bool:
    if semiring.exact or found.dtype.kind in "iu":
        return np.array_equal(found, wanted)
    return bool(np.allclose(found, wanted, rtol=float(np.finfo(found.dtype).eps) * 1e3))


def _differences(isa: str) -> Iterator[tuple[str, bool]]:
    """Yield the name of each product, and whether it differs from NumPy's."""
    m, k, n = SHAPE
    for semiring in tropical.semirings.ALL:
        for dtype in semiring.dtypes:
            a, b = contenders.operands(m, k, n, dtype)
            if a.dtype.kind in "iu":  # 11 * 11 saturates no int8
                least = max(-11, np.iinfo(a.dtype).min)
                a, b = a.clip(least, 11), b.clip(least, 11)
            wanted, first = definition(semiring, a, b)
            for kernel in KERNELS:
                with tropical.options(isa=isa, kernel=kernel):
                    found = tropical.gemm(a, b, semiring=semiring)
                    equal = _equal(semiring, found, wanted)
                    if first is not None:
                        _, index = tropical.gemm(a, b, semiring=semiring, return_argmax=True)
                        equal &= np.array_equal(index, first)
                yield f"{semiring.name} {dtype} {kernel}", not equal


def _narrow_differences() -> Iterator[tuple[str, bool]]:
    """Yield the same for products of bytes, and of these numbers in pieces of bfloat16."""
    a, b = contenders.operands(*SHAPE, "int8")
    wanted = a.astype(np.int32) @ b.astype(np.int32)
    for instructions in _core.config()["byte_products"]:
        found = tropical.quantized.gemm(a, b, instructions=instructions)
        yield f"bytes {instructions}", not np.array_equal(found, wanted)
    x, y = a.astype(np.float32), b.astype(np.float32)
    for precision in ("bf16", "bf16x3", "bf16x6"):
        product = tropical.gemm(x, y, semiring="plustimes", precision=precision)
        yield f"float32 {precision}", not np.array_equal(product, wanted)


def _self_test() -> Iterator[Finding]:
    here = _core.config()
    usable = [isa for isa in here["isa_built"] if isa in here["isa_supported"]]
    tests = {isa: _differences(isa) for isa in usable}
    tests["bytes"] = _narrow_differences()
    for name, differences in tests.items():
        products = list(differences)
        if wrong := [product for product, differs in products if differs]:
            text = f"{len(wrong)} of {len(products)} products differ from NumPy's: "
            yield Finding("WRONG", f"test {name}", text + ", ".join(wrong[:3]))
        else:
            text = f"{len(products)} products are equal to NumPy's"
            yield Finding("ok", f"test {name}", text)


def _extras() -> Iterator[Finding]:
    present = [package for package in EXTRAS if importlib.util.find_spec(package)]
    versions = [f"{package} {_version(package)}".rstrip() for package in present]
    yield Finding("ok", "extras", ", ".join(versions) or "none is installed")
    for package, (extra, use) in EXTRAS.items():
        if package not in present:
            yield Finding(
                "", "", f"without {package}: pip install 'tropical-blas[{extra}]' ({use})"
            )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package.replace("_", "-"))
    except importlib.metadata.PackageNotFoundError:
        return ""


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _extension,
    _numpy,
    _processor,
    _threads,
    _variables,
    _settings,
    _self_test,
    _extras,
)


def _speed() -> Iterator[str]:
    """Yield the lines of the rates of one product, by one thread and by all."""
    here = _core.config()
    every = max(1, min(here["threads"], here["cores"]))
    threads = (1,) if every == 1 else (1, every)
    found = rates_of("maxplus", "float32", threads=threads, budget=BUDGET)
    yield f"Speed of maxplus float32, {SIZE} x {SIZE} by {SIZE} x {SIZE}:"
    for t, one in zip(threads, found, strict=True):
        name = f"{t} thread" if t == 1 else f"{t} threads"
        text = f"{one.rate / 1e9:.1f} x 10^9 operations a second, {one.share:.0%} of the ceiling"
        yield f"  {name:<12}{text}"
    yield "The ceiling is the rate of the same operations in registers alone, times the threads."
    if min(one.share for one in found) < SLOW:
        yield "Other programs probably use this processor: run doctor again when it is idle."


def examine() -> Iterator[Finding]:
    """Yield the findings of all checks, or the wrong environment alone."""
    try:
        _core.config()
    except (ValueError, RuntimeError) as error:  # of a variable; without it nothing computes
        yield Finding("WRONG", "variables", str(error))
        return
    for check in CHECKS:
        yield from check()


def main() -> int:
    """Print the findings and the speed; return 1 if a finding is wrong."""
    print(
        f"tropical {tropical.__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}"
    )
    wrong = 0
    for finding in examine():
        print(finding, flush=True)
        wrong += finding.verdict == "WRONG"
    if wrong:
        print(f"\nThis installation is not sound: {wrong} of the lines above say WRONG.")
        return 1
    print()
    print_lines(_speed())
    print("\nThis installation is sound.")
    return 0
