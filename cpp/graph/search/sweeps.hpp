// Rows of best paths that take every arc of a graph in a known order: of a graph without cycles, of
// paths of k arcs, and where paths lead at all. Other than in a best-first search, an arc may
// improve a path.
#pragma once

#include "graph/search/graph.hpp"
#include "runtime/stop.hpp"

namespace tropical::search {

// Sources, and their rows: one for each source, or one for all of them together.
struct Rows {
    const Vertex* sources;
    ptrdiff_t count;
    bool together;

    ptrdiff_t rows() const { return together ? 1 : count; }
};

// values (rows, n) and before (rows, n), or null: the best paths in a graph without cycles. `order`
// (n,) has the tail of each arc before its head. Each function throws Stopped and std::bad_alloc.
void sweep(const Graph& graph, int semiring, const Rows& rows, const Vertex* order, double* values,
           Vertex* before, int threads, StopRequested stop_requested);

// values (rows, n): the best paths of k arcs, or of at most k arcs. before (k, rows, n): the vertex
// before the end of the best path of h + 1 arcs, of equal ones the least; -1 where there is no path
// or a path of fewer arcs is as good.
struct Rounds {
    ptrdiff_t k;
    bool at_most;
    double* values;
    Vertex* before;
};
void take_rounds(const Graph& graph, int semiring, const Rows& rows, const Rounds& rounds,
                 int threads, StopRequested stop_requested);

// reached (rows, columns) of bytes: whether a path of any number of arcs leads from the source to
// each target, or, for null targets, to each of n vertices. `numbers` are those of the strong
// components.
struct Reached {
    const Vertex* numbers;
    const Vertex* targets;
    ptrdiff_t columns;
    std::uint8_t* bytes;
};
void reach(const Graph& graph, const Rows& rows, const Reached& reached, int threads,
           StopRequested stop_requested);

}  // namespace tropical::search
