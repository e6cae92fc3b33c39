#include "graph/closure/potentials.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tropical {
namespace {

// A sum of doubles as two doubles, with a bound of its error (D. E. Knuth, "The Art of Computer
// Programming", volume 2, section 4.2.2).
struct Sum {
    double high = 0, low = 0, error = 0;

    static double add_exactly(double& sum, double x) {
        const double old = sum;
        sum = old + x;
        const double added = sum - old;
        return (old - (sum - added)) + (x - added);
    }
    void add(double x) { error += std::fabs(add_exactly(low, add_exactly(high, x))); }
    // Not if the numbers overflow.
    bool is_surely_not_negative() {
        low = add_exactly(high, low);
        const double least = high == 0 ? low : high;
        return error == 0 ? least >= 0 : high > 4 * error;
    }
};

}  // namespace

Potentials::Potentials(ArcColumns arcs, const std::vector<ptrdiff_t>& sources)
    : arcs_(std::move(arcs)),
      n_(arcs_.start.length() - 1),
      distance_(n_, 0),
      parent_(n_, n_),
      via_(n_, -1),
      depth_(n_ + 1, 0),
      next_(n_ + 1, n_),
      previous_(n_ + 1, n_),
      ring_(n_, 0),
      waiting_(n_, 0),
      in_ring_(n_, 0),
      reached_(n_, 0) {
    for (const ptrdiff_t vertex : reverse_postorder(sources)) {
        attach(vertex, n_);
        enqueue(vertex);
    }
}

// The vertices that the sources reach, each one after its predecessors unless on a cycle.
std::vector<ptrdiff_t> Potentials::reverse_postorder(const std::vector<ptrdiff_t>& sources) {
    std::vector<ptrdiff_t> order, path;
    Column<ptrdiff_t> next(n_, 0);  // the next arc of each vertex on the path
    const auto enter = [&](ptrdiff_t vertex) {
        if (std::exchange(reached_[vertex], std::uint8_t{1})) return;
        next[vertex] = arcs_.start[vertex];
        path.push_back(vertex);
    };
    for (const ptrdiff_t source : sources)
        for (enter(source); !path.empty();) {
            const ptrdiff_t vertex = path.back();
            if (next[vertex] < arcs_.start[vertex + 1]) {
                enter(arcs_.target[next[vertex]++]);
            } else {
                order.push_back(vertex);
                path.pop_back();
            }
        }
    std::reverse(order.begin(), order.end());
    return order;
}

void Potentials::advance(ptrdiff_t arcs) {
    for (cycle_.clear(); arcs > 0 && !done_ && cycle_.empty(); --arcs)
        if (arc_ < last_arc_)
            relax(arc_++);
        else
            done_ = !next_vertex();
}

void Potentials::relax(ptrdiff_t arc) {
    const ptrdiff_t head = arcs_.target[arc];
    const double length = distance_[tail_] + arcs_.weight[arc];
    if (!(length < distance_[head])) return;
    if (!leave_subtree(head)) return close_cycle(head, arc);
    distance_[head] = length;
    changed_ = true;
    via_[head] = arc;
    attach(head, tail_);
    enqueue(head);
}

// Takes a vertex and all vertices below it out of the tree. False if tail_ is one of them: then
// nothing changes.
bool Potentials::leave_subtree(ptrdiff_t vertex) {
    if (vertex == tail_) return false;
    if (depth_[vertex] == 0) return true;
    ptrdiff_t end = next_[vertex];
    for (; depth_[end] > depth_[vertex]; end = next_[end])
        if (end == tail_) return false;
    next_[previous_[vertex]] = end;
    previous_[end] = previous_[vertex];
    for (ptrdiff_t below = next_[vertex]; below != end; below = next_[below]) {
        depth_[below] = 0;
        waiting_[below] = 0;
    }
    return true;
}

// Puts a vertex that is not in the tree right behind its parent, in preorder.
void Potentials::attach(ptrdiff_t vertex, ptrdiff_t parent) {
    parent_[vertex] = parent;
    depth_[vertex] = depth_[parent] + 1;
    previous_[vertex] = parent;
    next_[vertex] = next_[parent];
    previous_[next_[parent]] = vertex;
    next_[parent] = vertex;
}

void Potentials::enqueue(ptrdiff_t vertex) {
    waiting_[vertex] = 1;
    if (std::exchange(in_ring_[vertex], std::uint8_t{1})) return;
    ring_[(head_ + queued_++) % n_] = vertex;
}

// Makes the next vertex of the queue the tail; false at the end.
bool Potentials::next_vertex() {
    if (queued_ == 0 && std::exchange(changed_, false)) enqueue_tails();
    while (queued_ > 0) {
        if (left_in_pass_ == 0) {
            left_in_pass_ = queued_;
            if (++passes_ > 2 * n_ + 2) return false;
        }
        tail_ = ring_[head_];
        head_ = (head_ + 1) % n_;
        --queued_;
        --left_in_pass_;
        in_ring_[tail_] = 0;
        if (!std::exchange(waiting_[tail_], std::uint8_t{0})) continue;
        arc_ = arcs_.start[tail_];
        last_arc_ = arcs_.start[tail_ + 1];
        return true;
    }
    return false;
}

// Only rounding leaves an arc that shortens a path: a shorter path to a vertex did not make the
// paths through it shorter, whose ends had left the queue. These vertices wait again.
void Potentials::enqueue_tails() {
    for (ptrdiff_t vertex = 0; vertex < n_; ++vertex) {
        if (!reached_[vertex]) continue;
        for (ptrdiff_t arc = arcs_.start[vertex]; arc < arcs_.start[vertex + 1]; ++arc)
            if (distance_[vertex] + arcs_.weight[arc] < distance_[arcs_.target[arc]]) {
                if (depth_[vertex] == 0) attach(vertex, n_);
                enqueue(vertex);
                break;
            }
    }
}

// The cycle from a vertex along the tree to tail_ and back by an arc, unless its weight is surely
// not negative.
void Potentials::close_cycle(ptrdiff_t vertex, ptrdiff_t arc) {
    Sum weight;
    weight.add(arcs_.weight[arc]);
    for (ptrdiff_t at = tail_; at != vertex; at = parent_[at]) weight.add(arcs_.weight[via_[at]]);
    if (weight.is_surely_not_negative()) return;
    for (ptrdiff_t at = tail_; at != vertex; at = parent_[at]) cycle_.push_back(at);
    cycle_.push_back(vertex);
    std::reverse(cycle_.begin(), cycle_.end());
}

}  // namespace tropical
