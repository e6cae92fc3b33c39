// The vertex before each one on the best paths from some vertices.
#pragma once

#include "graph/elimination/arcs.hpp"

namespace tropical {

// out[i, j], int32: the vertex before j on the best path from source number i; no_predecessor where
// there is no path, and for the source itself. Rows are contiguous. weights: an element for each
// arc.
struct Predecessors {
    const Arcs& arcs;
    const char* weights;
    View out;
};

// What the sweeps leave behind for `count` sources from number `first` on: row r of X holds, one
// element for each of them, the best path from the source to rank r.
struct Swept {
    char* x;
    ptrdiff_t row_bytes;
    const Vertex* sources;
    ptrdiff_t first, count;
};

// Writes rows first, ..., first + count - 1. Throws std::bad_alloc. Ends early if `stop` says
// so, on the thread of this slot.
void write_predecessors(const Factor& factor, const Predecessors& wanted, const Swept& swept,
                        const KernelSet& set, Stop& stop, int slot);

// The weight of each arc, arcs.size() elements.
void copy_arc_weights(const Arcs& arcs, const char* edge_weights, DType dtype, char* target);

}  // namespace tropical
