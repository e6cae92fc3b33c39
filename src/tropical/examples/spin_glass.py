"""Ground states of spin glasses on a square lattice: ``python -m tropical.examples.spin_glass``.

Spins s = +1 or -1 on a lattice, and a bond J between neighbors: the energy is the sum of -J s t.
If the product of the bonds around a plaquette is negative, no state satisfies all four bonds: the
plaquette is frustrated. One einsum over (min, +) gives the lowest energy, the number of states with
this energy, and one of the states. The order of contraction, row by row, is that of a transfer
matrix: J.-G. Liu, L. Wang and P. Zhang,
"Tropical tensor network for ground states of spin glasses", Physical Review Letters 126, 2021.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.examples import DRAWING, new_parser, picture
from tropical.extras import require
from tropical.measure.terminal import integer, run

if TYPE_CHECKING:
    from collections.abc import Iterator

Array: TypeAlias = NDArray[Any]
Site: TypeAlias = tuple[int, int]
WIDEST = 26  # columns, for which solving takes 5 GB
AGREEING = np.array([[1, -1], [-1, 1]], np.int32)  # s t of two spins, first +1 and then -1


class Lattice(NamedTuple):
    """The bonds of h rows of w spins.

    Attributes
    ----------
    across : (h, w - 1) or (h, w) array of int
        The bond of each spin and the spin to the right; with w columns the last bond of a row leads
        to the first spin of the row: a cylinder.
    down : (h - 1, w) array of int
        The bond of each spin and the spin below.
    """

    across: Array
    down: Array


class GroundState(NamedTuple):
    """The lowest energy, the number of such states, and the spins of one, (h, w) of +1 and -1."""

    energy: int
    degeneracy: int
    spins: Array


def glass(height: int, width: int, seed: int = 0, *, cylinder: bool = False) -> Lattice:
    """Return a lattice whose bonds are +1 or -1 at random.

    Examples
    --------
    >>> from tropical.examples.spin_glass import glass
    >>> across, down = glass(2, 3)
    >>> across.shape, down.shape
    ((2, 2), (1, 3))
    """
    rng = np.random.default_rng(seed)
    shapes = (height, width if cylinder else width - 1), (height - 1, width)
    return Lattice(*(rng.choice(np.array([-1, 1], np.int32), shape) for shape in shapes))


def villain(size: int) -> Lattice:
    """Return a lattice of size x size spins, all plaquettes of which are frustrated.

    Its ground states are the tilings of the plaquettes by dominoes, each on the bond that it
    covers: J. Villain, "Spin glass with non-random interactions", Journal of Physics C 10, 1977.

    Examples
    --------
    >>> from tropical.examples.spin_glass import frustrated, villain
    >>> frustrated(villain(4)).all()
    np.True_
    """
    across = np.ones((size, size - 1), np.int32)
    down = np.ones((size - 1, size), np.int32)
    down[:, 1::2] = -1
    return Lattice(across, down)


def bonds(lattice: Lattice) -> Iterator[tuple[Site, Site, int]]:
    """Yield the two ends and J of each bond, spin by spin: first the bond above, then the left one.

    A contraction in this order has at most w + 1 spins at a time.

    Raises
    ------
    TypeError
        If the bonds are not signed integers: floats would be cut, and unsigned integers wrap.
    """
    for name, values in lattice._asdict().items():
        if values.dtype.kind != "i":
            raise TypeError(f"{name}: expected signed integers, got dtype {values.dtype}")
    height, width = lattice.across.shape[0], lattice.down.shape[1]
    for row in range(height):
        for column in range(width):
            here = row, column
            if row:
                yield (row - 1, column), here, lattice.down[row - 1, column]
            if column:
                yield (row, column - 1), here, lattice.across[row, column - 1]
        if lattice.across.shape[1] == width:
            yield (row, width - 1), (row, 0), lattice.across[row, -1]


def energy(lattice: Lattice, spins: Array) -> int:
    """Return the energy of a state, the sum of -J s t over all bonds.

    Parameters
    ----------
    lattice : Lattice
    spins : (h, w) array
        +1 and -1.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.examples.spin_glass import energy, villain
    >>> energy(villain(2), np.ones((2, 2)))  # one of four bonds is not satisfied
    -2
    """
    return -int(sum(j * spins[one] * spins[other] for one, other, j in bonds(lattice)))


def solve(lattice: Lattice) -> GroundState:
    """Return the ground state of a lattice of two spins or more.

    The time is that of h * w steps on arrays of 2**w elements.

    Examples
    --------
    >>> from tropical.examples.spin_glass import solve, villain
    >>> ground = solve(villain(9))
    >>> ground.energy, ground.degeneracy // 2  # Kasteleyn's 12,988,816 tilings of a chess board
    (-80, 12988816)
    """
    network = [part for one, other, j in bonds(lattice) for part in (-j * AGREEING, [one, other])]
    best, where = tropical.einsum(
        *network, [], semiring="minplus", optimize=False, return_argmax=True, return_counts=True
    )
    spins = np.ones((lattice.across.shape[0], lattice.down.shape[1]), np.int32)
    for site, state in where.items():
        spins[site] -= 2 * state
    return GroundState(int(best.values), int(best.counts), spins)


def frustrated(lattice: Lattice) -> Array:
    """Return which plaquettes are frustrated, (h - 1, w - 1) or on a cylinder (h - 1, w) of bool.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.examples.spin_glass import Lattice, frustrated
    >>> frustrated(Lattice(np.array([[1, 1], [1, -1]]), np.ones((1, 3), int)))
    array([[False,  True]])
    """
    across, down = lattice
    right = np.roll(down, -1, axis=1)[:, : across.shape[1]]
    around = across[:-1] * across[1:] * down[:, : across.shape[1]] * right
    return np.asarray(around < 0)


def draw(lattice: Lattice, spins: Array) -> Any:
    """Return a matplotlib figure: spins, frustrated plaquettes, bonds that are not satisfied."""
    figure = require("matplotlib.figure", DRAWING).Figure(figsize=(5.4, 5.8))
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.88))
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.axis("off")
    rows, columns = np.nonzero(frustrated(lattice))
    axes.plot(columns + 0.5, rows + 0.5, "s", ms=12, color="#f3d9a4", label="frustrated plaquette")
    for (row, column), (below, right), j in bonds(lattice):
        wrong = j * spins[row, column] * spins[below, right] < 0
        color, width = ("#c1272d", 2.5) if wrong else ("#d0d0d0", 0.8)
        axes.plot(
            [column, column + (right != column)],
            [row, below],
            color=color,
            lw=width,
            zorder=2 if wrong else 1,
        )
    for sign, color, name in ((1, "#1f3b73", "spin +1"), (-1, "white", "spin -1")):
        rows, columns = np.nonzero(spins == sign)
        axes.plot(columns, rows, "o", ms=7, color=color, mec="#1f3b73", zorder=3, label=name)
    axes.plot([], [], color="#c1272d", lw=2.5, label="bond not satisfied")
    figure.legend(loc="upper center", ncols=2, frameon=False)
    return figure


def report(lattice: Lattice, ground: GroundState) -> Iterator[str]:
    """Yield the lines about a lattice and its ground state."""
    height, width = ground.spins.shape
    plaquettes = frustrated(lattice)
    yield f"{height} x {width} spins, {lattice.across.size + lattice.down.size} bonds"
    yield f"{plaquettes.sum()} of {plaquettes.size} plaquettes are frustrated"
    yield f"lowest energy: {ground.energy}, {ground.energy / ground.spins.size:.3f} a spin"
    yield f"ground states: {ground.degeneracy:,}; one of them:\n"
    for row in ground.spins:
        yield " ".join("+" if spin > 0 else "-" for spin in row)


def main() -> None:
    """Solve a glass; draw it on request."""
    parser = new_parser("spin_glass", __doc__)
    parser.add_argument("--height", type=int, default=16, help="rows of spins")
    parser.add_argument("--width", type=int, default=16, help="columns; each doubles the time")
    parser.add_argument("--seed", type=integer(0), default=0, help="of the random bonds")
    parser.add_argument("--cylinder", action="store_true", help="close each row to a ring")
    parser.add_argument(
        "--draw", type=picture, metavar="FILE", help="draw the ground state, as SVG or PNG"
    )
    asked = parser.parse_args()
    if asked.height < 1 or not 1 <= asked.width <= WIDEST or asked.height * asked.width < 2:
        parser.error(
            f"expected two spins or more and 1 to {WIDEST} columns, "
            f"got {asked.height} rows and {asked.width} columns"
        )
    lattice = glass(asked.height, asked.width, asked.seed, cylinder=asked.cylinder)
    ground = solve(lattice)
    for line in report(lattice, ground):
        print(line)
    if asked.draw:
        draw(lattice, ground.spins).savefig(asked.draw)


if __name__ == "__main__":
    run("python -m tropical.examples.spin_glass", main)
