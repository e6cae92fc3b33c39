"""Products and closures on a GPU, compared with steps in its registers and with PyTorch's sums."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import tropical
from tropical import semirings
from tropical.cuda import kernels, libraries
from tropical.graph import closure
from tropical.measure import contenders
from tropical.measure.timing import Contender, interleave

from . import common

PAIRS = [
    "maxplus float32",
    "maxplus int32",
    "minplus int16",
    "plustimes float32",
    "maxplus float64",
    "maxplus int64",
    "orand bool",
]
ROUNDS = 2000  # of a ceiling's kernel


def times(contender: Contender, reference: Contender) -> float:
    """Return the time of a contender over that of another one, for the same work."""
    timings = interleave([contender, reference], budget=common.BUDGET)
    return 1 / timings.ratio(contender.name, reference.name).median


class OnGpu:
    """A suite whose arrays lie on a GPU."""

    def setup(self, *_: object) -> None:
        """Find PyTorch, or skip where PyTorch has no GPU."""
        with common.skipped_if_absent():
            self.torch = contenders.require("torch", "'tropical-blas[torch,cuda]'")
        if not self.torch.cuda.is_available():
            raise NotImplementedError("PyTorch finds no GPU")
        x = self.torch.zeros(1, device="cuda")
        self.gpu = libraries.library_of(x=x).runtime(x)

    def operands(self, n: int, dtype: str) -> tuple[Any, Any]:
        a, b = contenders.operands(n, n, n, dtype)
        return self.torch.from_numpy(a).cuda(), self.torch.from_numpy(b).cuda()

    def contender(
        self, name: str, call: Callable[[], object], work: float, queued: int = 1
    ) -> Contender:
        """Make a contender of calls for which the GPU does not wait."""

        def finished() -> None:
            for _ in range(queued):
                call()
            self.gpu.synchronize()

        return Contender(name, finished, work * queued)

    def ceiling(self, semiring: str, dtype: str) -> Contender:
        ring, blocks = semirings.get(semiring), 16 * self.gpu.multiprocessors
        kernel, products = kernels.ceiling(ring, dtype, self.gpu.architecture)
        threads = blocks * kernels.THREADS
        sums = self.torch.zeros(threads, dtype=self.torch.int64, device="cuda")

        def call() -> None:
            self.gpu.launch(kernel, blocks, [sums.data_ptr(), ROUNDS])

        return self.contender("ceiling", call, 2 * products * ROUNDS * threads)


class Products(OnGpu):
    params = (PAIRS, common.sizes([512, 1024, 2048, 4096, 8192, 16384], [512]))
    param_names = ("semiring dtype", "n")
    unit = "times the time of the same steps in registers"

    def track_times_ceiling(self, pair: str, n: int) -> float:
        semiring, dtype = pair.split()
        a, b = self.operands(n, dtype)
        out = tropical.gemm(a, b, semiring=semiring)

        def call() -> object:
            return tropical.gemm(a, b, semiring=semiring, out=out)

        product = self.contender("product", call, 2 * n**3, queued=max(1, 16384 // n))
        return common.times_ceiling(product, self.ceiling(semiring, dtype))


class Closure(OnGpu):
    params = (common.sizes([1024, 4096, 16384, 32768], [256]),)
    param_names = ("n",)
    unit = "times the time of n^3 steps in registers"

    def setup(self, n: int) -> None:
        super().setup()
        self.weights = self.torch.rand(n, n, device="cuda")

    def time_closure(self, n: int) -> None:
        closure(self.weights, overwrite=True)  # of a closure is the same

    def track_times_ceiling(self, n: int) -> float:
        star = self.contender("closure", lambda: self.time_closure(n), 2 * n**3)
        return common.times_ceiling(star, self.ceiling("minplus", "float32"))


class Gradients(OnGpu):
    params = (["maxplus", "logplus"], common.sizes([1024, 4096], [128]))
    param_names = ("semiring", "n")
    unit = "times the time of the product without gradients"

    def track_times_forward(self, semiring: str, n: int) -> float:
        gemm = importlib.import_module("tropical.interop.torch").gemm
        a, b = self.operands(n, "float32")
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        forward = self.contender("forward", lambda: gemm(a, b, semiring), 1)
        both = self.contender("both", lambda: gemm(x, y, semiring).sum().backward(), 1)
        return times(both, forward)


class Broadcast(OnGpu):
    params = (common.sizes([512, 1024], [128]),)
    param_names = ("n",)
    unit = "times the time of PyTorch's (a[:, :, None] + b).amax(1)"

    def track_times_broadcast(self, n: int) -> float:
        a, b = self.operands(n, "float32")
        product = self.contender("product", lambda: tropical.gemm(a, b), 1, queued=16)
        broadcast = self.contender("broadcast", lambda: (a[:, :, None] + b).amax(1), 1)
        return times(product, broadcast)
