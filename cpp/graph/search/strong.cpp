#include "graph/search/strong.hpp"

#include <algorithm>

namespace tropical::search {
namespace {

// R. E. Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1,
// 1972, without recursion. low[v] is the least visit that v is known to reach on the stack.
class Components {
  public:
    explicit Components(const Graph& graph)
        : graph_(graph),
          number_(static_cast<std::size_t>(graph.n), -1),
          low_(static_cast<std::size_t>(graph.n), 0) {}

    Array<Vertex> find() {
        for (Vertex root = 0; root < graph_.n; ++root) {
            if (low_[root]) continue;
            for (enter(root); !path_.empty();) {
                Place& place = path_.back();
                if (place.arc < place.end)
                    look_at(place.vertex, graph_.head[place.arc++]);
                else
                    leave();
            }
        }
        return std::move(number_);
    }

  private:
    struct Place {
        Vertex vertex, visit;
        ptrdiff_t arc, end;
    };

    void enter(Vertex v) {
        const Graph::Range arcs = graph_.arcs(v);
        low_[v] = ++visits_;
        path_.push_back({v, visits_, arcs.begin, arcs.end});
        stack_.push_back(v);
    }

    void look_at(Vertex tail, Vertex head) {
        if (!graph_.has(head)) return;
        if (!low_[head])
            enter(head);
        else if (number_[head] < 0)
            low_[tail] = std::min(low_[tail], low_[head]);
    }

    void leave() {
        const Place place = path_.back();
        path_.pop_back();
        if (low_[place.vertex] < place.visit) {
            Vertex& before = low_[path_.back().vertex];
            before = std::min(before, low_[place.vertex]);
            return;
        }
        for (Vertex v = -1; v != place.vertex; stack_.pop_back()) {
            v = stack_.back();
            number_[v] = count_;
        }
        ++count_;
    }

    const Graph& graph_;
    Array<Vertex> number_, low_, stack_;
    Array<Place> path_;
    Vertex visits_ = 0, count_ = 0;
};

}  // namespace

Array<Vertex> strong_components(const Graph& graph) { return Components(graph).find(); }

}  // namespace tropical::search
