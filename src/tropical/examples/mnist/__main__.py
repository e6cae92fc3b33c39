"""Train on MNIST, compare kernels and rivals, draw what was learned, and read a digit."""

from __future__ import annotations

import argparse
import copy
import functools
import math
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tropical
from tropical import nn
from tropical.autograd import softmax
from tropical.measure.contenders import require
from tropical.measure.terminal import (
    POSITIVE,
    integer,
    new_console,
    new_file,
    new_folder,
    new_table,
    refusing,
    run,
)

from . import data as mnist
from . import models, pictures, quantizing
from .rivals import RIVALS
from .training import OPTIMIZERS, RATES, History, Ours, Settings, Trainer, accuracy, train

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NAME = "python -m tropical.examples.mnist"
_INSTALL = "'tropical-blas[mnist]'"
# The scalar triple loop takes minutes for an epoch: it learns from a part, and the time is scaled.
NAIVE_DIGITS = 1024
KERNELS = ("naive", "tiled", "direct", "packed")
PRECISIONS = ("bf16", "bf16x3", "bf16x6")
# The options that `--predict` uses.
_PREDICTS = {"predict", "load", "model", "hidden", "kernel", "threads", "memory"}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    # fmt: off
    count = integer(1)
    p = argparse.ArgumentParser(prog=_NAME, description=__doc__)
    sizes = ", ".join(f"{name} {' '.join(map(str, n))}" for name, n in models.HIDDEN.items())
    rates = ", ".join(f"{name} {rate}" for name, rate in RATES.items())
    add = p.add_argument_group("digits and network").add_argument
    add("--data-dir", type=Path, metavar="DIR",
        help="folder with MNIST's four IDX files (default: MNIST_DIR, the cache, a download)")
    add("--model", choices=list(models.MODELS), default="mlp",
        help="perceptron, convolutions, or max-plus layers (%(default)s)")
    add("--hidden", type=count, nargs="+", metavar="N", help=f"lengths of hidden layers ({sizes})")
    add("--seed", type=integer(0), default=0, help="of weights and orders (%(default)s)")
    add = p.add_argument_group("training").add_argument
    add("--epochs", type=count, default=3, metavar="N",
        help="times through all digits (%(default)s)")
    add("--batch", type=count, default=64, metavar="N", help="digits a step (%(default)s)")
    add("--optimizer", choices=list(OPTIMIZERS), help="(mlp: sgd, the others: adam)")
    add("--lr", type=POSITIVE, help=f"learning rate ({rates})")
    engine = p.add_argument_group("engine")
    add = engine.add_argument
    add("--threads", type=count, metavar="N", help="the most threads (as many as there are cores)")
    add("--memory", choices=["off", "pool"], default="pool",
        help="where memory for arrays comes from (%(default)s)")
    add = engine.add_mutually_exclusive_group().add_argument
    add("--kernel", choices=KERNELS, help="of every product (chosen by size)")
    add("--fast", action="store_true", help="time kernels and threads, take the best")
    add("--compare", action="store_true", help="train with each kernel, print the times")
    add("--precision", choices=PRECISIONS,
        help="of every product; the same network is trained in float32 as well")
    add = p.add_argument_group("rivals, pictures and weights").add_argument
    add("--rival", nargs="+", choices=list(RIVALS), default=[], metavar="RIVAL",
        help=f"train these too, from the same weights, in turns ({', '.join(RIVALS)}; mlp only)")
    add("--plots", type=new_folder, metavar="DIR", help="draw curves, confusion, worst errors")
    add("--save", type=new_file, metavar="FILE.npz", help="write the weights")
    add("--load", type=Path, metavar="FILE.npz", help="begin with these weights")
    add("--quantize", action="store_true",
        help="then compare the network with the same one in int8: accuracy, size, speed")
    add("--predict", type=Path, metavar="IMAGE", help="read a digit from a picture; needs --load")
    # fmt: on
    return p


def _settings(arguments: argparse.Namespace) -> Settings:
    optimizer = arguments.optimizer or ("sgd" if arguments.model == "mlp" else "adam")
    return Settings(
        batch=arguments.batch,
        lr=arguments.lr or RATES[optimizer],
        optimizer=optimizer,
        threads=arguments.threads or tropical.get_num_threads(),
        kernel=arguments.kernel,
        precision=arguments.precision,
        memory=arguments.memory,
    )


def _given(argv: Sequence[str] | None) -> set[str]:
    """Return the names of the options in the command line."""
    p = parser()
    absent = argparse.Namespace(**dict.fromkeys(vars(p.parse_args([])), ...))
    found = vars(p.parse_args(argv, absent))
    return {name.replace("_", "-") for name, value in found.items() if value is not ...}


def _check(p: argparse.ArgumentParser, arguments: argparse.Namespace, given: set[str]) -> None:
    """Exit, before the training, if a later step would fail."""
    if arguments.rival and arguments.model != "mlp":
        p.error("--rival trains the mlp only")
    if arguments.predict and not arguments.load:
        p.error("--predict needs --load")
    if arguments.predict and (unused := given - _PREDICTS):
        p.error(f"--predict reads a digit and trains nothing: expected no --{min(unused)}")
    for name in ("rival", "plots", "save", "load", "quantize"):
        if arguments.compare and getattr(arguments, name):
            p.error(f"--compare trains new weights for each kernel: expected no --{name}")
    require("rich", _INSTALL)
    if arguments.plots:
        require("matplotlib", _INSTALL)


@refusing(_NAME)
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; an interruption saves nothing and returns 130."""
    try:
        return _run(argv)
    except KeyboardInterrupt:
        print(f"{_NAME}: interrupted; nothing is saved", file=sys.stderr)
        return 130


def _run(argv: Sequence[str] | None) -> int:
    p = parser()
    arguments = p.parse_args(argv)
    _check(p, arguments, _given(argv))
    model = models.build(arguments.model, arguments.hidden, arguments.seed)
    if arguments.load:
        _load(model, arguments.load)
    settings = _settings(arguments)
    if arguments.predict:
        return _predict(model, settings, arguments.predict)
    console = new_console()
    say = functools.partial(console.print, markup=False, highlight=False, soft_wrap=True)
    data = mnist.load(arguments.data_dir, notify=say)
    say(
        f"{len(data.train_labels):,} digits to train with, {len(data.validation_labels):,} to "
        f"validate, {len(data.test_labels):,} to test ({data.source})"
    )
    if arguments.compare:
        _compare(console, arguments, settings, data)
        return 0
    if arguments.fast:
        with console.status("timing kernels and threads"):
            settings = _fastest(arguments, settings, data)
        say(f"fastest: kernel {settings.kernel or 'by size'}, threads {settings.threads}")
    _train(console, say, arguments, model, settings, data)
    return 0


def _load(model: nn.Module, path: Path) -> None:
    try:
        model.load(path)
    except ValueError as error:
        raise ValueError(f"{error}; --model and --hidden must be those of the file") from None


def _train(
    console: Any,
    say: Callable[[str], None],
    arguments: argparse.Namespace,
    model: nn.Module,
    settings: Settings,
    data: mnist.Dataset,
) -> None:
    ours = Ours(model, settings)
    in_float32 = [Ours(copy.deepcopy(model), replace(settings, precision=None))]
    trainers: list[Trainer] = [
        ours,
        *(in_float32 if settings.precision else []),
        *(RIVALS[name](model, settings) for name in arguments.rival),
    ]
    for trainer in trainers:
        trainer.prepare(data.train_images, data.train_labels)
    histories = _with_bar(console, say, trainers, data, arguments.epochs, arguments.seed)
    if len(histories) > 1:
        console.print(_table(histories))
    for trainer in trainers:
        share = accuracy(trainer.classify(data.test_images), data.test_labels)
        say(f"{trainer.name}: {share:.2%} of the test digits right")
    if not math.isfinite(histories[0].losses[-1]):
        say("the loss is no longer finite: try a smaller --lr")
    if arguments.save:
        model.save(arguments.save)
        say(f"weights: {arguments.save}")
    if arguments.quantize:
        with tropical.options(kernel=settings.kernel, threads=settings.threads):
            console.print(_table_of_bytes(quantizing.compare(model, data)))
    if arguments.plots:
        scores = ours.classify(data.test_images)
        for path in pictures.draw(arguments.plots, histories, scores, data):
            say(f"picture: {path}")


def _with_bar(
    console: Any,
    say: Callable[[str], None],
    trainers: list[Trainer],
    data: mnist.Dataset,
    epochs: int,
    seed: int,
) -> list[History]:
    progress = require("rich.progress", _INSTALL)
    with progress.Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks = {trainer.name: bar.add_task(trainer.name, total=epochs) for trainer in trainers}

        by_name = {trainer.name: trainer for trainer in trainers}
        images, labels = data.validation_images[:500], data.validation_labels[:500]

        def report(history: History) -> None:
            if bar.disable:
                return
            done, loss = history.curve[-1]
            right = accuracy(by_name[history.name].classify(images), labels)
            text = f"{history.name}: loss {loss:.4f}, accuracy {right:.1%}"
            bar.update(tasks[history.name], completed=done, description=text)

        def finished(history: History) -> None:
            say(
                f"{history.name:<20} epoch {len(history.losses)}: {history.seconds[-1]:7.3f} s, "
                f"loss {history.losses[-1]:.4f}, validation {history.accuracies[-1]:.2%}"
            )

        return train(trainers, data, epochs, seed, report=report, finished=finished)


def _table(histories: list[History]) -> Any:
    """Return a table that compares the first trainer with each trainer."""
    table = new_table(
        "Medians over the epochs, taken in turns",
        ["s / epoch", "ours / theirs", "last loss", "last accuracy"],
    )
    for history in histories:
        ratios = [a / b for a, b in zip(histories[0].seconds, history.seconds, strict=True)]
        table.add_row(
            history.name,
            f"{statistics.median(history.seconds):.3f}",
            f"{statistics.median(ratios):.2f}",
            f"{history.losses[-1]:.4f}",
            f"{history.accuracies[-1]:.2%}",
        )
    return table


def _table_of_bytes(rows: list[quantizing.Row]) -> Any:
    """Return a table of a network and the same one in bytes."""
    table = new_table(
        "The network in floats and in bytes",
        ["test digits right", "parameters", "us / digit, alone", "in batches of 128"],
    )
    for row in rows:
        table.add_row(
            row.name,
            f"{row.accuracy:.2%}",
            f"{row.nbytes:,} bytes",
            f"{row.one * 1e6:.1f}",
            f"{row.many * 1e6:.2f}",
        )
    return table


def _fastest(arguments: argparse.Namespace, settings: Settings, data: mnist.Dataset) -> Settings:
    """Return the settings with the kernel and the threads that take the least time."""
    choices = [
        replace(settings, kernel=kernel, threads=threads)
        for kernel in (None, "direct", "packed")
        for threads in sorted({1, settings.threads})
    ]
    digits = np.arange(min(30 * settings.batch, len(data.train_labels)))
    times: dict[Settings, list[float]] = {choice: [] for choice in choices}
    for _ in range(5):
        for choice in choices:
            ours = Ours(models.build(arguments.model, arguments.hidden), choice)
            times[choice].append(_seconds(ours, data, digits))
    return min(choices, key=lambda choice: min(times[choice]))


def _seconds(ours: Ours, data: mnist.Dataset, order: Any) -> float:
    """Train on some digits; return the time."""
    start = time.perf_counter()
    ours.epoch(data.train_images, data.train_labels, order, lambda done, total: None)
    return time.perf_counter() - start


def _compare(
    console: Any, arguments: argparse.Namespace, settings: Settings, data: mnist.Dataset
) -> None:
    """Train with each kernel and print the times."""
    cases = {kernel: replace(settings, kernel=kernel, threads=1) for kernel in KERNELS}
    if settings.threads > 1:
        cases[f"packed, {settings.threads} threads"] = replace(settings, kernel="packed")
    cases["by size"] = settings
    epochs = f"{arguments.epochs} epoch{'s' if arguments.epochs > 1 else ''}"
    table = new_table(
        f"{arguments.model}, {settings.optimizer}, batches of {settings.batch}, {epochs}",
        ["s / epoch", "s in total", "naive / this", "validation"],
    )
    whole = len(data.train_labels)
    rng = np.random.default_rng((arguments.seed, 1))
    orders = [rng.permutation(whole) for _ in range(arguments.epochs)]
    naive = 0.0
    for name, choice in cases.items():
        part = choice.kernel == "naive" and whole > NAIVE_DIGITS
        ours = Ours(models.build(arguments.model, arguments.hidden, arguments.seed), choice)
        with console.status(f"training: {name}"):
            trained = [orders[0][:NAIVE_DIGITS]] if part else orders
            seconds = sum(_seconds(ours, data, order) for order in trained)
            right = accuracy(ours.classify(data.validation_images), data.validation_labels)
        an_epoch = seconds * whole / sum(map(len, trained))
        naive = naive or an_epoch
        table.add_row(
            f"{name} *" if part else name,
            f"{an_epoch:.3f}",
            "-" if part else f"{seconds:.3f}",
            f"{naive / an_epoch:.1f}",
            "-" if part else f"{right:.2%}",
        )
    console.print(table)
    if whole > NAIVE_DIGITS:
        console.print(f"* trained on {NAIVE_DIGITS:,} digits, the time scaled to {whole:,}")


def _predict(model: nn.Module, settings: Settings, path: Path) -> int:
    digit = pictures.read_digit(path)
    scores = Ours(model, settings).classify(digit.reshape(1, -1))[0]
    shares = softmax(scores)
    best = np.argsort(-shares)[:3]
    print(f"{path}: {best[0]}  (" + ", ".join(f"{d}: {shares[d]:.1%}" for d in best) + ")")
    return 0


if __name__ == "__main__":
    run(_NAME, main)
