// In which order to eliminate the vertices of a graph, so that few edges are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/array.hpp"
#include "runtime/stop.hpp"

namespace tropical {

using std::ptrdiff_t;
using Vertex = std::int32_t;

// The neighbors of vertex v are target[start[v]], ..., target[start[v + 1] - 1]: both ways, none
// twice, no loops.
struct Neighbors {
    Array<ptrdiff_t> start;
    Array<Vertex> target;

    Vertex size() const { return static_cast<Vertex>(start.size() - 1); }
};
// The neighbors in a graph of n vertices with these edges, in one direction or both. Throws
// Stopped.
Neighbors neighbors_of(Vertex n, ptrdiff_t edges, const Vertex* source, const Vertex* target,
                       Stop& stop);

// When an elimination is given up: at more entries, which are the edges that there are at any time
// of it, or at more steps of the search for the order, which looks at one neighbor in each. A sum
// or product of the numeric phase of an undirected graph counts as so many entries.
struct Most {
    ptrdiff_t entries = ptrdiff_t{1} << 40, steps = ptrdiff_t{1} << 60;
    double operation = 0;
};

// The approximate minimum degree order: P. R. Amestoy, T. A. Davis and I. S. Duff, "An approximate
// minimum degree ordering algorithm", SIAM Journal on Matrix Analysis and Applications 17, 1996.
// Vertices of so many neighbors that most others are adjacent to them come last. Calls report,
// which may throw, with the share of the vertices that are done. Throws Stopped, and
// std::overflow_error as soon as it is sure that there are more entries or steps.
Array<Vertex> minimum_degree_order(const Neighbors& graph, const Most& most, Stop& stop,
                                   const std::function<void(double)>& report);

}  // namespace tropical
