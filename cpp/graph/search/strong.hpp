// Strong components: the sets of vertices that all reach each other.
#pragma once

#include "graph/search/graph.hpp"

namespace tropical::search {

// The number of each vertex's component, from 0 on: an arc between two components leads to the
// lesser number. So the vertices of a graph without cycles, by falling numbers, are in topological
// order. Throws std::bad_alloc.
Array<Vertex> strong_components(const Graph& graph);

}  // namespace tropical::search
