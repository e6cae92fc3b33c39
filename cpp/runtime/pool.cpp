// 237 lines, as the two sides of the gate, the caller and the workers, must be read together.
#include "runtime/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <thread>

#include "runtime/platform.hpp"

namespace tropical {
namespace {

// The gate of a loop: the number of the loop, how many workers may enter, and how many are inside.
// The gate is closed between loops.
struct Gate {
    std::uint32_t epoch;
    std::uint16_t limit, inside;
    static constexpr std::uint16_t closed = 0xFFFF;
};
static_assert(std::atomic<Gate>::is_always_lock_free);

// How long a worker waits for the next loop before it sleeps. Waking a worker takes 8 to 60
// microseconds, as long as a short product. `briefly` covers the gap between two calls in a row.
// `patiently` covers the gaps of a loop that does something else between its calls; a worker waits
// so long if its last gap was shorter than that. `soon` is safely shorter than both.
constexpr std::chrono::microseconds soon{20}, briefly{50}, patiently{500};
constexpr int spins_before_yield = 2000;
constexpr int max_workers = 1024;

class Pool {
  public:
    const int owner = process_id();
    std::atomic<bool> busy = false;

    std::atomic<std::chrono::steady_clock::duration> last_alone = {};

    bool awake(int threads) const {
        return hired_.load(std::memory_order_relaxed) - asleep_.load(std::memory_order_relaxed) >=
               threads - 1;
    }

    void run(int threads, ptrdiff_t tasks, void (*body)(void*, ptrdiff_t, int), void* context,
             void (*meanwhile)(void*)) {
        hire(threads - 1);
        keep_off_this_core();
        body_ = body;
        context_ = context;
        tasks_ = tasks;
        next_.store(0, std::memory_order_relaxed);
        const std::uint32_t epoch = wake_.load(std::memory_order_relaxed) + 1;
        gate_.store({epoch, static_cast<std::uint16_t>(threads - 1), 0}, std::memory_order_release);
        // Sequentially consistent: notify_all then looks for sleepers, in some libraries by a load
        // that could be ordered before a weaker store.
        wake_.store(epoch, std::memory_order_seq_cst);
        wake_.notify_all();
        take_tasks(0);
        close(epoch, meanwhile);
    }

  private:
    std::atomic<std::uint32_t> wake_ = 0;
    std::atomic<Gate> gate_ = Gate{0, 0, Gate::closed};
    std::atomic<ptrdiff_t> next_ = 0;
    std::atomic<int> asleep_ = 0;
    void (*body_)(void*, ptrdiff_t, int) = nullptr;
    void* context_ = nullptr;
    ptrdiff_t tasks_ = 0;
    std::atomic<int> hired_ = 0, started_ = 0;
    ThreadHandle workers_[max_workers];
    int kept_off_ = -1, kept_ = 0;  // the core, and how many workers keep off it
    std::chrono::steady_clock::time_point kept_until_;

    void take_tasks(int slot) {
        for (ptrdiff_t task; (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;)
            body_(context_, task, slot);
    }

    // Waits until no worker is inside. A worker that comes later finds the gate closed and goes
    // back to sleep, so nobody waits for it.
    void close(std::uint32_t epoch, void (*meanwhile)(void*)) {
        for (int spins = 0;;) {
            Gate gate = gate_.load(std::memory_order_acquire);
            if (gate.inside == 0 && gate_.compare_exchange_strong(gate, {epoch, 0, Gate::closed},
                                                                  std::memory_order_acq_rel))
                return;
            if (spins < spins_before_yield) {
                ++spins;
                pause_cpu();
            } else {
                if (meanwhile) meanwhile(context_);
                std::this_thread::yield();
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

    // Waits for a loop after number `seen`; false if none came in time.
    bool spin(std::uint32_t seen, std::chrono::steady_clock::time_point end) const {
        do {
            for (int i = 0; i < 16; ++i) {
                if (wake_.load(std::memory_order_acquire) != seen) return true;
                pause_cpu();
            }
        } while (std::chrono::steady_clock::now() < end);
        return false;
    }

    // A thread's first exception takes memory of the thread's own, and glibc ends the process where
    // there is none. So a worker throws one before it takes tasks; false if it has no memory yet.
    static bool ready_to_throw() {
        void* volatile const sample = std::malloc(4096);
        if (!sample) return false;
        std::free(sample);
        try {
            throw std::exception();
        } catch (const std::exception&) {
            return true;
        }
    }

    [[noreturn]] void work() {
        bool ready = ready_to_throw();
        started_.fetch_add(1, std::memory_order_release);
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
            if (ready || (ready = ready_to_throw())) join();
        }
    }

    // Makes workers until there are `wanted`, or as many as the system gives, and waits until each
    // has started: what it allocates then is no part of later loops. A worker sleeps or works until
    // the process ends. It takes no signals, which Python's main thread waits for.
    void hire(int wanted) {
        if (hired_ >= wanted) return;
        try {
            without_signals([this, wanted] {
                for (; hired_ < wanted && hired_ < max_workers; ++hired_) {
                    std::thread worker([this] { work(); });
                    workers_[hired_] = worker.native_handle();
                    worker.detach();
                }
            });
        } catch (const std::exception&) {  // no more threads, or no memory
        }
        while (started_.load(std::memory_order_acquire) < hired_) std::this_thread::yield();
    }

    // Linux often wakes a worker on the core of its caller, and the two then take turns for
    // milliseconds. So workers may run on any core that the caller may use, but for its current
    // one. Only a system call would say whether the caller may use others than before, so it is
    // made now and then.
    void keep_off_this_core() {
        const int core = current_core();
        const auto now = std::chrono::steady_clock::now();
        if (core == kept_off_ && hired_ == kept_ && now < kept_until_) return;
        if (!keep_off(core, workers_, hired_)) return;
        kept_off_ = core;
        kept_ = hired_;
        kept_until_ = now + std::chrono::milliseconds{100};
    }
};

// The pool of this process. A forked child has none of its parent's workers, so it leaves the
// parent's pool behind and makes its own. Null if there is no memory for it.
Pool* pool() {
    static constinit std::atomic<Pool*> current = nullptr;
    Pool* existing = current.load(std::memory_order_acquire);
    while (!existing || existing->owner != process_id()) {
        Pool* const fresh = new (std::nothrow) Pool;
        if (!fresh) return nullptr;
        if (current.compare_exchange_strong(existing, fresh, std::memory_order_acq_rel))
            return fresh;
        delete fresh;
    }
    return existing;
}

}  // namespace

void parallel_for(int threads, ptrdiff_t tasks, void (*body)(void*, ptrdiff_t, int), void* context,
                  void (*meanwhile)(void*)) {
    if (threads > tasks) threads = static_cast<int>(tasks);
    Pool* const shared = threads > 1 ? pool() : nullptr;
    if (shared && !shared->busy.exchange(true, std::memory_order_acquire)) {
        shared->run(threads, tasks, body, context, meanwhile);
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

}  // namespace tropical
