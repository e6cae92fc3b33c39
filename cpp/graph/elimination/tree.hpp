// Of most rows, the arcs of the best products are a tree: each leads from a better vertex to a
// worse one, or each from a worse one. Otherwise, as with cycles of weight zero, ties of maxmin or
// rounding, arcs may make cycles. Then the vertices whose arcs do not lead back to the source are
// connected again, one after the other, by the arc whose product is nearest to their value.
#pragma once

#include <queue>
#include <tuple>

#include "graph/elimination/arcs.hpp"

namespace tropical {

// The tree of one source: what does not depend on the numbers, which a `TreeOf` reads.
class Tree {
  protected:
    enum class State : char { unknown, unreached, walked, rooted, lost };
    // That vertex v is connected by arc a, whose product differs from v's value so much.
    struct Offer {
        double difference;
        Vertex v;
        ptrdiff_t arc;
        bool operator>(const Offer& other) const {
            return std::tie(difference, v, arc) > std::tie(other.difference, other.v, other.arc);
        }
    };

    const Structure& s_;
    const Arcs& arcs_;
    const Vertex source_;
    Vertex* const before_;
    Array<State> state_;            // of vertices to which no path leads, unreached from the start
    Array<Vertex> lost_, place_;    // place_[lost_[i]] = i
    Array<ptrdiff_t> start_, arc_;  // the arcs from lost_[i] to others
    Array<Vertex> target_;          // of each of them

    Tree(const Structure& s, const Arcs& arcs, Vertex source, Vertex* before)
        : s_(s),
          arcs_(arcs),
          source_(source),
          before_(before),
          state_(s.order.size(), State::unknown) {}

    void find_lost();         // lost_: the vertices that do not lead back to the source
    void list_arcs_within();  // start_, arc_ and target_, between lost vertices
    bool has_offers() const { return !exact_.empty() || !others_.empty(); }
    void offer(const Offer& offer);
    Offer next();  // the best offer, which is taken out

  private:
    std::queue<Offer> exact_;
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> others_;
};

}  // namespace tropical
