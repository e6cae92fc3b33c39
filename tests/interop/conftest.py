"""What the tests of other libraries share."""

from typing import Any, NamedTuple

import pytest

import tropical


class Call(NamedTuple):
    a: Any
    b: Any
    options: dict[str, Any]
    result: Any


@pytest.fixture
def calls(monkeypatch):
    """The calls of tropical.gemm that the test makes, in their order."""
    seen, real = [], tropical.gemm

    def spy(a, b, **options):
        seen.append(Call(a, b, options, real(a, b, **options)))
        return seen[-1].result

    monkeypatch.setattr(tropical, "gemm", spy)
    return seen
