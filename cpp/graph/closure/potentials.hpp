// Shortest distances in a sparse graph whose weights may be negative, or a cycle of negative
// weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tropical {

using std::ptrdiff_t;

// A vector indexed by vertices and arcs, which are signed.
template <class T>
class Column {
  public:
    Column() = default;
    Column(ptrdiff_t length, T value) : values_(static_cast<std::size_t>(length), value) {}
    explicit Column(std::vector<T> values) : values_(std::move(values)) {}
    T& operator[](ptrdiff_t i) { return values_.data()[i]; }
    const T& operator[](ptrdiff_t i) const { return values_.data()[i]; }
    ptrdiff_t length() const { return static_cast<ptrdiff_t>(values_.size()); }

  private:
    std::vector<T> values_;
};

// The m arcs of n vertices: those of vertex i are start[i] to start[i + 1] - 1. start has n + 1
// elements from 0 to m, which do not fall; targets are in [0, n).
struct ArcColumns {
    Column<ptrdiff_t> start, target;
    Column<double> weight;
};

// Potentials h (n): h[j] <= h[i] + weight for each arc from i to j, but for rounding. h[j] is the
// length of the shortest path that ends in j, at most 0, among the vertices that `sources` reach.
//
// Bellman and Ford's method scans the vertices of a queue, at first all vertices in reverse
// postorder: a graph without cycles needs one scan of each. The vertices are in a tree of shortest
// paths. When the path to j becomes shorter, the paths through j are out of date. So they leave the
// tree, and their ends the queue (R. E. Tarjan, 1981; "BFCT" of B. V. Cherkassky and A. V.
// Goldberg, "Negative-cycle detection algorithms", Mathematical Programming 85, 1999). If the tail
// of the arc is among these ends, the arc closes a cycle, of negative weight unless by rounding.
class Potentials {
  public:
    // Throws std::bad_alloc.
    Potentials(ArcColumns arcs, const std::vector<ptrdiff_t>& sources);
    ptrdiff_t size() const { return n_; }
    // Whether all arcs, but for rounding, are as above; or 2 n + 2 scans of the queue did not do.
    bool done() const { return done_; }
    // Looks at about `arcs` arcs more, until done or until an arc closes a cycle whose weight is
    // negative or too close to 0 to be sure. If called again, the arc counts as none this time.
    void advance(ptrdiff_t arcs);
    // The vertices of the cycle in order; empty if there is none.
    const std::vector<ptrdiff_t>& cycle() const { return cycle_; }
    double operator[](ptrdiff_t vertex) const { return distance_[vertex]; }

  private:
    std::vector<ptrdiff_t> reverse_postorder(const std::vector<ptrdiff_t>& sources);
    void relax(ptrdiff_t arc);
    bool leave_subtree(ptrdiff_t vertex);
    void attach(ptrdiff_t vertex, ptrdiff_t parent);
    void enqueue(ptrdiff_t vertex);
    bool next_vertex();
    void enqueue_tails();
    void close_cycle(ptrdiff_t vertex, ptrdiff_t arc);

    ArcColumns arcs_;
    ptrdiff_t n_;
    Column<double> distance_;
    // The tree in preorder, a list in both directions. Vertex n is the root, at depth 0; a vertex
    // outside the tree has depth 0, too. `via_` is the arc from the parent, -1 below the root.
    Column<ptrdiff_t> parent_, via_, depth_, next_, previous_;
    // The queue, a ring: a vertex that left the tree stays in its place, but is not waiting.
    Column<ptrdiff_t> ring_;
    Column<std::uint8_t> waiting_, in_ring_, reached_;
    ptrdiff_t head_ = 0, queued_ = 0, left_in_pass_ = 0, passes_ = 0;
    ptrdiff_t tail_ = 0, arc_ = 0, last_arc_ = 0;  // the vertex that is scanned, and its arcs
    bool changed_ = false, done_ = false;
    std::vector<ptrdiff_t> cycle_;
};

}  // namespace tropical
