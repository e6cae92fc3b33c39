#include "graph/search/best_first.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "graph/search/counts.hpp"
#include "reference.hpp"
#include "runtime/tasks.hpp"

namespace tropical::search {
namespace {

constexpr ptrdiff_t steps_between_questions = 1 << 12;  // vertices between two looks at `stop`

struct Run {
    const Graph& graph;
    int semiring;
    const Sources& sources;
    const Results& results;
    const Memory<std::uint8_t> wanted;  // (n,) whether a vertex is a target; null without targets
    const ptrdiff_t wanted_count;
    Array<Scratch>& slots;
    std::atomic<Outcome> outcome = Outcome::done;

    ptrdiff_t tasks() const { return sources.together ? 1 : sources.count; }
};

void prepare(Scratch& scratch, const Run& run) {
    const ptrdiff_t n = run.graph.n;
    if (!scratch.rank) scratch.rank = Memory<Rank>(n);
    if (run.results.before && !scratch.before) scratch.before = Memory<Vertex>(n);
    if (run.results.first && !scratch.first) scratch.first = Memory<Vertex>(n);
    if (run.results.count && !scratch.count) {
        scratch.count = Memory<double>(n);
        scratch.open = Memory<std::int32_t>(n);
    }
}

// One search; see best_first.hpp.
template <class S, class W>
class Search {
  public:
    Search(Run& run, Scratch& scratch, int slot, Stop& stop)
        : run_(run),
          graph_(run.graph),
          scratch_(scratch),
          slot_(slot),
          stop_(stop),
          left_(run.wanted_count) {
        floor_ = std::max(rank_of<S>(S::template zero<double>) + 1, rank_of<S>(run.results.limit));
    }

    // Ends early if the work is to end.
    Outcome search(ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t i = begin; i < end; ++i) {
            const double value =
                run_.sources.values ? run_.sources.values[i] : S::template one<double>;
            const Vertex source = run_.sources.vertices[i];
            reach(source, rank_of<S>(value), no_vertex, source);
        }
        Heap::Entry entry;
        for (ptrdiff_t steps = 1; outcome_ == Outcome::done; ++steps) {
            if (!scratch_.heap.pop(entry)) {
                last_ = 1;
                break;
            }
            if (entry.rank < floor_) break;
            if (scratch_.rank[entry.vertex] != entry.rank) continue;  // a better path was found
            last_ = entry.rank;
            if (run_.results.count) scratch_.settled.push_back(entry.vertex);
            if (run_.wanted && run_.wanted[entry.vertex] && --left_ == 0) {
                if (!run_.results.count) break;
                floor_ = last_;  // arcs of weight 0 may lead to the target yet
            }
            leave(entry);
            if (steps % steps_between_questions == 0 && stop_.asked(slot_)) break;
        }
        return outcome_;
    }

    // Paths of lower ranks may be improved yet.
    Rank last() const { return last_; }

  private:
    void leave(const Heap::Entry& tail) {
        const double value = value_of<S>(tail.rank);
        const W* const weight = static_cast<const W*>(graph_.weight);
        const Vertex source = run_.results.first ? scratch_.first[tail.vertex] : 0;
        const Graph::Range arcs = graph_.arcs(tail.vertex);
        for (ptrdiff_t arc = arcs.begin; arc < arcs.end; ++arc) {
            const Vertex head = graph_.head[arc];
            if (!graph_.has(head)) outcome_ = Outcome::malformed;
            if (outcome_ == Outcome::malformed) return;
            const Rank rank = rank_of<S>(S::Multiply::apply(double{weight[arc]}, value));
            if (rank > tail.rank) outcome_ = Outcome::improving;
            reach(head, rank, tail.vertex, source);
        }
    }

    void reach(Vertex vertex, Rank rank, Vertex before, Vertex source) {
        if (rank <= scratch_.rank[vertex] || rank < floor_) return;
        if (scratch_.rank[vertex] == 0) scratch_.touched.push_back(vertex);
        scratch_.rank[vertex] = rank;
        if (run_.results.before) scratch_.before[vertex] = before;
        if (run_.results.first) scratch_.first[vertex] = source;
        scratch_.heap.push(rank, vertex);
    }

    Run& run_;
    const Graph graph_;
    Scratch& scratch_;
    const int slot_;
    Stop& stop_;
    ptrdiff_t left_;  // targets that are not reached yet
    Rank floor_, last_ = 1;
    Outcome outcome_ = Outcome::done;
};

template <class S, class W>
Outcome run_task(Run& run, ptrdiff_t task, int slot, Stop& stop) {
    Scratch& scratch = run.slots[slot];
    prepare(scratch, run);
    Search<S, W> search(run, scratch, slot, stop);
    Outcome outcome =
        run.sources.together ? search.search(0, run.sources.count) : search.search(task, task + 1);
    if (outcome == Outcome::done && !stop && run.results.count &&
        !count_paths(run.graph, scratch, run.sources.vertices[task], search.last()))
        outcome = Outcome::circular;
    if (outcome == Outcome::done && !stop)
        write<S>(run.results, run.graph.n, scratch, search.last(), task);
    clean(scratch);
    return outcome;
}

Outcome run_in(Run& run, ptrdiff_t task, int slot, Stop& stop) {
    Outcome outcome = Outcome::done;
    const auto with_semiring = [&]<class S>() {
        if constexpr (selective<S>)
            outcome = run.graph.single ? run_task<S, float>(run, task, slot, stop)
                                       : run_task<S, double>(run, task, slot, stop);
    };
    try {
        with_item(run.semiring, with_semiring, Semirings{});
    } catch (const std::bad_alloc&) {
        run.slots[slot] = Scratch();
        throw;
    }
    return outcome;
}

Memory<std::uint8_t> marked(ptrdiff_t n, const Results& results) {
    if (results.target_count < 0) return {};
    Memory<std::uint8_t> wanted(n);
    for (ptrdiff_t i = 0; i < results.target_count; ++i) wanted[results.targets[i]] = 1;
    return wanted;
}

ptrdiff_t count_marked(const Memory<std::uint8_t>& wanted, const Results& results) {
    // Counts each vertex once, however often it is a target.
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < results.target_count; ++i)
        count += std::exchange(wanted[results.targets[i]], std::uint8_t{0});
    for (ptrdiff_t i = 0; i < results.target_count; ++i) wanted[results.targets[i]] = 1;
    return count;
}

}  // namespace

Outcome search_best_first(const Graph& graph, int semiring, const Sources& sources,
                          const Results& results, int threads, Array<Scratch>& slots,
                          StopRequested stop_requested) {
    Memory<std::uint8_t> wanted = marked(graph.n, results);
    const ptrdiff_t count = count_marked(wanted, results);
    Run run{.graph = graph,
            .semiring = semiring,
            .sources = sources,
            .results = results,
            .wanted = std::move(wanted),
            .wanted_count = count,
            .slots = slots};
    threads = static_cast<int>(std::clamp<ptrdiff_t>(run.tasks(), 1, threads));
    if (slots.length() < threads) slots.resize(static_cast<std::size_t>(threads));
    for_each_task(threads, run.tasks(), stop_requested, [&](ptrdiff_t task, int slot, Stop& stop) {
        if (run.outcome != Outcome::done) return;
        const Outcome outcome = run_in(run, task, slot, stop);
        if (outcome != Outcome::done) run.outcome = outcome;
    });
    return run.outcome;
}

}  // namespace tropical::search
