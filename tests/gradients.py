"""Products and their gradients by definition, for the tests of PyTorch and JAX."""

import numpy as np
import oracle

from tropical import semirings


def weights_of(c):
    """A different weight for each element of `c`."""
    return np.linspace(1, 2, c.size).reshape(c.shape)


def definition(a, b, semiring, weights=None):
    """(C, to a, to b): the product, and the gradients of the sum of its weighted elements.

    Of a selective semiring the gradient goes to the operands at the oracle's argmax, of ties of
    min and max to a, of a NaN to a if it is there; from an element that is the zero to neither.
    Over logplus each term has the share of its exponential.
    """
    x, y = np.atleast_2d(a), b[:, None] if b.ndim == 1 else b
    shape = np.matmul(np.ones(a.shape), np.ones(b.shape)).shape
    c = np.matmul(x, y) if semiring == "plustimes" else oracle.gemm(x, y, semiring)
    w = weights_of(c) if weights is None else weights.reshape(c.shape)
    if semiring == "plustimes":
        sums = [w @ y.swapaxes(-1, -2), x.swapaxes(-1, -2) @ w]
    elif semiring == "logplus":
        sums = by_shares(x, y, w)
    else:
        sums = of_the_chosen(x, y, c, w, semiring)
    found = []
    for s, z, given in zip(sums, (x, y), (a, b), strict=True):
        s = s.sum(tuple(range(s.ndim - z.ndim)))
        repeated = tuple(i for i in range(z.ndim - 2) if z.shape[i] == 1 != s.shape[i])
        found.append(s.sum(repeated, keepdims=True).reshape(given.shape))
    return c.reshape(shape), *found


def by_shares(x, y, w):
    """The gradients to x and y of logarithms of sums of exponentials, with the batch of w."""
    terms = x[..., :, :, None].astype(np.longdouble) + y[..., None, :, :]
    most = terms.max(-2, keepdims=True, initial=-np.inf)
    terms = np.exp(terms - np.where(np.isinf(most), 0, most))
    total = terms.sum(-2, keepdims=True)
    shares = terms / np.where(total == 0, 1, total) * w[..., :, None, :]
    return [shares.sum(-1).astype(float), shares.sum(-3).astype(float)]


def of_the_chosen(x, y, c, w, semiring):
    """The gradients to x and y, each with the batch of c, one element of c after the other."""
    index, ring = oracle.argmax(x, y, semiring), semirings.get(semiring)
    whole = [np.broadcast_to(z, (*c.shape[:-2], *z.shape[-2:])) for z in (x, y)]
    sums = [np.zeros(z.shape) for z in whole]
    for at in np.ndindex(*c.shape):
        *batch, i, j = at
        if c[at] == ring.zero(c.dtype):
            continue
        here, there = (*batch, i, index[at]), (*batch, index[at], j)
        u, v = whole[0][here], whole[1][there]
        chosen = np.isnan(u) or (u <= v if ring.multiply == "min" else u >= v)
        to_u, to_v = {"+": (1, 1), "x": (v, u)}.get(ring.multiply, (chosen, not chosen))
        sums[0][here] += w[at] * to_u
        sums[1][there] += w[at] * to_v
    return sums
