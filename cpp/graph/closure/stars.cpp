#include "graph/closure/stars.hpp"

#include <algorithm>

#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// A loop over the batch, as its tasks see it.
struct Run {
    const Stars& stars;
    void (*star)(const StarArgs&);
    ptrdiff_t items_per_task;
};

StarArgs item_of(const Stars& stars, ptrdiff_t item) {
    StarArgs args{.n = stars.n, .a = stars.a, .factors = nullptr};
    for (int axis = stars.batch.dims - 1; axis >= 0; --axis) {
        const ptrdiff_t i = item % stars.batch.shape[axis];
        item /= stars.batch.shape[axis];
        args.a.data += i * stars.batch.c_stride[axis];
    }
    return args;
}

void run_task(void* context, ptrdiff_t task, int) {
    const Run& run = *static_cast<const Run*>(context);
    const FloatEnvironment environment;
    const Stars& stars = run.stars;
    const ptrdiff_t first = task * run.items_per_task;
    const ptrdiff_t last = std::min(first + run.items_per_task, stars.batch.items);
    for (ptrdiff_t item = first; item < last; ++item) run.star(item_of(stars, item));
}

// A loop over the columns of a block row, as its tasks see it.
struct Replays {
    const BlockRow& row;
    void (*replay)(const ReplayArgs&);
    const char* factors;
};

// One task: star_size columns of the block row.
void run_replay(void* context, ptrdiff_t task, int) {
    const Replays& run = *static_cast<const Replays*>(context);
    const FloatEnvironment environment;
    const BlockRow& row = run.row;
    const ptrdiff_t j = task * star_size;
    run.replay({.n = row.n,
                .columns = std::min(star_size, row.columns - j),
                .a = at(row.a, 0, j),
                .before = at(row.before, 0, j),
                .factors = run.factors});
}

}  // namespace

void compute_stars(const Stars& stars, const Isa& isa, int threads) {
    if (stars.n == 0 || stars.batch.items == 0) return;
    // So many that a task takes longer than a worker needs to fetch it.
    const ptrdiff_t items_per_task =
        std::max<ptrdiff_t>((ptrdiff_t{1} << 18) / (stars.n * stars.n * stars.n), 1);
    Run run{.stars = stars,
            .star = isa.table->sets[stars.semiring][static_cast<int>(stars.dtype)].star,
            .items_per_task = items_per_task};
    parallel_for(threads, (stars.batch.items - 1) / items_per_task + 1, run_task, &run);
}

void eliminate(const BlockRow& row, const Isa& isa, int threads) {
    const KernelSet& set = isa.table->sets[row.semiring][static_cast<int>(row.dtype)];
    alignas(64) char factors[star_size * star_size * sizeof(std::int64_t)];
    {
        const FloatEnvironment environment;
        set.star({.n = row.n, .a = at(row.a, 0, row.first), .factors = factors});
    }
    Replays run{.row = row, .replay = set.replay, .factors = factors};
    parallel_for(threads, (row.columns + star_size - 1) / star_size, run_replay, &run);
}

}  // namespace tropical
