"""A square matrix in a folder of chunks, each of which has a round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from tropical import semirings
from tropical.arrays import Array, check_square, unmasked

from ..edge_arrays import Edges, compressed
from ..edges import converted, read, read_pattern
from .filling import fill, part_of
from .layout import Layout
from .reading import Blocks
from .sizes import check_disk, choose_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from tropical.npz import PathLike
    from tropical.semirings import Semiring

    from ..edges import GraphLike


class BlockFolder(Blocks):
    """A square matrix on disk, in square blocks; `closure_blocks` replaces it by its star.

    Block (i, j) is the file ``i-j.r.npy``, where r is the number of rounds of `closure_blocks` that
    the block has taken. `numpy.load` reads these files; a checksum stands behind the array. A file
    never changes: a round writes a new file and then deletes the old one.

    Parameters
    ----------
    path : str or path
        A folder that `from_array`, `from_function` or `from_graph` made.

    Raises
    ------
    FileNotFoundError
        If `path` is no such folder, or was not completed.
    ValueError
        If the folder is from another version of tropical, or its state cannot be read.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tropical.graph import BlockFolder
    >>> folder = BlockFolder.from_array(tempfile.mkdtemp(), np.eye(5), block=2)
    >>> folder.shape, sorted(path.name for path in folder.path.glob("1-*.npy"))
    ((5, 5), ['1-0.0.npy', '1-1.0.npy', '1-2.0.npy'])
    >>> folder[1:4, 2]
    array([0., 1., 0.])
    """

    def __init__(self, path: PathLike) -> None:
        super().__init__(Layout.at(Path(path).absolute()))

    @classmethod
    def from_array(
        cls,
        path: PathLike,
        a: Any,
        *,
        block: int | None = None,
        memory: float | str | None = None,
    ) -> BlockFolder:
        """Copy a matrix into a folder, block by block.

        Parameters
        ----------
        path : str or path
            A folder that does not exist or that has no such matrix yet.
        a : array_like, (n, n)
            Anything with a shape, a dtype and slices, such as a memmap, an array of Zarr or a
            dataset of h5py, of which one block at a time is read; or an array_like.
        block : int, optional
            Rows and columns of a block.
        memory : float or str, optional
            Bytes, or text such as ``"2GB"``: what each process of `closure_blocks` may use for
            blocks. By default half of what is available.

        Returns
        -------
        BlockFolder

        Raises
        ------
        FileExistsError
            If the folder holds a matrix.
        ValueError
            If `a` is not square or holds a NaN; the message names the chunk.
        TypeError
            If no semiring has the dtype of `a`.
        OSError
            If the disk is too small, or a chunk cannot be written.

        Notes
        -----
        Without `block`, a block has as many rows as `memory` allows, at most 8,192 and at most a
        quarter of n, and the star has the same bits as that of `closure`. Large blocks mean few
        reads and writes, small ones more tasks for workers.
        """
        if not (hasattr(a, "shape") and hasattr(a, "dtype") and hasattr(a, "__getitem__")):
            a = unmasked("a", a)
        if len(a.shape) != 2:
            raise ValueError(f"a: expected (n, n), got {a.shape}")
        check_square("a", a)

        def part(rows: slice, columns: slice) -> Array:
            return unmasked("a", a[rows, columns])

        return cls.from_function(path, part, a.shape[0], a.dtype, block=block, memory=memory)

    @classmethod
    def from_graph(
        cls,
        path: PathLike,
        graph: GraphLike,
        semiring: str | Semiring = "minplus",
        *,
        dtype: DTypeLike | None = None,
        block: int | None = None,
        memory: float | str | None = None,
    ) -> BlockFolder:
        """Write the matrix of a sparse graph into a folder, block by block.

        Parameters
        ----------
        path, block, memory
            As for `from_array`.
        graph : sparse array (n, n), networkx graph or array_like
            As for `shortest_paths`.
        semiring : str or Semiring, default "minplus"
            Where there is no edge, the matrix has its zero.
        dtype : dtype, optional
            Of the matrix, by default that of the weights: float32 takes half the disk of float64.

        Returns
        -------
        BlockFolder

        Raises
        ------
        TypeError
            If the semiring has no such dtype.
        ValueError, FileExistsError, OSError
            As for `from_array` and `shortest_paths`; or if the dtype does not have a weight.
        """
        ring = semirings.get(semiring)
        pattern = set(ring.dtypes) == {"bool"}
        found = read_pattern(graph) if pattern else read(graph, ring, name="graph")
        if not isinstance(found, Edges):
            a = found if dtype is None else converted(found, ring, np.dtype(dtype), "graph")
            return cls.from_array(path, a, block=block, memory=memory)
        kind = np.dtype(dtype or (bool if pattern else found.dtype))
        edges = compressed(found)
        if not pattern and kind != edges.dtype:
            edges = edges.with_weight(converted(edges.weight, ring, kind, "graph"))
        part = part_of(edges, ring, kind)
        return cls.from_function(path, part, found.n, kind, block=block, memory=memory)

    @classmethod
    def from_function(
        cls,
        path: PathLike,
        function: Callable[[slice, slice], Any],
        n: int,
        dtype: DTypeLike,
        *,
        block: int | None = None,
        memory: float | str | None = None,
    ) -> BlockFolder:
        """Write a matrix into a folder, block by block, as a function computes the blocks.

        Parameters
        ----------
        path, block, memory
            As for `from_array`.
        function : callable
            Takes two slices, of rows and of columns, and returns these elements.
        n : int
            Number of vertices.
        dtype : dtype
            One that a semiring has; `function` may return what NumPy casts to it safely.

        Returns
        -------
        BlockFolder

        Raises
        ------
        TypeError
            If no semiring has this dtype, or NumPy does not cast a block to it safely.
        ValueError
            If a block has another shape or holds a NaN; the message names its chunk.
        FileExistsError, OSError
            As for `from_array`.
        """
        kind = np.dtype(dtype).newbyteorder("=")
        if not any(str(kind) in ring.dtypes for ring in semirings.ALL):
            raise TypeError(f"dtype: expected one of a semiring, got {kind}")
        if n < 0:
            raise ValueError(f"n: expected 0 or more, got {n}")
        place = Path(path).absolute()
        size = choose_block(n, kind, block, memory)
        layout = Layout(place, n, size, kind, identity=uuid4().hex)
        place.mkdir(parents=True, exist_ok=True)
        layout.begin()
        try:
            check_disk(place, n * n * kind.itemsize)
            fill(layout, function)
        except BaseException:  # a part of a matrix is of no use
            layout.delete()
            raise
        return cls(place)

    @property
    def path(self) -> Path:
        """The folder."""
        return self._layout.path

    @property
    def block(self) -> int:
        """Rows and columns of a block; those at the right and at the bottom may have fewer."""
        return self._layout.block

    @property
    def rounds(self) -> int:
        """How many rounds of `closure_blocks` all blocks have taken; there are ``ceil(n / block)``.

        Raises
        ------
        FileNotFoundError
            If a chunk is missing.
        """
        return int(self._layout.levels().min(initial=self._layout.count))

    @property
    def semiring(self) -> str | None:
        """The name of the semiring whose rounds have begun, None before that."""
        return self._layout.manifest.semiring

    @property
    def state(self) -> str:
        """What the blocks hold.

        "matrix" before the first round, "rounds" from then on, "star" after the last one,
        "diverged" if the matrix has no star; "copying" in a folder of `closure_blocks`, which has a
        star that an array takes.
        """
        return self._layout.manifest.state

    @property
    def predecessors(self) -> Blocks:
        """The predecessors, (n, n) of int32, as `shortest_paths` returns them; read by slices.

        Raises
        ------
        ValueError
            If the folder does not hold the star of ``closure_blocks(..., predecessors=True)``.
        """
        known = self._layout.manifest
        if known.state not in ("star", "copying") or not known.predecessors:
            kept = "with" if known.predecessors else "without"
            raise ValueError(
                f"predecessors: expected a star with predecessors in {self.path}, got a "
                f"{known.state} {kept} them"
            )
        return Blocks(self._layout.before)

    def __repr__(self) -> str:
        return f"BlockFolder({str(self.path)!r})"
