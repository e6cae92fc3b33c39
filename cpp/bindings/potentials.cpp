// Potentials: shortest distances in a sparse graph with negative weights.
#include "graph/closure/potentials.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/ranges.hpp"
#include "bindings/shapes.hpp"

namespace tropical {
namespace {

template <class T>
std::vector<T> values_of(const py::array& array, const char* name) {
    if (array.ndim() != 1 || !array.dtype().equal(py::dtype::of<T>()))
        throw py::value_error(std::string(name) + ": expected shape (n,) and dtype " +
                              std::string(py::str(py::dtype::of<T>())) + ", got " +
                              shape_text(array) + " and " + std::string(py::str(array.dtype())));
    const auto elements = py::array_t<T>(array).template unchecked<1>();
    std::vector<T> values(static_cast<std::size_t>(elements.shape(0)));
    for (py::ssize_t i = 0; i < elements.shape(0); ++i) values.data()[i] = elements(i);
    return values;
}

std::unique_ptr<Potentials> read_arcs(const py::array& start, const py::array& target,
                                      const py::array& weight, const py::array& sources) {
    std::vector<ptrdiff_t> starts = values_of<ptrdiff_t>(start, "start");
    std::vector<ptrdiff_t> targets = values_of<ptrdiff_t>(target, "target");
    std::vector<double> weights = values_of<double>(weight, "weight");
    const std::vector<ptrdiff_t> first = values_of<ptrdiff_t>(sources, "sources");
    const ptrdiff_t n = static_cast<ptrdiff_t>(starts.size()) - 1;
    if (targets.size() != weights.size())
        throw py::value_error("weight: expected shape " + shape_text(target) +
                              ", that of target, got " + shape_text(weight));
    if (n < 0 || starts.front() != 0 || starts.back() != static_cast<ptrdiff_t>(targets.size()) ||
        !std::is_sorted(starts.begin(), starts.end()))
        throw py::value_error("start: expected numbers that rise from 0 to " +
                              std::to_string(targets.size()));
    check_vertices(targets, "target", n);
    check_vertices(first, "sources", n);
    std::unique_ptr<Potentials> made;
    without_gil([&] {
        made = std::make_unique<Potentials>(
            ArcColumns{Column(std::move(starts)), Column(std::move(targets)),
                       Column(std::move(weights))},
            first);
    });
    return made;
}

void scan_arcs(Potentials& search, ptrdiff_t arcs) {
    without_gil([&] { search.advance(arcs); });
}

py::list cycle(const Potentials& search) {
    py::list vertices;
    for (const ptrdiff_t vertex : search.cycle()) vertices.append(vertex);
    return vertices;
}

py::array_t<double> values(const Potentials& search) {
    py::array_t<double> h(search.size());
    for (ptrdiff_t i = 0; i < search.size(); ++i) h.mutable_data()[i] = search[i];
    return h;
}

constexpr const char* potentials_text =
    R"(Potentials of a sparse graph by Bellman and Ford's method, or a cycle of negative weight.

The arcs of vertex i are those from ``start[i]`` to ``start[i + 1] - 1``, with their `target` and
`weight` (float64; the others are intp). Only what `sources` reach counts. ``advance(arcs)`` looks at
about so many more arcs, until `done`, or until there is a `cycle` whose weight is negative or too
close to 0 to be sure; the next call goes on without this cycle. `values` are the potentials, (n,).
Only one thread at a time may use a Potentials.)";

}  // namespace

void bind_potentials(py::module_& module) {
    py::class_<Potentials>(module, "Potentials", potentials_text, py::is_final(),
                           constructed_by_new<Potentials>())
        .def(py::init(&read_arcs), py::arg("start").noconvert(), py::arg("target").noconvert(),
             py::arg("weight").noconvert(), py::arg("sources").noconvert())
        .def_property_readonly("done", &Potentials::done)
        .def_property_readonly("cycle", &cycle)
        .def_property_readonly("values", &values)
        .def("advance", &scan_arcs, py::arg("arcs"));
}

}  // namespace tropical
