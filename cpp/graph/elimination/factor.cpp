// The numeric phase: the weights of the edges that elimination adds.
#include "graph/elimination/factor.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>

#include "reference.hpp"
#include "runtime/tasks.hpp"

namespace tropical {
namespace {

// A shorter run of elements is updated one by one.
constexpr ptrdiff_t worth_a_call = 8;

template <class S, class T>
struct Elimination {
    const Structure& s;
    T *up, *down;
    bool refuses;  // cycles that improve
    void (*add_multiple)(const MultipleArgs&);

    bool directed() const { return up != down; }

    void meet(T& x, T product) const { x = add<S>(x, product); }
    // Whether a cycle of this weight improves with every round.
    bool beats_one(T weight) const {
        if constexpr (selective<S>) return refuses && improves<S>(weight, S::template one<T>);
        return false;  // true is the best of all
    }

    // Whether paths through lower ranks make a cycle that improves; else all paths through them are
    // in the entries of rank r. entry[h] is scratch, for each rank h.
    bool column(Vertex r, ptrdiff_t* entry) const {
        for (ptrdiff_t e = s.start[r]; e < s.start[r + 1]; ++e) entry[s.higher[e]] = e;
        for (ptrdiff_t l = s.lower_start[r]; l < s.lower_start[r + 1]; ++l) {
            const ptrdiff_t via = s.lower_entry[l];  // of (k, r), k = lower[l]
            const T from = up[via], to = down[via];
            if (beats_one(multiply<S>(to, from))) return true;
            const ptrdiff_t first = via + 1, count = s.start[s.lower[l] + 1] - first;
            if (count == 0) continue;
            const ptrdiff_t place = entry[s.higher[first]];
            const bool run =
                count >= worth_a_call && entry[s.higher[first + count - 1]] == place + count - 1;
            add_paths(up, to, first, count, run ? place : -1, entry);
            if (directed()) add_paths(down, from, first, count, run ? place : -1, entry);
        }
        return false;
    }

    // x[entry[h]] = x[entry[h]] (+) factor (x) x[e] for the entries e of a lower rank, h =
    // higher[e]; place: where they go in a row, or -1.
    void add_paths(T* x, T factor, ptrdiff_t first, ptrdiff_t count, ptrdiff_t place,
                   const ptrdiff_t* entry) const {
        if (factor == S::template zero<T>) return;
        if (place >= 0)
            return add_multiple({.count = count,
                                 .factor = reinterpret_cast<const char*>(&factor),
                                 .source = reinterpret_cast<const char*>(x + first),
                                 .target = reinterpret_cast<char*>(x + place)});
        for (ptrdiff_t e = first; e < first + count; ++e)
            meet(x[entry[s.higher[e]]], multiply<S>(factor, x[e]));
    }

    // Puts the weights of the edges into the entries; the rank of a loop that improves, or -1.
    Vertex assemble(const Edges& edges, const T* weight) const {
        const auto size = static_cast<std::size_t>(s.entries());
        std::fill_n(up, size, S::template zero<T>);
        if (directed()) std::fill_n(down, size, S::template zero<T>);
        for (ptrdiff_t e = 0; e < std::ssize(edges.entry); ++e) {
            const ptrdiff_t entry = edges.entry[e];
            if (entry >= 0)
                meet((edges.source[e] < edges.target[e] ? up : down)[entry], weight[e]);
            else if (beats_one(weight[e]))
                return edges.source[e];
        }
        return -1;
    }
};

// The tree, cut for several threads: subtrees of about equal work, whose ranks are consecutive, and
// the ranks above all of them.
struct TreeCut {
    struct Ranks {
        Vertex first, last;
    };
    Array<Ranks> subtrees;
    Array<Vertex> above;
};

TreeCut cut_tree(const Structure& s, int threads) {
    const Vertex n = s.size();
    Array<double> work(static_cast<std::size_t>(n));
    Array<Vertex> first(static_cast<std::size_t>(n));
    std::iota(first.begin(), first.end(), 0);
    double all = 0;
    for (Vertex r = 0; r < n; ++r) {
        const auto degree = static_cast<double>(s.start[r + 1] - s.start[r]);
        work[r] += degree * degree + 1;
        all += degree * degree + 1;
        if (const Vertex p = s.parent[r]; p >= 0) {
            work[p] += work[r];
            first[p] = std::min(first[p], first[r]);
        }
    }
    const double most = all / (8 * threads);
    TreeCut cut;
    for (Vertex r = 0; r < n; ++r) {
        if (work[r] > most)
            cut.above.push_back(r);
        else if (s.parent[r] < 0 || work[s.parent[r]] > most)
            cut.subtrees.push_back({first[r], r + 1});
    }
    return cut;
}

template <class S, class T>
Vertex eliminate(const Factor& factor, const Edges& edges, const char* weights, bool refuses,
                 const Isa& isa, int threads, StopRequested stop_requested) {
    const Structure& s = factor.structure;
    const KernelSet& set = isa.table->sets[factor.semiring][static_cast<int>(factor.dtype)];
    const Elimination<S, T> elimination{s, reinterpret_cast<T*>(factor.up),
                                        reinterpret_cast<T*>(factor.down), refuses,
                                        set.add_multiple};
    const Vertex loop = elimination.assemble(edges, reinterpret_cast<const T*>(weights));
    if (loop >= 0) return loop;
    const TreeCut cut = cut_tree(s, threads);
    std::atomic<Vertex> improving = -1;
    // Memory without content, of which a thread touches little.
    Array<std::unique_ptr<ptrdiff_t[]>> entry;
    for (ptrdiff_t slot = 0; slot < threads && slot <= std::ssize(cut.subtrees); ++slot)
        entry.push_back(
            std::make_unique_for_overwrite<ptrdiff_t[]>(static_cast<std::size_t>(s.size())));
    const auto eliminate_columns = [&](Vertex first, Vertex last, int slot, Stop& stop) {
        for (Vertex r = first; r < last && improving < 0 && !stop; ++r) {
            if (slot == 0)
                stop.ask_after(static_cast<double>(s.lower_start[r + 1] - s.lower_start[r]) *
                               static_cast<double>(s.start[r + 1] - s.start[r]));
            if (elimination.column(r, entry[slot].get())) improving = r;
        }
    };
    for_each_task(threads, std::ssize(cut.subtrees), stop_requested,
                  [&](ptrdiff_t task, int slot, Stop& stop) {
                      const TreeCut::Ranks ranks = cut.subtrees[task];
                      eliminate_columns(ranks.first, ranks.last, slot, stop);
                  });
    for_each_task(1, 1, stop_requested, [&](ptrdiff_t, int slot, Stop& stop) {
        for (const Vertex r : cut.above) eliminate_columns(r, r + 1, slot, stop);
    });
    return improving;
}

}  // namespace

Edges edges_in(const Structure& s, ptrdiff_t edges, const Vertex* source, const Vertex* target,
               Stop& stop) {
    Edges ranked;
    for (ptrdiff_t e = 0; e < edges; ++e) {
        stop.ask_after(64);
        if (stop) throw Stopped{};
        const Vertex from = s.rank[source[e]], to = s.rank[target[e]];
        ranked.source.push_back(from);
        ranked.target.push_back(to);
        ranked.entry.push_back(from == to ? -1
                                          : entry_of(s, std::min(from, to), std::max(from, to)));
    }
    return ranked;
}

Vertex eliminate_weights(const Factor& factor, const Edges& edges, const char* weights,
                         bool refuses, const Isa& isa, int threads, StopRequested stop_requested) {
    Vertex improving = -1;
    with_types(factor.semiring, factor.dtype, [&]<class S, class Row>() {
        if constexpr (has_factors<S, typename Row::type>)
            improving = eliminate<S, typename Row::type>(factor, edges, weights, refuses, isa,
                                                         threads, stop_requested);
    });
    return improving;
}

}  // namespace tropical
