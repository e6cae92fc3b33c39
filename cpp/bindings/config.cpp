// What was built and what is in use, the options of a context, and the number of threads.
#include <string>

#include "bindings/module.hpp"
#include "bindings/options.hpp"
#include "runtime/caches.hpp"
#include "runtime/platform.hpp"
#include "runtime/thread_counts.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tropical {
namespace {

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
    py::list instructions;
    for (const auto* kernels : usable(choice.isa->quads))
        instructions.append(kernels->instructions);
    py::list pieces;
    for (const auto* kernels : usable(choice.isa->pieces)) pieces.append(kernels->instructions);
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
    d["byte_products"] = instructions;
    d["bf16_products"] = pieces;
    d["l1d"] = caches().l1d;
    d["l2"] = caches().l2;
    d["l3"] = caches().l3;
    d["cores"] = usable_cores();
    d["threads"] = choice.threads;
    return d;
}

py::tuple get_options() {
    const Choice now = context_options();
    const auto or_none = [](bool given, auto value) -> py::object {
        return given ? py::cast(value) : py::object(py::none());
    };
    return py::make_tuple(or_none(now.kernel.has_value(),
                                  now.kernel ? kernel_names[static_cast<int>(*now.kernel)] : ""),
                          or_none(now.isa, now.isa ? now.isa->name : ""),
                          or_none(now.threads > 0, now.threads), now.fast_ring,
                          precision_names[now.pieces]);
}

void set_options(const py::object& kernel, const py::object& isa, const py::object& threads,
                 const py::object& fast_ring, const py::object& precision) {
    Choice next{};
    next.kernel = parse_kernel(kernel.ptr());
    if (!isa.is_none() && !PyUnicode_Check(isa.ptr()))
        throw py::type_error("isa: expected a name or None, got " + std::string(py::repr(isa)));
    next.isa = isa.is_none() ? nullptr : &instruction_set(std::string(text_of(isa.ptr())));
    next.threads = parse_threads(threads.ptr());
    if (!PyBool_Check(fast_ring.ptr()))
        throw py::type_error("fast_ring: expected True, False or None, got " +
                             std::string(py::repr(fast_ring)));
    next.fast_ring = fast_ring.ptr() == Py_True;
    next.pieces = parse_precision(precision.ptr()).value_or(0);
    set_context_options(next);
}

void set_threads_of_process(const py::object& n) {
    parse_integer(n.ptr(), "n", 1, "an integer");  // None is not one
    set_num_threads(parse_threads(n.ptr()));
}

constexpr const char* get_num_threads_text =
    R"(get_num_threads()
--

Return the greatest number of threads that a product uses.

It is the number given to `set_num_threads`, else the environment variable TROPICAL_NUM_THREADS, else
OpenMP's number (OMP_NUM_THREADS, or the cores that this process may use). A limit of threadpoolctl
takes precedence.)";
constexpr const char* set_num_threads_text =
    R"(set_num_threads(n)
--

Set the greatest number of threads that a product uses, for the whole process.

Raises ValueError if `n` is less than 1.)";

}  // namespace

void bind_config(py::module_& module) {
    using py::arg;
    module.def("config", config,
               "What was built, what this CPU supports and what is in use; cache sizes in bytes.");
    module.def("get_options", get_options,
               "The options of this context: kernel, isa, threads, fast_ring, precision; see "
               "tropical.options.");
    module.def("set_options", set_options, arg("kernel"), arg("isa"), arg("threads"),
               arg("fast_ring"), arg("precision"), "Set the options of this context.");
    py::options options;
    options.disable_function_signatures();  // the texts have those that inspect reads
    module.def("get_num_threads", get_num_threads, get_num_threads_text);
    module.def("set_num_threads", set_threads_of_process, arg("n"), set_num_threads_text);
}

}  // namespace tropical
