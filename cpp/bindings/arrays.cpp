#include "arrays.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tropical {
namespace {

std::string result_shape_text(const Shapes& shapes) {
    std::string text = "(";
    for (int i = 0; i < shapes.ndim; ++i) text += (i ? ", " : "") + std::to_string(shapes.shape[i]);
    return text + (shapes.ndim == 1 ? ",)" : ")");
}

[[noreturn]] void refuse_shapes(const py::array& a, const py::array& b, const char* why) {
    throw py::value_error(std::string("gemm: ") + why + ": a has shape " + shape_text(a) +
                          ", b has shape " + shape_text(b));
}

// Strides of the result's array along row, column and batch; a dropped axis has stride 0.
View result_view(const Shapes& shapes, const py::array& array, ptrdiff_t* batch_strides) {
    const int dims = shapes.problem.batch.dims;
    for (int axis = 0; axis < dims; ++axis) batch_strides[axis] = array.strides(axis);
    int axis = dims;
    View view{static_cast<char*>(const_cast<void*>(array.data())), 0, 0};
    if (!shapes.drops_row) view.row_stride = array.strides(axis++);
    if (!shapes.drops_column) view.col_stride = array.strides(axis);
    const ptrdiff_t item = static_cast<ptrdiff_t>(array.itemsize());
    if (shapes.problem.n == 1) view.col_stride = item;  // never walked: let it look contiguous
    if (shapes.problem.m == 1 && shapes.problem.n != 1) view.row_stride = item * shapes.problem.n;
    return view;
}

struct Extent {
    std::uintptr_t low, high;
};

Extent extent(const py::array& array) {
    auto low = reinterpret_cast<std::uintptr_t>(array.data()), high = low;
    for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
        const auto reach = (array.shape(axis) - 1) * array.strides(axis);
        (reach < 0 ? low : high) += static_cast<std::uintptr_t>(reach);
    }
    return {low, high + static_cast<std::uintptr_t>(array.itemsize())};
}

// Whether two elements of the array share memory, judging by axes in the order of their strides.
bool overlaps_itself(const py::array& array) {
    std::pair<ptrdiff_t, ptrdiff_t> axes[max_batch_dims];  // stride, length
    int count = 0;
    for (py::ssize_t axis = 0; axis < array.ndim(); ++axis)
        if (array.shape(axis) > 1)
            axes[count++] = {std::abs(array.strides(axis)), array.shape(axis)};
    std::sort(axes, axes + count);
    ptrdiff_t reach = static_cast<ptrdiff_t>(array.itemsize());
    for (const auto& [stride, length] : std::span(axes, static_cast<std::size_t>(count))) {
        if (stride < reach) return true;
        reach += stride * (length - 1);
    }
    return false;
}

}  // namespace

py::array to_array(PyObject* object, const char* name) {
    const auto given = py::reinterpret_borrow<py::object>(object);
    if (!py::isinstance<py::array>(given)) {
        try {
            return py::array(given);
        } catch (py::error_already_set& error) {
            for (PyObject* type : {PyExc_ValueError, PyExc_TypeError})
                if (error.matches(type)) {
                    const std::string message = py::str(error.value());
                    py::raise_from(error, type, (std::string(name) + ": " + message).c_str());
                    throw py::error_already_set();
                }
            throw;
        }
    }
    const bool plain = Py_IS_TYPE(object, py::detail::npy_api::get().PyArray_Type_);
    if (!plain && py::hasattr(given, "mask"))
        throw py::type_error(std::string(name) +
                             " is a masked array, and products know no masks; fill it, for "
                             "example with the semiring's zero");
    return py::reinterpret_borrow<py::array>(given);
}

std::string dtypes_text(std::span<const Named> operands) {
    std::string text;
    for (const Named& operand : operands)
        text += (text.empty() ? "" : ", ") + std::string(operand.name) + " has dtype " +
                std::string(py::str(operand.array->dtype()));
    return text;
}

py::dtype common_dtype(const char* function, std::span<const Named> operands) {
    const py::dtype first = operands[0].array->dtype();
    const bool equal = std::all_of(operands.begin() + 1, operands.end(), [&](const Named& operand) {
        return operand.array->dtype().is(first);
    });
    if (equal && first.byteorder() != '>') return first;
    py::tuple arrays(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) arrays[i] = *operands[i].array;
    try {
        return py::module_::import("numpy").attr("result_type")(*arrays).attr("newbyteorder")("=");
    } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError)) throw;
        throw py::type_error(function + (": no common dtype: " + dtypes_text(operands)));
    }
}

void convert(std::span<const Named> operands, const py::dtype& dtype) {
    for (const auto& [name, array] : operands)
        if (!array->dtype().is(dtype))
            *array = array->attr("astype")(dtype, py::arg("copy") = false);
}

Operands take_operands(PyObject* a, PyObject* b, int semiring) {
    Operands operands{to_array(a, "a"), to_array(b, "b"), DType::f32};
    const Named both[] = {{"a", &operands.a}, {"b", &operands.b}};
    const py::dtype common = common_dtype("gemm", both);
    try {
        operands.dtype = parse_dtype(common, semiring);
    } catch (const py::type_error& error) {
        throw py::type_error(error.what() + (": " + dtypes_text(both)));
    }
    convert(both, common);
    return operands;
}

std::string shape_text(const py::array& array) { return py::str(array.attr("shape")); }

void broadcast_shapes(const Operands& operands, Shapes& shapes) {
    const py::array &a = operands.a, &b = operands.b;
    Problem& p = shapes.problem;
    if (a.ndim() == 0 || b.ndim() == 0)
        refuse_shapes(a, b, "operands must have at least one dimension");
    shapes.drops_row = a.ndim() == 1;
    shapes.drops_column = b.ndim() == 1;
    const py::ssize_t last_a = a.ndim() - 1, last_b = b.ndim() - 1;
    p.dtype = operands.dtype;
    p.m = shapes.drops_row ? 1 : a.shape(last_a - 1);
    p.k = a.shape(last_a);
    p.n = shapes.drops_column ? 1 : b.shape(last_b);
    if (p.k != b.shape(shapes.drops_column ? 0 : last_b - 1))
        refuse_shapes(a, b, "the last axis of a and the last but one of b differ");
    p.a = {static_cast<const char*>(a.data()), shapes.drops_row ? 0 : a.strides(last_a - 1),
           a.strides(last_a)};
    p.b = {static_cast<const char*>(b.data()), b.strides(shapes.drops_column ? 0 : last_b - 1),
           shapes.drops_column ? 0 : b.strides(last_b)};
    if (shapes.drops_column) p.b.col_stride = static_cast<ptrdiff_t>(b.itemsize());

    const int dims_a = static_cast<int>(std::max<py::ssize_t>(a.ndim() - 2, 0));
    const int dims_b = static_cast<int>(std::max<py::ssize_t>(b.ndim() - 2, 0));
    Batch& batch = p.batch;
    batch.dims = std::max(dims_a, dims_b);
    for (int axis = 0; axis < batch.dims; ++axis) {
        const int axis_a = axis - (batch.dims - dims_a), axis_b = axis - (batch.dims - dims_b);
        const ptrdiff_t length_a = axis_a < 0 ? 1 : a.shape(axis_a),
                        length_b = axis_b < 0 ? 1 : b.shape(axis_b);
        if (length_a != length_b && length_a != 1 && length_b != 1)
            refuse_shapes(a, b, "batch axes do not broadcast");
        batch.shape[axis] = length_a == 1 ? length_b : length_a;
        batch.a_stride[axis] = length_a == 1 ? 0 : a.strides(axis_a);
        batch.b_stride[axis] = length_b == 1 ? 0 : b.strides(axis_b);
        batch.items *= batch.shape[axis];
        shapes.shape[shapes.ndim++] = batch.shape[axis];
    }
    if (!shapes.drops_row) shapes.shape[shapes.ndim++] = p.m;
    if (!shapes.drops_column) shapes.shape[shapes.ndim++] = p.n;
}

void attach_result(Shapes& shapes, const py::array& array) {
    shapes.problem.c = result_view(shapes, array, shapes.problem.batch.c_stride);
}

void attach_index(Shapes& shapes, const py::array& array) {
    shapes.problem.index = result_view(shapes, array, shapes.problem.batch.index_stride);
}

py::array new_result(const Shapes& shapes, const py::dtype& dtype) {
    return {dtype, std::vector<py::ssize_t>(shapes.shape, shapes.shape + shapes.ndim)};
}

py::array check_out(PyObject* out, const Shapes& shapes, const py::dtype& dtype) {
    if (!py::isinstance<py::array>(out))
        throw py::type_error("out must be an array, got " + std::string(py::repr(py::handle(out))));
    const auto array = to_array(out, "out");
    const bool same_shape = array.ndim() == shapes.ndim &&
                            std::equal(shapes.shape, shapes.shape + shapes.ndim, array.shape());
    if (!same_shape)
        throw py::value_error("out has shape " + shape_text(array) + ", the result has shape " +
                              result_shape_text(shapes));
    const py::dtype given = array.dtype();
    if (!given.is(dtype) && !given.equal(dtype))
        throw py::type_error("out has dtype " + std::string(py::str(given)) +
                             ", the result has dtype " + std::string(py::str(dtype)));
    check_writeable(array, "out");
    return array;
}

void check_writeable(const py::array& array, const char* name) {
    if (!array.writeable()) throw py::value_error(std::string(name) + " is read-only");
    if (array.size() > 0 && overlaps_itself(array))
        throw py::value_error(name + (" has elements that share memory: strides " +
                                      std::string(py::str(array.attr("strides")))));
}

bool may_overlap(const py::array& x, const py::array& y) {
    if (x.size() == 0 || y.size() == 0) return false;
    const Extent a = extent(x), b = extent(y);
    return a.low < b.high && b.low < a.high;
}

}  // namespace tropical
