// The arguments beside the operands: semiring, dtype, kernel, instruction set and threads by name;
// and the options of a context, which stand in for arguments that were not given.
#pragma once

#include <pybind11/numpy.h>

#include <optional>
#include <string_view>

#include "plan.hpp"

namespace tropical {

namespace py = pybind11;

// What tropical.options sets, for each context (PEP 567) apart. Null, 0 and nothing: not set. Both
// need the GIL.
Choice context_options();
void set_context_options(const Choice& options);

// The text of a str. It lives as long as the str.
std::string_view text_of(PyObject* unicode);
// The semiring's index in the list, by its name, with or without underscores, or by an object that
// has the name as its attribute `name`. Throws ValueError, listing the known semirings, or
// TypeError.
int parse_semiring(PyObject* semiring);
// The same. Also throws ValueError for one whose addition selects none of its operands.
int parse_selective(PyObject* semiring);
// A kernel by name; nothing for None. Throws ValueError, listing the known kernels, or TypeError.
std::optional<KernelKind> parse_kernel(PyObject* kernel);
// Throws ValueError if the kernel that a call names does not fit its product.
void check_kernel(std::optional<KernelKind> kernel, const Product& p);
// How many pieces of bfloat16 a precision names; nothing for None. Throws ValueError, listing the
// known precisions, or TypeError.
std::optional<int> parse_precision(PyObject* precision);
// Lets a call choose its precision. Throws ValueError if it does not fit the product or the kernel
// that the call names.
void choose_precision(Choice& choice, std::optional<int> pieces, std::optional<KernelKind> kernel,
                      const Product& p);
// A number of threads; 0 for None. Throws ValueError below 1, TypeError if it is not an integer.
int parse_threads(PyObject* threads);
// An integer, at least `least`; the greatest int64 stands for every greater one. Throws ValueError
// below `least`, and a TypeError that says that `kind` was expected.
std::int64_t parse_integer(PyObject* object, const char* name, std::int64_t least,
                           const char* kind);
// The dtype's number, if the semiring is defined for the dtype and the dtype is native.
std::optional<DType> known_dtype(const py::dtype& dtype, int semiring);
// Throws TypeError if the semiring is not defined for the dtype, or the dtype is not native.
DType parse_dtype(const py::dtype& dtype, int semiring);
// The same for anything that numpy.dtype takes, in either byte order.
DType native_dtype(const py::object& dtype, int semiring);
// What numpy.dtype makes of it, in the order of bytes of this machine.
py::dtype in_native_order(const py::object& dtype);
// What the elements of operands are: the dtype in which products are computed, and the type in
// which the matrices are stored, if that is another.
struct ElementType {
    DType dtype;
    std::optional<Storage> storage;
};
// As known_dtype and parse_dtype, but with the storage types.
std::optional<Storage> known_storage(const py::dtype& dtype, int semiring);
ElementType parse_element_type(const py::dtype& dtype, int semiring);
bool has_kernels(int semiring, DType dtype);
py::dtype numpy_dtype(DType dtype);

// Arguments take precedence over the options of the context, these over the environment, and that
// over the scheduler's choice. A kernel that the call names computes float32 as it is, whatever the
// precision of the context. Needs the GIL.
Choice choose(std::optional<KernelKind> kernel, int threads);

// Lets tropical.tuning, once, set the scheduler's settings that were measured on this machine.
// Needs the GIL. A thread that calls it meanwhile goes on with the suggested settings: to wait for
// the first thread would not survive a fork.
void use_tuning();

}  // namespace tropical
