// Which vertices of a graph can be reached from which: Warshall's algorithm on packed bits, whatever
// the edges.
#pragma once

#include "dispatch.hpp"
#include "workspace.hpp"

namespace tropical {

// The edges of a graph, a bit each, to which `pass` adds paths through more and more vertices. Those
// of an n x n matrix of bytes; whoever has passed every strip once has its transitive closure.
class BitGraph {
  public:
    // Throws std::bad_alloc.
    BitGraph(const ConstView& edges, ptrdiff_t n, const Isa& isa, int threads);
    // How many strips of vertices there are.
    ptrdiff_t strips() const { return (n_ + width_ - 1) / width_; }
    // Adds the paths through the vertices of a strip.
    void pass(ptrdiff_t strip);
    void store(const View& target);
    ptrdiff_t size() const { return n_; }

  private:
    ReachArgs args() const { return {n_, bits_, nullptr, 0, 0, 0, 0, 0}; }
    char* scratch(int slot) const;
    ptrdiff_t register_bytes() const { return width_ / 8; }

    struct Step;
    ptrdiff_t n_, width_;
    const BitGraphKernels& kernels_;
    int threads_;
    Workspace memory_;
    char* bits_;
};

}  // namespace tropical
