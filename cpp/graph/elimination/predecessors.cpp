// Predecessors of a block of rows: kernels choose them, trees mend what they doubt.
#include "graph/elimination/predecessors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "graph/elimination/tree.hpp"
#include "reference.hpp"

namespace tropical {
namespace {

template <class S, class T>
class TreeOf : Tree {
  public:
    TreeOf(const Structure& s, const Predecessors& wanted, const char* x, ptrdiff_t row_bytes,
           Vertex source, Vertex* before)
        : Tree(s, wanted.arcs, source, before),
          weights_(reinterpret_cast<const T*>(wanted.weights)),
          x_(x),
          row_bytes_(row_bytes) {
        for (Vertex v = 0; v < s.size(); ++v)
            if (value(s.rank[v]) == S::template zero<T>) state_[v] = State::unreached;
    }

    void mend() {
        find_lost();
        if (lost_.empty()) return;
        list_arcs_within();
        for (const Vertex v : lost_) before_[v] = no_predecessor;
        for (const Vertex v : lost_)
            for (ptrdiff_t a = arcs_.start[v]; a < arcs_.start[v + 1]; ++a)
                if (state_[s_.order[arcs_.source[a]]] == State::rooted) offer_arc(v, a);
        while (has_offers()) connect(next());
    }

  private:
    const T* const weights_;
    const char* const x_;
    const ptrdiff_t row_bytes_;

    T value(Vertex rank) const { return *reinterpret_cast<const T*>(x_ + rank * row_bytes_); }

    void offer_arc(Vertex v, ptrdiff_t a) {
        const T product = multiply<S>(weights_[a], value(arcs_.source[a])),
                whole = value(s_.rank[v]);
        if (product == S::template zero<T>) return;
        const double by = std::fabs(static_cast<double>(product) - static_cast<double>(whole));
        // Of large integers that differ, the difference may be 0.
        offer({product == whole ? 0 : std::max(by, std::numeric_limits<double>::min()), v, a});
    }

    void connect(const Offer& best) {
        if (state_[best.v] == State::rooted) return;
        state_[best.v] = State::rooted;
        before_[best.v] = s_.order[arcs_.source[best.arc]];
        const Vertex i = place_[best.v];
        for (ptrdiff_t k = start_[i]; k < start_[i + 1]; ++k)
            if (state_[target_[k]] != State::rooted) offer_arc(target_[k], arc_[k]);
    }
};

template <class S, class T>
void mend(const Factor& factor, const Predecessors& wanted, const Swept& swept,
          const char* doubtful, Stop& stop, int slot) {
    for (ptrdiff_t i = 0; i < swept.count; ++i) {
        if (!doubtful[i]) continue;
        if (stop.asked(slot)) return;
        TreeOf<S, T>(factor.structure, wanted, swept.x + i * static_cast<ptrdiff_t>(sizeof(T)),
                     swept.row_bytes, swept.sources[i],
                     reinterpret_cast<Vertex*>(at(wanted.out, swept.first + i, 0).data))
            .mend();
    }
}

}  // namespace

void write_predecessors(const Factor& factor, const Predecessors& wanted, const Swept& swept,
                        const KernelSet& set, Stop& stop, int slot) {
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
    with_types(factor.semiring, factor.dtype, [&]<class S, class Row>() {
        if constexpr (has_factors<S, typename Row::type>)
            mend<S, typename Row::type>(factor, wanted, swept, doubtful, stop, slot);
    });
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
