// The factor of a graph over an idempotent semiring, as LU in linear algebra, and rows of its star
// A* = one (+) A (+) A (x) A (+) ...: the best paths from some vertices.
//
// B. Carre, "An algebra for network routing problems", Journal of the Institute of Mathematics and
// its Applications 7, 1971; R. C. Backhouse and B. A. Carre, "Regular algebra applied to
// path-finding problems", the same journal 15, 1975. On the edges that elimination adds: J.
// Dibbelt, B. Strasser and D. Wagner, "Customizable contraction hierarchies", ACM Journal of
// Experimental Algorithmics 21, 2016.
#pragma once

#include "dispatch.hpp"
#include "graph/elimination/schedule.hpp"
#include "product.hpp"
#include "runtime/stop.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

// m edges of a graph, and where the factor keeps them. edges_in throws Stopped.
struct Edges {
    Array<Vertex> source, target;  // ranks
    Array<ptrdiff_t> entry;        // -1 for loops
};
Edges edges_in(const Structure& structure, ptrdiff_t edges, const Vertex* source,
               const Vertex* target, Stop& stop);

// up and down hold an element for each entry (low, high) of the structure: the best path from low
// to high, or from high to low, whose inner vertices are lower than both. An undirected graph has
// no `down` of its own.
struct Factor {
    const Structure& structure;
    int semiring;
    DType dtype;
    char *up, *down;
    bool directed() const { return up != down; }
};

// Computes up and down from the weights of the edges. Where the graph is undirected, each edge
// counts in both directions. The result is the rank of a vertex on a cycle that improves with every
// round, where `refuses` such cycles, or -1. Throws std::bad_alloc, Stopped.
Vertex eliminate_weights(const Factor& factor, const Edges& edges, const char* weights,
                         bool refuses, const Isa& isa, int threads, StopRequested stop_requested);

// Rows of the star: out[i, j] is the best path from sources[i] to targets[j], vertices; no targets
// stand for all vertices, which `predecessors` needs; see elimination/predecessors.hpp. schedule:
// of these targets, without predecessors; null: one is made. Throws std::bad_alloc, Stopped.
struct Predecessors;
struct Rows {
    const Array<Vertex>& sources;
    const Array<Vertex>* targets;
    View out;
    const Predecessors* predecessors = nullptr;
    const Schedule* schedule = nullptr;
};
void star_rows(const Factor& factor, const Rows& rows, const Isa& isa, int threads,
               Workspace& workspace, StopRequested stop_requested);

// Sums over rows of the star over minplus, sources.size() elements in each of rows() rows of out.
// lengths: the sum of the lengths from a source, the number of vertices that it reaches, and the
// greatest length. reciprocals: the sum of 1 / length over lengths that are not 0. within: for each
// radius, the sum of the weights (n; null: 1 each) of the vertices that are at most so far away.
// Throws std::bad_alloc, Stopped.
enum class Fold { lengths, reciprocals, within };
struct Folds {
    Fold kind;
    const Array<Vertex>& sources;
    const double* weight;
    Array<double> radii;
    double* out;

    ptrdiff_t rows() const {
        return kind == Fold::lengths ? 3 : kind == Fold::within ? std::ssize(radii) : 1;
    }
};
void fold_star(const Factor& factor, const Folds& folds, const Isa& isa, int threads,
               Workspace& workspace, StopRequested stop_requested);

}  // namespace tropical
