"""Pictures of the results of training, and a digit read from a picture."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.autograd import softmax
from tropical.measure.contenders import require

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .data import Dataset
    from .training import History

Array: TypeAlias = NDArray[Any]
_INSTALL = "'tropical-blas[mnist]'"
_WRONG = 25


def draw(folder: Path, histories: Sequence[History], scores: Array, data: Dataset) -> list[Path]:
    """Draw curves, the confusion matrix and the most confident errors; return the files.

    `scores` (n, 10) belong to the test digits of `data`. The files are in `folder`.
    """
    require("matplotlib", _INSTALL)
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    figures = {
        "curves.png": _curves(Figure, histories),
        "confusion.png": _confusion(Figure, scores, data.test_labels),
        "wrong.png": _wrong(Figure, scores, data),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=120, bbox_inches="tight")
    return [folder / name for name in figures]


def _curves(figure_type: Any, histories: Sequence[History]) -> Any:
    figure = figure_type(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    # Curves may be equal, so a later one is thinner and has other dashes.
    for number, history in enumerate(histories):
        style = {
            "label": history.name,
            "linestyle": ("-", "--", "-.", ":")[number % 4],
            "linewidth": 1.5 * (len(histories) - number),
        }
        left.plot(*zip(*history.curve, strict=True), **style)
        epochs = range(1, len(history.accuracies) + 1)
        right.plot(epochs, [100 * share for share in history.accuracies], marker="o", **style)
    epochs = range(len(histories[0].accuracies) + 1)
    left.set(xlabel="epochs", ylabel="training loss (nats)", yscale="log", xticks=epochs)
    right.set(xlabel="epochs", ylabel="validation accuracy (%)", xticks=epochs)
    left.yaxis.set_major_locator(require("matplotlib.ticker").LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter("")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    left.legend()
    return figure


def confusion(scores: Array, labels: Array) -> Array:
    """Return the number of digits of each label (row) that were classified as each (column)."""
    counts = np.zeros((10, 10), dtype=np.int64)
    np.add.at(counts, (labels, scores.argmax(axis=1)), 1)
    return counts


def _confusion(figure_type: Any, scores: Array, labels: Array) -> Any:
    counts = confusion(scores, labels)
    figure = figure_type(figsize=(5, 5))
    axes = figure.subplots()
    axes.imshow(np.log1p(counts), cmap="Blues")
    for (label, taken), count in np.ndenumerate(counts):
        color = "white" if count > 100 else "black"
        axes.text(taken, label, str(count), ha="center", va="center", fontsize=7, color=color)
    axes.set(xlabel="taken for", ylabel="digit", xticks=range(10), yticks=range(10))
    axes.set_title(f"{np.trace(counts):,} of {counts.sum():,} test digits right")
    return figure


def _wrong(figure_type: Any, scores: Array, data: Dataset) -> Any:
    shares = softmax(scores)
    taken = scores.argmax(axis=1)
    wrong = np.flatnonzero(taken != data.test_labels)
    worst = wrong[np.argsort(-shares[wrong, taken[wrong]])][:_WRONG]
    figure = figure_type(figsize=(7, 8))
    figure.suptitle(
        f"The most confident of {len(wrong):,} errors in {len(taken):,} test digits", y=0.94
    )
    for axes, number in zip(figure.subplots(5, 5).flat, [*worst, *[None] * _WRONG], strict=False):
        axes.axis("off")
        if number is None:
            continue
        axes.imshow(data.test_images[number].reshape(28, 28), cmap="gray_r")
        share = shares[number, taken[number]]
        axes.set_title(f"{data.test_labels[number]}, not {taken[number]} ({share:.0%})", fontsize=8)
    return figure


def read_digit(path: Path) -> Array:
    """Return a picture of a digit as MNIST has them: 784 values, ink is 1.

    The digit is cut out, scaled to 20 pixels and centered by its mass in 28 x 28 pixels, as the
    page of the data set describes; dark paper is inverted.

    Parameters
    ----------
    path : Path
        A picture that Pillow can read.

    Raises
    ------
    ValueError
        If the file is not a picture, is damaged, or is blank.
    OSError
        If the file cannot be read.
    """
    image_module: Any = require("PIL.Image", _INSTALL)
    content = path.read_bytes()
    try:
        gray = _gray(image_module, content)
    except image_module.UnidentifiedImageError:
        raise ValueError(f"{path}: expected a picture that Pillow can read") from None
    except (OSError, SyntaxError, ValueError, image_module.DecompressionBombError) as error:
        raise ValueError(
            f"{path}: expected a picture, got a damaged or too large file ({error})"
        ) from None
    border = np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]])
    ink = np.abs(gray - np.median(border))
    if ink.max() < 0.1 * max(gray.max(), 1):
        raise ValueError(f"{path}: expected a digit, got a blank picture")
    ink /= ink.max()
    ink[ink < 0.15] = 0
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scale = 20 / max(cut.shape)
    size = tuple(max(1, round(length * scale)) for length in cut.shape[::-1])
    small = image_module.fromarray((255 * cut).astype(np.uint8)).resize(size, resample=4)
    return _centered(np.asarray(small, dtype=np.float32) / 255).reshape(-1)


def _gray(image_module: Any, content: bytes) -> Array:
    """Return the gray values of a picture on white, 0 for black, turned upright by its EXIF tag."""
    with image_module.open(io.BytesIO(content)) as image:
        upright = require("PIL.ImageOps", _INSTALL).exif_transpose(image)
        if upright.mode.startswith("I"):  # conversions would cut off 16 bits
            gray = np.asarray(upright, dtype=np.float32)
        else:
            flat = image_module.new("RGBA", upright.size, "white")
            flat.alpha_composite(upright.convert("RGBA"))
            gray = np.asarray(flat.convert("L"), dtype=np.float32)
    return gray


def _centered(digit: Array) -> Array:
    """Return a digit in 28 x 28 pixels, with its center of mass in the middle if it fits."""
    result = np.zeros((28, 28), dtype=np.float32)
    corner = []
    for axis, length in enumerate(digit.shape):
        mass = digit.sum(axis=1 - axis)
        center = float((mass * np.arange(length)).sum() / mass.sum())
        corner.append(int(np.clip(round(13.5 - center), 0, 28 - length)))
    i, j = corner
    result[i : i + digit.shape[0], j : j + digit.shape[1]] = digit
    return result
