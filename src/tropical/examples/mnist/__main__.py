"""Train on MNIST, compare kernels and rivals, draw what was learned, and read a digit."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tropical
from tropical import nn
from tropical.autograd import time_products
from tropical.bench.contenders import require
from tropical.bench.terminal import new_console, new_table, refusing

from . import data as mnist
from . import models, pictures
from .rivals import RIVALS
from .training import OPTIMIZERS, Contender, History, Ours, Settings, accuracy, train

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME = "python -m tropical.examples.mnist"
_INSTALL = "'tropical-blas[mnist]'"
# The scalar triple loop takes minutes for an epoch: it learns from a part, and the time is scaled.
NAIVE_DIGITS = 1024


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    p = argparse.ArgumentParser(prog=_NAME, description=__doc__)
    p.add_argument("--data-dir", type=Path, help="folder with the four IDX files of MNIST")
    p.add_argument("--model", choices=list(models.MODELS), default="mlp")
    p.add_argument("--hidden", type=_size, nargs="+", metavar="N", help="lengths of hidden layers")
    p.add_argument("--epochs", type=_size, default=3)
    p.add_argument("--batch", type=_size, default=64, help="digits a step (64)")
    p.add_argument("--optimizer", choices=list(OPTIMIZERS), help="sgd; adam for cnn and tropical")
    p.add_argument("--lr", type=_rate, help="learning rate (0.1; 0.001 but for sgd and momentum)")
    p.add_argument("--seed", type=int, default=0, help="of weights and orders (0)")
    p.add_argument("--threads", type=_size, help="the most threads")
    p.add_argument("--kernel", choices=["naive", "tiled", "direct", "packed"])
    p.add_argument("--memory", choices=["off", "pool", "plan"], default="plan")
    p.add_argument("--fast", action="store_true", help="time kernels and threads, take the best")
    p.add_argument("--compare", action="store_true", help="train with every kernel")
    p.add_argument("--rival", nargs="+", choices=list(RIVALS), default=[], metavar="RIVAL",
                   help=f"train these side by side ({', '.join(RIVALS)}); mlp only")  # fmt: skip
    p.add_argument("--plots", type=Path, metavar="DIR", help="draw curves, confusion, errors")
    p.add_argument("--save", type=Path, metavar="FILE.npz", help="write the weights")
    p.add_argument("--load", type=Path, metavar="FILE.npz", help="begin with these weights")
    p.add_argument("--predict", type=Path, metavar="IMAGE", help="read a digit with --load")
    return p


def _size(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a whole number from 1 on, not {text}")
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"a positive number, not {text}")
    return rate


def _settings(arguments: argparse.Namespace) -> Settings:
    optimizer = arguments.optimizer or ("sgd" if arguments.model == "mlp" else "adam")
    return Settings(
        batch=arguments.batch,
        lr=arguments.lr or (0.1 if optimizer in ("sgd", "momentum") else 0.001),
        optimizer=optimizer,
        threads=arguments.threads or tropical.get_num_threads(),
        kernel=arguments.kernel,
        memory=arguments.memory,
    )


@refusing(_NAME)
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process unless given.

    Returns
    -------
    int
        The exit status; 2, with a message, if data or a package is missing or damaged.
    """
    p = parser()
    arguments = p.parse_args(argv)
    if arguments.rival and arguments.model != "mlp":
        p.error("--rival trains the mlp only")
    if arguments.predict and not arguments.load:
        p.error("--predict needs --load")
    for target in (arguments.save, arguments.plots):
        if target and not target.parent.is_dir():
            p.error(f"there is no folder {target.parent}")
    require("rich", _INSTALL)
    model = models.build(arguments.model, arguments.hidden, arguments.seed)
    if arguments.load:
        model.load(arguments.load)
    settings = _settings(arguments)
    if arguments.predict:
        return _predict(model, settings, arguments.predict)
    console = new_console()
    data = mnist.load(arguments.data_dir, notify=console.print)
    console.print(
        f"{len(data.train_labels):,} digits to train with, {len(data.validation_labels):,} to "
        f"validate, {len(data.test_labels):,} to test ({data.source})"
    )
    if arguments.fast:
        settings = _fastest(console, arguments, settings, data)
    if arguments.compare:
        _compare(console, arguments, settings, data)
        return 0
    _train(console, arguments, model, settings, data)
    return 0


def _train(
    console: Any,
    arguments: argparse.Namespace,
    model: nn.Module,
    settings: Settings,
    data: mnist.Dataset,
) -> None:
    ours = Ours(model, settings)
    contenders: list[Contender] = [
        ours,
        *(RIVALS[name](model, settings) for name in arguments.rival),
    ]
    for rival in contenders[1:]:
        if hasattr(rival, "compile"):
            rival.compile(data.train_images, data.train_labels)
    histories = _with_bar(console, contenders, data, arguments.epochs, arguments.seed)
    _print_histories(console, histories)
    for contender in contenders:
        share = accuracy(contender.classify(data.test_images), data.test_labels)
        console.print(f"{contender.name}: {share:.2%} of the test digits right")
    if arguments.save:
        model.save(arguments.save)
        console.print(f"weights: {arguments.save}")
    if arguments.plots:
        scores = ours.classify(data.test_images)
        for path in pictures.draw(arguments.plots, histories, scores, data):
            console.print(f"picture: {path}")


def _with_bar(
    console: Any, contenders: list[Any], data: mnist.Dataset, epochs: int, seed: int
) -> list[History]:
    progress = require("rich.progress", _INSTALL)
    digits = len(data.train_labels)
    with progress.Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=epochs * digits * len(contenders))
        before = {"count": 0, "done": 0}

        def report(name: str, epoch: int, done: int, total: float) -> None:
            if done < before["done"]:
                before["count"] += digits
            # Drawing costs more than a step: tell the bar now and then.
            if done < before["done"] or done - before["done"] >= 2000 or done == digits:
                before["done"] = done
                bar.update(
                    task,
                    completed=before["count"] + done,
                    description=f"{name}, epoch {epoch + 1}: loss {total / done:.4f}",
                )

        def finished(history: History) -> None:
            console.print(
                f"{history.name:<20} epoch {len(history.losses)}: {history.seconds[-1]:7.3f} s, "
                f"loss {history.losses[-1]:.4f}, validation {history.accuracies[-1]:.2%}"
            )

        return train(contenders, data, epochs, seed, report=report, finished=finished)


def _print_histories(console: Any, histories: list[History]) -> None:
    if len(histories) < 2:
        return
    table = new_table(
        "Medians over the epochs, taken in turns",
        ["s an epoch", "ours / theirs", "last loss", "last accuracy"],
        justify="right",
    )
    first = histories[0]
    for history in histories:
        ratios = [a / b for a, b in zip(first.seconds, history.seconds, strict=True)]
        table.add_row(
            history.name,
            f"{statistics.median(history.seconds):.3f}",
            f"{statistics.median(ratios):.2f}",
            f"{history.losses[-1]:.4f}",
            f"{history.accuracies[-1]:.2%}",
        )
    console.print(table)


def _fastest(
    console: Any, arguments: argparse.Namespace, settings: Settings, data: mnist.Dataset
) -> Settings:
    """Return the settings whose kernel and threads take least time for a few hundred steps."""
    from dataclasses import replace

    cores = tropical.get_num_threads()
    choices = [
        replace(settings, kernel=kernel, threads=threads)
        for kernel in (None, "direct", "packed")
        for threads in sorted({1, settings.threads, cores})
    ]
    digits = np.arange(min(50 * settings.batch, len(data.train_labels)))
    times: dict[Settings, list[float]] = {choice: [] for choice in choices}
    for _ in range(5):
        for choice in choices:
            ours = Ours(models.build(arguments.model, arguments.hidden), choice)
            start = time.perf_counter()
            ours.epoch(data.train_images, data.train_labels, digits, lambda done, total: None)
            times[choice].append(time.perf_counter() - start)
    best = min(choices, key=lambda choice: min(times[choice]))
    console.print(f"fastest: kernel {best.kernel or 'by size'}, {best.threads} threads")
    return best


def _compare(
    console: Any, arguments: argparse.Namespace, settings: Settings, data: mnist.Dataset
) -> None:
    """Train with every kernel and print what each takes."""
    from dataclasses import replace

    cores = settings.threads
    cases: list[tuple[str, Settings]] = [
        (kernel, replace(settings, kernel=kernel, threads=1))
        for kernel in ("naive", "tiled", "direct", "packed")
    ]
    if cores > 1:
        cases.append(
            (f"packed, {cores} threads", replace(settings, kernel="packed", threads=cores))
        )
    cases.append(("by size", replace(settings, kernel=None, threads=cores)))
    table = new_table(
        f"{arguments.model}, batches of {settings.batch}, {arguments.epochs} epochs",
        ["s an epoch", "s in all", "naive / this", "validation", "in products"],
        justify="right",
    )
    whole = len(data.train_labels)
    order = np.random.default_rng(arguments.seed).permutation(whole)
    naive = None
    for name, choice in cases:
        slow = choice.kernel == "naive" and whole > NAIVE_DIGITS
        digits = order[:NAIVE_DIGITS] if slow else order
        epochs = 1 if slow else arguments.epochs
        ours = Ours(models.build(arguments.model, arguments.hidden, arguments.seed), choice)
        seconds, in_products = 0.0, 0.0
        for _ in range(epochs):
            start = time.perf_counter()
            with time_products() as clock:
                ours.epoch(data.train_images, data.train_labels, digits, lambda done, total: None)
            seconds += time.perf_counter() - start
            in_products += clock.seconds
        an_epoch = seconds / epochs * whole / len(digits)
        naive = naive or an_epoch
        share = accuracy(
            ours.classify(data.validation_images[:1000]), data.validation_labels[:1000]
        )
        table.add_row(
            f"{name} *" if slow else name,
            f"{an_epoch:.3f}",
            "-" if slow else f"{seconds:.3f}",
            f"{naive / an_epoch:.1f}",
            "-" if slow else f"{share:.2%}",
            f"{in_products / seconds:.0%}",
        )
    console.print(table)
    if whole > NAIVE_DIGITS:
        console.print(f"* timed on {NAIVE_DIGITS:,} digits and scaled to {whole:,}")


def _predict(model: nn.Module, settings: Settings, path: Path) -> int:
    digit = pictures.read_digit(path)
    scores = Ours(model, settings).classify(digit.reshape(1, -1))[0]
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    best = np.argsort(-shares)[:3]
    print(f"{path}: {best[0]}  (" + ", ".join(f"{d}: {shares[d]:.1%}" for d in best) + ")")
    return 0


if __name__ == "__main__":
    sys.exit(main())
