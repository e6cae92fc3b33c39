#include <algorithm>

#include "plan.hpp"

namespace tropical {
namespace {

// Products after which a task is long enough to be split once more, so that a slow core delays the
// others less.
constexpr double products_per_task = 1 << 29;
// Steps of p below which a part of k is not worth its partial result.
constexpr ptrdiff_t steps_per_part = 256;
// Products in the time in which one element is packed.
constexpr ptrdiff_t pack_cost = 8;

// The time of the whole call in float32 products.
double work_of(const Product& p, double items, const Cost& cost) {
    return static_cast<double>(round_up(p.m, cost.rows)) *
           static_cast<double>(round_up(p.n, cost.columns)) * static_cast<double>(p.k) * items *
           cost.products;
}

// Blocks of C for `wanted` tasks: the grid whose slowest thread multiplies and packs least.
void set_grid(Partition& cut, const Product& p, const Kernels& kernels, ptrdiff_t wanted) {
    double least = 0;
    for (ptrdiff_t rows = 1; rows <= wanted; ++rows) {
        const ptrdiff_t block_m = std::min(round_up(ceil_div(p.m, rows), kernels.mr), p.m);
        const ptrdiff_t block_n =
            std::min(round_up(ceil_div(p.n, ceil_div(wanted, rows)), kernels.nr), p.n);
        const ptrdiff_t grid_m = ceil_div(p.m, block_m), grid_n = ceil_div(p.n, block_n);
        const ptrdiff_t rounds = ceil_div(grid_m * grid_n, cut.threads);
        const double cost =
            static_cast<double>(rounds) *
            static_cast<double>(block_m * block_n + pack_cost * (block_m + block_n));
        if (least != 0 && cost >= least) continue;
        least = cost;
        cut.block_m = block_m;
        cut.block_n = block_n;
        cut.grid_m = grid_m;
        cut.grid_n = grid_n;
    }
}

// Parts of k, all but the last of part_k steps.
void set_parts(Partition& cut, ptrdiff_t k, ptrdiff_t most) {
    const ptrdiff_t parts = std::clamp<ptrdiff_t>(k / steps_per_part, 1, most);
    cut.part_k = ceil_div(k, parts);
    cut.parts = ceil_div(k, cut.part_k);
}

}  // namespace

Partition make_partition(const Product& p, const Batch& batch, const Kernels& kernels,
                         const Cost& cost, bool splits_k, int threads) {
    const ptrdiff_t items = std::max<ptrdiff_t>(batch.items, 1);
    const double work = work_of(p, static_cast<double>(items), cost);
    const double worth = work / static_cast<double>(setting(Setting::thread_share));
    Partition cut{.threads = static_cast<int>(std::clamp(worth, 1.0, static_cast<double>(threads))),
                  .wakes = false,
                  .block_m = p.m,
                  .block_n = p.n,
                  .part_k = p.k,
                  .tasks = 1};
    cut.wakes = work >= cut.threads * static_cast<double>(setting(Setting::wake_share));
    if (cut.threads == 1) {  // one task; what follows would take 5% of a small product
        cut.items_per_task = items;
        return cut;
    }
    if (items >= cut.threads) {
        cut.items_per_task = ceil_div(items, 8 * cut.threads);
    } else {
        const double products = static_cast<double>(p.m) * static_cast<double>(p.n) *
                                static_cast<double>(p.k) * static_cast<double>(items);
        const auto splits = static_cast<ptrdiff_t>(
            std::clamp(products / cut.threads / products_per_task, 1.0, 4.0));
        set_grid(cut, p, kernels, ceil_div(splits * cut.threads, items));
        const ptrdiff_t blocks = cut.grid_m * cut.grid_n;
        if (splits_k && items == 1 && blocks < cut.threads)
            set_parts(cut, p.k, cut.threads / blocks);
    }
    cut.tasks = ceil_div(items, cut.items_per_task) * cut.grid_m * cut.grid_n * cut.parts;
    cut.threads = static_cast<int>(std::min<ptrdiff_t>(cut.threads, cut.tasks));
    return cut;
}

}  // namespace tropical
