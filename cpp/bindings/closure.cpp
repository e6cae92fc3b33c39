#include "closure.hpp"

#include <algorithm>

#include "../closure.hpp"
#include "../scalar.hpp"
#include "call.hpp"
#include "gil.hpp"

namespace tropical {
namespace {

View matrix_view(const py::array& x) {
    const py::ssize_t last = x.ndim() - 1;
    return {static_cast<char*>(const_cast<void*>(x.data())), x.strides(last - 1), x.strides(last)};
}

// The vertices before the last ones of paths: int32, of the shape of a.
py::array check_before(const py::object& before, const py::array& a) {
    const py::array array = to_array(before.ptr(), "before");
    if (!array.dtype().equal(py::dtype::of<std::int32_t>()))
        throw py::type_error("before: must be of int32, is of " +
                             std::string(py::str(array.dtype())));
    if (array.ndim() != a.ndim() || !std::equal(a.shape(), a.shape() + a.ndim(), array.shape()))
        throw py::value_error("before: has shape " + shape_text(array) + ", a has shape " +
                              shape_text(a));
    check_writeable(array, "before");
    return array;
}

Stars stars_of(const py::array& a, int semiring) {
    const py::ssize_t last = a.ndim() - 1;
    if (last < 1 || a.shape(last) != a.shape(last - 1) || a.shape(last) > star_size)
        throw py::value_error("star: a has shape " + shape_text(a) +
                              ", (..., n, n) with n at most " + std::to_string(star_size) +
                              " is wanted");
    check_writeable(a, "a");
    Stars stars{semiring, parse_dtype(a.dtype(), semiring), a.shape(last), matrix_view(a), {}};
    Batch& batch = stars.batch;
    for (; batch.dims < last - 1; ++batch.dims) {
        batch.shape[batch.dims] = a.shape(batch.dims);
        batch.c_stride[batch.dims] = a.strides(batch.dims);
        batch.items *= batch.shape[batch.dims];
    }
    return stars;
}

void star(const py::array& a, const py::object& semiring, const py::object& threads) {
    const int ring = parse_semiring(semiring.ptr());
    const Choice choice = choose({}, parse_threads(threads.ptr()));
    const Stars stars = stars_of(a, ring);
    if (!choice.isa->table->sets[ring][static_cast<int>(stars.dtype)].star)
        throw py::value_error("star: " + std::string(semiring_name(ring)) +
                              " is not idempotent, its star is a series");
    without_gil([&] { compute_stars(stars, *choice.isa, choice.threads); });
}

void refuse_overlap(const char* target, const py::array& array,
                    std::initializer_list<const py::array*> operands) {
    for (const py::array* const operand : operands)
        if (may_overlap(array, *operand))
            throw py::value_error(target + std::string(" overlaps an operand"));
}

// All vertices of block rows a[first:first+n, first:first+n] as stops of the paths in a's n rows.
void eliminate_rows(const py::array& a, const py::object& semiring, const py::array& before,
                    py::ssize_t first) {
    const int ring = parse_semiring(semiring.ptr());
    if (!is_selective(ring)) throw py::value_error("eliminate: semiring is not selective");
    if (a.ndim() != 2 || a.shape(0) > star_size || first < 0 || first > a.shape(1) - a.shape(0))
        throw py::value_error("eliminate: a has shape " + shape_text(a) + ", first is " +
                              std::to_string(first));
    check_writeable(a, "a");
    const py::array vertices = check_before(before, a);
    refuse_overlap("before", vertices, {&a});
    const Choice choice = choose({}, 0);
    const BlockRow row{ring,           parse_dtype(a.dtype(), ring), a.shape(0), a.shape(1), first,
                       matrix_view(a), matrix_view(vertices)};
    without_gil([&] { eliminate(row, *choice.isa, choice.threads); });
}

// out = out (+) a (x) b, and where that is better before[i, j] = lookup[p, j].
void relax(const py::array& a, const py::array& b, const py::object& semiring, const py::array& out,
           const py::array& before, const py::array& lookup) {
    Shapes shapes{};
    Problem& problem = shapes.problem;
    problem.semiring = parse_semiring(semiring.ptr());
    if (!is_selective(problem.semiring)) throw py::value_error("relax: semiring is not selective");
    const Operands operands = take_operands(a.ptr(), b.ptr(), problem.semiring);
    broadcast_shapes(operands, shapes);
    const py::array c = check_out(out.ptr(), shapes, operands.a.dtype());
    if (out.ndim() != 2 || b.ndim() != 2) throw py::value_error("relax: matrices are wanted");
    attach_result(shapes, c);
    const py::array vertices = check_before(before, out), table = check_before(lookup, b);
    refuse_overlap("out", c, {&a, &b, &vertices, &table});
    refuse_overlap("before", vertices, {&a, &b, &table});
    if (problem.k == 0) return;
    problem.accumulate = true;
    problem.index = matrix_view(vertices);
    const View view = matrix_view(table);
    problem.lookup = {view.data, view.row_stride, view.col_stride};
    Choice choice = choose({}, 0);
    if (choice.kernel && *choice.kernel < KernelKind::direct) choice.kernel = {};
    run_in(Py_None, problem, choice);
}

}  // namespace

void bind_closure(py::module_& module) {
    module.attr("STAR_SIZE") = star_size;
    module.def("star", star, py::arg("a").noconvert(), py::arg("semiring"), py::kw_only(),
               py::arg("threads") = py::none(),
               R"(Replace each n x n matrix of a batch by its Kleene star, n at most STAR_SIZE.

Parameters
----------
a : ndarray, (..., n, n)
    Writeable, native, of any strides and a dtype of the semiring; without NaN.
semiring : str or Semiring
    Any but plustimes and logplus.
threads : int, optional
    As for `tropical.gemm`.

Raises
------
TypeError, ValueError
    If the dtype, shape or semiring is another; `a` is as it was then.)");
    module.def(
        "eliminate", eliminate_rows, py::arg("a").noconvert(), py::arg("semiring"),
        py::arg("before").noconvert(), py::arg("first"),
        R"(Take the paths through the vertices first, first + 1, ... of which `a` is the rows.

a: (n, columns), rows first to first + n of a matrix, n at most STAR_SIZE: a[i] = a[i] (+)
a[i, first + k] (x) a[k] for all k, then i != k. before: of the same shape, int32: for each (i, j) the
vertex before j on the path of a[i, j]; kept so. Neither holds a NaN, nor overlaps the other.)");
    module.def(
        "relax", relax, py::arg("a"), py::arg("b"), py::arg("semiring"), py::arg("out").noconvert(),
        py::arg("before").noconvert(), py::arg("lookup").noconvert(),
        R"(Compute ``out = out (+) a (x) b``, and where it changed ``before[i, j] = lookup[p, j]``.

p is the first that attains the optimum. out: (m, n), before: (m, n) of int32, lookup: (k, n) of
int32; out and before overlap nothing. out holds no NaN.)");
}

}  // namespace tropical
