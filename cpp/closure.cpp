#include "closure.hpp"

#include <algorithm>

#include "threads.hpp"

namespace tropical {
namespace {

struct Run {
    const Stars& stars;
    void (*star)(const StarArgs&);
    ptrdiff_t items_per_task;
};

char* item_at(const Stars& stars, ptrdiff_t item) {
    char* data = stars.a.data;
    for (int axis = stars.batch.dims - 1; axis >= 0; --axis) {
        data += item % stars.batch.shape[axis] * stars.batch.c_stride[axis];
        item /= stars.batch.shape[axis];
    }
    return data;
}

void run_task(void* context, ptrdiff_t task, int) {
    const Run& run = *static_cast<const Run*>(context);
    const FloatEnvironment environment;
    const Stars& stars = run.stars;
    const ptrdiff_t first = task * run.items_per_task;
    const ptrdiff_t last = std::min(first + run.items_per_task, stars.batch.items);
    for (ptrdiff_t item = first; item < last; ++item)
        run.star({stars.n, {item_at(stars, item), stars.a.row_stride, stars.a.col_stride}});
}

}  // namespace

void compute_stars(const Stars& stars, const Isa& isa, int threads) {
    // A task should take longer than a worker needs to fetch it.
    const ptrdiff_t work = std::max<ptrdiff_t>(stars.n * stars.n * stars.n, 1);
    const ptrdiff_t items_per_task = std::max<ptrdiff_t>((ptrdiff_t{1} << 18) / work, 1);
    const ptrdiff_t tasks = (stars.batch.items + items_per_task - 1) / items_per_task;
    Run run{stars, isa.table->sets[stars.semiring][static_cast<int>(stars.dtype)].star,
            items_per_task};
    if (tasks > 1) return parallel_for(threads, tasks, run_task, &run);
    if (tasks == 1) run_task(&run, 0, 0);
}

}  // namespace tropical
