#include "options.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "../lazy.hpp"
#include "../scalar.hpp"
#include "../threads.hpp"

namespace tropical {
namespace {

std::string quoted(PyObject* object) { return py::repr(py::handle(object)); }

std::string known_semirings() {
    std::string list;
    for (int s = 0; s < semiring_count; ++s)
        list += (s ? ", " : "") + std::string(semiring_name(s));
    return list;
}

constexpr const char* dtype_names[dtype_count] = {"float32", "float64", "int8", "int16",
                                                  "int32",   "int64",   "bool"};

bool has_kernels(int semiring, int dtype) {
    return table_baseline.sets[semiring][dtype].wide.macro != nullptr;
}

std::string known_dtypes(int semiring) {
    std::string list;
    for (int d = 0; d < dtype_count; ++d)
        if (has_kernels(semiring, d))
            list += (list.empty() ? "" : ", ") + std::string(dtype_names[d]);
    return list;
}

// -1 for what gemm has no kernels for.
int dtype_of(const py::dtype& dtype) {
    const char kind = dtype.kind(), order = dtype.byteorder();
    if (order != '=' && order != '|') return -1;
    const auto size = dtype.itemsize();
    for (int d = 0; d < dtype_count; ++d) {
        const char expected = d <= 1 ? 'f' : d == static_cast<int>(DType::b8) ? 'b' : 'i';
        if (kind == expected && size == item_size(static_cast<DType>(d))) return d;
    }
    return -1;
}

std::optional<KernelKind> kernel_named(std::string_view name) {
    for (int k = 0; k < 4; ++k)
        if (name == kernel_names[k]) return static_cast<KernelKind>(k);
    return {};
}

std::optional<KernelKind> environment_kernel() {
    const char* const name = std::getenv("TROPICAL_KERNEL");
    if (!name || !*name) return {};
    const auto kernel = kernel_named(name);
    if (!kernel)
        throw py::value_error("TROPICAL_KERNEL: unknown kernel '" + std::string(name) +
                              "'; known: naive, tiled, direct, packed");
    return kernel;
}

}  // namespace

Options& thread_options() {
    static thread_local Options options;
    return options;
}

std::string_view text_of(PyObject* unicode) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(unicode, &size);
    if (!text) throw py::error_already_set();
    return {text, static_cast<std::size_t>(size)};
}

int parse_semiring(PyObject* semiring) {
    py::object name = py::reinterpret_borrow<py::object>(semiring);
    if (!PyUnicode_Check(semiring)) {
        name = py::getattr(name, "name", py::none());
        if (!PyUnicode_Check(name.ptr()))
            throw py::type_error("semiring must be a name or a tropical.semirings.Semiring, got " +
                                 quoted(semiring));
    }
    std::string plain(text_of(name.ptr()));
    std::erase(plain, '_');
    for (int s = 0; s < semiring_count; ++s)
        if (plain == semiring_name(s)) return s;
    throw py::value_error("unknown semiring " + quoted(name.ptr()) +
                          "; known: " + known_semirings());
}

std::optional<KernelKind> parse_kernel(PyObject* kernel) {
    if (kernel == Py_None) return {};
    if (!PyUnicode_Check(kernel))
        throw py::type_error("kernel must be a name or None, got " + quoted(kernel));
    const auto known = kernel_named(text_of(kernel));
    if (!known)
        throw py::value_error("unknown kernel " + quoted(kernel) +
                              "; known: naive, tiled, direct, packed");
    return known;
}

std::int64_t parse_integer(PyObject* object, const char* name, std::int64_t least,
                           const char* kind) {
    if (PyBool_Check(object) || !PyIndex_Check(object))
        throw py::type_error(std::string(name) + " must be " + kind + ", got " + quoted(object));
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(object));
    if (!number) throw py::error_already_set();
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow < 0 || (!overflow && value < least))
        throw py::value_error(std::string(name) + " must be at least " + std::to_string(least) +
                              ", got " + quoted(object));
    return overflow ? std::numeric_limits<std::int64_t>::max() : value;
}

int parse_threads(PyObject* threads) {
    if (threads == Py_None) return 0;
    constexpr std::int64_t most = 1024;
    return static_cast<int>(
        std::min(parse_integer(threads, "threads", 1, "an integer or None"), most));
}

DType parse_dtype(const py::dtype& dtype, int semiring) {
    const int known = dtype_of(dtype);
    if (known < 0 || !has_kernels(semiring, known))
        throw py::type_error("dtype " + std::string(py::str(dtype)) + " is not supported over " +
                             semiring_name(semiring) + ", which takes " + known_dtypes(semiring));
    return static_cast<DType>(known);
}

const char* dtype_name(DType dtype) { return dtype_names[static_cast<int>(dtype)]; }

py::dtype numpy_dtype(DType dtype) { return py::dtype(std::string(dtype_name(dtype))); }

Choice choose(std::optional<KernelKind> kernel, int threads) {
    const Options& options = thread_options();
    const auto& forced = lazy<environment_kernel>();
    if (!kernel) kernel = options.kernel ? options.kernel : forced;
    const Isa* const isa = options.isa ? options.isa : &default_instruction_set();
    if (!threads) threads = options.threads ? options.threads : get_num_threads();
    // More than a few for each core only cost memory.
    constexpr int always_allowed = 64;
    if (threads > always_allowed)
        threads = std::min(threads, std::max(always_allowed, 4 * usable_cores()));
    return {kernel, isa, threads};
}

}  // namespace tropical
