// NumPy arrays as the core's views: conversion of operands, matmul's shape rules, the result array.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "options.hpp"

namespace tropical {

// What np.asarray makes of an argument; its errors, with the argument's name. Masked arrays are
// refused.
py::array to_array(PyObject* object, const char* name);

// An operand as errors speak of it.
struct Named {
    const char* name;
    py::array* array;
};
// "a has dtype int32, b has dtype float32"
std::string dtypes_text(std::span<const Named> operands);
// The native dtype that NumPy promotes all of them to; TypeError if there is none.
py::dtype common_dtype(const char* function, std::span<const Named> operands);
// Copies only what has another dtype.
void convert(std::span<const Named> operands, const py::dtype& dtype);

struct Operands {
    py::array a, b;
    DType dtype;
};

// Arrays of one supported native dtype; an operand is copied only to convert it.
Operands take_operands(PyObject* a, PyObject* b, int semiring);

// numpy.matmul's shapes: `shape` of the result, the batch as the core wants it, and m, n, k.
struct Shapes {
    Problem problem;
    int ndim;  // of the result
    ptrdiff_t shape[max_batch_dims + 2];
    bool drops_row, drops_column;  // a, b were 1-D
};
std::string shape_text(const py::array& array);
py::array new_result(const Shapes& shapes, const py::dtype& dtype);
void broadcast_shapes(const Operands& operands, Shapes& shapes);

// Points problem's c (or index) at `array`, which has the result's shape.
void attach_result(Shapes& shapes, const py::array& array);
void attach_index(Shapes& shapes, const py::array& array);

// Throws unless it may be written to and no two elements share memory.
void check_writeable(const py::array& array, const char* name);
// `out` as given: an array, writeable, of the result's shape and dtype. Throws otherwise.
py::array check_out(PyObject* out, const Shapes& shapes, const py::dtype& dtype);
bool may_overlap(const py::array& x, const py::array& y);

}  // namespace tropical
