// The search from one source, and the shares of its paths.
#pragma once

#include <limits>
#include <optional>

#include "graph/centrality/arcs.hpp"
#include "graph/centrality/bucket_lists.hpp"
#include "graph/centrality/queue.hpp"

namespace tropical {

struct Weights {
    double lightest, heaviest;
};

// What one thread needs for its searches.
class PathSearch {
  public:
    using Vertex = std::int32_t;
    // The vertices of a search are `step` apart on average.
    PathSearch(const WeightedArcs& graph, const Weights& weights, double step)
        : graph_(graph),
          node_(static_cast<std::size_t>(graph.n)),
          queue_(weights.heaviest, entries_a_bucket * step) {
        order_.reserve(node_.size());
        if (BucketLists::fit(weights.lightest, weights.heaviest, step))
            lists_.emplace(graph.n, weights.lightest, weights.heaviest);
    }

    // Adds the shares of the paths from a source.
    void add(Vertex source, const Betweenness& wanted) {
        search(source);
        if (many_) {
            search<true>(source);
            add_shares<true>(source, wanted);
        } else {
            add_shares<false>(source, wanted);
        }
    }

    // Finds the shortest paths from a source: Dijkstra's search, or one by levels.
    template <bool in_units = false>
    void search(Vertex source) {
        for (const Vertex v : order_) node_[v] = {};
        order_.clear();
        ties_.clear();
        many_ = false;
        node_[source].distance = 0;
        node_[source].paths = 1;
        if (!graph_.weight) {
            order_.push_back(source);
            const auto push = [&](Vertex v, double) { order_.push_back(v); };
            for (ptrdiff_t i = 0; i < std::ssize(order_); ++i) pass<in_units>(order_[i], push);
        } else if (lists_) {
            take_from<in_units>(*lists_, source);
        } else {
            take_from<in_units>(queue_, source);
        }
    }

    // The mean distance between a vertex of the last search and the next one.
    double mean_step() const {
        return order_.empty() ? 0
                              : node_[order_.back()].distance / static_cast<double>(order_.size());
    }

  private:
    // The last arc of a path: that number among the arcs of a vertex.
    struct Step {
        Vertex from, arc;
    };
    struct Node {
        double distance = never;
        double paths;      // as many are the shortest from the source, times `unit`^units
        double share = 0;  // of one path to each vertex behind
        Step before;       // of one shortest path
        std::int32_t tie;  // of another one, or none
        bool passed = false;
        std::uint16_t units = 0;
    };
    struct Tie {
        Step before;
        std::int32_t next;
    };
    static constexpr std::int32_t none = -1;
    // So many vertices are in a bucket of the queue: measured, from 0.1 to 0.5 is as fast.
    static constexpr double entries_a_bucket = 0.25;
    static constexpr double never = std::numeric_limits<double>::infinity();
    // Paths beyond the range of double are counted in units.
    static constexpr double unit = 0x1p900;
    const WeightedArcs& graph_;
    Array<Node> node_;
    Array<Tie> ties_;
    Array<Vertex> order_;  // the vertices that were reached, the nearest first
    DistanceQueue queue_;
    std::optional<BucketLists> lists_;  // in place of the queue, where they fit
    bool many_ = false;                 // the last search found more than one unit of paths

    template <bool in_units>
    void add_shares(Vertex source, const Betweenness& wanted) {
        if (wanted.endpoints) wanted.vertices[source] += static_cast<double>(order_.size() - 1);
        for (ptrdiff_t i = std::ssize(order_) - 1; i > 0; --i) {
            const Node& node = node_[order_[i]];
            wanted.vertices[order_[i]] += node.share + (wanted.endpoints ? 1 : 0);
            const double share = (1 + node.share) / node.paths;
            hand_back<in_units>(node.before, share, node.units, wanted.arcs);
            for (std::int32_t tie = node.tie; tie != none; tie = ties_[tie].next)
                hand_back<in_units>(ties_[tie].before, share, node.units, wanted.arcs);
        }
    }

    // Dijkstra's search.
    template <bool in_units, class Queue>
    void take_from(Queue& queue, Vertex source) {
        const auto push = [&](Vertex v, double distance) { queue.push(v, distance); };
        push(source, 0);
        for (Vertex v; (v = queue.pop()) >= 0;) {
            if (node_[v].passed) continue;  // by a nearer entry
            order_.push_back(v);
            pass<in_units>(v, push);
        }
    }

    // Continues the paths to v by one arc.
    template <bool in_units, class Push>
    void pass(Vertex v, Push push) {
        Node& from = node_[v];
        from.passed = true;
        const ptrdiff_t first = graph_.start[v], end = graph_.start[v + 1];
        for (ptrdiff_t a = first; a < end; ++a) {
            Node& to = node_[graph_.target[a]];
            const double length = from.distance + (graph_.weight ? graph_.weight[a] : 1);
            if (length > to.distance) continue;
            const Step step{v, static_cast<Vertex>(a - first)};
            if (length < to.distance) {
                to.distance = length;
                to.paths = from.paths;
                if constexpr (in_units) to.units = from.units;
                to.before = step;
                to.tie = none;
                push(graph_.target[a], length);
            } else if (!to.passed) {
                if constexpr (in_units) {
                    add_paths(to, from);
                } else {
                    to.paths += from.paths;
                    many_ |= to.paths > unit;
                }
                ties_.push_back({step, to.tie});
                to.tie = static_cast<std::int32_t>(ties_.size() - 1);
            }
        }
    }

    static void add_paths(Node& to, const Node& from) {
        for (; to.units < from.units; ++to.units) to.paths /= unit;
        to.paths += paths_in(to.units, from);
        if (to.paths > unit) {
            to.paths /= unit;
            ++to.units;
        }
    }

    // The number of paths in so many units, which is 0 where it does not count beside theirs.
    static double paths_in(int units, const Node& node) {
        double paths = node.paths;
        for (int u = node.units; u < units && paths > 0; ++u) paths /= unit;
        return paths;
    }

    // A vertex hands back this share of each path that came by a step. No vertex before another
    // one has more paths, or units.
    template <bool in_units>
    void hand_back(const Step& before, double share, int units, double* arcs) {
        Node& from = node_[before.from];
        const double part = (in_units ? paths_in(units, from) : from.paths) * share;
        from.share += part;
        if (arcs) arcs[graph_.start[before.from] + before.arc] += part;
    }
};

}  // namespace tropical
