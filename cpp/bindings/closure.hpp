// Kleene stars of small matrices, in place.
#pragma once

#include <pybind11/pybind11.h>

namespace tropical {

void bind_closure(pybind11::module_& module);

}  // namespace tropical
