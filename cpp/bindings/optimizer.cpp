// optimizer_step: what tropical.optim does to a parameter.
#include "training/optimizer.hpp"

#include <cfenv>
#include <cstring>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"

namespace tropical {
namespace {

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

[[noreturn]] void refuse(const std::string& name, const char* expected, const py::handle& got) {
    throw py::type_error(name + ": expected " + expected + ", got " + std::string(py::repr(got)));
}

// A list or a tuple of at least `least` objects, as a tuple.
py::tuple several(const py::object& given, int least, const char* name, const char* algorithm) {
    if (!py::isinstance<py::tuple>(given) && !py::isinstance<py::list>(given))
        refuse(name, "a tuple or a list", given);
    const py::tuple items(given);
    if (items.size() < static_cast<std::size_t>(least))
        throw py::value_error(std::string(name) + ": expected " + std::to_string(least) + " for " +
                              algorithm + ", got " + std::to_string(items.size()));
    return items;
}

std::string element(const char* name, int i) {
    return std::string(name) + '[' + std::to_string(i) + ']';
}

// No other object becomes an array: a step would change a copy.
py::array array_of(const py::handle& given, const std::string& name) {
    if (!py::isinstance<py::array>(given)) refuse(name, "an array", given);
    return py::reinterpret_borrow<py::array>(given);
}

double real_number(const py::handle& given, const std::string& name) {
    const double number = PyFloat_AsDouble(given.ptr());
    if (number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        refuse(name, "a number", given);
    }
    return number;
}

void check_shape(const py::array& x, const py::array& p, const std::string& name) {
    bool same = x.ndim() == p.ndim();
    for (py::ssize_t axis = 0; same && axis < p.ndim(); ++axis)
        same = x.shape(axis) == p.shape(axis);
    if (!same)
        throw py::value_error(name + ": expected shape " + shape_text(p) + ", as p has, got " +
                              shape_text(x));
}

// An array that the step changes, of p's shape and dtype.
char* changing(const py::array& x, const py::array& p, const std::string& name) {
    check_writeable(x, name.c_str());
    if (!is_plain(x)) throw py::value_error(name + ": expected an array in C order");
    check_dtype(x, name.c_str(), p.dtype(), "p");
    check_shape(x, p, name);
    return bytes_of(x);
}

// Throws ValueError if the memory of state `i` is also that of p or of an earlier state.
void check_apart(const OptimizerStep& step, int i, py::ssize_t bytes) {
    for (int j = -1; j < i; ++j) {
        const char *const other = j < 0 ? step.p : step.states[j], *const own = step.states[i];
        if (own < other + bytes && other < own + bytes)
            throw py::value_error(element("states", i) +
                                  ": expected memory of its own, got that of " +
                                  (j < 0 ? "p" : element("states", j)));
    }
}

// The gradient as an array like p, whose elements the step may read in its order.
py::array gradient_like(const py::array& p, const py::array& g) {
    check_shape(g, p, "g");
    if (std::strchr("cmMOSU", g.dtype().kind()))
        throw py::type_error("g: expected real numbers, got " + std::string(py::str(g.dtype())));
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

int optimizer_step(const std::string& algorithm, const py::object& parameter,
                   const py::object& gradient_of_p, const py::object& states,
                   const py::object& decay, const py::object& coefficients) {
    OptimizerStep step{};
    step.algorithm = algorithm_named(algorithm);
    const AlgorithmNeeds needs = needs_of(step.algorithm);
    const py::array p = array_of(parameter, "p"), g = array_of(gradient_of_p, "g");
    const py::tuple own = several(states, needs.states, "states", needs.name);
    const py::tuple factors = several(coefficients, needs.coefficients, "coefficients", needs.name);
    step.dtype = float_dtype(p, "p");
    step.count = p.size();
    step.p = changing(p, p, "p");
    for (int i = 0; i < needs.states; ++i) {
        const std::string name = element("states", i);
        step.states[i] = changing(array_of(own[static_cast<std::size_t>(i)], name), p, name);
        check_apart(step, i, p.nbytes());
    }
    for (int i = 0; i < needs.coefficients; ++i)
        step.coefficients[i] =
            real_number(factors[static_cast<std::size_t>(i)], element("coefficients", i));
    step.decay = real_number(decay, "decay");
    const py::array gradient = gradient_like(p, g);
    step.g = bytes_of(gradient);
    if (step.count < elements_worth_the_gil) return faults_of(take_step(step, 1));
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
states : tuple or list of ndarray, of the shape and dtype of p
    As many as the formula has; writeable, in C order. They share no memory with p, g or each other.
decay : float
    ``decay * p`` is added to the gradient.
coefficients : tuple or list of float
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
    module.def("optimizer_step", optimizer_step, arg("algorithm"), arg("p"), arg("g"),
               arg("states"), arg("decay"), arg("coefficients"), step_text);
}

}  // namespace tropical
