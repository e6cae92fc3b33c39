// Best paths from up to 32 sources at once: a row of numbers for each vertex, a number for each
// source. The arcs of a vertex whose row has changed are followed, for all sources in a few
// instructions, until no row changes (R. Bellman, "On a routing problem", Quarterly of Applied
// Mathematics 16, 1958, with a list of the vertices that changed). Rounding keeps the order of
// sums, so the numbers are those of a best-first search, bit for bit.
//
// Measured: where most vertices are few arcs apart, as in random graphs, each arc is followed 6 to
// 10 times for 32 sources. A search for each source follows it 32 times, each time with a heap.
#pragma once

#include "graph/search/graph.hpp"
#include "table.hpp"

namespace tropical::search {

inline constexpr ptrdiff_t at_once = relaxed_row_bytes / static_cast<ptrdiff_t>(sizeof(double));

class Relaxation {
  public:
    // zero, one: of the semiring. Throws std::bad_alloc.
    Relaxation(const Graph& graph, const KernelSet& set, double zero, double one);

    // Sources, whose paths of no arc have these values, or one for null.
    void begin(const Vertex* sources, const double* values, ptrdiff_t count);

    // Follows the arcs of all vertices whose rows have changed before; false if the graph is
    // malformed.
    bool follow();

    bool done() const { return listed_ == 0; }
    ptrdiff_t followed() const { return followed_; }  // vertices and arcs

    // Writes the numbers of the first `count` sources, as so many rows. The result is how many of
    // them are not zero.
    template <class T>
    ptrdiff_t write(T* target, ptrdiff_t count) const;

  private:
    double* row(ptrdiff_t v) const {
        return reinterpret_cast<double*>(rows_ + v * relaxed_row_bytes);
    }
    void prefetch_heads(Vertex tail) const;

    const Graph& graph_;
    const KernelSet& set_;
    const double zero_, one_;
    const Memory<char> memory_;
    const Memory<std::uint8_t> waits_;  // whether a vertex is in next_, or yet to come in now_
    Memory<Vertex> now_, next_;
    char* rows_;
    bool prefetches_;
    ptrdiff_t listed_ = 0, followed_ = 0;
};

}  // namespace tropical::search
