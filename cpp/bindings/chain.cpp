// Chains: best paths, and sums over all paths.
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "bindings/call.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/options.hpp"
#include "bindings/ranges.hpp"
#include "bindings/shapes.hpp"
#include "graph/chain/best_paths.hpp"
#include "graph/chain/sums.hpp"

namespace tropical {
namespace {

using Indices = py::array_t<ptrdiff_t, py::array::c_style>;

void check(bool right, const char* name, const char* expected, const py::array& x) {
    if (!right)
        throw py::value_error(std::string(name) + ": expected " + expected + ", got " +
                              shape_text(x) + " of " + std::string(py::str(x.dtype())));
}
void check_numbers(const Indices& x, const char* name, ptrdiff_t most) {
    check_range(x.data(), x.size(), name, "numbers", 0, most);
}
bool aligned(const py::array& x) { return x.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_; }

std::shared_ptr<ChainEdges> new_edges(ptrdiff_t states, const Indices& source,
                                      const Indices& target) {
    check(states > 0 && source.ndim() == 1 && target.ndim() == 1 && source.size() == target.size(),
          "source", "as many as targets", source);
    check_numbers(source, "source", states - 1);
    check_numbers(target, "target", states - 1);
    const ptrdiff_t *const from = source.data(), *const to = target.data();
    for (py::ssize_t e = 1; e < source.size(); ++e)
        if (std::pair(to[e - 1], from[e - 1]) >= std::pair(to[e], from[e]))
            throw py::value_error("source: expected edges by target and source, each once");
    return std::make_shared<ChainEdges>(states, source.size(), from, to);
}

// The chains, as Python gives them. Arrays are C-ordered, but rows of emissions and of initial may
// have any stride.
struct GivenChains {
    py::array initial, transition, emission;
    Indices first, lengths;
    std::optional<Indices> symbols;
    std::shared_ptr<ChainEdges> edges;

    void check_transition(py::ssize_t count, py::ssize_t s) const {
        const py::array& x = transition;
        const bool for_chains =
            is_plain(x) && x.ndim() == (edges ? 2 : 4) && (x.shape(0) == 1 || x.shape(0) == count);
        if (edges)
            check(for_chains && x.shape(1) == edges->count() && edges->states == s, "transition",
                  "(1 or chains, edges)", x);
        else
            check(for_chains && x.shape(1) > 0 && x.shape(2) == s && x.shape(3) == s, "transition",
                  "(1 or chains, 1 or steps, s, s)", x);
    }

    Chains checked(int semiring) const {
        const py::ssize_t count = lengths.size();
        check(lengths.ndim() == 1, "lengths", "one axis", lengths);
        check(first.ndim() == 1 && first.size() == count, "first", "as many as lengths", first);
        check(emission.ndim() == 2 && emission.shape(1) > 0, "emission", "(rows, s)", emission);
        const py::ssize_t s = emission.shape(1), size = emission.itemsize();
        check((emission.strides(1) == size || emission.shape(0) == 0) && aligned(emission),
              "emission", "contiguous, aligned rows", emission);
        check(initial.ndim() == 2 && initial.shape(1) == s && is_plain(initial) &&
                  (initial.shape(0) == 1 || initial.shape(0) == count),
              "initial", "(1 or chains, s)", initial);
        check_transition(count, s);
        const py::ssize_t matrices = edges ? 1 : transition.shape(1);
        const py::ssize_t elements = edges ? edges->count() : s * s;
        check(initial.dtype().equal(emission.dtype()) && transition.dtype().equal(emission.dtype()),
              "transition", "the dtype of emission", transition);
        check_numbers(lengths, "lengths", matrices == 1 ? most_elements : matrices + 1);
        const py::ssize_t rows = symbols ? symbols->size() : emission.shape(0);
        for (py::ssize_t c = 0; c < count; ++c)
            if (first.data()[c] < 0 || first.data()[c] > rows - lengths.data()[c])
                throw py::value_error("first: chain " + std::to_string(c) +
                                      " leaves the emissions");
        check(!symbols || rows == 0 || emission.shape(0) > 0, "emission", "rows for symbols",
              emission);
        Chains chains{};
        chains.count = count;
        chains.states = s;
        chains.semiring = semiring;
        chains.dtype = parse_dtype(emission.dtype(), semiring);
        chains.lengths = lengths.data();
        chains.initial = static_cast<const char*>(initial.data());
        chains.initial_stride = initial.shape(0) == 1 ? 0 : s * size;
        chains.transition = static_cast<const char*>(transition.data());
        chains.transition_step = matrices == 1 ? 0 : elements * size;
        chains.transition_stride = transition.shape(0) == 1 ? 0 : matrices * elements * size;
        chains.emission = static_cast<const char*>(emission.data());
        chains.emission_stride = emission.strides(0);
        chains.emission_rows = emission.shape(0);
        chains.first = first.data();
        chains.symbols = symbols ? symbols->data() : nullptr;
        chains.edges = edges.get();
        return chains;
    }
};

void check_place(const Indices& place, const Indices& lengths, py::ssize_t rows) {
    check(place.ndim() == 1 && place.size() == lengths.size(), "place", "as many as lengths",
          place);
    for (py::ssize_t c = 0; c < place.size(); ++c)
        if (place.data()[c] < 0 || place.data()[c] > rows - lengths.data()[c])
            throw py::value_error("place: chain " + std::to_string(c) + " leaves the results");
}

ChainRun new_run() {
    const Choice choice = choose({}, 0);
    return {*choice.isa, choice.threads, stop_requested_by_signal()};
}

void best_paths(const py::object& name, const GivenChains& given, const Indices& place,
                Indices states, py::array scores) {
    const Chains chains = given.checked(parse_semiring(name.ptr()));
    check(states.ndim() == 2 && states.shape(0) > 0, "states", "(k, rows)", states);
    check_place(place, given.lengths, states.shape(1));
    check(scores.ndim() == 2 && is_plain(scores) && scores.shape(0) == states.shape(0) &&
              scores.shape(1) == chains.count && scores.dtype().equal(given.emission.dtype()),
          "scores", "(k, chains)", scores);
    const BestPaths wanted{.states = states.mutable_data(),
                           .place = place.data(),
                           .score = static_cast<char*>(scores.mutable_data()),
                           .k = states.shape(0),
                           .path_stride = states.shape(1)};
    if (wanted.k > 1 && !can_rank_paths(chains, *choose({}, 0).isa))
        throw py::type_error("k: expected 1 for this semiring and dtype, got " +
                             std::to_string(wanted.k));
    const ChainRun run = new_run();
    without_gil([&] { find_best_paths(chains, wanted, run); });
}

// A result array of rows, or null.
char* rows_of(const py::object& out, const char* name, const Chains& chains, const Indices& place,
              const Indices& lengths) {
    if (out.is_none()) return nullptr;
    py::array array = py::reinterpret_borrow<py::array>(out);
    check(array.ndim() == 2 && array.shape(1) == chains.states && is_plain(array) &&
              known_dtype(array.dtype(), number_of<LogPlus>) == chains.dtype,
          name, "(rows, s)", array);
    check_place(place, lengths, array.shape(0));
    return static_cast<char*>(array.mutable_data());
}

void sum_chains(const GivenChains& given, const Indices& place, const py::object& log_alpha,
                const py::object& log_beta, const py::object& states, const py::object& transitions,
                const std::optional<py::array_t<double, py::array::c_style>>& log_likelihood,
                const std::optional<Indices>& given_states) {
    const Chains chains = given.checked(number_of<LogPlus>);
    if (!is_floating(chains.dtype)) throw py::type_error("emission: expected floats");
    check_place(place, given.lengths, most_elements);
    ChainSums wanted{};
    wanted.log_alpha = rows_of(log_alpha, "log_alpha", chains, place, given.lengths);
    wanted.log_beta = rows_of(log_beta, "log_beta", chains, place, given.lengths);
    wanted.states = rows_of(states, "states", chains, place, given.lengths);
    wanted.place = place.data();
    if (!transitions.is_none()) {
        py::array array = py::reinterpret_borrow<py::array>(transitions);
        const py::array& matrices = given.transition;
        bool right = array.ndim() == matrices.ndim() && array.shape(0) == chains.count &&
                     is_plain(array) &&
                     known_dtype(array.dtype(), number_of<LogPlus>) == chains.dtype;
        for (py::ssize_t axis = 1; right && axis < array.ndim(); ++axis)
            right = array.shape(axis) == matrices.shape(axis);
        check(right, "transitions", "the shape of transition, for each chain", array);
        wanted.transitions = static_cast<char*>(array.mutable_data());
        wanted.transition_steps = chains.edges ? 1 : array.shape(1);
    }
    if (log_likelihood) {
        check(log_likelihood->size() == chains.count, "log_likelihood", "one for each chain",
              *log_likelihood);
        wanted.log_likelihood =
            py::reinterpret_borrow<py::array_t<double>>(*log_likelihood).mutable_data();
    }
    if (given_states) {
        check(chains.transition_step == 0 && !chains.edges, "transition",
              "one matrix for all steps beside given", given.transition);
        check(given_states->ndim() == 1, "given", "(rows,)", *given_states);
        check_place(place, given.lengths, given_states->size());
        wanted.given = given_states->data();
    }
    const ChainRun run = new_run();
    without_gil([&] { sum_paths(chains, wanted, run); });
}

void sample_paths(const GivenChains& given, const Indices& place, Indices states,
                  std::array<std::uint64_t, 2> key) {
    const Chains chains = given.checked(number_of<LogPlus>);
    check(states.ndim() == 2 && aligned(states), "states", "(size, rows), aligned", states);
    check_place(place, given.lengths, states.shape(1));
    ChainSums wanted{};
    wanted.place = place.data();
    wanted.paths = states.mutable_data();
    wanted.path_count = states.shape(0);
    wanted.path_stride = states.shape(1);
    std::copy(key.begin(), key.end(), wanted.key);
    const ChainRun run = new_run();
    without_gil([&] { sum_paths(chains, wanted, run); });
}

}  // namespace

void bind_chain(py::module_& module) {
    py::class_<ChainEdges, std::shared_ptr<ChainEdges>>(
        module, "ChainEdges", R"(Sparse transitions of `Chains`.

``source`` and ``target`` (edges,) of `states` states, ascending by target and then source (intp).)",
        py::is_final(), constructed_by_new<ChainEdges>())
        .def(py::init(&new_edges), py::arg("states"), py::arg("source").noconvert(),
             py::arg("target").noconvert());
    py::class_<GivenChains>(module, "Chains", R"(Checked arguments of `best_paths`, `sum_paths`.

`initial` (1 or chains, s), `transition` (1 or chains, 1 or steps - 1, s, s), `emission` (rows, s) of
one dtype; chain c begins at row ``first[c]``, or at ``symbols[first[c]]``, which says the row, and
has ``lengths[c]`` steps (intp). A symbol without a row reads the nearest one. With `edges`,
`transition` is (1 or chains, edges).)",
                            py::is_final(), constructed_by_new<GivenChains>())
        .def(py::init<py::array, py::array, py::array, Indices, Indices, std::optional<Indices>,
                      std::shared_ptr<ChainEdges>>(),
             py::arg("initial"), py::arg("transition"), py::arg("emission"),
             py::arg("first").noconvert(), py::arg("lengths").noconvert(),
             py::arg("symbols").noconvert(), py::arg("edges") = py::none());
    module.def("best_paths", &best_paths, py::arg("semiring"), py::arg("chains"),
               py::arg("place").noconvert(), py::arg("states").noconvert(), py::arg("scores"),
               R"(Finds the k best paths of each chain. See `tropical.sequence.k_best`.

The states of chain c go to ``states[:, place[c]:]`` (k, rows; intp) and the scores to ``scores[:, c]``
(k, chains). Those of paths that do not exist stay. Only maxplus and minplus over floats take k > 1.)");
    module.def("sum_paths", &sum_chains, py::arg("chains"), py::arg("place").noconvert(),
               py::arg("log_alpha"), py::arg("log_beta"), py::arg("states"), py::arg("transitions"),
               py::arg("log_likelihood").noconvert(), py::arg("given").noconvert() = py::none(),
               R"(Sums over the paths of each chain. See `tropical.sequence.posteriors`.

Results that are None are not computed. Those of chain c begin at row ``place[c]``. With `given`
(rows,), a state for each row (intp): see `tropical.sequence.crf_log_likelihood`.)");
    module.def("sample_paths", &sample_paths, py::arg("chains"), py::arg("place").noconvert(),
               py::arg("states").noconvert(), py::arg("key"),
               R"(Draws paths of each chain. See `tropical.sequence.sample`.

The states of chain c go to ``states[:, place[c]:]`` (size, rows; intp). The number that the state
``states[i, j]`` takes depends on i, j and the two numbers of `key` alone.)");
}

}  // namespace tropical
