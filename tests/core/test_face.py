"""The Python face: names, stubs, semirings as objects, what importing costs and brings along."""

import ast
import copy
import dataclasses
import inspect
import operator
import pickle
import sys
from pathlib import Path

import numpy as np
import oracle
import pytest
from support import run_command, run_python

import tropical
from tropical import _core, semirings
from tropical.autograd import no_grad
from tropical.memory import memory_mode

PUBLIC = [
    "gemm",
    "GemmWorkspace",
    "Epilogue",
    "Plan",
    "explain",
    "show_config",
    "options",
    "get_num_threads",
    "set_num_threads",
    "semirings",
    "einsum",
    "Counted",
    "__version__",
]
PACKAGE = Path(tropical.__file__).parent
STUB = ast.parse((PACKAGE / "_core.pyi").read_text())


def stub_names(body):
    named = {n.name for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    return named | {n.target.id for n in body if isinstance(n, ast.AnnAssign)}


def test_public_names():
    assert set(tropical.__all__) == set(PUBLIC)
    assert set(dir(tropical)) >= {*PUBLIC, "autograd", "graph", "spectral", "ufunc"}
    assert all(hasattr(tropical, name) for name in PUBLIC)
    assert tropical.gemm is _core.gemm and tropical.GemmWorkspace is _core.GemmWorkspace


def test_stub_of_the_extension():
    """It has every public name of _core, and every member of its classes, and no others."""
    typing_only = {"HasName", "Config", "GemmOptions", "_Out"}
    real = {name for name in dir(_core) if not name.startswith("_")}
    assert stub_names(STUB.body) - typing_only == real
    (workspace,) = (n for n in STUB.body if getattr(n, "name", "") == "GemmWorkspace")
    members = {name for name in vars(_core.GemmWorkspace) if not name.startswith("_")}
    assert {name for name in stub_names(workspace.body) if not name.startswith("_")} == members
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("module, ending", [("semirings", ("",)), ("ufunc", ("", "_multiply"))])
def test_names_for_type_checkers(module, ending):
    """The list in C++ again, which `mypy` can read; see tests/house/calls.py."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    *_, block = (n for n in tree.body if isinstance(n, ast.If))
    named = [n.target.id for n in block.body if isinstance(n, ast.AnnAssign)]
    assert sorted(named) == sorted(n + e for n in semirings.names() for e in ending)


def stub_parameters(name):
    # The last overload names every parameter; the others take some by `GemmOptions`.
    *_, stub = (n for n in STUB.body if isinstance(n, ast.FunctionDef) and n.name == name)
    return [x.arg for x in stub.args.args], [x.arg for x in stub.args.kwonlyargs]


@pytest.mark.parametrize("function", [_core.gemm, tropical.explain], ids=lambda f: f.__name__)
def test_stub_has_the_parameters(function):
    parameters = inspect.signature(function).parameters.values()
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert stub_parameters(function.__name__) == (positional, keywords)


def test_signature_of_gemm():
    parameters = inspect.signature(tropical.gemm).parameters
    defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
    assert list(parameters)[:2] == ["a", "b"]
    assert defaults == {
        "semiring": "maxplus",
        "out": None,
        "accumulate": False,
        "workspace": None,
        "threads": None,
        "kernel": None,
        "return_argmax": False,
        "epilogue": None,
        "precision": None,
    }


SIGNATURES = {
    "GemmWorkspace": "()",
    "GemmWorkspace.reserve": "(self, m, n, k, dtype='float32', semiring='maxplus', threads=None)",
    "GemmWorkspace.clear": "(self)",
    "options": "(kernel, isa, threads, fast_ring, precision)",
    "get_num_threads": "()",
    "set_num_threads": "(n)",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    signature = inspect.signature(operator.attrgetter(name)(tropical))
    plain = signature.replace(return_annotation=inspect.Signature.empty)
    if name == "options":
        plain = f"({', '.join(plain.parameters)})"
    assert str(plain) == SIGNATURES[name]


def test_signature_of_a_bound_method():
    bound = inspect.signature(tropical.GemmWorkspace().reserve)
    assert list(bound.parameters) == ["m", "n", "k", "dtype", "semiring", "threads"]


def test_reprs():
    workspace = tropical.GemmWorkspace()
    assert repr(workspace) == "<tropical.GemmWorkspace of 0 bytes>"
    workspace.reserve(300, 300, 300)
    assert repr(workspace) == f"<tropical.GemmWorkspace of {workspace.nbytes} bytes>"
    for block in (
        "options(kernel='naive', isa=None, threads=2, fast_ring=None, precision=None)",
        "memory_mode('off')",
        "no_grad()",
    ):
        known = {"options": tropical.options, "memory_mode": memory_mode, "no_grad": no_grad}
        assert repr(eval(block, known)) == block


@pytest.mark.parametrize("ring", semirings.ALL, ids=lambda ring: ring.name)
def test_copies_of_a_semiring_are_the_semiring(ring):
    assert copy.copy(ring) is ring and copy.deepcopy([ring])[0] is ring
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(ring, protocol)) is ring
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(dataclasses.replace(ring, exact=not ring.exact))


@pytest.mark.parametrize("thing", [_core.gemm, _core.GemmWorkspace, _core.GemmWorkspace.reserve])
def test_docstrings(thing):
    assert len(inspect.getdoc(thing).splitlines()) > 5


def test_doc_of_gemm_names_everything():
    text = inspect.getdoc(tropical.gemm)
    for word in [*inspect.signature(tropical.gemm).parameters, *oracle.SEMIRINGS, "Raises", ">>>"]:
        assert word in text, word


def test_semirings_as_objects():
    assert semirings.names() == tuple(s["name"] for s in _core.semirings())
    assert set(semirings.names()) == set(oracle.SEMIRINGS)
    for s in semirings.ALL:
        assert getattr(semirings, s.name) is s is semirings.get(s.name) is semirings.get(s)
        assert s.name in dir(semirings) and s.add in str(s) and s.multiply in str(s)
        for dtype in s.dtypes:
            assert s.zero(dtype) == oracle.SEMIRINGS[s.name].zero(dtype)
            assert s.one(np.dtype(dtype)) == oracle.SEMIRINGS[s.name].one(dtype)
            x = np.array([1, 0, 1, 0], dtype)
            assert s.idempotent == np.array_equal(s.add_ufunc(x, x), x) or not s.exact
            if s.selective:
                total = s.add_ufunc(x, x[::-1])
                assert np.array_equal(s.better(x, x[::-1]), (total == x) & (x != x[::-1]))
            assert s.nonnegative == (s.selective and s.one(dtype) == 1)
        if not s.selective:
            with pytest.raises(ValueError, match=f"expected a selective one, got {s.name}"):
                s.better(1, 2)
        assert s.add_ufunc is oracle.SEMIRINGS[s.name].add
        assert s.multiply_ufunc is oracle.SEMIRINGS[s.name].multiply
        for dtype in ("float16", "complex64"):  # test_paths_storage.py has those that are stored
            if dtype not in s.stored:
                with pytest.raises(TypeError, match=dtype):
                    s.zero(dtype)
    assert semirings.get("_max_plus") is semirings.maxplus
    for ask in (semirings.get, lambda name: tropical.gemm([[1.0]], [[1.0]], semiring=name)):
        with pytest.raises(ValueError, match="semiring: unknown semiring 'max-max'; the") as error:
            ask("max-max")
        assert all(name in str(error.value) for name in oracle.SEMIRINGS)
        with pytest.raises(ValueError, match=r"'max-plus'; did you mean 'maxplus'"):
            ask("max-plus")
        with pytest.raises(TypeError, match=r"semiring: expected a name or a .*Semiring, got 3"):
            ask(3)
    with pytest.raises(AttributeError):
        semirings.maxmax  # noqa: B018


def test_version():
    numbers = tropical.__version__.split(".")
    assert len(numbers) >= 3 and numbers[0].isdigit()
    metadata = pytest.importorskip("importlib.metadata")
    try:
        installed = metadata.version("tropical-blas")
    except metadata.PackageNotFoundError:
        pytest.skip("not installed as a distribution")
    assert installed == tropical.__version__


def test_importing_brings_little_along():
    run_python("""
        import sys, numpy
        before = set(sys.modules)
        import tropical
        new = set(sys.modules) - before
        for heavy in ("argparse", "csv", "importlib.metadata", "scipy", "threadpoolctl"):
            assert heavy not in new, heavy
        assert not any(name.startswith(("tropical.bench", "tropical.examples")) for name in new)
    """)


def test_import_time():
    """At most a fifth of NumPy's own processor time beyond it, in the best of five processes."""
    code = (
        "import time; a = time.process_time(); import numpy; b = time.process_time(); "
        "import tropical; print((time.process_time() - b) / (b - a))"
    )
    runs = [run_command(sys.executable, "-c", code, check=True) for _ in range(5)]
    share = min(float(run.stdout) for run in runs)
    assert share < 0.2, f"{share:.0%} of NumPy's"


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("tropical.contraction", "tropical", "Counted"),
        ("tropical.contraction", "tropical", "einsum"),
        ("tropical.autograd.memory", "tropical.memory", "memory_mode"),
        ("tropical.backends", "tropical.interop.opt_einsum", "tensordot"),
    ],
)
def test_former_modules_warn(old, new, name):
    run_python(f"""
        import importlib, warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = importlib.import_module({old!r})
        assert "{old} is deprecated: use {new}" in str(caught[-1].message), caught
        assert module.{name} is importlib.import_module({new!r}).{name}
    """)
