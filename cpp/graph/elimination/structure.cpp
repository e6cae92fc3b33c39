#include "graph/elimination/structure.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "table.hpp"

namespace tropical {
namespace {

Array<Vertex> inverse(const Array<Vertex>& order) {
    Array<Vertex> rank(order.size());
    for (ptrdiff_t r = 0; r < std::ssize(order); ++r) rank[order[r]] = static_cast<Vertex>(r);
    return rank;
}

void count(ptrdiff_t steps, Stop& stop) {
    stop.ask_after(static_cast<double>(steps));
    if (stop) throw Stopped{};
}

// The parents in the elimination tree: J. W. H. Liu, "The role of elimination trees in sparse
// factorization", SIAM Journal on Matrix Analysis and Applications 11, 1990, algorithm 4.2.
Array<Vertex> tree_of(const Neighbors& graph, const Array<Vertex>& order, const Array<Vertex>& rank,
                      Stop& stop) {
    Array<Vertex> parent(order.size(), -1), ancestor(order.size(), -1);
    for (Vertex r = 0; r < graph.size(); ++r) {
        count(4 * (graph.start[order[r] + 1] - graph.start[order[r]] + 1), stop);
        for (ptrdiff_t e = graph.start[order[r]]; e < graph.start[order[r] + 1]; ++e)
            for (Vertex low = rank[graph.target[e]]; low != -1 && low < r;) {
                const Vertex above = ancestor[low];
                ancestor[low] = r;
                if (above == -1) parent[low] = r;
                low = above;
            }
    }
    return parent;
}

// The child of each rank whose subtree is the largest, the last of equals; -1: none.
Array<Vertex> largest_children(const Array<Vertex>& parent) {
    Array<Vertex> size(parent.size(), 1), largest(parent.size(), -1);
    for (Vertex r = 0; r < static_cast<Vertex>(parent.size()); ++r)
        if (const Vertex p = parent[r]; p >= 0) {
            size[p] += size[r];
            if (largest[p] < 0 || size[r] >= size[largest[p]]) largest[p] = r;
        }
    return largest;
}

// The ranks in an order in which each subtree is consecutive and ends with its root, after the
// largest of its subtrees; else in their own order. The sweep down thus enters the largest subtree
// first, and fewer rows of X wait for those beside which they stand in a result.
Array<Vertex> postorder(const Array<Vertex>& parent) {
    const auto n = static_cast<Vertex>(parent.size());
    const Array<Vertex> largest = largest_children(parent);
    Array<Vertex> first_child(parent.size(), -1), sibling(parent.size(), -1), order, stack;
    for (Vertex r = n - 1; r >= 0; --r)
        if (parent[r] < 0) stack.push_back(r);  // the roots, the least on top
    for (const bool last : {false, true})
        for (Vertex r = 0; r < n; ++r)
            if (const Vertex p = parent[r]; p >= 0 && (largest[p] == r) == last)
                sibling[r] = std::exchange(first_child[p], r);
    order.reserve(parent.size());
    while (!stack.empty()) {
        const Vertex r = stack.back();
        if (const Vertex child = std::exchange(first_child[r], -1); child >= 0) {
            for (Vertex c = child; c >= 0; c = sibling[c]) stack.push_back(c);
        } else {
            order.push_back(r);
            stack.pop_back();
        }
    }
    return order;
}

void add_higher_neighbors(Structure& s, const Neighbors& graph, ptrdiff_t most_entries,
                          Stop& stop) {
    const Vertex n = s.size();
    Array<Vertex> first_child(s.parent.size(), -1), sibling(s.parent.size(), -1),
        mark(s.parent.size(), -1);
    s.start = {0};
    for (Vertex r = 0; r < n; ++r) {
        const auto add = [&](Vertex other) {
            if (other <= r || mark[other] == r) return;
            mark[other] = r;
            s.higher.push_back(other);
        };
        const Vertex v = s.order[r];
        for (ptrdiff_t e = graph.start[v]; e < graph.start[v + 1]; ++e)
            add(s.rank[graph.target[e]]);
        for (Vertex c = first_child[r]; c >= 0; c = sibling[c])
            for (ptrdiff_t e = s.start[c]; e < s.start[c + 1]; ++e) add(s.higher[e]);
        if (s.entries() > most_entries)
            throw std::overflow_error("the elimination adds too many edges");
        count(32 * (s.entries() - s.start[r] + 1), stop);
        std::sort(s.higher.begin() + s.start[r], s.higher.end());
        s.start.push_back(s.entries());
        if (s.parent[r] >= 0) sibling[r] = std::exchange(first_child[s.parent[r]], r);
    }
}

void add_lower_neighbors(Structure& s, Stop& stop) {
    s.lower_start.assign(s.order.size() + 1, 0);
    for (const Vertex high : s.higher) ++s.lower_start[high + 1];
    std::partial_sum(s.lower_start.begin(), s.lower_start.end(), s.lower_start.begin());
    s.lower.resize(s.higher.size());
    s.lower_entry.resize(s.higher.size());
    Array<ptrdiff_t> end(s.lower_start.begin(), s.lower_start.end() - 1);
    for (Vertex r = 0; r < s.size(); ++r) {
        count(4 * (s.start[r + 1] - s.start[r] + 1), stop);
        for (ptrdiff_t e = s.start[r]; e < s.start[r + 1]; ++e) {
            const ptrdiff_t place = end[s.higher[e]]++;
            s.lower[place] = r;
            s.lower_entry[place] = e;
        }
    }
}

// Whether rank r and the next ones, most_block_columns in all, have the same neighbors above.
bool begins_block(const Structure& s, Vertex r) {
    const auto degree = [&](Vertex rank) { return s.start[rank + 1] - s.start[rank]; };
    if (s.size() - r < most_block_columns) return false;
    for (Vertex next = r + 1; next < r + most_block_columns; ++next)
        if (s.parent[next - 1] != next || degree(next - 1) != degree(next) + 1) return false;
    return true;
}

void add_steps(Structure& s) {
    for (Vertex r = 0; r < s.size(); r = end_of_step(s.step.back()))
        s.step.push_back(begins_block(s, r) ? ~r : r);
}

}  // namespace

Structure eliminate_vertices(const Neighbors& graph, const Array<Vertex>& order,
                             ptrdiff_t most_entries, Stop& stop) {
    Structure s;
    const Array<Vertex> given = inverse(order);
    const Array<Vertex> parent = tree_of(graph, order, given, stop);
    const Array<Vertex> post = postorder(parent), place = inverse(post);
    s.order.resize(order.size());
    s.parent.resize(order.size());
    for (ptrdiff_t r = 0; r < std::ssize(order); ++r) {
        s.order[r] = order[post[r]];
        s.parent[r] = parent[post[r]] < 0 ? -1 : place[parent[post[r]]];
    }
    s.rank = inverse(s.order);
    add_higher_neighbors(s, graph, most_entries, stop);
    add_lower_neighbors(s, stop);
    add_steps(s);
    return s;
}

Vertex height(const Structure& s) {
    Array<Vertex> ranks(s.parent.size(), 1);  // from the root to this one
    for (ptrdiff_t r = std::ssize(ranks) - 1; r >= 0; --r)
        if (s.parent[r] >= 0) ranks[r] = ranks[s.parent[r]] + 1;
    return ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end());
}

ptrdiff_t entry_of(const Structure& s, Vertex low, Vertex high) {
    const auto first = s.higher.begin() + s.start[low], last = s.higher.begin() + s.start[low + 1];
    return std::lower_bound(first, last, high) - s.higher.begin();
}

}  // namespace tropical
