#include "bindings/shapes.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tropical {
namespace {

[[noreturn]] void refuse_shapes(const py::array& a, const py::array& b, const char* why) {
    throw py::value_error(std::string("gemm: ") + why + ": a has shape " + shape_text(a) +
                          ", b has shape " + shape_text(b));
}

void broadcast_batch(const py::array& a, const py::array& b, Shapes& shapes) {
    const int dims_a = static_cast<int>(std::max<py::ssize_t>(a.ndim() - 2, 0));
    const int dims_b = static_cast<int>(std::max<py::ssize_t>(b.ndim() - 2, 0));
    const int dims = std::max(dims_a, dims_b);
    for (int axis = 0; axis < dims; ++axis) {
        const int axis_a = axis - (dims - dims_a), axis_b = axis - (dims - dims_b);
        const ptrdiff_t length_a = axis_a < 0 ? 1 : a.shape(axis_a),
                        length_b = axis_b < 0 ? 1 : b.shape(axis_b);
        if (length_a != length_b && length_a != 1 && length_b != 1)
            refuse_shapes(a, b, "batch axes do not broadcast");
        const ptrdiff_t length = length_a == 1 ? length_b : length_a;
        add_axis(shapes.problem.batch, {.length = length,
                                        .a = length_a == 1 ? 0 : a.strides(axis_a),
                                        .b = length_b == 1 ? 0 : b.strides(axis_b)});
        shapes.shape[shapes.ndim++] = length;
    }
}

// The result's matrices as a view, and the strides of its batch. An axis that the array lacks has
// stride 0.
View result_view(const Shapes& shapes, const py::array& array, ptrdiff_t* batch_strides) {
    const int dims = shapes.problem.batch.dims;
    for (int axis = 0; axis < dims; ++axis) batch_strides[axis] = array.strides(axis);
    int axis = dims;
    View view{.data = bytes_of(array), .row_stride = 0, .col_stride = 0};
    if (!shapes.drops_row) view.row_stride = array.strides(axis++);
    if (!shapes.drops_column) view.col_stride = array.strides(axis);
    // The stride of an axis of one element has no effect. Let it look contiguous for the kernels.
    const ptrdiff_t item = static_cast<ptrdiff_t>(array.itemsize());
    if (shapes.problem.n == 1) view.col_stride = item;
    if (shapes.problem.m == 1 && shapes.problem.n != 1) view.row_stride = item * shapes.problem.n;
    return view;
}

}  // namespace

Operands take_operands(PyObject* a, PyObject* b, int semiring) {
    Operands operands{.a = to_array(a, "a"), .b = to_array(b, "b"), .type = {}};
    const Named both[] = {{"a", &operands.a}, {"b", &operands.b}};
    const py::dtype common = common_dtype("gemm", both);
    try {
        operands.type = parse_element_type(common, semiring);
    } catch (const py::type_error& error) {
        throw py::type_error(error.what() + (": " + dtypes_text(both)));
    }
    convert(both, common, semiring);
    return operands;
}

std::string result_text(const Shapes& shapes) {
    std::string text = "(";
    for (int i = 0; i < shapes.ndim; ++i) text += (i ? ", " : "") + std::to_string(shapes.shape[i]);
    return text + (shapes.ndim == 1 ? ",)" : ")");
}

void add_axis(Batch& batch, const BatchAxis& axis) {
    const int i = batch.dims++;
    batch.shape[i] = axis.length;
    batch.a_stride[i] = axis.a;
    batch.b_stride[i] = axis.b;
    batch.c_stride[i] = axis.c;
    batch.index_stride[i] = axis.index;
    if (__builtin_mul_overflow(batch.items, axis.length, &batch.items))
        batch.items = std::numeric_limits<ptrdiff_t>::max();  // NumPy refuses such a result
}

void broadcast_shapes(const Operands& operands, Shapes& shapes) {
    const py::array &a = operands.a, &b = operands.b;
    if (a.ndim() == 0 || b.ndim() == 0)
        refuse_shapes(a, b, "operands must have at least one dimension");
    const bool one_row = a.ndim() == 1, one_column = b.ndim() == 1;
    const py::ssize_t last_a = a.ndim() - 1, last_b = b.ndim() - 1;
    const py::ssize_t steps_b = one_column ? 0 : last_b - 1;  // b's axis of length k
    Problem& p = shapes.problem;
    p.dtype = operands.type.dtype;
    p.m = one_row ? 1 : a.shape(last_a - 1);
    p.k = a.shape(last_a);
    p.n = one_column ? 1 : b.shape(last_b);
    if (p.k != b.shape(steps_b))
        refuse_shapes(a, b, "the last axis of a and the last but one of b differ");
    p.a = {.data = bytes_of(a),
           .row_stride = one_row ? 0 : a.strides(last_a - 1),
           .col_stride = a.strides(last_a)};
    p.b = {.data = bytes_of(b),
           .row_stride = b.strides(steps_b),
           .col_stride = one_column ? static_cast<ptrdiff_t>(b.itemsize()) : b.strides(last_b)};
    broadcast_batch(a, b, shapes);
    shapes.drops_row = one_row;
    shapes.drops_column = one_column;
    if (!one_row) shapes.shape[shapes.ndim++] = p.m;
    if (!one_column) shapes.shape[shapes.ndim++] = p.n;
}

py::array new_result(const Shapes& shapes, const py::dtype& dtype) {
    // pybind11's constructor allocates two vectors, 5% of a small product.
    const auto& numpy = py::detail::npy_api::get();
    const auto array = py::reinterpret_steal<py::array>(
        numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, py::object(dtype).release().ptr(),
                                    shapes.ndim, shapes.shape, nullptr, nullptr, 0, nullptr));
    if (!array) throw py::error_already_set();
    return array;
}

py::array check_out(PyObject* out, const char* argument, const Shapes& shapes,
                    const py::dtype& dtype) {
    const std::string name = argument;
    if (!py::isinstance<py::array>(out))
        throw py::type_error(name + ": expected an array, got " +
                             std::string(py::repr(py::handle(out))));
    const auto array = to_array(out, argument);
    const bool same_shape = array.ndim() == shapes.ndim &&
                            std::equal(shapes.shape, shapes.shape + shapes.ndim, array.shape());
    if (!same_shape)
        throw py::value_error(name + ": expected shape " + result_text(shapes) + ", got " +
                              shape_text(array));
    check_dtype(array, argument, dtype);
    check_writeable(array, argument);
    return array;
}

void attach_result(Shapes& shapes, const py::array& array) {
    shapes.problem.c = result_view(shapes, array, shapes.problem.batch.c_stride);
}

void attach_index(Shapes& shapes, const py::array& array) {
    shapes.problem.attained.index = result_view(shapes, array, shapes.problem.batch.index_stride);
}

Planned contiguous_problem(const py::object& m, const py::object& n, const py::object& k,
                           const py::object& dtype, int semiring) {
    const ElementType type = parse_element_type(in_native_order(dtype), semiring);
    Problem p{};
    p.semiring = semiring;
    p.dtype = type.dtype;
    p.m = parse_size(m, "m");
    p.n = parse_size(n, "n");
    p.k = parse_size(k, "k");
    for (const auto& [rows, columns] : {std::pair{p.m, p.n}, {p.m, p.k}, {p.k, p.n}})
        if (columns > 0 && rows > most_elements / columns)
            throw py::value_error("m, n, k: too large for memory: got " + std::to_string(p.m) +
                                  ", " + std::to_string(p.n) + ", " + std::to_string(p.k));
    static char nowhere[1];
    const ptrdiff_t item = type.storage ? stored_size : item_size(p.dtype);
    p.a = {.data = nowhere, .row_stride = p.k * item, .col_stride = item};
    p.b = {.data = nowhere, .row_stride = p.n * item, .col_stride = item};
    p.c = {.data = nowhere, .row_stride = p.n * item, .col_stride = item};
    return {p, type.storage.has_value()};
}

ptrdiff_t parse_size(const py::object& size, const char* name) {
    const std::int64_t value = parse_integer(size.ptr(), name, 0, "an integer");
    if (value > most_elements)
        throw py::value_error(std::string(name) + ": too large for memory: got " +
                              std::string(py::repr(size)));
    return static_cast<ptrdiff_t>(value);
}

}  // namespace tropical
