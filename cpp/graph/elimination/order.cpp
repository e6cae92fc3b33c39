// 290 lines, as the quotient graph and the elimination of a vertex from it are one data structure.
#include "graph/elimination/order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tropical {
namespace {

// A quotient graph: what is left of a graph while its vertices are eliminated. An eliminated vertex
// p becomes an element, which stands for the edges between all pairs of its boundary. Vertices with
// equal neighbors are merged; a vertex of size 0 was merged or eliminated.
class QuotientGraph {
  public:
    explicit QuotientGraph(const Neighbors& graph);
    Array<Vertex> order(const Most& most, Stop& stop, const std::function<void(double)>& report);

  private:
    using List = Array<Vertex>;

    Vertex n_, left_, least_degree_ = 0;
    ptrdiff_t steps_ = 0;               // neighbors that were looked at
    Array<List> neighbors_, elements_;  // of a vertex
    Array<List> boundary_;              // of an element; empty where it was absorbed
    List size_, boundary_size_, degree_;
    List first_, next_, previous_;        // lists of vertices of equal degree
    List merged_, last_merged_;           // lists of vertices that are eliminated together
    List mark_, seen_element_, outside_;  // outside_[e]: the size of e's boundary outside of p's
    Vertex stamp_ = 0;
    Array<std::uint64_t> hash_;

    void insert(Vertex v);
    void remove(Vertex v);
    void append(Vertex to, Vertex v);
    Vertex next_pivot();
    void make_element(Vertex p);
    void measure_outsides(Vertex p);
    bool update(Vertex p, Vertex v);
    bool same_neighbors(Vertex v, Vertex w);
    void merge_equals(Vertex p);
    void eliminate(Vertex p);
};

QuotientGraph::QuotientGraph(const Neighbors& graph) : n_(graph.size()), left_(n_) {
    const auto n = static_cast<std::size_t>(n_);
    for (auto* lists : {&neighbors_, &elements_, &boundary_}) lists->resize(n);
    size_.assign(n, 1);
    merged_.assign(n, -1);
    last_merged_.resize(n);
    std::iota(last_merged_.begin(), last_merged_.end(), 0);
    for (auto* list : {&boundary_size_, &degree_, &mark_, &seen_element_, &outside_})
        list->assign(n, 0);
    for (auto* list : {&first_, &next_, &previous_}) list->assign(n + 1, -1);
    hash_.assign(n, 0);
    const auto dense = static_cast<ptrdiff_t>(std::max(16.0, 10 * std::sqrt(double(n_))));
    const auto is_dense = [&](Vertex v) { return graph.start[v + 1] - graph.start[v] > dense; };
    for (Vertex v = 0; v < n_; ++v)
        if (is_dense(v)) size_[v] = 0;
    for (Vertex v = 0; v < n_; ++v) {
        if (size_[v] == 0) continue;
        for (ptrdiff_t e = graph.start[v]; e < graph.start[v + 1]; ++e)
            if (size_[graph.target[e]]) neighbors_[v].push_back(graph.target[e]);
        degree_[v] = static_cast<Vertex>(neighbors_[v].size());
        insert(v);
    }
    left_ = static_cast<Vertex>(std::count(size_.begin(), size_.end(), 1));
}

void QuotientGraph::insert(Vertex v) {
    const Vertex d = degree_[v];
    next_[v] = first_[d];
    previous_[v] = -1;
    if (first_[d] >= 0) previous_[first_[d]] = v;
    first_[d] = v;
    least_degree_ = std::min(least_degree_, d);
}

void QuotientGraph::remove(Vertex v) {
    if (next_[v] >= 0) previous_[next_[v]] = previous_[v];
    (previous_[v] >= 0 ? next_[previous_[v]] : first_[degree_[v]]) = next_[v];
}

// v, and what was merged into v, are eliminated together with `to`.
void QuotientGraph::append(Vertex to, Vertex v) {
    merged_[last_merged_[to]] = v;
    last_merged_[to] = last_merged_[v];
    size_[to] += size_[v];
    size_[v] = 0;
    neighbors_[v] = {};
    elements_[v] = {};
}

Vertex QuotientGraph::next_pivot() {
    while (first_[least_degree_] < 0) ++least_degree_;
    const Vertex p = first_[least_degree_];
    remove(p);
    return p;
}

// p's boundary: its neighbors, and those through elements, which it absorbs.
void QuotientGraph::make_element(Vertex p) {
    List boundary;
    mark_[p] = ++stamp_;
    const auto add = [&](const List& vertices) {
        steps_ += std::ssize(vertices);
        for (const Vertex v : vertices)
            if (size_[v] && mark_[v] != stamp_) {
                mark_[v] = stamp_;
                boundary.push_back(v);
                boundary_size_[p] += size_[v];
            }
    };
    boundary_size_[p] = 0;
    add(neighbors_[p]);
    for (const Vertex e : elements_[p]) {
        add(boundary_[e]);
        boundary_[e] = {};
    }
    neighbors_[p] = {};
    elements_[p] = {};
    boundary_[p] = std::move(boundary);
    for (const Vertex v : boundary_[p]) remove(v);
}

void QuotientGraph::measure_outsides(Vertex p) {
    for (const Vertex v : boundary_[p]) {
        steps_ += std::ssize(elements_[v]) + std::ssize(neighbors_[v]);
        for (const Vertex e : elements_[v]) {
            if (boundary_[e].empty()) continue;
            if (seen_element_[e] != stamp_) outside_[e] = boundary_size_[e];
            seen_element_[e] = stamp_;
            outside_[e] -= size_[v];
        }
    }
}

// The neighbors, elements and degree of a vertex v of p's boundary; false where v has no other
// neighbors than p's, so that v may be eliminated with p.
bool QuotientGraph::update(Vertex p, Vertex v) {
    Vertex degree = 0;
    std::uint64_t hash = 0;
    std::erase_if(elements_[v], [&](Vertex e) {
        if (boundary_[e].empty()) return true;
        if (outside_[e] == 0) {  // p's boundary holds all of e's
            boundary_[e] = {};
            return true;
        }
        degree += outside_[e];
        hash += static_cast<std::uint64_t>(e);
        return false;
    });
    std::erase_if(neighbors_[v], [&](Vertex w) {
        if (size_[w] == 0 || mark_[w] == stamp_) return true;
        degree += size_[w];
        hash += static_cast<std::uint64_t>(w);
        return false;
    });
    if (elements_[v].empty() && neighbors_[v].empty()) return false;
    elements_[v].push_back(p);
    degree_[v] = std::min(degree_[v], degree);
    hash_[v] = hash;
    return true;
}

bool QuotientGraph::same_neighbors(Vertex v, Vertex w) {
    if (neighbors_[v].size() != neighbors_[w].size() || elements_[v].size() != elements_[w].size())
        return false;
    ++stamp_;
    for (const Vertex x : neighbors_[v]) mark_[x] = stamp_;
    for (const Vertex e : elements_[v]) seen_element_[e] = stamp_;
    return std::all_of(neighbors_[w].begin(), neighbors_[w].end(),
                       [&](Vertex x) { return mark_[x] == stamp_; }) &&
           std::all_of(elements_[w].begin(), elements_[w].end(),
                       [&](Vertex e) { return seen_element_[e] == stamp_; });
}

// Merges vertices of p's boundary that have the same neighbors.
void QuotientGraph::merge_equals(Vertex p) {
    List by_hash = boundary_[p];
    std::sort(by_hash.begin(), by_hash.end(),
              [&](Vertex v, Vertex w) { return std::pair(hash_[v], v) < std::pair(hash_[w], w); });
    const ptrdiff_t count = std::ssize(by_hash);
    for (ptrdiff_t i = 0; i < count; ++i)
        for (ptrdiff_t j = i + 1;
             j < count && size_[by_hash[i]] && hash_[by_hash[j]] == hash_[by_hash[i]]; ++j) {
            const Vertex v = by_hash[i], w = by_hash[j];
            if (size_[w] == 0 || !same_neighbors(v, w)) continue;
            degree_[v] -= size_[w];
            append(v, w);
        }
}

void QuotientGraph::eliminate(Vertex p) {
    make_element(p);
    measure_outsides(p);
    for (const Vertex v : boundary_[p])
        if (!update(p, v)) {
            boundary_size_[p] -= size_[v];
            append(p, v);
        }
    left_ -= size_[p];
    size_[p] = 0;
    const auto gone = [&](Vertex v) { return size_[v] == 0; };
    std::erase_if(boundary_[p], gone);
    merge_equals(p);
    std::erase_if(boundary_[p], gone);
    for (const Vertex v : boundary_[p]) {
        degree_[v] = std::clamp(degree_[v] + boundary_size_[p] - size_[v], 0, left_ - size_[v]);
        insert(v);
    }
}

Array<Vertex> QuotientGraph::order(const Most& most, Stop& stop,
                                   const std::function<void(double)>& report) {
    Array<Vertex> order, dense;
    double entries = 0, operations = 0;
    ptrdiff_t reported = 0;
    for (Vertex v = 0; v < n_; ++v)
        if (size_[v] == 0) dense.push_back(v);
    while (left_ > 0) {
        const Vertex p = next_pivot();
        eliminate(p);
        stop.ask_after(16.0 * static_cast<double>(boundary_[p].size() + 1));
        if (stop) throw Stopped{};
        double degree = boundary_size_[p];
        // p's boundary is a clique now, whose edges are entries too.
        const double clique = degree * (degree - 1) / 2,
                     of_clique = (degree + 1) * degree * (degree - 1) / 3;
        for (Vertex v = p; v >= 0; v = merged_[v]) {
            order.push_back(v);
            entries += degree;
            operations += degree * (degree + 1);
            ++degree;
        }
        if (entries + clique + most.operation * (operations + of_clique) >
            static_cast<double>(most.entries))
            throw std::overflow_error("too many edges");
        if (steps_ > most.steps) throw std::overflow_error("too many steps");
        if (std::ssize(order) - reported > n_ / 100) {
            reported = std::ssize(order);
            report(static_cast<double>(reported) / n_);
        }
    }
    order.insert(order.end(), dense.begin(), dense.end());
    return order;
}

}  // namespace

Neighbors neighbors_of(Vertex n, ptrdiff_t edges, const Vertex* source, const Vertex* target,
                       Stop& stop) {
    const auto count = [&](ptrdiff_t steps) {
        stop.ask_after(static_cast<double>(steps));
        if (stop) throw Stopped{};
    };
    const auto each_end = [&](auto action) {
        for (ptrdiff_t e = 0; e < edges; ++e) {
            if (e % 4096 == 0) count(4 * 4096);
            if (source[e] != target[e]) {
                action(source[e], target[e]);
                action(target[e], source[e]);
            }
        }
    };
    Array<ptrdiff_t> start(static_cast<std::size_t>(n) + 1, 0);
    each_end([&](Vertex from, Vertex) { ++start[from + 1]; });
    std::partial_sum(start.begin(), start.end(), start.begin());
    Array<Vertex> all(static_cast<std::size_t>(start[n]));
    Array<ptrdiff_t> end(start.begin(), start.end() - 1);
    each_end([&](Vertex from, Vertex to) { all[end[from]++] = to; });
    Neighbors graph{{0}, {}};
    graph.target.reserve(all.size());
    for (Vertex v = 0; v < n; ++v) {
        const auto first = all.begin() + start[v], last = all.begin() + start[v + 1];
        count(16 * (last - first + 1));
        std::sort(first, last);
        graph.target.insert(graph.target.end(), first, std::unique(first, last));
        graph.start.push_back(static_cast<ptrdiff_t>(graph.target.size()));
    }
    return graph;
}

Array<Vertex> minimum_degree_order(const Neighbors& graph, const Most& most, Stop& stop,
                                   const std::function<void(double)>& report) {
    return QuotientGraph(graph).order(most, stop, report);
}

}  // namespace tropical
