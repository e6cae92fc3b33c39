// Computing without the interpreter's lock.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <exception>

namespace tropical {

// Takes the lock back. While the interpreter shuts down, Python (before 3.14) ends a daemon thread
// that asks for it by unwinding its stack, which would drop references without the lock: let such a
// thread sleep instead until the process is gone.
inline void take_back_gil(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (abi::__forced_unwind&) {
        for (;;) pause();
    }
}

// Runs `work`, which may throw, with the lock released.
template <class Work>
void without_gil(Work work) {
    PyThreadState* const state = PyEval_SaveThread();
    std::exception_ptr error;
    try {
        work();
    } catch (const std::exception&) {
        error = std::current_exception();
    }
    take_back_gil(state);
    if (error) std::rethrow_exception(error);
}

}  // namespace tropical
