// optimizer_step: what tropical.optim does to a parameter.
#include "training/optimizer.hpp"

#include <cfenv>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"

namespace tropical {
namespace {

// A step of fewer elements takes no longer than another thread waits for the GIL anyway.
constexpr ptrdiff_t worth_the_gil = 1 << 14;

Algorithm algorithm_named(const std::string& name) {
    std::string known;
    for (int i = 0; i < algorithm_count; ++i) {
        const auto algorithm = static_cast<Algorithm>(i);
        const char* const own = needs_of(algorithm).name;
        if (name == own) return algorithm;
        known += (i ? ", " : "") + std::string(own);
    }
    throw py::value_error("algorithm: expected one of " + known + ", got '" + name + "'");
}

void check_count(std::size_t count, int least, const char* name, const char* algorithm) {
    if (count < static_cast<std::size_t>(least))
        throw py::value_error(std::string(name) + ": expected " + std::to_string(least) + " for " +
                              algorithm + ", got " + std::to_string(count));
}

bool is_plain(const py::array& x) {
    return (x.flags() & py::array::c_style) &&
           (x.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_);
}

// An array that the step changes, of p's shape and dtype.
char* changing(const py::array& x, const py::array& p, const std::string& name) {
    check_writeable(x, name.c_str());
    if (!is_plain(x)) throw py::value_error(name + ": expected an array in C order");
    if (!x.dtype().equal(p.dtype()))
        throw py::type_error(name + ": expected dtype " + std::string(py::str(p.dtype())) +
                             ", as p has, got " + std::string(py::str(x.dtype())));
    if (x.size() != p.size())
        throw py::value_error(name + ": expected shape " + shape_text(p) + ", as p has, got " +
                              shape_text(x));
    return bytes_of(x);
}

// The gradient as an array like p, whose elements the step may read in its order.
py::array gradient_like(const py::array& p, const py::array& g) {
    if (g.size() != p.size())
        throw py::value_error("g: expected shape " + shape_text(p) + ", as p has, got " +
                              shape_text(g));
    const char *const own = bytes_of(p), *const begin = bytes_of(g);
    const bool apart = begin >= own + p.nbytes() || own >= begin + g.nbytes() || begin == own;
    if (g.dtype().equal(p.dtype()) && is_plain(g) && apart) return g;
    return py::array(g.attr("astype")(p.dtype(), py::arg("order") = "C"));
}

// Bits of an answer: the faults that numpy.errstate knows, in NumPy's order.
int faults_of(int exceptions) {
    return (exceptions & FE_DIVBYZERO ? 1 : 0) | (exceptions & FE_OVERFLOW ? 2 : 0) |
           (exceptions & FE_UNDERFLOW ? 4 : 0) | (exceptions & FE_INVALID ? 8 : 0);
}

int optimizer_step(const std::string& algorithm, const py::array& p, const py::array& g,
                   const py::tuple& states, double decay, const py::sequence& coefficients) {
    OptimizerStep step{};
    step.algorithm = algorithm_named(algorithm);
    const AlgorithmNeeds needs = needs_of(step.algorithm);
    check_count(states.size(), needs.states, "states", needs.name);
    check_count(coefficients.size(), needs.coefficients, "coefficients", needs.name);
    step.dtype = float_dtype(p, "p");
    step.count = p.size();
    step.p = changing(p, p, "p");
    for (int i = 0; i < needs.states; ++i)
        step.states[i] = changing(py::cast<py::array>(states[static_cast<std::size_t>(i)]), p,
                                  "states[" + std::to_string(i) + "]");
    for (int i = 0; i < needs.coefficients; ++i)
        step.coefficients[i] = py::cast<double>(coefficients[static_cast<std::size_t>(i)]);
    step.decay = decay;
    const py::array gradient = gradient_like(p, g);
    step.g = bytes_of(gradient);
    if (step.count < worth_the_gil) return faults_of(take_step(step, 1));
    const int threads = choose({}, 0).threads;
    int exceptions = 0;
    without_gil([&] { exceptions = take_step(step, threads); });
    return faults_of(exceptions);
}

constexpr const char* step_text =
    R"(Take a step of an optimizer in place, in one pass; see cpp/training/optimizer.hpp.

Parameters
----------
algorithm : {"sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "rmsprop"}
    The formula.
p : ndarray, any shape
    The parameter: writeable, in C order, float32 or float64.
g : ndarray, of the shape of p
    The gradient; copied if it has another dtype or order.
states : tuple of ndarray, of the shape and dtype of p
    As many as the formula has; writeable, in C order. They share no memory with p, g or each other.
decay : float
    ``decay * p`` is added to the gradient.
coefficients : sequence of float
    The numbers of the formula, in its order; further numbers are ignored.

Returns
-------
int
    The sum of 1 for a division by zero, 2 for an overflow, 4 for an underflow, and 8 for an invalid
    operation.

Raises
------
TypeError, ValueError
    If an argument does not fit; nothing is changed then.)";

}  // namespace

void bind_optimizer(py::module_& module) {
    using py::arg;
    module.def("optimizer_step", optimizer_step, arg("algorithm"), arg("p").noconvert(),
               arg("g").noconvert(), arg("states"), arg("decay"), arg("coefficients"), step_text);
}

}  // namespace tropical
