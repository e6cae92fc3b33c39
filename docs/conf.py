"""Sphinx configuration; the package must be installed: the API and the semiring table read it."""

import importlib
from pathlib import Path

import _tropical_networkx
import tropical

project = "tropical"
author = "the tropical developers"
release = version = tropical.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
autodoc_mock_imports = ["jax", "torch"]  # too big to build pages with
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tropical {release}"
# MathJax comes from a package, and the site keeps the one file that it needs: no page loads
# anything from another site. The package's own extension would copy all of its 24 MB.
mathjax_package = Path(importlib.import_module("sphinx-mathjax-offline").__file__ or "").parent
mathjax_path = "tex-svg.js"
html_static_path = ["_static", str(mathjax_package / "static/mathjax" / mathjax_path)]
html_css_files = ["site.css"]
default_role = "py:obj"
numpydoc_show_class_members = False
autodoc_typehints = "none"  # signatures without types and overloads: Parameters describes them
myst_enable_extensions = ["dollarmath", "substitution"]
myst_heading_anchors = 3


def semiring_table() -> str:
    """Markdown table of the semirings of this build; pages show it as {{ semiring_table }}."""
    header = ["name", "(+)", "(x)", "zero", "one", "argmax", "dtypes"]
    lines = [header, ["---"] * len(header)]
    for s in tropical.semirings.ALL:
        example = s.dtypes[0]  # zero and one as this dtype has them
        lines.append(
            [
                f"`{s.name}`",
                s.add,
                s.multiply,
                str(s.zero(example)),
                str(s.one(example)),
                "yes" if s.selective else "no",
                ", ".join(s.dtypes),
            ]
        )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def networkx_table() -> str:
    """Markdown table of the functions of the networkx backend."""
    lines = ["| function | how |", "| --- | --- |"]
    lines += [f"| `{name}` | {text} |" for name, text in _tropical_networkx.FUNCTIONS.items()]
    return "\n".join(lines)


myst_substitutions = {"semiring_table": semiring_table(), "networkx_table": networkx_table()}
