// Computing without the GIL, the interpreter's lock.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <exception>

namespace tropical {

// Takes the GIL back. If a daemon thread asks for the GIL while the interpreter shuts down, Python
// before 3.14 ends that thread by unwinding its stack. The unwinding would drop references without
// the GIL, so the thread sleeps here until the process ends.
inline void take_back_gil(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (abi::__forced_unwind&) {
        for (;;) pause();
    }
}

// Runs `work`, which may throw, while the GIL is released.
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
