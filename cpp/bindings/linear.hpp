// A layer of a neural network as one product.
#pragma once

#include <pybind11/pybind11.h>

namespace tropical {

void bind_linear(pybind11::module_& module);

}  // namespace tropical
