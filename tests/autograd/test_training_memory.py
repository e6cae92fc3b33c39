"""What training loops take of memory: nothing new after the third step, and little in all."""

import gc

import numpy as np
import pytest

from tropical.autograd import Tensor
from tropical.examples.mnist import models
from tropical.examples.mnist.training import OPTIMIZERS, Ours, Settings
from tropical.memory import memory_mode, memory_stats, release_memory, reset_memory_stats

BATCH = 32
STEPS = 8
LEAST_LIMIT = 4 << 20  # the pool may hold so much, whatever the peak


@pytest.fixture(scope="module")
def digits():
    rng = np.random.default_rng(0)
    images = rng.random((BATCH * STEPS, models.PIXELS), dtype=np.float32)
    return images, rng.integers(0, models.CLASSES, len(images))


def epoch(digits, model, settings, hidden=None):
    """Counters after each step of an epoch, whose peak does not have what lived before."""
    gc.collect()
    release_memory()
    ours = Ours(models.build(model, hidden), settings)
    reset_memory_stats()
    before = memory_stats().live_bytes
    steps = []
    ours.epoch(*digits, np.arange(len(digits[1])), lambda *_: steps.append(memory_stats()))
    assert len(steps) == steps[-1].steps == STEPS
    return steps, steps[-1].peak_live_bytes - before


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", models.MODELS)
def test_steps_after_the_third_allocate_nothing(digits, model, optimizer):
    steps, _ = epoch(digits, model, Settings(BATCH, optimizer=optimizer))
    assert [step.step_allocations for step in steps[3:]] == [0] * (STEPS - 3)
    assert steps[0].step_allocations > 0
    assert steps[-1].reserved_bytes == steps[3].reserved_bytes


@pytest.mark.parametrize("model", models.MODELS)
def test_the_pool_reserves_little_more_than_the_peak(digits, model):
    steps, peak = epoch(digits, model, Settings(BATCH, memory="pool"))
    assert peak < steps[-1].reserved_bytes <= max(1.5 * peak, LEAST_LIMIT)


def test_the_pool_takes_less_than_a_pass_that_frees_nothing(digits):
    """At its peak, of convolutions: with every class of sizes at its own peak it took more."""
    images, labels = digits
    many = np.repeat(images, 4, axis=0), np.repeat(labels, 4)
    steps, peak = epoch(many, "cnn", Settings(4 * BATCH, memory="pool"))
    _, peak_off = epoch(many, "cnn", Settings(4 * BATCH, memory="off"))
    assert peak > LEAST_LIMIT
    assert steps[-1].reserved_bytes <= min(1.3 * peak, peak_off)


@pytest.fixture
def empty_pool():
    gc.collect()
    release_memory()
    reset_memory_stats()


def step():
    x = Tensor(1.0, requires_grad=True)
    (x * x).backward()


@pytest.mark.parametrize("steps", [False, True])
def test_lengths_that_grow(steps, empty_pool):
    """With a block of every class of sizes, the pool held eleven times the peak."""
    before = memory_stats()
    with memory_mode("pool"):
        for length in range(1 << 20, 200 << 20, 3 << 20):
            several = [np.empty(length // 4, np.uint8) for _ in range(4)]
            del several
            if steps:
                step()
            stats = memory_stats()
            held = stats.reserved_bytes - before.reserved_bytes
            assert held <= max(1.3 * stats.peak_live_bytes, 5 << 20), length


def test_blocks_that_no_step_needs_go_back(empty_pool):
    before = memory_stats().reserved_bytes
    with memory_mode("pool"):
        large = [np.empty(n << 20, np.uint8) for n in (1, 2, 5, 20)]
        kept = large[0]
        del large
        for _ in range(40):
            array = np.empty(1 << 16, np.uint8)
            del array
            step()
    held = memory_stats().reserved_bytes - before
    assert kept.nbytes < held < 2 << 20
