#include "scatter.hpp"

#include <algorithm>
#include <string>

#include "../scatter.hpp"
#include "arrays.hpp"
#include "gil.hpp"

namespace tropical {
namespace {

View view_of(const py::array& array) {
    const py::ssize_t last = array.ndim() - 1;
    return {static_cast<char*>(const_cast<void*>(array.data())), array.strides(last - 1),
            array.strides(last)};
}

ConstView const_view_of(const py::array& array) {
    const View view = view_of(array);
    return {view.data, view.row_stride, view.col_stride};
}

[[noreturn]] void refuse_shapes(const py::array& out, const py::array& index, const py::array& g) {
    throw py::value_error("scatter: shapes do not fit: out has " + shape_text(out) +
                          ", index has " + shape_text(index) + ", g has " + shape_text(g));
}

DType parse_dtypes(const py::array& out, const py::array& index, const py::array& g) {
    const bool is_float = out.dtype().is(py::dtype::of<float>());
    if (!is_float && !out.dtype().is(py::dtype::of<double>()))
        throw py::type_error("scatter: out has dtype " + std::string(py::str(out.dtype())) +
                             ", float32 or float64 is wanted");
    if (!g.dtype().is(out.dtype()) || !index.dtype().is(py::dtype::of<py::ssize_t>()))
        throw py::type_error("scatter: g and index have dtypes " + std::string(py::str(g.dtype())) +
                             " and " + std::string(py::str(index.dtype())) + ", out's and intp " +
                             "are wanted");
    return is_float ? DType::f32 : DType::f64;
}

// Of index's axes: an axis that out lacks, or has once, repeats it.
Batch batch_of(const py::array& out, const py::array& index, const py::array& g) {
    Batch batch;
    const py::ssize_t missing = index.ndim() - out.ndim();
    for (; batch.dims < index.ndim() - 2; ++batch.dims) {
        const py::ssize_t axis = batch.dims, own = axis - missing;
        const py::ssize_t length = own < 0 ? 1 : out.shape(own);
        if (length != 1 && length != index.shape(axis)) refuse_shapes(out, index, g);
        batch.shape[axis] = index.shape(axis);
        batch.b_stride[axis] = g.strides(axis);
        batch.index_stride[axis] = index.strides(axis);
        batch.c_stride[axis] = length == 1 ? 0 : out.strides(own);
        batch.items *= index.shape(axis);
    }
    return batch;
}

void scatter(const py::array& out, const py::array& index, const py::array& g, int axis) {
    if (axis != -1 && axis != -2)
        throw py::value_error("scatter: axis is -1 or -2, not " + std::to_string(axis));
    const DType dtype = parse_dtypes(out, index, g);
    if (!out.writeable()) throw py::value_error("scatter: out is read-only");
    const py::ssize_t dims = index.ndim();
    if (dims < 2 || out.ndim() < 2 || out.ndim() > dims || g.ndim() != dims ||
        !std::equal(g.shape(), g.shape() + dims, index.shape()))
        refuse_shapes(out, index, g);
    const bool down = axis == -2;
    const py::ssize_t m = index.shape(dims - 2), n = index.shape(dims - 1);
    if (out.shape(out.ndim() - (down ? 1 : 2)) != (down ? n : m)) refuse_shapes(out, index, g);
    const py::ssize_t k = out.shape(out.ndim() - (down ? 2 : 1));
    const Scatter all{dtype,
                      down,
                      m,
                      n,
                      k,
                      const_view_of(g),
                      const_view_of(index),
                      view_of(out),
                      batch_of(out, index, g)};
    const int threads = choose({}, 0).threads;
    without_gil([&] { add_scattered(all, threads); });
}

}  // namespace

void bind_scatter(py::module_& module) {
    module.def("scatter", scatter, py::arg("out").noconvert(), py::arg("index").noconvert(),
               py::arg("g").noconvert(), py::arg("axis"),
               R"(Add each element of `g` to `out`, at the place along `axis` that `index` names.

For axis -1 ``out[..., i, index[..., i, j]] += g[..., i, j]``, for axis -2
``out[..., index[..., i, j], j] += g[..., i, j]``; nothing where there is no such place.

Parameters
----------
out : ndarray, (..., m, k) or for axis -2 (..., k, n)
    Writeable, float32 or float64. What a batch repeats of it receives the sum over the batch.
index : ndarray of intp, (..., m, n)
    Which place.
g : ndarray, (..., m, n)
    Of the dtype of `out`, with which it shares no memory.
axis : {-1, -2}
    Of `out`.

Raises
------
TypeError, ValueError
    If a dtype, shape or axis is another; `out` is as it was then.)");
}

}  // namespace tropical
