"""Training on MNIST from the command line: digits drawn by integers, and MNIST where it is there.

The drawn digits are four files like MNIST's: each digit is a few bars of a seven-segment display,
moved about and with noise, so a network learns them in a few steps.
"""

import hashlib
import io
import re
import sys

import numpy as np
import pytest
from mnist_files import REAL, idx, needs_mnist
from support import KERNELS, not_root, random_bits, run_command

import tropical
from tropical.autograd import products
from tropical.examples.mnist import __main__ as command
from tropical.examples.mnist import data as mnist_data
from tropical.examples.mnist import models, pictures
from tropical.examples.mnist.rivals import RIVALS, NumPy
from tropical.examples.mnist.training import OPTIMIZERS, Ours, Settings, accuracy, train

pytest.importorskip("rich", reason="the command prints by rich, which is not installed")

REAL_MD5 = mnist_data.MD5
long = pytest.mark.long
# Bars of a display: rows and columns of a 20 x 12 box; and those that each digit lights.
BARS = {
    "a": np.s_[0:3, :], "b": np.s_[0:11, 9:12], "c": np.s_[9:20, 9:12], "d": np.s_[17:20, :],
    "e": np.s_[9:20, 0:3], "f": np.s_[0:11, 0:3], "g": np.s_[9:12, :],
}  # fmt: skip
LIT = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")


def drawn(count, seed):
    """Images (count, 28, 28) and labels: mass near the middle, and noise."""
    labels = np.arange(count) % 10
    images = (random_bits((count, 28, 28), seed) % np.uint64(40)).astype(np.uint8)
    moves = (random_bits((count, 2), seed + 1) % np.uint64(3)).astype(int) - 1
    for image, label, (down, right) in zip(images, labels, moves, strict=True):
        ink = np.zeros((20, 12), bool)
        for bar in LIT[label]:
            ink[BARS[bar]] = True
        row, column = np.argwhere(ink).mean(axis=0)
        top, left = min(round(13.5 - row) + down, 8), round(13.5 - column) + right
        box = image[top : top + 20, left : left + 12]
        box[ink] = 255 - box[ink]
    return images, labels.astype(np.uint8)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path_factory):
    """A folder whose files count as MNIST, and which MNIST_DIR names: 600, 100 and 100 digits."""
    path = tmp_path_factory.mktemp("mnist")
    md5 = {}
    for part, count, seed in (("train", 700, 1), ("t10k", 100, 3)):
        for what, array in zip(("images-idx3", "labels-idx1"), drawn(count, seed), strict=True):
            content = idx(array)
            name = f"{part}-{what}-ubyte"
            md5[name] = hashlib.md5(content).hexdigest(), ""
            (path / name).write_bytes(content)
    assert md5.keys() == mnist_data.MD5.keys()
    monkeypatch.setattr(mnist_data, "MD5", md5)
    monkeypatch.setattr(mnist_data, "VALIDATION", 100)
    monkeypatch.setenv("MNIST_DIR", str(path))
    return path


@pytest.fixture
def digits():
    return mnist_data.load(notify=str)


@pytest.fixture(scope="module")
def real():
    """All of MNIST."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mnist_data, "MD5", REAL_MD5)
        patch.setattr(mnist_data, "VALIDATION", 10_000)
        return mnist_data.load(REAL, notify=str)


def run(capsys, *arguments):
    """Run the command, which succeeds; what it printed."""
    assert command.main([str(argument) for argument in arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys, *arguments):
    """Run the command, which ends with status 2 and one message; the message."""
    try:
        status = command.main([str(argument) for argument in arguments])
    except SystemExit as exit:
        status = exit.code
    captured = capsys.readouterr()
    assert status == 2
    _, prefix, message = captured.err.partition("python -m tropical.examples.mnist: error: ")
    assert prefix and "Traceback" not in captured.err
    return message.rstrip()


def figures(output, name="tropical"):
    """Losses and validation accuracies of a contender's epochs."""
    line = rf"^{name}.* epoch \d+: .* loss (\S+), validation (\S+)%$"
    found = re.findall(line, output, re.MULTILINE)
    return [(float(loss), float(share)) for loss, share in found]


def right(output, name="tropical"):
    """Percent of the test digits that are right."""
    (share,) = re.findall(rf"^{name}.*: (\S+)% of the test digits right$", output, re.MULTILINE)
    return float(share)


# What is trained


@pytest.mark.parametrize("model", models.MODELS)
def test_models_learn(capsys, model):
    output = run(capsys, "--model", model, "--epochs", 5, "--batch", 10)
    assert "600 digits to train with, 100 to validate, 100 to test" in output
    losses, shares = zip(*figures(output), strict=True)
    assert len(losses) == 5 and losses[-1] < 0.5 * losses[0]
    assert shares[-1] > 90 and right(output) > 90


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers_learn(capsys, optimizer):
    output = run(capsys, "--optimizer", optimizer, "--epochs", 5, "--batch", 20)
    losses, _ = zip(*figures(output), strict=True)
    assert losses[-1] < 0.5 * losses[0] and right(output) > 90


def test_tropical_networks_want_two_hidden_layers(capsys):
    message = refused(capsys, "--model", "tropical", "--hidden", 16)
    assert "two lengths or more for the tropical model, got [16]" in message


def test_hidden_layers(capsys):
    sizes = [p.shape for p in models.build("mlp", (32, 16)).parameters() if p.ndim == 2]
    assert sizes == [(32, 784), (16, 32), (10, 16)]
    assert right(run(capsys, "--hidden", 32, 16, "--batch", 10, "--epochs", 5)) > 90


def test_seeds(capsys):
    """The same seed, the same figures; another, others; weights apart from orders."""
    first, again, other = (
        figures(run(capsys, "--epochs", 1, "--seed", seed, "--threads", 1)) for seed in (5, 5, 6)
    )
    assert first == again != other


def test_orders(digits):
    """All contenders get the same digits, in another order each epoch, and take turns."""
    asked = []

    class Fake:
        def __init__(self, name):
            self.name = name

        def epoch(self, images, labels, order, report):
            asked.append((self.name, order))
            for done in range(10, len(order) + 1, 10):
                report(done, 2.0 * done)
            return 2.0

        def classify(self, images):
            return np.eye(10)[np.zeros(len(images), int)]

    told, ended = [], []
    first, second = train(
        [Fake("first"), Fake("second")], digits, 2, 3, report=told.append, finished=ended.append
    )
    assert [name for name, _ in asked] == ["first", "second", "second", "first"]
    orders = [order for _, order in asked]
    assert all(sorted(order) == [*range(600)] for order in orders)
    assert np.array_equal(orders[0], orders[1]) and np.array_equal(orders[2], orders[3])
    assert not np.array_equal(orders[0], orders[2])
    assert ended == [first, second, second, first] and len(told) == 4 * 25
    for history in (first, second):
        assert history.losses == [2, 2] and len(history.seconds) == 2
        assert history.accuracies == [np.mean(digits.validation_labels == 0)] * 2
        epochs, losses = zip(*history.curve, strict=True)
        assert len(epochs) == 50 and np.all(np.diff(epochs) > 0) and epochs[24::25] == (1, 2)
        assert losses == (2,) * 50


# Kernels and memory


@pytest.mark.parametrize("kernel", [None, *KERNELS])
@pytest.mark.parametrize("threads", [1, 2])
def test_kernel_and_threads_reach_the_products(monkeypatch, digits, kernel, threads):
    plans = []

    def watched(function):
        def call(*args, **keywords):
            assert not {"kernel", "threads"} & keywords.keys()  # else options have no say
            plans.append(tropical.explain(512, 512, 512))
            return function(*args, **keywords)

        return call

    for name in ("_gemm", "_fused"):
        monkeypatch.setattr(products, name, watched(getattr(products, name)))
    ours = Ours(models.build("mlp", (8,)), Settings(100, kernel=kernel, threads=threads))
    ours.epoch(digits.train_images, digits.train_labels, np.arange(200), lambda *_: None)
    assert len(plans) == 2 * 5  # steps; two products forward, three backward
    assert {plan.kernel for plan in plans} == {kernel or tropical.explain(512, 512, 512).kernel}
    assert {plan.threads for plan in plans} == {threads}
    ours.classify(digits.test_images)
    assert len(plans) == 2 * 5 + 2


@pytest.mark.parametrize("model", models.MODELS)
def test_fast(capsys, monkeypatch, model):
    used = []
    monkeypatch.setattr(command, "Ours", lambda *args: used.append(args[1]) or Ours(*args))
    output = run(capsys, "--fast", "--model", model, "--epochs", 1, "--batch", 5, "--threads", 2)
    ((kernel, threads),) = re.findall(r"^fastest: kernel (.+), threads (\d)$", output, re.MULTILINE)
    assert kernel in ("by size", "direct", "packed") and threads in "12"
    assert used[-1].threads == int(threads) and (used[-1].kernel or "by size") == kernel
    assert {(s.kernel, s.threads) for s in used[:-1]} == {
        (kernel, threads) for kernel in (None, "direct", "packed") for threads in (1, 2)
    }
    assert len(figures(output)) == 1


def rows(output):
    """The cells of a table, by the first of each line."""
    lines = [re.split(r"  +", line.strip()) for line in output.splitlines()]
    return {name: cells for name, *cells in lines if len(cells) >= 4}


def test_mixed_precision(capsys):
    output = run(capsys, "--precision", "bf16", "--epochs", 2)
    table = rows(output)
    assert list(table) == ["tropical bf16", "tropical"]
    assert abs(float(table["tropical bf16"][2]) - float(table["tropical"][2])) < 0.01  # last loss
    assert "tropical bf16: " in output


@pytest.mark.parametrize("model", models.MODELS)
def test_compare(capsys, monkeypatch, model):
    monkeypatch.setattr(command, "NAIVE_DIGITS", 60)
    output = run(capsys, "--compare", "--model", model, "--epochs", 2, "--batch", 10,
        "--threads", 2)  # fmt: skip
    table = rows(output)
    assert "* trained on 60 digits, the time scaled to 600" in output and "2 epochs" in output
    assert list(table) == [
        "naive *", "tiled", "direct", "packed", "packed, 2 threads", "by size",
    ]  # fmt: skip
    assert table["naive *"][1:4] == ["-", "1.0", "-"]
    shares = {float(table[name][3].removesuffix("%")) for name in list(table)[2:]}
    assert min(shares) > 75 and max(shares) - min(shares) <= 2  # they differ in rounding alone


# Rivals


def needs(rival):
    package = {"numpy": "threadpoolctl"}.get(rival, rival)
    pytest.importorskip(package, reason=f"{package} is not installed")


@pytest.mark.parametrize("hidden", [(), ("--hidden", 32, 16)])
@pytest.mark.parametrize("rival", RIVALS)
def test_rivals_learn_the_same(capsys, rival, hidden):
    """From the same weights, in the same order: the losses agree to four digits."""
    needs(rival)
    output = run(capsys, "--rival", rival, "--batch", 64, "--threads", 1, *hidden)
    name = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX"}[rival]
    ours, theirs = figures(output), figures(output, name)
    assert len(ours) == len(theirs) == 3 and ours[-1][0] < ours[0][0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    assert abs(right(output) - right(output, name)) <= 1
    assert "ours / theirs" in output and float(rows(output)["tropical"][1]) == 1


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_torch_has_every_optimizer(capsys, optimizer):
    needs("torch")
    output = run(capsys, "--rival", "torch", "--optimizer", optimizer, "--threads", 1)
    np.testing.assert_allclose(figures(output), figures(output, "PyTorch"), rtol=5e-3)


def test_rivals_side_by_side(capsys):
    for rival in RIVALS:
        needs(rival)
    output = run(capsys, "--rival", *RIVALS, "--epochs", 2, "--threads", 1)
    order = re.findall(r"^(\w+).* epoch (\d)", output, re.MULTILINE)
    names = ["tropical", "NumPy", "PyTorch", "JAX"]
    assert order == [(name, "1") for name in names] + [(name, "2") for name in names[::-1]]


@pytest.mark.parametrize("rival", ["numpy", "jax"])
def test_rivals_that_lack_an_optimizer(capsys, rival):
    message = refused(capsys, "--rival", rival, "--optimizer", "adam")
    assert message == f"--rival {rival}: expected --optimizer sgd, got adam"


@pytest.mark.parametrize(
    "package, arguments",
    [
        ("torch", ["--rival", "torch"]),
        ("jax", ["--rival", "jax"]),
        ("threadpoolctl", ["--rival", "numpy"]),
        ("matplotlib", ["--plots", "pictures"]),
        ("rich", []),
    ],
)
def test_missing_packages(capsys, monkeypatch, tmp_path, package, arguments):
    """They are missed before anything is trained."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    for name in list(sys.modules):
        if name.startswith(f"{package}."):
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(command, "train", None)
    message = refused(capsys, *arguments)
    assert re.match(rf"{package}[.\w]* is not installed \(pip install ", message)


# Pictures


def is_png(path):
    image_module = pytest.importorskip("PIL.Image")
    with image_module.open(path) as image:
        assert image.format == "PNG" and min(image.size) > 300
        image.verify()
    with image_module.open(path) as image:
        return len(np.unique(np.asarray(image.convert("L")))) > 10  # something is drawn


@pytest.mark.parametrize("rivals", [(), ("--rival", "numpy")])
def test_plots(capsys, tmp_path, rivals):
    pytest.importorskip("matplotlib")
    if rivals:
        needs("numpy")
    for _ in range(2):  # a folder that is there is used again
        output = run(capsys, "--plots", tmp_path / "new" / "plots", "--epochs", 2, *rivals)
    files = sorted((tmp_path / "new" / "plots").iterdir())
    assert [file.name for file in files] == ["confusion.png", "curves.png", "wrong.png"]
    assert all(is_png(file) for file in files)
    assert sorted(re.findall(r"^picture: (.+)$", output, re.MULTILINE)) == [*map(str, files)]


def test_plots_without_errors(digits, tmp_path):
    pytest.importorskip("matplotlib")
    perfect = np.eye(10)[digits.test_labels]
    (history,) = train([Ours(models.build("mlp"), Settings())], digits, 1, 0)
    assert all(map(is_png, pictures.draw(tmp_path / "plots", [history], perfect, digits)))


def test_confusion():
    counts = pictures.confusion(np.eye(10)[[3, 3, 4, 9]], np.array([3, 5, 4, 4]))
    want = np.zeros((10, 10), int)
    want[3, 3] = want[5, 3] = want[4, 4] = want[4, 9] = 1
    assert np.array_equal(counts, want)


# Weights, and digits read from pictures


@pytest.fixture
def weights(capsys, tmp_path):
    """A file of a perceptron that knows the drawn digits."""
    path = tmp_path / "[bold]weights.npz"  # no markup
    output = run(capsys, "--batch", 10, "--epochs", 5, "--save", path)
    assert f"weights: {path}\n" in output and right(output) == 100
    return path


def test_training_goes_on(capsys, weights):
    ((loss, _),) = figures(run(capsys, "--load", weights, "--epochs", 1))
    ((fresh, _),) = figures(run(capsys, "--epochs", 1))
    assert loss < 0.2 * fresh


def test_saved_weights_are_those_trained(capsys, tmp_path, digits):
    run(capsys, "--epochs", 1, "--hidden", 12, "--threads", 1, "--save", tmp_path / "w.npz")
    trained = models.build("mlp", (12,))
    train([Ours(trained, Settings())], digits, 1, 0)
    read = models.build("mlp", (12,), seed=1)
    read.load(tmp_path / "w.npz")
    for name, array in trained.state_dict().items():
        np.testing.assert_array_equal(read.state_dict()[name], array)


ROUGH = (random_bits((28, 28), 9) % np.uint64(26)).astype(np.uint8)
LOOKS = {
    "plain": lambda ink: 255 - ink,
    "inverted": lambda ink: ink,
    "bigger": lambda ink: np.kron(255 - ink, np.ones((9, 9), np.uint8)),
    "pale": lambda ink: 255 - ink // 3,
    "rough": lambda ink: np.where(ink, 255 - ink, ROUGH + 230).astype(np.uint8),
    "off the middle": lambda ink: np.pad(255 - ink, ((0, 30), (50, 0)), constant_values=255),
    "in color": lambda ink: np.stack([255 - ink, np.full_like(ink, 255), 255 - ink // 2], -1),
    "transparent": lambda ink: np.stack([np.zeros_like(ink)] * 3 + [ink], -1),
    "16 bits": lambda ink: 65535 - ink.astype(np.uint16) * 257,
}


@pytest.mark.parametrize("look", LOOKS)
def test_predict(capsys, tmp_path, weights, digits, look):
    image_module = pytest.importorskip("PIL.Image")
    for image, label in zip(digits.test_images[:10], digits.test_labels, strict=False):
        ink = (255 * np.where(image > 0.5, image, 0)).astype(np.uint8).reshape(28, 28)
        path = tmp_path / "digit.png"
        image_module.fromarray(LOOKS[look](ink)).save(path)
        output = run(capsys, "--load", weights, "--predict", path)
        said, shares = re.fullmatch(rf"{re.escape(str(path))}: (\d)  \((.*)\)\n", output).groups()
        assert int(said) == label
        digits_said = [int(part.split(":")[0]) for part in shares.split(", ")]
        percents = [float(part.split()[1].removesuffix("%")) for part in shares.split(", ")]
        assert digits_said[0] == label and len(set(digits_said)) == 3
        assert percents == sorted(percents, reverse=True) and sum(percents) <= 100.16


def test_a_photograph_is_turned(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    ink = np.zeros((40, 40), np.uint8)
    ink[5:35, 10:14] = ink[31:35, 10:30] = 255  # an L
    upright = image_module.fromarray(255 - ink)
    upright.save(tmp_path / "upright.png")
    tags = upright.getexif()
    tags[0x0112] = 6  # the camera was held so that it must be turned to the right
    upright.rotate(90, expand=True).save(tmp_path / "turned.png", exif=tags)
    want = pictures.read_digit(tmp_path / "upright.png")
    np.testing.assert_array_equal(pictures.read_digit(tmp_path / "turned.png"), want)


def test_a_digit_is_centered_by_its_mass(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    ink = np.zeros((100, 100), np.uint8)
    ink[10:50, 60:64] = 255
    ink[46:50, 40:64] = 255
    image_module.fromarray(255 - ink).save(tmp_path / "digit.png")
    digit = pictures.read_digit(tmp_path / "digit.png").reshape(28, 28)
    rows, columns = np.nonzero(digit)
    assert np.ptp(rows) == 19 and np.ptp(columns) == 11  # of 40 x 24 pixels, half
    for axis in (0, 1):
        center = (digit.sum(axis=1 - axis) * np.arange(28)).sum() / digit.sum()
        assert abs(center - 13.5) <= 0.5
    assert digit.max() == 1


# What cannot be done


def test_no_picture(capsys, tmp_path, weights):
    image_module = pytest.importorskip("PIL.Image")
    path = tmp_path / "digit.png"

    def message():
        said = refused(capsys, "--load", weights, "--predict", path)
        assert str(path) in said
        return said

    assert "No such file" in message()
    path.write_text("no picture")
    assert message() == f"{path}: expected a picture that Pillow can read"
    for gray in (0, 200, 255):
        image_module.fromarray(np.full((30, 30), gray, np.uint8)).save(path)
        assert message() == f"{path}: expected a digit, got a blank picture"
    image_module.fromarray(np.asarray(random_bits((30, 30), 0), np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:300])
    assert message().startswith(f"{path}: expected a picture, got a damaged or too large file (")
    path.unlink()
    path.mkdir()
    assert "Is a directory" in message()


def test_other_weights(capsys, tmp_path, weights):
    hint = "; --model and --hidden must be those of the file"
    message = refused(capsys, "--load", weights, "--model", "cnn")
    assert message.startswith(f"{weights}: ") and message.endswith(hint)
    message = refused(capsys, "--load", weights, "--hidden", 100)
    assert f"{weights}: " in message and "(256, 784)" in message and "(100, 784)" in message
    weights.write_bytes(weights.read_bytes()[:5000])
    assert refused(capsys, "--load", weights).startswith(f"{weights}: ")
    weights.write_text("no weights")
    assert refused(capsys, "--load", weights).startswith(f"{weights}: ")
    assert str(tmp_path / "none.npz") in refused(capsys, "--load", tmp_path / "none.npz")


def test_data_that_is_not_there(capsys, tmp_path, folder):
    message = refused(capsys, "--data-dir", tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in message
    damaged = folder / "t10k-images-idx3-ubyte"
    content = bytearray(damaged.read_bytes())
    content[5000] ^= 1
    damaged.write_bytes(content)
    assert re.match(rf"{damaged}: .*MD5", refused(capsys))
    damaged.write_bytes(content[:5000])
    assert refused(capsys).startswith(f"{damaged}: ")
    damaged.unlink()
    message = refused(capsys)
    assert str(folder) in message and damaged.name in message


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--predict", "x.png"], "--predict needs --load"),
        *(
            (["--predict", "x.png", "--load", "x.npz", *more], f"expected no {more[0]}")
            for more in (
                *(["--save", "y.npz"], ["--plots", "y"], ["--epochs", "3"], ["--rival", "numpy"]),
                *(["--fast"], ["--compare"], ["--batch", "64"], ["--optimizer", "sgd"]),
                *(["--lr", "0.1"], ["--seed", "0"], ["--data-dir", "x"]),
            )
        ),
        (["--rival", "numpy", "--model", "cnn"], "--rival trains the mlp only"),
        (["--rival", "theano"], "invalid choice: 'theano'"),
        (["--epochs", "0"], "argument --epochs: expected an integer of at least 1, got 0"),
        (["--batch", "-1"], "argument --batch: expected an integer of at least 1, got -1"),
        (["--hidden", "64", "x"], "argument --hidden: expected an integer of at least 1, got x"),
        (["--seed", "-1"], "argument --seed: expected an integer of at least 0, got -1"),
        *(
            (["--lr", x], f"argument --lr: expected a positive number, got {x}")
            for x in ("0", "nan", "x")
        ),
        (["--fast", "--kernel", "naive"], "not allowed with argument"),
        (["--compare", "--fast"], "not allowed with argument"),
        *(
            (["--compare", f"--{name}", value], f"expected no --{name}")
            for name, value in (("rival", "numpy"), ("save", "x"), ("load", "x"), ("plots", "x"))
        ),
        *(
            (["--save", x], f"--save: expected a file in a folder that can be written to, got {x}")
            for x in ("none/x.npz", "folder")
        ),
        *(
            (["--plots", x], f"--plots: expected a folder that can be written to, got {x}")
            for x in ("file", "file/x")
        ),
    ],
)
def test_refused_before_training(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setattr(mnist_data, "load", None)
    assert message in refused(capsys, *arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_folder_that_must_not_be_written_to(capsys, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    with not_root(tmp_path):
        for arguments in (["--save", tmp_path / "locked" / "x"], ["--plots", tmp_path / "locked"]):
            assert "a folder that can be written to, got " in refused(capsys, *arguments)


def test_interrupted(capsys, monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ours, "step", interrupt)
    assert command.main(["--save", str(tmp_path / "w.npz")]) == 130
    assert capsys.readouterr().err.endswith("interrupted; nothing is saved\n")
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_no_number(capsys, monkeypatch):
    monkeypatch.setattr(Ours, "step", lambda *_: float("nan"))
    assert "the loss is no longer finite: try a smaller --lr" in run(capsys, "--epochs", 1)


# How it looks


def test_bar(monkeypatch):
    """On a terminal, what goes on is shown in one line: loss and accuracy."""
    console_module = pytest.importorskip("rich.console")
    file = io.StringIO()
    console = console_module.Console(file=file, force_terminal=True, width=100)
    monkeypatch.setattr(command, "new_console", lambda: console)
    assert command.main(["--epochs", "2", "--batch", "20"]) == 0
    drawn = [line for line in re.split(r"[\r\n]|\x1b\[\d*[A-Z]", file.getvalue()) if "━" in line]
    assert re.search(r"tropical: loss \d\.\d{4}, accuracy \d+\.\d%", "".join(drawn))


def test_runs_as_a_module(folder):
    def output(*arguments):
        module = "-W", "error", "-m", "tropical.examples.mnist"
        done = run_command(sys.executable, *module, *arguments, timeout=60)
        return done.returncode, done.stdout, done.stderr

    status, text, errors = output("--help")
    assert status == 0 and errors == "" and "--predict IMAGE" in text
    status, text, errors = output("--data-dir", str(folder))
    assert status == 2 and text == ""
    assert re.match(rf"python -m \S+: error: {folder}/\S+: .*MD5", errors)  # it knows MNIST


# The real digits


@needs_mnist
def test_three_epochs_follow_numpy(real):
    """Batches of 64, rate 0.1."""
    needs("numpy")
    model = models.build("mlp")
    contenders = [Ours(model, Settings()), NumPy(model, Settings())]
    ours, theirs = train(contenders, real, 3, 1)
    assert ours.losses == pytest.approx(theirs.losses, rel=0.005)
    assert ours.accuracies == pytest.approx(theirs.accuracies, abs=0.002)
    shares = [accuracy(own.classify(real.test_images), real.test_labels) for own in contenders]
    assert shares[0] == pytest.approx(shares[1], abs=0.002)


@needs_mnist
@pytest.mark.parametrize(
    "model, settings, least",
    [
        ("mlp", Settings(), 0.95),
        ("mlp", Settings(batch=128, lr=0.5), 0.965),
        ("mlp", Settings(lr=0.001, optimizer="adam"), 0.97),
        ("tropical", Settings(lr=0.001, optimizer="adam"), 0.95),
        pytest.param("cnn", Settings(lr=0.001, optimizer="adam", threads=2), 0.985, marks=long),
    ],
)
def test_accuracy_after_three_epochs(real, model, settings, least):
    ours = Ours(models.build(model), settings)
    train([ours], real, 3, 0)
    assert accuracy(ours.classify(real.test_images), real.test_labels) >= least


@needs_mnist
def test_convolutions_learn_from_few(real):
    ours = Ours(models.build("cnn"), Settings(lr=0.001, optimizer="adam"))
    ours.epoch(real.train_images, real.train_labels, np.arange(5000), lambda *_: None)
    assert accuracy(ours.classify(real.test_images[:2000]), real.test_labels[:2000]) > 0.85


@needs_mnist
@pytest.mark.parametrize("look", ["plain", "inverted", "bigger"])
def test_real_digits_are_read_from_pictures(real, tmp_path, look):
    image_module = pytest.importorskip("PIL.Image")
    ours = Ours(models.build("mlp"), Settings(batch=128, lr=0.5))
    ours.epoch(real.train_images, real.train_labels, np.arange(50_000), lambda *_: None)
    read = []
    for image in real.test_images[:100]:
        ink = np.rint(255 * image).astype(np.uint8).reshape(28, 28)
        image_module.fromarray(LOOKS[look](ink)).save(tmp_path / "digit.png")
        read.append(pictures.read_digit(tmp_path / "digit.png"))
    assert accuracy(ours.classify(np.array(read)), real.test_labels[:100]) >= 0.9
