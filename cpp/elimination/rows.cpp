// Rows of the star, by two sweeps over the elimination tree for many sources at a time: up from
// the sources to the roots, then down to the targets.
#include <algorithm>
#include <atomic>
#include <functional>
#include <new>

#include "definition.hpp"
#include "elimination/batch.hpp"
#include "elimination/predecessors.hpp"
#include "runtime/caches.hpp"
#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// The ranks of a chunk, whose rows of X stay in L2 until they are copied.
constexpr Vertex chunk_ranks = 2048;

// Some blocks that the sweep down visits, and the groups of targets that are ready thereafter.
struct Chunk {
    ptrdiff_t first_block, end_block, first_group, end_group;
};

struct Run {
    const Factor& factor;
    const Rows& rows;
    const KernelSet& set;
    SourceBatch batch;
    Array<Vertex> blocks;  // that the sweep down visits, ascending
    Array<Vertex> ranks;   // of the targets
    Array<Vertex> groups;  // of targets, in the order in which they are copied
    Array<Chunk> chunks;   // the highest ranks first
    char* memory;
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

// Cuts the blocks into chunks, and gives each the groups of targets whose lowest rank it has.
void cut_chunks(Run& run) {
    const Structure& s = run.factor.structure;
    const auto first_rank = [&](ptrdiff_t b) { return s.block[run.blocks[b]]; };
    Array<Vertex> lowest;  // of each chunk
    for (ptrdiff_t end = std::ssize(run.blocks), b = end; b > 0; end = b) {
        const Vertex last = s.block[run.blocks[b - 1] + 1];
        while (b > 0 && last - first_rank(b - 1) <= chunk_ranks) --b;
        run.chunks.push_back({b, end, 0, 0});
        lowest.push_back(first_rank(b));
    }
    const auto targets = static_cast<ptrdiff_t>(run.ranks.size());
    Array<Array<Vertex>> groups(run.chunks.size());
    for (ptrdiff_t j = 0; j < targets; j += group_columns) {
        const auto ranks = run.ranks.begin();
        const Vertex rank = *std::min_element(ranks + std::max<ptrdiff_t>(j - columns_before, 0),
                                              ranks + std::min(j + group_columns, targets));
        const auto chunk = std::lower_bound(lowest.begin(), lowest.end(), rank, std::greater<>());
        groups[chunk - lowest.begin()].push_back(static_cast<Vertex>(j / group_columns));
    }
    for (ptrdiff_t c = 0; c < std::ssize(groups); ++c) {
        run.chunks[c].first_group = std::ssize(run.groups);
        run.groups.insert(run.groups.end(), groups[c].begin(), groups[c].end());
        run.chunks[c].end_group = std::ssize(run.groups);
    }
}

// One batch of sources.
template <class S, class T>
void compute(Run& run, ptrdiff_t first, int slot) {
    char* const x = run.memory + slot * run.batch.bytes;
    const ptrdiff_t count = std::min(run.batch.lanes, run.sources() - first);
    SweepArgs args = begin_batch<S, T>(run.factor, run.set, run.batch,
                                       run.rows.sources.data() + first, count, x);
    const bool streams =
        run.sources() * std::ssize(run.ranks) * item_size(run.factor.dtype) > caches().l3;
    for (const Chunk& chunk : run.chunks) {
        args.blocks = run.blocks.data() + chunk.first_block;
        args.block_count = chunk.end_block - chunk.first_block;
        run.set.sweep_down(args);
        run.set.copy_columns({.columns = static_cast<ptrdiff_t>(run.ranks.size()),
                              .sources = count,
                              .ranks = run.ranks.data(),
                              .groups = run.groups.data() + chunk.first_group,
                              .group_count = chunk.end_group - chunk.first_group,
                              .x = x,
                              .target = at(run.rows.out, first, 0).data,
                              .target_stride = run.rows.out.row_stride,
                              .streams = streams});
    }
    if (const Predecessors* const wanted = run.rows.predecessors)
        if (!write_predecessors(run.factor, *wanted,
                                {x, run.batch.row_bytes, &run.rows.sources[first], first, count},
                                run.set, run.stop, slot == 0))
            run.no_memory = true;
}

}  // namespace

void star_rows(const Factor& factor, const Rows& rows, const Isa& isa, int threads,
               Workspace& workspace, StopRequested stop_requested) {
    const Structure& s = factor.structure;
    const SourceBatch batch(factor, isa);
    Run run{.factor = factor,
            .rows = rows,
            .set = isa.table->sets[factor.semiring][static_cast<int>(factor.dtype)],
            .batch = batch,
            .blocks = blocks_above(s, rows.targets),
            .ranks = ranks_of(s, rows.targets),
            .groups = {},
            .chunks = {},
            .memory = nullptr,
            .stop = Stop(stop_requested)};
    cut_chunks(run);
    const ptrdiff_t tasks = (run.sources() + batch.lanes - 1) / batch.lanes;
    threads = static_cast<int>(std::min<ptrdiff_t>(threads, std::max<ptrdiff_t>(tasks, 1)));
    run.memory = workspace.grow(batch.bytes * threads);
    parallel_for(
        threads, tasks,
        [](void* context, ptrdiff_t task, int slot) {
            Run& all = *static_cast<Run*>(context);
            const FloatEnvironment environment;
            if (slot == 0) all.stop.ask();
            if (all.stop) return;
            with_types(all.factor.semiring, all.factor.dtype, [&]<class S, class Row>() {
                if constexpr (has_factors<S, typename Row::type>)
                    compute<S, typename Row::type>(all, task * all.batch.lanes, slot);
            });
        },
        &run, [](void* context) { static_cast<Run*>(context)->stop.ask(); });
    if (run.stop) throw Stopped{};
    if (run.no_memory) throw std::bad_alloc{};
}

}  // namespace tropical
