// What the functions that compute a product share: arguments as CPython passes them, where the
// result goes, the GIL, errors. These functions are plain CPython functions: the dispatch of
// pybind11 takes longer than a small product.
#pragma once

#include <initializer_list>
#include <span>

#include "bindings/shapes.hpp"
#include "gemm.hpp"
#include "runtime/stop.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

// The parameters of a function. The first `positional` may be given without keywords, the first
// `required` must be given.
struct Signature {
    const char* function;
    std::span<const std::string_view> names;
    int positional, required;
};

// Borrowed references in the order of the signature's names; null for an argument that was not
// given.
struct Arguments {
    static constexpr int most = 11;
    PyObject* values[most] = {};

    PyObject* operator[](int which) const { return values[which]; }
    PyObject* or_none(int which) const { return values[which] ? values[which] : Py_None; }
    bool is_true(int which) const;
};

// Calls `compute` with the arguments, which come as CPython's vectorcall passes them. If `compute`
// throws, sets Python's error and returns null.
PyObject* call(const Signature& signature, py::object (*compute)(const Arguments&),
               PyObject* const* args, Py_ssize_t positional, PyObject* keywords);
// For long work of this thread without the GIL: whether the handler of a signal has raised an
// exception. Null, so that nobody asks, on any thread but Python's main thread.
StopRequested stop_requested_by_signal();
// Sets Python's error to the exception that is being handled.
void set_python_error();
void add_function(py::module_& module, PyMethodDef& definition);

// Whether an argument is an array of another library in the memory of an NVIDIA GPU.
bool is_on_gpu(PyObject* x);

// The argument `out`, or a part of it, which may be None.
struct Out {
    const char* name;
    PyObject* given;
};
// Where a product is computed. computed is `out`, a copy of `out` if that overlaps an operand, or a
// new array if there is no `out`. given is what the caller gave, such as an array of a subclass.
struct Target {
    py::array out, computed;
    py::object given;
    bool overlaps;
};
// Null operands are skipped.
Target make_target(const Out& out, const Shapes& shapes, const py::dtype& dtype,
                   std::initializer_list<const py::array*> operands);
// What the caller gets, with the result in it: `out`, or the new array.
py::object finish(const Target& target);
// A 0-D result becomes a scalar, as in numpy.matmul.
py::object as_result(const py::array& array);

// Throws TypeError unless the argument is None or a GemmWorkspace.
void check_workspace(PyObject* workspace);
// Calls work(context, memory, stop) with the memory of this workspace, or for None with the
// thread's own: without the GIL where work multiplies so many elements that this pays, and with a
// stop where it may take long.
void run_in(PyObject* workspace, double products, void (*work)(void*, Workspace&, StopRequested),
            void* context);
// Computes a product so, of matrices that are stored in another type than the problem's or not.
void run_in(PyObject* workspace, const Problem& problem, const Choice& choice,
            std::optional<Storage> storage = {});
// Computes one whose elements post_ops change.
void run_in(PyObject* workspace, const Problem& problem, const BatchPostOps& post_ops,
            const Choice& choice, std::optional<Storage> storage);

}  // namespace tropical
