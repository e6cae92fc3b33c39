// Best-first search from vertices of a sparse graph: Dijkstra's algorithm over every semiring in
// which no arc improves a path, for as long as paths are wanted.
#pragma once

#include "graph/search/results.hpp"
#include "runtime/stop.hpp"

namespace tropical::search {

// The sources of one search, or of several that do not know of each other; values (x) of the paths
// of no arc.
struct Sources {
    const Vertex* vertices;
    const double* values;  // null: one
    ptrdiff_t count;
    bool together;  // the best path from any of them
};

enum class Outcome {
    done,
    improving,  // an arc improved a path
    malformed,  // a head is no vertex
    circular,   // paths are counted, and a cycle changes no path: there is no end of best paths
};

// Searches from all sources, in `threads` slots. Throws Stopped and std::bad_alloc.
Outcome search_best_first(const Graph& graph, int semiring, const Sources& sources,
                          const Results& results, int threads, Array<Scratch>& slots,
                          StopRequested stop_requested);

}  // namespace tropical::search
