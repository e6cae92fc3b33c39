"""Sums of products of arrays over semirings, written as in `numpy.einsum`."""

from .counting import Counted
from .network import einsum

__all__ = ["Counted", "einsum"]
