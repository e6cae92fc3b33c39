"""Compilation and launches: NVRTC and the driver, by cuda-core.

A kernel is compiled when it is first used, for the processor at hand, and kept on disk. Nothing
here is imported, and no driver is asked for, before an array on a GPU comes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from tropical.extras import require

from .kernels import FOLDERS, THREADS, Kernel

EXTRA = "'tropical-blas[cuda]'"
LEAST_ARCHITECTURE = 80
_ELF = b"\x7fELF"  # how machine code begins
_UNKNOWN_ATTRIBUTE = 1097  # a warning: the CPU's compilers know gnu::always_inline


class CompileError(RuntimeError):
    """NVRTC does not compile a kernel; the message is the compiler's."""


class Runtime(Protocol):
    """What products ask of a GPU and a stream."""

    @property
    def architecture(self) -> int:  # pyright: ignore[reportReturnType]
        """The compute capability, such as 90 for 9.0."""

    @property
    def multiprocessors(self) -> int:  # pyright: ignore[reportReturnType]
        """How many blocks run at once, at least."""

    def launch(self, kernel: Kernel, blocks: int, integers: Sequence[int]) -> None:
        """Run a kernel by so many blocks, in the order of the stream."""

    def synchronize(self) -> None:
        """Wait for all that the stream has been given."""


class _Device:
    """A GPU with a stream of another library."""

    def __init__(self, ordinal: int, stream: int) -> None:
        self._core = require("cuda.core", EXTRA)
        self._driver = require("cuda.bindings.driver", EXTRA)
        self._device = self._core.Device(ordinal)
        self._stream = self._core.LEGACY_DEFAULT_STREAM
        if stream:
            self._stream = self._core.Stream.from_handle(stream)
        major, minor = self._device.compute_capability
        self.architecture = 10 * major + minor
        self.multiprocessors = int(self._device.properties.multiprocessor_count)
        if self.architecture < LEAST_ARCHITECTURE:
            raise RuntimeError(
                f"expected a GPU of compute capability {LEAST_ARCHITECTURE / 10} or more, got "
                f"{major}.{minor}"
            )

    def launch(self, kernel: Kernel, blocks: int, integers: Sequence[int]) -> None:
        shape = self._core.LaunchConfig(grid=blocks, block=THREADS)
        with self._current():
            function = _loaded(kernel, self.architecture, self._device.device_id)
            self._core.launch(self._stream, shape, function, *integers)

    def synchronize(self) -> None:
        with self._current():
            self._stream.sync()

    @contextlib.contextmanager
    def _current(self) -> Iterator[None]:
        """Make this GPU the thread's current one, which other libraries go by, for a while."""
        _, before = self._driver.cuCtxGetCurrent()  # none is one, too
        self._device.set_current()
        try:
            yield
        finally:
            self._driver.cuCtxSetCurrent(before)


@functools.lru_cache(256)  # a handle is all that a runtime keeps of a stream
def runtime_of(ordinal: int, stream: int) -> Runtime:
    """Return a GPU by its number, with a stream by its handle.

    Raises
    ------
    NotInstalledError
        If cuda-core is not installed; the message names the extra.
    RuntimeError
        If there is no driver, or the GPU's compute capability is less than 8.0.
    """
    return _Device(ordinal, stream)


_lock = threading.Lock()


@functools.cache
def _loaded(kernel: Kernel, architecture: int, ordinal: int) -> Any:
    """Return a kernel that the driver of a device has loaded."""
    core = require("cuda.core", EXTRA)
    with _lock:  # one thread compiles
        return core.ObjectCode.from_cubin(cubin(kernel, architecture)).get_kernel("kernel")


def cubin(kernel: Kernel, architecture: int, keep: bool = True) -> bytes:
    """Return the machine code of a kernel, from the disk if it has been compiled before.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    architecture : int
        The compute capability, such as 90.
    keep : bool, default True
        Whether to look for the code on the disk, and to leave it there: in the folder that the
        environment variable ``TROPICAL_CUDA_CACHE`` names, else in cuda-core's own. A folder that
        cannot be written to is a RuntimeWarning.

    Raises
    ------
    NotInstalledError
        If cuda-core or NVRTC is not installed.
    CompileError
        If the compiler refuses the source, or does not know the architecture.
    """
    core = require("cuda.core", EXTRA)
    options = core.ProgramOptions(
        arch=f"sm_{architecture}",
        std="c++20",
        include_path=list(FOLDERS),
        device_as_default_execution_space=True,
        diag_suppress=[_UNKNOWN_ATTRIBUTE],
    )
    if not keep:
        return _compiled(core, kernel, options)
    store: Any = {}
    with _unkept_if_it_fails():
        store = _store()
    key = require("cuda.core.utils", EXTRA).make_program_cache_key(
        code=kernel.source,
        code_type="c++",
        options=options,
        target_type="cubin",
        extra_digest=_digest(),
    )
    with _unkept_if_it_fails():
        code = bytes(store.get(key, b""))
        if code.startswith(_ELF):  # and is not what a crash left behind
            return code
    code = _compiled(core, kernel, options)
    with _unkept_if_it_fails():
        store[key] = code
    return code


def _compiled(core: Any, kernel: Kernel, options: Any) -> bytes:
    try:
        return bytes(core.Program(kernel.source, "c++", options).compile("cubin").code)
    except ImportError:
        raise
    except Exception as error:  # cuda-core has a type for each of its layers
        raise CompileError(f"{kernel.call} for {options.arch}: {error}") from error


@contextlib.contextmanager
def _unkept_if_it_fails() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        warnings.warn(
            f"machine code is not kept, and compiled again by the next process: {error}; the "
            "environment variable TROPICAL_CUDA_CACHE names another folder",
            RuntimeWarning,
            stacklevel=2,
        )


@functools.cache
def _store() -> Any:
    return require("cuda.core.utils", EXTRA).FileStreamProgramCache(
        os.environ.get("TROPICAL_CUDA_CACHE")
    )


@functools.cache
def _digest() -> bytes:
    """Return a digest of all headers, so that a new version compiles anew."""
    digest = hashlib.sha256()
    for folder in FOLDERS:
        for path in sorted(Path(folder).iterdir()):
            if path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()
