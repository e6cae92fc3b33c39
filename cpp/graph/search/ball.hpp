// Balls: the vertices within some arcs of a center.
#pragma once

#include "graph/search/graph.hpp"

namespace tropical::search {

// How many vertices a ball has, and how many of them are farthest from the center.
struct Ball {
    ptrdiff_t size, surface;
};

// The least ball of more than `size` vertices, or of `levels` arcs, or of all vertices that paths
// from the center reach: then its surface is 0. Throws std::bad_alloc.
Ball ball_around(const Graph& graph, Vertex center, ptrdiff_t size, ptrdiff_t levels);

}  // namespace tropical::search
