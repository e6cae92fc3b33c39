"""The packing buffers: with a workspace of one's own and without, and the memory that they take."""

from __future__ import annotations

import resource

import numpy as np

import tropical
from tropical.measure import contenders

CALLS = 100


class Workspace:
    params = ([64, 512, 1024],)
    param_names = ("n",)

    def setup(self, n: int) -> None:
        self.a, self.b = contenders.operands(n, n, n)
        self.out = np.ones((n, n), np.float32)
        self.workspace = tropical.GemmWorkspace()
        self.workspace.reserve(n, n, n, threads=1)

    def time_with(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, out=self.out, workspace=self.workspace, threads=1)

    def time_without(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, out=self.out, threads=1)

    def peakmem_with(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, out=self.out, workspace=self.workspace, threads=1)

    def peakmem_without(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, out=self.out, threads=1)

    def track_nbytes(self, *_: object) -> int:
        return self.workspace.nbytes

    track_nbytes.unit = "bytes"  # type: ignore[attr-defined]

    def track_allocations(self, *_: object) -> int:
        """Of packing memory, in a hundred calls after `reserve`."""
        before = self.workspace.allocations
        for _call in range(CALLS):
            self.time_with()
        return self.workspace.allocations - before

    track_allocations.unit = "allocations in 100 calls"  # type: ignore[attr-defined]

    def track_page_faults(self, *_: object) -> int:
        """In a hundred calls without a workspace: memory that the system had to find anew."""
        self.time_without()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _call in range(CALLS):
            self.time_without()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    track_page_faults.unit = "page faults in 100 calls"  # type: ignore[attr-defined]


class Reserve:
    """A new workspace: what the first call pays and later ones do not."""

    params = ([64, 512, 2048],)
    param_names = ("n",)

    def time_reserve(self, n: int) -> None:
        tropical.GemmWorkspace().reserve(n, n, n)
