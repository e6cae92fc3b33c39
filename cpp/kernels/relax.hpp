// Paths from many sources at once: a row of float64 for each vertex, with a number for each source.
#pragma once

#include "kernels/arithmetic.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// row[h] = row[h] (+) from (x) weight for each arc to a vertex h. Lists at `next` the vertices
// whose rows have become better, unless they wait already. Returns how many, or -1 if a head is no
// vertex.
template <class R>
ptrdiff_t relax(const RelaxArgs& args) {
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V);
    constexpr int registers = relaxed_row_bytes / step;
    const RelaxArgs g = args;  // stores to rows cannot change a copy
    V from[registers];
    TROPICAL_UNROLL for (int v = 0; v < registers; ++v)
        from[v] = load<V>(g.from + v * step);
    ptrdiff_t listed = 0;
    for (ptrdiff_t arc = 0; arc < g.arcs; ++arc) {
        const std::int32_t head = g.head[arc];
        if (static_cast<std::uint32_t>(head) >= static_cast<std::uint32_t>(g.vertices)) return -1;
        const V weight = broadcast<V>(g.single ? double{load_scalar<float>(g.weights + arc * 4)}
                                               : load_scalar<double>(g.weights + arc * 8));
        char* const row = g.rows + head * relaxed_row_bytes;
        Mask<V> better{};
        TROPICAL_UNROLL for (int v = 0; v < registers; ++v) {
            const V path = R::multiply(weight, from[v]), best = load<V>(row + v * step);
            better |= R::better(path, best);
            store(row + v * step, R::add(path, best));
        }
        if (!lane_bits<double>(better) || g.waits[head]) continue;
        g.waits[head] = 1;
        g.next[listed++] = head;
    }
    return listed;
}

}  // namespace
}  // namespace tropical
