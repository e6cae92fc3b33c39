"""Ground states of spin glasses, against every state of small ones and what is known of large."""

import math

import numpy as np
import pytest
from support import run_module

from tropical.examples import spin_glass
from tropical.examples.spin_glass import Lattice, energy, frustrated, glass, solve, villain


def every_energy(lattice):
    """The energy of all 2**(h w) states, from slices of the lattice."""
    height, width = lattice.across.shape[0], lattice.down.shape[1]
    states = np.arange(2 ** (height * width))[:, None] >> np.arange(height * width) & 1
    spins = (1 - 2 * states).reshape(-1, height, width)
    right = np.roll(spins, -1, axis=2)[:, :, : lattice.across.shape[1]]
    across = lattice.across * spins[:, :, : lattice.across.shape[1]] * right
    down = lattice.down * spins[:, :-1] * spins[:, 1:]
    return -across.sum((1, 2)) - down.sum((1, 2))


def check(lattice):
    """The ground state found is one of the best of all states, and as many are as good."""
    energies = every_energy(lattice)
    ground = solve(lattice)
    assert ground.energy == energies.min() == energy(lattice, ground.spins)
    assert ground.degeneracy == (energies == energies.min()).sum()
    return ground


@pytest.mark.parametrize("cylinder", [False, True])
@pytest.mark.parametrize("height,width", [(1, 3), (3, 3), (4, 3), (3, 5)])
@pytest.mark.parametrize("seed", range(4))
def test_small_ones_by_brute_force(height, width, seed, cylinder):
    ground = check(glass(height, width, seed, cylinder=cylinder))
    assert set(ground.spins.flat) <= {-1, 1} and ground.spins.shape == (height, width)


@pytest.mark.parametrize("height,width", [(1, 2), (2, 1), (2, 2)])
def test_the_smallest(height, width):
    check(glass(height, width))


def test_bonds_of_any_strength():
    rng = np.random.default_rng(0)
    check(Lattice(rng.integers(-3, 4, (4, 3)), rng.integers(-3, 4, (3, 4))))


def test_a_ferromagnet_has_two_ground_states():
    ones = Lattice(np.ones((12, 11), int), np.ones((11, 12), int))
    ground = solve(ones)
    assert (ground.energy, ground.degeneracy) == (-2 * 12 * 11, 2)
    assert abs(ground.spins.sum()) == 144
    assert not frustrated(ones).any()


@pytest.mark.parametrize("size,tilings", [(3, 2), (5, 36), (7, 6728), (9, 12988816)])
def test_villain_by_tilings(size, tilings):
    """Of the board of plaquettes by dominoes (Kasteleyn 1961), each with two opposite states."""
    ground = solve(villain(size))
    plaquettes = (size - 1) ** 2
    assert ground.energy == -(2 * size * (size - 1) - plaquettes)
    assert ground.degeneracy == 2 * tilings


@pytest.mark.parametrize("size", [2, 4, 6])
def test_villain_where_a_plaquette_is_left_over(size):
    lattice = villain(size)
    assert frustrated(lattice).all()
    wrong = math.ceil((size - 1) ** 2 / 2)
    assert solve(lattice).energy == -(2 * size * (size - 1) - 2 * wrong)


def test_states_that_are_too_many_to_count():
    with pytest.raises(OverflowError, match="return_counts"):
        solve(Lattice(np.zeros((8, 7), int), np.zeros((7, 8), int)))


@pytest.mark.parametrize("cylinder", [False, True])
def test_frustrated(cylinder):
    lattice = glass(4, 5, 3, cylinder=cylinder)
    across, down = lattice
    for row, column in np.ndindex(3, 5 if cylinder else 4):
        left, right = down[row, column], down[row, (column + 1) % 5]
        product = across[row, column] * across[row + 1, column] * left * right
        assert frustrated(lattice)[row, column] == (product < 0)


@pytest.mark.parametrize("cylinder", [False, True])
def test_drawn(tmp_path, cylinder):
    pytest.importorskip("matplotlib", reason="which draws")
    lattice = glass(4, 5, 3, cylinder=cylinder)
    ground = solve(lattice)
    figure = spin_glass.draw(lattice, ground.spins)
    lines = [line for line in figure.axes[0].lines if line.get_color() == "#c1272d"]
    bonds = lattice.across.size + lattice.down.size
    assert len(lines) - 1 == (ground.energy + bonds) // 2  # and one in the legend


@pytest.mark.parametrize("dtype", ["f8", "u4"])
def test_bonds_are_whole(dtype):
    across, down = glass(2, 2)
    for function in (solve, lambda lattice: energy(lattice, np.ones((2, 2)))):
        with pytest.raises(TypeError, match=f"down: expected signed .*{np.dtype(dtype)}"):
            function(Lattice(across, down.astype(dtype)))


@pytest.mark.parametrize("size", [("0", "4"), ("4", "0"), ("1", "1"), ("2", "40"), ("-1", "-4")])
def test_sizes_that_do_not_run(size, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["spin_glass", "--height", size[0], "--width", size[1]])
    with pytest.raises(SystemExit):
        spin_glass.main()
    assert "expected two spins or more and 1 to 26 columns, got" in capsys.readouterr().err


def test_runs(tmp_path):
    pytest.importorskip("matplotlib", reason="which draws")
    options = "--height", "3", "--width", "4", "--draw", str(tmp_path / "glass.png")
    lines = run_module("tropical.examples.spin_glass", *options)
    lattice = glass(3, 4)
    assert lines == "\n".join(spin_glass.report(lattice, solve(lattice))).splitlines()
    assert lines[0] == "3 x 4 spins, 17 bonds" and len(lines) == 5 + 3
    assert (tmp_path / "glass.png").read_bytes().startswith(b"\x89PNG")
