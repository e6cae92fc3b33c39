// tropical's layer act(x weight^T + bias): bias and activation are part of the product over (+, x).
#include "bindings/call.hpp"
#include "bindings/module.hpp"

namespace tropical {
namespace {

enum Argument {
    arg_x,
    arg_weight,
    arg_bias,
    arg_relu,
    arg_out,
    arg_threads,
    arg_kernel,
    arg_workspace,
    argument_count
};
constexpr std::string_view argument_names[argument_count] = {
    "x", "weight", "bias", "relu", "out", "threads", "kernel", "workspace"};
constexpr Signature signature{"linear", argument_names, 3, 2};

struct Layer {
    py::array x, weight;
    std::optional<py::array> bias;
    DType dtype;

    const py::array* bias_or_null() const { return bias ? &*bias : nullptr; }
};

DType float_type(const py::dtype& dtype, std::span<const Named> operands) {
    if (dtype.kind() == 'f' && dtype.itemsize() == 4) return id_of<Float32>;
    if (dtype.kind() == 'f' && dtype.itemsize() == 8) return id_of<Float64>;
    throw py::type_error("linear: expected dtype float32 or float64, got " +
                         std::string(py::str(dtype)) + ": " + dtypes_text(operands));
}

// Arrays of one native dtype. Copies an operand only to convert it.
Layer take_layer(const Arguments& given) {
    Layer layer{.x = to_array(given[arg_x], "x"),
                .weight = to_array(given[arg_weight], "weight"),
                .bias = {},
                .dtype = {}};
    if (given.or_none(arg_bias) != Py_None) layer.bias = to_array(given[arg_bias], "bias");
    const Named all[] = {
        {"x", &layer.x}, {"weight", &layer.weight}, {"bias", layer.bias ? &*layer.bias : nullptr}};
    const auto operands = std::span(all).first(layer.bias ? 3 : 2);
    const py::dtype common = common_dtype("linear", operands);
    layer.dtype = float_type(common, operands);
    convert(operands, common, number_of<PlusTimes>);
    return layer;
}

[[noreturn]] void refuse_shapes(const Layer& layer, const char* why) {
    throw py::value_error(std::string("linear: ") + why + ": x has shape " + shape_text(layer.x) +
                          ", weight has shape " + shape_text(layer.weight) +
                          (layer.bias ? ", bias has shape " + shape_text(*layer.bias) : ""));
}

void check_shapes(const Layer& layer) {
    if (layer.x.ndim() == 0) refuse_shapes(layer, "x must have at least one dimension");
    if (layer.weight.ndim() != 2) refuse_shapes(layer, "weight must have two dimensions");
    if (layer.x.shape(layer.x.ndim() - 1) != layer.weight.shape(1))
        refuse_shapes(layer, "the last axes of x and weight differ");
    if (layer.bias && (layer.bias->ndim() != 1 || layer.bias->shape(0) != layer.weight.shape(0)))
        refuse_shapes(layer, "bias must have one element for each row of weight");
}

// x (..., k) times the transpose of weight (n, k), which is the same for the whole batch.
void set_product(const Layer& layer, Shapes& shapes) {
    const py::array &x = layer.x, &weight = layer.weight;
    const py::ssize_t last = x.ndim() - 1;
    Problem& p = shapes.problem;
    shapes.drops_row = last == 0;
    p.semiring = number_of<PlusTimes>;
    p.dtype = layer.dtype;
    p.m = shapes.drops_row ? 1 : x.shape(last - 1);
    p.n = weight.shape(0);
    p.k = weight.shape(1);
    p.a = {.data = bytes_of(x),
           .row_stride = shapes.drops_row ? 0 : x.strides(last - 1),
           .col_stride = x.strides(last)};
    p.b = {
        .data = bytes_of(weight), .row_stride = weight.strides(1), .col_stride = weight.strides(0)};
    if (layer.bias)
        p.epilogue.start = {
            .data = bytes_of(*layer.bias), .row_stride = 0, .col_stride = layer.bias->strides(0)};
    for (py::ssize_t axis = 0; axis < last - 1; ++axis)
        add_axis(p.batch, {.length = x.shape(axis), .a = x.strides(axis)});
    for (py::ssize_t axis = 0; axis < last; ++axis) shapes.shape[shapes.ndim++] = x.shape(axis);
    shapes.shape[shapes.ndim++] = p.n;
}

py::object linear_of(const Arguments& given) {
    const auto kernel = parse_kernel(given.or_none(arg_kernel));
    const Choice choice = choose(kernel, parse_threads(given.or_none(arg_threads)));
    const Layer layer = take_layer(given);
    check_shapes(layer);
    Shapes shapes{};
    set_product(layer, shapes);
    if (given.is_true(arg_relu)) shapes.problem.epilogue.activation = Activation::relu;
    PyObject* const workspace = given.or_none(arg_workspace);
    check_workspace(workspace);
    check_kernel(kernel, shapes.problem);
    const Target target = make_target({"out", given.or_none(arg_out)}, shapes, layer.x.dtype(),
                                      {&layer.x, &layer.weight, layer.bias_or_null()});
    attach_result(shapes, target.computed);
    run_in(workspace, shapes.problem, choice);
    return finish(target);
}

PyObject* linear_entry(PyObject*, PyObject* const* args, Py_ssize_t positional,
                       PyObject* keywords) {
    return call(signature, linear_of, args, positional, keywords);
}

// The text signature that inspect reads, then the documentation.
constexpr const char* docstring =
    R"(linear(x, weight, bias=None, *, relu=False, out=None, threads=None, kernel=None, workspace=None)
--

Apply a layer of a neural network, ``act(x @ weight.T + bias)``, in one pass over the result.

Each element is the sum ``bias[j] + x[i, 0] * weight[j, 0] + x[i, 1] * weight[j, 1] + ...`` in this
order. Without a bias the sum begins with 0. Its bits depend on the instruction set and the kernel
alone.

Parameters
----------
x : array_like, (..., k)
    Inputs, with any strides; float32 or float64, as all operands.
weight : array_like, (n, k)
    Weights, with any strides.
bias : array_like, (n,), optional
    Is added to each row of the result.
relu : bool, default False
    Replace every number less than 0 by 0. A NaN stays.
out : ndarray, (..., n), optional
    The array for the result: writeable, of its shape and dtype. It may overlap an operand.
threads, kernel, workspace
    As for `tropical.gemm`.

Returns
-------
ndarray, (..., n)
    The result: `out`, if that is given. Its dtype is the common dtype of the operands
    (`numpy.result_type`).

Raises
------
TypeError
    If the common dtype is not float32 or float64, or an argument is of the wrong type.
ValueError
    If shapes do not fit (the message names them), the kernel is unknown, ``threads < 1``, or `out`
    has the wrong shape or is read-only.
RuntimeError
    If another thread is using `workspace`.
MemoryError
    If there is no memory for the result or for packing.

    After any error `out` and the operands are unchanged.)";

PyMethodDef definition = {"linear",
                          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(linear_entry)),
                          METH_FASTCALL | METH_KEYWORDS, docstring};

}  // namespace

void bind_linear(py::module_& module) { add_function(module, definition); }

}  // namespace tropical
