"""The gene finder, on DNA that is made up and on that of E. coli."""

import numpy as np
import pytest

from tropical.examples import genes
from tropical.examples.genes import Gene, Genome


def made_up(count, seed):
    """Genes of codons without T, on both strands, between bases of which half are T."""
    rng = np.random.default_rng(seed)
    pieces, known, place = [], [], 0
    for _ in range(count):
        between = rng.choice(4, rng.integers(30, 90), p=[0.2, 0.15, 0.15, 0.5])
        codons = rng.choice(3, 3 * rng.integers(30, 60), p=[0.3, 0.4, 0.3])
        gene = np.concatenate([genes.as_bases("ATG"), codons, genes.as_bases("TAA")])
        forward = bool(rng.integers(2))
        pieces += [between, gene if forward else genes.complement(gene)]
        place += len(between)
        known.append(Gene(place, place + len(gene), forward))
        place += len(gene)
    return Genome(np.concatenate(pieces), tuple(known))


def test_genes_that_were_made_up():
    model, other = genes.learn(made_up(60, 1)), made_up(40, 2)
    found = genes.find(model, other.bases)
    assert len({gene.stop for gene in found} & {gene.stop for gene in other.genes}) >= 38
    chances = genes.coding(model, other.bases)
    states = genes.states_of(other)
    for strand, (first, last) in enumerate(((1, 9), (10, 18))):
        of_genes = (states >= first) & (states <= last)
        assert chances[strand, of_genes].mean() > 0.9 > 0.2 > chances[strand, ~of_genes].mean()


def test_strands():
    genome = made_up(5, 3)
    twice = genome.mirrored().mirrored()
    np.testing.assert_array_equal(twice.bases, genome.bases)
    assert twice.genes == genome.genes
    for gene in genome.genes:
        bases = genome.bases[gene.begin : gene.end]
        read = bases if gene.forward else genes.complement(bases)
        assert read[:3].tolist() == [0, 3, 2] and read[-3:].tolist() == [3, 0, 0]
    part = genome.part(genome.genes[1].begin, genome.genes[3].end - 1)
    assert part.genes[0].begin == 0 and len(part.genes) == 2


def test_no_stop_codon_within_a_gene():
    model = genes.learn(made_up(5, 4))
    for state, codon in ((genes.INNER + 2, "TGA"), (genes.INNER + genes.REVERSE + 2, "TCA")):
        assert model.table[state, genes.triplets(genes.as_bases(codon))[-1]] == -np.inf
    np.testing.assert_allclose(np.exp(model.transition).sum(axis=1), 1)


def test_escherichia_coli(capsys, tmp_path):
    pytest.importorskip("pyrodigal", reason="its package has the genome")
    genes.main(["--picture", str(tmp_path / "genes.svg")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "383,781 bases of Escherichia coli"
    share = int(lines[3].split("(")[1].split("%")[0])
    assert share >= 85
    assert (tmp_path / "genes.svg").read_text().count("<path") > 20
