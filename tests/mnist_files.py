"""MNIST's format, and where the real MNIST is."""

import os
import struct

import numpy as np
import pytest

REAL = os.environ.get("MNIST_DIR")  # fixtures hide the variable
needs_mnist = pytest.mark.skipif(
    not REAL, reason="needs MNIST: set MNIST_DIR to the folder that has it"
)


def idx(array):
    """The content of an IDX file of bytes."""
    array = np.asarray(array, np.uint8)
    header = struct.pack(f">{1 + array.ndim}I", 2048 + array.ndim, *array.shape)
    return header + array.tobytes()
