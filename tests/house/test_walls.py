"""The walls of cpp/: who may include whom, how long a file and a function may be."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

CPP = Path(__file__).parents[2] / "cpp"
SOURCES = sorted(CPP.rglob("*.[ch]pp"))
pytestmark = pytest.mark.skipif(not SOURCES, reason="needs the sources")

# A place is a folder, a folder of graph/, or one of two kinds of files beside folders: `border`,
# which the kernels and everybody else share, and `gemm`, above all other files of `ground`, with
# what calls it: `storage` and `post_ops`.
BORDER = {"dtype", "semiring", "table", "view"}
ABOVE_GROUND = {"gemm", "post_ops", "storage"}
MAY_INCLUDE = {
    "kernels": {"border"},
    "border": set(),
    "runtime": set(),
    "ground": {"border", "runtime"},
    "gemm": {"border", "runtime", "ground"},
    "bindings": {"border", "runtime", "ground", "gemm", "tenants"},
    "tests": {"border", "runtime", "ground", "gemm", "tenants"},
}
TENANT_MAY_INCLUDE = {"border", "runtime", "ground"}  # training/, those of graph/ and those to come
KERNEL_HEADERS = {"cstddef", "cstdint", "limits", "arm_neon.h", "emmintrin.h", "immintrin.h"}


def place(file):
    """The place of a file, named from cpp/ on as #include names it."""
    folder, _, name = file.rpartition("/")
    if folder:
        return folder.removeprefix("graph/").split("/")[0]
    stem = name.split(".")[0]
    return "border" if stem in BORDER else "gemm" if stem in ABOVE_GROUND else "ground"


def includes(path, brackets):
    return re.findall(rf"^#include {brackets}", path.read_text(encoding="utf-8"), re.MULTILINE)


def functions(text):
    """First line and number of lines of each function, found by clang-format's indentation."""
    lines = text.splitlines()
    for end, line in enumerate(lines):
        if line in ("}", "    }"):  # of a namespace or of a struct
            inner = " " * (line.index("}") + 1)
            start = end - 1
            while not lines[start] or lines[start].startswith((inner, "#", "//", "  p")):
                start -= 1
            if "(" in lines[start]:
                yield lines[start].strip(), end - start + 1


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CPP)))
def test_includes(path):
    here = place(str(path.relative_to(CPP)))
    allowed = MAY_INCLUDE.get(here, TENANT_MAY_INCLUDE) | {here}
    for file in includes(path, '"(.*)"'):
        there = place(file)
        known = {"tenants"} if there not in MAY_INCLUDE else {there}
        assert {there, *known} & allowed, f"{here}/ may not include {file}"
    if here == "kernels":
        assert set(includes(path, "<(.*)>")) <= KERNEL_HEADERS


def test_no_circle():
    """A header and its source are one node; bindings/module, which lists the bindings, is none."""
    below = {}
    for path in SOURCES:
        node = str(path.relative_to(CPP).with_suffix(""))
        if node != "bindings/module":
            nodes = {file.rpartition(".")[0] for file in includes(path, '"(.*)"')}
            below.setdefault(node, set()).update(nodes - {node})
    TopologicalSorter(below).prepare()


def test_ground_floor_is_short():
    """At most 20 files and 6 folders."""
    entries = list(CPP.iterdir())
    assert sum(entry.is_file() for entry in entries) <= 20
    assert sum(entry.is_dir() for entry in entries) <= 6


def test_functions_are_short():
    """At most 45 lines."""
    for path in SOURCES:
        if not path.is_relative_to(CPP / "tests"):
            long = [found for found in functions(path.read_text(encoding="utf-8")) if found[1] > 45]
            assert not long, path


def test_files_are_short():
    """At most 200 lines in the core, or line one says: `// 210 lines, as ...`."""
    for path in SOURCES:
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.relative_to(CPP).parts[0] not in ("bindings", "tests"):
            assert len(lines) <= 200 or re.match(r"// \d+ lines, as ", lines[0]), path


def test_functions_are_found():
    text = "int f(int a,\n      int b) {\n    x;\n}\n"
    text += "struct S {\n    void g() {\n        x;\n    }\n};\n"
    assert list(functions(text)) == [("int f(int a,", 4), ("void g() {", 3)]
