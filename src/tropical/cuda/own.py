"""Semirings that the user writes, as two expressions of C++."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np

_LEFT_OUT = re.compile(r"[;{}#\\\"']|//|/\*")


class OwnSemiring(NamedTuple):
    """A semiring of two expressions; made by `semiring`."""

    add: str
    multiply: str
    zero: str
    selective: bool = False
    name: str = "own"

    @property
    def struct(self) -> str:
        """The C++ struct, as in ``semiring.hpp``."""
        return (
            "namespace tropical {\nstruct Own {\n    static constexpr bool own = true;\n"
            "    struct Add {\n        static constexpr bool selects = false, idempotent = false;\n"
            "        template <class T>\n        static T apply(T y, T x) {\n"
            f"            return static_cast<T>({self.add});\n        }}\n    }};\n"
            "    struct Multiply {\n        static constexpr Growth growth = Growth::none;\n"
            "        template <class T>\n        static T apply(T y, T x) {\n"
            f"            return static_cast<T>({self.multiply});\n        }}\n    }};\n"
            "    template <class T>\n"
            f"    static constexpr T zero = static_cast<T>({self.zero});\n}};\n}}  // namespace\n"
        )


def semiring(add: str, multiply: str, zero: str | float) -> OwnSemiring:
    """Return a semiring for `gemm` on a GPU, by expressions of CUDA C++ in x and y.

    Parameters
    ----------
    add, multiply : str
        ``x (+) y`` and ``x (x) y``, such as ``"fmaxf(x, y)"`` and ``"x + y"``. In a sum, x is the
        sum so far, and y the next term. Both are of the operands' dtype, or of float32 for float16
        and bfloat16.
    zero : str or float
        What a sum starts from: a number, or an expression such as ``"-INFINITY"``.

    Returns
    -------
    OwnSemiring
        What ``semiring=`` takes, for arrays on a GPU alone.

    Raises
    ------
    TypeError
        If an expression is no string, or zero is neither a string nor a number.
    ValueError
        If an expression is empty, or is more than one expression. What CUDA C++ does not
        understand is a `CompileError` of the first product.

    Notes
    -----
    The sum is computed in the order of k, with no other rule than the two expressions: neither does
    zero annihilate by itself, nor do NaN spread or integers saturate. There is no argmax.

    Examples
    --------
    >>> from tropical import cuda
    >>> farthest = cuda.semiring("fmaxf(x, y)", "fabsf(x - y)", zero=0)
    >>> farthest.multiply
    'fabsf(x - y)'
    """
    for name, text in {"add": add, "multiply": multiply}.items():
        if not isinstance(text, str):
            raise TypeError(f"{name}: expected a string, got {text!r}")
    if not isinstance(zero, str):
        zero = _number(zero)
    for name, text in {"add": add, "multiply": multiply, "zero": zero}.items():
        if not text.strip() or _LEFT_OUT.search(text) or not _closes(text):
            raise ValueError(f"{name}: expected one expression of C++, got {text!r}")
    return OwnSemiring(add, multiply, zero)


def _number(x: Any) -> str:
    """Return a number as C++ writes it."""
    number = x.item() if isinstance(x, np.generic) else x
    try:
        if math.isfinite(number):
            return str(+number)
    except (OverflowError, TypeError):
        raise TypeError(f"zero: expected a number or an expression of C++, got {x!r}") from None
    return "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"


def _closes(text: str) -> bool:
    """Return whether every parenthesis closes one that is open."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0
