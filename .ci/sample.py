"""Pytest plugin: `SAMPLE=7 pytest -p sample` runs a seventh of the variants of each test."""

import os
import zlib

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    every = int(os.environ["SAMPLE"])
    seen: set[str] = set()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        function = item.nodeid.partition("[")[0]
        chosen = function not in seen or zlib.crc32(item.nodeid.encode()) % every == 0
        (kept if chosen else left_out).append(item)
        seen.add(function)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
