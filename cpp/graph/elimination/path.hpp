// The best path from one vertex to another.
#pragma once

#include "graph/elimination/arcs.hpp"

namespace tropical {

// The vertices of the path from `from` to `to`, both included, each once; empty where there is no
// path. weights: an element for each edge. Throws std::bad_alloc, Stopped.
Array<Vertex> best_path(const Factor& factor, const Arcs& arcs, const char* weights, Vertex from,
                        Vertex to, StopRequested stop_requested);

}  // namespace tropical
