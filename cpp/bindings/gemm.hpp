// tropical.gemm itself.
#pragma once

#include <pybind11/pybind11.h>

namespace tropical {

void bind_gemm(pybind11::module_& module);

}  // namespace tropical
