"""A define-by-run autograd engine, every matrix product of which is a `tropical.gemm`.

`Tensor` holds an array and remembers how it was computed; `Tensor.backward` walks back. The
functions take Tensors or arrays; of arrays alone they return arrays.
"""

from .check import GradientError, check_gradients
from .checkpoint import checkpoint
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
from .graph import (
    GraphReleasedError,
    Handle,
    enable_grad,
    is_grad_enabled,
    no_grad,
)
from .memory import (
    MemoryStats,
    get_memory_mode,
    memory_mode,
    memory_stats,
    release_memory,
    reset_memory_stats,
    set_memory_mode,
)
from .network import (
    batch_norm,
    cross_entropy,
    dropout,
    embedding,
    layer_norm,
    log_softmax,
    mse,
    softmax,
)
from .products import ProductTime, linear, matmul, time_products
from .random import generator, seed
from .reduce import logsumexp, max, mean, min, sum, variance
from .shape import broadcast_to, cast, concatenate, pad, reshape, stack, take, transpose
from .tensor import Tensor, grad

__all__ = [
    "GradientError",
    "GraphReleasedError",
    "Handle",
    "MemoryStats",
    "ProductTime",
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
    "concatenate",
    "conv2d",
    "cross_entropy",
    "divide",
    "dropout",
    "embedding",
    "enable_grad",
    "exp",
    "gelu",
    "generator",
    "get_memory_mode",
    "grad",
    "is_grad_enabled",
    "layer_norm",
    "linear",
    "log",
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
    "sigmoid",
    "softmax",
    "sqrt",
    "stack",
    "subtract",
    "sum",
    "take",
    "tanh",
    "time_products",
    "transpose",
    "variance",
    "where",
]
