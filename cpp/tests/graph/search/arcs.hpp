// What the tests of searches share: random graphs, and Dijkstra's search over a plain heap.
#pragma once

#include <queue>

#include "graph/search/graph.hpp"
#include "reference.hpp"
#include "tests/support.hpp"

namespace tropical::test {
namespace {

using search::Vertex;

// A graph in all forms that a search reads.
struct Arcs {
    Vertex n = 0;
    Array<std::int64_t> start{0};
    Array<std::int32_t> narrow_start{0};
    Array<Vertex> head;
    Array<double> weight;
    Array<float> single_weight;

    ptrdiff_t size() const { return head.length(); }
    // The arcs of the next vertex.
    void add(Vertex to, double w) {
        head.push_back(to);
        weight.push_back(w);
        single_weight.push_back(static_cast<float>(w));
    }
    void end_vertex() {
        start.push_back(size());
        narrow_start.push_back(static_cast<std::int32_t>(size()));
        ++n;
    }
    search::Graph graph(bool wide, bool single) const {
        return {.n = n,
                .m = size(),
                .start = wide ? static_cast<const void*>(start.data()) : narrow_start.data(),
                .wide = wide,
                .head = head.data(),
                .weight = single ? static_cast<const void*>(single_weight.data()) : weight.data(),
                .single = single};
    }
    double weight_at(ptrdiff_t arc, bool single) const {
        return single ? double{single_weight[arc]} : weight[arc];
    }
};

// Up to `degree` arcs a vertex, with parallel arcs and loops, and weights of draw(). Many vertices
// are not reached where the degree is 2 or less.
template <class Draw>
Arcs random_arcs(Vertex n, int degree, Random& random, Draw draw) {
    Arcs arcs;
    for (Vertex v = 0; v < n; ++v) {
        for (ptrdiff_t left = random.below(degree + 1); left > 0; --left)
            arcs.add(static_cast<Vertex>(random.below(n)), draw());
        arcs.end_vertex();
    }
    return arcs;
}

// A weight that improves no path, and often ties: over min-plus 0 among others, over every semiring
// sometimes its zero, which is no path.
template <class S>
double worse_weight(bool whole, Random& random) {
    constexpr double zero = S::template zero<double>;
    if (random.below(20) == 0) return zero;
    const auto part = static_cast<double>(random.below(1000)) / 999;
    const double w = whole ? static_cast<double>(random.below(4)) : part;
    using Multiply = typename S::Multiply;
    if constexpr (same_type<Multiply, Times>)
        return S::Add::better_sign > 0 ? (whole ? w / 4 : w) : 1 + w;
    else if constexpr (same_type<Multiply, Plus>)
        return S::Add::better_sign > 0 ? 0 - w : w;
    else
        return w - 1;
}

// Whether `value` is worse than `limit`.
template <class S>
bool beyond(double value, double limit) {
    return S::Add::better(limit, value);
}

// (n,) the best values of paths from some vertices, whose paths of no arc have the values `begin`;
// a path that is worse than the limit is none.
template <class S>
Array<double> dijkstra(const Arcs& arcs, bool single, const Array<Vertex>& sources,
                       const Array<double>& begin, double limit) {
    constexpr double zero = S::template zero<double>;
    Array<double> best(static_cast<std::size_t>(arcs.n), zero);
    using Entry = std::pair<double, Vertex>;
    const auto later = [](const Entry& a, const Entry& b) {
        return S::Add::better(b.first, a.first);
    };
    std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
    const auto reach = [&](Vertex v, double value) {
        if (!S::Add::better(value, best[v]) || beyond<S>(value, limit)) return;
        best[v] = value;
        queue.push({value, v});
    };
    for (ptrdiff_t i = 0; i < sources.length(); ++i) reach(sources[i], begin[i]);
    while (!queue.empty()) {
        const auto [value, v] = queue.top();
        queue.pop();
        if (value != best[v]) continue;
        for (ptrdiff_t arc = arcs.start[v]; arc < arcs.start[v + 1]; ++arc)
            reach(arcs.head[arc], multiply<S>(value, arcs.weight_at(arc, single)));
    }
    return best;
}

inline Array<Vertex> random_vertices(ptrdiff_t count, Vertex n, Random& random) {
    Array<Vertex> some;
    for (; count > 0; --count) some.push_back(static_cast<Vertex>(random.below(n)));
    return some;
}

// Calls f.operator()<S>() for each selective semiring.
template <class F>
void for_selective_semirings(F f) {
    const auto each = [&]<class... S>(List<S...>) {
        const auto one = [&]<class Ring>() {
            if constexpr (selective<Ring>) f.template operator()<Ring>();
        };
        (one.template operator()<S>(), ...);
    };
    each(Semirings{});
}

}  // namespace
}  // namespace tropical::test
