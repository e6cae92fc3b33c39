// Of most rows, the arcs of the best products are a tree: each leads from a better vertex to a
// worse one, or each from a worse one. Otherwise, as with cycles of weight zero, ties of maxmin or
// rounding, arcs may make cycles. Then the vertices whose arcs do not lead back to the source are
// connected again, one after the other, by the arc whose product is nearest to their value.
#include "graph/elimination/predecessors.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <queue>
#include <tuple>

#include "definition.hpp"

namespace tropical {
namespace {

// The tree of one source.
template <class S, class T>
class Tree {
  public:
    Tree(const Structure& s, const Predecessors& wanted, const char* x, ptrdiff_t row_bytes,
         Vertex source, Vertex* before)
        : s_(s),
          arcs_(wanted.arcs),
          weights_(reinterpret_cast<const T*>(wanted.weights)),
          x_(x),
          row_bytes_(row_bytes),
          source_(source),
          before_(before),
          state_(s.order.size(), State::unknown) {}

    void mend() {
        find_lost();
        if (lost_.empty()) return;
        list_arcs_within();
        for (const Vertex v : lost_) before_[v] = no_predecessor;
        for (const Vertex v : lost_)
            for (ptrdiff_t a = arcs_.start[v]; a < arcs_.start[v + 1]; ++a)
                if (state_[s_.order[arcs_.source[a]]] == State::rooted) offer(v, a);
        while (!exact_.empty() || !others_.empty()) connect(next());
    }

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

    const Structure& s_;
    const Arcs& arcs_;
    const T* const weights_;
    const char* const x_;
    const ptrdiff_t row_bytes_;
    const Vertex source_;
    Vertex* const before_;
    Array<State> state_;
    Array<Vertex> lost_, place_;    // place_[lost_[i]] = i
    Array<ptrdiff_t> start_, arc_;  // the arcs from lost_[i] to others
    Array<Vertex> target_;          // of each of them
    std::queue<Offer> exact_;
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> others_;

    T value(Vertex rank) const { return *reinterpret_cast<const T*>(x_ + rank * row_bytes_); }

    void find_lost() {
        state_[source_] = State::rooted;
        Array<Vertex> walk;
        for (Vertex v = 0; v < s_.size(); ++v) {
            if (value(s_.rank[v]) == S::template zero<T>) continue;
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

    void list_arcs_within() {
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

    void offer(Vertex v, ptrdiff_t a) {
        const T product = multiply<S>(weights_[a], value(arcs_.source[a])),
                whole = value(s_.rank[v]);
        if (product == S::template zero<T>) return;
        if (product == whole)
            exact_.push({0, v, a});
        else
            others_.push(
                {std::fabs(static_cast<double>(product) - static_cast<double>(whole)), v, a});
    }

    Offer next() {
        Offer best = exact_.empty() ? others_.top() : exact_.front();
        exact_.empty() ? others_.pop() : exact_.pop();
        return best;
    }

    void connect(const Offer& best) {
        if (state_[best.v] == State::rooted) return;
        state_[best.v] = State::rooted;
        before_[best.v] = s_.order[arcs_.source[best.arc]];
        const Vertex i = place_[best.v];
        for (ptrdiff_t k = start_[i]; k < start_[i + 1]; ++k)
            if (state_[target_[k]] != State::rooted) offer(target_[k], arc_[k]);
    }
};

template <class S, class T>
void mend(const Factor& factor, const Predecessors& wanted, const Swept& swept,
          const char* doubtful, Stop& stop, bool asks) {
    for (ptrdiff_t i = 0; i < swept.count && !stop; ++i) {
        if (!doubtful[i]) continue;
        if (asks) stop.ask();
        Tree<S, T>(factor.structure, wanted, swept.x + i * static_cast<ptrdiff_t>(sizeof(T)),
                   swept.row_bytes, swept.sources[i],
                   reinterpret_cast<Vertex*>(at(wanted.out, swept.first + i, 0).data))
            .mend();
    }
}

}  // namespace

bool write_predecessors(const Factor& factor, const Predecessors& wanted, const Swept& swept,
                        const KernelSet& set, Stop& stop, bool asks) {
    constexpr ptrdiff_t most_lanes = 128;
    const Structure& s = factor.structure;
    Vertex first[most_lanes];
    char doubtful[most_lanes];
    std::fill(std::copy_n(swept.sources, swept.count, first), std::end(first), Vertex{-1});
    set.predecessors({.vertices = s.size(),
                      .sources = swept.count,
                      .start = wanted.arcs.start.data(),
                      .source = wanted.arcs.source.data(),
                      .weights = wanted.weights,
                      .rank = s.rank.data(),
                      .order = s.order.data(),
                      .x = swept.x,
                      .first = first,
                      .target = at(wanted.out, swept.first, 0).data,
                      .target_stride = wanted.out.row_stride,
                      .doubtful = doubtful});
    try {
        with_types(factor.semiring, factor.dtype, [&]<class S, class Row>() {
            if constexpr (has_factors<S, typename Row::type>)
                mend<S, typename Row::type>(factor, wanted, swept, doubtful, stop, asks);
        });
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void copy_arc_weights(const Arcs& arcs, const char* edge_weights, DType dtype, char* target) {
    const auto copy = [&]<class T>(T) {
        const T* const from = reinterpret_cast<const T*>(edge_weights);
        T* const to = reinterpret_cast<T*>(target);
        for (ptrdiff_t a = 0; a < arcs.size(); ++a) to[a] = from[arcs.edge[a]];
    };
    switch (item_size(dtype)) {
        case 1:
            return copy(std::uint8_t{});
        case 2:
            return copy(std::uint16_t{});
        case 4:
            return copy(std::uint32_t{});
        default:
            return copy(std::uint64_t{});
    }
}

}  // namespace tropical
