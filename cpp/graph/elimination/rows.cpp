// Rows of the star, by two sweeps over the elimination tree for many sources at a time: up from
// the sources to the roots, then down to the targets.
#include <algorithm>

#include "graph/elimination/batch.hpp"
#include "graph/elimination/predecessors.hpp"
#include "reference.hpp"
#include "runtime/caches.hpp"
#include "runtime/tasks.hpp"

namespace tropical {
namespace {

struct Run {
    const Factor& factor;
    const Rows& rows;
    const Schedule& schedule;
    const KernelSet& set;
    SourceBatch batch;
    char* memory;

    ptrdiff_t sources() const { return std::ssize(rows.sources); }
};

// One batch of sources.
template <class S, class T>
void compute(const Run& run, ptrdiff_t first, int slot, Stop& stop) {
    const Schedule& plan = run.schedule;
    char* const x = run.memory + slot * run.batch.bytes;
    const ptrdiff_t columns = std::ssize(plan.column),
                    count = std::min(run.batch.lanes, run.sources() - first);
    SweepArgs args = begin_batch<S, T>(run.factor, run.set, run.batch,
                                       run.rows.sources.data() + first, count, x);
    const bool streams = run.sources() * columns * item_size(run.factor.dtype) > caches().l3;
    for (const Chunk& chunk : plan.chunks) {
        args.steps = plan.steps.data() + chunk.first_step;
        args.step_count = chunk.end_step - chunk.first_step;
        run.set.sweep_down(args);
        run.set.copy_columns({.columns = columns,
                              .sources = count,
                              .rows = plan.column.data(),
                              .groups = plan.groups.data() + chunk.first_group,
                              .group_count = chunk.end_group - chunk.first_group,
                              .registers = run.batch.registers,
                              .x = x,
                              .target = at(run.rows.out, first, 0).data,
                              .target_stride = run.rows.out.row_stride,
                              .streams = streams});
    }
    if (const Predecessors* const wanted = run.rows.predecessors)
        write_predecessors(run.factor, *wanted,
                           {x, run.batch.row_bytes, &run.rows.sources[first], first, count},
                           run.set, stop, slot);
}

// A batch of wide rows has twice the sources and takes 1.6 times as long.
bool wide_rows_are_faster(const SourceBatch& narrow, ptrdiff_t sources, int threads) {
    const auto rounds = [&](ptrdiff_t lanes) {
        const ptrdiff_t tasks = (sources + lanes - 1) / lanes;
        return (tasks + threads - 1) / threads;
    };
    return 16 * rounds(2 * narrow.lanes) < 10 * rounds(narrow.lanes);
}

// Without a schedule that was made before: reused rows make up for their schedule after some
// batches.
bool worth_reusing_rows(const SourceBatch& narrow, const Rows& rows) {
    return !rows.predecessors && std::ssize(rows.sources) > 8 * narrow.lanes;
}

}  // namespace

void star_rows(const Factor& factor, const Rows& rows, const Isa& isa, int threads,
               Workspace& workspace, StopRequested stop_requested) {
    const SourceBatch narrow(factor, isa, narrow_row, nullptr);
    const ptrdiff_t sources = std::ssize(rows.sources);
    Stop stop(stop_requested);
    Schedule made;
    if (!rows.schedule)
        made =
            schedule_rows(factor.structure, rows.targets, worth_reusing_rows(narrow, rows), stop);
    const Schedule& schedule = rows.schedule ? *rows.schedule : made;
    const bool wide = schedule.reuses_rows() && wide_rows_are_faster(narrow, sources, threads);
    const SourceBatch batch(factor, isa, wide ? wide_row : narrow_row, &schedule);
    Run run{.factor = factor,
            .rows = rows,
            .schedule = schedule,
            .set = isa.table->sets[factor.semiring][static_cast<int>(factor.dtype)],
            .batch = batch,
            .memory = nullptr};
    const ptrdiff_t tasks = (sources + batch.lanes - 1) / batch.lanes;
    threads = static_cast<int>(std::min<ptrdiff_t>(threads, std::max<ptrdiff_t>(tasks, 1)));
    run.memory = workspace.grow(batch.bytes * threads);
    for_each_task(
        threads, tasks, stop_requested, [&](ptrdiff_t task, int slot, Stop& stop_of_tasks) {
            with_types(factor.semiring, factor.dtype, [&]<class S, class Row>() {
                if constexpr (has_factors<S, typename Row::type>)
                    compute<S, typename Row::type>(run, task * batch.lanes, slot, stop_of_tasks);
            });
        });
}

}  // namespace tropical
