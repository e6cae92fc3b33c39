// Rows of the star, by two sweeps over the elimination tree for many sources at a time: up from
// the sources to the roots, then down to the targets.
#include <algorithm>
#include <atomic>
#include <new>

#include "definition.hpp"
#include "elimination/factor.hpp"
#include "elimination/predecessors.hpp"
#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

struct Run {
    const Factor& factor;
    const Rows& rows;
    const KernelSet& set;
    ptrdiff_t lanes, row_bytes;  // sources of a task; bytes of a row of X
    Array<Vertex> blocks;        // that the sweep down visits, ascending
    Array<Vertex> ranks;         // of the targets
    char* memory;
    ptrdiff_t slot_bytes;
    Stop stop;
    std::atomic<bool> no_memory = false;

    ptrdiff_t sources() const { return static_cast<ptrdiff_t>(rows.sources.size()); }
};

// The blocks of the ranks above the targets, these included; of all ranks without targets.
Array<Vertex> blocks_above(const Structure& s, const Array<Vertex>* targets) {
    Array<char> wanted(s.order.size(), !targets);
    if (targets)
        for (const Vertex v : *targets)
            for (Vertex r = s.rank[v]; r >= 0 && !wanted[r]; r = s.parent[r]) wanted[r] = true;
    Array<Vertex> blocks;
    for (Vertex b = 0; b + 1 < static_cast<Vertex>(s.block.size()); ++b)
        if (wanted[s.block[b + 1] - 1]) blocks.push_back(b);
    return blocks;
}

Array<Vertex> ranks_of(const Structure& s, const Array<Vertex>* targets) {
    if (!targets) return s.rank;
    Array<Vertex> ranks;
    for (const Vertex v : *targets) ranks.push_back(s.rank[v]);
    return ranks;
}

// One batch of sources. Row r of X holds the best path from each source to rank r.
template <class S, class T>
void compute(Run& run, ptrdiff_t first, int slot) {
    const Structure& s = run.factor.structure;
    char* const x = run.memory + slot * run.slot_bytes;
    char* const reached = x + s.size() * run.row_bytes;
    const auto row = [&](Vertex r) { return reinterpret_cast<T*>(x + r * run.row_bytes); };
    const ptrdiff_t count = std::min(run.lanes, run.sources() - first);

    std::fill_n(reached, s.size(), char{0});
    for (ptrdiff_t i = 0; i < count; ++i)
        for (Vertex r = s.rank[run.rows.sources[first + i]]; r >= 0 && !reached[r]; r = s.parent[r])
            reached[r] = 1;
    for (Vertex r = 0; r < s.size(); ++r)
        if (reached[r]) std::fill_n(row(r), run.lanes, S::template zero<T>);
    for (ptrdiff_t i = 0; i < count; ++i)
        row(s.rank[run.rows.sources[first + i]])[i] = S::template one<T>;

    SweepArgs args{.start = s.start.data(),
                   .higher = s.higher.data(),
                   .weights = run.factor.up,
                   .ranks = s.size(),
                   .block = s.block.data(),
                   .blocks = run.blocks.data(),
                   .block_count = static_cast<ptrdiff_t>(run.blocks.size()),
                   .reached = reached,
                   .x = x};
    run.set.sweep_up(args);
    args.weights = run.factor.down;
    run.set.sweep_down(args);

    run.set.copy_columns({.columns = static_cast<ptrdiff_t>(run.ranks.size()),
                          .sources = count,
                          .ranks = run.ranks.data(),
                          .x = x,
                          .target = at(run.rows.out, first, 0).data,
                          .target_stride = run.rows.out.row_stride});
    if (const Predecessors* const wanted = run.rows.predecessors)
        if (!write_predecessors(run.factor, *wanted,
                                {x, run.row_bytes, &run.rows.sources[first], first, count}, run.set,
                                run.stop, slot == 0))
            run.no_memory = true;
}

}  // namespace

void star_rows(const Factor& factor, const Rows& rows, const Isa& isa, int threads,
               Workspace& workspace, StopRequested stop_requested) {
    const Structure& s = factor.structure;
    const ptrdiff_t row_bytes = sweep_registers * isa.table->vector_bytes;
    Run run{.factor = factor,
            .rows = rows,
            .set = isa.table->sets[factor.semiring][static_cast<int>(factor.dtype)],
            .lanes = row_bytes / item_size(factor.dtype),
            .row_bytes = row_bytes,
            .blocks = blocks_above(s, rows.targets),
            .ranks = ranks_of(s, rows.targets),
            .memory = nullptr,
            .slot_bytes = (s.size() * (row_bytes + 1) + 4095) / 4096 * 4096,
            .stop = Stop(stop_requested)};
    const ptrdiff_t tasks = (run.sources() + run.lanes - 1) / run.lanes;
    threads = static_cast<int>(std::min<ptrdiff_t>(threads, std::max<ptrdiff_t>(tasks, 1)));
    run.memory = workspace.grow(run.slot_bytes * threads);
    parallel_for(
        threads, tasks,
        [](void* context, ptrdiff_t task, int slot) {
            Run& all = *static_cast<Run*>(context);
            const FloatEnvironment environment;
            if (slot == 0) all.stop.ask();
            if (all.stop) return;
            with_types(all.factor.semiring, all.factor.dtype, [&]<class S, class Row>() {
                if constexpr (S::Add::idempotent)
                    compute<S, typename Row::type>(all, task * all.lanes, slot);
            });
        },
        &run, [](void* context) { static_cast<Run*>(context)->stop.ask(); });
    if (run.stop) throw Stopped{};
    if (run.no_memory) throw std::bad_alloc{};
}

}  // namespace tropical
