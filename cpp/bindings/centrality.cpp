// Centrality: betweenness of vertices and arcs.
#include <pybind11/stl.h>

#include <limits>

#include "bindings/call.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/ranges.hpp"
#include "bindings/shapes.hpp"
#include "graph/centrality/betweenness.hpp"

namespace tropical {
namespace {

using Doubles = py::array_t<double, py::array::c_style>;
using Vertices = Converted<std::int32_t>;
using Starts = Converted<ptrdiff_t>;

void check_size(const py::array& x, const char* name, py::ssize_t size) {
    if (x.ndim() != 1 || x.size() != size)
        throw py::value_error(std::string(name) + ": expected shape (" + std::to_string(size) +
                              ",), got " + shape_text(x));
}

void check_starts(const Starts& start, py::ssize_t arcs) {
    bool rises = start.ndim() == 1 && start.size() > 0 && start.data()[0] == 0 &&
                 start.data()[start.size() - 1] == arcs;
    for (py::ssize_t v = 1; rises && v < start.size(); ++v)
        rises = start.data()[v - 1] <= start.data()[v];
    if (!rises)
        throw py::value_error("start: expected numbers that rise from 0 to " +
                              std::to_string(arcs));
}

void betweenness(const Starts& start, const Vertices& target, const std::optional<Doubles>& weight,
                 const Vertices& sources, bool endpoints, Doubles vertices,
                 std::optional<Doubles> arcs) {
    check_size(target, "target", target.size());
    const py::ssize_t n = start.size() - 1;
    check_vertex_count(n, "start");
    check_starts(start, target.size());
    if (target.size() > std::numeric_limits<std::int32_t>::max())
        throw py::value_error("graph: expected fewer than 2**31 edges, got " +
                              std::to_string(target.size()));
    check_vertices(target, "target", n);
    check_size(sources, "sources", sources.size());
    check_vertices(sources, "sources", n);
    if (weight) check_size(*weight, "weight", target.size());
    check_size(vertices, "vertices", n);
    if (arcs) check_size(*arcs, "arcs", target.size());
    const WeightedArcs graph{.n = static_cast<std::int32_t>(n),
                             .start = start.data(),
                             .target = target.data(),
                             .weight = weight ? weight->data() : nullptr};
    const Betweenness wanted{.sources = sources.data(),
                             .count = sources.size(),
                             .endpoints = endpoints,
                             .vertices = vertices.mutable_data(),
                             .arcs = arcs ? arcs->mutable_data() : nullptr};
    const Choice choice = choose({}, 0);
    const StopRequested stop = stop_requested_by_signal();
    without_gil([&] { add_betweenness(graph, wanted, choice.threads, stop); });
}

}  // namespace

void bind_centrality(py::module_& module) {
    module.def(
        "betweenness", &betweenness, py::arg("start"), py::arg("target"),
        py::arg("weight").noconvert(), py::arg("sources"), py::arg("endpoints"),
        py::arg("vertices").noconvert(), py::arg("arcs").noconvert(),
        R"(Adds the betweenness of vertices, (n,), and of arcs, (m,) or None, over some sources.

The arcs of vertex v, ``start[v]`` to ``start[v + 1] - 1``, have their `target` and a `weight` above
0; None stands for weights of 1. See `tropical.graph.betweenness`.)");
}

}  // namespace tropical
