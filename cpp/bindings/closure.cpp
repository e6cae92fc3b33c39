#include "closure.hpp"

#include "../closure.hpp"
#include "../scalar.hpp"
#include "arrays.hpp"
#include "gil.hpp"

namespace tropical {
namespace {

Stars stars_of(const py::array& a, int semiring) {
    const py::ssize_t last = a.ndim() - 1;
    if (last < 1 || a.shape(last) != a.shape(last - 1) || a.shape(last) > star_size)
        throw py::value_error("star: a has shape " + shape_text(a) +
                              ", (..., n, n) with n at most " + std::to_string(star_size) +
                              " is wanted");
    if (!a.writeable()) throw py::value_error("star: a is read-only");
    Stars stars{semiring, parse_dtype(a.dtype(), semiring), a.shape(last), {}, {}};
    stars.a = {static_cast<char*>(const_cast<void*>(a.data())), a.strides(last - 1),
               a.strides(last)};
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
}

}  // namespace tropical
