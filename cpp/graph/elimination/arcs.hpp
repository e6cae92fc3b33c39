// The edges of a graph by the vertex that they enter.
#pragma once

#include "graph/elimination/factor.hpp"

namespace tropical {

// The arcs into vertex v: from rank source[i], ascending, by edge[i] of the graph, for i from
// start[v] to start[v + 1] - 1. Loops are no arcs; an edge without a direction is two.
struct Arcs {
    Array<ptrdiff_t> start;
    Array<Vertex> source;
    Array<ptrdiff_t> edge;

    ptrdiff_t size() const { return static_cast<ptrdiff_t>(source.size()); }
};
Arcs arcs_into(const Structure& structure, const Edges& edges, bool directed);

// The arcs from rank `from` into rank `to` are first, ..., last - 1.
struct ArcRange {
    ptrdiff_t first, last;
};
ArcRange arcs_between(const Structure& structure, const Arcs& arcs, Vertex from, Vertex to);

}  // namespace tropical
