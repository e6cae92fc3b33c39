// Elimination: a graph whose vertices are eliminated in a good order; its factor over a semiring,
// and rows of its star.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/ranges.hpp"
#include "graph/elimination/path.hpp"
#include "graph/elimination/predecessors.hpp"
#include "graph/elimination/update.hpp"
#include "runtime/lazy.hpp"

namespace tropical {
namespace {

using Vertices = Converted<Vertex>;
using Doubles = Converted<double>;
using Positions = Converted<ptrdiff_t>;

void check_list(const Vertices& vertices, const char* name, py::ssize_t n) {
    if (vertices.ndim() != 1)
        throw py::value_error(std::string(name) + ": expected one axis, got shape " +
                              shape_text(vertices));
    check_vertices(vertices, name, n);
}

Array<Vertex> copied(const Vertices& vertices) {
    return {vertices.data(), vertices.data() + vertices.size()};
}

Fold fold_named(const std::string& name) {
    if (name == "lengths") return Fold::lengths;
    if (name == "reciprocals") return Fold::reciprocals;
    if (name == "within") return Fold::within;
    throw py::value_error("kind: expected lengths, reciprocals or within, got " + name);
}

class Elimination {
  public:
    Elimination(Vertex n, const Vertices& source, const Vertices& target,
                const std::optional<Vertices>& order, ptrdiff_t most_entries,
                const std::optional<py::function>& report, ptrdiff_t most_steps, double operation) {
        if (n < 0) throw py::value_error("n: expected at least 0, got " + std::to_string(n));
        check_list(source, "source", n);
        check_list(target, "target", n);
        if (source.size() != target.size())
            throw py::value_error("target: expected as many vertices as source has, got " +
                                  std::to_string(target.size()));
        if (order) check_order(*order, n);
        const Array<Vertex> given = order ? copied(*order) : Array<Vertex>{};
        const auto reported = [&](double share) {
            if (report) with_gil([&] { (*report)(share); });
        };
        Stop stop(stop_requested_by_signal());
        without_gil([&] {
            const Neighbors graph =
                neighbors_of(n, source.size(), source.data(), target.data(), stop);
            structure_ = eliminate_vertices(
                graph,
                order ? given
                      : minimum_degree_order(graph, {most_entries, most_steps, operation}, stop,
                                             reported),
                most_entries, stop);
            edges_ = edges_in(structure_, source.size(), source.data(), target.data(), stop);
        });
    }

    const Structure& structure() const { return structure_; }
    const Edges& edges() const { return edges_; }

    // The vertex on a cycle that improves, or None.
    py::object eliminate(const py::array& weights, py::array up, py::array down,
                         const py::object& semiring, bool refuses) {
        const Factor factor = check_factor(up, down, semiring);
        check_entries(weights, "weights", edges_.entry.size(), up.dtype());
        const Choice choice = choose({}, 0);
        const StopRequested stop = stop_requested_by_signal();
        Vertex rank = -1;
        without_gil([&] {
            rank = eliminate_weights(factor, edges_, bytes_of(weights), refuses, *choice.isa,
                                     choice.threads, stop);
        });
        if (rank < 0) return py::none();
        return py::int_(structure_.order[rank]);
    }

    // The edges from sources[k] to targets[k], and how many there are, for each k.
    py::tuple edges_between(const Vertices& sources, const Vertices& targets, bool directed) {
        check_list(sources, "sources", structure_.size());
        check_list(targets, "targets", structure_.size());
        Array<ptrdiff_t> found, counts;
        without_gil([&] {
            const Arcs& arcs = arcs_of(directed);
            for (py::ssize_t k = 0; k < std::min(sources.size(), targets.size()); ++k) {
                const Vertex from = structure_.rank[sources.data()[k]],
                             to = structure_.rank[targets.data()[k]];
                const auto before = std::ssize(found);
                if (from == to) {  // loops are no arcs
                    const Array<ptrdiff_t>& all = loops();
                    auto e = std::lower_bound(
                        all.begin(), all.end(), from,
                        [&](ptrdiff_t loop, Vertex v) { return edges_.source[loop] < v; });
                    for (; e != all.end() && edges_.source[*e] == from; ++e) found.push_back(*e);
                } else {
                    const ArcRange range = arcs_between(structure_, arcs, from, to);
                    for (ptrdiff_t a = range.first; a < range.last; ++a)
                        found.push_back(arcs.edge[a]);
                }
                counts.push_back(std::ssize(found) - before);
            }
        });
        return py::make_tuple(array_of(found), array_of(counts));
    }

    // As `eliminate`, where only the weights of the edges `changed` changed.
    py::object update(py::array up, py::array down, const py::object& semiring,
                      const py::array& weights, const Positions& changed, const py::array& before,
                      bool refuses) {
        const Factor factor = check_factor(up, down, semiring);
        check_entries(weights, "weights", edges_.entry.size(), up.dtype());
        check_entries(before, "before", static_cast<std::size_t>(changed.size()), up.dtype());
        const Array<ptrdiff_t> edges(changed.data(), changed.data() + changed.size());
        for (const ptrdiff_t e : edges)
            if (e < 0 || e >= std::ssize(edges_.entry))
                throw py::value_error("changed: expected positions of edges, got " +
                                      std::to_string(e));
        const StopRequested stop = stop_requested_by_signal();
        Vertex rank = -1;
        without_gil([&] {
            rank = update_weights(factor, arcs_of(factor.directed()), edges_, bytes_of(weights),
                                  edges, bytes_of(before), refuses, stop);
        });
        if (rank < 0) return py::none();
        return py::int_(structure_.order[rank]);
    }

    py::array_t<Vertex> path(py::array up, py::array down, const py::object& semiring,
                             const py::array& weights, Vertex from, Vertex to) {
        const Factor factor = check_factor(up, down, semiring);
        check_entries(weights, "weights", edges_.entry.size(), up.dtype());
        for (const Vertex v : {from, to})
            if (v < 0 || v >= structure_.size())
                throw py::value_error("path: expected vertices, got " + std::to_string(v));
        const StopRequested stop = stop_requested_by_signal();
        Array<Vertex> vertices;
        without_gil([&] {
            vertices =
                best_path(factor, arcs_of(factor.directed()), bytes_of(weights), from, to, stop);
        });
        return array_of(vertices);
    }

    void rows(py::array up, py::array down, const py::object& semiring, const Vertices& sources,
              const std::optional<Vertices>& targets, py::array out) {
        const Factor factor = check_factor(up, down, semiring);
        check_list(sources, "sources", structure_.size());
        if (targets) check_list(*targets, "targets", structure_.size());
        const py::ssize_t columns = targets ? targets->size() : structure_.size();
        check_table(out, "out", sources.size(), columns, up.dtype());
        const Array<Vertex> from = copied(sources),
                            to = targets ? copied(*targets) : Array<Vertex>{};
        Rows wanted{.sources = from, .targets = targets ? &to : nullptr, .out = matrix_view(out)};
        const Choice choice = choose({}, 0);
        const StopRequested stop = stop_requested_by_signal();
        without_gil([&] {
            Workspace another;  // where another caller uses ours
            const Hold hold(in_use_);
            if (!targets) wanted.schedule = &schedule_of_all(stop);
            star_rows(factor, wanted, *choice.isa, choice.threads, hold ? workspace_ : another,
                      stop);
        });
    }

    // `rows` from all sources to all vertices, and the predecessors of each row.
    void trees(py::array up, py::array down, const py::object& semiring, const Vertices& sources,
               py::array lengths, const py::array& weights, py::array predecessors) {
        const Factor factor = check_factor(up, down, semiring);
        check_list(sources, "sources", structure_.size());
        check_table(lengths, "lengths", sources.size(), structure_.size(), up.dtype());
        check_entries(weights, "weights", edges_.entry.size(), up.dtype());
        check_table(predecessors, "predecessors", sources.size(), structure_.size(),
                    py::dtype::of<Vertex>());
        const Array<Vertex> from = copied(sources);
        const Choice choice = choose({}, 0);
        const StopRequested stop = stop_requested_by_signal();
        without_gil([&] {
            Workspace others[2];  // where another caller uses ours
            const Hold hold(in_use_);
            const Arcs& arcs = arcs_of(factor.directed());
            char* const arc_weights =
                (hold ? arc_weights_ : others[0]).grow(arcs.size() * item_size(factor.dtype));
            copy_arc_weights(arcs, bytes_of(weights), factor.dtype, arc_weights);
            const Predecessors wanted{arcs, arc_weights, matrix_view(predecessors)};
            star_rows(factor,
                      {.sources = from,
                       .targets = nullptr,
                       .out = matrix_view(lengths),
                       .predecessors = &wanted},
                      *choice.isa, choice.threads, hold ? workspace_ : others[1], stop);
        });
    }

    py::array_t<double> fold(py::array up, py::array down, const Vertices& sources,
                             const std::string& kind, const std::optional<Doubles>& weight,
                             const std::vector<double>& radii) {
        const Factor factor = check_factor(up, down, py::str("minplus"));
        check_list(sources, "sources", structure_.size());
        if (weight && (weight->ndim() != 1 || weight->size() != structure_.size()))
            throw py::value_error("weight: expected shape (" + std::to_string(structure_.size()) +
                                  ",), got " + shape_text(*weight));
        const Array<Vertex> from = copied(sources);
        Folds folds{.kind = fold_named(kind),
                    .sources = from,
                    .weight = weight ? weight->data() : nullptr,
                    .radii = {radii.begin(), radii.end()},
                    .out = nullptr};
        py::array_t<double> sums({folds.rows(), std::ssize(from)});
        folds.out = sums.mutable_data();
        const Choice choice = choose({}, 0);
        const StopRequested stop = stop_requested_by_signal();
        without_gil([&] {
            Workspace another;  // where another caller uses ours
            const Hold hold(in_use_);
            fold_star(factor, folds, *choice.isa, choice.threads, hold ? workspace_ : another,
                      stop);
        });
        return sums;
    }

  private:
    Structure structure_;
    Edges edges_;
    Workspace workspace_, arc_weights_;
    std::atomic_flag in_use_;
    Lazy<Arcs> arcs_[2];
    Lazy<Array<ptrdiff_t>> loops_;
    Lazy<Schedule> all_;  // of all vertices as targets

    const Arcs& arcs_of(bool directed) {
        return arcs_[directed].get([&] { return arcs_into(structure_, edges_, directed); });
    }

    // Edges, by their vertices and then in their order.
    const Array<ptrdiff_t>& loops() {
        return loops_.get([&] {
            Array<ptrdiff_t> found;
            for (ptrdiff_t e = 0; e < edges_.entry.length(); ++e)
                if (edges_.entry[e] < 0) found.push_back(e);
            std::stable_sort(found.begin(), found.end(), [&](ptrdiff_t e, ptrdiff_t other) {
                return edges_.source[e] < edges_.source[other];
            });
            return found;
        });
    }

    const Schedule& schedule_of_all(StopRequested stop_requested) {
        return all_.get([&] {
            Stop stop(stop_requested);
            return schedule_rows(structure_, nullptr, true, stop);
        });
    }

    static void check_table(const py::array& x, const char* name, py::ssize_t rows,
                            py::ssize_t columns, const py::dtype& dtype) {
        if (x.ndim() != 2 || x.shape(0) != rows || x.shape(1) != columns)
            throw py::value_error(std::string(name) + ": expected shape (" + std::to_string(rows) +
                                  ", " + std::to_string(columns) + "), got " + shape_text(x));
        check_dtype(x, name, dtype);
        check_writeable(x, name);
    }

    static void check_order(const Vertices& order, Vertex n) {
        check_list(order, "order", n);
        Array<char> seen(static_cast<std::size_t>(n));
        for (py::ssize_t i = 0; i < order.size(); ++i) seen[order.data()[i]] = 1;
        if (order.size() != n || std::count(seen.begin(), seen.end(), 1) != n)
            throw py::value_error("order: expected each vertex from 0 to " + std::to_string(n - 1) +
                                  " once");
    }

    static void check_entries(const py::array& x, const char* name, std::size_t count,
                              const py::dtype& dtype) {
        if (x.ndim() != 1 || static_cast<std::size_t>(x.size()) != count ||
            !(x.flags() & py::array::c_style))
            throw py::value_error(std::string(name) + ": expected " + std::to_string(count) +
                                  " contiguous elements, got shape " + shape_text(x));
        check_dtype(x, name, dtype);
    }

    Factor check_factor(py::array& up, py::array& down, const py::object& semiring) const {
        const int ring = parse_semiring(semiring.ptr());
        if (!facts_of(ring).idempotent)
            throw py::value_error(std::string("semiring: expected an idempotent one, got ") +
                                  facts_of(ring).name);
        const DType dtype = parse_dtype(up.dtype(), ring);
        if (!default_instruction_set().table->sets[ring][static_cast<int>(dtype)].sweep_down)
            throw py::type_error(std::string("up: expected a dtype that has factors, got ") +
                                 facts_of(dtype).name);
        for (const auto& [name, array] : {Named{"up", &up}, Named{"down", &down}}) {
            check_entries(*array, name, structure_.higher.size(), up.dtype());
            check_writeable(*array, name);
        }
        return {.structure = structure_,
                .semiring = ring,
                .dtype = dtype,
                .up = bytes_of(up),
                .down = bytes_of(down)};
    }
};

constexpr const char* text =
    R"(The elimination of the vertices of a graph, one after the other, from ``n`` vertices and its edges.

The elimination is given up, with
OverflowError, at more than `most_entries` or `most_steps`; see cpp/graph/elimination/order.hpp.
``order`` is the order in which they are eliminated, and ``parent`` the elimination tree, in ranks.
``eliminate(weights, up, down, semiring)`` computes the factor, two arrays of `entries` elements, from
the weights of the edges. Where it ``refuses`` a cycle that improves, it returns a vertex of the cycle,
else None. ``up is down`` stands for an undirected graph. ``rows(up, down, semiring, sources, targets, out)`` computes rows of the star,
``trees`` rows and predecessors, ``path`` the vertices of one path. ``update`` computes the factor again where the weights of some edges
changed.
``fold(up, down, sources, kind)`` returns sums over rows of minplus, a column for each source: for "lengths" the sum, the number and
the greatest of the lengths; for "reciprocals" the sum of 1 / length; for "within" a row for each of the `radii`.
See `tropical.graph.factorize`.)";

}  // namespace

void bind_elimination(py::module_& module) {
    py::class_<Elimination>(module, "Elimination", text, py::is_final(),
                            constructed_by_new<Elimination>())
        .def(py::init<Vertex, const Vertices&, const Vertices&, const std::optional<Vertices>&,
                      ptrdiff_t, const std::optional<py::function>&, ptrdiff_t, double>(),
             py::arg("n"), py::arg("source"), py::arg("target"), py::arg("order") = py::none(),
             py::arg("most_entries") = Most{}.entries, py::arg("report") = py::none(),
             py::arg("most_steps") = Most{}.steps, py::arg("operation") = Most{}.operation)
        .def_property_readonly("order",
                               [](const Elimination& e) { return array_of(e.structure().order); })
        .def_property_readonly("parent",
                               [](const Elimination& e) { return array_of(e.structure().parent); })
        .def_property_readonly("start",
                               [](const Elimination& e) { return array_of(e.structure().start); })
        .def_property_readonly("entries",
                               [](const Elimination& e) { return e.structure().entries(); })
        .def_property_readonly("edge_entries",
                               [](const Elimination& e) { return array_of(e.edges().entry); })
        .def_property_readonly("height", [](const Elimination& e) { return height(e.structure()); })
        .def("edges_between", &Elimination::edges_between, py::arg("sources"), py::arg("targets"),
             py::arg("directed"))
        .def("update", &Elimination::update, py::arg("up").noconvert(), py::arg("down").noconvert(),
             py::arg("semiring"), py::arg("weights").noconvert(), py::arg("changed"),
             py::arg("before").noconvert(), py::arg("refuses") = true)
        .def("path", &Elimination::path, py::arg("up").noconvert(), py::arg("down").noconvert(),
             py::arg("semiring"), py::arg("weights").noconvert(), py::arg("source"),
             py::arg("target"))
        .def("eliminate", &Elimination::eliminate, py::arg("weights").noconvert(),
             py::arg("up").noconvert(), py::arg("down").noconvert(), py::arg("semiring"),
             py::arg("refuses") = true)
        .def("rows", &Elimination::rows, py::arg("up").noconvert(), py::arg("down").noconvert(),
             py::arg("semiring"), py::arg("sources"), py::arg("targets"),
             py::arg("out").noconvert())
        .def("trees", &Elimination::trees, py::arg("up").noconvert(), py::arg("down").noconvert(),
             py::arg("semiring"), py::arg("sources"), py::arg("lengths").noconvert(),
             py::arg("weights").noconvert(), py::arg("predecessors").noconvert())
        .def("fold", &Elimination::fold, py::arg("up").noconvert(), py::arg("down").noconvert(),
             py::arg("sources"), py::arg("kind"), py::arg("weight") = py::none(),
             py::arg("radii") = std::vector<double>{});
}

}  // namespace tropical
