// Computing without the GIL, the interpreter's lock.
#pragma once

#include <pybind11/pybind11.h>

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

// Takes the GIL back. If a daemon thread asks for the GIL while the interpreter shuts down, Python
// before 3.14 ends that thread by unwinding its stack. The unwinding would drop references without
// the GIL, so the thread sleeps here until the process ends.
inline void take_back_gil(PyThreadState* state) {
#if defined(__GLIBCXX__)
    try {
        PyEval_RestoreThread(state);
    } catch (abi::__forced_unwind&) {
        sleep_for_ever();
    }
#else  // nothing is unwound
    PyEval_RestoreThread(state);
#endif
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
    take_back_gil(state);
    if (error) std::rethrow_exception(error);
}

}  // namespace tropical
