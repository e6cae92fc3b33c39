// NumPy arrays: arguments as arrays of one dtype, their memory as views, and what must hold before
// an array is written to.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "bindings/options.hpp"
#include "runtime/array.hpp"

namespace tropical {

// numpy.asarray(argument), of numpy.ndarray itself: the methods of a subclass may not be trusted.
// Raises the errors of tropical.arrays.unmasked.
py::array to_array(PyObject* object, const char* name);

// An argument that NumPy converts to an array of T in C order. An error of the conversion, such as
// MemoryError, is NumPy's: for py::array_t alone, pybind11 says that the type is wrong.
template <class T>
struct Converted : py::array_t<T, py::array::c_style | py::array::forcecast> {
    using py::array_t<T, py::array::c_style | py::array::forcecast>::array_t;
};

// An argument and the name of its parameter.
struct Named {
    const char* name;
    py::array* array;
};
// For messages, such as "a has dtype int32, b has dtype float32".
std::string dtypes_text(std::span<const Named> operands);
// The native dtype to which NumPy promotes the operands. Throws TypeError if there is none.
py::dtype common_dtype(const char* function, std::span<const Named> operands);
// `x` in another dtype, as an array without a copy where `x` has it: in which the zero and the one
// of `x` are those of the semiring, if the semiring has both dtypes.
py::array promoted(const py::array& x, const py::dtype& dtype, int semiring);
// Copies the operands that have another dtype; the semiring's zero and one stay zero and one.
void convert(std::span<const Named> operands, const py::dtype& dtype, int semiring);

// float32 or float64, if `x` has one of them and is native. Throws TypeError if not.
DType float_dtype(const py::array& x, const char* name);

// Throws TypeError if `x` has another dtype. like: the name of the array that has this dtype.
void check_dtype(const py::array& x, const char* name, const py::dtype& dtype,
                 const char* like = nullptr);

// For messages, such as "(2, 3)".
std::string shape_text(const py::array& array);

// Whether the elements lie one after the other in C order, each where its type may lie.
bool is_plain(const py::array& x);

// The memory of an array, as the views of the core want it: also that of an operand, which the core
// only reads.
inline char* bytes_of(const py::array& array) {
    return static_cast<char*>(const_cast<void*>(array.data()));
}

// The last two axes of an array as a matrix: a View or a ConstView.
template <class AnyView = View>
AnyView matrix_view(const py::array& array) {
    const py::ssize_t last = array.ndim() - 1;
    return {.data = bytes_of(array),
            .row_stride = array.strides(last - 1),
            .col_stride = array.strides(last)};
}

// pybind11's own copy of values does not look whether NumPy had the memory.
template <class T>
py::array_t<T> array_of(const Array<T>& values) {
    py::array_t<T> array(values.length());
    std::copy(values.begin(), values.end(), array.mutable_data());
    return array;
}

// Throws ValueError if the array is read-only, or if two of its elements share memory.
void check_writeable(const py::array& array, const char* name);
// Whether an element of x and one of y share memory; true as well where that takes long to find
// out.
bool may_overlap(const py::array& x, const py::array& y);

}  // namespace tropical

template <class T>
struct pybind11::detail::pyobject_caster<tropical::Converted<T>> {
    PYBIND11_TYPE_CASTER(tropical::Converted<T>, handle_type_name<array_t<T>>::name);
    bool load(handle argument, bool) {
        value = tropical::Converted<T>(reinterpret_borrow<object>(argument));
        return true;
    }
};
