"""Pytest plugin: `SAMPLE=7 pytest -p sample` runs every seventh test."""

import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = items[:: int(os.environ["SAMPLE"])]
