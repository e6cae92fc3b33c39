"""The reference lists every public name, and no other."""

import importlib
import re
from pathlib import Path

import pytest

import tropical

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("docs/api/*.md"))
# Modules whose names people import; networkx itself calls those of its backend.
MODULES = [
    "tropical",
    *(
        f"tropical.{name}"
        for name in ("autograd", "cuda", "graph", "nn", "optim", "quantized", "sequence")
    ),
    "tropical.spectral",
    *(f"tropical.interop.{name}" for name in ("dask", "dlpack", "pandas", "torch", "jax")),
]
# Public names of modules without __all__, or of which not all is for users.
OTHERS = {
    "tropical.config": {"config"},
    "tropical.interop.networkx": {"DenseGraph"},
    "tropical.interop.opt_einsum": {"implementation", "tensordot"},
    "tropical.interop.threadpoolctl": {"register"},
    "tropical.semirings": {"Semiring", "get", "names"},
    "tropical.tuning": {"file", "read", "use"},
}
NO_OBJECTS = {"__version__", "semirings"}  # a text and a module
pytestmark = pytest.mark.skipif(not PAGES, reason="needs the manual")


def listed():
    """{module: the names that the pages list}, without the examples."""
    found = {}
    for page in PAGES:
        if page.stem == "examples":
            continue
        entries = r"^\.\. auto(?:function|class|exception):: (\S+)\.(\w+)$"
        for module, name in re.findall(entries, page.read_text(encoding="utf-8"), re.MULTILINE):
            assert name not in found.setdefault(module, set()), f"{module}.{name} stands twice"
            found[module].add(name)
    return found


def public(module):
    try:
        names = importlib.import_module(module).__all__
    except ImportError:  # PyTorch or JAX: read what the file says
        path = ROOT / "src" / module.replace(".", "/") / "__init__.py"
        (text,) = re.findall(r"\n__all__ = \[(.*?)\]", path.read_text("utf-8"), re.DOTALL)
        names = re.findall(r'"(\w+)"', text)
    return set(names) - NO_OBJECTS


def test_every_public_name_is_listed():
    wanted = {module: public(module) for module in MODULES} | OTHERS
    found = listed()
    assert {"missing": less(wanted, found), "too many": less(found, wanted)} == {
        "missing": set(),
        "too many": set(),
    }


def less(one, other):
    """Full names of `one` that are not in `other`."""
    return {f"{m}.{name}" for m, names in one.items() for name in names - other.get(m, set())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_table_of_a_page_has_its_entries(page):
    text = page.read_text(encoding="utf-8")
    entries = re.findall(r"^\.\. auto(?:function|class|exception):: (\S+)$", text, re.MULTILINE)
    table = re.findall(r"^   ~(\S+)$", text, re.MULTILINE)
    assert table in ([], entries)


def test_every_page_is_in_the_table():
    index = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"](api/{page.name})" in index and f"\napi/{page.stem}\n" in index


def test_the_names_exist():
    for name in tropical.__all__:
        assert hasattr(tropical, name)
