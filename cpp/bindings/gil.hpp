// Computing without the GIL, the interpreter's lock.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstddef>
#include <exception>

#include "runtime/float_environment.hpp"
#include "runtime/platform.hpp"

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace tropical {

// To compute so few elements takes no longer than another thread waits for the GIL anyway.
inline constexpr std::ptrdiff_t elements_worth_the_gil = 1 << 14;

// Runs `work`, which takes the GIL. If a daemon thread asks for the GIL while the interpreter shuts
// down, Python before 3.14 ends that thread by unwinding its stack. The unwinding would drop
// references without the GIL, so the thread sleeps here until the process ends.
template <class Work>
auto without_unwinding(const Work& work) {
#if defined(__GLIBCXX__)
    try {
        return work();
    } catch (abi::__forced_unwind&) {
        sleep_for_ever();
    }
#else  // nothing is unwound
    return work();
#endif
}

// Calls work() with the GIL, on a thread that released it. `work` may lose the GIL itself: then no
// destructor may try to release it.
template <class Work>
auto with_gil(const Work& work) {
    return without_unwinding([&] {
        const pybind11::gil_scoped_acquire gil;
        return without_unwinding(work);
    });
}

// Runs `work`, which may throw, while the GIL is released, in the default floating-point
// environment: results do not depend on the caller's.
template <class Work>
void without_gil(Work work) {
    PyThreadState* const state = PyEval_SaveThread();
    std::exception_ptr error;
    try {
        const FloatEnvironment environment;
        work();
    } catch (const std::exception&) {
        error = std::current_exception();
    }
    without_unwinding([&] { PyEval_RestoreThread(state); });
    if (error) std::rethrow_exception(error);
}

// Whether this caller, and no other, holds what one at a time may use. A mutex would not do: long
// work calls the handlers of signals, and a handler may come back on the thread that holds it.
class Hold {
  public:
    explicit Hold(std::atomic_flag& taken)
        : taken_(taken), held_(!taken.test_and_set(std::memory_order_acquire)) {}
    ~Hold() {
        if (held_) taken_.clear(std::memory_order_release);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    explicit operator bool() const { return held_; }

  private:
    std::atomic_flag& taken_;
    const bool held_;
};

}  // namespace tropical
