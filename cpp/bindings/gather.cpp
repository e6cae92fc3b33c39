// Products with a matrix whose elements lie at sums of two offsets, for tropical.autograd.
#include <algorithm>
#include <string>

#include "bindings/call.hpp"
#include "bindings/module.hpp"

namespace tropical {
namespace {

using IndexArray = py::array_t<py::ssize_t, py::array::c_style>;

void check_plain(const py::array& x, const char* name) {
    if (!is_plain(x)) throw py::value_error(std::string(name) + ": expected an array in C order");
}

void check_like(const py::array& x, const char* name, const py::array& a) {
    check_dtype(x, name, a.dtype(), "a");
    check_plain(x, name);
}

void check_length(const py::array& x, const char* name, py::ssize_t n) {
    if (x.ndim() != 1 || x.shape(0) != n)
        throw py::value_error(std::string(name) + ": expected (" + std::to_string(n) + ",), got " +
                              shape_text(x));
}

// Throws unless every element is within the source.
void check_offsets(const IndexArray& rows, const IndexArray& columns, const py::array& source) {
    const auto [first_row, last_row] =
        std::minmax_element(rows.data(), rows.data() + rows.shape(0));
    const auto [first_column, last_column] =
        std::minmax_element(columns.data(), columns.data() + columns.shape(0));
    const ptrdiff_t most = source.shape(0) - 1;
    const bool fits = *first_row >= 0 && *first_column >= 0 && *last_row <= most &&
                      *last_column <= most - *last_row;
    if (!fits)
        throw py::value_error("rows, columns: expected offsets from 0 to " + std::to_string(most) +
                              " in sum, got up to " + std::to_string(*last_row) + " and " +
                              std::to_string(*last_column));
}

// False where the context chooses another kernel than the packed one. Windows are read in place,
// not packed, so that there are no pieces of bfloat16.
bool gather_product(const py::array& a, const py::array& source, const IndexArray& rows,
                    const IndexArray& columns, const py::array& out) {
    Problem problem{};
    problem.semiring = number_of<PlusTimes>;
    problem.dtype = float_dtype(a, "a");
    if (a.ndim() != 2) throw py::value_error("a: expected (m, k), got " + shape_text(a));
    if (source.ndim() != 1)
        throw py::value_error("source: expected (n,), got " + shape_text(source));
    check_like(source, "source", a);
    check_like(out, "out", a);
    check_length(rows, "rows", a.shape(1));
    if (columns.ndim() != 1)
        throw py::value_error("columns: expected (n,), got " + shape_text(columns));
    if (out.ndim() != 2 || out.shape(0) != a.shape(0) || out.shape(1) != columns.shape(0))
        throw py::value_error("out: expected (" + std::to_string(a.shape(0)) + ", " +
                              std::to_string(columns.shape(0)) + "), got " + shape_text(out));
    check_writeable(out, "out");
    check_plain(rows, "rows");
    check_plain(columns, "columns");
    if (rows.size() && columns.size()) check_offsets(rows, columns, source);
    Choice choice = choose({}, 0);
    choice.pieces = 0;
    if (choice.kernel.value_or(KernelKind::packed) != KernelKind::packed) return false;
    problem.m = a.shape(0);
    problem.n = columns.shape(0);
    problem.k = a.shape(1);
    problem.a = matrix_view<ConstView>(a);
    problem.b = {.data = bytes_of(source), .row_stride = 0, .col_stride = 0};
    problem.c = matrix_view(out);
    problem.offsets = {rows.data(), columns.data(), source.shape(0)};
    run_in(Py_None, problem, choice);
    return true;
}

}  // namespace

void bind_gather(py::module_& module) {
    using py::arg;
    module.def(
        "gather_product", gather_product, arg("a").noconvert(), arg("source").noconvert(),
        arg("rows").noconvert(), arg("columns").noconvert(), arg("out").noconvert(),
        "Write the product of `a`, (m, k), and B over (+, x) into `out`, (m, n), with B[p, "
        "j] = source[rows[p] + columns[j]]: `rows` (k,), `columns` (n,), of intp. Arrays "
        "of numbers are of one dtype, float32 or float64. `source` and `out` are in C order "
        "and share no memory. Return False, and write nothing, if `tropical.options` chooses "
        "another kernel than the packed one.");
}

}  // namespace tropical
