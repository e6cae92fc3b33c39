#include "graph/search/sweeps.hpp"

#include <algorithm>

#include "reference.hpp"
#include "runtime/tasks.hpp"

namespace tropical::search {
namespace {

// Calls f.operator()<S, W>() for a selective semiring and the type of the weights.
template <class F>
void with_semiring_and_weight(int semiring, const Graph& graph, F f) {
    const auto with_semiring = [&]<class S>() {
        if constexpr (selective<S>) {
            if (graph.single)
                f.template operator()<S, float>();
            else
                f.template operator()<S, double>();
        }
    };
    with_item(semiring, with_semiring, Semirings{});
}

template <class S>
void begin_row(const Graph& graph, const Rows& rows, ptrdiff_t row, double* values) {
    std::fill_n(values, graph.n, S::template zero<double>);
    const ptrdiff_t first = rows.together ? 0 : row, last = rows.together ? rows.count : row + 1;
    for (ptrdiff_t i = first; i < last; ++i) values[rows.sources[i]] = S::template one<double>;
}

// Extends the path to `tail`, whose value is not zero, by its arcs.
template <class S, class W>
void relax(const Graph& graph, Vertex tail, double value, double* values, Vertex* before) {
    const W* const weight = static_cast<const W*>(graph.weight);
    const Graph::Range arcs = graph.arcs(tail);
    for (ptrdiff_t arc = arcs.begin; arc < arcs.end; ++arc) {
        const Vertex head = graph.head[arc];
        if (!graph.has(head)) continue;
        const double product = multiply<S>(value, double{weight[arc]});
        if (!S::Add::better(product, values[head])) continue;
        values[head] = product + 0.0;
        if (before) before[head] = tail;
    }
}

template <class S, class W>
void sweep_row(const Graph& graph, const Vertex* order, double* values, Vertex* before) {
    for (ptrdiff_t i = 0; i < graph.n; ++i)
        if (values[order[i]] != S::template zero<double>)
            relax<S, W>(graph, order[i], values[order[i]], values, before);
}

// One row of all rounds: `values` become those of the last round.
template <class S, class W, class Stopped>
void take_rounds_of_row(const Graph& graph, const Rounds& rounds, ptrdiff_t rows, double* values,
                        Vertex* before, const Stopped& stopped) {
    constexpr double zero = S::template zero<double>;
    Memory<double> next(graph.n);
    double* const further = &next[0];
    for (ptrdiff_t round = 0; round < rounds.k; ++round, before += rows * graph.n) {
        if (stopped()) return;
        if (rounds.at_most)
            std::copy_n(values, graph.n, further);
        else
            std::fill_n(further, graph.n, zero);
        std::fill_n(before, graph.n, Vertex{-1});
        for (Vertex tail = 0; tail < graph.n; ++tail)  // rising, so that the least tail wins
            if (values[tail] != zero) relax<S, W>(graph, tail, values[tail], further, before);
        std::copy_n(further, graph.n, values);
    }
}

}  // namespace

void sweep(const Graph& graph, int semiring, const Rows& rows, const Vertex* order, double* values,
           Vertex* before, int threads, StopRequested stop_requested) {
    for_each_task(threads, rows.rows(), stop_requested, [&](ptrdiff_t row, int, Stop&) {
        with_semiring_and_weight(semiring, graph, [&]<class S, class W>() {
            double* const own = values + row * graph.n;
            Vertex* const own_before = before ? before + row * graph.n : nullptr;
            begin_row<S>(graph, rows, row, own);
            if (before) std::fill_n(own_before, graph.n, no_vertex);
            sweep_row<S, W>(graph, order, own, own_before);
        });
    });
}

void take_rounds(const Graph& graph, int semiring, const Rows& rows, const Rounds& rounds,
                 int threads, StopRequested stop_requested) {
    for_each_task(threads, rows.rows(), stop_requested, [&](ptrdiff_t row, int slot, Stop& stop) {
        with_semiring_and_weight(semiring, graph, [&]<class S, class W>() {
            double* const own = rounds.values + row * graph.n;
            begin_row<S>(graph, rows, row, own);
            take_rounds_of_row<S, W>(graph, rounds, rows.rows(), own, rounds.before + row * graph.n,
                                     [&] { return stop.asked(slot); });
        });
    });
}

}  // namespace tropical::search
