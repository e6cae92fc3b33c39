#include "graph/search/loopless.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "semiring.hpp"

namespace tropical::search {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::uint8_t open = 0, left = 1, on_root = 2;

}  // namespace

LooplessPaths::LooplessPaths(const Graph& graph, const double* to_target, Vertex source,
                             Vertex target)
    : graph_(graph),
      to_target_(to_target),
      source_(source),
      target_(target),
      rank_(graph.n),
      before_(graph.n),
      closed_(graph.n),
      barred_(graph.n) {}

bool LooplessPaths::next(Path& path, StopRequested stop_requested) {
    Stop stop(stop_requested);
    if (std::exchange(begun_, true)) {
        divide(stop);
    } else {
        closed_[source_] = on_root;
        add_candidate({source_}, 0, {}, stop);
        closed_[source_] = open;
    }
    if (stop) throw Stopped{};
    taken_ = {};
    if (candidates_.empty()) return false;
    taken_ = std::move(candidates_.extract(candidates_.begin()).value());
    path = {taken_.length, taken_.vertices};
    return true;
}

// Adds the best of the paths that leave the taken one at each of its vertices.
void LooplessPaths::divide(Stop& stop) {
    Array<Vertex> root;
    double length = 0;
    for (ptrdiff_t i = 0; i + 1 < taken_.vertices.length() && !stop; ++i) {
        const Vertex tail = taken_.vertices[i], head = taken_.vertices[i + 1];
        root.push_back(tail);
        closed_[tail] = on_root;
        if (i >= taken_.common) {
            Array<Vertex> barred;
            if (i == taken_.common) barred = std::move(taken_.barred);
            barred.push_back(head);
            add_candidate(root, length, std::move(barred), stop);
        }
        length += least_weight(tail, head);
        stop.ask_after(64);
    }
    for (const Vertex v : root) closed_[v] = open;
}

// Adds the shortest path that begins with `root`, whose length is given.
void LooplessPaths::add_candidate(const Array<Vertex>& root, double length, Array<Vertex> barred,
                                  Stop& stop) {
    const Vertex end = root.back();
    const bool found = search(end, length, barred, stop);
    if (found) {
        Array<Vertex> vertices;
        for (Vertex v = target_; v != end; v = before_[v]) vertices.push_back(v);
        vertices.insert(vertices.end(), root.rbegin(), root.rend());
        std::reverse(vertices.begin(), vertices.end());
        candidates_.insert({.length = end == target_ ? length : value_of<MinPlus>(rank_[target_]),
                            .number = made_++,
                            .vertices = std::move(vertices),
                            .barred = std::move(barred),
                            .common = root.length() - 1});
    }
    for (const Vertex v : touched_) {
        rank_[v] = 0;
        closed_[v] = open;
    }
    touched_.clear();
    heap_.clear();
}

// Finds the shortest path from the end of the root to the target that avoids the root, and whose
// second vertex is not barred. It is then in before_.
bool LooplessPaths::search(Vertex from, double length, const Array<Vertex>& barred, Stop& stop) {
    if (from == target_) return barred.empty();
    const auto leave = [&](Vertex tail, double so_far, Rank most) {
        const Graph::Range arcs = graph_.arcs(tail);
        for (ptrdiff_t arc = arcs.begin; arc < arcs.end; ++arc) {
            const Vertex head = graph_.head[arc];
            if (!graph_.has(head) || closed_[head] == on_root) continue;
            if (tail == from && barred_[head]) continue;
            reach(head, so_far + weight(arc), tail, most);
        }
    };
    for (const Vertex v : barred) barred_[v] = 1;
    leave(from, length, rank_of<MinPlus>(length + to_target_[from]));
    for (const Vertex v : barred) barred_[v] = 0;
    Heap::Entry entry;
    while (!stop && heap_.pop(entry)) {
        const Vertex v = entry.vertex;
        if (closed_[v] != open) continue;
        if (v == target_) return true;
        closed_[v] = left;
        stop.ask_after(64);
        leave(v, value_of<MinPlus>(rank_[v]), entry.rank);
    }
    return false;
}

// Notes a shorter path to a vertex. Its bound is at most as good as `most`, that of its tail, but
// for rounding, which the heap must not see. A vertex that was left too early, by rounding, is open
// again.
void LooplessPaths::reach(Vertex head, double length, Vertex before, Rank most) {
    const double bound = length + to_target_[head];
    const Rank rank = rank_of<MinPlus>(length);
    if (!(bound < infinity) || rank <= rank_[head]) return;
    if (rank_[head] == 0) touched_.push_back(head);
    rank_[head] = rank;
    before_[head] = before;
    closed_[head] = open;
    heap_.push(std::min(rank_of<MinPlus>(bound), most), head);
}

double LooplessPaths::weight(ptrdiff_t arc) const {
    return graph_.single ? double{Graph::at<float>(graph_.weight, arc)}
                         : Graph::at<double>(graph_.weight, arc);
}

double LooplessPaths::least_weight(Vertex tail, Vertex head) const {
    double least = infinity;
    const Graph::Range arcs = graph_.arcs(tail);
    for (ptrdiff_t arc = arcs.begin; arc < arcs.end; ++arc)
        if (graph_.head[arc] == head) least = std::min(least, weight(arc));
    return least;
}

}  // namespace tropical::search
