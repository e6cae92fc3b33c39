// A best path is found in two steps. First, a path along the entries of the factor, up and down the
// elimination tree, by sweeps over the ancestors of its two ends. Then each entry that is no edge
// is replaced by two entries to a lower rank, whose product it is, to the bit.
//
// Entries are replaced in descending order of their lower ends, and loops are cut at once. A vertex
// that is on the path once is an end of at most two entries, so that at most 2 n entries are
// replaced, whatever cycles of weight zero there are.
#include "graph/elimination/path.hpp"

#include <memory>
#include <queue>
#include <tuple>

#include "graph/elimination/triangles.hpp"
#include "graph/elimination/walk.hpp"
#include "runtime/float_environment.hpp"

namespace tropical {
namespace {

// Memory without content, of which a short path touches little.
template <class T>
class Memory {
  public:
    explicit Memory(std::size_t size) : data_(std::make_unique_for_overwrite<T[]>(size)) {}
    T& operator[](ptrdiff_t i) { return data_.get()[i]; }

  private:
    std::unique_ptr<T[]> data_;
};

// What does not depend on the numbers, which are those of a `SearchOf`.
class Search {
  public:
    Search(const Structure& s, StopRequested stop_requested)
        : s_(s), below_(size()), above_(size()), walk_(size()), stop_(stop_requested) {}
    virtual ~Search() = default;

    Array<Vertex> path(Vertex from, Vertex to) {
        if (!sweep(from, to)) return {};
        Array<Vertex> climb;  // backward
        bool descends = true;
        for (Vertex r = to; r >= 0; r = descends ? above_[r] : below_[r]) {
            climb.push_back(r);
            descends = descends && above_[r] >= 0;
        }
        for (ptrdiff_t i = std::ssize(climb) - 1; i >= 0; --i) walk_.append(climb[i]);
        unpack();
        Array<Vertex> path;
        for (Vertex r = walk_.first(); r >= 0; r = walk_.next(r)) path.push_back(s_.order[r]);
        return path;
    }

  protected:
    const Structure& s_;
    // Of the ancestors of both ends: the rank before them on the best path, from below or above.
    Memory<Vertex> below_, above_;

    std::size_t size() const { return s_.order.size(); }

    void count(ptrdiff_t steps) {
        stop_.ask_after(static_cast<double>(steps));
        if (stop_) throw Stopped{};
    }

    // Fills below_ and above_; whether there is a path.
    virtual bool sweep(Vertex from, Vertex to) = 0;
    // The rank through which the entry from a to b leads; -1 where the entry is an edge.
    virtual Vertex between(Vertex a, Vertex b) = 0;

  private:
    Walk walk_;
    Stop stop_;

    // Replaces entries until all are edges.
    void unpack() {
        struct Link {
            Vertex low, from, to;
            bool operator<(const Link& other) const {
                return std::tie(low, from) < std::tie(other.low, other.from);
            }
        };
        std::priority_queue<Link> links;
        const auto push = [&](Vertex r) {
            if (const Vertex next = walk_.next(r); next >= 0)
                links.push({std::min(r, next), r, next});
        };
        for (Vertex r = walk_.first(); r >= 0; r = walk_.next(r)) push(r);
        while (!links.empty()) {
            const Link link = links.top();
            links.pop();
            if (walk_.next(link.from) != link.to) continue;
            if (const Vertex k = between(link.from, link.to); k >= 0)
                walk_.insert(link.from, k, push);
        }
    }
};

template <class S, class T>
class SearchOf final : public Search {
  public:
    SearchOf(const Factor& factor, const Arcs& arcs, const T* weights, StopRequested stop_requested)
        : Search(factor.structure, stop_requested),
          arcs_(arcs),
          up_(reinterpret_cast<const T*>(factor.up)),
          down_(reinterpret_cast<const T*>(factor.down)),
          weights_(weights),
          value_(size()) {}

  private:
    const Arcs& arcs_;
    const T *const up_, *const down_, *const weights_;
    Memory<T> value_;  // of the best paths to the ancestors of both ends

    bool sweep(Vertex from, Vertex to) override {
        Array<Vertex> chain;
        for (const Vertex end : {from, to})
            for (Vertex r = end; r >= 0; r = s_.parent[r]) {
                value_[r] = S::template zero<T>;
                below_[r] = above_[r] = -1;
                if (end == to) chain.push_back(r);
            }
        value_[from] = S::template one<T>;
        for (Vertex r = from; r >= 0; r = s_.parent[r]) {
            count(s_.start[r + 1] - s_.start[r]);
            for (ptrdiff_t e = s_.start[r]; e < s_.start[r + 1]; ++e)
                meet(s_.higher[e], multiply<S>(up_[e], value_[r]), below_, r);
        }
        for (ptrdiff_t i = std::ssize(chain) - 1; i >= 0; --i) {
            const Vertex r = chain[i];
            count(s_.start[r + 1] - s_.start[r]);
            for (ptrdiff_t e = s_.start[r]; e < s_.start[r + 1]; ++e)
                meet(r, multiply<S>(down_[e], value_[s_.higher[e]]), above_, s_.higher[e]);
        }
        return value_[to] != S::template zero<T>;
    }

    void meet(Vertex r, T product, Memory<Vertex>& via, Vertex before) {
        if (!beats<S>(product, value_[r])) return;
        value_[r] = product;
        via[r] = before;
    }

    Vertex between(Vertex a, Vertex b) override {
        const Vertex low = std::min(a, b), high = std::max(a, b);
        const ptrdiff_t entry = entry_of(s_, low, high);
        const T whole = (a == low ? up_ : down_)[entry];
        const ArcRange range = arcs_between(s_, arcs_, a, b);
        for (ptrdiff_t arc = range.first; arc < range.last; ++arc)
            if (same<S>(weights_[arcs_.edge[arc]], whole)) return -1;
        count(s_.lower_start[low + 1] - s_.lower_start[low]);
        Vertex found = -1;
        any_triangle(s_, low, high, [&](Vertex k, ptrdiff_t to_low, ptrdiff_t to_high) {
            const T first = down_[a == low ? to_low : to_high],
                    second = up_[a == low ? to_high : to_low];
            if (!same<S>(multiply<S>(first, second), whole)) return false;
            found = k;
            return true;
        });
        return found;
    }
};

}  // namespace

Array<Vertex> best_path(const Factor& factor, const Arcs& arcs, const char* weights, Vertex from,
                        Vertex to, StopRequested stop_requested) {
    if (from == to) return {from};
    const FloatEnvironment environment;
    const Structure& s = factor.structure;
    Array<Vertex> path;
    with_types(factor.semiring, factor.dtype, [&]<class S, class Row>() {
        using T = typename Row::type;
        if constexpr (has_factors<S, typename Row::type>)
            path = SearchOf<S, T>(factor, arcs, reinterpret_cast<const T*>(weights), stop_requested)
                       .path(s.rank[from], s.rank[to]);
    });
    return path;
}

}  // namespace tropical
