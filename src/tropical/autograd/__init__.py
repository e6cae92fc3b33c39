"""A define-by-run autograd engine, in which every matrix product is a `tropical.gemm`.

A `Tensor` holds an array and the record of its computation; `Tensor.backward` computes gradients.
The functions take Tensors or arrays, and return an array if no argument is a Tensor.
"""

from ..memory import (
    MemoryStats,
    get_memory_mode,
    memory_mode,
    memory_stats,
    release_memory,
    reset_memory_stats,
    set_memory_mode,
)
from .backward import grad
from .chains import crf_log_likelihood, log_likelihood, viterbi
from .checkpoint import checkpoint
from .contraction import einsum
from .convolution import avg_pool2d, conv2d, max_pool2d
from .elementwise import (
    absolute,
    add,
    clip,
    divide,
    exp,
    gelu,
    log,
    maximum,
    minimum,
    multiply,
    negative,
    power,
    relu,
    sigmoid,
    sqrt,
    subtract,
    tanh,
    where,
)
from .functional import (
    batch_norm,
    cross_entropy,
    dropout,
    embedding,
    layer_norm,
    log_softmax,
    mse,
    softmax,
)
from .gradcheck import GradientError, check_gradients
from .operators import attach
from .paths import closure, shortest_paths
from .products import linear, matmul, time_products
from .random import generator, seed
from .reduce import logsumexp, max, mean, min, sum, var
from .shape import (
    broadcast_to,
    cast,
    concatenate,
    getitem,
    pad,
    reshape,
    squeeze,
    stack,
    swapaxes,
    transpose,
)
from .tensor import Tensor
from .value import GraphReleasedError, Handle, enable_grad, is_grad_enabled, no_grad

attach()

__all__ = [
    "GradientError",
    "GraphReleasedError",
    "Handle",
    "MemoryStats",
    "Tensor",
    "absolute",
    "add",
    "avg_pool2d",
    "batch_norm",
    "broadcast_to",
    "cast",
    "check_gradients",
    "checkpoint",
    "clip",
    "closure",
    "concatenate",
    "conv2d",
    "crf_log_likelihood",
    "cross_entropy",
    "divide",
    "dropout",
    "einsum",
    "embedding",
    "enable_grad",
    "exp",
    "gelu",
    "generator",
    "get_memory_mode",
    "getitem",
    "grad",
    "is_grad_enabled",
    "layer_norm",
    "linear",
    "log",
    "log_likelihood",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max",
    "max_pool2d",
    "maximum",
    "mean",
    "memory_mode",
    "memory_stats",
    "min",
    "minimum",
    "mse",
    "multiply",
    "negative",
    "no_grad",
    "pad",
    "power",
    "release_memory",
    "relu",
    "reset_memory_stats",
    "reshape",
    "seed",
    "set_memory_mode",
    "shortest_paths",
    "sigmoid",
    "softmax",
    "sqrt",
    "squeeze",
    "stack",
    "subtract",
    "sum",
    "swapaxes",
    "tanh",
    "time_products",
    "transpose",
    "var",
    "viterbi",
    "where",
]
