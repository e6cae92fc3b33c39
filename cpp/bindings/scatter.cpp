// scatter: the sums that the gradient of an argmax needs.
#include "training/scatter.hpp"

#include <algorithm>
#include <string>

#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/shapes.hpp"

namespace tropical {
namespace {

[[noreturn]] void refuse_shapes(const py::array& out, const py::array& index, const py::array& g) {
    throw py::value_error("scatter: shapes do not fit: out has " + shape_text(out) +
                          ", index has " + shape_text(index) + ", g has " + shape_text(g));
}

DType parse_dtypes(const py::array& out, const py::array& index, const py::array& g) {
    const DType dtype = float_dtype(out, "out");
    check_dtype(g, "g", out.dtype(), "out");
    if (!index.dtype().equal(py::dtype::of<py::ssize_t>()))
        throw py::type_error("index: expected dtype intp, got " +
                             std::string(py::str(index.dtype())));
    return dtype;
}

// The batch has the axes of index. Along an axis that out lacks, or that has length 1 there, every
// item adds to the same part of out.
Batch batch_of(const py::array& out, const py::array& index, const py::array& g) {
    Batch batch;
    const py::ssize_t missing = index.ndim() - out.ndim();
    for (py::ssize_t axis = 0; axis < index.ndim() - 2; ++axis) {
        const py::ssize_t own = axis - missing;
        const py::ssize_t length = own < 0 ? 1 : out.shape(own);
        if (length != 1 && length != index.shape(axis)) refuse_shapes(out, index, g);
        add_axis(batch, {.length = index.shape(axis),
                         .b = g.strides(axis),
                         .c = length == 1 ? 0 : out.strides(own),
                         .index = index.strides(axis)});
    }
    return batch;
}

void scatter(const py::array& out, const py::array& index, const py::array& g, int axis) {
    if (axis != -1 && axis != -2)
        throw py::value_error("axis: expected -1 or -2, got " + std::to_string(axis));
    const DType dtype = parse_dtypes(out, index, g);
    check_writeable(out, "out");
    const py::ssize_t dims = index.ndim();
    if (dims < 2 || out.ndim() < 2 || out.ndim() > dims || g.ndim() != dims ||
        !std::equal(g.shape(), g.shape() + dims, index.shape()))
        refuse_shapes(out, index, g);
    const bool down = axis == -2;
    const py::ssize_t m = index.shape(dims - 2), n = index.shape(dims - 1);
    if (out.shape(out.ndim() - (down ? 1 : 2)) != (down ? n : m)) refuse_shapes(out, index, g);
    const py::ssize_t k = out.shape(out.ndim() - (down ? 2 : 1));
    const Scatter all{.dtype = dtype,
                      .down = down,
                      .m = m,
                      .n = n,
                      .k = k,
                      .g = matrix_view<ConstView>(g),
                      .index = matrix_view<ConstView>(index),
                      .out = matrix_view(out),
                      .batch = batch_of(out, index, g)};
    const int threads = choose({}, 0).threads;
    without_gil([&] { add_scattered(all, threads); });
}

constexpr const char* scatter_text =
    R"(Add each element of `g` to `out`, at the place along `axis` that `index` gives.

For axis -1: ``out[..., i, index[..., i, j]] += g[..., i, j]``. For axis -2:
``out[..., index[..., i, j], j] += g[..., i, j]``. An index that is out of range adds nothing.

Parameters
----------
out : ndarray, (..., m, k), or for axis -2 (..., k, n)
    Writeable, float32 or float64. If the batch of `index` has axes that `out` lacks or has with
    length 1, then `out` gets the sums over these axes.
index : ndarray of intp, (..., m, n)
    Places along `axis`.
g : ndarray, (..., m, n)
    The numbers to add, of the dtype of `out`. `g` and `out` share no memory.
axis : {-1, -2}
    The axis of `out` that `index` counts along.

Raises
------
TypeError, ValueError
    If a dtype, a shape or `axis` is wrong; `out` is then unchanged.)";

}  // namespace

void bind_scatter(py::module_& module) {
    module.def("scatter", scatter, py::arg("out").noconvert(), py::arg("index").noconvert(),
               py::arg("g").noconvert(), py::arg("axis"), scatter_text);
}

}  // namespace tropical
