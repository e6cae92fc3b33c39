"""Vowels and consonants, learned from plain text by a hidden Markov model of two states.

``python -m tropical.examples.letters`` reads the words of Python's reference, which is part of
every Python. The model knows only the order of letters. R. L. Cave and L. P. Neuwirth did the same
with 30,000 letters ("Hidden Markov models for English", 1980); here, too, the two states become
vowels and consonants. ``--picture FILE`` draws the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.examples import new_figure, new_parser, picture, save
from tropical.measure.terminal import run
from tropical.sequence import Posteriors, posteriors, viterbi

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
TOPICS = ("with", "while", "try", "raise", "import", "for", "del", "class", "assignment", "in")
SENTENCE = ["nobody", "told", "these", "states", "which", "letters", "are", "vowels"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Words:
    """Different words, and how often each occurs (n,).

    As numbers, 0 for a, they are (n, longest) letters, of which the first `lengths` (n,) count.
    """

    texts: Sequence[str]
    counts: NDArray[np.intp]
    letters: NDArray[np.intp]
    lengths: NDArray[np.intp]


@dataclass(frozen=True)
class Model:
    """Probabilities: (2,) of the first state, (2, 2) of the next, (2, 26) of letters."""

    initial: Array
    transition: Array
    emission: Array

    def logs(self, words: Words) -> tuple[Array, Array, Array, NDArray[np.intp]]:
        """Return what the functions of `tropical.sequence` take."""
        with np.errstate(divide="ignore"):
            initial, transition, emission = map(
                np.log, (self.initial, self.transition, self.emission)
            )
        return initial, transition, emission.T[words.letters], words.lengths


def reference() -> Words:
    """Return the words of some topics of Python's reference."""
    text = " ".join(topics[topic] for topic in TOPICS).lower()
    counts = Counter(re.findall(r"(?<![\w.\"'])[a-z]{2,}(?![\w(\"'])", text))
    return as_words(list(counts), list(counts.values()))


def as_words(texts: Sequence[str], counts: Sequence[int] | None = None) -> Words:
    """Return words of the letters a to z; each occurs once unless `counts` says otherwise."""
    lengths = np.array([len(text) for text in texts], np.intp)
    letters = np.zeros((len(texts), lengths.max(initial=0)), np.intp)
    for row, text in zip(letters, texts, strict=True):
        row[: len(text)] = [ALPHABET.index(letter) for letter in text]
    return Words(texts, np.array(counts or [1] * len(texts)), letters, lengths)


def learn(
    words: Words, *, rounds: int = 60, starts: int = 16, seed: int = 0
) -> tuple[Model, list[float]]:
    """Return the likeliest model of the Baum-Welch algorithm, and its log-likelihood by rounds.

    Each start leads to a local maximum, one start in three to the highest.
    """
    rng = np.random.default_rng(seed)
    found = [_climb(words, _random_model(rng), rounds) for _ in range(starts)]
    return max(found, key=lambda pair: pair[1][-1])


def _random_model(rng: np.random.Generator) -> Model:
    letters = np.ones(len(ALPHABET))
    return Model(rng.dirichlet([1, 1]), rng.dirichlet([1, 1], 2), rng.dirichlet(letters, 2))


def _climb(words: Words, model: Model, rounds: int) -> tuple[Model, list[float]]:
    likelihoods = []
    for _ in range(rounds):
        known = posteriors(*model.logs(words))
        likelihoods.append(float(words.counts @ known.log_likelihood))
        model = _reestimated(words, known)
    return model, likelihoods


def _reestimated(words: Words, known: Posteriors) -> Model:
    """Return the most likely model for the expected counts: their shares."""
    states = known.states * words.counts[:, None, None]
    emission = [
        np.bincount(words.letters.ravel(), weight.ravel(), minlength=len(ALPHABET))
        for weight in np.moveaxis(states, -1, 0)
    ]
    transition = np.tensordot(words.counts, known.transitions, 1)
    counts = states[:, 0].sum(axis=0), transition, np.array(emission)
    return Model(*(x / x.sum(axis=-1, keepdims=True) for x in counts))


def vowel_state(model: Model) -> int:
    """Return the state in which e is more likely."""
    return int(model.emission[:, ALPHABET.index("e")].argmax())


def vowels(model: Model) -> str:
    """Return the letters that are more likely in the state of vowels than in the other."""
    ours = vowel_state(model)
    likely = model.emission[ours] > model.emission[1 - ours]
    return "".join(letter for letter, yes in zip(ALPHABET, likely, strict=True) if yes)


def decode(model: Model, texts: Sequence[str]) -> list[str]:
    """Return words in which the letters with the state of vowels are capitals."""
    words = as_words(texts)
    paths, _ = viterbi(*model.logs(words))
    ours = vowel_state(model)
    return [
        "".join(x.upper() if s == ours else x for x, s in zip(text, path, strict=False))
        for text, path in zip(texts, paths, strict=True)
    ]


def draw(model: Model, texts: Sequence[str], path: str) -> None:
    """Draw the probability of each letter in each state, and some decoded words.

    Raises
    ------
    tropical.extras.NotInstalledError
        Without matplotlib.
    """
    figure = new_figure(7, 3.6)
    ours = vowel_state(model)
    top, below = figure.subplots(2, 1, height_ratios=(5, 1))
    places = np.arange(len(ALPHABET))
    for shift, state, label in ((-0.2, ours, "one state"), (0.2, 1 - ours, "the other")):
        top.bar(places + shift, model.emission[state], 0.4, label=label, color=_color(state, ours))
    top.set(xticks=places, xticklabels=list(ALPHABET), ylabel="probability of the letter")
    top.legend(title="two states, learned from text alone")
    _write_words(below, decode(model, texts), ours)
    save(figure, path)


def _color(state: int, ours: int) -> str:
    return "tab:red" if state == ours else "tab:blue"


def _write_words(axes: Any, decoded: Sequence[str], ours: int) -> None:
    text = " ".join(decoded)
    axes.set(xlim=(0, len(text)), ylim=(0, 1))
    axes.axis("off")
    for place, letter in enumerate(text):
        color = _color(ours if letter.isupper() else 1 - ours, ours)
        axes.text(
            place + 0.5, 0.5, letter.lower(), color=color, family="monospace", size=13, ha="center"
        )


def report(words: Words, model: Model, likelihoods: Sequence[float]) -> Iterator[str]:
    """Yield lines about the text, the model and the decoded words."""
    letters = int(words.counts @ words.lengths)
    yield f"{words.counts.sum():,} words, {letters:,} letters of Python's reference"
    bits = [-x / letters / np.log(2) for x in (likelihoods[0], likelihoods[-1])]
    yield f"{len(likelihoods)} rounds: {bits[0]:.3f} bits a letter at first, {bits[1]:.3f} at last"
    ours, found = vowel_state(model), vowels(model)
    yield f"One state says {' '.join(found)}"
    yield f"The other says {' '.join(x for x in ALPHABET if x not in found)}"
    stay, leave = model.transition[ours, ours], model.transition[1 - ours, ours]
    yield f"After a vowel comes a vowel with probability {stay:.2f}, after a consonant {leave:.2f}"
    yield " ".join(decode(model, SENTENCE))


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, print, and draw on request."""
    parser = new_parser("letters", __doc__)
    parser.add_argument(
        "--picture", type=picture, metavar="FILE", help="draw what was learned (SVG, PNG)"
    )
    options = parser.parse_args(arguments)
    words = reference()
    model, likelihoods = learn(words)
    for line in report(words, model, likelihoods):
        print(line)
    if options.picture:
        draw(model, SENTENCE, options.picture)


if __name__ == "__main__":
    run("python -m tropical.examples.letters", main)
