"""Rounds that are kept on a busy machine too; timing itself is tested in `test_benchmarks`."""

import math
from functools import partial

import pytest

from tropical.bench import record
from tropical.measure.timing import interleave


@pytest.fixture(autouse=True)
def _every_round_is_kept(monkeypatch):
    monkeypatch.setattr(record, "interleave", partial(interleave, drift=math.inf))
