#include "workspace.hpp"

#include <algorithm>
#include <new>

#include "../gemm.hpp"
#include "config.hpp"
#include "tuning.hpp"

namespace tropical {

PyWorkspace::Lease::Lease(PyWorkspace& owner) : owner_(owner) {
    const pid_t self = getpid();
    pid_t holder = 0;
    while (!owner_.holder_.compare_exchange_strong(holder, self, std::memory_order_acquire))
        if (holder == self) throw std::runtime_error("workspace is in use by another thread");
}

void PyWorkspace::reserve(const py::object& m, const py::object& n, const py::object& k,
                          const py::object& dtype, const py::object& semiring,
                          const py::object& threads) {
    const Choice choice = choose({}, parse_threads(threads.ptr()));
    Problem problem = contiguous_problem(m, n, k, dtype, parse_semiring(semiring.ptr()));
    ptrdiff_t bytes = 0;
    use_tuning();
    for (const bool argmax : {false, true}) {
        for (int turned = 0; turned < 2; ++turned) {  // out in C and in Fortran order
            std::swap(problem.c.row_stride, problem.c.col_stride);
            problem.index.data = argmax ? problem.c.data : nullptr;
            bytes = std::max(bytes, most_bytes(problem, choice));
        }
    }
    Lease lease(*this);
    try {
        lease.memory().grow(bytes);
    } catch (const std::bad_alloc&) {
        PyErr_Format(PyExc_MemoryError, "reserve: cannot have %zd bytes", bytes);
        throw py::error_already_set();
    }
}

void bind_workspace(py::module_& module) {
    py::class_<PyWorkspace>(module, "GemmWorkspace",
                            R"(Packing buffers for `tropical.gemm`, kept from call to call.

They serve any size, dtype and semiring, and only grow: once they are large enough for a product,
calls with ``workspace=`` allocate no packing memory. One thread at a time may use a workspace; a
second caller gets RuntimeError. A new workspace holds nothing.

See Also
--------
tropical.gemm : The product; without a workspace it uses a bounded buffer of the calling thread.

Examples
--------
>>> import numpy as np
>>> import tropical
>>> workspace = tropical.GemmWorkspace()
>>> workspace.nbytes
0
>>> workspace.reserve(300, 300, 300, threads=1)
>>> reserved = workspace.nbytes
>>> x = np.ones((300, 300), dtype=np.float32)
>>> y = tropical.gemm(x, x, workspace=workspace, threads=1)
>>> workspace.nbytes == reserved
True
>>> workspace.clear()
>>> workspace.nbytes
0)")
        .def(py::init<>(), "Make an empty workspace.")
        .def("reserve", &PyWorkspace::reserve, py::arg("m"), py::arg("n"), py::arg("k"),
             py::arg("dtype") = "float32", py::arg("semiring") = "maxplus",
             py::arg("threads") = py::none(),
             R"(Grow the buffers to what an (m, k) by (k, n) product needs; they never shrink.

Parameters
----------
m, n, k : int
    Sizes of the product, not negative.
dtype : dtype, default "float32"
    Element type.
semiring : str or Semiring, default "maxplus"
    As `tropical.gemm` takes it.
threads : int, optional
    The most threads that the product will use; `tropical.get_num_threads()` unless given.

Raises
------
ValueError
    If a size is negative, the semiring is unknown or ``threads < 1``.
TypeError
    If the semiring is not defined for the dtype.
RuntimeError
    If another thread is using the workspace.
MemoryError
    If the memory cannot be had; the buffers are then as they were.)")
        .def_property_readonly("nbytes", &PyWorkspace::bytes, "Bytes that the buffers hold.")
        .def_property_readonly("allocations", &PyWorkspace::allocations,
                               "How often the buffers were allocated: in a steady state this stays "
                               "as it is.")
        .def("clear", &PyWorkspace::clear, R"(Give the buffers back to the system.

Raises
------
RuntimeError
    If another thread is using the workspace.)");
}

}  // namespace tropical
