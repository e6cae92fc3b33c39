"""A change between the forward pass and the backward pass: refused if gradients would be wrong."""

import numpy as np
import pytest
from support import assert_same_bits

from tropical import nn, optim
from tropical.autograd import Tensor, checkpoint, no_grad, relu

REFUSED = r"a parameter of shape \(1, 4\) has changed since the forward pass"
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def networks():
    generator = nn.Linear(3, 4, rng=np.random.default_rng(1))
    critic = nn.Linear(4, 1, rng=np.random.default_rng(2))
    return generator, critic, optim.SGD(critic.parameters(), lr=0.1)


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def minimize(optimizer, loss):
    optimizer.minimize(loss)


CHANGES = pytest.mark.parametrize("change", [step, minimize])


@CHANGES
@pytest.mark.parametrize("through", ["layer", "checkpoint", "transpose"])
def test_a_step_between_two_backward_passes(change, through):
    generator, critic, optimizer = networks()
    fake = generator(Tensor(X))
    judge = {
        "layer": critic,
        "checkpoint": lambda x: checkpoint(critic, x),
        "transpose": lambda x: relu(x @ critic.weight.T) + critic.bias,
    }[through]
    loss = (judge(fake) ** 2).sum()
    change(optimizer, (critic(fake.detach()) ** 2).sum())
    with pytest.raises(RuntimeError, match=REFUSED):
        loss.backward()
    assert generator.weight.grad is None
    (judge(generator(Tensor(X))) ** 2).sum().backward()
    assert generator.weight.grad is not None


def in_place(critic):
    with no_grad():
        critic.weight -= 0.5


def load(critic):
    critic.load_state_dict({name: array + 1 for name, array in critic.state_dict().items()})


@pytest.mark.parametrize("change", [in_place, load])
def test_other_changes_between_two_backward_passes(change):
    generator, critic, _ = networks()
    loss = (critic(generator(Tensor(X))) ** 2).sum()
    change(critic)
    with pytest.raises(RuntimeError, match=REFUSED):
        loss.backward()
    assert generator.weight.grad is None
    (critic(generator(Tensor(X))) ** 2).sum().backward()
    assert generator.weight.grad is not None


def test_a_refused_state_changes_nothing():
    generator, critic, _ = networks()
    loss = (critic(generator(Tensor(X))) ** 2).sum()
    with pytest.raises(ValueError, match="missing"):
        critic.load_state_dict({})
    loss.backward()
    assert generator.weight.grad is not None


@CHANGES
def test_a_second_pass_over_a_graph_that_was_kept(change):
    _, critic, optimizer = networks()
    x = Tensor(np.ones((2, 4), np.float32), requires_grad=True)
    loss = (critic(x) ** 2).sum()
    loss.backward(retain_graph=True)
    change(optimizer, (critic(x.detach()) ** 2).sum())
    with pytest.raises(RuntimeError, match=REFUSED):
        loss.backward()


@CHANGES
def test_old_data_that_no_gradient_needs(change):
    """The gradient of a sum needs no addend, and a bias is one."""
    _, critic, optimizer = networks()
    x = Tensor(np.ones(1, np.float32), requires_grad=True)
    loss = (x + critic.bias).sum()
    change(optimizer, critic(Tensor(np.ones((2, 4), np.float32))).sum())
    loss.backward()
    assert_same_bits(x.grad.data, np.ones(1, np.float32))


@CHANGES
def test_other_parameters_may_change(change):
    generator, critic, _ = networks()
    other = nn.Linear(3, 4, rng=np.random.default_rng(3))
    loss = (critic(generator(Tensor(X))) ** 2).sum()
    change(optim.SGD(other.parameters(), lr=0.1), (other(Tensor(X)) ** 2).sum())
    loss.backward()
    assert generator.weight.grad is not None
