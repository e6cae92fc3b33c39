"""Sphinx configuration; the package must be installed: the API and the semiring table read it."""

import contextlib
import importlib
import io
import os
from pathlib import Path

from sphinx.application import Sphinx

import _tropical_networkx
import tropical
from tropical import cli

project = "tropical"
author = copyright = "the tropical developers"
release = version = tropical.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
]
autodoc_mock_imports = ["jax", "torch"]  # too big to build pages with
exclude_patterns = ["_build", "figures.md"]  # the page performance includes it
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
autosummary_generate = False  # the entries stand below the tables
autodoc_typehints = "none"  # signatures without types and overloads: Parameters describes them
myst_enable_extensions = ["dollarmath", "substitution"]
myst_heading_anchors = 3
nb_execution_mode = "force"  # the notebooks are stored without outputs
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True


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


def help_of(*command: str) -> str:
    """What `python -m tropical COMMAND --help` prints; pages show it as {{ help_COMMAND }}."""
    os.environ.update(COLUMNS="88", NO_COLOR="1")
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        cli.main([*command, "--help"])
    return f"```text\n{text.getvalue()}```"


myst_substitutions = {
    "semiring_table": semiring_table(),
    "networkx_table": networkx_table(),
    "help": help_of(),
    **{f"help_{command}": help_of(command) for command in cli.COMMANDS},
}


def source_of(app: Sphinx, module: str, name: str) -> str | None:
    """The module whose source viewcode shows, if not the one that Python names.

    C++ has no source in Python. The link back from `config`, a function that has the name of its
    module, would lead nowhere.
    """
    holder = importlib.import_module(module)
    if (module, name) == ("tropical.config", "config"):
        return "tropical"
    found = getattr(holder, name.split(".")[0], None)
    return module if getattr(found, "__module__", "") == "tropical._core" else None


def setup(app: Sphinx) -> None:
    app.connect("viewcode-follow-imported", source_of)
