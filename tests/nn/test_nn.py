"""Modules, layers, initializers, parameter files."""

import copy
import inspect
import io
import itertools
import os
import pickle
import stat
import zipfile

import numpy as np
import pytest
from support import (
    assert_all_same_bits,
    assert_same_bits,
    assert_states_equal,
    run_python,
    unchanged,
)

import tropical
from tropical import autograd, nn, optim
from tropical import npz as npz_module
from tropical.autograd import Tensor, no_grad

RNG = np.random.default_rng


class Scale(nn.Module):
    def __init__(self, size=2):
        super().__init__()
        self.factor = nn.Parameter(np.full(size, 2.0))
        self.count = np.zeros((), np.int64)
        self.label = "no state"

    def forward(self, x):
        return x * self.factor


class Tree(nn.Module):
    """Attributes of every kind, set in an order that is not alphabetical."""

    def __init__(self):
        super().__init__()
        self.second = nn.Parameter([1.0])
        self.inner = nn.Sequential(Scale(), nn.Sequential(nn.BatchNorm(3, dtype="float64")))
        self.first = nn.Parameter([[2.0]])
        self.table = np.arange(3.0)
        self.nothing = None
        self.constant = Tensor([5.0])  # no parameter
        self.several = [nn.Parameter([1.0]), {"left": (Same(), Scale())}]
        self.again = self.second


class Two(nn.Module):
    def forward(self, a, b):
        return a * 2, b * 3


class Same(nn.Module):
    def forward(self, x):
        return x


def layers(dtype="float32"):
    rng = RNG(3)
    return {
        "Linear": nn.Linear(3, 4, dtype=dtype, rng=rng),
        "Linear without bias": nn.Linear(3, 4, bias=False, dtype=dtype, rng=rng),
        "TropicalLinear": nn.TropicalLinear(3, 4, dtype=dtype, rng=rng),
        "Conv2d": nn.Conv2d(2, 3, (3, 2), dtype=dtype, rng=rng),
        "BatchNorm": nn.BatchNorm(3, dtype=dtype),
        "LayerNorm": nn.LayerNorm(3, dtype=dtype),
        "Embedding": nn.Embedding(5, 3, dtype=dtype, rng=rng),
        "MaxPool2d": nn.MaxPool2d(2),
        "AvgPool2d": nn.AvgPool2d(2),
        "Dropout": nn.Dropout(0.25),
        "ReLU": nn.ReLU(),
        "Tanh": nn.Tanh(),
        "Sigmoid": nn.Sigmoid(),
        "GELU": nn.GELU(),
        "Flatten": nn.Flatten(),
        "Sequential": nn.Sequential(
            nn.Linear(3, 4, dtype=dtype, rng=rng), nn.BatchNorm(4, dtype=dtype)
        ),
    }


LAYERS = list(layers())


def scramble(module, seed=0):
    """Give every parameter and buffer values that no initializer gives."""
    draw = RNG(seed).standard_normal
    for parameter in module.parameters():
        parameter.data[...] = draw(parameter.shape)
    for _, buffer in module.named_buffers():
        buffer[...] = draw(buffer.shape) * 8
    return module


# --- what belongs to a module ---


def test_names_come_in_the_order_of_their_setting():
    tree = Tree()
    assert [name for name, _ in tree.named_parameters()] == [
        *("second", "inner.0.factor", "inner.1.0.weight", "inner.1.0.bias", "first"),
        *("several.0", "several.1.left.1.factor"),
    ]
    assert [name for name, _ in tree.named_buffers()] == [
        *("inner.0.count", "inner.1.0.running_mean", "inner.1.0.running_var", "table"),
        "several.1.left.1.count",
    ]
    assert [name for name, _ in tree.named_children()] == [
        *("inner", "several.1.left.0", "several.1.left.1")
    ]
    assert [type(module).__name__ for module in tree.modules()] == [
        *("Tree", "Sequential", "Scale", "Sequential", "BatchNorm", "Same", "Scale")
    ]
    assert [id(p) for p in tree.parameters()] == [id(p) for _, p in tree.named_parameters()]


@pytest.mark.parametrize("value, taken", [(2**31 - 1, True), (2**31, False), (-(2**40), False)])
def test_states_of_integers_do_not_wrap(value, taken):
    scale = Scale()
    scale.count = np.zeros((), np.int32)
    state = scale.state_dict() | {"count": np.array(value)}
    if taken:
        scale.load_state_dict(state)
        assert scale.count == value
    else:
        with unchanged(scale), pytest.raises(ValueError, match="in the range of int32"):
            scale.load_state_dict(state)


def test_loading_keeps_infinities():
    layer = nn.Linear(1, 2)
    layer.load_state_dict(layer.state_dict() | {"bias": np.array([np.inf, np.nan])})
    assert np.isinf(layer.bias.data[0]) and np.isnan(layer.bias.data[1])


def test_shared_parameters_are_given_once_and_saved_under_every_name():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    model = nn.Sequential(first, second, first)
    assert [name for name, _ in model.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert list(model.state_dict()) == [f"{i}.{name}" for i in range(3) for name in
                                        ("weight", "bias")]  # fmt: skip
    model.load_state_dict(model.state_dict())


def test_attributes_may_be_set_anew_and_deleted():
    scale = Scale()
    scale.factor = nn.Parameter([1.0, 1.0, 1.0])
    scale.more = nn.Parameter([0.0])
    del scale.count
    assert list(scale.state_dict()) == ["factor", "more"]
    assert scale(np.ones(3)).shape == (3,)


def test_parts_in_sets_and_of_one_name_are_refused():
    tree = Tree()
    tree.several.append({Scale()})
    with pytest.raises(TypeError, match=r"several\.2: expected a list, tuple or dict .* got a set"):
        tree.state_dict()
    for several, name in (
        (np.array([Scale()]), "several"),
        ([np.array(None), np.array([Scale()])], "several.1"),
    ):
        tree.several = several
        with pytest.raises(TypeError, match=f"{name}: expected a list, .* got an array"):
            tree.state_dict()
    tree.several = {1: Scale(), "1": Scale()}
    for act in (tree.state_dict, lambda: tree.load_state_dict({})):
        with pytest.raises(ValueError, match=r"different names, got 'several.1.factor' twice"):
            act()


class Cache(nn.Module):
    """Keeps arrays in forward, and has no call of the constructor of Module."""

    def __init__(self):
        self.mean = np.zeros(2)

    def forward(self, x):
        self.mean = self.mean + 1
        self.x = x
        return x


@pytest.mark.parametrize("call", [Cache.__call__, Cache.forward])
@pytest.mark.parametrize("copied", [lambda m: m, copy.deepcopy, copy.copy])
def test_arrays_that_forward_keeps_are_no_state(call, copied):
    model = copied(nn.Sequential(Cache(), nn.Linear(2, 1)))
    assert model.training and model[0].training and not model[0].eval().training
    call(model[0], np.ones(2))
    state = model.state_dict()
    assert list(state) == ["1.weight", "1.bias", "0.mean"]
    np.testing.assert_array_equal(state["0.mean"], [1.0, 1.0])
    model[0].register_buffer("x", np.full(2, 3.0))
    assert list(model.state_dict()) == ["1.weight", "1.bias", "0.mean", "0.x"]
    with pytest.raises(TypeError, match="array: expected an ndarray, got list"):
        model[0].register_buffer("y", [1.0])


def test_train_and_eval_reach_everything():
    tree = Tree()
    assert all(module.training for module in tree.modules())
    assert tree.eval() is tree
    assert not any(module.training for module in tree.modules())
    assert tree.train() is tree
    assert all(module.training for module in tree.modules())
    tree.inner.train(False)
    assert tree.training and not any(module.training for module in tree.inner.modules())


def test_zero_grad():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    model(np.ones((3, 2), np.float32)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_representation():
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3, stride=2),
        nn.Sequential(nn.Linear(3, 4), nn.TropicalLinear(4, 2, semiring="minplus")),
        nn.MaxPool2d(2, padding=1),
        nn.Dropout(0.25),
    )
    assert repr(model).splitlines() == [
        "Sequential()",
        "  0: Conv2d(1, 2, (3, 3), stride=2, padding=0)",
        "  1: Sequential()",
        "    0: Linear(3, 4)",
        "    1: TropicalLinear(4, 2, semiring='minplus')",
        "  2: MaxPool2d(2, stride=None, padding=1)",
        "  3: Dropout(0.25)",
    ]
    for layer in layers().values():
        assert repr(layer).startswith(f"{type(layer).__name__}(")


def test_signatures_are_those_of_constructors():
    """The manual and `help` show them; what the metaclass calls takes any arguments."""
    shown = ["inputs", "outputs", "bias", "dtype", "rng"]
    assert list(inspect.signature(nn.Linear).parameters) == shown
    assert list(inspect.signature(Scale).parameters) == ["size"]
    for name in nn.__all__:
        layer = getattr(nn, name)
        if isinstance(layer, type) and issubclass(layer, nn.Module):
            arguments = inspect.signature(layer).parameters
            assert all(argument in inspect.getdoc(layer) for argument in arguments), name


def test_a_module_without_forward_says_so():
    class Empty(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="Empty does not define forward"):
        Empty()(1)


def test_parameters_own_their_data():
    array = np.asfortranarray(np.ones((2, 3)))
    parameter = nn.Parameter(array)
    parameter.data[0, 0] = 5
    assert array[0, 0] == 1 and parameter.data.flags.c_contiguous
    assert parameter.requires_grad and parameter.is_leaf
    assert nn.Parameter([1, 2]).dtype == np.float64
    assert nn.Parameter([1.0], dtype="float32").dtype == np.float32
    with no_grad():
        assert nn.Parameter([1.0]).requires_grad
    with pytest.raises(TypeError, match="expected an array, got a Tensor"):
        nn.Parameter(Tensor([1.0]))


# --- state ---


@pytest.mark.parametrize("name", LAYERS)
def test_states_are_copies(name):
    layer = layers()[name]
    state = layer.state_dict()
    with unchanged(layer):
        for array in state.values():
            array += 1
    layer.load_state_dict(state)
    assert_states_equal(layer.state_dict(), state)
    with unchanged(layer):
        for array in state.values():
            array += 1


def test_loading_writes_into_the_arrays_that_are_there():
    layer = nn.BatchNorm(2)
    data, mean = layer.weight.data, layer.running_mean
    layer.load_state_dict({name: array + 1 for name, array in layer.state_dict().items()})
    assert layer.weight.data is data and layer.running_mean is mean
    assert data.tolist() == [2, 2] and mean.tolist() == [1, 1]


def test_loading_arrays_of_the_layer_itself():
    """Each is read before one is written to."""
    layer = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    first, second = (layer[i].weight.data for i in (0, 1))
    want = second.copy(), first.copy()
    live = {**layer.state_dict(), "0.weight": second, "1.weight": first}
    layer.load_state_dict(live)
    assert_same_bits(first, want[0])
    assert_same_bits(second, want[1])
    turned = first.T.copy()
    layer.load_state_dict({**layer.state_dict(), "0.weight": first.T})
    assert_same_bits(first, turned)


def test_loading_casts_dtypes_and_takes_lists():
    layer = nn.Linear(2, 1, dtype="float32")
    layer.load_state_dict({"weight": np.array([[0.1, 2.0]]), "bias": [3]})
    assert layer.weight.dtype == layer.bias.dtype == np.float32
    assert_same_bits(layer.weight.data, np.array([[0.1, 2.0]], np.float32))
    wide = nn.Linear(2, 1, dtype="float64")
    wide.load_state_dict(layer.state_dict())
    assert_same_bits(wide.weight.data, layer.weight.data.astype(np.float64))


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"bias": None}, ValueError, r"state: missing \['bias'\], unknown \[\]"),
        ({"shift": np.zeros(2)}, ValueError, r"state: missing \[\], unknown \['shift'\]"),
        ({"bias": np.zeros(3)}, ValueError, r"state: bias: expected shape \(2,\), got \(3,\)"),
        ({"bias": 0.0}, ValueError, r"state: bias: expected shape \(2,\), got \(\)"),
        (
            {"bias": np.array([0, 1e39])},
            ValueError,
            "state: bias: expected numbers in the range of",
        ),
        ({"bias": np.array([1j, 2j])}, (TypeError, ValueError), None),
        ({"bias": np.array(["1", "2"])}, (TypeError, ValueError), None),
        ({"bias": np.array([1.0, None], dtype=object)}, (TypeError, ValueError), None),
    ],
)
def test_states_that_do_not_fit_change_nothing(change, error, message):
    layer = nn.Linear(2, 2)
    state = {name: array + 1 for name, array in layer.state_dict().items()} | change
    state = {name: array for name, array in state.items() if array is not None}
    with unchanged(layer), pytest.raises(error, match=message):
        layer.load_state_dict(state)


# --- files ---


@pytest.mark.parametrize("parent", ["no", "file"])
def test_errors_name_the_file_that_was_asked_for(parent, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=f"{parent}/m.npz"):
        nn.Linear(1, 1).save(tmp_path / parent / "m.npz")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_files_keep_every_bit(name, dtype, tmp_path):
    layer = scramble(layers(dtype)[name])
    path = tmp_path / "layer.npz"
    layer.save(path)
    other = layers(dtype)[name]
    other.load(str(path))
    assert_states_equal(other.state_dict(), layer.state_dict())
    with np.load(path, allow_pickle=False) as archive:
        assert_states_equal({n: archive[n] for n in archive.files}, layer.state_dict())
    assert [p.name for p in tmp_path.iterdir()] == ["layer.npz"]


def test_special_values_and_orders_are_kept(tmp_path):
    path = tmp_path / "a.npz"
    arrays = {
        "special": np.array([np.nan, -np.inf, -0.0, 5e-324]),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "strided": np.arange(10)[::3],
        "empty": np.zeros((0, 3), np.float32),
        "scalar": np.array(3),
    }
    nn.save_arrays(path, arrays)
    assert_states_equal(nn.load_arrays(path), arrays)


@pytest.mark.parametrize(
    "name", ["file", "allow_pickle", "args", "arr_0", "self", "kwds", "größe", "save", "f"]
)
def test_names_of_parameters_are_free(name, tmp_path):
    module = nn.Module()
    setattr(module, name, nn.Parameter([1.0, 2.0]))
    inner = nn.Module()
    inner.register_buffer(name, np.arange(3))
    module.inner = inner
    module.__dict__[name].data[:] = 7
    path = tmp_path / "names.npz"
    nn.save_arrays(path, module.state_dict())
    module.__dict__[name].data[:] = 0
    nn.Module.load(module, path)
    assert module.__dict__[name].data.tolist() == [7, 7]
    assert list(nn.load_arrays(path)) == [name, f"inner.{name}"]


def test_files_are_readable_as_others_are(tmp_path):
    path, plain = tmp_path / "a.npz", tmp_path / "plain"
    nn.Linear(2, 2).save(path)
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_saving_leaves_the_umask_alone(tmp_path, monkeypatch):
    """It is one for all threads: who changes it for a moment changes the files of others."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("changes the umask"))
    nn.Linear(2, 2).save(tmp_path / "a.npz")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_saving_keeps_permissions(mode, tmp_path):
    path = tmp_path / "a.npz"
    path.touch()
    path.chmod(mode)
    nn.Linear(2, 2).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("kind", ["pipe", "device", "descriptor"])
def test_pipes_and_devices_are_written_to(kind, tmp_path):
    path, copied, layer = tmp_path / "special", tmp_path / "a.npz", nn.Linear(2, 2)
    if kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            layer.save(path)
        except PermissionError:
            pytest.skip("only root makes devices")
        assert path.is_char_device()
        return
    if kind == "pipe":
        os.mkfifo(path)
        source = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        layer.save(path)
    else:
        source, target = os.pipe()
        layer.save(f"/dev/fd/{target}")
        os.close(target)
    with os.fdopen(source, "rb") as file:
        copied.write_bytes(file.read())
    assert_states_equal(nn.load_arrays(copied), layer.state_dict())
    assert [p.name for p in tmp_path.iterdir() if p != copied] == ["special"] * (kind == "pipe")


def test_saving_waits_for_the_disk(tmp_path, monkeypatch):
    """The data are on the disk before the name is, and the name at the end."""
    events, sync, replace = [], os.fsync, type(tmp_path).replace
    monkeypatch.setattr(os, "fsync", lambda fd: events.append("sync") or sync(fd))
    monkeypatch.setattr(
        type(tmp_path), "replace", lambda *paths: events.append("replace") or replace(*paths)
    )
    nn.Linear(2, 2).save(tmp_path / "a.npz")
    assert events == ["sync", "replace", "sync"]


def test_a_killed_process_leaves_no_other_file(tmp_path):
    try:
        os.close(os.open(tmp_path, os.O_WRONLY | os.O_TMPFILE))
    except (AttributeError, OSError):
        pytest.skip("this file system has no files without a name")
    path = tmp_path / "a.npz"
    path.write_bytes(b"old")
    code = f"""
        import os, signal
        import numpy as np
        from tropical import nn
        np.lib.format.write_array = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        nn.Linear(2, 2).save({str(path)!r})
    """
    with pytest.raises(AssertionError, match="exit status -9"):
        run_python(code)
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"] and path.read_bytes() == b"old"


@pytest.mark.parametrize("named", [True, False])
def test_saving_without_files_that_have_no_name(named, tmp_path, monkeypatch):
    """As on file systems that lack them, and where /proc is not mounted."""
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    monkeypatch.setattr(npz_module, "_OPEN_FILES", "/none")
    layer, path = nn.Linear(2, 2), tmp_path / "a.npz"
    layer.save(path)
    assert_states_equal(nn.load_arrays(path), layer.state_dict())
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def test_saving_into_a_folder_that_cannot_be_read(tmp_path, monkeypatch):
    """A mode such as 0o333, which root does not feel: the file was written, and then an error."""
    open_file = os.open

    def refuse(path, flags, *mode):
        if flags == os.O_RDONLY:
            raise PermissionError(13, "Permission denied", path)
        return open_file(path, flags, *mode)

    monkeypatch.setattr(os, "open", refuse)
    layer = nn.Linear(2, 2)
    layer.save(tmp_path / "a.npz")
    assert_states_equal(nn.load_arrays(tmp_path / "a.npz"), layer.state_dict())


@pytest.mark.parametrize("exists", [True, False])
def test_saving_through_a_link_keeps_the_link(exists, tmp_path):
    layer, folder = scramble(nn.Linear(2, 2)), tmp_path / "folder"
    folder.mkdir()
    target, link = folder / "a.npz", tmp_path / "link.npz"
    if exists:
        nn.Linear(2, 2).save(target)
    link.symlink_to(target)
    layer.save(link)
    assert link.is_symlink() and not target.is_symlink()
    assert_states_equal(nn.load_arrays(target), layer.state_dict())
    assert [p.name for p in folder.iterdir()] == ["a.npz"]


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt("stop")])
@pytest.mark.parametrize("failing_call", [1, 2])
def test_a_failed_save_leaves_what_was_there(failing_call, error, exists, tmp_path, monkeypatch):
    layer, path = nn.Linear(2, 2), tmp_path / "a.npz"
    if exists:
        layer.save(path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    write, calls = np.lib.format.write_array, []

    def fails(*args, **keywords):
        calls.append(1)
        if len(calls) == failing_call:
            raise error
        write(*args, **keywords)

    monkeypatch.setattr(np.lib.format, "write_array", fails)
    scramble(layer)
    with pytest.raises(type(error), match=str(error)):
        layer.save(path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_objects_are_neither_saved_nor_loaded(tmp_path):
    path = tmp_path / "a.npz"
    with pytest.raises(ValueError, match=r"arrays: expected names without a NUL .* got 'a\\x00b'"):
        nn.save_arrays(path, {"a\0b": np.zeros(1), "a\0c": np.ones(1)})
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        nn.save_arrays(path, {"a": np.array([{}], dtype=object)})
    assert not list(tmp_path.iterdir())
    layer = nn.Linear(2, 2)
    np.savez(path, weight=layer.weight.data + 1, bias=np.array([None, 1.0], dtype=object))
    with unchanged(layer), pytest.raises(ValueError, match=r"a\.npz: .*allow_pickle=False"):
        layer.load(path)


def test_a_folder_or_a_missing_place_says_which(tmp_path):
    layer = nn.Linear(2, 2)
    for path in (tmp_path / "missing.npz", tmp_path / "no folder" / "a.npz"):
        with unchanged(layer), pytest.raises(FileNotFoundError, match=path.name):
            layer.load(path)
    with pytest.raises(OSError, match=tmp_path.name):
        layer.load(tmp_path)


def npz(save=np.savez, **by_name):
    buffer = io.BytesIO()
    save(buffer, **by_name)
    return buffer.getvalue()


def one_array(array):
    return npz(np.save, arr=array)


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


LYING = one_array(np.ones(2)).replace(b"(2,)", b"(9,)")  # the header tells of nine elements
FOREIGN = {
    "empty": b"",
    "text": b"weights, bias\n" * 20,
    "one array": one_array(np.ones(3)),
    "another zip": zipped(weight="hello", bias=b"\0\1"),
    "arrays of other names": npz(w=np.ones((2, 2)), b=np.ones(2)),
    "arrays of another network": npz(weight=np.ones((3, 2)), bias=np.ones(3)),
    "complex arrays": npz(weight=np.ones((2, 2)), bias=np.ones(2) * 1j),
    "pickle": pickle.dumps({"weight": np.ones((2, 2))}),
    "a header that lies": zipped(**{"weight.npy": LYING, "bias.npy": LYING}),
}


@pytest.mark.parametrize("kind", [*FOREIGN, "half"])
def test_foreign_files_are_named_and_change_nothing(kind, tmp_path):
    layer, path = nn.Linear(2, 2), tmp_path / "strange.npz"
    layer.save(path)
    good = path.read_bytes()
    path.write_bytes(FOREIGN.get(kind, good[: len(good) // 2]))
    with unchanged(layer), pytest.raises(ValueError, match=r"strange\.npz: "):
        layer.load(path)


def test_files_of_more_than_arrays_are_refused(tmp_path):
    path, member = tmp_path / "a.npz", one_array(np.ones(2))
    for content in (b"hello", member + b"!", member[:-1]):
        path.write_bytes(zipped(**{"a.npy": content}))
        with pytest.raises(ValueError, match=r"a\.npz: expected an undamaged \.npz file of arrays"):
            nn.load_arrays(path)


@pytest.mark.parametrize("compressed", [False, True])
def test_damaged_files_are_named_and_change_nothing(compressed, tmp_path):
    layer, path = scramble(nn.Linear(4, 3)), tmp_path / "damaged.npz"
    layer.save(path)
    if compressed:  # what NumPy's users may have made of it
        np.savez_compressed(path, **layer.state_dict())
    good, saved = path.read_bytes(), layer.state_dict()
    scramble(layer, 1)
    own = layer.state_dict()
    flips = [
        good[:i] + bytes([good[i] ^ mask]) + good[i + 1 :]
        for i in range(len(good))
        for mask in (1, 0x80)
    ]
    cuts = [good[:i] for i in range(0, len(good), 7)]
    escaped = set()
    for data in (*flips, *cuts):
        path.write_bytes(data)
        try:
            layer.load(path)
        except Exception as error:
            if not isinstance(error, OSError | ValueError) or "damaged.npz" not in str(error):
                escaped.add(f"{type(error).__name__}: {error}")
            assert_states_equal(layer.state_dict(), own)
        else:  # the damaged byte says nothing of the arrays
            assert_states_equal(layer.state_dict(), saved)
            layer.load_state_dict(own)
    assert sorted(escaped) == []


# --- hooks ---


def test_forward_hooks_inspect_replace_and_go():
    scale, seen = Scale(), []
    x = Tensor([1.0, 2.0])
    handles = [
        scale.register_forward_pre_hook(lambda m, inputs: seen.append(("pre", m, inputs))),
        scale.register_forward_pre_hook(lambda m, inputs: (inputs[0] + 1,)),
        scale.register_forward_pre_hook(lambda m, inputs: inputs[0] * 10),  # one need be no tuple
        scale.register_forward_hook(lambda m, inputs, y: seen.append(("post", m, inputs, y))),
        scale.register_forward_hook(lambda m, inputs, y: y + 0.5),
        scale.register_forward_hook(lambda m, inputs, y: y * 2),
    ]
    assert scale(x).data.tolist() == [81, 121]
    kind, module, inputs = seen[0]
    assert kind == "pre" and module is scale and inputs[0] is x
    kind, module, inputs, output = seen[1]
    assert kind == "post" and module is scale
    assert inputs[0].data.tolist() == [20, 30] and output.data.tolist() == [40, 60]
    for handle in (*handles, handles[0]):
        handle.remove()
    assert scale(x).data.tolist() == [2, 4]
    assert len(seen) == 2


def test_backward_hooks_inspect_replace_and_go():
    scale, seen = Scale(), []
    x = Tensor([1.0, 2.0], requires_grad=True)
    handles = [
        scale.register_backward_pre_hook(lambda m, g: seen.append(("pre", m, g.data.copy()))),
        scale.register_backward_pre_hook(lambda m, g: g + 1),
        scale.register_backward_pre_hook(lambda m, g: g.data * 10),  # may be an array
        scale.register_backward_hook(lambda m, g: seen.append(("post", m, g.data.copy()))),
        scale.register_backward_hook(lambda m, g: g + 0.5),
        scale.register_backward_hook(lambda m, g: g * 2),
    ]
    scale(x).backward([3.0, 4.0])
    np.testing.assert_array_equal(scale.factor.grad.data, [40, 100])
    np.testing.assert_array_equal(x.grad.data, [161, 201])
    assert [(kind, module) for kind, module, _ in seen] == [("pre", scale), ("post", scale)]
    np.testing.assert_array_equal([g for *_, g in seen], [[3, 4], [80, 100]])
    for handle in (*handles, handles[0]):
        handle.remove()
    x.grad = None
    scale(x).backward([3.0, 4.0])
    np.testing.assert_array_equal(x.grad.data, [6, 8])
    assert len(seen) == 2


def test_backward_hooks_see_what_passes_through_the_module_alone():
    scale, seen = Scale(), []
    scale.register_backward_hook(lambda m, g: seen.append(g.data.copy()))
    x = Tensor([1.0, 2.0], requires_grad=True)
    (scale(x) + x * 100).sum().backward()
    np.testing.assert_array_equal(seen, [[2, 2]])
    np.testing.assert_array_equal(x.grad.data, [102, 102])


@pytest.mark.parametrize("kind", ["register_backward_hook", "register_backward_pre_hook"])
def test_hooks_do_not_pile_up_on_leaves(kind):
    seen = []
    module = Same()
    getattr(module, kind)(lambda m, g: seen.append(g.item()))
    x = Tensor(1.0, requires_grad=True)
    for count in (1, 2, 3):
        y = module(x)
        assert y is not x and y.data is x.data
        y.backward()
        assert seen == [1.0] * count
    assert not x.node.hooks
    (x * 5).backward()
    assert len(seen) == 3 and x.grad.item() == 8


def test_hooks_on_a_module_used_twice_are_called_twice():
    scale, seen = Scale(), []
    scale.register_forward_hook(lambda m, inputs, y: seen.append("forward"))
    scale.register_backward_hook(lambda m, g: seen.append("backward"))
    x = Tensor([1.0, 2.0], requires_grad=True)
    scale(scale(x)).sum().backward()
    assert seen == ["forward", "forward", "backward", "backward"]
    np.testing.assert_array_equal(x.grad.data, [4, 4])


def test_hooks_where_there_is_no_gradient():
    scale, seen = Scale(), []
    scale.register_backward_hook(lambda m, g: seen.append("input"))
    scale.register_backward_pre_hook(lambda m, g: seen.append("output"))
    scale(np.ones(2)).sum().backward()  # the input has none
    assert seen == ["output"]
    two = Two()
    two.register_backward_hook(lambda m, g: seen.append("first"))
    two.register_backward_pre_hook(lambda m, g: seen.append("never"))  # two outputs
    a, b = two(Tensor(1.0, requires_grad=True), Tensor(2.0, requires_grad=True))
    (a + b).backward()
    assert seen == ["output", "first"]


@pytest.mark.parametrize("kind", ["register_backward_hook", "register_backward_pre_hook"])
@pytest.mark.parametrize("module", [Scale, Same])
def test_backward_hooks_do_not_disturb_what_is_not_recorded(module, kind):
    hooked = module()
    getattr(hooked, kind)(lambda m, g: None)
    x = Tensor([1.0, 2.0], requires_grad=True)
    with no_grad():
        y = hooked(x)
        np.testing.assert_array_equal(y.data, module()(x).data)


def test_backward_hooks_of_a_module_without_inputs():
    class Constant(nn.Module):
        def forward(self):
            return Tensor(1.0, requires_grad=True) * 2

    module = Constant()
    module.register_backward_hook(lambda m, g: None)
    assert module().item() == 2


class Shift(nn.Module):
    def forward(self, x, *, by=0.0):
        return x * 2 + by


def test_keyword_arguments_reach_forward_with_and_without_hooks():
    shift, seen = Shift(), []
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert shift(x, by=3.0).data.tolist() == shift(x=x, by=3.0).data.tolist() == [5, 7]
    shift.register_forward_pre_hook(lambda m, inputs: seen.append(inputs))
    shift.register_forward_hook(lambda m, inputs, y: y + 1)
    shift.register_backward_hook(lambda m, g: g * 10)
    assert shift(x=x, by=3.0).data.tolist() == [6, 8] and seen == [()]
    y = shift(x, by=3.0)
    y.backward([1.0, 1.0])
    assert y.data.tolist() == [6, 8] and x.grad.data.tolist() == [20, 20]
    with pytest.raises(TypeError, match="other"):
        shift(x, other=1)
    linear, row = nn.Linear(2, 3), np.ones((1, 2), np.float32)
    assert_same_bits(linear(row, activation="relu").data, np.maximum(linear(row).data, 0))


def test_hooks_may_remove_themselves_and_raise():
    scale = Scale()
    handle = scale.register_forward_hook(lambda m, inputs, y: handle.remove())
    scale(np.ones(2))
    scale(np.ones(2))

    def fails(m, inputs):
        raise ZeroDivisionError

    bad = scale.register_forward_pre_hook(fails)
    with pytest.raises(ZeroDivisionError):
        scale(np.ones(2))
    bad.remove()
    scale(np.ones(2))


def mlp():
    rng = RNG(0)
    return nn.Sequential(
        nn.Linear(5, 7, rng=rng),
        nn.ReLU(),
        nn.Linear(7, 6, bias=False, rng=rng),
        nn.ReLU(),
        nn.Linear(6, 3, rng=rng),
    )


def value_and_gradients(function, data, parameters, gradient=None):
    """The value of function(data), and the gradients of the data and of the parameters."""
    x = Tensor(data, requires_grad=True)
    y = function(x)
    y.backward(np.ones(y.shape) if gradient is None else gradient)
    return [y.data, x.grad.data, *(p.grad.data for p in parameters)]


KINDS = [
    *("register_forward_pre_hook", "register_forward_hook"),
    *("register_backward_pre_hook", "register_backward_hook"),
]


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_sequential_computes_the_same_with_hooks(kind, place):
    data = RNG(1).standard_normal((4, 5)).astype(np.float32)
    plain, hooked = mlp(), mlp()
    getattr(hooked[place], kind)(lambda *_: None)
    results = (value_and_gradients(model, data, model.parameters()) for model in (hooked, plain))
    assert_all_same_bits(*results)


def one_by_one(modules, x):
    for module in modules:
        x = module(x)
    return x


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_hooks_see_what_they_would_without_fusion(place):
    data = RNG(1).standard_normal((4, 5)).astype(np.float32)
    logs = []
    for fusing in (True, False):
        model, log = mlp(), []
        module = model[place]
        module.register_forward_pre_hook(lambda m, inputs, log=log: log.append(inputs[0].data))
        module.register_forward_hook(lambda m, inputs, y, log=log: log.append(y.data))
        module.register_backward_pre_hook(lambda m, g, log=log: log.append(g.data.copy()))
        module.register_backward_hook(lambda m, g, log=log: log.append(g.data.copy()))
        function = model if fusing else lambda x, model=model: one_by_one(model, x)
        results = value_and_gradients(function, data, [])
        assert len(log) == 4
        logs.append([*results, *log])
    assert_all_same_bits(*logs)


def test_hooks_of_sequential_itself_and_replacing_inside():
    model = nn.Sequential(nn.Linear(2, 2, dtype="float64"), nn.ReLU())
    x = np.ones((1, 2))
    model.register_forward_hook(lambda m, inputs, y: y + 1)
    plain = model(x).data
    model[0].register_forward_hook(lambda m, inputs, y: Tensor([[3.0, -3.0]]))
    assert model(x).data.tolist() == [[4, 1]]
    assert (plain >= 1).all()


# --- Sequential ---


def test_sequential_is_a_sequence():
    modules = [nn.Linear(2, 3), nn.ReLU(), nn.Tanh()]
    model = nn.Sequential(*modules)
    assert len(model) == 3 and list(model) == modules and model[-1] is modules[2]
    x = np.ones((2, 2))
    assert nn.Sequential()(x) is x
    with pytest.raises(TypeError, match=r"modules\[1\]: expected a Module, got"):
        nn.Sequential(nn.ReLU(), np.tanh)


def test_modules_may_be_added_to_a_sequential_and_taken_away():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    model.last = nn.Linear(3, 4)
    x = np.ones((5, 2), np.float32)
    assert model(x).shape == (5, 4) and len(model) == 3 and model[2] is model.last
    setattr(model, "0", nn.Linear(2, 3, rng=RNG(0)))
    assert len(model) == 3
    assert_same_bits(model.state_dict()["0.weight"], nn.Linear(2, 3, rng=RNG(0)).weight.data)
    assert_same_bits(model(x).data, model.last(autograd.relu(model[0](x))).data)
    del model.last
    assert model(x).shape == (5, 3) and len(model) == 2
    with pytest.raises(IndexError):
        model[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (1, 5), (33, 5), (2, 3, 5), (0, 5)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "activation, function", [(nn.ReLU, autograd.relu), (nn.GELU, autograd.gelu)]
)
def test_fused_activations_have_the_bits_of_both(activation, function, shape, bias, dtype):
    linear = nn.Linear(5, 17, bias=bias, dtype=dtype, rng=RNG(0))
    data = RNG(1).standard_normal(shape).astype(dtype)
    gradient = RNG(2).standard_normal((*shape[:-1], 17)).astype(dtype)
    results = []
    for model in (nn.Sequential(linear, activation()), lambda x: function(linear(x))):
        linear.zero_grad()
        results.append(value_and_gradients(model, data, linear.parameters(), gradient))
    assert_all_same_bits(*results)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (33, 5), (2, 3, 5), (0, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_fused_gelu_without_gradients(shape, bias, dtype):
    linear = nn.Linear(5, 17, bias=bias, dtype=dtype, rng=RNG(0))
    data = RNG(1).standard_normal(shape).astype(dtype)
    with autograd.no_grad():
        got = nn.Sequential(linear, nn.GELU())(data)
        apart = autograd.gelu(linear(data))
    assert isinstance(got, autograd.Tensor)
    assert got.node is None
    tolerance = 4 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(got.data, apart.data, rtol=tolerance, atol=tolerance)
    layer = tropical.Epilogue(bias=linear.bias.data if bias else None, activation="gelu")
    weight = linear.weight.data.T
    assert_same_bits(got.data, tropical.gemm(data, weight, semiring="plustimes", epilogue=layer))


def test_what_a_fused_gelu_does_not_take():
    """Other dtypes are converted, and errors are those of `linear`."""
    x, weight = np.ones((2, 3), np.float32), np.ones((4, 3))
    got = autograd.linear(x, weight, activation="gelu")
    assert_same_bits(got, autograd.gelu(x @ weight.T))
    with pytest.raises(ValueError, match="linear: the last axes of x and weight differ"):
        autograd.linear(x, weight.T, activation="gelu")
    with pytest.raises(ValueError, match='activation: expected "relu", "gelu" or None'):
        autograd.linear(x, weight, activation="tanh")


def test_one_relu_may_stand_in_several_places():
    relu = nn.ReLU()
    for between in (nn.LayerNorm(4, dtype="float64"), nn.Linear(4, 4, dtype="float64"), Same()):
        linear = nn.Linear(3, 4, dtype="float64", rng=RNG(0))
        x = RNG(1).standard_normal((5, 3))
        want = relu(between(relu(linear(x))))
        got = nn.Sequential(linear, relu, between, relu)(x)
        np.testing.assert_array_equal(got.data, want.data, err_msg=repr(between))


def test_subclasses_are_not_fused_away():
    class Shifted(nn.ReLU):
        def forward(self, x):
            return super().forward(x) + 1

    class Doubled(nn.Linear):
        def forward(self, x, activation=None):
            return super().forward(x, activation) * -2

    linear, x = nn.Linear(3, 4, rng=RNG(0)), RNG(1).standard_normal((5, 3)).astype(np.float32)
    y = linear(x).data
    assert_same_bits(nn.Sequential(linear, Shifted())(x).data, np.maximum(y, 0) + np.float32(1))
    doubled = Doubled(3, 4, rng=RNG(0))
    assert_same_bits(nn.Sequential(doubled, nn.ReLU())(x).data, np.maximum(y * np.float32(-2), 0))


# --- layers ---


def draw(*shape, seed=0):
    return RNG(seed).standard_normal(shape)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (5, 3), (2, 4, 3), (0, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape, bias):
    layer, x = scramble(nn.Linear(3, 4, bias=bias, dtype="float64")), draw(*shape)
    want = x @ layer.weight.data.T + (layer.bias.data if bias else 0)
    np.testing.assert_allclose(layer(x).data, want, rtol=1e-13, atol=1e-13)
    assert (layer.bias is None) is not bias
    with pytest.raises(ValueError, match="activation"):
        layer.forward(x, "tanh")
    with pytest.raises(ValueError, match="2"):
        layer(draw(5, 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_weight_of_linear_lies_in_columns(dtype):
    """A row reads the columns from a cache line on; the values are drawn as for C order."""
    layer = nn.Linear(5, 16, dtype=dtype, rng=RNG(0))
    weight = layer.weight.data
    assert weight.flags.f_contiguous and weight.ctypes.data % 64 == 0
    assert_same_bits(weight, nn.init.fan_in_uniform((16, 5), dtype=dtype, rng=RNG(0)))
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert_same_bits(other.weight.data, weight)
        assert other.weight.data.flags.f_contiguous


@pytest.mark.parametrize(
    "semiring, times, plus",
    [
        ("maxplus", np.add, np.max),
        ("minplus", np.add, np.min),
        ("maxtimes", np.multiply, np.max),
        ("mintimes", np.multiply, np.min),
        ("maxmin", np.minimum, np.max),
        ("minmax", np.maximum, np.min),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tropical_linear(semiring, times, plus, dtype):
    layer = nn.TropicalLinear(3, 4, semiring=semiring, dtype=dtype)
    negative = layer.weight.data.min() < 0
    scramble(layer)
    x = draw(5, 3).astype(dtype)
    assert negative != (times is np.multiply)
    if times is np.multiply:  # of numbers that are not negative
        layer.weight.data[...] = abs(layer.weight.data)
        x = abs(x)
    want = plus(times(x[:, None, :], layer.weight.data), axis=2)
    assert_same_bits(layer(x).data, want)
    y = Tensor(x, requires_grad=True)
    layer(y).sum().backward()
    assert layer.weight.grad.shape == (4, 3) and y.grad.shape == (5, 3)
    if times is np.add:  # each output has one weight
        assert layer.weight.grad.data.sum() == y.grad.data.sum() == 20


def test_tropical_linear_refuses_what_has_no_gradient():
    with pytest.raises(ValueError, match="unknown semiring 'no such'"):
        nn.TropicalLinear(2, 2, semiring="no such")
    for semiring in ("orand", "plustimes", "plus_times"):
        with pytest.raises(
            TypeError, match=r"semiring: expected a selective one, got (orand|plustimes)"
        ):
            nn.TropicalLinear(2, 2, semiring=semiring)


def windows(x, kernel, stride, padding, fill):
    """(n, channels, down, across, kernel height, kernel width), by a loop."""
    (p, q), (h, w), (s, t) = padding, kernel, stride
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (q, q)), constant_values=fill)
    down, across = (x.shape[2] - h) // s + 1, (x.shape[3] - w) // t + 1
    result = np.empty((*x.shape[:2], down, across, h, w), x.dtype)
    for i, j in itertools.product(range(down), range(across)):
        result[:, :, i, j] = x[:, :, i * s : i * s + h, j * t : j * t + w]
    return result


GEOMETRY = [
    # kernel, stride, padding
    (2, 1, 0),
    (3, 2, 1),
    ((2, 3), (3, 1), (1, 0)),
    (1, 2, 0),
    ((4, 2), (1, 2), (2, 1)),
]


def both(value):
    return (value, value) if isinstance(value, int) else value


@pytest.mark.parametrize("kernel, stride, padding", GEOMETRY)
@pytest.mark.parametrize("bias", [True, False])
def test_conv2d(kernel, stride, padding, bias):
    layer = nn.Conv2d(2, 5, kernel, stride=stride, padding=padding, bias=bias, dtype="float64")
    assert layer.weight.shape == (5, 2, *both(kernel))
    scramble(layer)
    x = draw(3, 2, 7, 6)
    patches = windows(x, both(kernel), both(stride), both(padding), 0.0)
    want = np.einsum("ncijhw,fchw->nfij", patches, layer.weight.data)
    want += layer.bias.data[:, None, None] if bias else 0
    np.testing.assert_allclose(layer(x).data, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel, stride, padding", [*GEOMETRY, (2, None, 0), (3, None, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pools(kernel, stride, padding, dtype):
    padding = 0 if kernel == 1 else padding
    x = draw(3, 2, 7, 6).astype(dtype)
    step = both(kernel if stride is None else stride)
    most = windows(x, both(kernel), step, both(padding), -np.inf).max((4, 5))
    assert_same_bits(nn.MaxPool2d(kernel, stride=stride, padding=padding)(x), most)
    means = windows(x, both(kernel), step, both(padding), 0.0).mean((4, 5))
    got = nn.AvgPool2d(kernel, stride=stride, padding=padding)(x)
    np.testing.assert_allclose(got, means, rtol=1e-6 if dtype == "float32" else 1e-13, atol=1e-7)
    assert got.dtype == dtype


def test_pools_hand_on_nan_and_infinities():
    x = np.zeros((1, 1, 4, 4))
    x[0, 0, 0, 0] = x[0, 0, 1, 3] = x[0, 0, 3, 0] = np.nan
    x[0, 0, 2:, 2:] = -np.inf
    want = [[[[np.nan, np.nan], [np.nan, -np.inf]]]]
    np.testing.assert_array_equal(nn.MaxPool2d(2)(x), want)
    np.testing.assert_array_equal(nn.AvgPool2d(2)(x), want)
    tensor = Tensor(x, requires_grad=True)
    nn.MaxPool2d(2)(tensor).backward(np.ones((1, 1, 2, 2)))
    wanted = np.zeros((4, 4))
    wanted[[0, 1, 3, 2], [0, 3, 0, 2]] = 1
    np.testing.assert_array_equal(tensor.grad.data[0, 0], wanted)


def test_a_pool_of_nothing_but_minus_infinity_still_has_its_gradient():
    x = Tensor(np.full((1, 1, 2, 2), -np.inf), requires_grad=True)
    nn.MaxPool2d(2, padding=1)(x).backward(np.ones((1, 1, 2, 2)))
    np.testing.assert_array_equal(x.grad.data, np.ones((1, 1, 2, 2)))


@pytest.mark.parametrize(
    "shape, want",
    [
        ((2, 3, 4), (2, 12)),
        ((5,), (5, 1)),
        ((0, 3, 4), (0, 12)),
        ((2, 0, 3), (2, 0)),
        ((0, 0), (0, 0)),
        ((0,), (0, 1)),
    ],
)
def test_flatten(shape, want):
    x = Tensor(np.zeros(shape), requires_grad=True)
    assert nn.Flatten()(x).shape == nn.Flatten()(x.data).shape == want
    nn.Flatten()(x).sum().backward()
    assert x.grad.shape == shape


def test_flatten_of_lists_and_numbers():
    assert nn.Flatten()([[[1.0, 2.0], [3.0, 4.0]]]).tolist() == [[1, 2, 3, 4]]
    with pytest.raises(ValueError, match=r"x: expected \(n, ...\), got"):
        nn.Flatten()(np.float64(1))


def test_activations():
    x = np.array([-800.0, -2.0, -0.5, 0.0, 0.5, 2.0, 800.0])
    cubic = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    with np.errstate(over="ignore"):
        logistic = 1 / (1 + np.exp(-x))
    for layer, want in [
        (nn.ReLU(), np.maximum(x, 0)),
        (nn.Tanh(), np.tanh(x)),
        (nn.Sigmoid(), logistic),
        (nn.GELU(), 0.5 * x * (1 + np.tanh(cubic))),
    ]:
        for kind in (np.asarray, Tensor):
            y = layer(kind(x))
            np.testing.assert_allclose(getattr(y, "data", y), want, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batch_norm_in_training_and_evaluation(shape, dtype):
    layer = nn.BatchNorm(3, momentum=0.3, eps=1e-3, dtype=dtype)
    layer.weight.data[...], layer.bias.data[...] = [1, 2, 3], [-1, 0, 1]
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12}
    mean, variance = np.zeros(3), np.ones(3)
    axes, along = (0, *range(2, len(shape))), (1, 3, *(1,) * (len(shape) - 2))
    weight, bias = (p.data.reshape(along) for p in (layer.weight, layer.bias))
    for seed in range(3):
        x = (draw(*shape, seed=seed) * 3 + 5).astype(dtype)
        wide = x.astype(np.float64)
        batch = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
        want = weight * (wide - batch[0]) / np.sqrt(batch[1] + 1e-3) + bias
        np.testing.assert_allclose(layer(x).data, want, **tolerance)
        mean = 0.7 * mean + 0.3 * wide.mean(axes)
        variance = 0.7 * variance + 0.3 * wide.var(axes, ddof=1)
        np.testing.assert_allclose(layer.running_mean, mean, **tolerance)
        np.testing.assert_allclose(layer.running_var, variance, **tolerance)
    layer.eval()
    with unchanged(layer):
        y = layer(x)
    want = (wide - mean.reshape(along)) / np.sqrt(variance.reshape(along) + 1e-3)
    np.testing.assert_allclose(y.data, weight * want + bias, **tolerance)
    assert y.dtype == dtype and layer.running_mean.dtype == dtype
    layer(x[:1])  # one row is enough here


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16"])
def test_norms_of_integers_and_float16(dtype):
    x = np.array([[1, 90, 240], [250, 3, 0]]).astype(dtype)
    if dtype == "float16":
        x *= 200  # whose squares are beyond float16
    batch, rows = nn.BatchNorm(3, dtype="float64"), nn.LayerNorm(3, dtype="float64")
    wide = x.astype(np.float64)
    want = (wide - wide.mean(0)) / np.sqrt(wide.var(0) + batch.eps)
    np.testing.assert_allclose(batch(x).data, want, rtol=1e-6)
    np.testing.assert_allclose(batch.running_var, 0.9 + 0.1 * wide.var(0, ddof=1), rtol=1e-6)
    want = (wide - batch.running_mean) / np.sqrt(batch.running_var + batch.eps)
    np.testing.assert_allclose(batch.eval()(x).data, want, rtol=1e-6)
    want = wide - wide.mean(1, keepdims=True)
    want /= np.sqrt((want**2).mean(1, keepdims=True) + rows.eps)
    np.testing.assert_allclose(rows(x).data, want, rtol=1e-6)


@pytest.mark.parametrize(
    "shape, message",
    [
        ((1, 3), "two values a channel"),
        ((3,), "channels"),
        *(((5, channels), r"shape|channels|broadcast") for channels in (1, 2, 4)),
    ],
)
def test_batch_norm_refuses(shape, message):
    layer = nn.BatchNorm(3)
    with unchanged(layer), pytest.raises(ValueError, match=message):
        layer(draw(*shape).astype(np.float32))


def test_layer_norm():
    layer, x = scramble(nn.LayerNorm(4, eps=1e-3, dtype="float64")), draw(2, 3, 4)
    centered = x - x.mean(-1, keepdims=True)
    want = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-3)
    want = want * layer.weight.data + layer.bias.data
    np.testing.assert_allclose(layer(x).data, want, rtol=1e-12, atol=1e-12)


def test_embedding():
    layer = nn.Embedding(5, 3, rng=RNG(0))
    indices = np.array([[4, 0], [4, 4]], np.uint8)
    y = layer(indices)
    assert_same_bits(y.data, layer.weight.data[indices])
    y.sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.data[:, 0], [1, 0, 0, 0, 3])
    assert layer(2).shape == (3,) and layer(np.zeros((0, 2), int)).shape == (0, 2, 3)
    for wrong in ([5], [-1]):
        with pytest.raises(IndexError, match="rows from 0 to 4"):
            layer(wrong)
    with pytest.raises(TypeError, match="integers"):
        layer([1.0])


# --- dropout ---


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_statistics(p, dtype):
    n = 200_000
    x = Tensor(np.full(n, 3.0, dtype), requires_grad=True)
    y = nn.Dropout(p, rng=RNG(0))(x)
    assert y.dtype == dtype
    kept = y.data != 0
    assert abs(kept.mean() - (1 - p)) < 5 * np.sqrt(p * (1 - p) / n)
    np.testing.assert_allclose(y.data[kept], 3 / (1 - p), rtol=1e-6)
    y.backward(np.ones(n))
    np.testing.assert_allclose(x.grad.data, kept / (1 - p), rtol=1e-6)


def test_dropout_in_evaluation_and_of_nothing():
    x = Tensor(draw(4, 5), requires_grad=True)
    before = autograd.generator().bit_generator.state
    assert nn.Dropout(0.5).eval()(x) is x and nn.Dropout(0.0)(x) is x
    assert autograd.generator().bit_generator.state == before


def test_dropout_is_reproducible():
    x = np.ones(100)
    layer = nn.Dropout(0.5)
    autograd.seed(7)
    first = layer(x)
    second = layer(x)
    autograd.seed(7)
    assert_same_bits(layer(x), first)
    assert (first != second).any()
    own = nn.Dropout(0.5, rng=RNG(3))
    before = autograd.generator().bit_generator.state
    assert_same_bits(own(x), nn.Dropout(0.5, rng=RNG(3))(x))
    assert autograd.generator().bit_generator.state == before


def test_layers_are_reproducible_by_seed_and_generator():
    def make(rng=None):
        return [
            nn.Linear(3, 4, rng=rng),
            nn.Conv2d(2, 3, 3, rng=rng),
            nn.Embedding(4, 3, rng=rng),
            nn.TropicalLinear(3, 4, rng=rng),
        ]

    autograd.seed(11)
    first = make()
    autograd.seed(11)
    second = make()
    for a, b, c, d in zip(first, second, make(RNG(1)), make(RNG(1)), strict=True):
        assert_states_equal(a.state_dict(), b.state_dict())
        assert_states_equal(c.state_dict(), d.state_dict())
        assert (a.weight.data != c.weight.data).any()


# --- initializers ---

# By shape: the numbers of inputs and outputs.
FANS = {(400, 100, 5, 2): (1000, 4000), (500, 800): (800, 500)}
EVEN = {  # the function and its bound
    "fan_in_uniform": (nn.fan_in_uniform, lambda inputs, outputs: 1 / np.sqrt(inputs)),
    "he_uniform": (nn.he_uniform, lambda inputs, outputs: np.sqrt(6 / inputs)),
    "glorot_uniform": (nn.glorot_uniform, lambda inputs, outputs: np.sqrt(6 / (inputs + outputs))),
    "uniform": (lambda shape, **how: nn.uniform(shape, 0.3, **how), lambda *_: 0.3),
}
NORMAL = {  # the function and its standard deviation
    "he_normal": (nn.he_normal, lambda inputs, outputs: np.sqrt(2 / inputs)),
    "normal": (lambda shape, **how: nn.normal(shape, 0.2, **how), lambda *_: 0.2),
}


@pytest.mark.parametrize("shape", FANS)
@pytest.mark.parametrize("name", EVEN)
def test_even_initializers(name, shape):
    function, bound = EVEN[name][0], EVEN[name][1](*FANS[shape])
    values = function(shape, rng=RNG(0)).astype(np.float64)
    assert -bound * (1 + 1e-6) <= values.min() < -0.999 * bound
    assert 0.999 * bound < values.max() <= bound * (1 + 1e-6)
    assert values.var() == pytest.approx(bound**2 / 3, rel=0.02)
    assert abs(values.mean()) < 0.01 * bound
    assert values.shape == shape


@pytest.mark.parametrize("shape", FANS)
@pytest.mark.parametrize("name", NORMAL)
def test_normal_initializers(name, shape):
    function, deviation = NORMAL[name][0], NORMAL[name][1](*FANS[shape])
    values = function(shape, rng=RNG(0)).astype(np.float64)
    assert values.std() == pytest.approx(deviation, rel=0.01)
    assert abs(values.mean()) < 0.01 * deviation
    within = [(abs(values) < k * deviation).mean() for k in (1, 2, 3)]
    assert within == pytest.approx([0.6827, 0.9545, 0.9973], abs=0.003)


@pytest.mark.parametrize("name", [*EVEN, *NORMAL])
def test_initializers_are_reproducible(name):
    function = {**EVEN, **NORMAL}[name][0]
    shape = (3, 4)
    assert_same_bits(function(shape, rng=RNG(5)), function(shape, rng=RNG(5)))
    assert function(shape).dtype == np.float32
    double = function(shape, dtype="float64", rng=RNG(5))
    assert double.dtype == np.float64
    assert_same_bits(double.astype(np.float32), function(shape, rng=RNG(5)))
    autograd.seed(1)
    first = function(shape)
    autograd.seed(1)
    assert_same_bits(function(shape), first)
    assert function((0, 4)).shape == (0, 4) and function((4, 0)).shape == (4, 0)


def test_a_part_may_know_the_whole():
    whole = nn.Sequential(nn.Linear(2, 2))
    whole[0].whole = whole
    assert len(list(whole.modules())) == 2
    assert list(whole.state_dict()) == ["0.weight", "0.bias"]
    assert list(whole.children()) == [whole[0]]


def test_each_backward_hook_sees_what_the_one_before_left_as_a_tensor():
    layer, seen = nn.Linear(2, 2, rng=RNG(0)), []

    def double(module, gradient):
        seen.append(gradient)
        return 2 * gradient.data.astype(np.float64)

    for _ in range(2):
        layer.register_backward_pre_hook(double)
    layer(np.ones((1, 2), np.float32)).sum().backward()
    assert [type(gradient) for gradient in seen] == [Tensor, Tensor]
    assert [gradient.dtype for gradient in seen] == [np.float32, np.float32]
    assert [gradient.data[0, 0] for gradient in seen] == [1, 2]
    np.testing.assert_array_equal(layer.bias.grad.data, [4, 4])


def test_a_backward_hook_that_changes_the_shape_is_named_at_once():
    layer = nn.Linear(2, 2, rng=RNG(0))
    layer.register_backward_pre_hook(lambda module, gradient: gradient.data[0])
    layer.register_backward_pre_hook(lambda module, gradient: gradient.data.reshape(1, 2))
    with pytest.raises(ValueError, match="hook: expected a gradient"):
        layer(np.ones((1, 2), np.float32)).sum().backward()


def test_a_hook_removed_before_the_backward_pass_is_not_called():
    layer, seen = nn.Linear(2, 2), []
    handle = layer.register_backward_pre_hook(lambda module, gradient: seen.append(gradient))
    loss = layer(np.ones((1, 2), np.float32)).sum()
    handle.remove()
    loss.backward()
    assert seen == []


def test_layers_begin_in_their_bounds():
    linear, conv = nn.Linear(16, 500, rng=RNG(0)), nn.Conv2d(4, 300, 2, rng=RNG(0))
    for layer in (linear, conv):
        for parameter in layer.parameters():
            assert 0.24 < abs(parameter.data).max() <= 0.25
    assert nn.Embedding(1000, 100, rng=RNG(0)).weight.data.std() == pytest.approx(1, rel=0.02)
    tropical = nn.TropicalLinear(300, 300, rng=RNG(0))
    assert tropical.weight.data.std() == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("name", LAYERS)
def test_dtypes_are_those_asked_for(name):
    for dtype in ("float32", "float64"):
        layer = layers(dtype)[name]
        assert {array.dtype for array in layer.state_dict().values()} <= {np.dtype(dtype)}
    assert {array.dtype for array in layers()[name].state_dict().values()} <= {np.dtype("f4")}


FRACTION = r"expected a number in \[0, 1"
NOT_NEGATIVE = "expected a finite number that is not negative"
AT_LEAST_0, AT_LEAST_1 = (f"expected one or two ints of at least {n}" for n in (0, 1))
GENERATOR = "rng: expected a numpy.random.Generator"
IMAGE = np.ones((1, 1, 4, 4))
NAN = float("nan")


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: nn.Dropout(1.0), ValueError, rf"p: {FRACTION}\), got 1.0"),
        (lambda: nn.Dropout(-0.1), ValueError, f"p: {FRACTION}"),
        (lambda: nn.Dropout(rng=0), TypeError, f"{GENERATOR}, got 0"),
        (lambda: nn.Dropout(NAN), ValueError, f"p: {FRACTION}"),
        (lambda: nn.Conv2d(1, 1, 0), ValueError, f"kernel: {AT_LEAST_1}"),
        (lambda: nn.Conv2d(1, 1, (1, 2, 3)), ValueError, f"kernel: {AT_LEAST_1}"),
        (lambda: nn.Linear(-1, 2), ValueError, f"inputs: {NOT_NEGATIVE}, got -1"),
        (lambda: nn.Linear(2, 2.5), TypeError, r"outputs: expected an int, got 2\.5"),
        (lambda: nn.Linear(2, 2, rng=3), TypeError, f"{GENERATOR}, got 3"),
        (lambda: nn.TropicalLinear(2, -1), ValueError, f"outputs: {NOT_NEGATIVE}"),
        (lambda: nn.Conv2d(-1, 1, 2), ValueError, f"channels: {NOT_NEGATIVE}"),
        (lambda: nn.Conv2d(1, "2", 2), TypeError, "filters: expected an int, got '2'"),
        (lambda: nn.Conv2d(1, 1, 2, stride=0), ValueError, f"stride: {AT_LEAST_1}"),
        (lambda: nn.Conv2d(1, 1, 2, padding=-1), ValueError, f"padding: {AT_LEAST_0}"),
        (lambda: nn.MaxPool2d(0), ValueError, f"kernel: {AT_LEAST_1}"),
        (lambda: nn.AvgPool2d(2, stride=(1, 0)), ValueError, f"stride: {AT_LEAST_1}"),
        (lambda: nn.MaxPool2d(2, padding=-1), ValueError, f"padding: {AT_LEAST_0}"),
        (lambda: nn.BatchNorm(-1), ValueError, f"channels: {NOT_NEGATIVE}"),
        (lambda: nn.BatchNorm(2, momentum=1.5), ValueError, rf"momentum: {FRACTION}\]"),
        (lambda: nn.BatchNorm(2, momentum=NAN), ValueError, "momentum: expected"),
        (lambda: nn.Dropout("a"), TypeError, "p: expected a number, got 'a'"),
        (
            lambda: optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1, momentum="a"),
            TypeError,
            "momentum: expected a number, got 'a'",
        ),
        (
            lambda: optim.Schedule(optim.SGD(nn.Linear(1, 1).parameters(), 0.1), 0.5),
            TypeError,
            "factor: expected a function of the number of steps, got 0.5",
        ),
        (lambda: optim.warm_up(2, 0.5), TypeError, "then: expected a function .*, got 0.5"),
        (
            lambda: nn.ReLU().register_forward_hook(None),
            TypeError,
            "hook: expected a function, got NoneType",
        ),
        (lambda: optim.step_decay("a"), TypeError, "every: expected a number, got 'a'"),
        (lambda: optim.step_decay(NAN), ValueError, "every: expected at least 1, got nan"),
        (lambda: optim.step_decay(1, "a"), TypeError, "factor: expected a number, got 'a'"),
        (lambda: optim.cosine_decay(NAN), ValueError, "steps: expected at least 1, got nan"),
        (lambda: optim.cosine_decay(1, None), TypeError, "least: expected a number, got None"),
        (lambda: optim.warm_up(NAN), ValueError, "steps: expected at least 1, got nan"),
        (lambda: nn.BatchNorm(2, eps=-1e-5), ValueError, f"eps: {NOT_NEGATIVE}"),
        (lambda: nn.LayerNorm(2, eps=NAN), ValueError, f"eps: {NOT_NEGATIVE}"),
        (lambda: nn.LayerNorm(2, eps="a"), TypeError, "eps: expected a number, got 'a'"),
        (lambda: nn.BatchNorm(2, eps=None), TypeError, "eps: expected a number, got None"),
        (lambda: nn.LayerNorm((2, 3)), TypeError, r"length: expected an int, got \(2, 3\)"),
        (lambda: nn.Embedding(-1, 2), ValueError, f"rows: {NOT_NEGATIVE}"),
        (lambda: nn.Sequential([nn.ReLU()]), TypeError, r"modules\[0\]: expected a Module"),
        (lambda: nn.MaxPool2d(2, padding=2)(IMAGE), ValueError, "half of the"),
        (lambda: nn.Conv2d(3, 1, 2)(np.ones((1, 2, 4, 4))), ValueError, "weight: expected"),
        (lambda: nn.Conv2d(1, 1, 5)(IMAGE), ValueError, "expected padded images"),
    ],
)
def test_wrong_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("dtype", ["int32", "float16", "complex128", "bool", "O"])
@pytest.mark.parametrize(
    "make, sizes",
    [
        (nn.Linear, (2, 3)),
        (nn.TropicalLinear, (2, 3)),
        (nn.Conv2d, (1, 2, 3)),
        (nn.BatchNorm, (2,)),
        (nn.LayerNorm, (2,)),
        (nn.Embedding, (2, 3)),
    ],
)
def test_dtypes_that_no_layer_has(make, sizes, dtype):
    with pytest.raises(
        TypeError, match=f"dtype: expected float32 or float64, got {np.dtype(dtype)}"
    ):
        make(*sizes, dtype=dtype)


def test_crf_learns_which_states_follow():
    """Emissions say nothing at odd steps; transitions tell."""
    rng = np.random.default_rng(3)
    states = (np.arange(8) + rng.integers(0, 3, (40, 1))) % 3
    emission = np.where(
        (np.arange(3) == states[..., None]) & (np.arange(8) % 2 == 0)[:, None], 3, 0
    )
    emission = emission.astype(np.float32)
    lengths = rng.integers(4, 9, 40)
    field = nn.CRF(3, rng=rng)
    optimizer = optim.Adam(field.parameters(), lr=0.1)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = -field(emission, states, lengths).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
    paths, scores = field.decode(emission, lengths)
    within = np.arange(8) < lengths[:, None]
    assert (paths == np.where(within, states, -1)).mean() > 0.98 and scores.shape == (40,)
    assert field.initial.grad.shape == (3,) and repr(field) == "CRF(3)"


def test_crf_has_no_second_derivatives():
    field = nn.CRF(2, dtype="float64")
    emission = autograd.Tensor(np.zeros((3, 2)), requires_grad=True)
    check = lambda e: field(e, [0, 1, 1])  # noqa: E731
    autograd.check_gradients(check, emission)
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        autograd.check_gradients(check, emission, order=2)


@pytest.mark.parametrize("fault", ["overflow", "read-only"])
def test_a_state_that_cannot_be_written_changes_nothing(fault):
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    before = model.state_dict()
    state = {name: np.full(array.shape, 7.0) for name, array in before.items()}
    if fault == "overflow":
        state["1.weight"][:] = 1e300
    else:
        model[1].weight.data.flags.writeable = False
    with np.errstate(over="raise"), pytest.raises((FloatingPointError, ValueError)):
        model.load_state_dict(state)
    assert_states_equal(model.state_dict(), before)
    with pytest.raises(TypeError, match=r"state: 0\.weight: expected no mask"):
        model.load_state_dict({**before, "0.weight": np.ma.masked_array([[1.0]], [[True]])})


@pytest.mark.parametrize("kind", ["forward", "forward_pre", "backward", "backward_pre"])
def test_removed_hooks_leave_nothing(kind):
    layer = nn.Linear(2, 2)
    register = getattr(layer, f"register_{kind}_hook")
    first, second = register(print), register(print)
    first.remove()
    first.remove()
    assert layer._hooks
    second.remove()
    assert not layer._hooks
    third = register(print)
    second.remove()
    assert layer._hooks
    third.remove()
    assert not layer._hooks
