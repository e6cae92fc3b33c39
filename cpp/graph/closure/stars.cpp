#include "graph/closure/stars.hpp"

#include <algorithm>
#include <atomic>

#include "reference.hpp"
#include "runtime/float_environment.hpp"
#include "runtime/tasks.hpp"

namespace tropical {
namespace {

// A loop over the batch, as its tasks see it.
struct Run {
    const Stars& stars;
    const Halves how;
    void (*star)(const StarArgs&);
    char one[8];
    std::atomic<bool> diverges = false;
};

View item_of(const Stars& stars, ptrdiff_t item) {
    View a = stars.a;
    for (int axis = stars.batch.dims - 1; axis >= 0; --axis) {
        const ptrdiff_t i = item % stars.batch.shape[axis];
        item /= stars.batch.shape[axis];
        a.data += i * stars.batch.c_stride[axis];
    }
    return a;
}

bool star_of(const Run& run, const View& a) {
    const Stars& stars = run.stars;
    if (stars.n > star_size) return star_by_halves(run.how, a, stars.n);
    const ptrdiff_t item = item_size(stars.dtype);
    alignas(64) char room[star_size * star_size * sizeof(float)];
    const View near = stars.storage ? View{room, stars.n * item, item} : a;
    if (stars.storage) copy_in(run.how, near, a, stars.n);
    run.star({.n = stars.n, .a = near, .factors = nullptr});
    if (stars.storage) copy_out(run.how, a, near, stars.n);
    return has_ones(near, stars.n, run.one, item);
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

bool compute_stars(const Stars& stars, const Choice& choice, Multiply multiply) {
    if (stars.n == 0 || stars.batch.items == 0) return true;
    // Large matrices share the threads among the items where there are enough, or else each of
    // their products does.
    const bool by_items = stars.n <= star_size || stars.batch.items >= choice.threads;
    const int threads = by_items ? choice.threads : 1;
    Choice of_item = choice;
    if (by_items) of_item.threads = 1;
    Run run{.stars = stars,
            .how = {stars.semiring, stars.dtype, of_item, multiply, stars.storage},
            .star = choice.isa->table->sets[stars.semiring][static_cast<int>(stars.dtype)].star,
            .one = {}};
    char zero[8];
    constants(stars.semiring, stars.dtype, zero, run.one);
    // So many that a task takes longer than a worker needs to fetch it.
    const ptrdiff_t items_per_task =
        std::max<ptrdiff_t>((ptrdiff_t{1} << 18) / (stars.n * stars.n * stars.n), 1);
    for_each_task(threads, ceil_div(stars.batch.items, items_per_task), nullptr,
                  [&](ptrdiff_t task, int, Stop&) {
                      const ptrdiff_t first = task * items_per_task;
                      const ptrdiff_t last = std::min(first + items_per_task, stars.batch.items);
                      for (ptrdiff_t item = first; item < last; ++item)
                          if (!star_of(run, item_of(stars, item))) run.diverges = true;
                  });
    return !run.diverges;
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
