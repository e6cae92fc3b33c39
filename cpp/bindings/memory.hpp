// The memory of arrays: cpp/memory as the allocator of NumPy's data (NEP 49).
#pragma once

#include <pybind11/pybind11.h>

namespace tropical {

namespace py = pybind11;

void bind_memory(py::module_& module);

}  // namespace tropical
