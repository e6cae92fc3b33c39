// Transitive closure by strongly connected components: the fastest way for a graph with few edges
// or many cycles.
#pragma once

#include <cstdint>
#include <vector>

#include "dispatch.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

// The transitive closure of a graph. All vertices of a strongly connected component reach the same
// vertices: the successors of the component, and whatever these reach. So the components are closed
// one by one, each one after its successors (P. Purdom, "A transitive closure algorithm", BIT 10,
// 1970). That takes one sum of rows of bits for each vertex, and one for each successor that no
// earlier successor reaches.
//
// A depth-first search finds the components in this order (H. N. Gabow, "Path-based depth-first
// search for strong and biconnected components", Information Processing Letters 74, 2000). The
// vertices whose component is not closed yet are on a stack, in groups; the vertices of a group are
// known to share a component. The search looks at 64 vertices at a time.
class Components {
  public:
    // `edges` is an n x n matrix of bytes; a byte that is not 0 is an edge. Throws std::bad_alloc.
    Components(const ConstView& edges, ptrdiff_t n, const Isa& isa, int threads);
    ptrdiff_t size() const { return n_; }
    // The number of vertices whose component is not closed yet.
    ptrdiff_t left() const { return left_; }
    // The number of rows that have been read: at most two for each vertex, and one for each sum.
    ptrdiff_t rows() const { return rows_; }
    // BitGraph would be done in the time of so many rows; see docs/decisions.md.
    ptrdiff_t most_rows() const { return 2 * n_ + n_ * n_ / (128 * threads_); }
    // Goes on for about `rows` more rows, or until no vertex is left.
    void advance(ptrdiff_t rows);
    // Writes the closure as an n x n matrix of bytes, 0 or 1. No vertex may be left.
    void store(const View& target) const;

  private:
    using Words = std::vector<std::uint64_t>;
    // A vertex on the path of the search. Its successors in the words before `word` have been seen.
    struct Place {
        ptrdiff_t vertex, word;
    };
    char* row(ptrdiff_t vertex) const { return bits_ + vertex * pitch_; }
    ptrdiff_t words() const { return static_cast<ptrdiff_t>(unseen_.size()); }
    ptrdiff_t next(Place& place) const;
    void enter(ptrdiff_t vertex);
    void leave(ptrdiff_t vertex);
    void close(ptrdiff_t vertex);

    ptrdiff_t n_, pitch_;
    const KernelTable& table_;
    int threads_;
    Workspace memory_;
    // A row for each vertex: its successors. The row of the first vertex of a group has the
    // successors of the whole group; once the component is closed, all vertices that it reaches.
    char* bits_;
    char* below_;  // a row for each group: the vertices on the stack before the group
    ptrdiff_t left_, rows_ = 0;
    Words unseen_, on_stack_, beyond_;
    std::vector<Place> path_;
    std::vector<ptrdiff_t> stack_;
    std::vector<ptrdiff_t> groups_;  // where on the stack each group begins
    std::vector<ptrdiff_t> place_;   // where on the stack each vertex lies
    std::vector<ptrdiff_t> first_;   // the first vertex of each vertex's component
};

}  // namespace tropical
