// How many shortest paths lead to each vertex, once a search has found how long they are.
#pragma once

#include "graph/search/scratch.hpp"

namespace tropical::search {

// Fills scratch.count for the settled vertices, those of ranks of `last` and more, over min-plus: a
// path counts if the sums of its weights, each rounded, are those of a shortest path. Parallel arcs
// count apart; loops do not count. False if there is a cycle of weight 0, round which there is no
// end of paths.
bool count_paths(const Graph& graph, Scratch& scratch, Vertex source, Rank last);

}  // namespace tropical::search
