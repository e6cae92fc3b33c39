"""tropical.interop.jax, against the definition."""

import os
import sys
from pathlib import Path

import numpy as np
import oracle
import pytest
from gradients import definition, weights_of
from support import check_refused, operands, run_command, run_python

import tropical
from tropical import semirings

jax = pytest.importorskip("jax", reason="of JAX, which is not installed")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads
interop = pytest.importorskip("tropical.interop.jax")
gemm = interop.gemm

SELECTIVE = [ring.name for ring in semirings.ALL if ring.selective]
DIFFERENTIABLE = [*SELECTIVE, "plustimes", "logplus"]
SHAPES = [  # few: JAX compiles every operation for each
    ((2, 1, 3, 4), (5, 4, 2)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4,)),
    ((3, 0), (0, 2)),
]


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def pair(shape_a, shape_b, kind="plain", dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    draw = rng.random if kind == "plain" else lambda shape: rng.integers(0, 3, shape)
    return tuple(jnp.asarray(draw(shape), dtype) for shape in (shape_a, shape_b))


def assert_close(got, want):
    for x, y in zip(got, want, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_zero_of_a_narrow_dtype_stays_zero():
    a, numbers = jnp.array([[127, 3]], jnp.int8), jnp.array([[1], [2]], jnp.int32)
    for b in (numbers, numbers.astype(jnp.float32), numbers.astype(jnp.int8)):
        for pair in ((a, b), (a[:, :1], b[:1]), (b.T, a.T)):
            want = tropical.gemm(*map(np.asarray, pair), semiring="minplus")
            got = gemm(*pair, "minplus")
            assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())


@pytest.mark.parametrize("semiring", DIFFERENTIABLE)
def test_value_and_gradients(semiring):
    for number, shapes in enumerate(SHAPES):
        a, b = pair(*shapes, "ties", seed=number)
        c, backward = jax.vjp(lambda x, y: gemm(x, y, semiring), a, b)
        want = definition(np.asarray(a), np.asarray(b), semiring)
        assert_close((c, *backward(jnp.asarray(weights_of(c)))), want)


@pytest.mark.parametrize("semiring", DIFFERENTIABLE)
def test_derivatives_agree_with_differences(semiring):
    a, b = pair((2, 2, 3), (3, 2), seed=3)
    order, modes = (2, ["fwd"]) if semiring in ("maxtimes", "logplus") else (1, ["rev"])
    check_grads(lambda x, y: gemm(x, y, semiring), (a, b), order, modes=modes, rtol=1e-5)


@pytest.mark.parametrize("semiring", semirings.names())
def test_every_dtype(semiring):
    for dtype in semirings.get(semiring).dtypes:
        a, b = operands(5, 6, 7, semiring, dtype)
        got, want = gemm(a, b, semiring), tropical.gemm(a, b, semiring=semiring)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_without_x64():
    with jax.enable_x64(False):
        a, b = pair((3, 4), (4, 2), dtype="float32")
        value, gradients = jax.value_and_grad(lambda x, y: gemm(x, y).sum(), (0, 1))(a, b)
        assert value.dtype == gradients[0].dtype == np.float32
        np.testing.assert_allclose(
            value, oracle.gemm(np.asarray(a), np.asarray(b), "maxplus").sum(), rtol=1e-6
        )
        assert gemm(np.ones((2, 2), np.int64), np.ones((2, 2), np.int64)).dtype == np.int32


def test_mixed_dtypes_promote_as_jax_does():
    a, b = jnp.ones((2, 2), "int8"), jnp.ones((2, 2), "float32")
    assert gemm(a, b).dtype == jnp.matmul(a, b).dtype == np.float32


def test_zero_has_no_gradient():
    a = jnp.array([[1.0, -np.inf], [2.0, 3.0]])
    b = jnp.array([[-np.inf, 1.0], [5.0, 0.0]])
    c, backward = jax.vjp(gemm, a, b)
    np.testing.assert_array_equal(c, [[-np.inf, 2], [8, 3]])
    to_a, to_b = backward(jnp.ones((2, 2)))
    np.testing.assert_array_equal(to_a, [[1, 0], [1, 1]])
    np.testing.assert_array_equal(to_b, [[0, 2], [1, 0]])


def test_zero_beside_infinity_has_no_gradient():
    a, b = jnp.array([[1.0, jnp.inf]]), jnp.zeros((2, 1))
    for derivative in (jax.jacrev, jax.jacfwd, jax.hessian):
        found = derivative(lambda x, y: gemm(x, y, "maxtimes"), (0, 1))(a, b)
        assert not any(np.any(x) for x in jax.tree.leaves(found))


@pytest.mark.parametrize("semiring", ["maxmin", "minmax"])
def test_nan_has_the_gradient(semiring):
    a, b = jnp.array([[1.0, jnp.nan]]), jnp.ones((2, 1))
    to_nan, to_other = jax.grad(lambda x, y: gemm(x, y, semiring).sum(), (0, 1))(a, b)
    np.testing.assert_array_equal(to_nan, [[0, 1]])
    assert not to_other.any()
    to_other, to_nan = jax.grad(lambda x, y: gemm(x, y, semiring).sum(), (0, 1))(b.T, a.T)
    np.testing.assert_array_equal(to_nan, [[0], [1]])
    assert not to_other.any()


def test_transformations():
    def product(x, y):
        return gemm(x, y, "maxmin")

    def loss(x, y):
        return jnp.sin(product(x, y)).sum()

    a, b = pair((6, 3, 4), (6, 4, 5))
    c, want = product(a, b), jax.grad(loss, (0, 1))(a, b)
    assert_close([jax.jit(product)(a, b)], [c])
    assert_close(jax.jit(jax.grad(loss, (0, 1)))(a, b), want)
    assert_close(jax.jit(jax.vmap(jax.grad(loss, (0, 1))))(a, b), want)
    assert_close([jax.vmap(product, (0, None))(a, b[1])], [product(a, b[1])])
    assert_close([jax.vmap(product, (None, 0))(a[0, 0], b)], [product(a[0, 0], b)])
    assert_close([jax.vmap(product, (0, None))(a, b)], [product(a[:, None], b)])
    twice = jax.vmap(jax.vmap(product, (0, None)), (None, 0))
    assert_close([twice(a, b)], [product(a, b[:, None])])


def test_vmap_is_one_product(calls):
    a, b = pair((9, 2, 3), (9, 3, 2))
    mapped = jax.vmap(gemm)(a, b)
    assert [call.a.shape for call in calls] == [(9, 2, 3)]
    np.testing.assert_array_equal(mapped, tropical.gemm(np.asarray(a), np.asarray(b)))


def test_argmax_only_for_derivatives(calls):
    a, b = pair((2, 3), (3, 2))
    gemm(a, b).block_until_ready()
    assert not calls[-1].options.get("return_argmax")
    jax.grad(lambda x: gemm(x, b).sum())(a).block_until_ready()
    assert calls[-1].options["return_argmax"]


def test_refuses():
    a, b = jnp.ones((2, 3)), jnp.ones((3, 2))
    check_refused(
        gemm,
        (TypeError, "got bfloat16 from", a.astype("bfloat16"), b.astype("bfloat16"), "logplus"),
        (TypeError, r"dtype of orand \(bool\), got float64", a, b, "orand"),
        (ValueError, r"got \(2, 3\) and \(2, 2\)", a, b[:2]),
        (ValueError, r"got \(3,\) and \(2,\)", a[0], b[0]),
        (ValueError, r"got \(\) and \(3, 2\)", 1.0, b),
        (ValueError, r"\(2,\), \(3,\)", jnp.ones((2, 2, 3)), jnp.ones((3, 3, 2))),
        (ValueError, "unknown semiring 'maxpluss'", a, b, "maxpluss"),
    )


@pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="of JAX 0.6 or later")
def test_shards():
    run_python(
        "import shards; shards.main()",
        timeout=300,
        PYTHONPATH=os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )


def test_absent_jax_is_asked_for():
    code = "import sys; sys.modules['jax'] = None; import tropical.interop.jax"
    error = run_command(sys.executable, "-c", code).stderr
    assert "jax is not installed (pip install 'tropical-blas[jax]')" in error


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logplus_of_any_range(dtype):
    a, b = pair((4, 5), (5, 3), dtype=dtype)
    a, b = (2000 * x.at[0].set(-jnp.inf).at[:, 1].add(-5) for x in (a, b))
    c, backward = jax.vjp(lambda x, y: gemm(x, y, "logplus"), a, b)
    got = (c, *backward(jnp.asarray(weights_of(c), dtype)))
    close = 4000 * np.finfo(dtype).eps  # the logarithms round
    for x, y in zip(got, definition(np.asarray(a), np.asarray(b), "logplus"), strict=True):
        np.testing.assert_allclose(x, y, rtol=close, atol=close)


def test_transformations_over_logplus():
    def loss(x, y):
        return jnp.sin(gemm(x, y, "logplus")).sum()

    a, b = pair((2, 2, 3), (2, 3, 2))
    want = jax.grad(loss, (0, 1))(a, b)
    assert_close(jax.jit(jax.vmap(jax.grad(loss, (0, 1))))(a, b), want)
    rows = jax.jacrev(jax.grad(loss))(a[0], b[0])
    np.testing.assert_allclose(jax.hessian(loss)(a[0], b[0]), rows, atol=1e-12)
    mapped = jax.vmap(jax.hessian(loss), (0, None))(a, b[0])
    np.testing.assert_allclose(mapped[0], rows, atol=1e-12)


def test_lists_and_integers_of_64_bits():
    """The semiring's zero stays the zero where JAX has 32 bits, and other integers must fit."""
    assert gemm([[1.0, 2]], [[1.0], [2.0]]) == 4
    assert gemm(np.array([[1, 2]], ">f4"), np.array([[1.0], [2.0]], ">f4")) == 4
    none = np.iinfo(np.int64).max
    with jax.enable_x64(False):
        assert gemm([[1.0, 2]], [[1.0], [2.0]]).dtype == np.float32
        got = gemm(np.array([[none, 5], [none, none]]), np.array([[1], [2]]), "minplus")
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, [[7], [np.iinfo(np.int32).max]])
        for wrong in (2**40, 2**31 - 1):
            with pytest.raises(ValueError, match=rf"a, b: expected integers .* got {wrong}$"):
                gemm(np.array([[wrong, 1]]), np.array([[1], [2]]), "minplus")
        small = gemm(jnp.array([[1, 3]], "uint32"), jnp.array([[5], [2]], "float32"), "minplus")
        assert small == 5
        none = gemm(np.array([[255]], "uint8"), jnp.array([[2]], "uint32"), "minplus")
        np.testing.assert_array_equal(none, np.array([[2**32 - 1]], "uint32"), strict=True)
    assert jax.jit(lambda x, y: gemm([[x, y]], [[y], [x]]))(1.0, 2.0) == 3


CALLS = {
    **{f"gemm over {name}": lambda x, name=name: gemm(x, x, name) for name in DIFFERENTIABLE},
    "closure": interop.closure,
    "shortest_paths": lambda x: interop.shortest_paths(x, indices=[0, 1], targets=[2]),
    "log_likelihood": lambda x: interop.log_likelihood(x[0], x, x),
    "viterbi": lambda x: interop.viterbi(x[0], x, x)[1],
    "crf_log_likelihood": lambda x: interop.crf_log_likelihood(x[0], x, x, np.arange(3)),
}


@pytest.mark.parametrize("function", CALLS.values(), ids=CALLS)
def test_equal_calls_compile_once(function, caplog):
    x, _ = pair((3, 3), (3, 3))

    def call_both():
        function(x)
        jax.grad(lambda x: function(x).sum())(x)

    call_both()
    with jax.log_compiles():
        call_both()
    assert "Compiling" not in caplog.text


def test_second_derivatives_through_loops():
    """What the manual says: forward mode works twice, and nothing behind reverse mode."""

    def looped(x):
        return jax.lax.fori_loop(0, 2, lambda _, c: gemm(c, x, "plustimes"), x).sum()

    def plain(x):
        return gemm(gemm(x, x, "plustimes"), x, "plustimes").sum()

    x, _ = pair((2, 2), (2, 2))
    np.testing.assert_allclose(jax.jacfwd(jax.jacfwd(looped))(x), jax.hessian(plain)(x))
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        jax.hessian(looped)(x)
