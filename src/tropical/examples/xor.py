"""XOR learned from its table of four lines: ``python -m tropical.examples.xor``.

A network without a hidden layer cannot compute XOR (M. Minsky and S. Papert, "Perceptrons", 1969);
a network with a hidden layer learns XOR, as in D. Rumelhart, G. Hinton and R. Williams, "Learning
internal representations by error propagation", 1986.
"""

from __future__ import annotations

import numpy as np

from tropical import nn, optim
from tropical.autograd import mse
from tropical.examples import new_parser
from tropical.measure.terminal import run

QUESTIONS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
ANSWERS = np.array([[0], [1], [1], [0]], dtype=np.float32)


def learn(seed: int = 0, steps: int = 300) -> nn.Module:
    """Return a network that computes XOR.

    Parameters
    ----------
    seed : int, default 0
        The seed of the initial weights.
    steps : int, default 300
        The number of steps, each on all four lines.

    Examples
    --------
    >>> from tropical.examples import xor
    >>> model = xor.learn()
    >>> (model(xor.QUESTIONS).data > 0.5).ravel().tolist()
    [False, True, True, False]
    """
    rng = np.random.default_rng(seed)
    model = nn.Sequential(nn.Linear(2, 8, rng=rng), nn.Tanh(), nn.Linear(8, 1, rng=rng))
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    for _ in range(steps):
        loss = mse(model(QUESTIONS), ANSWERS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def _main() -> None:
    new_parser("xor", __doc__).parse_args()
    for (a, b), (answer,) in zip(QUESTIONS, learn()(QUESTIONS).data, strict=True):
        print(f"{a:.0f} xor {b:.0f} = {abs(answer):.3f}")


if __name__ == "__main__":
    run("python -m tropical.examples.xor", _main)
