// The scheduler's settings as Python sees them, and the file of measured ones that is read before
// the first product.
#pragma once

#include <pybind11/pybind11.h>

namespace tropical {

namespace py = pybind11;

// Once, and with the GIL held: lets tropical.tuning read what was measured on this machine. A thread
// that comes meanwhile goes on with what is suggested; waiting for it would not survive a fork.
void use_tuning();

void bind_tuning(py::module_& module);

}  // namespace tropical
