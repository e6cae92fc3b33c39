// An entry depends on entries of lower ranks only, so that changes spread from entry to entry in
// ascending order. A product that improves an entry replaces it. Where a product gets worse of
// which an entry is the best, the entry is computed again, from its edges and triangles.
#include "graph/elimination/update.hpp"

#include <queue>
#include <unordered_map>
#include <utility>

#include "graph/elimination/triangles.hpp"
#include "runtime/float_environment.hpp"

namespace tropical {
namespace {

// What an entry was before, up and down.
template <class T>
struct Change {
    T before[2];
    bool stale[2] = {};  // must be computed again
};

template <class S, class T>
class Update {
  public:
    Update(const Factor& factor, const Arcs& arcs, const Edges& edges, const T* weights,
           bool refuses, StopRequested stop_requested)
        : s_(factor.structure),
          arcs_(arcs),
          edges_(edges),
          x_{reinterpret_cast<T*>(factor.up), reinterpret_cast<T*>(factor.down)},
          ways_(factor.directed() ? 2 : 1),
          weights_(weights),
          refuses_(refuses),
          stop_(stop_requested) {}

    // A rank on a cycle that improves, or -1.
    Vertex run(const Array<ptrdiff_t>& changed, const T* before) {
        for (ptrdiff_t c = 0; c < std::ssize(changed); ++c) {
            const ptrdiff_t edge = changed[c];
            const Vertex from = edges_.source[edge], to = edges_.target[edge];
            if (edges_.entry[edge] >= 0)
                tell(from, to, edges_.entry[edge], weights_[edge], before[c]);
            else if (beats_one(weights_[edge]))
                return from;
        }
        while (!pending_.empty()) {
            const Vertex r = pending_.top().second;
            if (!finish(r)) return r;
            for (std::size_t c = 0; c < changed_.size(); ++c) spread(r, c);
        }
        return -1;
    }

    void restore() {
        for (const auto& [entry, change] : changes_)
            for (int w = 0; w < ways_; ++w) x_[w][entry] = change.before[w];
    }

  private:
    static constexpr int up = 0, down = 1;
    using Place = std::pair<ptrdiff_t, Vertex>;  // an entry and its lower rank

    const Structure& s_;
    const Arcs& arcs_;
    const Edges& edges_;
    T* const x_[2];
    const int ways_;
    const T* const weights_;
    const bool refuses_;
    Stop stop_;
    std::unordered_map<ptrdiff_t, Change<T>> changes_;
    std::priority_queue<Place, std::vector<Place>, std::greater<>> pending_;
    std::vector<std::pair<ptrdiff_t, const Change<T>*>> changed_;  // entries of one rank

    int way(Vertex from, Vertex to) const { return from < to || ways_ == 1 ? up : down; }
    bool beats_one(T weight) const {
        return refuses_ && selective<S> && beats<S>(weight, S::template one<T>);
    }

    Change<T>& touched(ptrdiff_t entry, Vertex low) {
        const auto [found, fresh] = changes_.try_emplace(
            entry, Change<T>{{x_[up][entry], x_[down][entry]}, {false, false}});
        if (fresh) pending_.push({entry, low});
        return found->second;
    }

    // Completes the entries of rank r, and lists those that changed. False: a cycle improves.
    bool finish(Vertex r) {
        changed_.clear();
        while (!pending_.empty() && pending_.top().second == r) {
            const ptrdiff_t entry = pending_.top().first;
            pending_.pop();
            const Change<T>& change = changes_.find(entry)->second;
            bool differs = false;
            for (int w = 0; w < ways_; ++w) {
                if (change.stale[w]) x_[w][entry] = computed(r, s_.higher[entry], w);
                differs |= !same<S>(x_[w][entry], change.before[w]);
            }
            if (!differs) continue;
            if (beats_one(multiply<S>(x_[down][entry], x_[up][entry]))) return false;
            changed_.push_back({entry, &change});
        }
        return true;
    }

    T computed(Vertex low, Vertex high, int w) {
        T best = S::template zero<T>;
        const ArcRange range =
            w == up ? arcs_between(s_, arcs_, low, high) : arcs_between(s_, arcs_, high, low);
        for (ptrdiff_t arc = range.first; arc < range.last; ++arc)
            best = add<S>(best, weights_[arcs_.edge[arc]]);
        count(s_.lower_start[low + 1] - s_.lower_start[low]);
        any_triangle(s_, low, high, [&](Vertex, ptrdiff_t to_low, ptrdiff_t to_high) {
            if (w == down) std::swap(to_low, to_high);
            best = add<S>(best, multiply<S>(x_[down][to_low], x_[up][to_high]));
            return false;
        });
        return best;
    }

    // Tells all entries above the pairs of changed_[c] and another entry of rank r.
    void spread(Vertex r, std::size_t c) {
        const auto [entry, change] = changed_[c];
        const Vertex h = s_.higher[entry];
        count(4 * (s_.start[r + 1] - s_.start[r]));
        std::size_t next = 0;  // of changed_, whose entries ascend
        for (ptrdiff_t other = s_.start[r]; other < s_.start[r + 1]; ++other) {
            const Change<T>* its = nullptr;
            if (next < changed_.size() && changed_[next].first == other)
                its = changed_[next++].second;
            if (other == entry || (its && other < entry)) continue;  // told with the other one
            const Vertex g = s_.higher[other];
            const ptrdiff_t above = entry_of(s_, std::min(g, h), std::max(g, h));
            const T now[] = {x_[up][other], x_[down][other]};
            const T* const before = its ? its->before : now;
            for (int w = 0; w < ways_; ++w)  // g -> r -> h, h -> r -> g
                tell(w == 0 ? g : h, w == 0 ? h : g, above, multiply<S>(now[1 - w], x_[w][entry]),
                     multiply<S>(before[1 - w], change->before[w]));
        }
    }

    // A path from one rank to another, whose entry is given, has the weight `now`, and had the
    // weight `before`.
    void tell(Vertex from, Vertex to, ptrdiff_t entry, T now, T before) {
        if (same<S>(now, before)) return;
        const int w = way(from, to);
        const Vertex low = std::min(from, to);
        T& x = x_[w][entry];
        if (beats<S>(now, x)) {
            touched(entry, low);
            x = now;
        } else if (beats<S>(before, now)) {
            const auto found = changes_.find(entry);
            if (same<S>(before, found == changes_.end() ? x : found->second.before[w]))
                touched(entry, low).stale[w] = true;
        }
    }

    void count(ptrdiff_t steps) {
        stop_.ask_after(static_cast<double>(steps));
        if (stop_) throw Stopped{};
    }
};

}  // namespace

Vertex update_weights(const Factor& factor, const Arcs& arcs, const Edges& edges,
                      const char* weights, const Array<ptrdiff_t>& changed, const char* before,
                      bool refuses, StopRequested stop_requested) {
    const FloatEnvironment environment;
    Vertex improving = -1;
    with_types(factor.semiring, factor.dtype, [&]<class S, class Row>() {
        using T = typename Row::type;
        if constexpr (has_factors<S, T>) {
            Update<S, T> update(factor, arcs, edges, reinterpret_cast<const T*>(weights), refuses,
                                stop_requested);
            try {
                improving = update.run(changed, reinterpret_cast<const T*>(before));
            } catch (...) {
                update.restore();
                throw;
            }
            if (improving >= 0) update.restore();
        }
    });
    return improving;
}

}  // namespace tropical
