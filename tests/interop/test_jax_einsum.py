"""Contractions in JAX, against those of arrays and finite differences."""

from functools import partial

import numpy as np
import pytest

import tropical

jax = pytest.importorskip("jax", reason="of JAX, which is not installed")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads
einsum = pytest.importorskip("tropical.interop.jax").einsum


@pytest.mark.parametrize("semiring", ["maxplus", "logplus"])
@pytest.mark.parametrize(
    "subscripts, shapes",
    [("iij,jk->k", [(2, 2, 3), (3, 2)]), ("...ij,jk,kl->...", [(2, 2, 3), (3, 2), (2, 2)])],
)
def test_values_and_derivatives(subscripts, shapes, semiring):
    rng = np.random.default_rng(3)
    with jax.enable_x64(True):
        arrays = [jnp.asarray(rng.random(shape) + 0.5) for shape in shapes]
        function = partial(einsum, subscripts, semiring=semiring)
        want = tropical.einsum(subscripts, *map(np.asarray, arrays), semiring=semiring)
        np.testing.assert_allclose(jax.jit(function)(*arrays), want, rtol=1e-14)
        check_grads(function, arrays, 1, modes=["rev"])


def test_mapped_and_empty():
    a = jnp.arange(12.0).reshape(2, 2, 3)
    slopes = jax.vmap(jax.grad(lambda x: einsum("ij,kj->", x, x)))(a)
    assert slopes.sum((1, 2)).tolist() == [2, 2]
    assert einsum("ij->i", jnp.zeros((2, 0))).tolist() == [-np.inf, -np.inf]


def test_refuses():
    with pytest.raises(TypeError, match=r"operand 0, operand 1: expected a dtype of orand"):
        einsum("i,i", jnp.ones(2), jnp.ones(2), semiring="orand")


def test_lists():
    np.testing.assert_array_equal(einsum("ij,j->i", [[1.0, 2], [5, 3]], [1, 2]), [4, 6])
