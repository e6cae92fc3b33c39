// Kleene stars of matrices that fit L2, and the steps of a large one that keep predecessors.
#include <algorithm>
#include <span>
#include <string>

#include "bindings/call.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "gemm.hpp"
#include "graph/closure/stars.hpp"

namespace tropical {
namespace {

// An int32 array of the shape of `like`. `like` is the argument `like_name`.
py::array check_vertices(const py::object& given, const char* name, const py::array& like,
                         const char* like_name) {
    const py::array array = to_array(given.ptr(), name);
    check_dtype(array, name, py::dtype::of<std::int32_t>());
    if (array.ndim() != like.ndim() ||
        !std::equal(like.shape(), like.shape() + like.ndim(), array.shape()))
        throw py::value_error(std::string(name) + ": expected shape " + shape_text(like) + ", as " +
                              like_name + " has, got " + shape_text(array));
    return array;
}

Stars stars_of(const py::array& a, int semiring) {
    const py::ssize_t last = a.ndim() - 1;
    if (last < 1 || a.shape(last) != a.shape(last - 1) || a.shape(last) > most_star_size)
        throw py::value_error("a: expected shape (..., n, n) with n <= " +
                              std::to_string(most_star_size) + ", got " + shape_text(a));
    check_writeable(a, "a");
    const ElementType type = parse_element_type(a.dtype(), semiring);
    Stars stars{.semiring = semiring,
                .dtype = type.dtype,
                .n = a.shape(last),
                .a = matrix_view(a),
                .batch = {},
                .storage = type.storage};
    for (py::ssize_t axis = 0; axis < last - 1; ++axis)
        add_axis(stars.batch, {.length = a.shape(axis), .c = a.strides(axis)});
    return stars;
}

bool star(const py::array& a, const py::object& semiring, const py::object& threads) {
    const int ring = parse_semiring(semiring.ptr());
    const Choice choice = choose({}, parse_threads(threads.ptr()));
    const Stars stars = stars_of(a, ring);
    if (!choice.isa->table->sets[ring][static_cast<int>(stars.dtype)].star)
        throw py::value_error(std::string("semiring: expected an idempotent one, got ") +
                              facts_of(ring).name);
    use_tuning();
    bool has_star = true;
    without_gil([&] { has_star = compute_stars(stars, choice, gemm); });
    return has_star;
}

void refuse_overlap(const char* name, const py::array& array, std::span<const Named> others) {
    for (const Named& other : others)
        if (may_overlap(array, *other.array))
            throw py::value_error(std::string(name) + ": expected memory apart from that of " +
                                  other.name);
}

void eliminate_rows(py::array a, const py::object& semiring, const py::object& before,
                    py::ssize_t first) {
    const int ring = parse_selective(semiring.ptr());
    if (a.ndim() != 2 || a.shape(0) > star_size)
        throw py::value_error("a: expected shape (n, columns) with n <= " +
                              std::to_string(star_size) + ", got " + shape_text(a));
    if (first < 0 || first > a.shape(1) - a.shape(0))
        throw py::value_error(
            "first: expected 0 to columns - n = " + std::to_string(a.shape(1) - a.shape(0)) +
            ", got " + std::to_string(first));
    check_writeable(a, "a");
    const py::array vertices = check_vertices(before, "before", a, "a");
    check_writeable(vertices, "before");
    const Named operands[] = {{"a", &a}};
    refuse_overlap("before", vertices, operands);
    const Choice choice = choose({}, 0);
    const BlockRow row{.semiring = ring,
                       .dtype = parse_dtype(a.dtype(), ring),
                       .n = a.shape(0),
                       .columns = a.shape(1),
                       .first = first,
                       .a = matrix_view(a),
                       .before = matrix_view(vertices)};
    without_gil([&] { eliminate(row, *choice.isa, choice.threads); });
}

void relax(py::array a, py::array b, const py::object& semiring, const py::object& out,
           const py::object& before, const py::object& lookup) {
    Shapes shapes{};
    Problem& problem = shapes.problem;
    problem.semiring = parse_selective(semiring.ptr());
    const Operands operands = take_operands(a.ptr(), b.ptr(), problem.semiring);
    parse_dtype(operands.a.dtype(), problem.semiring);  // no matrix may be stored in another type
    broadcast_shapes(operands, shapes);
    if (shapes.ndim != 2 || a.ndim() != 2 || b.ndim() != 2)
        throw py::value_error("relax: expected matrices, got a of shape " + shape_text(a) +
                              ", b of shape " + shape_text(b));
    const py::array c = check_out(out.ptr(), "out", shapes, operands.a.dtype());
    attach_result(shapes, c);
    py::array vertices = check_vertices(before, "before", c, "out"),
              table = check_vertices(lookup, "lookup", b, "b");
    check_writeable(vertices, "before");
    const Named others[] = {{"a", &a}, {"b", &b}, {"lookup", &table}, {"before", &vertices}};
    refuse_overlap("out", c, others);
    refuse_overlap("before", vertices, std::span(others).first(3));
    if (problem.k == 0) return;
    problem.accumulate = true;
    problem.attained = {.index = matrix_view(vertices), .lookup = matrix_view<ConstView>(table)};
    Choice choice = choose({}, 0);
    if (choice.kernel && *choice.kernel < KernelKind::direct) choice.kernel = {};
    run_in(Py_None, problem, choice);
}

constexpr const char* star_text =
    R"(Replace each n x n matrix of a batch by its Kleene star, for n up to MOST_STAR_SIZE.

Parameters
----------
a : ndarray, (..., n, n)
    Writeable, with any strides, native, of a dtype that the semiring has. It holds no NaN. The star
    of matrices of float16 and bfloat16 is computed in float32 and rounded once.
semiring : str or Semiring
    An idempotent semiring: any but plustimes and logplus.
threads : int, optional
    As for `tropical.gemm`.

Returns
-------
bool
    False if a matrix has no star: an element of its diagonal is then better than one.

Raises
------
TypeError, ValueError
    If the dtype, the shape or the semiring is wrong; `a` is then unchanged.
MemoryError
    If there is no memory for the products of halves; some matrices are then unchanged.)";

constexpr const char* eliminate_text =
    R"(Add the paths through the vertices first, ..., first + n - 1, whose rows `a` holds.

For k = 0, ..., n - 1 and every i != k: ``a[i] = a[i] (+) a[i, first + k] (x) a[k]``. Where a[i, j]
changes, ``before[i, j] = before[k, j]``.

Parameters
----------
a : ndarray, (n, columns)
    Rows first to first + n of a matrix, n at most STAR_SIZE, without NaN.
semiring : str or Semiring
    A semiring whose (+) is max or min.
before : ndarray of int32, (n, columns)
    The vertex before j on the path of a[i, j]. It shares no memory with `a`.
first : int
    The number of the first row.)";

constexpr const char* relax_text =
    R"(Compute ``out = out (+) a (x) b``; where `out` changes, ``before[i, j] = lookup[p, j]``.

p is the first index for which ``a[i, p] (x) b[p, j]`` attains the new ``out[i, j]``.

Parameters
----------
a : ndarray, (m, k)
    Left operand.
b : ndarray, (k, n)
    Right operand.
semiring : str or Semiring
    A semiring whose (+) is max or min.
out : ndarray, (m, n)
    Without NaN. It shares no memory with another argument.
before : ndarray of int32, (m, n)
    It shares no memory with another argument.
lookup : ndarray of int32, (k, n)
    The values for `before`.)";

}  // namespace

void bind_closure(py::module_& module) {
    using py::arg;
    module.attr("STAR_SIZE") = star_size;
    module.attr("MOST_STAR_SIZE") = most_star_size;
    module.def("star", star, arg("a").noconvert(), arg("semiring"), py::kw_only(),
               arg("threads") = py::none(), star_text);
    module.def("eliminate", eliminate_rows, arg("a").noconvert(), arg("semiring"),
               arg("before").noconvert(), arg("first"), eliminate_text);
    module.def("relax", relax, arg("a"), arg("b"), arg("semiring"), arg("out").noconvert(),
               arg("before").noconvert(), arg("lookup").noconvert(), relax_text);
}

}  // namespace tropical
