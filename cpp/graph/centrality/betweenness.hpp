// Betweenness: how many of the shortest paths pass each vertex and each arc. One search a source
// counts the shortest paths; back along it, every vertex hands its share to those before it.
//
// U. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology
// 25, 2001.
#pragma once

#include "graph/centrality/arcs.hpp"
#include "runtime/stop.hpp"

namespace tropical {

// Adds the shares of the paths from the sources. Throws std::bad_alloc, Stopped.
void add_betweenness(const WeightedArcs& graph, const Betweenness& wanted, int threads,
                     StopRequested stop_requested);

}  // namespace tropical
