// A path while it is built, as a list that is linked both ways.
#pragma once

#include "graph/elimination/order.hpp"

namespace tropical {

// Ranks in the order of a path.
class Walk {
  public:
    explicit Walk(std::size_t ranks) : next_(ranks, absent), previous_(ranks) {}

    Vertex first() const { return first_; }
    Vertex next(Vertex r) const { return next_[r]; }

    // At the end; if r is on the walk, what follows r is removed.
    void append(Vertex r) {
        if (next_[r] != absent) {
            while (last_ != r) remove_last();
            return;
        }
        if (last_ == none)
            first_ = r;
        else
            next_[last_] = r;
        previous_[r] = last_;
        next_[r] = none;
        last_ = r;
    }

    // Between a and next(a). If k is on the walk, so that there is a loop, the loop is removed.
    // Calls act(r) for each rank r whose next one is new.
    template <class Act>
    void insert(Vertex a, Vertex k, Act act) {
        const Vertex b = next_[a];
        if (next_[k] == absent) {
            link(a, k);
            link(k, b);
            act(a);
            act(k);
            return;
        }
        Vertex before = a, after = b;  // alternately, as long as the loop is
        while (before != k && after != k) {
            if (before >= 0) before = previous_[before];
            if (after >= 0) after = next_[after];
        }
        if (after == k) {
            remove(b, k);
            link(a, k);
            act(a);
        } else {
            remove(next_[k], b);
            link(k, b);
            act(k);
        }
    }

  private:
    static constexpr Vertex absent = -2, none = -1;
    Array<Vertex> next_, previous_;
    Vertex first_ = none, last_ = none;

    void link(Vertex a, Vertex b) {
        next_[a] = b;
        previous_[b] = a;
    }
    void remove(Vertex r, Vertex end) {
        while (r != end) {
            const Vertex after = next_[r];
            next_[r] = absent;
            r = after;
        }
    }
    void remove_last() {
        const Vertex r = last_;
        last_ = previous_[r];
        next_[last_] = none;
        next_[r] = absent;
    }
};

}  // namespace tropical
