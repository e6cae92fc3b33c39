#include "bindings/epilogue.hpp"

#include <algorithm>

#include "reference.hpp"

namespace tropical {
namespace {

constexpr const char* operand_names[post_operand_count] = {"scale", "bias", "residual",
                                                           "low",   "high", "mask"};

std::string full_name(const char* name) { return std::string("epilogue.") + name; }

// What arithmetic the semiring has for an epilogue.
void check_semiring(const char* name, int semiring) {
    const bool bounds = name == std::string_view("low") || name == std::string_view("high");
    const bool fits = bounds ? facts_of(semiring).kinds != static_cast<unsigned>(Kind::boolean)
                             : semiring == number_of<PlusTimes>;
    if (!fits)
        throw py::value_error(full_name(name) + ": expected None over " + facts_of(semiring).name +
                              (bounds
                                   ? ", which has a mask alone"
                                   : "; only plustimes has scale, bias, residual and activation"));
}

bool is_number(PyObject* value) { return PyFloat_Check(value) || PyLong_Check(value); }

// A number of Python, of whose kind the dtype is.
py::array number_in(PyObject* value, const std::string& name, const py::dtype& dtype) {
    try {
        return py::module_::import("numpy").attr("asarray")(py::handle(value), dtype);
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_OverflowError)) throw;
        throw py::value_error(name + ": expected a number of " + std::string(py::str(dtype)) +
                              ", got " + std::string(py::str(py::handle(value))));
    }
}

// The operand in C's dtype; a number of Python takes that, as in NumPy.
py::array in_dtype(PyObject* value, const std::string& name, const py::dtype& dtype, int semiring) {
    const py::module_ numpy = py::module_::import("numpy");
    if (is_number(value)) {
        const py::object common = numpy.attr("result_type")(py::handle(value), dtype);
        if (dtype.equal(common)) return number_in(value, name, dtype);
    }
    const py::array array = to_array(value, name.c_str());
    if (!dtype.equal(numpy.attr("result_type")(array.dtype(), dtype)))
        throw py::type_error(name + ": expected a dtype that " + std::string(py::str(dtype)) +
                             ", that of the result, holds, got " +
                             std::string(py::str(array.dtype())));
    return promoted(array, dtype, semiring);
}

py::array as_mask(PyObject* value, const std::string& name) {
    const py::array array = to_array(value, name.c_str());
    if (array.dtype().kind() != 'b')
        throw py::type_error(name + ": expected dtype bool, got " +
                             std::string(py::str(array.dtype())));
    return array;
}

// Lets an operand be the memory of an array that broadcasts to the result. Of an axis that the
// result drops the stride is 0.
void attach(BatchPostOps& ops, int which, const py::array& array, const Shapes& shapes) {
    const int missing = shapes.ndim - static_cast<int>(array.ndim());
    ptrdiff_t strides[max_batch_dims + 2] = {};
    bool fits = missing >= 0;
    for (int axis = std::max(missing, 0); fits && axis < shapes.ndim; ++axis) {
        const ptrdiff_t length = array.shape(axis - missing);
        fits = length == 1 || length == shapes.shape[axis];
        strides[axis] = length == 1 ? 0 : array.strides(axis - missing);
    }
    if (!fits)
        throw py::value_error(full_name(operand_names[which]) +
                              ": expected a shape that broadcasts to that of the result, " +
                              result_text(shapes) + ", got " + shape_text(array));
    ConstView& view = ops.operands[which] = {bytes_of(array), 0, 0};
    int axis = shapes.problem.batch.dims;
    std::copy_n(strides, axis, ops.batch_stride[which]);
    if (!shapes.drops_row) view.row_stride = strides[axis++];
    if (!shapes.drops_column) view.col_stride = strides[axis];
}

// The mask of a triangle: what is kept depends on i - j alone.
void attach_triangle(GivenEpilogue& epilogue, Triangle triangle, const Problem& p) {
    epilogue.post_ops.triangle = triangle;
    if (triangle == Triangle::none || p.m == 0 || p.n == 0) return;
    epilogue.diagonals.resize(static_cast<std::size_t>(p.m + p.n - 1));
    char* const main = epilogue.diagonals.data() + p.n - 1;
    const bool upper = triangle == Triangle::upper;
    std::fill(epilogue.diagonals.data(), main, upper);
    std::fill(main + 1, main + p.m, !upper);
    *main = true;
    epilogue.post_ops.operands[post_mask] = {main, 1, -1};
}

AfterSum parse_activation(const py::object& name, const Problem& problem) {
    if (name.is_none()) return AfterSum::none;
    check_semiring("activation", problem.semiring);
    if (std::string(py::str(name)) == "relu") return AfterSum::relu;
    if (!is_floating(problem.dtype))
        throw py::type_error("epilogue.activation: expected a dtype of floats for 'gelu', got " +
                             std::string(facts_of(problem.dtype).name));
    return AfterSum::gelu;
}

Triangle parse_triangle(const py::object& mask, bool symmetric, const Shapes& shapes) {
    const bool named = py::isinstance<py::str>(mask);
    if ((symmetric || named) && (shapes.drops_row || shapes.drops_column))
        throw py::value_error(std::string("epilogue.") + (symmetric ? "symmetric" : "mask") +
                              ": expected matrices a and b for a triangle, got a vector");
    if (symmetric && (shapes.problem.m != shapes.problem.n))
        throw py::value_error("epilogue.symmetric: expected a square result, got shape " +
                              result_text(shapes));
    if (symmetric) return Triangle::symmetric;
    if (!named) return Triangle::none;
    return std::string(py::str(mask)) == "lower" ? Triangle::lower : Triangle::upper;
}

}  // namespace

bool is_epilogue(PyObject* given) {
    if (given == Py_None) return false;
    if (!py::isinstance(given, py::module_::import("tropical.epilogue").attr("Epilogue")))
        throw py::type_error("epilogue: expected a tropical.Epilogue or None, got " +
                             std::string(py::repr(py::handle(given))));
    return true;
}

std::unique_ptr<GivenEpilogue> parse_epilogue(PyObject* given, const Shapes& shapes,
                                              const py::dtype& dtype) {
    if (!is_epilogue(given)) return {};
    const py::handle epilogue(given);
    const Problem& problem = shapes.problem;
    auto parsed = std::make_unique<GivenEpilogue>();
    BatchPostOps& ops = parsed->post_ops;
    char one[8];
    constants(problem.semiring, problem.dtype, ops.zero, one);
    ops.activation = parse_activation(epilogue.attr("activation"), problem);
    const py::object mask = epilogue.attr("mask");
    attach_triangle(
        *parsed, parse_triangle(mask, py::cast<bool>(epilogue.attr("symmetric")), shapes), problem);
    for (int which = 0; which < post_operand_count; ++which) {
        const char* const name = operand_names[which];
        const py::object value = epilogue.attr(name);
        const bool is_mask = which == post_mask;
        if (value.is_none() || (is_mask && py::isinstance<py::str>(value))) continue;
        if (!is_mask) check_semiring(name, problem.semiring);
        parsed->arrays[which] =
            is_mask ? as_mask(value.ptr(), full_name(name))
                    : in_dtype(value.ptr(), full_name(name), dtype, problem.semiring);
        parsed->given[which] = true;
        attach(ops, which, parsed->arrays[which], shapes);
    }
    return parsed;
}

void widen(GivenEpilogue& epilogue, const Shapes& shapes) {
    for (int which = 0; which < post_mask; ++which) {
        if (!epilogue.given[which]) continue;
        py::array& array = epilogue.arrays[which];
        array = array.attr("astype")("float32");
        attach(epilogue.post_ops, which, array, shapes);
    }
}

}  // namespace tropical
