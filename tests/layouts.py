"""The same matrix in memory in every way that NumPy allows; arrays against inaccessible pages."""

import ctypes
import mmap

import numpy as np


def contiguous(x):
    return np.ascontiguousarray(x)


def fortran(x):
    return np.asfortranarray(x)


def transposed_view(x):
    return np.ascontiguousarray(x.T).T


def reversed_rows(x):
    return np.ascontiguousarray(x[::-1])[::-1]


def reversed_both(x):
    return np.asfortranarray(x[::-1, ::-1])[::-1, ::-1]


def sliced(x):
    """Every second row and third column of a larger array, whose other elements are all ones."""
    whole = np.ones((2 * x.shape[0] + 3, 3 * x.shape[1] + 4), x.dtype)
    view = whole[1 : 1 + 2 * x.shape[0] : 2, 2 : 2 + 3 * x.shape[1] : 3]
    view[...] = x
    return view


def wide_rows(x):
    """Unit stride in a row, and a row stride that is no multiple of anything."""
    whole = np.ones((x.shape[0], x.shape[1] + 13), x.dtype)
    view = whole[:, 5 : 5 + x.shape[1]]
    view[...] = x
    return view


def unaligned(x):
    view = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def field_of_records(x):
    """A field of packed records: strides that are no multiple of the element's size."""
    records = np.ones(x.shape, np.dtype([("other", np.uint8), ("x", x.dtype)]))
    records["x"] = x
    return records["x"]


def big_endian(x):
    return x.astype(x.dtype.newbyteorder(">"))


def read_only(x):
    view = x.copy()
    view.flags.writeable = False
    return view


LAYOUTS = [
    contiguous,
    fortran,
    transposed_view,
    reversed_rows,
    reversed_both,
    sliced,
    wide_rows,
    unaligned,
    field_of_records,
    big_endian,
    read_only,
]
WRITEABLE = [f for f in LAYOUTS if f not in (big_endian, read_only)]


def guarded(x, side, order="C"):
    """A copy of `x` that ends where an inaccessible page begins, or begins where one ends.

    side: "before" or "after", where that page is; order: "C", "F", "reversed" (both strides
    negative) or "gaps" (every third element of a row, the last one the last of the memory).
    """
    (rows, cols), item = x.shape, x.itemsize
    if x.size == 0:
        return x
    strides, span = {
        "C": ((cols * item, item), x.size),
        "F": ((item, rows * item), x.size),
        "reversed": ((-cols * item, -item), x.size),
        "gaps": ((3 * cols * item, 3 * item), 3 * x.size - 2),
    }[order]
    page = mmap.PAGESIZE
    inside = -(-span * item // page) * page
    memory = mmap.mmap(-1, inside + 2 * page)
    start = np.frombuffer(memory, np.uint8).ctypes.data
    for at in (start, start + page + inside):
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(at), ctypes.c_size_t(page), 0) != 0:
            raise OSError("mprotect failed")
    offset = page if side == "before" else page + inside - span * item
    offset += (span - 1) * item if order == "reversed" else 0
    view = np.ndarray(x.shape, x.dtype, memory, offset, strides)
    view[...] = x
    return view
