"""Matrices of bytes: numbers as int8 or uint8, exact products, and quantized networks."""

from .layers import QuantizedLinear, convert
from .product import PackedArray, gemm, pack
from .quantization import Quantization, QuantizedArray, fit, quantize

__all__ = [
    "PackedArray",
    "Quantization",
    "QuantizedArray",
    "QuantizedLinear",
    "convert",
    "fit",
    "gemm",
    "pack",
    "quantize",
]
