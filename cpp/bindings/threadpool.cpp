// What threadpoolctl looks for in the extension, by name: see
// src/tropical/interop/threadpoolctl.py.
#include <pybind11/pybind11.h>

#include <exception>

#include "runtime/thread_counts.hpp"

extern "C" {

// 1 where TROPICAL_NUM_THREADS is no number, which the first product tells.
PYBIND11_EXPORT int tropical_get_thread_limit() noexcept {
    try {
        return tropical::get_thread_limit();
    } catch (const std::exception&) {
        return 1;
    }
}

PYBIND11_EXPORT void tropical_set_thread_limit(int threads) noexcept {
    try {
        tropical::set_thread_limit(threads);
    } catch (const std::exception&) {
    }
}
}
