// Reachability on packed bits, step by step.
#pragma once

#include <pybind11/pybind11.h>

namespace tropical {

void bind_reach(pybind11::module_& module);

}  // namespace tropical
