// What the functions that compute a product share: arguments as CPython passes them, where the
// result goes, the GIL, errors. They are plain CPython functions rather than pybind11 ones, which
// would cost a small product more than the product itself.
#pragma once

#include <initializer_list>
#include <span>

#include "arrays.hpp"

namespace tropical {

// A function's parameters: the first `positional` need no keyword, the first `required` no default.
struct Signature {
    const char* function;
    std::span<const std::string_view> names;
    int positional, required;
};

// Borrowed references, in the order of the signature's names; null where one was not given.
struct Arguments {
    static constexpr int most = 9;
    PyObject* values[most] = {};

    PyObject* operator[](int which) const { return values[which]; }
    PyObject* or_none(int which) const { return values[which] ? values[which] : Py_None; }
    bool is_true(int which) const;
};

// compute(the arguments), as CPython's vectorcall wants it: null, with the error set, for what it
// throws.
PyObject* call(const Signature& signature, py::object (*compute)(const Arguments&),
               PyObject* const* args, Py_ssize_t positional, PyObject* keywords);
// The exception being handled, as Python's error.
void set_python_error();
void add_function(py::module_& module, PyMethodDef& definition);

// Where a product is computed: in `out`, in a copy of it where it overlaps an operand, or in a new
// array. Operands may be null.
struct Target {
    py::array out, computed;
    bool given, overlaps;
};
Target make_target(PyObject* out, const Shapes& shapes, const py::dtype& dtype,
                   std::initializer_list<const py::array*> operands);
// What the caller gets: `out`, holding the result, or the new array.
py::object finish(const Target& target);
// As numpy.matmul: 0-D results are scalars.
py::object as_result(const py::array& array);

// None, or a GemmWorkspace; TypeError otherwise.
void check_workspace(PyObject* workspace);
// The product, in this workspace or the thread's own; large ones without the GIL.
void run_in(PyObject* workspace, const Problem& problem, const Choice& choice);

}  // namespace tropical
