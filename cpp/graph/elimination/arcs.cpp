#include "graph/elimination/arcs.hpp"

#include <algorithm>
#include <numeric>

namespace tropical {
namespace {

// Positions of the `count` items, stably sorted by key(item) < keys.
template <class Key>
Array<ptrdiff_t> sorted(const Array<ptrdiff_t>& items, Vertex keys, Array<ptrdiff_t>& start,
                        Key key) {
    start.assign(static_cast<std::size_t>(keys) + 1, 0);
    for (const ptrdiff_t item : items) ++start[key(item) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    Array<ptrdiff_t> end(start.begin(), start.end() - 1), result(items.size());
    for (const ptrdiff_t item : items) result[end[key(item)]++] = item;
    return result;
}

}  // namespace

Arcs arcs_into(const Structure& s, const Edges& edges, bool directed) {
    const ptrdiff_t count = std::ssize(edges.source);
    // Arc a < count is edge a, arc count + a is edge a backward.
    const auto source = [&](ptrdiff_t a) {
        return a < count ? edges.source[a] : edges.target[a - count];
    };
    const auto target = [&](ptrdiff_t a) {
        return s.order[a < count ? edges.target[a] : edges.source[a - count]];
    };
    Array<ptrdiff_t> found;
    for (ptrdiff_t a = 0; a < (directed ? count : 2 * count); ++a)
        if (edges.entry[a % count] >= 0) found.push_back(a);
    Arcs arcs;
    found = sorted(found, s.size(), arcs.start, source);
    found = sorted(found, s.size(), arcs.start, target);
    for (const ptrdiff_t a : found) {
        arcs.source.push_back(source(a));
        arcs.edge.push_back(a % count);
    }
    return arcs;
}

ArcRange arcs_between(const Structure& s, const Arcs& arcs, Vertex from, Vertex to) {
    const auto begin = arcs.source.begin();
    const auto [first, last] = std::equal_range(begin + arcs.start[s.order[to]],
                                                begin + arcs.start[s.order[to] + 1], from);
    return {first - begin, last - begin};
}

}  // namespace tropical
