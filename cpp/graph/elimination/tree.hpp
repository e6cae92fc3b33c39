// Of most rows, the arcs of the best products are a tree: each leads from a better vertex to a
// worse one, or each from a worse one. Otherwise, as with cycles of weight zero, ties of maxmin or
// rounding, arcs may make cycles. Then the vertices whose arcs do not lead back to the source are
// connected again, one after the other, by the arc whose product is nearest to their value.
#pragma once

#include <queue>
#include <tuple>

#include "graph/elimination/arcs.hpp"

namespace tropical {

// The tree of one source. What depends on the numbers is asked of a `TreeOf`.
class Tree {
  public:
    Tree(const Structure& s, const Arcs& arcs, Vertex source, Vertex* before)
        : s_(s),
          arcs_(arcs),
          source_(source),
          before_(before),
          state_(s.order.size(), State::unknown) {}
    virtual ~Tree() = default;
    void mend();

  protected:
    const Structure& s_;
    const Arcs& arcs_;

    virtual bool is_reached(Vertex v) const = 0;
    // By how much the product along arc a differs from v's value; less than 0 if there is none.
    virtual double difference(Vertex v, ptrdiff_t a) const = 0;

  private:
    enum class State : char { unknown, walked, rooted, lost };
    // That vertex v is connected by arc a, whose product differs from v's value so much.
    struct Offer {
        double difference;
        Vertex v;
        ptrdiff_t arc;
        bool operator>(const Offer& other) const {
            return std::tie(difference, v, arc) > std::tie(other.difference, other.v, other.arc);
        }
    };

    const Vertex source_;
    Vertex* const before_;
    Array<State> state_;
    Array<Vertex> lost_, place_;    // place_[lost_[i]] = i
    Array<ptrdiff_t> start_, arc_;  // the arcs from lost_[i] to others
    Array<Vertex> target_;          // of each of them
    std::queue<Offer> exact_;
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> others_;

    void find_lost();         // lost_: the vertices that do not lead back to the source
    void list_arcs_within();  // start_, arc_ and target_, between lost vertices
    void offer(Vertex v, ptrdiff_t a);
    Offer next();
    void connect(const Offer& best);
};

}  // namespace tropical
