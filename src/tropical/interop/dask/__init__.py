"""Products and paths of Dask arrays, chunk by chunk.

Dask computes generalized ufuncs by ``dask.array.apply_gufunc``, which has no optional dimensions.
So ``tropical.ufunc.maxplus`` refuses Dask arrays. It could not divide a long sum either.
"""

from .chunks import suggest_chunks
from .paths import closure, shortest_paths
from .products import gemm

__all__ = ["closure", "gemm", "shortest_paths", "suggest_chunks"]
