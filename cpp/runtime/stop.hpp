// Long work that its caller may stop: the calling thread asks now and then, all threads see the
// answer.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

namespace tropical {

// Whether the caller wants work to end. Only the thread that began the work asks.
using StopRequested = bool (*)();

// What stopped work throws.
struct Stopped : std::exception {};

class Stop {
  public:
    // A null `requested` is never asked.
    explicit Stop(StopRequested requested) : requested_(requested) {
        if (requested_) asked_ = std::chrono::steady_clock::now();
    }
    bool possible() const { return requested_; }

    // On the calling thread alone: asks, unless it asked less than a quarter of a second ago.
    void ask() {
        if (!requested_ || *this) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - asked_ < std::chrono::milliseconds{250}) return;
        if (requested_()) stopped_.store(true, std::memory_order_relaxed);
        asked_ = std::chrono::steady_clock::now();
    }
    // The same after so many steps of work, of which a million take about a millisecond or less.
    void ask_after(double steps) {
        steps_ += steps;
        if (steps_ < 1 << 20) return;
        steps_ = 0;
        ask();
    }
    // On any thread.
    explicit operator bool() const { return stopped_.load(std::memory_order_relaxed); }
    // The same, on the thread of this slot: the calling thread, which has slot 0, asks before.
    bool asked(int slot) {
        if (slot == 0) ask();
        return static_cast<bool>(*this);
    }

  private:
    const StopRequested requested_;
    std::chrono::steady_clock::time_point asked_;
    double steps_ = 0;
    std::atomic<bool> stopped_ = false;
};

}  // namespace tropical
