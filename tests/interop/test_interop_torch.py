"""tropical.interop.torch, against the definition, and what PyTorch asks of its operators."""

import sys
from functools import partial

import numpy as np
import pytest
from gradients import definition, weights_of
from support import check_refused, operands, run_command

import tropical
from tropical import autograd, semirings

torch = pytest.importorskip("torch", reason="of PyTorch, which is not installed")
interop = pytest.importorskip("tropical.interop.torch")
gemm = interop.gemm
pytestmark = [
    # PyTorch's compiler and forward mode use what PyTorch deprecates;
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    # and the compiler's caches complain when they are collected.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SELECTIVE = [ring.name for ring in semirings.ALL if ring.selective]
DIFFERENTIABLE = [*SELECTIVE, "plustimes", "logplus"]
SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 1), (1, 1)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((1, 3, 4), (2, 4, 5)),
    ((4,), (4,)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4,)),
    ((3, 0), (0, 2)),
    ((0, 3), (3, 2)),
    ((0, 2, 3), (3, 2)),
]


def pair(shape_a, shape_b, kind="plain", dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for shape in (shape_a, shape_b):
        x = rng.random(shape) if kind == "plain" else rng.integers(0, 3, shape).astype(float)
        if kind == "special":
            x = rng.choice(
                [-np.inf, np.inf, np.nan, 0.0, 1.0, 2.0], shape, p=[0.2] * 2 + [0.15] * 4
            )
        found.append(torch.tensor(x, dtype=dtype, requires_grad=True))
    return found


def gradients(function, a, b):
    """The value, and the gradients for a different weight of each element."""
    c = function(a, b)
    weights = torch.from_numpy(weights_of(c.detach().numpy()))
    return c.detach(), *torch.autograd.grad(c, (a, b), weights)


def defined(a, b, semiring, weights=None):
    """The value and the gradients by the definition."""
    arrays = definition(a.detach().numpy(), b.detach().numpy(), semiring, weights)
    return [torch.from_numpy(np.asarray(x)) for x in arrays]


def assert_equal(got, want):
    for x, y in zip(got, want, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-12, atol=0, equal_nan=True)


@pytest.mark.parametrize("semiring", DIFFERENTIABLE)
@pytest.mark.parametrize("kind", ["plain", "ties"])
def test_value_and_gradients(semiring, kind):
    for number, (shape_a, shape_b) in enumerate(SHAPES):
        a, b = pair(shape_a, shape_b, kind, seed=number)
        got = gradients(partial(gemm, semiring=semiring), a, b)
        assert_equal(got, defined(a, b, semiring))


@pytest.mark.parametrize("semiring", SELECTIVE)
@np.errstate(invalid="ignore")
def test_infinities_and_nan(semiring):
    """NaN in a row or column: to the first p at which there is one, as PyTorch's amax."""
    for seed in range(5):
        a, b = pair((6, 3), (3, 6), "special", seed=seed)
        c = gemm(a, b, semiring)
        got = c.detach(), *torch.autograd.grad(c, (a, b), torch.ones_like(c))
        for x, y in zip(got, defined(a, b, semiring, np.ones((6, 6))), strict=True):
            np.testing.assert_array_equal(x, y)


def test_zero_beside_infinity_has_no_second_gradient():
    a = torch.tensor([[1.0, np.inf]], requires_grad=True)
    b, g = torch.zeros(2, 1, requires_grad=True), torch.ones(1, 1, requires_grad=True)
    first = torch.autograd.grad(gemm(a, b, "maxtimes"), (a, b), g, create_graph=True)
    second = torch.autograd.grad(sum(x.sum() for x in first), (a, b, g))
    assert not any(x.any() for x in (*first, *second))


def test_zero_has_no_gradient():
    a = torch.tensor([[1.0, -np.inf], [2.0, 3.0]], requires_grad=True)
    b = torch.tensor([[-np.inf, 1.0], [5.0, 0.0]], requires_grad=True)
    c = gemm(a, b)
    np.testing.assert_array_equal(c.detach(), [[-np.inf, 2], [8, 3]])
    c.sum().backward()
    np.testing.assert_array_equal(a.grad, [[1, 0], [1, 1]])
    np.testing.assert_array_equal(b.grad, [[0, 2], [1, 0]])


@pytest.mark.parametrize("semiring", DIFFERENTIABLE)
def test_gradcheck(semiring):
    for shapes in (((3, 4), (4, 2)), ((2, 2, 3), (3, 2)), ((3,), (2, 3, 2))):
        a, b = pair(*shapes, seed=3)
        assert torch.autograd.gradcheck(lambda x, y: gemm(x, y, semiring), (a, b))
        assert torch.autograd.gradgradcheck(lambda x, y: gemm(x, y, semiring), (a, b))
        assert torch.autograd.gradcheck(lambda x, b=b: gemm(x, b.detach(), semiring), a)


@pytest.mark.parametrize("semiring", semirings.names())
def test_every_dtype(semiring):
    for dtype in semirings.get(semiring).dtypes:
        a, b = operands(5, 6, 7, semiring, dtype)
        got = gemm(torch.from_numpy(a), torch.from_numpy(b), semiring)
        want = tropical.gemm(a, b, semiring=semiring)
        assert got.dtype == torch.from_numpy(want).dtype
        np.testing.assert_array_equal(got.numpy(), want)


def test_float32_gradients_stay_float32():
    a, b = pair((2, 3), (3, 2), dtype=torch.float32)
    gemm(a, b).sum().backward()
    assert a.grad.dtype == b.grad.dtype == torch.float32


def test_memory_is_shared(calls):
    base = torch.rand(7, 6, 5)
    views = [
        (base[0], base[1].mT),
        (base[:, 2, ::2], base[0, :3].mT.expand(4, 5, 3)[:, :3]),
        (base[1].mT, base[2]),
    ]
    for a, b in views:
        for x in (a, a.detach().requires_grad_()):
            c = gemm(x, b)
            left, right, _, result = calls[-1]
            result = result[0] if isinstance(result, tuple) else result
            for array, tensor in ((left, x), (right, b), (result, c)):
                assert array.ctypes.data == tensor.data_ptr()
                strides = [s // array.itemsize for s in array.strides]
                assert strides == list(tensor.stride())
            torch.testing.assert_close(
                c.detach(), (a[..., :, :, None] + b[..., None, :, :]).amax(-2)
            )


def test_argmax_only_for_gradients(calls):
    a, b = pair((2, 3), (3, 2))
    with torch.no_grad():
        gemm(a, b)
    gemm(a.detach(), b.detach())
    gemm(a, b, "plustimes")
    assert not any(call.options.get("return_argmax") for call in calls)
    gemm(a, b.detach())
    assert calls[-1].options["return_argmax"]


@pytest.mark.parametrize("semiring", [*semirings.names()])
def test_opcheck(semiring):
    if semiring == "orand":
        a, b = torch.rand(2, 3) < 0.5, torch.rand(3, 2) < 0.5
    else:
        a, b = pair((2, 1, 3), (3, 2))
    selective = semiring in SELECTIVE
    operator = torch.ops.tropical.gemm.default
    if semiring in DIFFERENTIABLE:
        torch.library.opcheck(operator, (a, b, semiring, selective))
    torch.library.opcheck(operator, (a.detach(), b.detach(), semiring, False))


def test_opcheck_of_scatter():
    g, index = torch.rand(2, 3, 4), torch.randint(0, 6, (2, 3, 4))
    operator = torch.ops.tropical.scatter.default
    torch.library.opcheck(operator, (g, index, [3, 5], -1))
    torch.library.opcheck(operator, (g, index, [2, 5, 4], -2))


def test_the_operator_itself_wants_its_index():
    a, b = pair((2, 3), (3, 2))
    c, _ = torch.ops.tropical.gemm(a, b, "maxplus", True)
    assert_equal(
        torch.autograd.grad(c.sum(), (a, b)), torch.autograd.grad(gemm(a, b).sum(), (a, b))
    )
    c, index = torch.ops.tropical.gemm(a, b, "maxplus", False)
    assert not index.numel()
    with pytest.raises(RuntimeError, match="with_index: expected True for gradients over maxplus"):
        c.sum().backward()


@pytest.mark.parametrize("semiring", ["maxtimes", "plustimes", "logplus"])
def test_compile(semiring):
    def step(x, y):
        return gemm(x, y, semiring).sin()

    torch.compiler.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for shape_a, shape_b in SHAPES[:1] + SHAPES[4:5]:
        a, b = pair(shape_a, shape_b)
        got, want = (gradients(f, a, b) for f in (compiled, step))
        assert_equal(got, want)
        with torch.no_grad():
            assert_equal([compiled(a, b)], [step(a, b)])


def test_export_and_meta():
    class Module(torch.nn.Module):
        def forward(self, a, b):
            return gemm(a, b, "minplus")

    a, b = torch.rand(3, 4), torch.rand(2, 4, 5)
    exported = torch.export.export(Module(), (a, b))
    assert "tropical.gemm" in str(exported.graph)
    assert_equal([exported.module()(a, b)], [gemm(a, b, "minplus")])
    fake = gemm(a.to("meta"), b.to("meta"))
    assert (fake.shape, fake.device.type) == ((2, 3, 5), "meta")


@pytest.mark.parametrize("semiring", ["maxplus", "maxmin", "plustimes", "logplus"])
def test_vmap_and_grad_of_functions(semiring):
    def product(x, y):
        return gemm(x, y, semiring)

    def loss(x, y):
        return product(x, y).sin().sum()

    a, b = pair((6, 3, 4), (6, 4, 5))
    vmap, grad = torch.func.vmap, torch.func.grad
    c = product(a, b)
    assert_equal([vmap(product)(a, b)], [c])
    assert_equal([vmap(product, (0, None))(a, b[1])], [product(a, b[1])])
    assert_equal([vmap(product, (1, 2), 1)(a.movedim(0, 1), b.movedim(0, 2))], [c.movedim(0, 1)])
    assert_equal([vmap(product, (None, 0))(a[0, 0], b)], [product(a[0, 0], b)])
    assert_equal([vmap(vmap(product, (0, None)), (None, 0))(a, b)], [product(a, b[:, None])])
    want = torch.autograd.grad(loss(a, b), (a, b))
    x, y = a.detach(), b.detach()
    assert_equal(grad(loss, (0, 1))(x, y), want)
    assert_equal(vmap(grad(loss, (0, 1)))(x, y), want)
    assert_equal(grad(lambda x, y: vmap(product)(x, y).sin().sum(), (0, 1))(x, y), want)
    assert_equal(torch.autograd.grad(vmap(product)(a, b).sin().sum(), (a, b)), want)
    with torch.no_grad():
        assert_equal(vmap(grad(loss, (0, 1)))(x, y), want)
    hessian = torch.func.jacrev(grad(loss))(x[0], y[0])
    u, v = x[0].requires_grad_(), y[0]
    rows = torch.autograd.functional.hessian(lambda u: loss(u, v), u)
    assert_equal([hessian], [rows])


def test_vmap_is_one_product(calls):
    torch.func.vmap(gemm)(torch.rand(9, 2, 3), torch.rand(9, 3, 2))
    assert [call.a.shape for call in calls] == [(9, 2, 3)]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: gemm(x, x),
        interop.closure,
        lambda x: interop.shortest_paths(x, indices=0),
        lambda x: interop.log_likelihood(x[0], x, x),
        lambda x: interop.viterbi(x[0], x, x)[1],
        lambda x: interop.crf_log_likelihood(x[0], x, x, torch.zeros(2, dtype=torch.int64)),
    ],
    ids=["gemm", "closure", "shortest_paths", "log_likelihood", "viterbi", "crf_log_likelihood"],
)
def test_forward_mode_is_refused(function):
    x = torch.rand(2, 2)

    def tangent(x):
        return torch.func.jvp(function, (x,), (x,))

    with pytest.raises(NotImplementedError, match="jvp"):
        tangent(x)
    with pytest.raises(Exception, match=r"Observed exception|jvp"):  # silence would be zeros
        torch.compile(tangent, fullgraph=True, backend="aot_eager")(x)


@pytest.mark.parametrize("semiring", SELECTIVE)
def test_forward_mode_over_gradients(semiring):
    """They are linear in what they are made of: silence would be zeros."""
    forward = torch.autograd.forward_ad
    a, b = pair((3, 4), (4, 2))
    c = gemm(a, b, semiring)
    want = torch.autograd.grad(c, (a, b), torch.ones_like(c), retain_graph=True)
    with forward.dual_level():
        g = forward.make_dual(torch.zeros_like(c), torch.ones_like(c))
        got = torch.autograd.grad(c, (a, b), g)
        assert_equal([forward.unpack_dual(x).tangent for x in got], want)


def test_compiled_vmap():
    a, b = pair((6, 3, 4), (4, 5))
    mapped = torch.compile(torch.func.vmap(gemm, (0, None)), fullgraph=True, backend="aot_eager")
    assert_equal(gradients(mapped, a, b), gradients(gemm, a, b))


@pytest.mark.parametrize("semiring", ["maxplus", "logplus"])
def test_vmap_of_the_operator_itself(semiring):
    a, b = pair((6, 3, 4), (4, 5))

    def product(a, b):
        return torch.ops.tropical.gemm(a, b, semiring, semiring == "maxplus")[0]

    want = gradients(partial(gemm, semiring=semiring), a, b)
    mapped = torch.func.vmap(product, (0, None))
    assert_equal(gradients(mapped, a, b), want)
    ours = torch.func.vmap(partial(gemm, semiring=semiring), (0, None))
    for function in (mapped, ours):
        compiled = torch.compile(function, fullgraph=True, backend="eager")
        assert_equal(gradients(compiled, a, b), want)


def test_vmap_of_other_operators_themselves():
    x = torch.rand(4, 3, 3)
    operators = torch.ops.tropical
    paths = torch.func.vmap(lambda x: operators.paths(x, "minplus", "", None, None, True)[0])
    assert_equal([paths(x)], [interop.closure(x)])
    likelihoods = torch.func.vmap(lambda e: operators.log_likelihood(x[0, 0], x[0], e, None)[0])
    assert_equal([likelihoods(x)], [interop.log_likelihood(x[0, 0], x[0], x)])
    assert_equal([torch.func.vmap(operators.replaced)(x, x + 1)], [x + 1])


def test_lazily_negative_views():
    z = torch.randn(3, 4, dtype=torch.complex64).conj().imag
    assert z.is_neg()
    assert_equal([gemm(z, z.mT)], [gemm(z.resolve_neg(), z.mT.resolve_neg())])


def test_inputs_and_result_may_change_before_the_walk():
    a, b = pair((2, 3), (3, 2))
    c = gemm(a, b)
    want = torch.autograd.grad(gemm(a, b).sum(), (a, b))
    c += 1  # its own value is not kept
    assert_equal(torch.autograd.grad(c.sum(), (a, b)), want)
    x = a.detach().clone()
    c = gemm(x, b, "maxtimes")
    x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "function,dtype",
    [
        (lambda x, a, b: gemm(x, b.mT), torch.float32),
        (lambda x, a, b: gemm(x, x.mT), torch.float32),
        (lambda x, a, b: gemm(a, b), torch.float32),
        (lambda x, a, b: gemm(a.double(), b), torch.float64),
    ],
    ids=["half-single", "half-half", "single-single", "double-single"],
)
def test_autocast(half, compiled, function, dtype):
    """The products of autocast's own operations have 16 bits; their products here have 32."""

    def run(a, b):
        x = a @ b
        assert x.dtype == half
        return function(x, a, b)

    a, b = pair((3, 4), (4, 5), dtype=torch.float32)
    with torch.autocast("cpu", dtype=half):
        made = torch.compile(run, fullgraph=True, backend="eager") if compiled else run
        c, x = made(a, b), (a @ b).float()
    want = function(x.to(dtype), a.to(dtype), b.to(dtype))
    assert c.dtype == dtype
    torch.testing.assert_close(c, want, rtol=0, atol=0)
    for leaf in torch.autograd.grad(c.sum(), (a, b)):
        assert leaf.dtype == torch.float32 and leaf.isfinite().all() and leaf.any()


def test_autocast_refuses():
    a, b = torch.rand(2, 3), torch.rand(3, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        check_refused(
            gemm,
            (TypeError, "b: expected torch.float32, the dtype of a, got torch.int32", a, b.int()),
            (TypeError, "a: expected a torch.Tensor, got ndarray", a.numpy(), b),
        )


def test_refuses():
    a, b = torch.rand(2, 3), torch.rand(3, 2)
    half = r"a: expected a dtype of plustimes \(float32.*, got torch.float16"
    check_refused(
        gemm,
        (TypeError, "a: expected a torch.Tensor, got ndarray", a.numpy(), b),
        (TypeError, "b: expected a torch.Tensor, got float", a, 1.0),
        (TypeError, "b: expected torch.float32, the dtype of a, got torch.float6", a, b.double()),
        (TypeError, half, a.half(), b.half(), "plustimes"),
        (TypeError, r"a: expected a dtype of orand \(bool\), got torch.float32", a, b, "orand"),
        (ValueError, r"got \(2, 3\) and \(2, 2\)", a, b[:2]),
        (ValueError, r"got \(3,\) and \(2,\)", a[0], b[0]),
        (ValueError, r"got \(\) and \(3, 2\)", a[0, 0], b),
        (ValueError, "do not broadcast", a.expand(2, 2, 3), b.expand(3, 3, 2)),
        (ValueError, "unknown semiring 'maxpluss'", a, b, "maxpluss"),
        (ValueError, "a: .* torch.strided, got torch.sparse_coo", a.to_sparse(), b),
    )


def test_refuses_other_devices():
    class OnMetal(torch.Tensor):
        device = torch.device("mps", 0)

    class OnCuda(torch.Tensor):
        device = torch.device("cuda", 1)

    x = torch.rand(2, 2)
    with pytest.raises(ValueError, match=r"a: .* the CPU or an NVIDIA GPU, got one on mps"):
        gemm(x.as_subclass(OnMetal), x)
    with pytest.raises(ValueError, match="a: expected a tensor on the CPU, got one on cuda:1"):
        interop.closure(x.as_subclass(OnCuda))


@pytest.mark.parametrize("one, other", [("cpu", "meta"), ("meta", "cpu")])
def test_refuses_tensors_without_data_beside_others(one, other):
    x, y = torch.zeros(2, 2, device=one), torch.zeros(2, 2, device=other)
    ends = torch.zeros(1, dtype=torch.int64, device=other)
    each = "expected tensors on one device, got some on cpu and meta"
    check_refused(interop.gemm, (ValueError, f"^gemm: {each}", x, y))
    check_refused(interop.einsum, (ValueError, f"^gemm: {each}", "ij,jk->ik", x, y))
    check_refused(interop.viterbi, (ValueError, f"^viterbi: {each}", x[0], x, y))
    with pytest.raises(ValueError, match=f"^paths: {each}"):
        interop.shortest_paths(x, indices=ends)


def test_absent_torch_is_asked_for():
    code = "import sys; sys.modules['torch'] = None; import tropical.interop.torch"
    error = run_command(sys.executable, "-c", code).stderr
    assert "torch is not installed (pip install 'tropical-blas[torch]')" in error


def far_apart(dtype):
    """Logarithms thousands apart, far from 0, some of them -inf; also a row and a column."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(1e4, 1000, (6, 5)), rng.normal(0, 1000, (5, 7))
    a[1, :3] = a[2] = b[:, 4] = b[0, :2] = -np.inf
    a[3], b[:, 6] = rng.normal(-1e4, 1, 5), rng.normal(0, 1, 5)
    return [torch.tensor(x, dtype=dtype, requires_grad=True) for x in (a, b)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_logplus_of_any_range(dtype):
    a, b = far_apart(dtype)
    got, want = gradients(partial(gemm, semiring="logplus"), a, b), defined(a, b, "logplus")
    close = 4000 * torch.finfo(dtype).eps  # the logarithms round
    for x, y in zip(got, want, strict=True):
        torch.testing.assert_close(x, y.to(x.dtype), rtol=close, atol=close)
    assert not any(x[a.isinf() if x.shape == a.shape else b.isinf()].any() for x in got[1:])


def test_logplus_differentiates_twice_where_exponentials_underflow():
    a, b = pair((3, 4), (4, 2), seed=3)
    a, b = ((800 * x).detach().requires_grad_() for x in (a, b))
    b.data[1] = 800 - a.data[0, 1]  # a tie or nearly, so that derivatives are not all 0 or 1
    b.data[2] = 800.5 - a.data[0, 2]
    product = partial(gemm, semiring="logplus")
    assert torch.autograd.gradcheck(product, (a, b), rtol=1e-5)
    assert torch.autograd.gradgradcheck(product, (a, b), rtol=1e-5)


def test_opcheck_and_gradients_of_weighted():
    shapes = ((2, 1, 2, 3), (2, 3), (1, 1), (3, 2), (2, 2))
    rng = np.random.default_rng(0)
    operands = [torch.tensor(rng.normal(size=shape), requires_grad=True) for shape in shapes]
    operator = torch.ops.tropical.weighted
    torch.library.opcheck(operator.default, tuple(operands))
    assert torch.autograd.gradcheck(operator, operands)
    assert torch.autograd.gradgradcheck(operator, operands)


def test_tensors_of_the_engine_become_tensors_of_pytorch():
    x = autograd.Tensor(np.arange(3, dtype=np.float32))
    for convert in (torch.as_tensor, torch.from_dlpack):
        got = convert(x)
        assert got.dtype == torch.float32 and got.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"requires grad .* use data or detach\(\)"):
        torch.as_tensor(autograd.Tensor([1.0], requires_grad=True))
