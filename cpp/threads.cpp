#include "threads.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "lazy.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tropical {
namespace {

void pause_cpu() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

int environment_threads() {
    const char* const text = std::getenv("TROPICAL_NUM_THREADS");
    if (!text || !*text) return 0;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end || value < 1 || value > 65535)
        throw std::invalid_argument(
            "TROPICAL_NUM_THREADS must be an integer from 1 to 65535, got '" + std::string(text) +
            "'");
    return static_cast<int>(value);
}

// The gate of a loop: an epoch, how many workers it may take, and how many are inside. Closed
// between loops.
struct Gate {
    std::uint32_t epoch;
    std::uint16_t limit, inside;
    static constexpr std::uint16_t closed = 0xFFFF;
};
static_assert(std::atomic<Gate>::is_always_lock_free);

// How long a worker waits before it sleeps, as waking it may take as long as a short product does (8
// to 60 microseconds). `briefly` bridges the gap between two calls in a row; `patiently`, where the last
// gap was shorter than that, those of a loop that does something else in between. `soon` is safely
// shorter than both.
constexpr std::chrono::microseconds soon{20}, briefly{50}, patiently{500};
constexpr int spins_before_yield = 2000;
constexpr int max_workers = 1024;

class Pool {
  public:
    const pid_t owner = getpid();
    std::atomic<bool> busy = false;

    std::atomic<std::chrono::steady_clock::duration> last_alone = {};

    bool awake(int threads) const {
        return hired_.load(std::memory_order_relaxed) - asleep_.load(std::memory_order_relaxed) >=
               threads - 1;
    }

    void run(int threads, ptrdiff_t tasks, void (*body)(void*, ptrdiff_t, int), void* context) {
        hire(threads - 1);
        keep_off_this_core();
        body_ = body;
        context_ = context;
        tasks_ = tasks;
        next_.store(0, std::memory_order_relaxed);
        const std::uint32_t epoch = wake_.load(std::memory_order_relaxed) + 1;
        gate_.store({epoch, static_cast<std::uint16_t>(threads - 1), 0}, std::memory_order_release);
        // Sequentially consistent, as notify_all then looks for sleepers, in some libraries by a load
        // that could pass a weaker store.
        wake_.store(epoch, std::memory_order_seq_cst);
        wake_.notify_all();
        take_tasks(0);
        close(epoch);
    }

  private:
    std::atomic<std::uint32_t> wake_ = 0;
    std::atomic<Gate> gate_ = Gate{0, 0, Gate::closed};
    std::atomic<ptrdiff_t> next_ = 0;
    std::atomic<int> asleep_ = 0;
    void (*body_)(void*, ptrdiff_t, int) = nullptr;
    void* context_ = nullptr;
    ptrdiff_t tasks_ = 0;
    std::atomic<int> hired_ = 0;
    pthread_t workers_[max_workers];
    int kept_off_ = -1, kept_ = 0;  // the core, and how many workers
    bool pinned_ = false;

    void take_tasks(int slot) {
        for (ptrdiff_t task; (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;)
            body_(context_, task, slot);
    }

    // Workers that come later find the gate closed and go back to sleep: nobody waits for a late
    // one.
    void close(std::uint32_t epoch) {
        for (int spins = 0;;) {
            Gate gate = gate_.load(std::memory_order_acquire);
            if (gate.inside == 0 && gate_.compare_exchange_strong(gate, {epoch, 0, Gate::closed},
                                                                  std::memory_order_acq_rel))
                return;
            if (spins < spins_before_yield) {
                ++spins;
                pause_cpu();
            } else {
                sched_yield();
            }
        }
    }

    // One loop of a worker: enter if there is room, take tasks, leave.
    void join() {
        Gate gate = gate_.load(std::memory_order_acquire);
        int slot;
        do {
            if (gate.inside >= gate.limit) return;  // closed, or full
            slot = gate.inside + 1;
        } while (!gate_.compare_exchange_weak(
            gate, {gate.epoch, gate.limit, static_cast<std::uint16_t>(slot)},
            std::memory_order_acq_rel));
        take_tasks(slot);
        gate = gate_.load(std::memory_order_relaxed);
        while (!gate_.compare_exchange_weak(
            gate, {gate.epoch, gate.limit, static_cast<std::uint16_t>(gate.inside - 1)},
            std::memory_order_acq_rel)) {
        }
    }

    // False: nothing came in time.
    bool spin(std::uint32_t seen, std::chrono::steady_clock::time_point end) const {
        do {
            for (int i = 0; i < 16; ++i) {
                if (wake_.load(std::memory_order_acquire) != seen) return true;
                pause_cpu();
            }
        } while (std::chrono::steady_clock::now() < end);
        return false;
    }

    [[noreturn]] void work() {
        std::uint32_t seen = 0;
        std::chrono::steady_clock::duration patience = briefly;
        for (;;) {
            const auto start = std::chrono::steady_clock::now();
            if (!spin(seen, start + patience)) {
                asleep_.fetch_add(1, std::memory_order_relaxed);
                wake_.wait(seen, std::memory_order_acquire);
                asleep_.fetch_sub(1, std::memory_order_relaxed);
            }
            const auto gap = std::chrono::steady_clock::now() - start;
            patience = gap < patiently ? patiently : briefly;
            seen = wake_.load(std::memory_order_acquire);
            join();
        }
    }

    // Workers are never dismissed: they sleep until the process ends. They take no signals from
    // Python's thread.
    void hire(int wanted) {
        if (hired_ >= wanted) return;
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            pinned_ = workers_are_pinned();
            for (; hired_ < wanted && hired_ < max_workers; ++hired_) {
                std::thread worker([this] { work(); });
                workers_[hired_] = worker.native_handle();
                if (pinned_) pin(workers_[hired_], hired_ + 1);
                worker.detach();
            }
        } catch (const std::exception&) {  // no more threads or no memory: as many as there are
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    // A worker that wakes is put on its caller's core as often as not, and the two then take turns for
    // milliseconds until the system notices. So workers may run on any core that the caller may use
    // but the one where it is.
    void keep_off_this_core() {
        const int core = sched_getcpu();
        if ((core == kept_off_ && hired_ == kept_) || pinned_) return;
        cpu_set_t others;
        if (sched_getaffinity(0, sizeof others, &others) != 0 || CPU_COUNT(&others) < 2) return;
        CPU_CLR(core, &others);
        for (int i = 0; i < hired_; ++i)
            pthread_setaffinity_np(workers_[i], sizeof others, &others);
        kept_off_ = core;
        kept_ = hired_;
    }

    // Worker number `rank` to the rank-th of the cores that this process may use.
    static void pin(pthread_t thread, int rank) {
        cpu_set_t usable, one;
        if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
        int left = rank % CPU_COUNT(&usable);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (!CPU_ISSET(cpu, &usable) || left-- > 0) continue;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(thread, sizeof one, &one);
            return;
        }
    }
};

// A forked child has none of its parent's workers, so it leaves that pool behind and gets its own.
Pool* pool() {
    static constinit std::atomic<Pool*> current = nullptr;
    Pool* existing = current.load(std::memory_order_acquire);
    while (!existing || existing->owner != getpid()) {
        Pool* const fresh = new (std::nothrow) Pool;
        if (!fresh) return nullptr;
        if (current.compare_exchange_strong(existing, fresh, std::memory_order_acq_rel))
            return fresh;
        delete fresh;
    }
    return existing;
}

bool environment_pins() {
    const char* const text = std::getenv("TROPICAL_PIN");
    return text && text[0] == '1';
}

std::atomic<int>& chosen_threads() {
    static constinit std::atomic<int> threads = 0;
    return threads;
}

int& thread_limit() {
    static thread_local int threads = 0;  // none
    return threads;
}

// What OpenMP said when the extension was loaded; a different number later comes from threadpoolctl or omp_set_num_threads.
int initial_openmp_threads() { return lazy<omp_get_max_threads>(); }

int process_threads() {
    if (const int chosen = chosen_threads().load(std::memory_order_relaxed)) return chosen;
    const int environment = lazy<environment_threads>();
    return environment ? environment : initial_openmp_threads();
}

}  // namespace

int usable_cores() {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
    return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));  // more than 1024 cores
}

bool workers_are_pinned() { return lazy<environment_pins>(); }

void read_environment() {
    initial_openmp_threads();
    workers_are_pinned();
}

int get_num_threads() {
    const int openmp = omp_get_max_threads();
    if (openmp == initial_openmp_threads()) return get_thread_limit();
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

void parallel_for(int threads, ptrdiff_t tasks, void (*body)(void*, ptrdiff_t, int),
                  void* context) {
    if (threads > tasks) threads = static_cast<int>(tasks);
    Pool* const shared = threads > 1 ? pool() : nullptr;
    if (shared && !shared->busy.exchange(true, std::memory_order_acquire)) {
        shared->run(threads, tasks, body, context);
        shared->busy.store(false, std::memory_order_release);
        return;
    }
    for (ptrdiff_t task = 0; task < tasks; ++task) body(context, task, 0);
}

bool workers_at_hand(int threads) {
    const Pool* const shared = pool();
    if (!shared || shared->awake(threads)) return shared;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return now - shared->last_alone.load(std::memory_order_relaxed) < soon;
}

void note_loop_alone() {
    if (Pool* const shared = pool())
        shared->last_alone.store(std::chrono::steady_clock::now().time_since_epoch(),
                                 std::memory_order_relaxed);
}

#if defined(__x86_64__)
// Bits 0 to 5 of MXCSR are sticky flags; 0x1F80 masks all exceptions, rounds to nearest, keeps
// subnormals.
FloatEnvironment::FloatEnvironment() : saved_(_mm_getcsr()) {
    if ((saved_ & ~0x3FULL) != 0x1F80) _mm_setcsr(0x1F80);
}
FloatEnvironment::~FloatEnvironment() {
    if (_mm_getcsr() != saved_) _mm_setcsr(static_cast<unsigned>(saved_));
}
#elif defined(__aarch64__)
FloatEnvironment::FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(0ULL));
}
FloatEnvironment::~FloatEnvironment() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
#else
FloatEnvironment::FloatEnvironment() : saved_(0) {}
FloatEnvironment::~FloatEnvironment() = default;
#endif

}  // namespace tropical
