// Sums by index, in place.
#pragma once

#include <pybind11/pybind11.h>

namespace tropical {

void bind_scatter(pybind11::module_& module);

}  // namespace tropical
