// Transitive closure by Warshall's algorithm on packed bits. The time depends on the number of
// vertices, hardly on the edges.
#pragma once

#include "dispatch.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

// A graph, one bit for each pair of vertices. At first a bit says that there is an edge.
// pass(strip) adds the paths through the vertices of one strip. After every strip has been passed
// once, the bits are the transitive closure.
class BitGraph {
  public:
    // `edges` is an n x n matrix of bytes; a byte that is not 0 is an edge. Throws std::bad_alloc.
    BitGraph(const ConstView& edges, ptrdiff_t n, const Isa& isa, int threads);
    // A strip is as many vertices as a vector register has bits.
    ptrdiff_t strips() const { return (n_ + width_ - 1) / width_; }
    void pass(ptrdiff_t strip);
    // Writes the bits as an n x n matrix of bytes, 0 or 1.
    void store(const View& target);
    ptrdiff_t size() const { return n_; }

  private:
    // What the kernels of every step have in common.
    ReachArgs args() const {
        return {.n = n_,
                .bits = bits_,
                .scratch = nullptr,
                .via = 0,
                .first = 0,
                .last = 0,
                .first_strip = 0,
                .strips = 0};
    }
    // Tables of one thread.
    char* scratch(int slot) const;
    ptrdiff_t register_bytes() const { return width_ / 8; }

    struct Step;
    ptrdiff_t n_, width_;
    const BitGraphKernels& kernels_;
    int threads_;
    Workspace memory_;
    char* bits_;  // strips, one after the other; behind the tables of all threads
};

}  // namespace tropical
