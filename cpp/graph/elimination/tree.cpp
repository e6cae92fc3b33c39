#include "graph/elimination/tree.hpp"

namespace tropical {

void Tree::mend() {
    find_lost();
    if (lost_.empty()) return;
    list_arcs_within();
    for (const Vertex v : lost_) before_[v] = no_predecessor;
    for (const Vertex v : lost_)
        for (ptrdiff_t a = arcs_.start[v]; a < arcs_.start[v + 1]; ++a)
            if (state_[s_.order[arcs_.source[a]]] == State::rooted) offer(v, a);
    while (!exact_.empty() || !others_.empty()) connect(next());
}

void Tree::find_lost() {
    state_[source_] = State::rooted;
    Array<Vertex> walk;
    for (Vertex v = 0; v < s_.size(); ++v) {
        if (!is_reached(v)) continue;
        walk.clear();
        Vertex u = v;
        for (; u >= 0 && state_[u] == State::unknown; u = before_[u]) {
            state_[u] = State::walked;
            walk.push_back(u);
        }
        const State end = u >= 0 && state_[u] == State::rooted ? State::rooted : State::lost;
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

void Tree::offer(Vertex v, ptrdiff_t a) {
    const double by = difference(v, a);
    if (by == 0)
        exact_.push({0, v, a});
    else if (by > 0)
        others_.push({by, v, a});
}

Tree::Offer Tree::next() {
    Offer best = exact_.empty() ? others_.top() : exact_.front();
    exact_.empty() ? others_.pop() : exact_.pop();
    return best;
}

void Tree::connect(const Offer& best) {
    if (state_[best.v] == State::rooted) return;
    state_[best.v] = State::rooted;
    before_[best.v] = s_.order[arcs_.source[best.arc]];
    const Vertex i = place_[best.v];
    for (ptrdiff_t k = start_[i]; k < start_[i + 1]; ++k)
        if (state_[target_[k]] != State::rooted) offer(target_[k], arc_[k]);
}

}  // namespace tropical
