// The shapes of a product: operands as numpy.matmul pairs them, and the array for the result.
#pragma once

#include "bindings/arrays.hpp"

namespace tropical {

// The operands of a product: arrays of one native dtype that the semiring has, or in which its
// matrices may be stored.
struct Operands {
    py::array a, b;
    ElementType type;
};
// Copies an operand only to convert it. Throws TypeError, naming both dtypes, if the semiring is
// not defined for the common dtype.
Operands take_operands(PyObject* a, PyObject* b, int semiring);

// A problem for the core, and the shape of the result's array.
struct Shapes {
    Problem problem;
    int ndim;
    ptrdiff_t shape[max_batch_dims + 2];
    bool drops_row, drops_column;  // the result has no axis of rows (columns), as a (b) was 1-D
};

// One axis of a batch: its length, and by how many bytes an item moves each operand.
struct BatchAxis {
    ptrdiff_t length, a = 0, b = 0, c = 0, index = 0;
};
void add_axis(Batch& batch, const BatchAxis& axis);

// Pairs a (..., m, k) and b (..., k, n) by the rules of numpy.matmul: sets m, n, k, the views of a
// and b, the batch, and the shape of the result. Throws ValueError, naming both shapes, if they do
// not fit.
void broadcast_shapes(const Operands& operands, Shapes& shapes);

// For messages: the shape of the result, such as "(2, 3)".
std::string result_text(const Shapes& shapes);
py::array new_result(const Shapes& shapes, const py::dtype& dtype);
// The argument `out`, or a part of it: a writeable array of the result's shape and dtype. Throws
// ValueError or TypeError otherwise.
py::array check_out(PyObject* out, const char* argument, const Shapes& shapes,
                    const py::dtype& dtype);

// Lets the problem's c (or index) be the memory of `array`, which has the result's shape.
void attach_result(Shapes& shapes, const py::array& array);
void attach_index(Shapes& shapes, const py::array& array);

// A problem with C-ordered operands that have no memory, for planning: a is m x k, b is k x n.
// Throws ValueError if a size is negative or too large for memory.
struct Planned {
    Problem problem;
    bool stored;  // in another type than that of the problem
};
Planned contiguous_problem(const py::object& m, const py::object& n, const py::object& k,
                           const py::object& dtype, int semiring);

// An integer of Python that counts elements. Throws ValueError if it is negative or too large for
// memory, TypeError if it is not an integer.
ptrdiff_t parse_size(const py::object& size, const char* name);
inline constexpr ptrdiff_t most_elements = ptrdiff_t{1} << 52;  // more do not fit any memory

}  // namespace tropical
