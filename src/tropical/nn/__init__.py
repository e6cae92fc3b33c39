"""Neural networks over `tropical.autograd`: modules, layers, initializers, files of parameters."""

from .crf import CRF
from .init import fan_in_uniform, glorot_uniform, he_normal, he_uniform, normal, uniform
from .layers import (
    GELU,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    LayerNorm,
    Linear,
    MaxPool2d,
    ReLU,
    Sequential,
    Sigmoid,
    Tanh,
    TropicalLinear,
)
from .module import Module, Parameter
from .state import load_arrays, save_arrays

__all__ = [
    "CRF",
    "GELU",
    "AvgPool2d",
    "BatchNorm",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "LayerNorm",
    "Linear",
    "MaxPool2d",
    "Module",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "TropicalLinear",
    "fan_in_uniform",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "load_arrays",
    "normal",
    "save_arrays",
    "uniform",
]
