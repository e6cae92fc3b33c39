// Searches in a sparse graph whose arrays are read in place.
#include <pybind11/stl.h>

#include <mutex>

#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "search/best_first.hpp"

namespace tropical {
namespace {

using search::Outcome;
using search::Vertex;

using Vertices = py::array_t<Vertex, py::array::c_style>;
using Doubles = py::array_t<double, py::array::c_style>;

void check_vertices(const Vertices& vertices, const char* name, ptrdiff_t n) {
    for (py::ssize_t i = 0; i < vertices.size(); ++i)
        if (vertices.data()[i] < 0 || vertices.data()[i] >= n)
            throw py::value_error(std::string(name) + ": expected vertices from 0 to " +
                                  std::to_string(n - 1) + ", got " +
                                  std::to_string(vertices.data()[i]));
}

// Throws unless `x` is C-contiguous, aligned and of one of two dtypes. Returns whether it has the
// first.
bool check_array(const py::array& x, const char* name, const py::dtype& first,
                 const py::dtype& second) {
    const bool is_first = x.dtype().equal(first);
    if ((!is_first && !x.dtype().equal(second)) || !(x.flags() & py::array::c_style) ||
        !(x.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_))
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
        case Outcome::stopped:
            throw Stopped{};
        case Outcome::out_of_memory:
            throw std::bad_alloc();
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
        const int ring = parse_semiring(semiring.ptr());
        if (!facts_of(ring).selective)
            throw py::value_error(std::string("semiring: expected a selective one, got ") +
                                  facts_of(ring).name);
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
            search::Array<search::Scratch> others;  // where another thread uses ours
            const std::unique_lock lock(in_use_, std::try_to_lock);
            outcome = search::search_best_first(graph_, ring, from, results, choice.threads,
                                                lock ? slots_ : others, stop);
        });
        raise(outcome);
    }

  private:
    static void check_size(const py::array& x, const char* name, py::ssize_t size) {
        if (x.size() != size)
            throw py::value_error(std::string(name) + ": expected " + std::to_string(size) +
                                  " elements, got shape " + shape_text(x));
    }

    py::array start_, head_, weight_;
    search::Graph graph_;
    search::Array<search::Scratch> slots_;
    std::mutex in_use_;
};

constexpr const char* text =
    R"(Searches in a sparse graph: the arcs of vertex i are ``start[i]`` to ``start[i + 1] - 1``.

`start` (n + 1,) is of int64 or int32, `head` (m,) of int32, `weight` (m,) of float64 or float32; all are
read in place. ``best_first`` fills rows of values, of vertices before and of first vertices, and the
number of best paths; see `tropical.graph.Searcher`. `targets` are distinct or not. It raises ValueError
if an arc improves a path. It keeps memory of n elements a thread for the next call.)";

}  // namespace

void bind_search(py::module_& module) {
    py::class_<Search>(module, "Search", text, py::is_final(), constructed_by_new<Search>())
        .def(py::init<py::array, py::array, py::array>(), py::arg("start").noconvert(),
             py::arg("head").noconvert(), py::arg("weight").noconvert())
        .def("best_first", &Search::best_first, py::arg("semiring"), py::arg("sources").noconvert(),
             py::arg("values").noconvert(), py::arg("together"), py::arg("targets").noconvert(),
             py::arg("limit"), py::arg("out").noconvert(), py::arg("before").noconvert(),
             py::arg("first").noconvert(), py::arg("count").noconvert());
}

}  // namespace tropical
