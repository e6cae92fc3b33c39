// Products of matrices of bytes; tropical.quantized checks the arguments and describes them.
#include "training/quantized.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bindings/call.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/ranges.hpp"
#include "runtime/float_environment.hpp"

namespace tropical {
namespace {

using Integers = py::array_t<std::int32_t, py::array::c_style>;
using Floats = py::array_t<float, py::array::c_style>;

bool has(const py::dtype& dtype, char kind, py::ssize_t size) {
    return dtype.kind() == kind && dtype.itemsize() == size;
}

bool is_signed_byte(const py::array& array, const char* name) {
    const py::dtype dtype = array.dtype();
    if (has(dtype, 'i', 1)) return true;
    if (has(dtype, 'u', 1)) return false;
    throw py::type_error(std::string(name) + ": expected dtype int8 or uint8, got " +
                         std::string(py::str(dtype)));
}

void check_matrix(const py::array& array, const char* name) {
    if (array.ndim() != 2)
        throw py::value_error(std::string(name) + ": expected 2 dimensions, got shape " +
                              shape_text(array));
}

// Those of the instruction set in use, the fastest unless one is named.
const QuadKernels& kernels_named(const py::object& instructions) {
    const Isa& isa = *choose({}, 0).isa;
    if (instructions.is_none()) return quad_kernels(isa);
    std::string names;
    for (const QuadKernels* kernels : usable(isa.quads)) {
        if (py::str(instructions).equal(py::str(kernels->instructions))) return *kernels;
        names += (names.empty() ? "" : ", ") + std::string(kernels->instructions);
    }
    throw py::value_error("instructions: expected one of " + names + ", got " +
                          std::string(py::repr(instructions)));
}

// A matrix in packed form, with its memory.
class PyPackedBytes {
  public:
    PyPackedBytes(const QuadKernels& kernels, const ByteMatrix& b, int threads)
        : packed_(pack(kernels, b, memory_.grow(packed_bytes(kernels, b.k, b.n) + 1), threads)) {}
    const PackedBytes& packed() const { return packed_; }
    ptrdiff_t nbytes() const { return memory_.bytes(); }

  private:
    Workspace memory_;
    PackedBytes packed_;
};

std::unique_ptr<PyPackedBytes> pack_bytes(const py::array& b, const py::object& instructions) {
    const bool is_signed = is_signed_byte(b, "b");
    check_matrix(b, "b");
    const int threads = choose({}, 0).threads;
    const QuadKernels& kernels = kernels_named(instructions);
    std::unique_ptr<PyPackedBytes> packed;
    without_gil([&] {
        const ByteMatrix matrix{b.shape(0), b.shape(1), matrix_view<ConstView>(b), is_signed};
        packed = std::make_unique<PyPackedBytes>(kernels, matrix, threads);
    });
    return packed;
}

// A matrix that was packed before, or an array.
struct RightOperand {
    PackedBytes packed;
    ConstView view;
};
RightOperand right_operand(const py::object& b, const py::object& instructions) {
    if (py::isinstance<PyPackedBytes>(b)) return {py::cast<PyPackedBytes&>(b).packed(), {}};
    if (!py::isinstance<py::array>(b))
        throw py::type_error("b: expected an array or PackedBytes, got " +
                             std::string(py::repr(b)));
    const auto array = py::reinterpret_borrow<py::array>(b);
    const bool is_signed = is_signed_byte(array, "b");
    check_matrix(array, "b");
    return {{&kernels_named(instructions), array.shape(0), array.shape(1), is_signed, nullptr},
            matrix_view<ConstView>(array)};
}

QuadResult result_of(const py::array& out) {
    const py::dtype dtype = out.dtype();
    const auto is_native = [&](char kind) {
        return has(dtype, kind, 4) && dtype.attr("isnative").cast<bool>();
    };
    if (is_native('i')) return QuadResult::int32;
    if (is_native('f')) return QuadResult::float32;
    return is_signed_byte(out, "out") ? QuadResult::int8 : QuadResult::uint8;
}

// An element for each line, or one for all; null for None.
template <class T>
OfLines<T> of_lines(const std::optional<py::array_t<T, py::array::c_style>>& array,
                    py::ssize_t count, const char* name) {
    if (!array) return {nullptr, 0};
    if (array->size() == 1) return {array->data(), 0};
    if (array->ndim() != 1 || array->shape(0) != count)
        throw py::value_error(std::string(name) + ": expected shape (" + std::to_string(count) +
                              ",), got " + shape_text(*array));
    return {array->data(), 1};
}

OfLines<std::int32_t> zeros_of(const std::optional<Integers>& array, py::ssize_t count,
                               const char* name) {
    if (array) check_range(array->data(), array->size(), name, "bytes", -128, 255);
    return of_lines(array, count, name);
}

const float* bias_of(const std::optional<Floats>& bias, py::ssize_t n, QuadResult result) {
    if (!bias) return nullptr;
    if (bias->ndim() != 1 || bias->shape(0) != n)
        throw py::value_error("bias: expected shape (" + std::to_string(n) + ",), got " +
                              shape_text(*bias));
    const bool bytes = result == QuadResult::int8 || result == QuadResult::uint8;
    if (bytes && std::any_of(bias->data(), bias->data() + n, [](float x) { return x != x; }))
        throw py::value_error("bias: expected no NaN, as no byte stands for it");
    return bias->data();
}

struct Call {
    const ByteProduct& product;
    int threads;
};

void run(void* context, Workspace& memory, StopRequested stop) {
    const Call& call = *static_cast<const Call*>(context);
    multiply(call.product, call.threads, memory, stop);
}

void multiply_bytes(const py::array& a, const py::object& b, const py::array& out,
                    const std::optional<Integers>& a_zero, const std::optional<Integers>& b_zero,
                    const std::optional<Floats>& a_scale, const std::optional<Floats>& b_scale,
                    const std::optional<Floats>& bias, bool relu, float inverse_scale,
                    std::int32_t zero_point, const py::object& threads, const py::object& workspace,
                    const py::object& instructions) {
    check_workspace(workspace.ptr());
    const RightOperand right = right_operand(b, instructions);
    const bool is_signed = is_signed_byte(a, "a");
    check_matrix(a, "a");
    check_matrix(out, "out");
    const py::ssize_t m = a.shape(0), n = right.packed.n, k = right.packed.k;
    if (a.shape(1) != k || out.shape(0) != m || out.shape(1) != n)
        throw py::value_error("shapes do not fit: a has " + shape_text(a) + ", b has (" +
                              std::to_string(k) + ", " + std::to_string(n) + "), out has " +
                              shape_text(out));
    check_writeable(out, "out");
    const QuadResult result = result_of(out);
    if (result != QuadResult::int32 && !(a_scale && b_scale))
        throw py::value_error("scales: expected a_scale and b_scale unless out has dtype int32");
    const ByteProduct product{.m = m,
                              .a = matrix_view<ConstView>(a),
                              .a_is_signed = is_signed,
                              .packed = right.packed,
                              .b = right.view,
                              .c = matrix_view(out),
                              .result = result,
                              .row_zero = zeros_of(a_zero, m, "a_zero"),
                              .column_zero = zeros_of(b_zero, n, "b_zero"),
                              .row_scale = of_lines(a_scale, m, "a_scale"),
                              .column_scale = of_lines(b_scale, n, "b_scale"),
                              .bias = bias_of(bias, n, result),
                              .relu = relu,
                              .inverse_scale = inverse_scale,
                              .zero_point = zero_point};
    Call call{product, choose({}, parse_threads(threads.ptr())).threads};
    const double products =
        static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    run_in(workspace.ptr(), products, run, &call);
}

// Whether x holds a NaN.
bool quantize_bytes(const py::array_t<float, py::array::c_style>& x, const py::array& out,
                    float inverse_scale, std::int32_t zero_point) {
    const bool is_signed = is_signed_byte(out, "out");
    check_writeable(out, "out");
    if (x.size() != out.size() || !(out.flags() & py::array::c_style))
        throw py::value_error("out: expected as many elements as x, in C order, got " +
                              shape_text(out));
    const QuantizeArgs args{.count = x.size(),
                            .source = bytes_of(x),
                            .target = bytes_of(out),
                            .inverse_scale = inverse_scale,
                            .zero_point = zero_point,
                            .result = is_signed ? QuadResult::int8 : QuadResult::uint8};
    const auto quantize = kernels_named(py::none()).quantize;
    const FloatEnvironment environment;
    constexpr ptrdiff_t worth_the_gil = 1 << 17;
    if (args.count < worth_the_gil) return quantize(args);
    bool noticed = false;
    without_gil([&] { noticed = quantize(args); });
    return noticed;
}

std::int64_t run_quad_ceiling(std::int64_t repeats, const py::object& instructions) {
    const QuadKernels& kernels = kernels_named(instructions);
    std::int64_t operations = 0;
    without_gil([&] { operations = kernels.ceiling(repeats); });
    return operations;
}

}  // namespace

void bind_quantized(py::module_& module) {
    using py::arg;
    py::class_<PyPackedBytes>(module, "PackedBytes", "A matrix of int8 or uint8, packed.",
                              py::is_final(), constructed_by_new<PyPackedBytes>())
        .def(py::init(&pack_bytes), arg("b").noconvert(), arg("instructions") = py::none())
        .def_property_readonly(
            "shape",
            [](const PyPackedBytes& b) { return py::make_tuple(b.packed().k, b.packed().n); })
        .def_property_readonly("dtype",
                               [](const PyPackedBytes& b) {
                                   return b.packed().is_signed ? py::dtype::of<std::int8_t>()
                                                               : py::dtype::of<std::uint8_t>();
                               })
        .def_property_readonly("nbytes", &PyPackedBytes::nbytes)
        .def_property_readonly("instructions", [](const PyPackedBytes& b) {
            return b.packed().kernels->instructions;
        });
    module.def("multiply_bytes", multiply_bytes, arg("a").noconvert(), arg("b"),
               arg("out").noconvert(), arg("a_zero").noconvert() = py::none(),
               arg("b_zero").noconvert() = py::none(), arg("a_scale").noconvert() = py::none(),
               arg("b_scale").noconvert() = py::none(), arg("bias").noconvert() = py::none(),
               arg("relu") = false, arg("inverse_scale") = 1.0F, arg("zero_point") = 0,
               arg("threads") = py::none(), arg("workspace") = py::none(),
               arg("instructions") = py::none(),
               "Sums of products of bytes into `out`; see cpp/training/quantized.hpp.");
    module.def("quantize_bytes", quantize_bytes, arg("x").noconvert(), arg("out").noconvert(),
               arg("inverse_scale"), arg("zero_point"),
               "x * inverse_scale + zero_point in int8 or uint8; whether x holds a NaN.");
    module.def("quad_ceiling", run_quad_ceiling, arg("repeats"), arg("instructions") = py::none(),
               "`ceiling` for products of bytes.");
}

}  // namespace tropical
