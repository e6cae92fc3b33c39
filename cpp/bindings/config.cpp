#include "config.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "../gemm.hpp"
#include "../scalar.hpp"
#include "../threads.hpp"
#include "../tuning.hpp"
#include "gil.hpp"
#include "tuning.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tropical {
namespace {

// Matrices of more cannot exist.
constexpr ptrdiff_t most_elements = ptrdiff_t{1} << 52;

ptrdiff_t parse_size(const py::object& size, const char* name) {
    const std::int64_t value = parse_integer(size.ptr(), name, 0, "an integer");
    if (value > most_elements)
        throw py::value_error(std::string(name) + " is too large for memory: got " +
                              std::string(py::repr(size)));
    return static_cast<ptrdiff_t>(value);
}

std::string cpu_brand() {
#if defined(__x86_64__)
    unsigned registers[12] = {};
    for (unsigned leaf = 0; leaf < 3; ++leaf)
        if (!__get_cpuid(0x80000002 + leaf, registers + 4 * leaf, registers + 4 * leaf + 1,
                         registers + 4 * leaf + 2, registers + 4 * leaf + 3))
            return "unknown x86-64";
    const std::string brand(reinterpret_cast<const char*>(registers), sizeof registers);
    return brand.substr(0, brand.find('\0'));
#else
    return "unknown aarch64";
#endif
}

py::dict config() {
    py::list built, supported;
    for (const Isa& isa : instruction_sets()) {
        built.append(isa.name);
        if (isa.supported) supported.append(isa.name);
    }
    const Choice choice = choose({}, 0);
    py::dict d;
    d["compiler"] =
#if defined(__clang__)
        "clang " __clang_version__;
#else
        "gcc " __VERSION__;
#endif
    d["cpu"] = cpu_brand();
    d["isa_built"] = built;
    d["isa_supported"] = supported;
    d["isa"] = choice.isa->name;
    d["vector_bytes"] = choice.isa->table->vector_bytes;
    d["l1d"] = caches().l1d;
    d["l2"] = caches().l2;
    d["l3"] = caches().l3;
    d["cores"] = usable_cores();
    d["threads"] = choice.threads;
    d["pinned"] = workers_are_pinned();
    return d;
}

py::dict explain(const py::object& m, const py::object& n, const py::object& k,
                 const py::object& dtype, const py::object& semiring, const py::object& threads,
                 const py::object& kernel, bool return_argmax, const py::object& batch) {
    const Choice choice = choose(parse_kernel(kernel.ptr()), parse_threads(threads.ptr()));
    Problem problem = contiguous_problem(m, n, k, dtype, parse_semiring(semiring.ptr()));
    problem.batch.items = parse_size(batch, "batch");
    if (return_argmax && !is_selective(problem.semiring))
        throw py::value_error(std::string("return_argmax: ") + semiring_name(problem.semiring) +
                              " has no argmax");
    problem.index.data = return_argmax ? problem.c.data : nullptr;
    use_tuning();
    const Plan plan = make_plan(problem, choice);
    py::dict d;
    d["kernel"] = kernel_names[static_cast<int>(plan.kernel)];
    d["isa"] = plan.isa->name;
    d["mr"] = plan.kernels->mr;
    d["nr"] = plan.kernels->nr;
    d["mc"] = plan.mc;
    d["kc"] = plan.kc;
    d["nc"] = plan.nc;
    d["threads"] = plan.threads;
    d["tasks"] = plan.tasks;
    d["bytes"] = workspace_bytes(plan);
    d["reason"] = plan.reason;
    return d;
}

py::object set_options(const py::object& kernel, const py::object& isa, const py::object& threads) {
    Options next;
    next.kernel = parse_kernel(kernel.ptr());
    if (!isa.is_none() && !PyUnicode_Check(isa.ptr()))
        throw py::type_error("isa must be a name or None, got " + std::string(py::repr(isa)));
    next.isa = isa.is_none() ? nullptr : &instruction_set(std::string(text_of(isa.ptr())));
    next.threads = parse_threads(threads.ptr());
    const Options before = thread_options();
    thread_options() = next;
    const auto or_none = [](bool given, auto value) -> py::object {
        return given ? py::cast(value) : py::object(py::none());
    };
    return py::make_tuple(
        or_none(before.kernel.has_value(),
                before.kernel ? kernel_names[static_cast<int>(*before.kernel)] : ""),
        or_none(before.isa, before.isa ? before.isa->name : ""),
        or_none(before.threads > 0, before.threads));
}

py::list semirings() {
    py::list list;
    for (int s = 0; s < semiring_count; ++s) {
        py::list dtypes;
        for (int d = 0; d < dtype_count; ++d)
            if (table_baseline.sets[s][d].ceiling) dtypes.append(dtype_name(static_cast<DType>(d)));
        py::dict entry;
        entry["name"] = semiring_name(s);
        entry["add"] = semiring_sum(s);
        entry["multiply"] = semiring_product(s);
        entry["selective"] = is_selective(s);
        entry["exact"] = sums_are_exact(s, DType::f64);
        entry["dtypes"] = dtypes;
        list.append(entry);
    }
    return list;
}

DType checked_dtype(const py::object& dtype, int semiring) {
    return parse_dtype(py::dtype::from_args(dtype).attr("newbyteorder")("="), semiring);
}

py::tuple constants_of(const py::object& semiring, const py::object& dtype) {
    const int s = parse_semiring(semiring.ptr());
    const DType d = checked_dtype(dtype, s);
    py::array zero(numpy_dtype(d), std::vector<py::ssize_t>{}),
        one(numpy_dtype(d), std::vector<py::ssize_t>{});
    constants(s, d, static_cast<char*>(zero.mutable_data()),
              static_cast<char*>(one.mutable_data()));
    return py::make_tuple(zero.attr("item")(), one.attr("item")());
}

const KernelSet& kernels_in_use(int semiring, DType dtype) {
    return choose({}, 1).isa->table->sets[semiring][static_cast<int>(dtype)];
}

std::int64_t run_ceiling(const py::object& semiring, const py::object& dtype,
                         std::int64_t repeats) {
    const int s = parse_semiring(semiring.ptr());
    const KernelSet& set = kernels_in_use(s, checked_dtype(dtype, s));
    std::int64_t operations = 0;
    without_gil([&] { operations = set.ceiling(repeats); });
    return operations;
}

// One micro-tile again and again on packed panels of ones, which stay in L1.
std::int64_t run_micro_kernel(const py::object& semiring, const py::object& dtype, ptrdiff_t k,
                              std::int64_t repeats) {
    const int s = parse_semiring(semiring.ptr());
    const DType d = checked_dtype(dtype, s);
    const Kernels& kernels = kernels_in_use(s, d).wide;
    if (k < 1 || repeats < 0)
        throw py::value_error("micro_kernel: k must be positive and repeats not negative, got k=" +
                              std::to_string(k) + ", repeats=" + std::to_string(repeats));
    const ptrdiff_t item = item_size(d);
    const SlotLayout layout = slot_layout(kernels, kernels.mr, k, kernels.nr, item, false);
    Workspace memory;
    char* const slot = memory.grow(layout.bytes + kernels.mr * kernels.nr * item);
    std::memset(slot, 0, static_cast<std::size_t>(memory.bytes()));
    const View c{slot + layout.bytes, kernels.nr * item, item};
    const MacroArgs tile{kernels.mr, kernels.nr, k, slot + layout.a,      slot + layout.b, c,
                         false,      {},         0, slot + layout.scratch};
    without_gil([&] {
        for (std::int64_t r = 0; r < repeats; ++r) kernels.macro(tile);
    });
    return 2 * repeats * kernels.mr * kernels.nr * k;
}

// All of a C-ordered operand, of zeros, to micro-panels again and again: a (length x depth) or b
// (depth x length).
std::int64_t run_packing(const py::object& semiring, const py::object& dtype,
                         const std::string& operand, const py::object& length,
                         const py::object& depth, std::int64_t repeats) {
    const int s = parse_semiring(semiring.ptr());
    const DType d = checked_dtype(dtype, s);
    const Kernels& kernels = kernels_in_use(s, d).wide;
    const ptrdiff_t item = item_size(d), rows = parse_size(length, "length"),
                    steps = parse_size(depth, "depth");
    if ((operand != "a" && operand != "b") || rows < 1 || steps < 1 || repeats < 0 ||
        rows > most_elements / steps)
        throw py::value_error(
            "packing: operand must be 'a' or 'b', length and depth positive and of a size for "
            "memory, repeats not negative, got '" +
            operand + "', " + std::to_string(rows) + ", " + std::to_string(steps) + ", " +
            std::to_string(repeats));
    const bool is_a = operand == "a";
    const SlotLayout layout =
        slot_layout(kernels, is_a ? rows : 1, steps, is_a ? 1 : rows, item, false);
    Workspace source, target;
    std::memset(source.grow(rows * steps * item), 0, static_cast<std::size_t>(source.bytes()));
    std::memset(target.grow(layout.bytes), 0, static_cast<std::size_t>(target.bytes()));
    const PackArgs args{target.grow(layout.bytes) + (is_a ? layout.a : layout.b),
                        source.grow(0),
                        rows,
                        steps,
                        is_a ? steps * item : item,
                        is_a ? item : rows * item};
    without_gil([&] {
        for (std::int64_t r = 0; r < repeats; ++r) (is_a ? kernels.pack_a : kernels.pack_b)(args);
    });
    return repeats * rows * steps * item;
}

}  // namespace

Problem contiguous_problem(const py::object& m, const py::object& n, const py::object& k,
                           const py::object& dtype, int semiring) {
    Problem p{};
    p.semiring = semiring;
    p.dtype = checked_dtype(dtype, semiring);
    p.m = parse_size(m, "m");
    p.n = parse_size(n, "n");
    p.k = parse_size(k, "k");
    for (const auto& [rows, columns] : {std::pair{p.m, p.n}, {p.m, p.k}, {p.k, p.n}})
        if (columns > 0 && rows > most_elements / columns)
            throw py::value_error("m, n and k are too large for memory: got " +
                                  std::to_string(p.m) + ", " + std::to_string(p.n) + ", " +
                                  std::to_string(p.k));
    static char nowhere[1];
    const ptrdiff_t item = item_size(p.dtype);
    p.a = {nowhere, p.k * item, item};
    p.b = {nowhere, p.n * item, item};
    p.c = {nowhere, p.n * item, item};
    return p;
}

void bind_config(py::module_& module) {
    using py::arg;
    module.def("config", config,
               "What was built, what this CPU supports and what is in use; cache sizes in bytes.");
    module.def("explain", explain, arg("m"), arg("n"), arg("k"), py::kw_only(),
               arg("dtype") = "float32", arg("semiring") = "maxplus", arg("threads") = py::none(),
               arg("kernel") = py::none(), arg("return_argmax") = false, arg("batch") = 1,
               "The scheduler's plan; see tropical.explain.");
    module.def("set_options", set_options, arg("kernel"), arg("isa"), arg("threads"),
               "Set this thread's overrides and return the ones before; see tropical.options.");
    module.def("get_num_threads", get_num_threads,
               R"(The number of threads that products use at most, unless told otherwise.

The number given to `set_num_threads`, else the environment variable TROPICAL_NUM_THREADS, else
OpenMP's number (OMP_NUM_THREADS, or the cores that this process may use). threadpoolctl's limits
take precedence.)");
    module.def(
        "set_num_threads",
        [](const py::object& n) {
            parse_integer(n.ptr(), "n", 1, "an integer");
            set_num_threads(parse_threads(n.ptr()));
        },
        arg("n"),
        "Set the number of threads that products use at most, in the whole process. ValueError "
        "below 1.");
    module.def("semirings", semirings,
               "The semirings of gemm, as dictionaries; see tropical.semirings.");
    module.def("constants", constants_of, arg("semiring"), arg("dtype"),
               "The zero and the one of a semiring.");
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
