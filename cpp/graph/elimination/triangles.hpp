// The triangles below an entry (low, high): the paths low -> k -> high and back through lower ranks
// k, of which the entry is the best.
#pragma once

#include <algorithm>

#include "graph/elimination/arcs.hpp"
#include "reference.hpp"

namespace tropical {
namespace {

// Whether two elements are the same: of or-and, every byte but 0 is true.
template <class S, class T>
bool same(T x, T y) {
    if constexpr (same_type<typename S::Add, Or>)
        return (x != 0) == (y != 0);
    else
        return x == y;
}

// Whether x is better than y.
template <class S, class T>
bool beats(T x, T y) {
    if constexpr (same_type<typename S::Add, Or>)
        return x != 0 && y == 0;
    else
        return improves<S>(x, y);
}

// Calls act(k, to_low, to_high) for each rank k below both: its entries (k, low) and (k, high).
// Ends where act returns true, which is the result.
template <class Act>
bool any_triangle(const Structure& s, Vertex low, Vertex high, Act act) {
    for (ptrdiff_t l = s.lower_start[low]; l < s.lower_start[low + 1]; ++l) {
        const Vertex k = s.lower[l];
        const ptrdiff_t to_low = s.lower_entry[l], end = s.start[k + 1];
        if (s.higher[end - 1] < high) continue;
        const auto begin = s.higher.begin();
        const auto found = std::lower_bound(begin + to_low + 1, begin + end, high);
        if (*found == high && act(k, to_low, found - begin)) return true;
    }
    return false;
}

}  // namespace
}  // namespace tropical
