// A parallel loop over independent tasks on a small pool of our own, and the number of threads to
// use. OpenMP only holds that number, so that OMP_NUM_THREADS and threadpoolctl govern it: see
// docs/decisions.
#pragma once

#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

// At least 1. Set by set_num_threads, else TROPICAL_NUM_THREADS, unless OpenMP's number was lowered
// or raised since; and no more than this thread's limit.
int get_num_threads();
// Takes note of OpenMP's number and of TROPICAL_PIN, while no other thread changes them: for when the
// library is loaded.
void read_environment();
void set_num_threads(int threads);
// threadpoolctl's: holds for the calling thread until set_num_threads or until it is set to what holds
// for the process, which get_thread_limit says where there is none. OpenMP's number is another matter,
// so that the two can be set and restored in any order.
int get_thread_limit();
void set_thread_limit(int threads);
int usable_cores();
bool workers_are_pinned();

// Calls body(context, task, slot) for every task in [0, tasks), on the caller and up to threads - 1
// workers; slot in [0, threads) differs between calls that run at the same time. Where the pool is
// busy with another caller's loop, or no thread can be had, the caller does all of it. Bodies must
// not throw.
void parallel_for(int threads, ptrdiff_t tasks, void (*body)(void*, ptrdiff_t, int), void* context);

// The same for blocks of `block` of `count` things, the last of which may be shorter: body(begin, end).
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

// Whether a loop too short to wake workers for should run on them: so many threads are awake, or the
// last loop that did without (see note_loop_alone) ended so recently that, once woken, they will find
// the next loops before they fall asleep again.
bool workers_at_hand(int threads);
void note_loop_alone();

// Sets the default floating-point environment while it lives: nearest, subnormals kept, nothing
// trapped.
class FloatEnvironment {
  public:
    FloatEnvironment();
    ~FloatEnvironment();
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  private:
    unsigned long long saved_;
};

}  // namespace tropical
