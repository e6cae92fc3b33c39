// A parallel loop over independent tasks, on a small pool of our own threads.
#pragma once

#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

// Calls body(context, task, slot) for every task in [0, tasks), on the calling thread and on up to
// threads - 1 workers. Two calls that run at the same time have different slots in [0, threads). If
// another caller's loop has the pool, or no thread can be made, the calling thread runs every task.
// A body must not throw. While the calling thread waits for workers to finish their last tasks, it
// calls meanwhile(context) again and again, unless `meanwhile` is null.
void parallel_for(int threads, ptrdiff_t tasks, void (*body)(void*, ptrdiff_t, int), void* context,
                  void (*meanwhile)(void*) = nullptr);

// Of so many elements (0.1 to 0.5 MB, 20 to 60 us in a pass over arrays) a worker fetches its share
// in less time than it takes to compute it.
inline constexpr ptrdiff_t elements_per_task = 1 << 15;

// Cuts [0, count) into blocks of `block` elements, of which the last may be shorter, and calls
// body(begin, end) for each of them as parallel_for does.
template <class Body>
void parallel_for_blocks(int threads, ptrdiff_t count, ptrdiff_t block, const Body& body) {
    struct Blocks {
        ptrdiff_t count, block;
        const Body& body;
    };
    const auto run = [](void* context, ptrdiff_t task, int) {
        const Blocks& all = *static_cast<const Blocks*>(context);
        const ptrdiff_t begin = task * all.block, end = begin + all.block;
        all.body(begin, end < all.count ? end : all.count);
    };
    Blocks blocks{count, block, body};
    parallel_for(threads, (count + block - 1) / block, run, &blocks);
}

// Whether a loop should use workers although it is too short to wake them. That is so if threads -
// 1 workers are awake; or if the last loop that ran alone (note_loop_alone) ended so recently that
// the workers, once woken, stay awake until the next loops come.
bool workers_at_hand(int threads);
// Says that a loop which would have used workers ran on the calling thread alone.
void note_loop_alone();

}  // namespace tropical
