#include "graph/search/counts.hpp"

#include "semiring.hpp"

namespace tropical::search {
namespace {

// Calls visit(head) for each arc that ends a shortest path to a settled vertex.
template <class W, class Visit>
void visit_tight_arcs(const Graph& graph, const Scratch& scratch, Vertex tail, Rank last,
                      Visit visit) {
    const double value = value_of<MinPlus>(scratch.rank[tail]);
    const Graph::Range arcs = graph.arcs(tail);
    for (ptrdiff_t arc = arcs.begin; arc < arcs.end; ++arc) {
        const Vertex head = graph.head[arc];
        if (!graph.has(head) || head == tail || scratch.rank[head] < last) continue;
        const double weight = Graph::at<W>(graph.weight, arc);
        if (rank_of<MinPlus>(value + weight) == scratch.rank[head]) visit(head);
    }
}

// The tight arcs form a graph without cycles, unless there are cycles of weight 0. A vertex is
// counted when the tails of all tight arcs into it are: in the order of lengths alone, an arc of
// weight 0 may lead from a later vertex to an earlier one (A. B. Kahn, "Topological sorting of
// large networks", Communications of the ACM 5, 1962).
template <class W>
bool count(const Graph& graph, Scratch& scratch, Vertex source, Rank last) {
    for (const Vertex v : scratch.settled) {
        scratch.count[v] = 0;
        scratch.open[v] = 0;
    }
    for (const Vertex v : scratch.settled)
        visit_tight_arcs<W>(graph, scratch, v, last, [&](Vertex head) { ++scratch.open[head]; });
    if (scratch.settled.empty()) return true;
    if (scratch.open[source] != 0) return false;
    scratch.count[source] = 1;
    Array<Vertex> queue{source};
    for (ptrdiff_t i = 0; i < queue.length(); ++i) {
        const Vertex v = queue[i];
        visit_tight_arcs<W>(graph, scratch, v, last, [&](Vertex head) {
            scratch.count[head] += scratch.count[v];
            if (--scratch.open[head] == 0) queue.push_back(head);
        });
    }
    return queue.size() == scratch.settled.size();
}

}  // namespace

bool count_paths(const Graph& graph, Scratch& scratch, Vertex source, Rank last) {
    return graph.single ? count<float>(graph, scratch, source, last)
                        : count<double>(graph, scratch, source, last);
}

}  // namespace tropical::search
