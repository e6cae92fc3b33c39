// BitGraph and Components: transitive closures of graphs on packed bits.
#include "graph/closure/reach.hpp"

#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "graph/closure/components.hpp"

namespace tropical {
namespace {

void check_square(const py::array& a) {
    if (a.ndim() != 2 || a.shape(0) != a.shape(1))
        throw py::value_error("a: expected shape (n, n), got " + shape_text(a));
    if (a.dtype().kind() != 'b')
        throw py::value_error("a: expected dtype bool, got " + std::string(py::str(a.dtype())));
}

template <class Graph>
std::unique_ptr<Graph> read_edges(const py::array& a) {
    check_square(a);
    const ConstView edges = matrix_view<ConstView>(a);
    const Choice choice = choose({}, 0);
    std::unique_ptr<Graph> graph;
    without_gil(
        [&] { graph = std::make_unique<Graph>(edges, a.shape(0), *choice.isa, choice.threads); });
    return graph;
}

void pass(BitGraph& graph, ptrdiff_t strip) {
    if (strip < 0 || strip >= graph.strips())
        throw py::index_error("strip: expected 0 to " + std::to_string(graph.strips() - 1) +
                              ", got " + std::to_string(strip));
    without_gil([&] { graph.pass(strip); });
}

void search_rows(Components& graph, ptrdiff_t rows) {
    without_gil([&] { graph.advance(rows); });
}

template <class Graph>
void store(Graph& graph, const py::array& a) {
    check_square(a);
    if (a.shape(0) != graph.size())
        throw py::value_error("a: expected shape (n, n) with the graph's n = " +
                              std::to_string(graph.size()) + ", got " + shape_text(a));
    check_writeable(a, "a");
    const View target = matrix_view(a);
    without_gil([&] { graph.store(target); });
}

void store_components(Components& graph, const py::array& a) {
    if (graph.left())
        throw py::value_error("store: expected no vertex left, got " +
                              std::to_string(graph.left()));
    store(graph, a);
}

constexpr const char* bit_graph_text =
    R"(A graph with one bit for each pair of vertices, made from an (n, n) array of bool.

At first a bit says that there is an edge. ``pass_(strip)`` adds the paths through the vertices of one
of the `strips`. ``store(a)`` writes the bits to an (n, n) array of bool; after every strip has been
passed, they are the transitive closure. Only one thread at a time may use a BitGraph.)";

constexpr const char* components_text =
    R"(The strongly connected components of a graph, made from an (n, n) array of bool.

``advance(rows)`` searches on, until it has read about so many more rows of bits or no vertex is left.
`left` is the number of vertices whose component is not closed yet, and `rows` the number of rows read
so far. When `rows` reaches `most_rows`, a BitGraph would be done already. ``store(a)`` writes the
transitive closure to an (n, n) array of bool, once no vertex is left. Only one thread at a time may
use a Components.)";

}  // namespace

void bind_reach(py::module_& module) {
    py::class_<BitGraph>(module, "BitGraph", bit_graph_text, py::is_final(),
                         constructed_by_new<BitGraph>())
        .def(py::init(&read_edges<BitGraph>), py::arg("a").noconvert())
        .def_property_readonly("strips", &BitGraph::strips)
        .def("pass_", &pass, py::arg("strip"))
        .def("store", &store<BitGraph>, py::arg("a").noconvert());
    py::class_<Components>(module, "Components", components_text, py::is_final(),
                           constructed_by_new<Components>())
        .def(py::init(&read_edges<Components>), py::arg("a").noconvert())
        .def_property_readonly("left", &Components::left)
        .def_property_readonly("rows", &Components::rows)
        .def_property_readonly("most_rows", &Components::most_rows)
        .def("advance", &search_rows, py::arg("rows"))
        .def("store", &store_components, py::arg("a").noconvert());
}

}  // namespace tropical
