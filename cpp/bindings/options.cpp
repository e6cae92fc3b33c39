#include "bindings/options.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>

#include "gemm.hpp"
#include "runtime/lazy.hpp"
#include "runtime/platform.hpp"
#include "runtime/thread_counts.hpp"

namespace tropical {
namespace {

std::string quoted(PyObject* object) { return py::repr(py::handle(object)); }

// Throws the error of tropical.semirings.get, which says what is meant.
[[noreturn]] void refuse_semiring(py::handle semiring) {
    py::module_::import("tropical.semirings").attr("get")(semiring);
    throw py::value_error("semiring: " + quoted(semiring.ptr()) + " has no kernels");
}

std::string known_dtypes(int semiring) {
    std::string list;
    for (int d = 0; d < dtype_count; ++d)
        if (has_kernels(semiring, static_cast<DType>(d)))
            list += (list.empty() ? "" : ", ") + std::string(facts_of(static_cast<DType>(d)).name);
    for (int s = 0; s < storage_count && may_be_stored(semiring); ++s)
        list += ", " + std::string(name_of(static_cast<Storage>(s)));
    return list;
}

// The letter that NumPy has for a kind.
char numpy_kind(Kind kind) {
    switch (kind) {
        case Kind::floating:
            return 'f';
        case Kind::integer:
            return 'i';
        case Kind::natural:
            return 'u';
        case Kind::boolean:
            break;
    }
    return 'b';
}

// The dtype's number in the core's list; -1 if it is not there, or not native.
int dtype_of(const py::dtype& dtype) {
    const char kind = dtype.kind(), order = dtype.byteorder();
    if (order != '=' && order != '|') return -1;
    for (int d = 0; d < dtype_count; ++d) {
        const DTypeFacts& facts = facts_of(static_cast<DType>(d));
        if (kind == numpy_kind(facts.kind) && dtype.itemsize() == facts.size) return d;
    }
    return -1;
}

std::string expected_kernel(const std::string& got) {
    std::string known;
    for (const char* const name : kernel_names)
        known += (known.empty() ? "" : ", ") + std::string(name);
    return "unknown kernel " + got + "; known: " + known;
}

std::optional<KernelKind> kernel_named(std::string_view name) {
    for (int k = 0; k < kernel_count; ++k)
        if (name == kernel_names[k]) return static_cast<KernelKind>(k);
    return {};
}

std::optional<KernelKind> environment_kernel() {
    const char* const name = std::getenv("TROPICAL_KERNEL");
    if (!name || !*name) return {};
    const auto kernel = kernel_named(name);
    if (!kernel)
        throw py::value_error("TROPICAL_KERNEL: " + expected_kernel(std::string("'") + name + "'"));
    return kernel;
}

// Whether any context of the process ever had options: to look them up takes 5% of a small product.
std::atomic<bool> options_were_set = false;

// The variable of contexts that has a capsule of Choice. It is never freed.
PyObject* options_variable() {
    PyObject* const variable = PyContextVar_New("tropical.options", nullptr);
    if (!variable) throw py::error_already_set();
    return variable;
}

}  // namespace

Choice context_options() {
    if (!options_were_set) return {};
    PyObject* value = nullptr;
    if (PyContextVar_Get(lazy<options_variable>(), nullptr, &value) < 0)
        throw py::error_already_set();
    const auto capsule = py::reinterpret_steal<py::capsule>(value);
    return capsule ? *capsule.get_pointer<Choice>() : Choice{};
}

void set_context_options(const Choice& options) {
    auto kept = std::make_unique<Choice>(options);
    const py::capsule capsule(kept.get(), [](void* p) { delete static_cast<Choice*>(p); });
    kept.release();
    const auto token = py::reinterpret_steal<py::object>(
        PyContextVar_Set(lazy<options_variable>(), capsule.ptr()));
    if (!token) throw py::error_already_set();
    options_were_set = true;
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
        if (!PyUnicode_Check(name.ptr())) refuse_semiring(semiring);
    }
    std::string plain(text_of(name.ptr()));
    std::erase(plain, '_');
    for (int s = 0; s < semiring_count; ++s)
        if (plain == facts_of(s).name) return s;
    refuse_semiring(name);
}

int parse_selective(PyObject* semiring) {
    const int ring = parse_semiring(semiring);
    if (!facts_of(ring).selective)
        throw py::value_error(std::string("semiring: expected a selective one, got ") +
                              facts_of(ring).name);
    return ring;
}

std::optional<KernelKind> parse_kernel(PyObject* kernel) {
    if (kernel == Py_None) return {};
    if (!PyUnicode_Check(kernel))
        throw py::type_error("kernel: expected a name or None, got " + quoted(kernel));
    const auto known = kernel_named(text_of(kernel));
    if (!known) throw py::value_error("kernel: " + expected_kernel(quoted(kernel)));
    return known;
}

void check_kernel(std::optional<KernelKind> kernel, const Product& p) {
    if (kernel != KernelKind::strassen || fits_strassen(p, default_instruction_set())) return;
    throw py::value_error(
        std::string("kernel: expected plustimes over float32 or float64, without bias, activation "
                    "and epilogue, for 'strassen', got ") +
        facts_of(p.semiring).name + " over " + facts_of(p.dtype).name +
        (p.epilogue.empty() ? "" : " with bias or activation") +
        (p.post_ops ? " with an epilogue" : ""));
}

std::optional<int> parse_precision(PyObject* precision) {
    if (precision == Py_None) return {};
    if (!PyUnicode_Check(precision))
        throw py::type_error("precision: expected a name or None, got " + quoted(precision));
    std::string known;
    for (int pieces = 0; pieces < precision_count; ++pieces) {
        if (text_of(precision) == precision_names[pieces]) return pieces;
        known += (known.empty() ? "" : ", ") + std::string(precision_names[pieces]);
    }
    throw py::value_error("precision: expected one of " + known + ", got " + quoted(precision));
}

void choose_precision(Choice& choice, std::optional<int> pieces, std::optional<KernelKind> kernel,
                      const Product& p) {
    if (!pieces) return;
    choice.pieces = *pieces;
    if (*pieces == 0) return;
    const std::string got = std::string("for '") + precision_names[*pieces] + "', got ";
    if (!fits_pieces(p))
        throw py::value_error("precision: expected plustimes over float32 " + got +
                              facts_of(p.semiring).name + " over " + facts_of(p.dtype).name);
    if (kernel && kernel != KernelKind::packed)
        throw py::value_error("precision: expected kernel None or 'packed' " + got + "'" +
                              kernel_names[static_cast<int>(*kernel)] + "'");
}

std::int64_t parse_integer(PyObject* object, const char* name, std::int64_t least,
                           const char* kind) {
    if (PyBool_Check(object) || !PyIndex_Check(object))
        throw py::type_error(std::string(name) + ": expected " + kind + ", got " + quoted(object));
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(object));
    if (!number) throw py::error_already_set();
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow < 0 || (!overflow && value < least))
        throw py::value_error(std::string(name) + ": expected at least " + std::to_string(least) +
                              ", got " + quoted(object));
    return overflow ? std::numeric_limits<std::int64_t>::max() : value;
}

int parse_threads(PyObject* threads) {
    if (threads == Py_None) return 0;
    constexpr std::int64_t most = 1024;
    return static_cast<int>(
        std::min(parse_integer(threads, "threads", 1, "an integer or None"), most));
}

std::optional<DType> known_dtype(const py::dtype& dtype, int semiring) {
    const int known = dtype_of(dtype);
    if (known < 0 || !has_kernels(semiring, static_cast<DType>(known))) return {};
    return static_cast<DType>(known);
}

DType parse_dtype(const py::dtype& dtype, int semiring) {
    if (const auto known = known_dtype(dtype, semiring)) return *known;
    const SemiringFacts& facts = facts_of(semiring);
    const int row = dtype_of(dtype);
    const bool would_fit =
        row >= 0 && (facts.kinds & static_cast<unsigned>(facts_of(static_cast<DType>(row)).kind));
    throw py::type_error(
        "dtype " + std::string(py::str(dtype)) + " is not supported over " + facts.name +
        ", which takes " + known_dtypes(semiring) +
        (would_fit ? ": the zero and the one of " + std::string(facts.name) + " would both be 0"
                   : ""));
}

DType native_dtype(const py::object& dtype, int semiring) {
    return parse_dtype(in_native_order(dtype), semiring);
}

// NumPy knows float16. A package adds bfloat16, as a kind of its own: the name alone tells it.
std::optional<Storage> known_storage(const py::dtype& dtype, int semiring) {
    if (!may_be_stored(semiring) || dtype.itemsize() != stored_size || dtype.byteorder() != '=')
        return {};
    if (dtype.kind() == 'f') return Storage{place_in<Float16>(Storages{})};
    if (dtype.kind() != 'V') return {};
    const std::string name = py::str(dtype.attr("name"));
    return name == BFloat16::name ? std::optional(Storage{place_in<BFloat16>(Storages{})})
                                  : std::nullopt;
}

ElementType parse_element_type(const py::dtype& dtype, int semiring) {
    const auto storage = known_storage(dtype, semiring);
    return {storage ? id_of<Float32> : parse_dtype(dtype, semiring), storage};
}

bool has_kernels(int semiring, DType dtype) {
    return table_baseline.sets[semiring][static_cast<int>(dtype)].wide.macro != nullptr;
}

py::dtype numpy_dtype(DType dtype) { return py::dtype(std::string(facts_of(dtype).name)); }

py::dtype in_native_order(const py::object& dtype) {
    return py::dtype::from_args(dtype).attr("newbyteorder")("=");
}

Choice choose(std::optional<KernelKind> kernel, int threads) {
    const Choice options = context_options();
    const auto& forced = lazy<environment_kernel>();
    const int pieces = kernel && kernel != KernelKind::packed ? 0 : options.pieces;
    if (!kernel) kernel = options.kernel ? options.kernel : forced;
    const Isa* const isa = options.isa ? options.isa : &default_instruction_set();
    if (!threads) threads = options.threads ? options.threads : get_num_threads();
    // More threads than a few for each core only cost memory.
    constexpr int always_allowed = 64;
    if (threads > always_allowed)
        threads = std::min(threads, std::max(always_allowed, 4 * usable_cores()));
    return {kernel, isa, threads, options.fast_ring, pieces};
}

}  // namespace tropical
