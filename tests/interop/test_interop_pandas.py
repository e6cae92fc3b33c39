"""Labelled frames: against dictionaries by label, and against the functions on arrays."""

import itertools
import math

import numpy as np
import pytest
from support import check_refused

import tropical
from tropical import graph, semirings

pd = pytest.importorskip("pandas", reason="the frames are pandas'")
frames = pytest.importorskip("tropical.interop.pandas")
numbers_of = pytest.importorskip("tropical.interop.pandas.labels").numbers_of

LABELS = [
    list("dbca"),
    [3, 1, 0, 2],
    [("x", 1), ("x", 0), ("y", 1), ("z", 2)],
    list(pd.to_datetime(["2024-03-01", "2023-01-01", "2025-07-07", "2022-02-02"])),
]
EDGES = [(0, 1, 7.0), (0, 3, 2.0), (3, 1, 3.0), (1, 2, 1.0), (2, 1, -0.5), (0, 1, 9.0)]


def edge_list(labels, edges=EDGES):
    return pd.DataFrame(
        [(labels[i], labels[j], weight) for i, j, weight in edges],
        columns=["source", "target", "weight"],
    )


def lengths_by_label(labels, edges, directed=True):
    far = dict.fromkeys(itertools.product(labels, labels), math.inf) | {(x, x): 0 for x in labels}
    for i, j, weight in edges:
        for pair in [(labels[i], labels[j])] + [(labels[j], labels[i])] * (not directed):
            far[pair] = min(far[pair], weight)
    for k, i, j in itertools.product(labels, labels, labels):
        far[i, j] = min(far[i, j], far[i, k] + far[k, j])
    return far


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: type(labels[0]).__name__)
@pytest.mark.parametrize("directed", [True, False])
def test_shortest_paths_of_an_edge_list(labels, directed):
    edges = EDGES if directed else [(i, j, abs(weight)) for i, j, weight in EDGES]
    matrix = frames.from_edges(edge_list(labels, edges), directed=directed)
    lengths, before = frames.shortest_paths(matrix, return_predecessors=True)
    assert list(lengths.index) == list(lengths.columns) == sorted(labels)
    want = lengths_by_label(labels, edges, directed)
    for (i, j), length in want.items():
        row, column = (list(lengths.index).index(x) for x in (i, j))
        assert lengths.iloc[row, column] == length
        path = frames.path(before, i, j)
        assert bool(path) == (length < math.inf)
        if path:
            assert (path[0], path[-1]) == (i, j)
            assert sum(matrix.at[u, v] for u, v in itertools.pairwise(path)) == length


def test_sources_are_labels_in_their_order():
    matrix = frames.from_edges(edge_list(list("dbca")))
    all_lengths, all_before = frames.shortest_paths(matrix, return_predecessors=True)
    lengths, before = frames.shortest_paths(matrix, return_predecessors=True, sources=["d", "a"])
    pd.testing.assert_frame_equal(lengths, all_lengths.loc[["d", "a"]])
    pd.testing.assert_frame_equal(before, all_before.loc[["d", "a"]])
    assert frames.path(before, "d", "c") == frames.path(all_before, "d", "c") == list("dabc")
    with pytest.raises(KeyError, match="sources: expected labels of w, got 'z'"):
        frames.shortest_paths(matrix, sources=["d", "z", "y"])
    with pytest.raises(KeyError, match="'c'"):
        frames.path(before, "c", "d")


def test_a_source_twice():
    matrix = frames.from_edges(edge_list(list("dbca")))
    lengths, before = frames.shortest_paths(matrix, return_predecessors=True, sources=iter("da"))
    _, twice = frames.shortest_paths(matrix, return_predecessors=True, sources=["d", "a", "d"])
    assert list(lengths.index) == ["d", "a"]
    assert frames.path(twice, "d", "b") == frames.path(before, "d", "b") == ["d", "a", "b"]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: type(labels[0]).__name__)
def test_labels_stay_what_they_are(labels):
    """Where pandas would make strings and dates of a column, and NaN of None."""
    index = pd.CategoricalIndex(labels) if labels[0] == "d" else pd.Index(labels)
    chain = pd.DataFrame(np.where(np.eye(4, k=1) > 0, 1.0, np.inf), index, index)
    _, before = frames.shortest_paths(chain, return_predecessors=True)
    assert set(before.dtypes) == {np.dtype(object)}
    assert before.iloc[0].tolist() == [None, *labels[:3]]
    assert before.iloc[:, 3].tolist() == [*[labels[2]] * 3, None]
    _, through = frames.gemm(chain, chain, semiring="minplus", return_argmax=True)
    assert through.iloc[0, 2] == labels[1] and through.iloc[3, 0] is None
    assert set(through.dtypes) == {np.dtype(object)}


def test_rows_and_columns_are_matched_by_label():
    rng = np.random.default_rng(0)
    a = pd.DataFrame(rng.random((5, 5)), list("edcba"), list("edcba"))
    turned = a[list("badce")]
    pd.testing.assert_frame_equal(frames.closure(turned), frames.closure(a))
    pd.testing.assert_frame_equal(frames.shortest_paths(turned), frames.shortest_paths(a))
    np.testing.assert_array_equal(frames.closure(turned), graph.closure(a.to_numpy()))
    b = pd.DataFrame(rng.random((5, 2)), list("edcba"), ["u", "v"])
    pd.testing.assert_frame_equal(frames.gemm(a, b.loc[list("abcde")]), frames.gemm(a, b))


@pytest.mark.parametrize("ring", semirings.ALL, ids=lambda ring: ring.name)
def test_products_are_those_of_the_arrays(ring):
    rng = np.random.default_rng(1)
    for dtype in ring.dtypes:
        a, b = rng.integers(0, 2, (3, 4)).astype(dtype), rng.integers(0, 2, (4, 5)).astype(dtype)
        left = pd.DataFrame(a, list("xyz"), range(10, 14))
        right = pd.DataFrame(b, range(10, 14), list("vwxyz"))
        got = frames.gemm(left, right, semiring=ring)
        want = pd.DataFrame(tropical.gemm(a, b, semiring=ring), list("xyz"), list("vwxyz"))
        pd.testing.assert_frame_equal(got, want)
        if ring.selective:
            got, through = frames.gemm(left, right, semiring=ring, return_argmax=True)
            pd.testing.assert_frame_equal(got, want)
            _, index = tropical.gemm(a, b, semiring=ring, return_argmax=True)
            there = want.to_numpy() != ring.zero(dtype)
            np.testing.assert_array_equal(through.to_numpy()[there], index[there] + 10)
            assert set(through.to_numpy()[~there]) <= {None}


def test_argmax_without_terms_is_none():
    empty = pd.DataFrame(np.zeros((2, 0)), list("ab"))
    _, through = frames.gemm(empty, pd.DataFrame(np.zeros((0, 1))), return_argmax=True)
    assert through.to_numpy().tolist() == [[None], [None]]


def test_what_is_missing_is_no_edge():
    nan, inf = math.nan, math.inf
    labels = list("ab")
    for hole in (
        pd.DataFrame([[nan, 2.0], [3.0, nan]], labels, labels),
        pd.DataFrame([[nan, 2.0], [3.0, nan]], labels, labels).astype("Int64"),
    ):
        full = pd.DataFrame([[inf, 2.0], [3.0, inf]], labels, labels)
        pd.testing.assert_frame_equal(frames.closure(hole), frames.closure(full))
        pd.testing.assert_frame_equal(frames.shortest_paths(hole), frames.shortest_paths(full))
        want = frames.gemm(full, full, semiring="minplus")
        pd.testing.assert_frame_equal(frames.gemm(hole, hole, semiring="minplus"), want)
    there = pd.DataFrame([[None, True], [False, None]], labels, labels, dtype="boolean")
    assert frames.closure(there, "orand").to_numpy().tolist() == [[True, True], [False, True]]
    assert frames.shortest_paths(there).to_numpy().tolist() == [[0, 1], [math.inf, 0]]


@pytest.mark.parametrize(
    "source, target", [("uint64", "int64"), ("int64", "float64"), ("Int64", "Float64")]
)
def test_ends_that_are_one_number_in_the_dtype_of_both_columns(source, target):
    edges = pd.DataFrame({"source": [2**53 + 1, 2**53], "target": [1, 2], "weight": [1.0, 2.0]})
    assert len(frames.from_edges(edges)) == 4
    small = edges.assign(source=[2**53, 2**53 - 1])
    kinds = {"source": source, "target": target}
    assert len(frames.from_edges(small.astype(kinds))) == 4
    mixed = edges.astype(kinds)
    for given in (mixed, mixed.rename(columns={"source": "target", "target": "source"})):
        for function in (frames.from_edges, frames.factorize):
            with pytest.raises(ValueError, match=r"^edges: expected ends of one dtype, as float64"):
                function(given)


@pytest.mark.parametrize("kind", ["Int64", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_missing_values_of_extension_types(kind):
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow", reason="another dtype of pandas")
    ways = pd.DataFrame({"x": [1, None], "y": [2, 3]}, ["x", "y"]).astype("Int64").astype(kind)
    product = frames.gemm(ways, ways, semiring="minplus")
    assert product.to_numpy().tolist() == [[2, 3], [np.inf, 6]]


def test_columns_of_several_integers():
    """int8's greatest value is no edge, also in the common dtype of the columns."""
    frame = pd.DataFrame({"a": np.int8([127, 3]), "b": [5, 127]}, index=["a", "b"])
    values = numbers_of("w", frame, semirings.minplus)
    assert values.tolist() == [[np.iinfo(np.int64).max, 5], [3, 127]]
    holes = frame.astype({"a": "Int8"}).set_axis(["a", "c"]).reindex(["a", "b"])
    assert numbers_of("w", holes, semirings.minplus).tolist() == [[math.inf, 5], [math.inf] * 2]


def test_dtypes_are_kept():
    for dtype in ("float32", "int16", "int64", "Int32", "Float32"):
        got = frames.closure(pd.DataFrame([[0, 2], [3, 0]]).astype(dtype))
        assert set(map(str, got.dtypes)) == {dtype.lower()}
    mixed = pd.DataFrame({"a": [0, 2], "b": [0.5, 0.0]}, ["a", "b"])
    assert frames.closure(mixed).at["a", "b"] == 0.5
    edges = edge_list("abcd").astype({"weight": "float32"})
    assert set(frames.from_edges(edges).dtypes) == {np.dtype("float32")}


def test_edges_of_other_semirings():
    edges = edge_list("abcd")
    assert frames.from_edges(edges, semiring="maxplus").at["a", "b"] == 9
    assert frames.from_edges(edges, semiring="plustimes").at["a", "b"] == 16
    assert frames.from_edges(edges, weight=None).at["a", "b"] == 0
    there = frames.from_edges(edges, weight=None, semiring="orand")
    assert there.to_numpy().sum() == 5 and set(there.dtypes) == {np.dtype(bool)}
    assert frames.closure(there, "orand").loc["a"].tolist() == [True] * 4
    hours = edge_list("abcd").rename(columns={"source": 0, "target": 1, "weight": "h"})
    pd.testing.assert_frame_equal(frames.from_edges(hours, 0, 1, "h"), frames.from_edges(edges))
    whole = edges.assign(weight=[1, 2, 3, 4, 5, 6])
    assert frames.from_edges(whole).at["a", "c"] == math.inf


@pytest.mark.parametrize("ring", ["plustimes", "minplus"])
def test_an_undirected_loop_counts_once(ring):
    loop = edge_list("ab", [(0, 0, 3.0), (0, 1, 1.0)])
    got = frames.from_edges(loop, semiring=ring, directed=False)
    assert (got.at["a", "a"], got.at["a", "b"], got.at["b", "a"]) == (3, 1, 1)


def test_sparse_frames():
    dense = pd.DataFrame([[0.0, 2.0], [3.0, 0.0]])
    sparse = dense.astype(pd.SparseDtype("float64", 0))
    pd.testing.assert_frame_equal(frames.closure(sparse), frames.closure(dense))


def test_empty_frames():
    assert frames.from_edges(edge_list("", []).astype({"weight": float})).shape == (0, 0)
    assert frames.closure(pd.DataFrame()).shape == (0, 0)
    assert frames.shortest_paths(pd.DataFrame()).shape == (0, 0)


def test_a_negative_cycle_has_labels():
    matrix = frames.from_edges(edge_list("abcd", [(0, 1, 1.0), (1, 2, -3.0), (2, 1, 1.0)]))
    with pytest.raises(graph.NegativeCycleError, match=r"w: .* -2: . -> . -> .") as caught:
        frames.shortest_paths(matrix)
    assert (sorted(caught.value.cycle), caught.value.weight) == (["b", "c"], -2)
    with pytest.raises(graph.DivergenceError):
        frames.closure(matrix)


def test_errors_name_the_labels():
    square = pd.DataFrame(np.ones((2, 2)), list("ab"), list("ab"))
    differ = "only the columns of a have 'b', only the rows of b"
    text = r"b: column 'b': expected numbers, got dtype"
    rows = "only the rows of a have 'c', only the columns of a have 'b'"
    many = "only the rows of a have 0, 1, 2 and 6 more"
    check_refused(
        frames.closure,
        (ValueError, rows, square.rename({"b": "c"})),
        (ValueError, "only the rows of a have 'b'$", square[["a"]]),
        (ValueError, "the columns of a have a label twice: 'b'", square[["a", "b", "b"]]),
        (ValueError, "the rows of a have a label twice: 'a'", square.iloc[[0, 1, 0]]),
        (ValueError, many, pd.DataFrame(np.zeros((9, 0)))),
        (TypeError, "a: expected a pandas DataFrame, got list", [[0.0]]),
        (TypeError, "got polars.DataFrame", type("DataFrame", (), {"__module__": "polars"})()),
        (TypeError, "complex128", square.astype(complex)),
        (ValueError, "semiring", square, "nonsense"),
    )
    check_refused(
        frames.gemm,
        (ValueError, differ, square, square.rename({"b": "c"})),
        (TypeError, text, square, square.assign(b=["x", "y"])),
    )
    edges, lacking = edge_list("abcd"), edge_list("abcd")
    lacking.loc[3, "target"] = None
    twice = {name: pd.concat([edges, edges[[name]]], axis=1) for name in ("weight", "source")}
    check_refused(
        frames.from_edges,
        (ValueError, "edges: expected 'source' and 'target' in row 3", lacking),
        (KeyError, "edges: expected one column .km., got none", edges, "source", "target", "km"),
        *((ValueError, f"one column '{name}', got 2", frame) for name, frame in twice.items()),
        (TypeError, "edges: expected ends that can be sorted", edge_list([0, "a", (0, 1), 2])),
    )
    for sources in ("ab", 0):
        with pytest.raises(TypeError, match="sources: expected a list of labels"):
            frames.shortest_paths(square, sources=sources)
    _, before = frames.shortest_paths(square, return_predecessors=True)
    with pytest.raises(KeyError, match="source: expected a row of predecessors, got 'z'"):
        frames.path(before, "z", "a")
    with pytest.raises(KeyError, match="target: expected a column of predecessors, got 'z'"):
        frames.path(before, "a", "z")
    for labels in (["a", None], [0.5, math.nan], [("a", 1), ("b", None)]):
        index = pd.Index(labels)
        with pytest.raises(ValueError, match="the rows of w have a missing label"):
            frames.shortest_paths(pd.DataFrame(np.zeros((2, 2)), index, index))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("labels", LABELS)
def test_factors_have_labels(labels, directed):
    edges = [edge for edge in EDGES if directed or edge[2] > 0]
    want = lengths_by_label(labels, edges, directed)
    found = frames.factorize(edge_list(labels, edges), directed=directed)
    table = found.lengths()
    assert sorted(table.index.tolist()) == sorted(labels)
    for i, j in itertools.product(labels, labels):
        part = found.lengths([i], [j, i])
        assert part.index.tolist() == [i] and part.columns.tolist() == [j, i]
        assert (
            part.iloc[0, 0]
            == want[i, j]
            == table.iloc[table.index.tolist().index(i), table.columns.tolist().index(j)]
        )
    series = found.series(np.arange(4))
    assert series.index.equals(found.labels) and series.tolist() == [0, 1, 2, 3]
    assert "4 vertices" in repr(found)


def test_factors_of_other_semirings():
    edges = edge_list("abcd", [(0, 1, 5.0), (1, 2, 3.0), (0, 2, math.nan)])
    assert frames.factorize(edges, semiring="maxmin").lengths(["a"]).iloc[0].tolist() == [
        *(math.inf, 5, 3)
    ]
    reach = frames.factorize(edges.assign(weight=[True, False, True]), semiring="orand")
    assert reach.lengths(["a"]).iloc[0].tolist() == [True, True, True]
    assert frames.factorize(edges, weight=None).lengths(["a"], ["c"]).iloc[0, 0] == 0


def test_factors_refuse():
    found = frames.factorize(edge_list("abcd"))
    for call, error in (
        (lambda: found.lengths(["e"]), KeyError),
        (lambda: found.lengths(None, "a"), TypeError),
        (lambda: found.series([1, 2]), ValueError),
        (lambda: frames.factorize(edge_list("abcd"), semiring="plustimes"), ValueError),
        (lambda: frames.factorize([1, 2]), TypeError),
    ):
        with pytest.raises(error):
            call()
    with pytest.raises(graph.NegativeCycleError, match=r"^edges: have a cycle of weight -1: ") as e:
        frames.factorize(edge_list("ab", [(0, 1, -2.0), (1, 0, 1.0)]))
    assert sorted(e.value.cycle) == ["a", "b"]


def test_the_greatest_integer_is_no_edge():
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 0], "weight": [np.iinfo("i8").max, 3]})
    assert frames.from_edges(edges).to_numpy().tolist() == [[math.inf, math.inf], [3, math.inf]]
