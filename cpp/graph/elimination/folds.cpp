// Sums over rows of the star: the two sweeps, and beside the sweep down the sums over the ranks
// that it has just left, while these are in the cache.
#include <algorithm>

#include "graph/elimination/batch.hpp"
#include "reference.hpp"
#include "runtime/tasks.hpp"

namespace tropical {
namespace {

// Bytes of X that the sweep down leaves before they are summed: half of a small L2.
constexpr ptrdiff_t strip_bytes = 1 << 17;

struct Run {
    const Factor& factor;
    const Folds& folds;
    const KernelSet& set;
    SourceBatch batch;
    Array<double> weight;  // of ranks
    char* memory;
    ptrdiff_t slot_bytes;

    ptrdiff_t sources() const { return static_cast<ptrdiff_t>(folds.sources.size()); }
    ptrdiff_t sum_bytes() const { return batch.lanes * static_cast<ptrdiff_t>(sizeof(double)); }
};

void fold(const Run& run, FoldArgs args) {
    switch (run.folds.kind) {
        case Fold::lengths:
            return run.set.fold_lengths(args);
        case Fold::reciprocals:
            return run.set.fold_reciprocals(args);
        case Fold::within:
            for (const double radius : run.folds.radii) {
                args.radius = radius;
                run.set.fold_within(args);
                args.sums += run.sum_bytes();
            }
    }
}

template <class S, class T>
void compute(const Run& run, ptrdiff_t first, int slot) {
    const Structure& s = run.factor.structure;
    char* const x = run.memory + slot * run.slot_bytes;
    char* const sums = x + run.batch.bytes;
    const ptrdiff_t count = std::min(run.batch.lanes, run.sources() - first);
    SweepArgs args = begin_batch<S, T>(run.factor, run.set, run.batch,
                                       run.folds.sources.data() + first, count, x);
    std::fill_n(sums, run.folds.rows() * run.sum_bytes(), char{0});
    for (ptrdiff_t end = std::ssize(s.step), begin = end; begin > 0; end = begin) {
        const Vertex last = end_of_step(s.step[begin - 1]);
        while (begin > 0 &&
               (last - first_of_step(s.step[begin - 1])) * run.batch.row_bytes <= strip_bytes)
            --begin;
        args.steps = s.step.data() + begin;
        args.step_count = end - begin;
        run.set.sweep_down(args);
        fold(run, {.first = first_of_step(s.step[begin]),
                   .last = last,
                   .x = x,
                   .sums = sums,
                   .weight = run.weight.data(),
                   .radius = 0});
    }
    for (ptrdiff_t row = 0; row < run.folds.rows(); ++row)
        std::memcpy(run.folds.out + row * run.sources() + first, sums + row * run.sum_bytes(),
                    static_cast<std::size_t>(count) * sizeof(double));
}

}  // namespace

void fold_star(const Factor& factor, const Folds& folds, const Isa& isa, int threads,
               Workspace& workspace, StopRequested stop_requested) {
    const Structure& s = factor.structure;
    const SourceBatch batch(factor, isa, narrow_row, nullptr);
    Run run{.factor = factor,
            .folds = folds,
            .set = isa.table->sets[factor.semiring][static_cast<int>(factor.dtype)],
            .batch = batch,
            .weight = {},
            .memory = nullptr,
            .slot_bytes = 0};
    for (const Vertex v : s.order) run.weight.push_back(folds.weight ? folds.weight[v] : 1);
    run.slot_bytes = (batch.bytes + folds.rows() * run.sum_bytes() + 4095) / 4096 * 4096;
    const ptrdiff_t tasks = (run.sources() + batch.lanes - 1) / batch.lanes;
    threads = static_cast<int>(std::min<ptrdiff_t>(threads, std::max<ptrdiff_t>(tasks, 1)));
    run.memory = workspace.grow(run.slot_bytes * threads);
    for_each_task(threads, tasks, stop_requested, [&](ptrdiff_t task, int slot, Stop&) {
        with_types(factor.semiring, factor.dtype, [&]<class S, class Row>() {
            if constexpr (same_type<S, MinPlus>)
                compute<S, typename Row::type>(run, task * batch.lanes, slot);
        });
    });
}

}  // namespace tropical
