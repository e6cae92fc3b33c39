#include "reach.hpp"

#include <memory>

#include "../components.hpp"
#include "../reach.hpp"
#include "arrays.hpp"
#include "gil.hpp"

namespace tropical {
namespace {

View square_of(const py::array& a) {
    if (a.ndim() != 2 || a.shape(0) != a.shape(1) || a.dtype().kind() != 'b')
        throw py::value_error("a: has shape " + shape_text(a) + " and dtype " +
                              std::string(py::str(a.dtype())) + ", (n, n) of bool is wanted");
    return {static_cast<char*>(const_cast<void*>(a.data())), a.strides(0), a.strides(1)};
}

template <class Graph>
std::unique_ptr<Graph> read(const py::array& a) {
    const View edges = square_of(a);
    const Choice choice = choose({}, 0);
    std::unique_ptr<Graph> graph;
    without_gil([&] {
        graph = std::make_unique<Graph>(ConstView{edges.data, edges.row_stride, edges.col_stride},
                                        a.shape(0), *choice.isa, choice.threads);
    });
    return graph;
}

void pass(BitGraph& graph, ptrdiff_t strip) {
    if (strip < 0 || strip >= graph.strips())
        throw py::index_error("strip: " + std::to_string(strip) + " is none of the " +
                              std::to_string(graph.strips()));
    without_gil([&] { graph.pass(strip); });
}

void advance(Components& graph, ptrdiff_t rows) {
    without_gil([&] { graph.advance(rows); });
}

template <class Graph>
void store(Graph& graph, const py::array& a) {
    const View target = square_of(a);
    if (a.shape(0) != graph.size())
        throw py::value_error("a: has shape " + shape_text(a) + ", the graph has " +
                              std::to_string(graph.size()) + " vertices");
    if (!a.writeable()) throw py::value_error("a: is read-only");
    without_gil([&] { graph.store(target); });
}

}  // namespace

void bind_reach(py::module_& module) {
    py::class_<BitGraph>(module, "BitGraph",
                         R"(The edges of a graph, a bit each: those of an (n, n) array of bool.

`strips` says how many strips of vertices there are; ``pass_(strip)`` adds the paths through those of
one, and ``store(a)`` writes what is known to an array. One thread at a time.)")
        .def(py::init(&read<BitGraph>), py::arg("a").noconvert())
        .def_property_readonly("strips", &BitGraph::strips)
        .def("pass_", &pass, py::arg("strip"))
        .def("store", &store<BitGraph>, py::arg("a").noconvert());
    py::class_<Components>(module, "Components",
                           R"(The strong components of a graph, that of an (n, n) array of bool.

`left` says how many vertices there are of which it is not known yet what they reach, and `rows` how
many rows of bits were looked at; after `most_rows` a BitGraph would be done. ``advance(rows)`` goes
on until so many more have been, or none is left; ``store(a)`` then writes to an array where there is
a path. One thread at a time.)")
        .def(py::init(&read<Components>), py::arg("a").noconvert())
        .def_property_readonly("left", &Components::left)
        .def_property_readonly("rows", &Components::rows)
        .def_property_readonly("most_rows", &Components::most_rows)
        .def("advance", &advance, py::arg("rows"))
        .def(
            "store",
            [](Components& graph, const py::array& a) {
                if (graph.left())
                    throw py::value_error(std::to_string(graph.left()) + " vertices are left");
                store(graph, a);
            },
            py::arg("a").noconvert());
}

}  // namespace tropical
