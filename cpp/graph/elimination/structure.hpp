// Which edges there are while the vertices of a graph are eliminated one after the other: the
// elimination tree, and the neighbors of each vertex that are eliminated later.
#pragma once

#include "graph/elimination/order.hpp"
#include "table.hpp"

namespace tropical {

// The ranks of vertices: vertex order[r] is eliminated as number r. Every subtree of the tree has
// consecutive ranks, its root the last of them.
struct Structure {
    Array<Vertex> order, rank;
    Array<Vertex> parent;  // the least higher neighbor of a rank; -1: none
    // The higher neighbors of rank r, ascending: higher[start[r]], ..., higher[start[r + 1] - 1].
    Array<ptrdiff_t> start;
    Array<Vertex> higher;
    // Entry lower_entry[i] says that its rank lower[i] has the neighbor r, for i from
    // lower_start[r] to lower_start[r + 1] - 1; lower is ascending.
    Array<ptrdiff_t> lower_start;
    Array<Vertex> lower;
    Array<ptrdiff_t> lower_entry;
    // The steps of the sweep down, ascending: rank r alone, or, as ~r, a block of the ranks r, ...,
    // r + most_block_columns - 1, each of which has the next one and the neighbors of the last one
    // as its neighbors.
    Array<Vertex> step;

    Vertex size() const { return static_cast<Vertex>(order.size()); }
    ptrdiff_t entries() const { return static_cast<ptrdiff_t>(higher.size()); }
};

// The ranks first, ..., end - 1 of a step.
inline Vertex first_of_step(Vertex step) { return step < 0 ? ~step : step; }
inline Vertex end_of_step(Vertex step) { return step < 0 ? ~step + most_block_columns : step + 1; }

// Eliminates the vertices in this order, but for changes that add no edge. Throws Stopped, and
// std::overflow_error if there would be more than most_entries edges.
Structure eliminate_vertices(const Neighbors& graph, const Array<Vertex>& order,
                             ptrdiff_t most_entries, Stop& stop);

// The greatest number of ranks on a path of the tree.
Vertex height(const Structure& structure);

// The position of the edge between ranks low < high among the entries.
ptrdiff_t entry_of(const Structure& structure, Vertex low, Vertex high);

}  // namespace tropical
