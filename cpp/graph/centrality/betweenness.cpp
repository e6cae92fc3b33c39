#include "graph/centrality/betweenness.hpp"

#include <algorithm>

#include "graph/centrality/search.hpp"
#include "runtime/tasks.hpp"

namespace tropical {
namespace {

using Vertex = std::int32_t;

Weights weights_of(const WeightedArcs& graph) {
    const ptrdiff_t arcs = graph.start[graph.n];
    if (!graph.weight || arcs == 0) return {1, 1};
    const auto [lightest, heaviest] = std::minmax_element(graph.weight, graph.weight + arcs);
    return {*lightest, *heaviest};
}

// The sources are cut into parts whose sums are added in order, so that the threads do not matter.
// More parts take more memory.
ptrdiff_t parts_of(ptrdiff_t sums) {
    return std::clamp<ptrdiff_t>((ptrdiff_t{1} << 22) / std::max<ptrdiff_t>(sums, 1), 8, 64);
}

// All searches of a call.
struct Run {
    const WeightedArcs& graph;
    const Betweenness& wanted;
    ptrdiff_t parts, arcs;
    std::vector<PathSearch> searches;  // of each slot
    Array<double> sum;                 // of each part: of n vertices and of the arcs

    ptrdiff_t sums() const { return graph.n + arcs; }

    void part(ptrdiff_t number, int slot, Stop& stop) {
        Betweenness here = wanted;
        here.vertices = sum.data() + number * sums();
        here.arcs = wanted.arcs ? here.vertices + graph.n : nullptr;
        const ptrdiff_t end = wanted.count * (number + 1) / parts;
        for (ptrdiff_t i = wanted.count * number / parts; i < end && !stop; ++i) {
            if (slot == 0)
                stop.ask_after(4.0 * static_cast<double>(graph.n + graph.start[graph.n]));
            searches.data()[slot].add(wanted.sources[i], here);
        }
    }

    void add_up() const {
        for (ptrdiff_t part = 0; part < parts; ++part) {
            const double* const of_part = sum.data() + part * sums();
            for (ptrdiff_t v = 0; v < graph.n; ++v) wanted.vertices[v] += of_part[v];
            for (ptrdiff_t a = 0; a < arcs; ++a) wanted.arcs[a] += of_part[graph.n + a];
        }
    }
};

std::vector<PathSearch> searches_of(const WeightedArcs& graph, Vertex source, int threads) {
    const Weights weights = weights_of(graph);
    PathSearch first(graph, weights, weights.heaviest);
    first.search(source);
    const double step = first.mean_step() > 0 ? first.mean_step() : weights.heaviest;
    std::vector<PathSearch> searches;
    for (int t = 0; t < threads; ++t) searches.emplace_back(graph, weights, step);
    return searches;
}

}  // namespace

void add_betweenness(const WeightedArcs& graph, const Betweenness& wanted, int threads,
                     StopRequested stop_requested) {
    if (wanted.count == 0) return;
    const ptrdiff_t arcs = wanted.arcs ? graph.start[graph.n] : 0;
    const ptrdiff_t parts = std::min(parts_of(graph.n + arcs), wanted.count);
    threads = static_cast<int>(std::min<ptrdiff_t>(threads, parts));
    Run run{graph, wanted, parts, arcs, searches_of(graph, wanted.sources[0], threads), {}};
    run.sum.assign(static_cast<std::size_t>(parts * run.sums()), 0);
    for_each_task(threads, parts, stop_requested,
                  [&](ptrdiff_t part, int slot, Stop& stop) { run.part(part, slot, stop); });
    run.add_up();
}

}  // namespace tropical
