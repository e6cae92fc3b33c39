#include "bindings/arrays.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bindings/gil.hpp"
#include "bindings/promotion.hpp"

namespace tropical {
namespace {

// The addresses [low, high) that the elements of an array lie in.
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

// Whether two elements of the array may share memory: whether an axis, in the order of strides,
// steps less far than the axes before it reach.
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

// Where elements lie modulo a number of bytes: in [low, low + length), if the axes whose strides
// are its multiples do not count.
struct Residues {
    std::uintptr_t low;
    ptrdiff_t length;
};

Residues residues(const py::array& array, ptrdiff_t modulus) {
    Residues all{reinterpret_cast<std::uintptr_t>(array.data()),
                 static_cast<ptrdiff_t>(array.itemsize())};
    for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
        const ptrdiff_t reach = (array.shape(axis) - 1) * array.strides(axis);
        if (array.strides(axis) % modulus == 0) continue;
        if (reach < 0) all.low += static_cast<std::uintptr_t>(reach);
        all.length += std::abs(reach);
    }
    return all;
}

// Whether the arrays lie apart modulo the stride of an axis of x, as other columns of one array do,
// and every second column.
bool are_apart(const py::array& x, const py::array& y) {
    for (py::ssize_t axis = 0; axis < x.ndim(); ++axis) {
        const ptrdiff_t modulus = std::abs(x.strides(axis));
        if (x.shape(axis) == 1 || modulus == 0) continue;
        const Residues a = residues(x, modulus), b = residues(y, modulus);
        const auto distance = static_cast<ptrdiff_t>(b.low - a.low) % modulus;
        const ptrdiff_t from_a_to_b = distance < 0 ? distance + modulus : distance;
        if (from_a_to_b >= a.length && from_a_to_b + b.length <= modulus) return true;
    }
    return false;
}

// NumPy looks for two elements in the same place, by equations in integers: 1,000 steps at most,
// which take some microseconds.
bool may_share_elements(const py::array& x, const py::array& y) {
    constexpr int most_steps = 1000;
    try {
        const py::object shares = py::module_::import("numpy").attr("shares_memory");
        return py::cast<bool>(shares(x, y, py::arg("max_work") = most_steps));
    } catch (py::error_already_set& error) {  // too hard to find out, or too large for its integers
        if (error.matches(PyExc_RuntimeError) || error.matches(PyExc_OverflowError)) return true;
        throw;
    }
}

// `x`, whose dtype is `source`, as an array of `target`.
py::array promote_array(const py::array& x, DType source, DType target, int semiring) {
    const py::array from =
        x.attr("astype")(numpy_dtype(source), py::arg("order") = "C", py::arg("copy") = false);
    const py::array to(numpy_dtype(target),
                       std::vector<py::ssize_t>(x.shape(), x.shape() + x.ndim()));
    const Elements elements{
        .data = bytes_of(from), .stride = item_size(source), .count = from.size()};
    without_gil([&] { promote(semiring, source, elements, target, bytes_of(to)); });
    return to;
}

}  // namespace

py::array to_array(PyObject* object, const char* name) {
    if (Py_IS_TYPE(object, py::detail::npy_api::get().PyArray_Type_))
        return py::reinterpret_borrow<py::array>(object);
    return py::module_::import("tropical.arrays").attr("unmasked")(name, py::handle(object));
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

void convert(std::span<const Named> operands, const py::dtype& dtype, int semiring) {
    for (const auto& [name, array] : operands)
        if (!array->dtype().is(dtype)) *array = promoted(*array, dtype, semiring);
}

py::array promoted(const py::array& x, const py::dtype& dtype, int semiring) {
    const auto source = known_dtype(x.dtype().attr("newbyteorder")("="), semiring);
    if (source && known_storage(dtype, semiring))  // integers, by way of float32
        return promoted(x, numpy_dtype(id_of<Float32>), semiring).attr("astype")(dtype);
    const auto target = known_dtype(dtype, semiring);
    if (source && target && needs_promotion(semiring, *source, *target))
        return promote_array(x, *source, *target, semiring);
    return x.attr("astype")(dtype, py::arg("copy") = false);
}

std::string shape_text(const py::array& array) { return py::str(array.attr("shape")); }

DType float_dtype(const py::array& x, const char* name) {
    const py::dtype dtype = x.dtype();
    const py::ssize_t size = dtype.itemsize();
    if (dtype.kind() != 'f' || dtype.byteorder() != '=' || (size != 4 && size != 8))
        throw py::type_error(std::string(name) + ": expected dtype float32 or float64, got " +
                             std::string(py::str(dtype)));
    return size == 4 ? id_of<Float32> : id_of<Float64>;
}

void check_dtype(const py::array& x, const char* name, const py::dtype& dtype, const char* like) {
    const py::dtype given = x.dtype();
    if (given.is(dtype) || given.equal(dtype)) return;
    throw py::type_error(std::string(name) + ": expected dtype " + std::string(py::str(dtype)) +
                         (like ? ", as " + std::string(like) + " has" : "") + ", got " +
                         std::string(py::str(given)));
}

bool is_plain(const py::array& x) {
    return (x.flags() & py::array::c_style) &&
           (x.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_);
}

void check_writeable(const py::array& array, const char* name) {
    if (!array.writeable())
        throw py::value_error(std::string(name) +
                              ": expected a writeable array, got a read-only one");
    if (array.size() > 0 && overlaps_itself(array))
        throw py::value_error(name + (": expected elements that share no memory, got strides " +
                                      std::string(py::str(array.attr("strides")))));
}

bool may_overlap(const py::array& x, const py::array& y) {
    if (x.size() == 0 || y.size() == 0) return false;
    const Extent a = extent(x), b = extent(y);
    return a.low < b.high && b.low < a.high && !are_apart(x, y) && may_share_elements(x, y);
}

}  // namespace tropical
