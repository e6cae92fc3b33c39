// How many threads a product may use. OpenMP runs none of our threads: only its number is read, so
// that OMP_NUM_THREADS and threadpoolctl work here too (see docs/decisions.md).
#pragma once

namespace tropical {

// Reads OpenMP's number of threads. Called once, when the library is loaded and no other thread can
// change that number.
void note_openmp_threads();

// The number of threads for the calling thread's products, at least 1: the number given to
// set_num_threads, else TROPICAL_NUM_THREADS, else OpenMP's. If the calling thread's OpenMP number
// is neither that at load nor that of a new thread, somebody has set it: then it takes the place of
// the other two. The calling thread's limit is an upper bound. Throws
// std::invalid_argument if TROPICAL_NUM_THREADS is not a number.
int get_num_threads();

// Sets the number for the whole process, and removes the calling thread's limit. 0: back to
// TROPICAL_NUM_THREADS.
void set_num_threads(int threads);

// The limit of the calling thread; without a limit, the number for the whole process.
int get_thread_limit();

// Sets the limit of the calling thread, at least 1. The number for the whole process removes the
// limit. OpenMP's number stays apart, so that threadpoolctl may set and restore the two in any
// order.
void set_thread_limit(int threads);

}  // namespace tropical
