// The products as generalized ufuncs of NumPy.
#pragma once

#include <pybind11/pybind11.h>

namespace tropical {

void bind_ufunc(pybind11::module_& module);

}  // namespace tropical
