// What the user chose beside the operands: semiring, dtype, kernel, instruction set, threads, by
// name.
#pragma once

#include <pybind11/numpy.h>

#include <optional>
#include <string_view>

#include "../blocking.hpp"

namespace tropical {

namespace py = pybind11;

// The overrides of tropical.options, one set for each thread.
struct Options {
    std::optional<KernelKind> kernel;
    const Isa* isa = nullptr;
    int threads = 0;
};
Options& thread_options();

// The text of a str; it lives as long as the str.
std::string_view text_of(PyObject* unicode);
// A name, with or without underscores, or an object with a `name`. Throws ValueError listing the
// known ones.
int parse_semiring(PyObject* semiring);
// None gives nothing. Throws ValueError listing the known ones.
std::optional<KernelKind> parse_kernel(PyObject* kernel);
// None gives 0. Throws ValueError below 1, TypeError for what is not an integer.
int parse_threads(PyObject* threads);
// An integer from `least` on, as large as fits; TypeError says that `name` must be `kind`.
std::int64_t parse_integer(PyObject* object, const char* name, std::int64_t least,
                           const char* kind);
// Throws TypeError, naming the dtype, for one that the semiring is not defined on or that is not
// native.
DType parse_dtype(const py::dtype& dtype, int semiring);
const char* dtype_name(DType dtype);
py::dtype numpy_dtype(DType dtype);

// Arguments first, then tropical.options, then the environment, then the scheduler's choice.
Choice choose(std::optional<KernelKind> kernel, int threads);

}  // namespace tropical
