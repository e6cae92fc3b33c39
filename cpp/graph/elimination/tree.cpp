#include "graph/elimination/tree.hpp"

namespace tropical {

void Tree::find_lost() {
    state_[source_] = State::rooted;
    // What `before_` says may come from another thread of its owner.
    const auto state_is = [&](Vertex v, State state) {
        return static_cast<std::uint32_t>(v) < state_.size() && state_[v] == state;
    };
    Array<Vertex> walk;
    for (Vertex v = 0; v < s_.size(); ++v) {
        if (state_[v] == State::unreached) continue;
        walk.clear();
        Vertex u = v;
        for (; state_is(u, State::unknown); u = before_[u]) {
            state_[u] = State::walked;
            walk.push_back(u);
        }
        const State end = state_is(u, State::rooted) ? State::rooted : State::lost;
        for (const Vertex w : walk) state_[w] = end;
        if (end == State::lost) lost_.insert(lost_.end(), walk.begin(), walk.end());
    }
}

void Tree::list_arcs_within() {
    place_.assign(state_.size(), -1);
    start_.assign(lost_.size() + 2, 0);
    for (Vertex i = 0; i < static_cast<Vertex>(lost_.size()); ++i) place_[lost_[i]] = i;
    const auto each = [&](auto act) {
        for (const Vertex v : lost_)
            for (ptrdiff_t a = arcs_.start[v]; a < arcs_.start[v + 1]; ++a)
                if (const Vertex i = place_[s_.order[arcs_.source[a]]]; i >= 0) act(v, a, i);
    };
    each([&](Vertex, ptrdiff_t, Vertex i) { ++start_[i + 2]; });
    for (ptrdiff_t i = 2; i < std::ssize(start_); ++i) start_[i] += start_[i - 1];
    arc_.resize(static_cast<std::size_t>(start_.back()));
    target_.resize(arc_.size());
    each([&](Vertex v, ptrdiff_t a, Vertex i) {
        const ptrdiff_t to = start_[i + 1]++;
        arc_[to] = a;
        target_[to] = v;
    });
}

void Tree::offer(const Offer& offer) {
    offer.difference == 0 ? exact_.push(offer) : others_.push(offer);
}

Tree::Offer Tree::next() {
    Offer best = exact_.empty() ? others_.top() : exact_.front();
    exact_.empty() ? others_.pop() : exact_.pop();
    return best;
}

}  // namespace tropical
