// The shortest paths without loops between two vertices, one after the other.
#pragma once

#include <set>

#include "graph/search/ranks.hpp"
#include "runtime/stop.hpp"

namespace tropical::search {

// J. Y. Yen, "Finding the k shortest loopless paths in a network", Management Science 17, 1971,
// with E. L. Lawler's partition ("A procedure for computing the k best solutions to discrete
// optimization problems", Management Science 18, 1972): a candidate is the shortest of all paths
// that begin with its first `common` + 1 vertices and go on to none of `barred`. Taking it out
// divides the others of these paths into parts, each with a candidate of its own. These are found
// by searches toward the target: the lengths of the shortest paths to it, loops or not, are lower
// bounds (A*; P. E. Hart, N. J. Nilsson and B. Raphael, IEEE Transactions on Systems Science and
// Cybernetics 4, 1968).
class LooplessPaths {
  public:
    struct Path {
        double length;  // the sum from the source on
        Array<Vertex> vertices;
    };
    // Weights are not negative. to_target (n,) are the lengths of the shortest paths to the target.
    // The arrays of both must outlive the object. Throws std::bad_alloc.
    LooplessPaths(const Graph& graph, const double* to_target, Vertex source, Vertex target);
    // The next path; false if there are no more. Throws std::bad_alloc, Stopped.
    bool next(Path& path, StopRequested stop_requested);

  private:
    struct Candidate {
        double length;
        ptrdiff_t number;  // the first of equally long ones comes first
        Array<Vertex> vertices, barred;
        ptrdiff_t common;
        bool operator<(const Candidate& other) const {
            return length != other.length ? length < other.length : number < other.number;
        }
    };
    void divide(Stop& stop);
    void add_candidate(const Array<Vertex>& root, double length, Array<Vertex> barred, Stop& stop);
    bool search(Vertex from, double length, const Array<Vertex>& barred, Stop& stop);
    void reach(Vertex head, double length, Vertex before, Rank most);
    double weight(ptrdiff_t arc) const;
    double least_weight(Vertex tail, Vertex head) const;

    const Graph graph_;
    const double* to_target_;
    const Vertex source_, target_;
    std::set<Candidate> candidates_;
    Candidate taken_{};  // divided when another path is asked for
    ptrdiff_t made_ = 0;
    bool begun_ = false;
    // Of the search; clean between two searches.
    Memory<Rank> rank_;            // (n,) of the length to each vertex; 0: not reached
    Memory<Vertex> before_;        // (n,)
    Memory<std::uint8_t> closed_;  // (n,) 1: left at this length; 2: on the root
    Memory<std::uint8_t> barred_;  // (n,) while the end of the root is left
    Array<Vertex> touched_;
    Heap heap_;
};

}  // namespace tropical::search
