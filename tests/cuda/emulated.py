"""A GPU that is none: kernels compiled for the CPU, whose threads take turns on one thread."""

import ctypes
import functools
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from support import SANITIZED

from tropical.cuda import libraries
from tropical.cuda.kernels import FOLDERS, Kernel

HERE = Path(__file__).parent / "emulator"
# The runtime of AddressSanitizer that a process has preloaded is that of clang.
COMPILER = shutil.which("clang++-16" if SANITIZED else "g++")
_folder = TemporaryDirectory(prefix="tropical-cuda-")
_FLAGS = [
    "-std=c++20",
    "-O1",
    "-fPIC",
    "-fno-strict-aliasing",
    "-w",
    *(["-fsanitize=address"] if SANITIZED else []),
]


_INCLUDE = [f"-I{folder}" for folder in (HERE, *FOLDERS[:2])]  # g++ has headers of its own


def _run(*arguments):
    command = [COMPILER, *_FLAGS, *_INCLUDE, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


@functools.cache
def _headers():
    """Return a header for all kernels, which takes most of the time, compiled in advance."""
    path = Path(_folder.name) / "headers.hpp"
    path.write_text('#include "intrinsics.cuh"\n#include "gemm.cuh"\n')
    _run("-x", "c++-header", path, "-o", f"{path}.gch")
    return path


def _compile(source, name, *arguments):
    """Compile a source to a shared library in a temporary folder; return its path."""
    path = Path(_folder.name) / f"{name}.cpp"
    path.write_text(source)
    made = path.with_suffix(".so")
    _run(*arguments, "-shared", path, "-o", made)
    return made


@functools.cache
def _scheduler():
    made = _compile((HERE / "fibers.cpp").read_text(), "fibers")
    return ctypes.CDLL(str(made), mode=ctypes.RTLD_GLOBAL)


@functools.cache
def _loaded(kernel):
    arguments = ", ".join(f"x[{i}]" for i in range(kernel.arguments))
    source = kernel.source + (
        'extern "C" void entry(const long long* x) { kernel(' + arguments + "); }\n"
    )
    _scheduler()
    made = _compile(source, f"kernel{abs(hash(kernel))}", "-include", _headers())
    return ctypes.CDLL(str(made))


class Emulator:
    """What `tropical.cuda.runtime.Runtime` asks for."""

    multiprocessors = 4

    def __init__(self, architecture=90):
        self.architecture = architecture
        self.launched = []

    def launch(self, kernel: Kernel, blocks, integers):
        assert len(integers) == kernel.arguments
        self.launched.append(kernel)
        entry = ctypes.cast(_loaded(kernel).entry, ctypes.c_void_p)
        given = (ctypes.c_longlong * len(integers))(*integers)
        _scheduler().launch(entry, ctypes.c_longlong(blocks), given)

    def synchronize(self):
        pass


class DeviceArray(np.ndarray):
    """An array of NumPy that says that it lies in the memory of a GPU."""

    device_id = 0

    def __dlpack_device__(self):
        return 2, self.device_id


class Emulated(libraries.Library):
    """NumPy as a library of arrays on a GPU."""

    emulator = Emulator()

    def __init__(self):
        super().__init__(np)

    def runtime(self, x):
        return self.emulator

    def view(self, x):
        size = x.itemsize
        return libraries.View(x.ctypes.data, x.shape, tuple(s // size for s in x.strides))

    def empty(self, like, shape, dtype):
        return np.empty(tuple(shape), np.dtype(dtype)).view(DeviceArray)

    def arange(self, like, n):
        return np.arange(n, dtype=np.int32).view(DeviceArray)

    def copied(self, x):
        return np.array(x, order="C").view(DeviceArray)

    def where(self, condition, x, y):
        return np.where(condition, x, y).view(DeviceArray)

    def expanded(self, x, shape):
        return np.broadcast_to(x, tuple(shape), subok=True)


def on_gpu(x):
    """Return an array as one on the emulated GPU, in the same memory."""
    return np.asarray(x).view(DeviceArray)
