// The class GemmWorkspace.
#include <algorithm>
#include <new>

#include "bindings/module.hpp"
#include "bindings/py_workspace.hpp"
#include "bindings/shapes.hpp"
#include "gemm.hpp"
#include "runtime/platform.hpp"

namespace tropical {
namespace {

constexpr const char* class_text =
    R"(GemmWorkspace()
--

Packing buffers for `tropical.gemm`, kept from call to call.

The buffers serve any size, dtype and semiring, and only grow. Once they are large enough for a
product, calls with ``workspace=`` allocate no packing memory. One thread at a time may use a
workspace; a second caller gets a RuntimeError. A new workspace holds nothing.

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
0)";

constexpr const char* reserve_text =
    R"(reserve(self, m, n, k, dtype="float32", semiring="maxplus", threads=None)
--

Grow the buffers to the size that an (m, k) by (k, n) product needs.

Parameters
----------
m, n, k : int
    Sizes of the product, at least 0.
dtype : dtype, default "float32"
    Element type.
semiring : str or Semiring, default "maxplus"
    As `tropical.gemm` takes it.
threads : int, optional
    The greatest number of threads that the product will use; `tropical.get_num_threads()` unless given.

Raises
------
ValueError
    If a size is negative, the semiring is unknown or ``threads < 1``.
TypeError
    If the semiring is not defined for the dtype.
RuntimeError
    If another thread is using the workspace.
MemoryError
    If the system has not so much memory; the buffers are then as they were.)";

constexpr const char* clear_text = R"(clear(self)
--

Give the buffers back to the system.

Raises
------
RuntimeError
    If another thread is using the workspace.)";

}  // namespace

PyWorkspace::Lease::Lease(PyWorkspace& owner) : owner_(owner) {
    const int self = process_id();
    int holder = 0;
    while (!owner_.holder_.compare_exchange_strong(holder, self, std::memory_order_acquire))
        if (holder == self) throw std::runtime_error("workspace: in use by another thread");
}

void PyWorkspace::reserve(const py::object& m, const py::object& n, const py::object& k,
                          const py::object& dtype, const py::object& semiring,
                          const py::object& threads) {
    const Choice choice = choose({}, parse_threads(threads.ptr()));
    auto [problem, stored] = contiguous_problem(m, n, k, dtype, parse_semiring(semiring.ptr()));
    StoredBytes bytes{0, 0};
    use_tuning();
    for (const bool argmax : {false, true}) {
        for (int turned = 0; turned < 8; ++turned) {  // C, A and B in C or in Fortran order
            std::swap(problem.c.row_stride, problem.c.col_stride);
            if (turned % 2 == 0) std::swap(problem.a.row_stride, problem.a.col_stride);
            if (turned % 4 == 0) std::swap(problem.b.row_stride, problem.b.col_stride);
            problem.attained.index.data = argmax ? problem.c.data : nullptr;
            const StoredBytes now = stored ? most_stored_bytes(problem, choice)
                                           : StoredBytes{most_bytes(problem, choice), 0};
            bytes = {std::max(bytes.blocks, now.blocks), std::max(bytes.packing, now.packing)};
        }
    }
    Lease lease(*this);
    try {
        lease.memory().grow(bytes.blocks);
        if (stored) lease.memory().inner().grow(bytes.packing);
    } catch (const std::bad_alloc&) {
        PyErr_Format(PyExc_MemoryError, "reserve: the system has no %zd bytes",
                     bytes.blocks + bytes.packing);
        throw py::error_already_set();
    }
}

void bind_workspace(py::module_& module) {
    using py::arg;
    py::options options;
    options.disable_function_signatures();  // the texts have those that inspect reads
    py::class_<PyWorkspace>(module, "GemmWorkspace", class_text, constructed_by_new<PyWorkspace>())
        .def(py::init<>(), "__init__(self)\n--\n\nMake an empty workspace.")
        .def("__repr__",
             [](const PyWorkspace& workspace) {
                 return "<tropical.GemmWorkspace of " + std::to_string(workspace.bytes()) +
                        " bytes>";
             })
        .def("reserve", &PyWorkspace::reserve, arg("m"), arg("n"), arg("k"),
             arg("dtype") = "float32", arg("semiring") = "maxplus", arg("threads") = py::none(),
             reserve_text)
        .def_property_readonly("nbytes", &PyWorkspace::bytes, "Bytes that the buffers hold.")
        .def_property_readonly("allocations", &PyWorkspace::allocations,
                               "How often the buffers were allocated. In a steady state this "
                               "number stays the same.")
        .def("clear", &PyWorkspace::clear, clear_text);
}

}  // namespace tropical
