"""Networks of bytes: near the network that they come from, and saved as it is."""

import collections
import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from support import random_bits

from tropical import nn, quantized
from tropical.autograd import Tensor, gelu, matmul, no_grad


def inputs(rows, columns, seed=0):
    bits = random_bits((rows, columns), seed) % np.uint64(2001)
    return bits.astype(np.float32) / 1000 - 1


def network(rng_seed=0, hidden=32):
    rng = np.random.default_rng(rng_seed)
    return nn.Sequential(
        nn.Linear(20, hidden, rng=rng),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(hidden, hidden, bias=False, rng=rng),
        nn.ReLU(),
        nn.Linear(hidden, 4, rng=rng),
    )


def test_a_network_of_bytes_is_near(isa_or_amx):
    model, x = network(), inputs(200, 20)
    small = quantized.convert(model, x)
    with no_grad():
        model.eval()
        want, got = model(x).data, small(x).data
    assert isinstance(small(x), Tensor) and got.dtype == np.float32
    assert np.abs(got - want).max() < 0.03 * np.abs(want).max()
    assert [type(part).__name__ for part in small] == [
        "QuantizedLinear", "Dropout", "QuantizedLinear", "QuantizedLinear"
    ]  # fmt: skip
    assert [part.outputs is not None for part in small if hasattr(part, "outputs")] == [
        False, True, False
    ]  # fmt: skip
    np.testing.assert_array_equal(small(x[0]).data, got[0])
    np.testing.assert_array_equal(small(x.reshape(4, 50, 20)).data, got.reshape(4, 50, 4))


def test_the_model_stays_as_it_is():
    model, x = network(), inputs(50, 20)
    before = model.state_dict()
    model.train()
    quantized.convert(model, [x, x[:3]])
    assert all(part.training and not part._hooks.get("forward_pre") for part in model.modules())
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_saved_network_computes_the_same(tmp_path):
    x = inputs(50, 20)
    small = quantized.convert(network(), x)
    other = quantized.convert(network(rng_seed=1), 3 * x)
    small.save(tmp_path / "small.npz")
    other.load(tmp_path / "small.npz")
    np.testing.assert_array_equal(other(x).data, small(x).data)
    big = network(hidden=400)
    floats, of_bytes = (
        sum(a.nbytes for a in m.state_dict().values()) for m in (big, quantized.convert(big, x))
    )
    assert of_bytes < 0.3 * floats


class Twice(nn.Module):
    """A network with layers in a list, a dict and a Sequential."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.layers = [nn.Linear(5, 5, rng=rng), nn.Tanh()]
        self.named = {"last": nn.Sequential(nn.Linear(5, 3, rng=rng), nn.Sigmoid())}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.named["last"](x)


def test_layers_are_found_wherever_they_are():
    model, x = Twice(), inputs(30, 5)
    small = quantized.convert(model, x)
    assert isinstance(small.layers[0], quantized.QuantizedLinear)
    assert isinstance(small.named["last"][0], quantized.QuantizedLinear)
    assert isinstance(model.layers[0], nn.Linear)
    assert not [*small.parameters()]
    with no_grad():
        np.testing.assert_allclose(small(x).data, model(x).data, atol=0.02)


@pytest.mark.parametrize(
    "calibration, message",
    [
        ([], "at least one batch"),
        (np.full((2, 20), np.nan, np.float32), "finite inputs of 0.weight"),
        (np.ones((0, 20), np.float32), r"numbers for 0.weight, got shape \(0, 20\)"),
    ],
)
def test_calibration_is_checked(calibration, message):
    with pytest.raises(ValueError, match=f"calibration: expected {message}"):
        quantized.convert(network(), calibration)


def test_a_tensor_calibrates_as_one_batch():
    x = inputs(9, 20).reshape(9, 4, 5)
    model = nn.Sequential(nn.Flatten(), nn.Linear(20, 3, rng=np.random.default_rng(1)))
    small = [quantized.convert(model, given)(x).data for given in (x, Tensor(x), [x])]
    assert (small[0] == small[1]).all() and (small[0] == small[2]).all()


def test_a_layer_that_gets_no_input_is_refused():
    model = Twice()
    model.spare = nn.Linear(2, 2)
    with pytest.raises(ValueError, match=r"inputs for each layer, got none for \['spare.weight'\]"):
        quantized.convert(model, inputs(3, 5))


def test_a_model_is_checked():
    model = network()
    with pytest.raises(TypeError, match="inputs: expected a Quantization, got NoneType"):
        quantized.QuantizedLinear(np.ones((2, 3), np.float32), None, None)
    with pytest.raises(TypeError, match="model: expected a Module, got int"):
        quantized.convert(5, inputs(3, 20))
    model[3].weight.data[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"model: expected finite numbers in 3\.weight, got"):
        quantized.convert(model, inputs(3, 20))


class Called(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.layer = nn.Linear(20, 8, rng=np.random.default_rng(0))
        self.call = call

    def forward(self, x):
        return self.call(self.layer, x)


@pytest.mark.parametrize(
    "call", [lambda layer, x: layer(x=x), lambda layer, x: layer.forward(x)], ids=["by name", "raw"]
)
def test_calls_of_layers_are_seen(call):
    x = inputs(50, 20)
    model = Called(call)
    want = quantized.convert(Called(lambda layer, x: layer(x)), x)(x).data
    np.testing.assert_array_equal(quantized.convert(model, x)(x).data, want)
    assert "forward" not in vars(model.layer)


class OneByOne(nn.Module):
    """A network whose layers other code calls, too."""

    def __init__(self, call):
        super().__init__()
        rng = np.random.default_rng(0)
        self.parts = nn.Sequential(
            nn.Linear(20, 20, rng=rng), nn.ReLU(), nn.Linear(20, 20, rng=rng), nn.ReLU()
        )
        self.call = call

    def forward(self, x):
        return self.call(self.parts, x)


def _with_residuals(parts, x):
    for part in parts:
        x = x + part(x)
    return x


@pytest.mark.parametrize(
    "call",
    [
        _with_residuals,
        lambda parts, x: parts[2](parts[0](x)),
        lambda parts, x: parts(x) + parts[0](x),
        lambda parts, x: parts(x) + parts[1](x),
    ],
    ids=["in a loop", "by number", "besides the whole", "an activation"],
)
def test_layers_that_other_code_calls_do_not_join(call):
    model, x = OneByOne(call), inputs(200, 20)
    want, got = model(x).data, quantized.convert(model, x)(x).data
    assert np.abs(got - want).max() < 0.03 * np.abs(want).max()
    assert "forward" not in vars(model.parts)


@pytest.mark.parametrize("place", ["the whole", "a layer", "an activation", "an own forward"])
def test_what_is_put_on_modules_stays(place):
    """Hooks see numbers: nothing joins a layer across a hook."""
    model, x = network(), inputs(200, 20)
    model.eval()
    if place == "an own forward":
        plain = model[3].forward
        model[3].forward = lambda x: plain(x) * 3
    else:
        part = {"the whole": model, "a layer": model[3], "an activation": model[4]}[place]
        part.register_forward_hook(lambda module, inputs, output: output * 3 + 1)
    with no_grad():
        want, got = model(x).data, quantized.convert(model, x)(x).data
    assert np.abs(got - want).max() < 0.03 * np.abs(want).max()
    assert np.abs(got - quantized.convert(network(), x)(x).data).max() > 0.1


class Shared(nn.Module):
    """A part in two places, a part that refers to the whole, and parts in containers."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        block = nn.Sequential(nn.Linear(20, 20, rng=rng), nn.ReLU())
        layer = nn.Linear(20, 20, rng=rng)
        self.first = Inner(self, nn.Sequential(block, layer, nn.ReLU(), block, layer))
        self.line = collections.deque([nn.Linear(20, 20, rng=rng)])
        self.pair = Pair(nn.Linear(20, 20, rng=rng), 2)
        self.named = {layer: nn.Linear(20, 3, rng=rng)}
        self.same = self.first.parts

    def forward(self, x):
        x = self.pair.layer(self.line[0](self.first(x))) * self.pair.factor
        (last,) = self.named.values()
        return last(x)


class Inner(nn.Module):
    def __init__(self, whole, parts):
        super().__init__()
        self.whole, self.parts = whole, parts

    def forward(self, x):
        return self.parts(x)


class Pair(NamedTuple):
    layer: nn.Linear
    factor: int


def test_networks_of_any_shape():
    model, x = Shared(), inputs(200, 20)
    small = quantized.convert(model, x)
    assert not list(small.parameters())
    assert small.first.parts[0] is small.first.parts[3]
    assert small.first.parts[1] is small.same[4] and small.same is small.first.parts
    assert isinstance(small.pair, Pair) and small.pair.factor == 2
    with no_grad():
        want = model(x).data
    assert np.abs(small(x).data - want).max() < 0.05 * np.abs(want).max()


@pytest.mark.parametrize(
    "same",
    [
        copy.deepcopy,
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: quantized.convert(x, inputs(9, 20)),
    ],
    ids=["copied", "pickled", "converted"],
)
def test_copies_of_networks_load_states(same):
    """Between two layers the first knows what the second one's bytes stand for, also then."""
    rng, x = np.random.default_rng(0), inputs(200, 20)
    chains = [
        quantized.convert(nn.Sequential(nn.Linear(20, 8, rng=rng), nn.Linear(8, 3, rng=rng)), data)
        for data in (x + 3, -x * 0.1 - 5)
    ]
    chains[1] = same(chains[1])
    chains[1].load_state_dict(chains[0].state_dict())
    np.testing.assert_array_equal(chains[1](x + 3).data, chains[0](x + 3).data)


def test_a_state_that_a_layer_refuses_changes_nothing():
    x = inputs(50, 20)
    small = quantized.convert(network(), x)
    before, want = small.state_dict(), small(x).data
    state = {name: np.zeros_like(array) for name, array in before.items()}
    with pytest.raises(ValueError, match="scale: expected finite numbers"):
        small.load_state_dict(state)
    for name, array in small.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
    np.testing.assert_array_equal(small(x).data, want)


class Tied(nn.Module):
    """An autoencoder, whose second layer is the transpose of the first one."""

    def __init__(self, activation=None):
        super().__init__()
        self.layer = nn.Linear(20, 8, rng=np.random.default_rng(0))
        self.activation = activation

    def forward(self, x):
        return matmul(self.layer(x, activation=self.activation), self.layer.weight)


@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_what_forward_does_with_a_linear_layer(activation):
    model, x = Tied(activation), inputs(200, 20)
    small = quantized.convert(model, x)
    with no_grad():
        want = model(x).data
    assert np.abs(small(x).data - want).max() < 0.03 * np.abs(want).max()
    assert small.state_dict()["layer.weight"].dtype == np.int8
    with pytest.raises(ValueError, match="read-only"):
        small.layer.weight[0] = 0
    with pytest.raises(ValueError, match="activation: expected None or 'relu', got 'tan'"):
        small.layer(x, "tan")


def test_activations_follow_that_of_the_layer_and_lead_to_its_outputs():
    x, of_x = inputs(50, 4), quantized.fit(inputs(50, 4), "affine")
    layer = quantized.QuantizedLinear(np.eye(4), None, of_x, "relu")
    layer.outputs = quantized.Quantization(0.01, 0, np.uint8)
    want = gelu(np.maximum(x, 0))
    np.testing.assert_allclose(layer(x, "gelu").dequantize(), want, atol=0.02)
    with pytest.raises(ValueError, match="activation: expected None or 'relu', got 'gelu'"):
        quantized.QuantizedLinear(np.eye(4), None, of_x, "gelu")


@pytest.mark.parametrize("bias", [[1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]]])
def test_a_layer_refuses_a_bias_of_another_shape(bias):
    inputs = quantized.Quantization(0.01, 0, np.uint8)
    with pytest.raises(ValueError, match=r"bias: expected shape \(2,\), got"):
        quantized.QuantizedLinear(np.eye(2), bias, inputs)


def layer_and_rows():
    rng = np.random.default_rng(1)
    inputs = quantized.Quantization(0.02, 100, np.uint8)
    layer = quantized.QuantizedLinear(rng.normal(size=(3, 4)), rng.normal(size=3), inputs)
    return layer, rng.normal(size=(2, 4)).astype(np.float32)


def test_a_shallow_copy_that_was_packed_again():
    """It shares what bytes stand for with the layer, whose results have the new scale then."""
    layer, x = layer_and_rows()
    other = copy.copy(layer)
    other.input_scale = np.float32(0.04)
    other.pack()
    np.testing.assert_array_equal(layer(x).data, other(x).data)


@pytest.mark.parametrize("bias", [[1.0, 2.0, 3.0], np.array([1.0, 2.0, 3.0]), None])
def test_a_bias_that_is_replaced_or_changes_in_place(bias):
    layer, x = layer_and_rows()
    without = layer(x).data - layer.bias
    layer.bias = bias
    layer.pack()
    if bias is None:
        np.testing.assert_allclose(layer(x).data, without, atol=1e-6)
        return
    bias[0] = 100.0
    np.testing.assert_allclose(layer(x).data, without + np.array([100, 2, 3]), atol=1e-5)


def test_weights_that_cannot_be_packed_change_nothing():
    layer, x = layer_and_rows()
    want, bias = layer(x).data, layer.bias
    layer.weight_scale *= 2
    layer.bias = np.ones(7)
    with pytest.raises(ValueError, match="bias: expected shape"):
        layer.pack()
    layer.bias = bias
    np.testing.assert_array_equal(layer(x).data, want)


def test_outputs_have_one_scale_and_sums_are_not_too_long():
    layer, x = layer_and_rows()
    layer.outputs = quantized.Quantization([0.1, 0.2, 0.3], 0, np.int8, axis=1)
    for rows in (x, x[0]):
        with pytest.raises(ValueError, match="quantization: expected one scale for the result"):
            layer(rows)
    with pytest.raises(ValueError, match="weight: expected at most 33025 inputs, got 33026"):
        quantized.QuantizedLinear(np.ones((1, 33026)), None, layer.inputs)
