// Which vertices of a graph can be reached from which, by its strong components: the fastest way
// where edges are few, or cycles many.
#pragma once

#include <cstdint>
#include <vector>

#include "dispatch.hpp"
#include "workspace.hpp"

namespace tropical {

// The transitive closure of the graph whose edges an n x n matrix of bytes says. All vertices of a
// strong component reach the same: where their edges lead, and what can be reached from there. So
// components are closed one by one, each after those that it leads to (P. Purdom, "A transitive
// closure algorithm", BIT 10, 1970), which takes a sum of rows of bits for every vertex, and for each
// edge to a component that no other already led to.
//
// A depth-first search finds them in this order, as H. N. Gabow's does ("Path-based depth-first
// search for strong and biconnected components", Information Processing Letters 74, 2000): the
// vertices that have no component yet are on a stack, in groups that are known to be in one. It looks
// at 64 vertices at a time, so that its time depends on the number of vertices alone.
class Components {
  public:
    // Throws std::bad_alloc.
    Components(const ConstView& edges, ptrdiff_t n, const Isa& isa, int threads);
    ptrdiff_t size() const { return n_; }
    // How many vertices have no closed component yet.
    ptrdiff_t left() const { return left_; }
    // How many rows have been looked at: two for a vertex at most, and those of components added up.
    ptrdiff_t rows() const { return rows_; }
    // After how many BitGraph, whose time depends little on the edges, would be done; see decisions.
    ptrdiff_t most_rows() const { return 2 * n_ + n_ * n_ / (128 * threads_); }
    // Goes on until so many more have been, or none is left.
    void advance(ptrdiff_t rows);
    // Once none is left.
    void store(const View& target) const;

  private:
    using Words = std::vector<std::uint64_t>;
    struct Place {
        ptrdiff_t vertex, word;  // the words before it lead nowhere new
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
    // A row for every vertex: its edges, and those of its group if it is its first; what can be
    // reached, once that is a component.
    char* bits_;
    char* below_;  // a row for every group: what was on the stack before its first vertex
    ptrdiff_t left_, rows_ = 0;
    Words unseen_, on_stack_, beyond_;
    std::vector<Place> path_;
    std::vector<ptrdiff_t> stack_, groups_;  // of each group the place of its first on the stack
    std::vector<ptrdiff_t> place_;           // of each vertex on the stack
    std::vector<ptrdiff_t> first_;           // of each vertex's component
};

}  // namespace tropical
