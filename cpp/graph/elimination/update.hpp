// New weights for some edges of a factor.
#pragma once

#include "graph/elimination/arcs.hpp"

namespace tropical {

// Computes the elements of up and down that new weights of the edges `changed` change: from
// before[c] to the weight of edge changed[c] among the weights of all edges. The result is that of
// eliminate_weights, also where that refuses a cycle; then up and down are as before. Throws
// std::bad_alloc, Stopped; up and down are as before then.
Vertex update_weights(const Factor& factor, const Arcs& arcs, const Edges& edges,
                      const char* weights, const Array<ptrdiff_t>& changed, const char* before,
                      bool refuses, StopRequested stop_requested);

}  // namespace tropical
