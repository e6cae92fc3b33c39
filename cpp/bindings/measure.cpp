// Loops that measure the machine: the hot loop on registers alone, one packed micro-tile, packing.
#include <cstring>
#include <string>

#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/shapes.hpp"
#include "runtime/workspace.hpp"

namespace tropical {
namespace {

// The kernels in use for a semiring and a dtype.
struct InUse {
    const KernelSet& set;
    ptrdiff_t item;
};

InUse kernels_in_use(const py::object& semiring, const py::object& dtype) {
    const int s = parse_semiring(semiring.ptr());
    const DType d = native_dtype(dtype, s);
    return {.set = choose({}, 1).isa->table->sets[s][static_cast<int>(d)], .item = item_size(d)};
}

// Grows the workspace to `bytes` zeros.
char* zeros(Workspace& memory, ptrdiff_t bytes) {
    char* const data = memory.grow(bytes);
    std::memset(data, 0, static_cast<std::size_t>(bytes));
    return data;
}

std::int64_t run_ceiling(const py::object& semiring, const py::object& dtype,
                         std::int64_t repeats) {
    const KernelSet& set = kernels_in_use(semiring, dtype).set;
    std::int64_t operations = 0;
    without_gil([&] { operations = set.ceiling(repeats); });
    return operations;
}

// Computes one micro-tile again and again, on packed panels that stay in L1.
std::int64_t run_micro_kernel(const py::object& semiring, const py::object& dtype, ptrdiff_t k,
                              std::int64_t repeats) {
    const auto [set, item] = kernels_in_use(semiring, dtype);
    const Kernels& kernels = set.wide;
    if (k < 1 || k > most_elements / (kernels.mr + kernels.nr) || repeats < 0)
        throw py::value_error(
            "micro_kernel: expected k >= 1, of panels that fit memory, and "
            "repeats >= 0, got k=" +
            std::to_string(k) + ", repeats=" + std::to_string(repeats));
    const SlotLayout layout =
        slot_layout(kernels, {.mc = kernels.mr, .kc = k, .nc = kernels.nr}, item, false);
    Workspace memory;
    char* const slot = zeros(memory, layout.bytes + kernels.mr * kernels.nr * item);
    const MacroArgs tile{
        .m = kernels.mr,
        .n = kernels.nr,
        .k = k,
        .a = slot + layout.a,
        .b = slot + layout.b,
        .c = {.data = slot + layout.bytes, .row_stride = kernels.nr * item, .col_stride = item},
        .accumulate = false,
        .first_p = 0,
        .scratch = slot + layout.scratch};
    without_gil([&] {
        for (std::int64_t r = 0; r < repeats; ++r) kernels.macro(tile);
    });
    return 2 * repeats * kernels.mr * kernels.nr * k;
}

// Packs a C-ordered operand of zeros to micro-panels again and again: a (length x depth) or b
// (depth x length).
std::int64_t run_packing(const py::object& semiring, const py::object& dtype,
                         const std::string& operand, const py::object& length,
                         const py::object& depth, std::int64_t repeats) {
    const auto [set, item] = kernels_in_use(semiring, dtype);
    const Kernels& kernels = set.wide;
    const ptrdiff_t rows = parse_size(length, "length"), steps = parse_size(depth, "depth");
    if ((operand != "a" && operand != "b") || rows < 1 || steps < 1 || repeats < 0 ||
        rows > most_elements / steps)
        throw py::value_error(
            "packing: expected operand 'a' or 'b', length and depth >= 1 with length * depth "
            "elements that fit memory, and repeats >= 0, got '" +
            operand + "', " + std::to_string(rows) + ", " + std::to_string(steps) + ", " +
            std::to_string(repeats));
    const bool is_a = operand == "a";
    const SlotLayout layout = slot_layout(
        kernels, {.mc = is_a ? rows : 1, .kc = steps, .nc = is_a ? 1 : rows}, item, false);
    Workspace source, target;
    const PackArgs args{.target = zeros(target, layout.bytes) + (is_a ? layout.a : layout.b),
                        .source = zeros(source, rows * steps * item),
                        .length = rows,
                        .depth = steps,
                        .length_stride = is_a ? steps * item : item,
                        .depth_stride = is_a ? item : rows * item};
    const auto pack = is_a ? kernels.pack_a : kernels.pack_b;
    without_gil([&] {
        for (std::int64_t r = 0; r < repeats; ++r) pack(args);
    });
    return repeats * rows * steps * item;
}

}  // namespace

void bind_measure(py::module_& module) {
    using py::arg;
    module.def("ceiling", run_ceiling, arg("semiring"), arg("dtype"), arg("repeats"),
               "Run the hot loop on registers alone; return how many scalar operations it did, two "
               "a product.");
    module.def("micro_kernel", run_micro_kernel, arg("semiring"), arg("dtype"), arg("k"),
               arg("repeats"),
               "Run one packed micro-tile of depth k, repeatedly; return how many scalar "
               "operations it did.");
    module.def("packing", run_packing, arg("semiring"), arg("dtype"), arg("operand"), arg("length"),
               arg("depth"), arg("repeats"),
               "Pack an operand of zeros, repeatedly; return how many bytes it read.");
}

}  // namespace tropical
