// Layer normalization and its gradients, for tropical.autograd.
#include "training/layer_norm.hpp"

#include <string>

#include "bindings/arrays.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"

namespace tropical {
namespace {

// An array in C order of x's dtype and of this shape; n < 0: one axis of m elements.
char* plain(const py::array& array, const char* name, const py::array& x, py::ssize_t m,
            py::ssize_t n = -1) {
    const std::string prefix = std::string(name) + ": expected ";
    const bool fits = n < 0 ? array.ndim() == 1 && array.shape(0) == m
                            : array.ndim() == 2 && array.shape(0) == m && array.shape(1) == n;
    if (!fits)
        throw py::value_error(prefix + "(" + std::to_string(m) + "," +
                              (n < 0 ? "" : " " + std::to_string(n)) + "), got " +
                              shape_text(array));
    check_dtype(array, name, x.dtype(), "x");
    if (!is_plain(array)) throw py::value_error(prefix + "an array in C order");
    return bytes_of(array);
}

// The rows of x; statistics: (2, m), the mean and the scale of each.
NormRows rows_of(const py::array& x, const py::array& statistics) {
    if (x.ndim() != 2) throw py::value_error("x: expected (m, n), got " + shape_text(x));
    NormRows rows{};
    rows.dtype = float_dtype(x, "x");
    rows.m = x.shape(0);
    rows.n = x.shape(1);
    rows.x = plain(x, "x", x, rows.m, rows.n);
    rows.mean = plain(statistics, "statistics", x, 2, rows.m);
    rows.scale = rows.mean + rows.m * x.itemsize();
    return rows;
}

// Calls work(threads), without the GIL where that takes long.
template <class Work>
void run(const NormRows& rows, const Work& work) {
    if (rows.m * rows.n < elements_worth_the_gil) return work(1);
    const int threads = choose({}, 0).threads;
    without_gil([&] { work(threads); });
}

void layer_norm(const py::array& x, const py::array& weight, const py::array& bias, double eps,
                const py::array& out, const py::array& statistics) {
    NormRows rows = rows_of(x, statistics);
    rows.weight = plain(weight, "weight", x, rows.n);
    const char* const shift = plain(bias, "bias", x, rows.n);
    char* const y = plain(out, "out", x, rows.m, rows.n);
    check_writeable(out, "out");
    check_writeable(statistics, "statistics");
    run(rows, [&](int threads) { normalize(rows, eps, shift, y, threads); });
}

void layer_norm_gradient(const py::array& g, const py::array& x, const py::array& weight,
                         const py::array& statistics, const py::array& out) {
    NormRows rows = rows_of(x, statistics);
    rows.weight = plain(weight, "weight", x, rows.n);
    const char* const gradient = plain(g, "g", x, rows.m, rows.n);
    char* const result = plain(out, "out", x, rows.m, rows.n);
    check_writeable(out, "out");
    run(rows, [&](int threads) { gradient_of_x(rows, gradient, result, threads); });
}

void layer_norm_weight_gradient(const py::array& g, const py::array& x, const py::array& statistics,
                                const py::array& out) {
    const NormRows rows = rows_of(x, statistics);
    const char* const gradient = plain(g, "g", x, rows.m, rows.n);
    char* const result = plain(out, "out", x, rows.n);
    check_writeable(out, "out");
    run(rows, [&](int threads) { gradient_of_weight(rows, gradient, result, threads); });
}

}  // namespace

void bind_layer_norm(py::module_& module) {
    using py::arg;
    module.def(
        "layer_norm", layer_norm, arg("x").noconvert(), arg("weight").noconvert(),
        arg("bias").noconvert(), arg("eps"), arg("out").noconvert(), arg("statistics").noconvert(),
        "Normalize the rows of `x`, (m, n), into `out`; their mean and 1 / sqrt(variance + "
        "eps) into `statistics`, (2, m). All arrays are of one dtype, float32 or float64, in "
        "C order; `out` and `statistics` share no memory with others.");
    module.def("layer_norm_gradient", layer_norm_gradient, arg("g").noconvert(),
               arg("x").noconvert(), arg("weight").noconvert(), arg("statistics").noconvert(),
               arg("out").noconvert(),
               "The gradient of `x`, (m, n), into `out`; `statistics` are those of `layer_norm`.");
    module.def("layer_norm_weight_gradient", layer_norm_weight_gradient, arg("g").noconvert(),
               arg("x").noconvert(), arg("statistics").noconvert(), arg("out").noconvert(),
               "The gradient of `weight`, (n,), into `out`.");
}

}  // namespace tropical
