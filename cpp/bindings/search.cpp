// Searches in a sparse graph whose arrays are read in place.
#include <pybind11/stl.h>

#include <atomic>

#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/ranges.hpp"
#include "graph/search/ball.hpp"
#include "graph/search/loopless.hpp"
#include "graph/search/many.hpp"
#include "graph/search/strong.hpp"
#include "graph/search/sweeps.hpp"

namespace tropical {
namespace {

using search::Outcome;
using search::Vertex;

using Vertices = py::array_t<Vertex, py::array::c_style>;
using Doubles = py::array_t<double, py::array::c_style>;

// Throws unless `x` is C-contiguous, aligned and of one of two dtypes. Returns whether it has the
// first.
bool check_array(const py::array& x, const char* name, const py::dtype& first,
                 const py::dtype& second) {
    const bool is_first = x.dtype().equal(first);
    if ((!is_first && !x.dtype().equal(second)) || !is_plain(x))
        throw py::type_error(std::string(name) + ": expected a contiguous array of " +
                             std::string(py::str(first)) + " or " + std::string(py::str(second)) +
                             ", got " + std::string(py::str(x.dtype())) + " of shape " +
                             shape_text(x));
    return is_first;
}

template <class T>
py::dtype dtype_of() {
    return py::dtype::of<T>();
}

void raise(Outcome outcome) {
    switch (outcome) {
        case Outcome::done:
            return;
        case Outcome::improving:
            throw py::value_error("w: an edge improves the paths it is added to");
        case Outcome::malformed:
            throw py::value_error("w: expected edges between its vertices");
        case Outcome::circular:
            throw py::value_error(
                "w: expected no cycle of weight 0, round which there are infinitely many shortest "
                "paths");
    }
}

class Search {
  public:
    Search(py::array start, py::array head, py::array weight)
        : start_(std::move(start)), head_(std::move(head)), weight_(std::move(weight)) {
        const bool wide =
            check_array(start_, "start", dtype_of<std::int64_t>(), dtype_of<std::int32_t>());
        check_array(head_, "head", dtype_of<Vertex>(), dtype_of<Vertex>());
        const bool single = check_array(weight_, "weight", dtype_of<float>(), dtype_of<double>());
        if (start_.ndim() != 1 || start_.size() < 1)
            throw py::value_error("start: expected shape (n + 1,), got " + shape_text(start_));
        if (head_.ndim() != 1 || weight_.ndim() != 1 || head_.size() != weight_.size())
            throw py::value_error("weight: expected shape " + shape_text(head_) +
                                  ", that of head, got " + shape_text(weight_));
        check_vertex_count(start_.size() - 1, "start");
        graph_ = {.n = start_.size() - 1,
                  .m = head_.size(),
                  .start = start_.data(),
                  .wide = wide,
                  .head = static_cast<const Vertex*>(head_.data()),
                  .weight = weight_.data(),
                  .single = single};
    }

    void best_first(const py::object& semiring, const Vertices& sources,
                    const std::optional<Doubles>& values, bool together,
                    const std::optional<Vertices>& targets, double limit, py::array out,
                    std::optional<Vertices> before, std::optional<Vertices> first,
                    std::optional<Doubles> count) {
        const int ring = parse_selective(semiring.ptr());
        check_vertices(sources, "sources", graph_.n);
        if (targets) check_vertices(*targets, "targets", graph_.n);
        const py::ssize_t rows = together ? 1 : sources.size();
        const py::ssize_t columns = targets ? targets->size() : graph_.n;
        if (values) check_size(*values, "values", sources.size());
        const bool single = check_array(out, "out", dtype_of<float>(), dtype_of<double>());
        check_writeable(out, "out");
        check_size(out, "out", rows * columns);
        if (before) check_size(*before, "before", rows * graph_.n);
        if (first) check_size(*first, "first", rows * graph_.n);
        if (count) check_size(*count, "count", rows * columns);
        const search::Sources from{.vertices = sources.data(),
                                   .values = values ? values->data() : nullptr,
                                   .count = sources.size(),
                                   .together = together};
        const search::Results results{.targets = targets ? targets->data() : nullptr,
                                      .target_count = targets ? columns : -1,
                                      .limit = limit,
                                      .values = bytes_of(out),
                                      .single = single,
                                      .before = before ? before->mutable_data() : nullptr,
                                      .first = first ? first->mutable_data() : nullptr,
                                      .count = count ? count->mutable_data() : nullptr};
        const Choice choice = choose({}, 0);
        const StopRequested stop = stop_requested_by_signal();
        Outcome outcome = Outcome::done;
        without_gil([&] {
            Array<search::Scratch> others;  // where another caller uses ours
            const Hold hold(in_use_);
            outcome = search::search_from_many(graph_, ring, from, results, *choice.isa,
                                               choice.threads, hold ? slots_ : others, stop);
        });
        raise(outcome);
    }

    py::tuple ball(Vertex center, ptrdiff_t size, ptrdiff_t levels) const {
        if (!graph_.has(center))
            throw py::value_error("center: expected a vertex, got " + std::to_string(center));
        search::Ball found{};
        without_gil([&] { found = search::ball_around(graph_, center, size, levels); });
        return py::make_tuple(found.size, found.surface);
    }

    Vertices components() const {
        Array<Vertex> labels;
        without_gil([&] { labels = search::strong_components(graph_); });
        return array_of(labels);
    }

    void sweep(const py::object& semiring, const Vertices& sources, bool together,
               const Vertices& order, Doubles values, std::optional<Vertices> before) {
        const search::Rows rows = check_rows(sources, together);
        check_numbers(order, "order");
        check_size(values, "values", rows.rows() * graph_.n);
        if (before) check_size(*before, "before", rows.rows() * graph_.n);
        run(semiring, [&](int ring, int threads, StopRequested stop) {
            search::sweep(graph_, ring, rows, order.data(), values.mutable_data(),
                          before ? before->mutable_data() : nullptr, threads, stop);
        });
    }

    void rounds(const py::object& semiring, const Vertices& sources, bool together, ptrdiff_t k,
                bool at_most, Doubles values, Vertices before) {
        const search::Rows rows = check_rows(sources, together);
        check_size(values, "values", rows.rows() * graph_.n);
        check_size(before, "before", k * rows.rows() * graph_.n);
        const search::Rounds wanted{.k = k,
                                    .at_most = at_most,
                                    .values = values.mutable_data(),
                                    .before = before.mutable_data()};
        run(semiring, [&](int ring, int threads, StopRequested stop) {
            search::take_rounds(graph_, ring, rows, wanted, threads, stop);
        });
    }

    void reach(const Vertices& sources, bool together, const Vertices& labels,
               const std::optional<Vertices>& targets, py::array_t<bool, py::array::c_style> out) {
        const search::Rows rows = check_rows(sources, together);
        check_numbers(labels, "numbers");
        if (targets) check_vertices(*targets, "targets", graph_.n);
        const py::ssize_t columns = targets ? targets->size() : graph_.n;
        check_size(out, "out", rows.rows() * columns);
        const search::Reached reached{.numbers = labels.data(),
                                      .targets = targets ? targets->data() : nullptr,
                                      .columns = columns,
                                      .bytes = reinterpret_cast<std::uint8_t*>(out.mutable_data())};
        run(py::str("minplus"), [&](int, int threads, StopRequested stop) {
            search::reach(graph_, rows, reached, threads, stop);
        });
    }

    const search::Graph& graph() const { return graph_; }

  private:
    search::Rows check_rows(const Vertices& sources, bool together) const {
        check_vertices(sources, "sources", graph_.n);
        return {.sources = sources.data(), .count = sources.size(), .together = together};
    }

    void check_numbers(const Vertices& labels, const char* name) const {
        check_size(labels, name, graph_.n);
        check_vertices(labels, name, graph_.n);
    }

    // Calls work(semiring, threads, stop) without the GIL.
    template <class Work>
    static void run(const py::object& semiring, const Work& work) {
        const int ring = parse_selective(semiring.ptr());
        const Choice choice = choose({}, 0);
        const StopRequested stop = stop_requested_by_signal();
        without_gil([&] { work(ring, choice.threads, stop); });
    }

    static void check_size(const py::array& x, const char* name, py::ssize_t size) {
        if (x.size() != size)
            throw py::value_error(std::string(name) + ": expected " + std::to_string(size) +
                                  " elements, got shape " + shape_text(x));
    }

    py::array start_, head_, weight_;
    search::Graph graph_;
    Array<search::Scratch> slots_;
    std::atomic_flag in_use_;
};

// Keeps the arrays alive that the paths read.
class LooplessPaths {
  public:
    LooplessPaths(py::object graph, Doubles to_target, Vertex source, Vertex target)
        : graph_(std::move(graph)), to_target_(std::move(to_target)) {
        const search::Graph& arcs = graph_.cast<const Search&>().graph();
        if (to_target_.ndim() != 1 || to_target_.size() != arcs.n)
            throw py::value_error("to_target: expected shape (" + std::to_string(arcs.n) +
                                  ",), got " + shape_text(to_target_));
        for (const Vertex vertex : {source, target})
            if (vertex < 0 || vertex >= arcs.n)
                throw py::value_error("source, target: expected vertices from 0 to " +
                                      std::to_string(arcs.n - 1));
        paths_.emplace(arcs, to_target_.data(), source, target);
    }

    // (length, vertices), or None after the last path.
    py::object next() {
        search::LooplessPaths::Path path;
        const StopRequested stop = stop_requested_by_signal();
        const Hold hold(in_use_);
        if (!hold) throw std::runtime_error("paths: expected one thread at a time");
        bool found = false;
        without_gil([&] { found = paths_->next(path, stop); });
        if (!found) return py::none();
        py::list vertices;
        for (const Vertex v : path.vertices) vertices.append(v);
        return py::make_tuple(path.length, vertices);
    }

  private:
    py::object graph_;
    Doubles to_target_;
    std::optional<search::LooplessPaths> paths_;
    std::atomic_flag in_use_;
};

constexpr const char* loopless_text =
    R"(The shortest paths without loops from `source` to `target`, one after the other.

`to_target` (n,) are the lengths of the shortest paths to the target. ``next()`` returns a length and the
vertices of a path, or None after the last path. See `tropical.graph.k_shortest_paths`.)";

constexpr const char* text =
    R"(Searches in a sparse graph: the arcs of vertex i are ``start[i]`` to ``start[i + 1] - 1``.

`start` (n + 1,) is of int64 or int32, `head` (m,) of int32, `weight` (m,) of float64 or float32; all are
read in place. ``best_first`` fills rows of values, of vertices before and of first vertices, and the
number of best paths; see `tropical.graph.Searcher`. `targets` are distinct or not. It raises ValueError
if an arc improves a path. It keeps memory of n elements a thread for the next call.

``components()`` numbers the strong components so that arcs lead to lesser numbers. ``sweep`` fills rows of
a graph whose arcs lead on in `order`, ``rounds`` rows of paths of k arcs, ``reach`` where paths lead. ``ball`` counts
the vertices near a center, and those of them that are farthest from it.)";

}  // namespace

void bind_search(py::module_& module) {
    py::class_<Search>(module, "Search", text, py::is_final(), constructed_by_new<Search>())
        .def(py::init<py::array, py::array, py::array>(), py::arg("start").noconvert(),
             py::arg("head").noconvert(), py::arg("weight").noconvert())
        .def("best_first", &Search::best_first, py::arg("semiring"), py::arg("sources").noconvert(),
             py::arg("values").noconvert(), py::arg("together"), py::arg("targets").noconvert(),
             py::arg("limit"), py::arg("out").noconvert(), py::arg("before").noconvert(),
             py::arg("first").noconvert(), py::arg("count").noconvert())
        .def("ball", &Search::ball, py::arg("center"), py::arg("size"), py::arg("levels"))
        .def("components", &Search::components)
        .def("sweep", &Search::sweep, py::arg("semiring"), py::arg("sources").noconvert(),
             py::arg("together"), py::arg("order").noconvert(), py::arg("values").noconvert(),
             py::arg("before").noconvert())
        .def("rounds", &Search::rounds, py::arg("semiring"), py::arg("sources").noconvert(),
             py::arg("together"), py::arg("k"), py::arg("at_most"), py::arg("values").noconvert(),
             py::arg("before").noconvert())
        .def("reach", &Search::reach, py::arg("sources").noconvert(), py::arg("together"),
             py::arg("numbers").noconvert(), py::arg("targets").noconvert(),
             py::arg("out").noconvert());
    py::class_<LooplessPaths>(module, "LooplessPaths", loopless_text, py::is_final(),
                              constructed_by_new<LooplessPaths>())
        .def(py::init<py::object, Doubles, Vertex, Vertex>(), py::arg("graph"),
             py::arg("to_target").noconvert(), py::arg("source"), py::arg("target"))
        .def("next", &LooplessPaths::next);
}

}  // namespace tropical
