"""`python -m tropical paths`: every format, every semiring, every error with its file and line."""

import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import run_command

from tropical import semirings
from tropical.cli import main
from tropical.graph import (
    Factor,
    closure,
    command,
    edge_lists,
    elimination,
    path,
    tables,
    write_lengths,
)
from tropical.graph.edges import dense_of
from tropical.graph.files import load
from tropical.graph.rows import state as rows_state
from tropical.graph.rows import stores
from tropical.measure import terminal

ROADS = "a,b,7\na,d,2\nb,a,7\nb,c,1\nb,d,3\nc,b,1\nd,a,2\nd,b,3\n"
BACKWARD = "\n".join(["km,to,from", *(",".join(line.split(",")[::-1]) for line in ROADS.split())])
ANSWER = """minplus (min, +): 6
a -> d -> b -> c
  a -> d\t2
  d -> b\t3
  b -> c\t1
"""


# What all pairs are written to row by row, and what reads that.
ALL_PAIRS = {"npy": "numpy", "zarr": "zarr", "parquet": "pyarrow.parquet"}


def run(capsys, *arguments):
    assert main(["paths", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["paths", *map(str, arguments)])
    captured = capsys.readouterr()
    assert stop.value.code == 2 and not captured.out
    return captured.err.splitlines()[-1].removeprefix("python -m tropical paths: error: ")


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


@pytest.fixture(params=["loop", "pandas"])
def reader(request, monkeypatch):
    if request.param == "pandas":
        pytest.importorskip("pandas", reason="reads large files")
        monkeypatch.setattr(edge_lists, "PANDAS_SIZE", 0)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    "name,text,options",
    [
        ("roads.csv", ROADS, []),
        ("roads.csv", "from,to,km\n" + ROADS, []),
        ("roads.csv", "\ufeff# roads\n\nfrom, to, km\n" + ROADS.replace(",", " , "), []),
        ("roads.tsv", ROADS.replace(",", "\t"), []),
        ("roads.csv", BACKWARD,
         ["--columns", "from,to,km"]),
        ("roads.txt", "\n".join("0," + line for line in ROADS.split()), ["--columns", "2,3,4"]),
        ("roads.csv", "a,b,7\na,d,2\nb,c,1\nb,d,3\n", ["--undirected"]),
        ("roads.csv", ROADS.replace(",", ";"), []),
        ("roads.txt", "from\tto\tkm\n" + ROADS.replace(",", "\t"), []),
        ("roads.csv", ROADS.replace("\n", "\r\n  \r\n"), []),
        ("roads.csv.gz", gzip.compress(ROADS.encode()), []),
        ("roads.TSV.GZ", gzip.compress(ROADS.replace(",", "\t").encode()), []),
        ("roads.csv", ROADS + "  e , a, 1.5e-3 ,,\n", []),
    ],
)  # fmt: skip
def test_csv(capsys, write, name, text, options):
    assert run(capsys, write(name, text), "--from", "a", "--to", "c", *options) == ANSWER


def test_csv_without_weights(capsys, write):
    file = write("follows.csv", "x,y\ny,z\nz,x\n")
    assert run(capsys, file, "--from", "y") == "x\t2\ty -> z -> x\ny\t0\ty\nz\t1\ty -> z\n"


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    "text,labels",
    [
        ("x,y\ny,z\n", ["x", "y", "z"]),
        ("Source,Target\ny,z\n", ["y", "z"]),
        ("person,friend\n7,8\n9,7\n", ["7", "8", "9"]),
        ("from,to\nto,z\n", ["from", "to", "z"]),  # "to" is a vertex
        ("source,target\n", []),
        ("x,y\n", ["x", "y"]),
        ("u,u\n7,8\n", ["7", "8"]),
        ("u,u\nu,8\n", ["u", "8"]),
        ("from,to,km\n7,8,1\n", ["7", "8"]),
        ("from,to,1\n7,8,1\n", ["from", "to", "7", "8"]),
        ("from,to,km\n", []),
    ],
)
def test_the_first_line(write, text, labels):
    found = load(write("graph.csv", text), semirings.minplus)
    assert found.labels.tolist() == labels and found.graph.n == len(labels)
    rows = [line.split(",") for line in text.split()][labels[:1] != [text.split(",")[0]] :]
    ends = [found.labels[codes].tolist() for codes in (found.graph.source, found.graph.target)]
    assert ends == [[row[side] for row in rows] for side in (0, 1)]
    assert len(found.graph.weight) == len(rows)


def test_pandas_reads_large_files(write, monkeypatch):
    pytest.importorskip("pandas", reason="reads large files")
    rng = np.random.default_rng(5)
    ends, weights = rng.integers(0, 400, (900, 2)), rng.standard_normal(900)
    lines = [f"v{i},{j},{w!r}" for (i, j), w in zip(ends.tolist(), weights.tolist(), strict=True)]
    file = write("graph.csv", "\n".join(["from,to,km", *lines]))
    want = load(file, semirings.minplus)
    monkeypatch.setattr(edge_lists, "PANDAS_SIZE", 0)
    monkeypatch.delattr(edge_lists, "_by_rows")
    found = load(file, semirings.minplus)
    assert found.labels.tolist() == want.labels.tolist()
    for name in ("source", "target", "weight"):
        got, right = getattr(found.graph, name), getattr(want.graph, name)
        assert got.dtype == right.dtype and (got == right).all()


def test_standard_input(capsys, monkeypatch):
    for content in (ROADS.encode(), gzip.compress(ROADS.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert run(capsys, "-", "--from", "a", "--to", "c") == ANSWER
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b,1\nb,c,x\n")))
    assert refused(capsys, "-", "--from", "a") == "standard input:2: the weight 'x' is no number"


DIMACS = "c roads\n\np sp 3 2\na 1 2 5\nc one more\na 2 3 0.5\n"


def test_dimacs(capsys, write):
    for name, content in (("r.gr", DIMACS), ("r.gr.gz", gzip.compress(DIMACS.encode()))):
        lines = run(capsys, write(name, content), "--from", 1, "--to", 3).splitlines()
        assert lines[:2] == ["minplus (min, +): 5.5", "1 -> 2 -> 3"]
    assert run(capsys, write("empty.gr", "p sp 2 0\n"), "--from", 2) == "2\t0\t2\n"
    for old, new, why in (
        ("a 2 3", "a 2 4", ":6: expected a vertex from 1 to 3, got 4"),
        ("a 2 3", "a 0 3", ":6: expected a vertex from 1 to 3, got 0"),
        ("0.5", "nan", ":6: the weight 'nan' is no number"),
        ("a 1", "b 1", ":4: expected 'a FROM TO WEIGHT', got 'b 1 2 5'"),
        ("p sp", "p max", ":3: expected 'p sp VERTICES ARCS', got 'p max 3 2'"),
        ("3 2", "3 3", ": expected 3 arcs, got 2"),
        (DIMACS, "c\n", ": expected a line 'p sp VERTICES ARCS'"),
    ):
        file = write("wrong.gr", DIMACS.replace(old, new, 1))
        assert refused(capsys, file, "--from", 1) == f"{file}{why}"


def test_npy(capsys, write, tmp_path):
    np.save(tmp_path / "roads.npy", [[np.inf, 5], [np.inf, np.inf]])
    file = tmp_path / "roads.npy"
    assert run(capsys, file, "--from", 0, "--to", 1).splitlines()[1] == "0 -> 1"
    np.save(file, np.zeros((2, 3)))
    assert refused(capsys, file, "--from", 0) == f"{file}: expected (..., n, n), got (2, 3)"
    file.write_bytes(b"\x93NUMPY half")
    assert refused(capsys, file, "--from", 0).startswith(f"{file}: ")


def test_half_a_compressed_file(capsys, write):
    whole = gzip.compress(ROADS.encode())
    for content in (whole[:-9], whole[:12], whole[:20] + b"?" * 20):
        file = write("roads.csv.gz", content)
        assert refused(capsys, file, "--from", "a").startswith(f"{file}: ")


def test_csv_labels_like_comments(capsys, write):
    file = write("roads.csv", '#a,b,1\n"#7",b,2\n"b\n#2",c,3\n #b,c,1\nb,"#7",4\n')
    assert run(capsys, file, "--from", "#7", "--to", "b").splitlines()[1] == "#7 -> b"
    assert run(capsys, file, "--from", "b", "--to", "#7").splitlines()[1] == "b -> #7"
    assert run(capsys, file, "--from", "b\n#2").count("->") == 1


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("comment", ['# size,"', '#"a" and, "b', " # it's 5\" wide"])
@pytest.mark.parametrize("place", range(4))
def test_csv_comments_with_quotes(capsys, write, comment, place):
    lines = ["from,to,km", "a,b,1", "b,c,2"]
    lines.insert(place, comment)
    file = write("roads.csv", "\n".join(lines) + "\n")
    assert run(capsys, file, "--from", "a", "--to", "c").splitlines()[1] == "a -> b -> c"
    file = write("roads.csv", "\n".join(lines) + "\nc,d,x\n")
    assert refused(capsys, file, "--from", "a") == f"{file}:5: the weight 'x' is no number"


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("head", ["from,to,km\n", "x,y,2\n", "\ufefffrom,to,km\n"])
def test_csv_labels_that_begin_with_a_byte_order_mark(write, head):
    found = load(write("roads.csv", head + "\ufeffa,b,1\nc,\ufeffa,2\n"), semirings.minplus)
    assert found.labels.tolist()[-3:] == ["\ufeffa", "b", "c"]


def test_columns_with_spaces(capsys, write):
    file = write("roads.csv", BACKWARD)
    asked = file, "--from", "a", "--to", "c", "--columns"
    assert run(capsys, *asked, " from, to ,km") == run(capsys, *asked, " 3, 2,1") == ANSWER
    for columns in ("from,,to", "from,to,", "", " ", "from,to,km,km"):
        got = repr(columns.strip())
        said = refused(capsys, *asked, columns)
        assert said == f"--columns: expected one to three names or numbers, got {got}"


def test_graphml(capsys, write, tmp_path):
    nx = pytest.importorskip("networkx", reason="reads GraphML")
    graph = nx.DiGraph()
    for line in ROADS.split():
        start, end, km = line.split(",")
        graph.add_edge(start, end, weight=float(km), lanes=1)
    nx.write_graphml(graph, tmp_path / "roads.graphml")
    asked = [tmp_path / "roads.graphml", "--from", "a", "--to", "c"]
    assert run(capsys, *asked) == ANSWER
    assert "a -> b -> c" in run(capsys, *asked, "--columns", "lanes")
    assert refused(capsys, *asked, "--columns", "lane") == f"{asked[0]}: no edge has 'lane'"
    nx.write_graphml(graph.to_undirected(), asked[0])
    assert run(capsys, *asked) == run(capsys, *asked, "--undirected") == ANSWER
    named = load(asked[0], semirings.minplus)
    assert not named.directed and len(named.graph.weight) == len(ROADS.split()) / 2
    graph["a"]["b"]["weight"] = "far"
    nx.write_graphml(graph, asked[0])
    assert refused(capsys, *asked).startswith(f"{asked[0]}: expected a number as an edge's")
    (tmp_path / "roads.graphml").write_text("<graphml>\n<oops\n")
    assert refused(capsys, *asked).startswith(f"{tmp_path / 'roads.graphml'}:2: ")
    (tmp_path / "roads.graphml").write_text("<graphml></graphml>")
    assert "roads.graphml: " in refused(capsys, *asked)


def test_matrix_market(capsys, write):
    pytest.importorskip("scipy", reason="reads MatrixMarket")
    head = "%%MatrixMarket matrix coordinate real general\n"
    file = write("roads.mtx", head + "3 3 2\n1 2 5\n2 3 0.5\n")
    assert run(capsys, file, "--from", 1, "--to", 3).startswith(
        "minplus (min, +): 5.5\n1 -> 2 -> 3\n"
    )
    file = write("roads.mtx", head + "3 3 2\n1 2 5\n2 x 0.5\n")
    assert refused(capsys, file, "--from", 1).startswith(f"{file}:4: ")
    file = write("roads.mtx", head.replace("real", "integer") + f"2 2 1\n1 2 {10**20}\n")
    assert refused(capsys, file, "--from", 1).startswith(f"{file}:3: ")
    file = write("roads.mtx", head + "2 3 1\n1 2 5\n")
    assert refused(capsys, file, "--from", 1) == f"{file}: expected (n, n), got (2, 3)"


def test_npz(capsys, write, tmp_path):
    sparse = pytest.importorskip("scipy.sparse", reason="writes npz")
    inf = np.inf
    file = tmp_path / "roads.npz"
    dense = np.array([[inf, 5, inf], [inf, inf, 0.5], [inf, inf, inf]])
    sparse.save_npz(file, sparse.csr_array(np.where(dense == inf, 0, dense)))
    want = "minplus (min, +): 5.5\n0 -> 1 -> 2\n"
    assert run(capsys, file, "--from", 0, "--to", 2).startswith(want)
    for arrays in ({"weights": dense, "other": [1]}, {"w": dense}):
        np.savez(file, **arrays)
        assert run(capsys, file, "--from", 0, "--to", 2).startswith(want)
    np.savez(file, weights=dense, labels=["x", "y", "z"])
    assert "x -> y -> z" in run(capsys, file, "--from", "x", "--to", "z")
    for arrays, why in (
        ({"a": dense, "b": dense}, "no array 'weights' among a, b"),
        ({"w": dense[:2]}, "expected (..., n, n), got (2, 3)"),
        ({"w": dense[None]}, "w: expected (n, n), got (1, 3, 3)"),
        ({"w": dense, "labels": ["x"]}, "labels: expected (3,), got (1,)"),
        ({"w": dense, "labels": "x"}, "labels: expected (3,), got ()"),
        (
            {"w": dense, "labels": list("yxy")},
            "labels: expected different ones, got 'y' for 2 vertices",
        ),
        (
            {"w": dense, "labels": [7, 8, 7]},
            "labels: expected different ones, got 7 for 2 vertices",
        ),
        ({"format": b"csr"}, "data is not a file in the archive"),
        ({"w": np.array([[None]])}, "Object arrays cannot be loaded when allow_pickle=False"),
    ):
        np.savez(file, **arrays)
        assert refused(capsys, file, "--from", 0) == f"{file}: {why}"
    np.savez(file, weights=dense, labels=[b"x", b"y", b"z"])
    assert run(capsys, file, "--from", "z") == "z\t0\tz\n"
    with file.open("wb") as one:
        np.save(one, dense)
    for content in (file.read_bytes(), b"PK\x03\x04 half a file", b"", b"some text"):
        file.write_bytes(content)
        assert refused(capsys, file, "--from", 0) == f"{file}: File is not a zip file"


def archive(name, content, compression=zipfile.ZIP_STORED):
    """The bytes of a zip file of a graph and one file more."""
    graph, file = io.BytesIO(), io.BytesIO()
    np.save(graph, [[0.0, 1.0], [1.0, 0.0]])
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("weights.npy", graph.getvalue())
        archive.writestr(name, content)
    return file.getvalue()


def with_field(content, offset, value):
    """The bytes of a zip file with another value in the headers of its first member."""
    changed = bytearray(content)
    for start, place in ((b"PK\3\4", offset), (b"PK\1\2", offset + 2)):
        changed[content.index(start) + place] = value
    return bytes(changed)


@pytest.mark.parametrize(
    "name, content, why",
    [
        ("empty.npy", b"", "EOF: reading magic string, expected 8 bytes got 0"),
        ("header.npy", b"\x93NUMPY\1\0\6\0{'a': \n", ""),
        ("labels.npz", archive("labels", "a b"), "labels: expected an array, got another file"),
        ("other.npz", with_field(archive("x.npy", ""), 6, 1), "File 'weights.npy' is encrypted"),
        ("other.npz", with_field(archive("x.npy", ""), 8, 97), "That compression method is not"),
        ("other.npz", archive("labels.npy", b"\x93NUMPY"), ""),
    ],
)
def test_damaged_files_of_numpy(capsys, write, name, content, why):
    file = write(name, content)
    assert refused(capsys, file, "--from", 0).startswith(f"{file}: {why}")


@pytest.mark.parametrize(
    "labels, text",
    [
        ([1.5, 2.0], ["1.5", "2.0"]),
        ([1j, 2], ["1j", "(2+0j)"]),
        (np.array(["2020-01-01", "2021-01-01"], "M8[D]"), ["2020-01-01", "2021-01-01"]),
    ],
)
def test_labels_that_become_text(capsys, tmp_path, labels, text):
    file, out = tmp_path / "graph.npz", tmp_path / "out.npy"
    np.savez(file, weights=[[0.0, 1.0], [1.0, 0.0]], labels=labels)
    assert run(capsys, file, "--from", text[0], "--all-pairs", out).startswith(text[0])
    assert np.load(tmp_path / "out.labels.npz")["source"].tolist() == text


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_matrices_that_factors_do_not_take(capsys, tmp_path, dtype):
    file = tmp_path / "graph.npy"
    np.save(file, np.array([[0, 3], [5, 0]], dtype))
    for option in (("--all-pairs",), ("--table", "all", "all")):
        said = refused(capsys, file, *option, tmp_path / "out.npy")
        assert said.startswith(f"{file}: expected a dtype of float32, ")
        assert said.endswith(f"got {dtype}")


def test_suffixes_in_capitals(capsys, write, tmp_path):
    for suffix in (".NPY", ".Zarr", ".PARQUET"):
        out = tmp_path / f"out{suffix}"
        said = refused(capsys, write("roads.csv", ROADS), "--all-pairs", out)
        assert said.startswith("--all-pairs: expected ") and said.endswith(f"got {out}")
        assert not out.exists()


def test_standard_input_asked_for_twice(capsys, tmp_path):
    why = "-: expected for one argument, as standard input is read once, got "
    out = tmp_path / "out.csv"
    for asked, names in (
        (("-", "--from", "a", "--targets", "-"), "EDGES and --targets"),
        (("roads.csv", "--table", "-", "-", out), "SOURCES and TARGETS"),
        (("-", "--table", "all", "-", out), "EDGES and TARGETS"),
    ):
        assert refused(capsys, *asked) == why + names


def test_standard_input_that_is_closed(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    said = refused(capsys, "-", "--from", "a")
    assert said == "standard input: expected an open file, got a closed one"


def test_labels_that_the_terminal_lacks(write, monkeypatch):
    file = write("roads.csv", "a,ä,1\n")
    for errors, text in (("strict", "\\xe4\t1\ta -> \\xe4\n"), ("replace", "?\t1\ta -> ?\n")):
        out = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "ascii", errors))
        with pytest.raises(SystemExit) as ended:
            terminal.run("paths", lambda: main(["paths", str(file), "--from", "a"]))
        assert ended.value.code == 0 and out.getvalue().decode() == "a\t0\ta\n" + text
        monkeypatch.undo()


@pytest.mark.parametrize(
    "semiring,value,stops",
    [
        ("minplus", "3", "a -> b -> c"),
        ("maxplus", "4", "a -> c"),
        ("maxmin", "4", "a -> c"),
        ("minmax", "2", "a -> b -> c"),
        ("maxtimes", "4", "a -> c"),
    ],
)
def test_semirings(capsys, write, semiring, value, stops):
    file = write("graph.csv", "a,b,1\nb,c,2\na,c,4\n")
    lines = run(capsys, file, "--from", "a", "--to", "c", "--semiring", semiring).splitlines()
    assert (lines[0].split(": ")[1], lines[1]) == (value, stops)


def test_all_pairs(capsys, write, tmp_path):
    file, out = write("roads.csv", ROADS), tmp_path / "out.npz"
    for options in ([], ["--from", "a", "--to", "c"]):
        assert run(capsys, file, "--all-pairs", out, *options) == (ANSWER if options else "")
        with np.load(out) as saved:
            labels = saved["labels"].tolist()
            assert labels == ["a", "b", "d", "c"] and saved["distances"][0, 3] == 6
            stops = path(saved["predecessors"], 0, 3)
        assert [labels[stop] for stop in stops] == ["a", "d", "b", "c"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npz", "roads.csv"]


OUTPUTS = [
    ("--all-pairs", "npz"),
    *((f"--table {kind}", kind) for kind in ("csv", "npy", "npz")),
]


def output(option, out):
    """The arguments that write to `out`."""
    return ("--all-pairs", out) if option == "--all-pairs" else ("--table", "all", "all", out)


@pytest.mark.parametrize("option, suffix", OUTPUTS)
def test_links_and_pipes_that_are_written_to(capsys, write, tmp_path, option, suffix):
    file, want = write("roads.csv", ROADS), tmp_path / f"want.{suffix}"
    run(capsys, file, *output(option, want))
    link, target = tmp_path / f"link.{suffix}", write("target", "old")
    target.chmod(0o640)
    link.symlink_to(target.name)
    run(capsys, file, *output(option, link))
    assert link.is_symlink() and content(target) == content(want)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    pipe, got = tmp_path / f"pipe.{suffix}", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    run(capsys, file, *output(option, pipe))
    assert pipe.is_fifo()
    reader.join(60)
    assert content(write("got", got[0])) == content(want)
    device = tmp_path / f"null.{suffix}"
    device.symlink_to(os.devnull)
    run(capsys, file, *output(option, device))
    assert device.is_symlink() and device.is_char_device()
    cycle = write("cycle.csv", "a,b,-3\nb,a,1\n")
    refused(capsys, cycle, *output(option, link))
    assert content(target) == content(want)
    assert not list(tmp_path.glob(".*"))


def content(file):
    """The content of an npz file, whose bytes have the time; else the bytes."""
    if not zipfile.is_zipfile(file):
        return file.read_bytes()
    with np.load(file) as saved:
        return {name: array.tolist() for name, array in saved.items()}


@pytest.mark.parametrize("suffix", ALL_PAIRS)
def test_all_pairs_by_rows(capsys, write, tmp_path, suffix):
    library = pytest.importorskip(ALL_PAIRS[suffix])
    file, out = write("roads.csv", ROADS), tmp_path / f"out.{suffix}"
    asked = file, "--all-pairs", out, "--memory", "1GB"
    want = star_of(load(file, semirings.minplus), "minplus")
    assert run(capsys, *asked, "--from", "a", "--to", "c") == ANSWER
    if suffix == "npy":
        np.testing.assert_array_equal(np.load(out), want)
        names = dict(np.load(tmp_path / "out.labels.npz"))
    elif suffix == "zarr":
        names = library.open_group(out, mode="r")
        np.testing.assert_array_equal(names["lengths"][:], want)
    if suffix == "parquet":
        lines = zip(*library.read_table(out).to_pydict().values(), strict=True)
        pairs = np.argwhere(want < np.inf).tolist()
        assert list(lines) == [("abdc"[i], "abdc"[j], want[i, j]) for i, j in pairs]
    else:
        assert names["source"][:].tolist() == names["target"][:].tolist() == ["a", "b", "d", "c"]
    assert refused(capsys, *asked) == f"--all-pairs: expected a new file, or --resume, got {out}"
    assert run(capsys, *asked, "--resume") == ""
    said = refused(capsys, write("other.csv", ROADS.replace("7", "8")), *asked[1:], "--resume")
    assert "other.csv: expected the graph whose lengths " in said
    (damaged := tmp_path / "bad.npy.rows.json").write_text("{")
    said = refused(capsys, file, "--all-pairs", tmp_path / "bad.npy", "--resume")
    assert said.startswith(f"--all-pairs: {damaged}: expected a file of write_lengths: ")
    said = refused(capsys, *asked[:3], "--resume", "--memory", "9kB")
    assert said.startswith("--memory: expected at least ")
    near = run(capsys, file, "--all-pairs", tmp_path / f"near.{suffix}", "--limit", 3, "--resume")
    assert near == ""
    if suffix == "npy":
        found = np.load(tmp_path / "near.npy")
        np.testing.assert_array_equal(found, np.where(want <= 3, want, np.inf))


def test_outputs_that_are_inputs(capsys, write, tmp_path):
    edges, names = write("roads.csv", ROADS), write("names.csv", "a\n")
    (link := tmp_path / "link.csv").symlink_to(names)
    np.save(matrix := tmp_path / "matrix.npy", np.zeros((2, 2)))
    for name, file, *asked in (
        ("EDGES", edges, edges, "--table", "all", "all"),
        ("SOURCES", names, edges, "--table", names, "all"),
        ("TARGETS", link, edges, "--table", "all", names),
        ("--targets", names, edges, "--from", "a", "--targets", names, "--table", "all", "all"),
        ("EDGES", matrix, matrix, "--resume", "--all-pairs"),
    ):
        before, option = file.read_bytes(), "--table" if "--table" in asked else "--all-pairs"
        said = refused(capsys, *asked, file)
        assert said == f"{option}: expected another file than {name}, got {file}"
        assert file.read_bytes() == before


def test_all_pairs_of_unknown_suffixes(capsys, write, tmp_path):
    for out in (tmp_path / "out.csv", tmp_path / "out"):
        said = refused(capsys, write("roads.csv", ROADS), "--all-pairs", out)
        known = ".npz, .npy, .zarr, .parquet"
        assert said == f"--all-pairs: expected OUT with one of {known}, got {out}"
        assert not out.exists()
    if Path("/dev/null").is_char_device():
        assert main(["paths", str(write("roads.csv", ROADS)), "--all-pairs", "/dev/null"]) == 0


def test_rows_that_are_refused(capsys, write, tmp_path):
    file = write("cycle.csv", "a,b,-3\nb,a,1\n")
    said = refused(capsys, file, "--all-pairs", tmp_path / "out.npy")
    assert said == f"{file}: has a cycle of weight -2: a -> b -> a"
    for option in (("--memory", "1GB"), ("--resume",)):
        said = refused(capsys, file, "--all-pairs", tmp_path / "out.npz", *option)
        assert said == f"{option[0]}: expected with --all-pairs OUT.zarr, OUT.parquet or OUT.npy"
    said = refused(capsys, write("r.csv", ROADS), "--all-pairs", "o.npy", "--memory", "much")
    assert said == "--memory: expected bytes, or text such as '2GB', got 'much'"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cycle.csv", "r.csv"]


def test_no_half_file(capsys, write, tmp_path, monkeypatch):
    file, out = write("roads.csv", ROADS), write("out.npz", "old")

    def interrupted(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(command.np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main(["paths", str(file), "--all-pairs", str(out)])
    assert out.read_text() == "old"
    file.write_text("a,b,-1\nb,a,0\n")
    assert "has a cycle of weight -1: " in refused(capsys, file, "--all-pairs", out)
    assert out.read_text() == "old" and len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    "text,why",
    [
        ('a,b,"1,234"\nb,c,1\n', ":1: the weight '1,234' is no number"),
        ("a,b,1_000\nb,c,1\n", ":1: the weight '1_000' is no number"),
        ("a;b;1,5\nb;c;1\n", ":1: the weight '1,5' is no number"),
        ("a,b,5 km\nx,y,1\n", ":1: the weight '5 km' is no number"),
        ("a,b,NaN\nx,y,1\n", ":1: the weight 'NaN' is no number"),
        ("a,b,N/A\nx,y,1\n", ":1: the weight 'N/A' is no number"),
        ("a,b,much\nb,c,1\n", ":1: the weight 'much' is no number"),  # b is a vertex
        ("a,b,1\nb,c,\n", ":2: the weight '' is no number"),
        ("a,b,1\nb,c,true\n", ":2: the weight 'true' is no number"),
        ("a,b,1\n\nb,c\n", ":3: expected columns 1, 2, 3, got 2 fields"),
        ("a,b\nb,c,5\n", ":2: expected 2 fields, as in the first line, got 3"),
        ("a,b,\nb,c,5\n", ":1: the weight '' is no number"),
        ("a,b,1\nb,c,much\n", ":2: the weight 'much' is no number"),
        ("a,b,km\nb,c,NaN\n", ":2: the weight 'NaN' is no number"),
        ("a\n", ":1: expected source and target, got one field, 'a'; a comma, "),
        ("a,b,1\nb c 2\n", ":2: expected columns 1, 2, 3, got one field, 'b c 2'; a comma, "),
        ('a,b,1\n"b,c,1\n', ":2: unexpected end of data"),
        (b"a,b,1\n\xff,c,1\n", ":2: is no UTF-8 text"),
        ("a,b,-1\nb,c,0\nc,a,0.5\n", ": has a cycle of weight -0.5: "),
        ("a,b,1\n", "--from: no vertex 'x'"),
        ("x1,b,1\n", "--from: no vertex 'x'; near: x1"),
        ("", "--from: no vertex 'x'"),
    ],
)  # fmt: skip
def test_errors(capsys, write, text, why):
    file = write("graph.csv", text)
    start = "x" if why.startswith("--from") else "a"
    message = refused(capsys, file, "--from", start)
    assert why in message and message.startswith((str(file), "--from"))
    assert message.count(str(file)) <= 1


def test_parts_of_options_are_refused(capsys, write):
    asked = write("roads.csv", ROADS), "--from", "a", "--undir"
    assert refused(capsys, *asked) == "unrecognized arguments: --undir"


def test_more_errors(capsys, write):
    file = write("graph.csv", "a,b,1\nb,a,2\n")
    assert (
        refused(capsys, file)
        == "--from: expected the first vertex of the paths, or --all-pairs, or --table"
    )
    matrix, negative = write("graph.npz", ""), write("negative.csv", "a,b,-1\n")
    for wrong, options, why in (
        (file, ("--columns", "a,b,km"), "no column 'km' among a, b, 1"),
        (file, ("--semiring", "maxplus"), "has a cycle of weight 3"),
        (file, ("--semiring", "maxtimes"), "has no maxtimes star"),
        (matrix, ("--columns", "1,2"), "expected no names of columns"),
        (negative, ("--semiring", "maxtimes"), "weights of 0 or more for maxtimes, got -1"),
    ):
        assert why in refused(capsys, wrong, "--from", "a", *options)
    assert run(capsys, file, "--from", "a", "--to", "a") == "minplus (min, +): 0\na\n"
    one_way = write("way.csv", "a,b,1\n")
    assert run(capsys, one_way, "--from", "b", "--to", "a") == "no path from b to a\n"
    (folder := one_way.with_name("folder.npz")).mkdir()
    with pytest.raises(IsADirectoryError):
        main(["paths", str(one_way), "--all-pairs", str(folder)])


@pytest.mark.parametrize("terminal", [False, True])
def test_progress(write, terminal):
    """The bar is on standard error, and only there where it is seen."""
    pytest.importorskip("rich", reason="draws the bar")
    asked = write("roads.csv", ROADS), "--from", "a", "--to", "c", "--progress"
    environment = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    environment |= {"FORCE_COLOR": "1"} if terminal else {}
    command = sys.executable, "-m", "tropical", "paths", *map(str, asked)
    done = run_command(*command, env=environment)
    assert done.stdout == ANSWER and ("100%" in done.stderr if terminal else not done.stderr)


def test_a_file_that_is_not_there(tmp_path):
    paths = "-m", "tropical", "paths", "none.csv", "--from", "a"
    done = run_command(sys.executable, *paths, cwd=tmp_path)
    assert done.returncode == 1 and "none.csv" in done.stderr and "Traceback" not in done.stderr


def test_too_large_a_graph(tmp_path, write):
    write("large.gr", "p sp 5000000 0\n")
    paths = "-m", "tropical", "paths", "large.gr", "--all-pairs", "out.npz"
    done = run_command(sys.executable, *paths, cwd=tmp_path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("python -m tropical: error: out of memory: Unable to allocate ")


def test_the_flights(capsys):
    flights = Path(command.__file__).parents[1] / "data" / "flights_2008.csv"
    widest = run(capsys, flights, "--from", "SEA", "--to", "MIA", "--semiring", "maxmin")
    assert widest.startswith("maxmin (max, min): 6628\nSEA -> ")


def star_of(named, ring):
    return closure(dense_of(named.graph, semirings.get(ring)), ring)


LINES = [("a", "b,d"), ("d,c,a,d", "c"), ("all", "all"), ("", "a"), ("b", "")]


@pytest.mark.parametrize("suffix", ["csv", "npy", "npz"])
@pytest.mark.parametrize("sources, targets", LINES)
@pytest.mark.parametrize("ring", ["minplus", "maxmin"])
def test_tables(capsys, write, tmp_path, monkeypatch, ring, sources, targets, suffix):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 20)
    file, out = write("roads.csv", ROADS), tmp_path / f"out.{suffix}"
    graph = load(file, semirings.get(ring))
    labels, names = graph.labels.tolist(), []
    for name, some in (("from.txt", sources), ("to.txt", targets)):
        text = some.replace(",", "\n") + "\n\n"
        names.append("all" if some == "all" else write(name, text))
    rows, columns = (
        [labels.index(label) for label in (labels if some == "all" else some.split(",")) if label]
        for some in (sources, targets)
    )
    want = star_of(graph, ring)[np.ix_(rows, columns)]
    assert run(capsys, file, "--table", *names, out, "--semiring", ring) == ""
    if suffix == "csv":
        head, *lines = out.read_text().splitlines()
        assert head.split(",")[1:] == [labels[j] for j in columns] or not columns
        got = [line.split(",") for line in lines]
        assert [line[0] for line in got] == [labels[i] for i in rows]
        got = np.array([[float(x) for x in line[1:]] for line in got]).reshape(want.shape)
    else:
        got = np.load(out)
        if suffix == "npz":
            assert got["sources"].tolist() == [labels[i] for i in rows]
            assert got["targets"].tolist() == [labels[j] for j in columns]
            got = got["values"]
    np.testing.assert_array_equal(got, want)


WHOLE = 2**53 - 1  # of 16 digits


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_whole_numbers_keep_their_digits(capsys, tmp_path, dtype):
    file, out = tmp_path / "graph.npy", tmp_path / "out.csv"
    none = np.inf if dtype == "float64" else np.iinfo(dtype).max
    np.save(file, np.array([[0, WHOLE], [none, 0]], dtype))
    lines = run(capsys, file, "--from", 0, "--to", 1).splitlines()
    assert lines == [f"minplus (min, +): {WHOLE}", "0 -> 1", f"  0 -> 1\t{WHOLE}"]
    assert run(capsys, file, "--from", 0).splitlines()[1] == f"1\t{WHOLE}\t0 -> 1"
    run(capsys, file, "--table", "all", "all", out)
    assert out.read_text() == f",0,1\n0,0,{WHOLE}\n1,{none},0\n"
    np.save(file, np.array([[0, 1], [-WHOLE, 0]], dtype))
    said = refused(capsys, file, "--from", 0)
    assert f"{file}: has a cycle of weight {1 - WHOLE}: " in said


def test_numbers_as_text():
    for value, text in (
        (0.1 + 0.2, "0.3"),
        (-0.5, "-0.5"),
        (1e300, "1e+300"),
        (2.0**53, "9.00719925474099e+15"),
        (-np.inf, "-inf"),
        (np.float32(16777216), "16777216"),
        (np.float32(0.5), "0.5"),
        (np.int64(2**62 + 1), "4611686018427387905"),
    ):
        assert tables.number_text(value) == text


@pytest.mark.parametrize("ring", ["minplus", "maxplus", "maxmin"])
def test_tables_where_elimination_does_not_pay(capsys, write, tmp_path, monkeypatch, ring):
    monkeypatch.setattr(elimination, "available_bytes", lambda: 1)
    file = write("roads.csv", "a,b,1\na,c,5\nb,c,2\nc,d,2\n")
    run(capsys, file, "--table", "all", "all", tmp_path / "out.npy", "--semiring", ring)
    want = star_of(load(file, semirings.get(ring)), ring)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), want)


@pytest.mark.parametrize("ring", ["minplus", "maxplus", "maxmin", "minmax"])
@pytest.mark.parametrize("dense", [False, True])
def test_undirected(capsys, write, tmp_path, monkeypatch, ring, dense):
    """Streets that a file has once lead both ways; nothing makes two edges of them for a factor."""
    lines = "a,b,-7\na,d,-2\nb,c,-1\nb,a,-8\n" if ring == "maxplus" else "a,b,7\na,d,2\nb,c,1\n"
    file = write("roads.csv", lines)
    if dense:
        matrix = dense_of(load(file, semirings.get(ring)).graph, semirings.get(ring))
        file = tmp_path / "roads.npy"
        np.save(file, matrix)
    graph = dense_of(load(file, semirings.get(ring)).graph, semirings.get(ring))
    want = closure(semirings.get(ring).add_ufunc(graph, graph.T), ring)
    given = []

    def factor(graph, *arguments, directed):
        given.append((graph, directed))
        return Factor(graph, *arguments, directed=directed)

    def rows(graph, *arguments, directed, **options):
        given.append((graph, directed))
        write_lengths(graph, *arguments, directed=directed, **options)

    monkeypatch.setattr(tables, "Factor", factor)
    monkeypatch.setattr(command, "write_lengths", rows)
    ways = file, "--undirected", "--semiring", ring
    run(capsys, *ways, "--table", "all", "all", tmp_path / "table.npy")
    run(capsys, *ways, "--all-pairs", tmp_path / "rows.npy")
    for found, directed in given:
        assert not directed
        np.testing.assert_array_equal(dense_of(found, semirings.get(ring)), graph)
    if ring != "maxplus":  # longest paths go round a street
        run(capsys, *ways, "--all-pairs", tmp_path / "all.npz")
        np.testing.assert_array_equal(np.load(tmp_path / "all.npz")["distances"], want)
        first, last = "03" if dense else "ac"
        lines = run(capsys, *ways, "--from", first, "--to", last).splitlines()
        assert len(lines) == 2 + len(lines[1].split(" -> ")) - 1
    assert len(given) == 2
    for name in ("table", "rows"):
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), want)
    if ring in ("minplus", "maxplus") and not dense:
        bad = write("bad.csv", "a,b,-3\n" if ring == "minplus" else "a,b,3\n")
        for option in (("--table", "all", "all"), ("--all-pairs",)):
            said = refused(capsys, bad, *ways[1:], *option, tmp_path / "bad.npy")
            assert "has a cycle of weight" in said and (
                "a -> b -> a" in said or "b -> a -> b" in said
            )


def test_tables_that_are_refused(capsys, write, tmp_path):
    file, names = write("roads.csv", ROADS), write("names.txt", "a\n\nalbert\n")
    out = tmp_path / "out.csv"
    said = refused(capsys, file, "--table", names, "all", out)
    assert said == f"{names}:3: no vertex 'albert'"
    assert "near: a" in refused(capsys, file, "--table", "all", write("more.txt", "aa"), out)
    said = refused(capsys, file, "--table", "all", "all", tmp_path / "out.txt")
    assert said == f"--table: expected OUT with one of .csv, .npy, .npz, got {tmp_path}/out.txt"
    assert "is no UTF-8 text" in refused(capsys, file, "--table", write("x", b"\xff"), "all", out)
    cycle = write("cycle.csv", "a,b,-3\nb,a,1\n")
    said = refused(capsys, cycle, "--table", "all", "all", out)
    assert said == f"{cycle}: has a cycle of weight -2: a -> b -> a"
    cycle = write("cycle.csv", "a,b,3\nb,a,1\n")
    said = refused(capsys, cycle, "--table", "all", "all", out, "--semiring", "maxplus")
    assert said in [
        f"{cycle}: has a cycle of weight 4: {way}" for way in ("a -> b -> a", "b -> a -> b")
    ]
    assert not out.exists()


def test_targets_and_limit(capsys, write):
    file, names = write("roads.csv", ROADS), write("names.txt", "c\n\na\nc\n")
    lines = {"a": "a\t0\ta\n", "b": "b\t5\ta -> d -> b\n", "c": "c\t6\ta -> d -> b -> c\n"}
    c, a = lines["c"], lines["a"]
    assert run(capsys, file, "--from", "a", "--targets", names) == c + a + c
    assert run(capsys, file, "--from", "a", "--targets", names, "--limit", 5.5) == a
    near = run(capsys, file, "--from", "a", "--limit", 5)
    assert near == a + lines["b"] + "d\t2\ta -> d\n"
    assert run(capsys, file, "--from", "a", "--targets", write("none.txt", "")) == ""
    assert run(capsys, file, "--from", "a", "--to", "c", "--limit", 6) == ANSWER
    far = run(capsys, file, "--from", "a", "--to", "c", "--limit", 5)
    assert far == "no path from a to c\n"


def test_limits_where_edges_improve_paths(capsys, write):
    """The path within the limit passes a vertex beyond it."""
    file = write("graph.csv", "a,b,5\nb,c,-4\na,d,9\n")
    near = run(capsys, file, "--from", "a", "--limit", 2)
    assert near == "a\t0\ta\nc\t1\ta -> b -> c\n"
    far = run(capsys, file, "--from", "a", "--limit", 2, "--semiring", "maxplus")
    assert far == "b\t5\ta -> b\nd\t9\ta -> d\n"


def test_lines_of_targets_end_as_those_of_csv(capsys, write):
    """A label may have what Unicode calls the end of a line."""
    edges, some = write("e.csv", "a,b\x85c,1\n"), write("t.txt", "b\x85c\r\n\x0c\nnowhere\n")
    message = refused(capsys, edges, "--from", "a", "--targets", some)
    assert message.startswith(f"{some}:3: no vertex 'nowhere'")


@pytest.mark.parametrize(
    "ring, limit", [("minplus", 3), ("maxplus", 3), ("maxmin", 2), ("minmax", 2)]
)
def test_limits_of_all_pairs_and_tables(capsys, write, tmp_path, ring, limit):
    file, options = write("dag.csv", "a,b,1\na,c,5\nb,c,2\nc,d,2\n"), ["--semiring", ring]
    want = star_of(load(file, semirings.get(ring)), ring)
    add, zero = semirings.get(ring).add_ufunc, semirings.get(ring).zero("float64")
    want = np.where(add(want, limit) == want, want, zero)
    run(capsys, file, "--all-pairs", tmp_path / "all.npz", "--limit", limit, *options)
    np.testing.assert_array_equal(np.load(tmp_path / "all.npz")["distances"], want)
    out = tmp_path / "out.npy"
    run(capsys, file, "--table", "all", "all", out, "--limit", limit, *options)
    np.testing.assert_array_equal(np.load(out), want)


def test_targets_and_limits_that_are_refused(capsys, write):
    file, names = write("roads.csv", ROADS), write("names.txt", "albert\n")
    asked = file, "--from", "a"
    assert refused(capsys, *asked, "--targets", names).startswith(f"{names}:1: no vertex 'albert'")
    alone = "--targets: expected with --from, and without --to"
    assert refused(capsys, *asked, "--to", "b", "--targets", names) == alone
    assert refused(capsys, file, "--all-pairs", "out.npz", "--targets", names) == alone
    assert refused(capsys, *asked, "--limit", -1) == "--limit: expected 0 or more, got -1"
    assert refused(capsys, *asked, "--limit", "nan") == "--limit: expected 0 or more, got nan"
    maxmin = "--semiring", "maxmin"
    said = refused(capsys, *asked, "--limit", "nan", *maxmin)
    assert said == "--limit: expected a number, got nan"
    assert run(capsys, *asked, "--limit", -1, *maxmin) == run(capsys, *asked, *maxmin)


def town(k):
    """A CSV of the streets of k * k corners, whose lengths round when they are added up."""
    corners = np.arange(k * k).reshape(k, k)
    ends = np.append(corners[:-1], corners[:, :-1]), np.append(corners[1:], corners[:, 1:])
    lengths = np.random.default_rng(0).random(len(ends[0]))
    return "".join(f"c{i},c{j},{w}\n" for i, j, w in zip(*ends, lengths, strict=True))


def content_of(out):
    """The bytes of a file, or of the files of a folder, by their names.

    A killed process leaves temporary files, of Zarr or with a dot before the name, which nobody
    reads.
    """
    files = [out] if out.is_file() else (path for path in out.rglob("*") if path.is_file())
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in files
        if path.suffix not in (".partial", ".tmp")
    }


def written(out):
    """The number of blocks that are noted as written."""
    found = rows_state.read(out.with_name(f"{out.name}.rows.json"))
    return 0 if found is None else sum(known is not None for known in found.sums)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ALL_PAIRS)
def test_killed_and_resumed(write, tmp_path, suffix):
    """Killed three times, each time after some blocks more; no file of the result differs."""
    pytest.importorskip(ALL_PAIRS[suffix])
    file = write("town.csv", town(40))
    memory = stores.overhead_of(Path(f"out.{suffix}")) + 2 * 8 * 1600 * 8  # two blocks of 8 rows

    def begin(out):
        paths = "-m", "tropical", "paths", str(file), "--undirected", "--all-pairs", str(out)
        return subprocess.Popen((sys.executable, *paths, "--memory", str(memory), "--resume"))

    out, want, done = tmp_path / f"out.{suffix}", tmp_path / f"want.{suffix}", 0
    rng = np.random.default_rng(0)
    for _ in range(3):
        with begin(out) as process:
            while (blocks := written(out)) <= done + 10 and process.poll() is None:
                time.sleep(0.002)
            time.sleep(rng.random() * 0.01)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL and blocks < 200
        done = written(out)
        assert done >= blocks  # what was written stays
    for place in (out, want):
        with begin(place) as process:
            assert process.wait() == 0
        assert written(place) == 200
    assert content_of(out) == content_of(want)
