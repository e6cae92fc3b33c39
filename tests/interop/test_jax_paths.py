"""Stars and shortest paths in JAX, against those of arrays, and their derivatives."""

import numpy as np
import pytest

import tropical
from tropical import autograd, graph, semirings

jax = pytest.importorskip("jax", reason="of JAX, which is not installed")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads
closure = pytest.importorskip("tropical.interop.jax").closure
shortest_paths = pytest.importorskip("tropical.interop.jax").shortest_paths


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("semiring", ["minplus", "maxtimes"])
def test_derivatives_of_stars(semiring):
    rng, zero = np.random.default_rng(0), semirings.get(semiring).zero("float64")
    a, missing = rng.random((2, 4, 4)), rng.random((2, 4, 4)) < 0.5

    def star(a):
        values = closure(jnp.where(missing, zero, a), semiring)
        return jnp.where(jnp.isfinite(values), values, 0)

    check_grads(star, (jnp.asarray(a),), 1, modes=["fwd", "rev"])
    want = graph.closure(np.where(missing, zero, a), semiring)
    np.testing.assert_array_equal(closure(jnp.where(missing, zero, a), semiring), want)


@pytest.mark.parametrize(
    "options", [{"directed": False}, {"indices": [[0, 1]], "targets": [3, 3, -2]}], ids=str
)
def test_lengths(options):
    w = np.random.default_rng(1).random((3, 5, 5))
    same = autograd.Tensor(w, requires_grad=True)
    lengths = autograd.shortest_paths(same, **options)
    np.testing.assert_allclose(shortest_paths(w, **options), lengths.data, rtol=1e-15)
    lengths.sum().backward()
    slopes = jax.vmap(jax.grad(lambda x: shortest_paths(x, **options).sum()))
    np.testing.assert_allclose(jax.jit(slopes)(w), same.grad.data)


def test_gradient_without_targets():
    w = jnp.ones((3, 3))
    assert not jax.grad(lambda x: shortest_paths(x, targets=[]).sum())(w).any()
    assert shortest_paths(w, indices=[], targets=[]).shape == (0, 0)


def test_integers_and_booleans():
    w = np.array([[100, 3], [2, 100]], np.int32)
    assert closure(w).tolist() == graph.closure(w).tolist()
    assert closure(w > 50, "orand").tolist() == [[True, False], [False, True]]


def test_refuses():
    with pytest.raises(ValueError, match=r"a: expected \(\.\.\., n, n\), got \(2, 3\)"):
        closure(jnp.ones((2, 3)))
    with pytest.raises(TypeError, match="w: expected float32 or float64, got int32"):
        shortest_paths(np.ones((2, 2), np.int32))
    with pytest.raises(TypeError, match="indices: expected integers, got dtype float64"):
        shortest_paths(np.ones((2, 2)), indices=[0.5])
    with pytest.raises(ValueError, match="targets: expected -2 <= index < 2, got 2"):
        jax.jit(lambda x: shortest_paths(x, targets=2))(np.ones((2, 2)))


@pytest.mark.parametrize("semiring", ["maxmin", "minmax"])
def test_infinite_values_with_derivatives(semiring):
    ring = semirings.get(semiring)
    arcs = np.full((3, 3), ring.zero("float64"))
    arcs[[0, 1, 0], [1, 2, 2]] = [ring.one("float64"), 2, 1]
    want = graph.closure(arcs, semiring)
    assert np.isinf(want[0, 1])
    value, gradient = jax.value_and_grad(lambda a: closure(a, semiring)[0, 1])(jnp.asarray(arcs))
    same = autograd.Tensor(arcs, requires_grad=True)
    autograd.closure(same, semiring)[0, 1].backward()
    assert value == want[0, 1] and gradient[0, 1] == gradient.sum() == 1
    np.testing.assert_array_equal(gradient, same.grad.data)


def test_functions_of_arrays_refuse_traced_arrays():
    square = jnp.ones((2, 2))
    for function in (graph.shortest_paths, graph.closeness, lambda w: tropical.gemm(w, w)):
        for transform in (jax.jit, jax.grad, jax.vmap):
            with pytest.raises(TypeError, match=r": .* JAX traces; call .* tropical\.interop\.jax"):
                transform(function)(square)


def test_lists():
    np.testing.assert_array_equal(closure([[1.0, 2], [3, 4]]), [[0, 2], [3, 0]])
    np.testing.assert_array_equal(shortest_paths([[1.0, 2], [3, 4]], indices=0), [0, 2])


def test_an_infinite_path_leaves_the_gradients_of_others():
    a = jnp.array([[0, np.inf, 0.5], [0, 0, 0.5], [0, 0, 0]])
    gradient = jax.grad(lambda a: closure(a, "maxtimes")[1, 2])(a)
    assert gradient.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
