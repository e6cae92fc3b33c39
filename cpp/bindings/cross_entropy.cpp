// Cross entropy and its gradient, for tropical.autograd.
#include "training/cross_entropy.hpp"

#include <string>

#include "bindings/arrays.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"

namespace tropical {
namespace {

// Converted where they have another dtype; an unsigned number that int64 lacks becomes negative.
using Targets = Converted<std::int64_t>;

// The logits x, copied where rows do not lie one after the other; x lives as long as the result.
Logits logits_of(py::array& x, const Targets& targets) {
    if (x.ndim() != 2) throw py::value_error("x: expected (m, n), got " + shape_text(x));
    const DType dtype = float_dtype(x, "x");
    if (targets.ndim() != 1 || targets.shape(0) != x.shape(0))
        throw py::value_error("targets: expected (" + std::to_string(x.shape(0)) + ",), got " +
                              shape_text(targets));
    if (!is_plain(x)) x = py::array(x.attr("copy")("C"));
    return {dtype, x.shape(0), x.shape(1), bytes_of(x), bytes_of(targets)};
}

// Calls work(), without the GIL where that takes long.
template <class Work>
void run(const Logits& logits, const Work& work) {
    if (logits.m * logits.n < elements_worth_the_gil) return work();
    without_gil(work);
}

py::object sum_of_losses(py::array x, const Targets& targets) {
    const Logits logits = logits_of(x, targets);
    if (!have_classes(logits)) return py::none();
    const Isa& isa = *choose({}, 0).isa;
    double loss = 0;
    run(logits, [&] { loss = cross_entropy(logits, isa); });
    return py::float_(loss);
}

bool write_gradient(py::array x, const Targets& targets, double factor, const py::array& out) {
    const Logits logits = logits_of(x, targets);
    check_writeable(out, "out");
    if (out.ndim() != 2 || out.shape(0) != logits.m || out.shape(1) != logits.n)
        throw py::value_error("out: expected shape " + shape_text(x) + ", as x has, got " +
                              shape_text(out));
    check_dtype(out, "out", x.dtype(), "x");
    if (!is_plain(out)) throw py::value_error("out: expected an array in C order");
    if (!have_classes(logits)) return false;
    const Isa& isa = *choose({}, 0).isa;
    run(logits, [&] { cross_entropy_gradient(logits, isa, factor, bytes_of(out)); });
    return true;
}

}  // namespace

void bind_cross_entropy(py::module_& module) {
    using py::arg;
    module.def("cross_entropy", sum_of_losses, arg("x").noconvert(), arg("targets"),
               "The sum over the rows of `x`, (m, n), float32 or float64, of the cross entropy of "
               "softmax against `targets`, (m,) integers; None if one of them is no class.");
    module.def("cross_entropy_gradient", write_gradient, arg("x").noconvert(), arg("targets"),
               arg("factor"), arg("out").noconvert(),
               "The gradient of `x`, times `factor`, into `out`, like `x` and in C order, which "
               "shares no memory with it. False, and `out` stays, if a target is no class.");
}

}  // namespace tropical
