"""A real GPU for the tests of the emulated one: it computes in the memory of the CPU."""

import functools

import numpy as np
from emulated import Emulated

from tropical.cuda.kernels import Kernel
from tropical.cuda.runtime import runtime_of

PAGE = 4096


@functools.cache
def is_there():
    """Return whether there is a GPU with a driver and the packages of the extra "cuda"."""
    try:
        from cuda.bindings import driver

        done = driver.cuInit(0)[0] == driver.CUresult.CUDA_SUCCESS
    except (ImportError, RuntimeError):  # there are no packages, or there is no driver
        return False
    return done and driver.cuDeviceGetCount()[1] > 0


class Real:
    """A `tropical.cuda.runtime.Runtime` that registers the pages of all arrays while it computes.

    A driver gives registered pages the same addresses on the GPU.
    """

    def __init__(self):
        self.runtime = runtime_of(0, 0)
        self.architecture = self.runtime.architecture
        self.multiprocessors = 4  # as the emulated one, so that both run the same kernels
        self.launched = []
        self.arrays = []

    def launch(self, kernel: Kernel, blocks, integers):
        from cuda.bindings import driver

        self.launched.append(kernel)
        self.runtime._device.set_current()
        pages = self.pages()
        for first, end in pages:
            (error,) = driver.cuMemHostRegister(first, end - first, 0)
            assert error == driver.CUresult.CUDA_SUCCESS, error
        try:
            self.runtime.launch(kernel, blocks, integers)
            self.runtime.synchronize()
        finally:
            for first, _ in pages:
                driver.cuMemHostUnregister(first)

    def pages(self):
        """Return the ranges of addresses, of whole pages, in which the arrays lie."""
        ranges = [np.lib.array_utils.byte_bounds(x) for x in self.arrays if x.size]
        found = []
        for low, high in sorted(
            (low // PAGE * PAGE, -(-high // PAGE) * PAGE) for low, high in ranges
        ):
            if found and low <= found[-1][1]:
                found[-1] = found[-1][0], max(found[-1][1], high)
            else:
                found.append((low, high))
        return found

    def synchronize(self):
        pass


class OnHost(Emulated):
    """NumPy as a library of arrays on a real GPU."""

    def view(self, x):
        self.emulator.arrays.append(x)  # which stays alive
        return super().view(x)
