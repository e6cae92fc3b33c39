// Who computes what: items of the batch, blocks of C, and parts of k, as tasks for threads.
#pragma once

#include "blocking.hpp"

namespace tropical {

// Task t computes items_per_task items of the batch, or of one item one block of a grid of C over
// one part of k.
struct Partition {
    int threads;
    bool wakes;  // the product is worth waking threads that sleep
    ptrdiff_t grid_m = 1, grid_n = 1, parts = 1;
    ptrdiff_t block_m, block_n, part_k;
    ptrdiff_t items_per_task = 1;
    ptrdiff_t tasks;
};

// For p, an item of the batch, turned as the kernels will compute it. `cost`: of these kernels.
// Sums are split over parts of k only where `splits_k`.
Partition make_partition(const Product& p, const Batch& batch, const Kernels& kernels,
                         const Cost& cost, bool splits_k, int threads);

}  // namespace tropical
