// In which order the sweep down visits the ranks, when their values are copied to a result, and
// where they stand meanwhile.
#pragma once

#include "graph/elimination/structure.hpp"

namespace tropical {

// Some steps of the sweep down, and the groups of columns that are copied thereafter, as no lower
// step has one of theirs. See CopyArgs in table.hpp.
struct Chunk {
    ptrdiff_t first_step, end_step, first_group, end_group;
};

struct Schedule {
    Array<Vertex> steps;   // of the sweep down, ascending
    Array<Chunk> chunks;   // the highest ranks first
    Array<Vertex> groups;  // of columns, in the order in which they are copied
    Array<Vertex> column;  // the row of X of each column
    Vertex rows = 0;       // of X
    Vertex height = 0;     // of the tree, where rows are reused
    // Where rows are reused: slot[r] is the row of X of rank r, as long as a rank or a column needs
    // it, and higher[e] that of entry e's higher neighbor. Of New York's roads a tenth of the
    // vertices has a row at a time, so that X stays in the cache. Else both are empty, and rank r
    // has row r.
    Array<Vertex> slot, higher;

    bool reuses_rows() const { return !slot.empty(); }
};

// Columns for the targets, which are vertices; no targets stand for all vertices. Throws Stopped.
Schedule schedule_rows(const Structure& structure, const Array<Vertex>* targets, bool reuses_rows,
                       Stop& stop);

}  // namespace tropical
