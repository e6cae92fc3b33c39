#include "graph/search/many.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "graph/search/ball.hpp"
#include "graph/search/relaxation.hpp"
#include "reference.hpp"
#include "runtime/tasks.hpp"

namespace tropical::search {
namespace {

// Fewer sources leave too many lanes empty. The first batch of each thread may be in vain, so there
// must be several.
constexpr ptrdiff_t least_sources = 12, least_batches = 4;
// Rows of more vertices are far beyond the caches.
constexpr ptrdiff_t most_vertices = 1 << 17;
// A batch that takes more than this share of the time of its searches is given up.
constexpr double most_share = 0.6;

// Nanoseconds that a search takes for a vertex that it reaches, and that it takes to follow a
// vertex or an arc from 32 sources. Measured; see graph/costs.py.
double search_time(const Graph& graph) {
    const double degree = static_cast<double>(graph.m) / static_cast<double>(graph.n);
    return 15 + 25 * std::log2(1 + degree) + 1.2 * degree;
}
constexpr double follow_time = 12;
// And for each number of a row, whether it is reached or not.
constexpr double number_time = 0.6;

struct Run {
    const Graph& graph;
    const KernelSet& set;
    double zero, one;
    const Sources& sources;
    const Results& results;
    const ptrdiff_t batches;
    std::atomic<ptrdiff_t> next = 0, end = batches;

    // Batches from `number` on are left to searches.
    void end_at(ptrdiff_t number) {
        for (ptrdiff_t seen = end; number < seen && !end.compare_exchange_weak(seen, number);) {
        }
    }
};

template <class Stopped>
bool find(Relaxation& paths, const Run& run, ptrdiff_t first, ptrdiff_t count,
          const Stopped& stopped) {
    const double most = most_share * search_time(run.graph) / follow_time *
                        static_cast<double>(count * run.graph.n);
    paths.begin(run.sources.vertices + first,
                run.sources.values ? run.sources.values + first : nullptr, count);
    while (!paths.done())
        if (!paths.follow() || static_cast<double>(paths.followed()) > most || stopped())
            return false;
    return true;
}

// Computes one batch after the other.
template <class Stopped>
void run_batches(Run& run, const Stopped& stopped) {
    Relaxation paths(run.graph, run.set, run.zero, run.one);
    for (ptrdiff_t number; (number = run.next++) < run.end;) {
        const ptrdiff_t first = number * at_once, place = first * run.graph.n,
                        count = std::min(at_once, run.sources.count - first);
        if (!find(paths, run, first, count, stopped)) return run.end_at(number);
        char* const values = run.results.values;
        const ptrdiff_t reached =
            run.results.single ? paths.write(reinterpret_cast<float*>(values) + place, count)
                               : paths.write(reinterpret_cast<double*>(values) + place, count);
        const double searches = static_cast<double>(reached) * search_time(run.graph),
                     numbers = static_cast<double>(at_once * run.graph.n);
        if (searches < static_cast<double>(paths.followed()) * follow_time + numbers * number_time)
            run.end_at(number + 1);
    }
}

// Whether paths from most of some sources lead far, over few arcs, as in an expander: its balls are
// surface for the most part. Else rows would hold little but zeros, or change too often.
bool spreads_fast(const Graph& graph, const Sources& sources) {
    constexpr ptrdiff_t size = 1000, looks = 5;
    int fast = 0;
    for (ptrdiff_t i = 0; i < looks; ++i) {
        const Vertex center = sources.vertices[i * (sources.count - 1) / (looks - 1)];
        const Ball ball = ball_around(graph, center, size, graph.n);
        const bool all = ball.surface == 0;  // that can be reached
        fast += ball.size >= std::min(graph.n, size) / 4 &&
                (all || ball.surface * 3 > ball.size);  // in the plane it is 0.05 to 0.27
    }
    return fast > looks / 2;
}

// Whether no arc improves a path, as far as its weight tells; NaN does not tell.
template <class S, class W>
bool is_plain(const Graph& graph) {
    constexpr double one = S::template one<double>;
    const W* const weight = static_cast<const W*>(graph.weight);
    return std::all_of(weight, weight + graph.m, [](W w) {
        return w == w && !S::Add::better(S::Multiply::apply(double{w}, one), one);
    });
}

}  // namespace

Outcome search_from_many(const Graph& graph, int semiring, const Sources& sources,
                         const Results& results, const Isa& isa, int threads, Array<Scratch>& slots,
                         StopRequested stop_requested) {
    const ptrdiff_t batches = (sources.count + at_once - least_sources) / at_once;
    Sources rest = sources;
    Results left = results;
    const auto with_semiring = [&]<class S>() {
        if constexpr (selective<S>) {
            constexpr double zero = S::template zero<double>;
            const bool rows_alone = !sources.together && results.target_count < 0 &&
                                    results.limit == zero && !results.before && !results.first &&
                                    !results.count;
            if (!rows_alone || batches < least_batches * threads || graph.n > most_vertices) return;
            if (!spreads_fast(graph, sources)) return;
            if (!(graph.single ? is_plain<S, float>(graph) : is_plain<S, double>(graph))) return;
            Run run{.graph = graph,
                    .set = isa.table->sets[semiring][static_cast<int>(id_of<Float64>)],
                    .zero = zero,
                    .one = S::template one<double>,
                    .sources = sources,
                    .results = results,
                    .batches = batches};
            for_each_task(threads, threads, stop_requested, [&](ptrdiff_t, int slot, Stop& stop) {
                run_batches(run, [&] { return stop.asked(slot); });
            });
            const ptrdiff_t done = std::min(run.end * at_once, sources.count);
            rest.vertices += done;
            rest.values += rest.values ? done : 0;
            rest.count -= done;
            left.values += done * graph.n *
                           (left.single ? ptrdiff_t{sizeof(float)} : ptrdiff_t{sizeof(double)});
        }
    };
    with_item(semiring, with_semiring, Semirings{});
    return search_best_first(graph, semiring, rest, left, threads, slots, stop_requested);
}

}  // namespace tropical::search
