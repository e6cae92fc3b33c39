// A graph as arcs, and the sums over its shortest paths that are wanted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tropical {

using std::ptrdiff_t;

// The arcs of vertex v, of n, are start[v], ..., start[v + 1] - 1: no loops, none parallel. weight:
// above 0, finite; null: each is 1.
struct WeightedArcs {
    std::int32_t n;
    const ptrdiff_t* start;
    const std::int32_t* target;
    const double* weight;
};

// Adds, over the sources s and all targets t, the share of the shortest paths from s to t that pass
// a vertex to vertices (n), and an arc to arcs (m, or null). The paths from s to t pass s and t
// only where `endpoints` says so. Paths count as equally short if their sums of float64, from s
// on, are equal. The result has the same bits for each number of threads.
struct Betweenness {
    const std::int32_t* sources;
    ptrdiff_t count;
    bool endpoints;
    double *vertices, *arcs;
};

}  // namespace tropical
