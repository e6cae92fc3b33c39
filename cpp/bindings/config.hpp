// Seeing inside: what was built, what is in use, what a product would do, and the loops that
// measure the machine.
#pragma once

#include "options.hpp"

namespace tropical {

// An m x k by k x n product of C-ordered operands that do not exist, for planning. Throws
// ValueError below 0.
Problem contiguous_problem(const py::object& m, const py::object& n, const py::object& k,
                           const py::object& dtype, int semiring);

void bind_config(py::module_& module);

}  // namespace tropical
