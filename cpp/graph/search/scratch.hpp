// The memory of a search, which the next one uses again.
#pragma once

#include "graph/search/ranks.hpp"

namespace tropical::search {

// What one slot of the pool searches with. Between two searches all ranks are 0, and the heap is
// empty: a search cleans what it touched, so that its time does not depend on n.
struct Scratch {
    Memory<Rank> rank;               // (n,) of the best path so far
    Memory<Vertex> before, first;    // (n,) on that path: the vertex before the end, the source
    Memory<double> count;            // (n,) how many best paths
    Memory<std::int32_t> open;       // (n,) best arcs into a vertex whose tails are not counted
    Array<Vertex> touched, settled;  // vertices that have a rank; in the order of their ranks
    Heap heap;
};

inline void clean(Scratch& scratch) {
    for (const Vertex v : scratch.touched) scratch.rank[v] = 0;
    scratch.touched.clear();
    scratch.settled.clear();
    scratch.heap.clear();
}

}  // namespace tropical::search
