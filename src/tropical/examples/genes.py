"""Genes in the DNA of a bacterium, found by a hidden Markov model of 19 states.

``python -m tropical.examples.genes`` reads 383,000 bases of Escherichia coli and the genes that
Prodigal finds in them; both come with the package pyrodigal. The model learns from the genes of the
first half, by counting, and finds those of the second half. ``--picture FILE`` draws a part of it.

A. Krogh, I. S. Mian, D. Haussler, "A hidden Markov model that finds genes in E. coli DNA", Nucleic
Acids Research 22(22), 1994. The states are the bases of a start codon, of an inner codon and of a
stop codon, on either strand, and those between genes. What a state emits depends on the two bases
before, so that the third base of a codon knows the whole codon.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.examples import new_figure, new_parser, picture, save
from tropical.extras import require
from tropical.measure.terminal import run
from tropical.sequence import posteriors, viterbi

BASES = "ACGT"
BETWEEN, START, INNER, STOP = 0, 1, 4, 7  # the first of three states each
REVERSE = 9  # so much greater are the states of the other strand
STATES = 19
RARE = 0.02  # counts of a triplet that was never seen, lest it be impossible
STOP_CODONS = ("TAA", "TAG", "TGA")

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, order=True)
class Gene:
    """A gene from base `begin` to base `end` - 1, start and stop codon included."""

    begin: int
    end: int
    forward: bool

    @property
    def stop(self) -> tuple[int, bool]:
        """Where its stop codon ends, and the strand: what identifies a gene."""
        return (self.end if self.forward else self.begin), self.forward


@dataclass(frozen=True)
class Genome:
    """Bases as numbers (n,), 0 for A to 3 for T, and the genes in them."""

    bases: Numbers
    genes: tuple[Gene, ...]

    def part(self, begin: int, end: int) -> Genome:
        """Return some bases, and the genes that lie in them."""
        inside = (g for g in self.genes if begin <= g.begin and g.end <= end)
        moved = tuple(Gene(g.begin - begin, g.end - begin, g.forward) for g in inside)
        return Genome(self.bases[begin:end], moved)

    def mirrored(self) -> Genome:
        """Return the other strand."""
        n = len(self.bases)
        genes = tuple(Gene(n - g.end, n - g.begin, not g.forward) for g in self.genes)
        return Genome(complement(self.bases), genes)


@dataclass(frozen=True)
class Model:
    """Logarithms of the probabilities of first states, of the next state, and of triplets.

    Element (i, 16 a + 4 b + c) of the table (19, 64): state i emits c behind a and b.
    """

    initial: Array
    transition: Array
    table: Array


def escherichia_coli() -> Genome:
    """Return the known bases with which a contig begins, and the genes that Prodigal finds there.

    Raises
    ------
    tropical.extras.NotInstalledError
        Without pyrodigal.
    """
    require("pyrodigal", "'tropical-blas[genes]'")
    folder = files("pyrodigal.tests") / "data"
    lines = gzip.decompress((folder / "MIIJ01000039.fna.gz").read_bytes()).decode().split("\n")
    proteins = gzip.decompress((folder / "MIIJ01000039.single.faa.gz").read_bytes()).decode()
    known = re.findall(r"^>\S+ # (\d+) # (\d+) # (-?1) # \S*partial=00", proteins, re.MULTILINE)
    genes = tuple(Gene(int(first) - 1, int(last), way == "1") for first, last, way in known)
    contig = "".join(lines[1:])
    text = contig[: contig.index("N")]
    return Genome(as_bases(text), genes).part(0, len(text))


def as_bases(text: str) -> Numbers:
    """Return the letters A, C, G, T as 0 to 3."""
    return np.array([BASES.index(letter) for letter in text], np.intp)


def complement(bases: Numbers) -> Numbers:
    """Return the bases of the other strand, which is read backward."""
    return (len(BASES) - 1 - bases)[::-1]


def triplets(bases: Numbers) -> Numbers:
    """Return the number of each base and the two before it; the first ones are behind AA."""
    first, second = np.concatenate([[0, 0], bases[:-2]]), np.concatenate([[0], bases[:-1]])
    numbers: Numbers = 16 * first + 4 * second + bases
    return numbers


def states_of(genome: Genome) -> Numbers:
    """Return the state of each base; where genes overlap, that of the later one."""
    states = np.full(len(genome.bases), BETWEEN)
    for gene in genome.genes:
        inner = np.arange(gene.end - gene.begin) % 3 + INNER
        inner[:3] = np.arange(3) + (START if gene.forward else STOP)
        inner[-3:] = np.arange(3) + (STOP if gene.forward else START)
        states[gene.begin : gene.end] = inner + (0 if gene.forward else REVERSE)
    return states


def learn(genome: Genome) -> Model:
    """Return the model that makes the states of both strands likely: by counting."""
    moves, seen = allowed_moves() * 1e-3, np.full((STATES, 64), RARE)
    for strand in (genome, genome.mirrored()):
        states, symbols = states_of(strand), triplets(strand.bases)
        np.add.at(moves, (states[:-1], states[1:]), 1)
        np.add.at(seen, (states, symbols), 1)
    moves[~allowed_moves()] = 0  # where genes overlap
    for codon in STOP_CODONS:
        bases = as_bases(codon)
        seen[INNER + 2, triplets(bases)[-1]] = 0
        seen[INNER + REVERSE + 2, triplets(complement(bases))[-1]] = 0
    emitted = seen.reshape(STATES, 16, 4)
    initial = np.arange(STATES) == BETWEEN
    with np.errstate(divide="ignore"):
        return Model(
            np.log(initial),
            np.log(moves / moves.sum(axis=1, keepdims=True)),
            np.log(emitted / emitted.sum(axis=-1, keepdims=True)).reshape(STATES, 64),
        )


def allowed_moves() -> NDArray[np.bool_]:
    """Return which state may follow which."""
    allowed = np.zeros((STATES, STATES), bool)
    allowed[BETWEEN, [BETWEEN, START, STOP + REVERSE]] = True
    for strand, first, last in ((0, START, STOP), (REVERSE, STOP, START)):
        for codon in (START, INNER, STOP):
            for base in (0, 1):
                allowed[codon + strand + base, codon + strand + base + 1] = True
        for codon in (first, INNER):
            allowed[codon + strand + 2, [INNER + strand, last + strand]] = True
        allowed[last + strand + 2, BETWEEN] = True
    return allowed


def find(model: Model, bases: Numbers) -> list[Gene]:
    """Return the genes on the likeliest path."""
    states, _ = viterbi(*as_arguments(model), symbols=triplets(bases))
    return [
        gene
        for forward, first, last in ((True, START, STOP), (False, STOP, START))
        for gene in _genes_between(states - (0 if forward else REVERSE), first, last, forward)
    ]


def _genes_between(states: Numbers, first: int, last: int, forward: bool) -> Iterator[Gene]:
    begins = np.flatnonzero(states == first)
    for end in np.flatnonzero(states == last + 2) + 1:
        yield Gene(int(begins[begins < end][-1]), int(end), forward)


def coding(model: Model, bases: Numbers) -> Array:
    """Return the probabilities that each base lies in a gene of either strand, (2, n)."""
    states = posteriors(*as_arguments(model), symbols=triplets(bases)).states
    forward = states[:, START : STOP + 3].sum(axis=1)
    return np.stack([forward, states[:, START + REVERSE :].sum(axis=1)])


def as_arguments(model: Model) -> tuple[Array, Array, Array]:
    """Return what the functions of `tropical.sequence` take."""
    return model.initial, model.transition, model.table


def report(genome: Genome, train: Genome, test: Genome, found: Sequence[Gene]) -> Iterator[str]:
    """Yield lines about what was learned from, and what was found."""
    yield f"{len(genome.bases):,} bases of Escherichia coli"
    yield f"Learned from {len(train.genes)} genes of the first half"
    stops = {gene.stop for gene in test.genes}
    same_stop = [gene for gene in found if gene.stop in stops]
    exact = len(set(found) & set(test.genes))
    total = len(test.genes)
    yield f"Prodigal finds {total} genes in the second half, this model {len(found)}"
    yield f"{len(same_stop)} ({len(same_stop) / total:.0%}) of them end with the same stop codon"
    yield f"{exact} ({exact / total:.0%}) begin with the same start codon, too"


def draw(model: Model, genome: Genome, found: Sequence[Gene], path: str) -> None:
    """Draw genes that are known and found, and the probability of a gene at each base.

    Raises
    ------
    tropical.extras.NotInstalledError
        Without matplotlib.
    """
    figure = new_figure(7, 3.6)
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
    for row, genes in enumerate((found, genome.genes)):
        for gene in genes:
            _draw_gene(top, gene, row)
    top.set(yticks=(0, 1), yticklabels=("this model", "Prodigal"), ylim=(-0.6, 1.6))
    chances = coding(model, genome.bases)
    places = np.arange(len(genome.bases)) / 1000
    for chance, label, color in zip(
        chances, ("genes of this strand", "of the other"), COLORS, strict=True
    ):
        below.fill_between(places, chance, alpha=0.6, label=label, color=color, linewidth=0)
    below.set(xlabel="thousand bases", ylabel="probability of a gene", ylim=(0, 1.05))
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save(figure, path)


COLORS = ("tab:blue", "tab:orange")


def _draw_gene(axes: Any, gene: Gene, row: int) -> None:
    ends = (gene.begin, gene.end) if gene.forward else (gene.end, gene.begin)
    axes.annotate(
        "",
        xy=(ends[1] / 1000, row),
        xytext=(ends[0] / 1000, row),
        arrowprops={
            "arrowstyle": "simple,head_length=0.4,tail_width=0.5",
            "shrinkA": 0,
            "shrinkB": 0,
            "color": COLORS[not gene.forward],
        },
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, find, print, and draw on request."""
    parser = new_parser("genes", __doc__)
    parser.add_argument(
        "--picture", type=picture, metavar="FILE", help="draw a part of what was found (SVG, PNG)"
    )
    options = parser.parse_args(arguments)
    genome = escherichia_coli()
    half = len(genome.bases) // 2
    train, test = genome.part(0, half), genome.part(half, len(genome.bases))
    model = learn(train)
    found = find(model, test.bases)
    for line in report(genome, train, test, found):
        print(line)
    if options.picture:
        window = 120_850, 135_850
        part = test.part(*window)
        draw(model, part, find(model, part.bases), options.picture)


if __name__ == "__main__":
    run("python -m tropical.examples.genes", main)
