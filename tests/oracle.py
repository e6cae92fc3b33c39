"""The definition of the product over every semiring, in NumPy: slow, and evidently right.

Every product a[i, p] (x) b[p, j] is formed in a type wide enough to hold it, so nothing here rounds
or wraps by accident; rules (annihilation, saturation, NaN) are stated one after the other.
"""

from typing import Any, NamedTuple

import numpy as np


class Semiring(NamedTuple):
    """(+), (x) and the zero and one of a semiring; "least" and "greatest" are the dtype's."""

    add: np.ufunc
    multiply: np.ufunc
    zero_: Any
    one_: Any

    def zero(self, dtype):
        return element(self.zero_, dtype)

    def one(self, dtype):
        return element(self.one_, dtype)


SEMIRINGS = {
    "plustimes": Semiring(np.add, np.multiply, 0, 1),
    "maxplus": Semiring(np.maximum, np.add, "least", 0),
    "minplus": Semiring(np.minimum, np.add, "greatest", 0),
    "maxtimes": Semiring(np.maximum, np.multiply, 0, 1),
    "mintimes": Semiring(np.minimum, np.multiply, "greatest", 1),
    "maxmin": Semiring(np.maximum, np.minimum, "least", "greatest"),
    "minmax": Semiring(np.minimum, np.maximum, "greatest", "least"),
    "orand": Semiring(np.logical_or, np.logical_and, False, True),
    "logplus": Semiring(np.logaddexp, np.add, "least", 0),
}


def element(value, dtype):
    """`value` (a number, "least" or "greatest") as a scalar of `dtype`."""
    dtype = np.dtype(dtype)
    if value not in ("least", "greatest"):
        return dtype.type(value)
    if dtype.kind == "f":
        return dtype.type(-np.inf if value == "least" else np.inf)
    return dtype.type(np.iinfo(dtype).min if value == "least" else np.iinfo(dtype).max)


def wide_enough(x, y, multiply):
    """A type that holds every x (x) y: the dtype itself, a wider one, or Python's integers."""
    if x.dtype.kind not in "iu" or multiply in (np.minimum, np.maximum):
        return x.dtype
    largest = max((abs(int(e)) for z in (x, y) if z.size for e in (z.min(), z.max())), default=0)
    return np.int64 if multiply(largest, largest, dtype=object) < 2**63 else object


def products(a, b, semiring):
    """P[..., i, p, j] = a[..., i, p] (x) b[..., p, j]; a (..., m, k), b (..., k, n)."""
    s = SEMIRINGS[semiring]
    dtype = np.result_type(a, b)
    x, y = np.asarray(a, dtype)[..., :, :, None], np.asarray(b, dtype)[..., None, :, :]
    wide = wide_enough(x, y, s.multiply)
    with np.errstate(all="ignore"):
        p = s.multiply(x.astype(wide), y.astype(wide))
    if dtype.kind in "iu":  # saturate
        p = np.clip(p, np.iinfo(dtype).min, np.iinfo(dtype).max)
    p = np.where((x == s.zero(dtype)) | (y == s.zero(dtype)), s.zero(dtype), p)  # annihilate
    p = np.where(p != p, s.zero(dtype), p)  # a NaN that (x) makes never wins
    p = np.where((x != x) | (y != y), np.nan, p) if dtype.kind == "f" else p  # propagate NaN
    return p.astype(dtype)


def gemm(a, b, semiring, out=None):
    """C = a (x) b, or out (+) a (x) b, to the bit, but see `plustimes` for floats, `logplus`."""
    s = SEMIRINGS[semiring]
    if semiring == "plustimes":
        c = np.matmul(a, b)
        assert c.dtype.kind in "iu", "floating plustimes rounds: compare with oracle.plustimes"
    else:
        p = products(a, b, semiring)
        c = positive_zeros(s.add.reduce(p, axis=-2, initial=s.zero(p.dtype)))
    return c if out is None else positive_zeros(s.add(out, c))


def positive_zeros(c):
    """`c` with -0.0 as +0.0 and every NaN the one canonical (quiet, positive, empty) NaN."""
    return np.where(c != c, c.dtype.type(np.nan), c + c.dtype.type(0)) if c.dtype.kind == "f" else c


def argmax(a, b, semiring):
    """The first p whose product attains C; 0 where C is zero, -1 if k == 0, else the first NaN."""
    p = products(a, b, semiring)
    c = gemm(a, b, semiring)
    if p.shape[-2] == 0:
        return np.full(c.shape, -1, np.intp)
    first = np.argmax(p == c[..., None, :], axis=-2)
    first = np.where(c == SEMIRINGS[semiring].zero(p.dtype), 0, first)
    return np.where(c != c, np.argmax(p != p, axis=-2), first).astype(np.intp)


def plustimes(a, b):
    """(C, bound): the product in the longest type there is, and how far a sum may round from it."""
    wide_a, wide_b = np.asarray(a, np.longdouble), np.asarray(b, np.longdouble)
    eps = np.finfo(np.result_type(a, b)).eps
    tiny = np.finfo(np.result_type(a, b)).smallest_subnormal
    k = wide_a.shape[-1]
    return wide_a @ wide_b, (k + 1) * (eps * (abs(wide_a) @ abs(wide_b)) + tiny)


def logplus(a, b, out=None):
    """log(sum(exp(a + b))) in the longest type there is; `out` may be one more term."""
    dtype = np.result_type(a, b)
    p = products(np.asarray(a, np.longdouble), np.asarray(b, np.longdouble), "logplus")
    if out is not None:
        p = np.concatenate([p, np.asarray(out, np.longdouble)[..., None, :]], axis=-2)
    most = np.max(p, axis=-2, initial=-np.inf, keepdims=True)
    shift = np.where(np.isfinite(most), most, 0)
    with np.errstate(all="ignore"):
        total = np.exp(p - shift).sum(axis=-2)
        c = np.where(np.isinf(most), most, shift + np.log(total)[..., None, :])[..., 0, :]
        return np.where(np.isinf(c.astype(dtype)), np.copysign(np.inf, c), c)


def logplus_bound(c, k, dtype, *, accumulate=False, block=512):
    """How far from `c` a product may be that sums `block` steps at a time."""
    blocks = -(-k // block) + accumulate  # each of which rounds C
    unit = np.finfo(dtype).eps / 2
    return unit * ((blocks + 1) * (abs(c) + 4) + min(k, block) + 8)
