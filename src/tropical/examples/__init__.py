"""Modules to run: ``python -m tropical.examples.xor`` and so on; each answers ``--help``."""

from __future__ import annotations

import argparse


def new_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of an example's command line; the description is the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m tropical.examples.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
