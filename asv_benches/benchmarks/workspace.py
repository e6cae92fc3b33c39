"""The packing buffers: with a workspace of one's own and without, and the memory that it takes."""

from __future__ import annotations

import numpy as np

import tropical
from tropical.bench import contenders


class Workspace:
    params = ([64, 512, 2048],)
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


class Reserve:
    """A new workspace: what the first call pays and later ones do not."""

    params = ([64, 512, 2048],)
    param_names = ("n",)

    def time_reserve(self, n: int) -> None:
        tropical.GemmWorkspace().reserve(n, n, n)
