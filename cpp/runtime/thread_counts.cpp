#include "runtime/thread_counts.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "runtime/lazy.hpp"
#include "runtime/platform.hpp"

#if defined(TROPICAL_OPENMP)
#include <omp.h>
#endif

namespace tropical {
namespace {

constexpr int most_threads = 65535;

// 0 where the variable is not set.
int environment_threads() {
    const char* const text = std::getenv("TROPICAL_NUM_THREADS");
    if (!text || !*text) return 0;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end || value < 1 || value > most_threads)
        throw std::invalid_argument("TROPICAL_NUM_THREADS: expected an integer from 1 to " +
                                    std::to_string(most_threads) + ", got '" + std::string(text) +
                                    "'");
    return static_cast<int>(value);
}

// The number given to set_num_threads; 0: none.
std::atomic<int>& chosen_threads() {
    static constinit std::atomic<int> threads = 0;
    return threads;
}

// 0: none.
int& thread_limit() {
    static thread_local int threads = 0;
    return threads;
}

#if defined(TROPICAL_OPENMP)
int openmp_threads() { return omp_get_max_threads(); }
#else
// What OpenMP would say: the first number of its variable, else the cores of this process.
int without_openmp() {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    const long value = text ? std::strtol(text, nullptr, 10) : 0;
    return value >= 1 && value <= most_threads ? static_cast<int>(value) : usable_cores();
}
int openmp_threads() { return lazy<without_openmp>(); }
#endif

// OpenMP's number when the library was loaded. threadpoolctl or omp_set_num_threads may change it
// later, in the calling thread alone.
int initial_openmp_threads() { return lazy<openmp_threads>(); }

// OpenMP's number in a new thread: another one if the thread that loaded the library had changed
// its own before.
int openmp_threads_of_a_new_thread() {
    int threads = initial_openmp_threads();
    try {
        without_signals([&] { std::thread([&] { threads = openmp_threads(); }).join(); });
    } catch (const std::exception&) {  // no more threads
    }
    return threads;
}

// Whether the calling thread has this number because somebody set it since the library was loaded.
bool was_set(int openmp) {
    return openmp != initial_openmp_threads() && openmp != lazy<openmp_threads_of_a_new_thread>();
}

int process_threads() {
    if (const int chosen = chosen_threads().load(std::memory_order_relaxed)) return chosen;
    if (const int environment = lazy<environment_threads>()) return environment;
    const int openmp = openmp_threads();
    return was_set(openmp) ? initial_openmp_threads() : openmp;
}

}  // namespace

void note_openmp_threads() { initial_openmp_threads(); }

int get_num_threads() {
    const int openmp = openmp_threads();
    if (!was_set(openmp)) return get_thread_limit();
    return thread_limit() ? std::min(openmp, thread_limit()) : openmp;
}

void set_num_threads(int threads) {
    chosen_threads().store(threads, std::memory_order_relaxed);
    thread_limit() = 0;
}

int get_thread_limit() { return thread_limit() ? thread_limit() : process_threads(); }

void set_thread_limit(int threads) {
    thread_limit() = threads == process_threads() ? 0 : std::max(threads, 1);
}

}  // namespace tropical
