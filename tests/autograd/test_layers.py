"""Modules of the engine import only modules below; `Tensor` declares what `operators` attaches."""

import ast
from pathlib import Path

import tropical.autograd
from tropical.autograd import Tensor, operators

FOLDER = Path(tropical.autograd.__file__).parent


def imports(path):
    """The modules of the engine that a module imports, in functions and for types as well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module.split(".")[0]] if node.module else [x.name for x in node.names]


def test_no_module_imports_itself_by_way_of_others():
    below = {path.stem: set(imports(path)) for path in FOLDER.glob("*.py")}
    assert below["value"] == set() and below["tensor"] == {"value"}
    while ready := {name for name, others in below.items() if not others & below.keys()}:
        for name in ready:
            del below[name]
    assert not below, "these modules import each other in a circle"


def test_tensor_declares_what_is_attached():
    tree = ast.parse((FOLDER / "tensor.py").read_text())
    (tensor,) = (node for node in tree.body if getattr(node, "name", "") == "Tensor")
    (block,) = (node for node in tensor.body if isinstance(node, ast.If))
    stored = (node for node in ast.walk(block) if isinstance(node, ast.Name))
    names = {node.id for node in stored if isinstance(node.ctx, ast.Store)}
    names |= {node.name for node in block.body if isinstance(node, ast.FunctionDef)}
    binary = [f"__{side}{name}__" for name in operators._OPERATORS for side in ("", "r")]
    assert names == {*operators._METHODS, *binary}
    for name in names:
        assert getattr(Tensor, name).__doc__ or name in binary, name
