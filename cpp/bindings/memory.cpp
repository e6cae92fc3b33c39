#include "training/memory.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bindings/module.hpp"
#include "bindings/options.hpp"

namespace tropical {
namespace {

// NumPy's PyDataMem_Handler, version 1, so that no NumPy headers are needed.
struct NumpyAllocator {
    void* context;
    void* (*malloc)(void*, std::size_t);
    void* (*calloc)(void*, std::size_t, std::size_t);
    void* (*realloc)(void*, void*, std::size_t);
    void (*free)(void*, void*, std::size_t);
};
struct NumpyHandler {
    char name[127];
    std::uint8_t version;
    NumpyAllocator allocator;
};
constexpr const char* handler_kind = "mem_handler";
constexpr int set_handler_index = 304, get_handler_index = 305;  // in NumPy's table of functions

struct ArrayMemory;
struct Handler {
    ArrayMemory* own;
    MemoryMode mode;
    NumpyHandler numpy;
    PyObject *capsule, *name;
};

// What guards the memory. In most builds of Python that is the GIL. NumPy holds the GIL whenever
// NumPy calls a handler: NumPy finds the handler in a context variable and reads the capsule
// (PyContextVar_Get, PyCapsule_GetPointer). NumPy calls its default handler from the same places,
// and that handler keeps freed buffers in a global cache that asserts PyGILState_Check().
#if defined(Py_GIL_DISABLED)
using MemoryMutex = std::mutex;  // os.fork waits until no thread is within a handler
#else
struct MemoryMutex {
    void lock() {}
    void unlock() {}
};
#endif

// The process has one ArrayMemory. It is never destroyed, because arrays may outlive the module.
struct ArrayMemory {
    MemoryMutex mutex;
    Memory memory;
    PyObject* (*set_handler)(PyObject*);
    PyObject* (*get_handler)();
    Handler handlers[memory_mode_count];
};

// Calls work(memory) while no other thread uses the memory.
template <class Work>
auto guarded(ArrayMemory& own, Work work) {
    const std::lock_guard lock(own.mutex);
    return work(own.memory);
}

void* handler_malloc(void* context, std::size_t bytes) {
    const auto* const h = static_cast<Handler*>(context);
    return guarded(*h->own, [&](Memory& memory) { return memory.take(h->mode, bytes, false); });
}

void* handler_calloc(void* context, std::size_t count, std::size_t size) {
    const auto* const h = static_cast<Handler*>(context);
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    return guarded(*h->own, [&](Memory& memory) { return memory.take(h->mode, bytes, true); });
}

void* handler_realloc(void* context, void* data, std::size_t bytes) {
    const auto* const h = static_cast<Handler*>(context);
    return guarded(*h->own, [&](Memory& memory) { return memory.resize(h->mode, data, bytes); });
}

// The size may be wrong: NumPy computes the size again, from a shape that may have changed.
void handler_free(void* context, void* data, std::size_t) {
    guarded(*static_cast<Handler*>(context)->own, [&](Memory& memory) { memory.give(data); });
}

void fill(Handler& handler, ArrayMemory& own, int mode) {
    handler.own = &own;
    handler.mode = static_cast<MemoryMode>(mode);
    const std::string name = std::string("tropical_") + memory_mode_names[mode];
    name.copy(handler.numpy.name, sizeof handler.numpy.name - 1);
    handler.numpy.version = 1;
    handler.numpy.allocator = {&handler, handler_malloc, handler_calloc, handler_realloc,
                               handler_free};
    handler.capsule = py::capsule(&handler.numpy, handler_kind).release().ptr();
    handler.name = py::str(memory_mode_names[mode]).release().ptr();
}

std::unique_ptr<ArrayMemory> make_array_memory() {
    const py::object table = py::module_::import("numpy._core.multiarray").attr("_ARRAY_API");
    void** const functions = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
    if (!functions) throw py::error_already_set();
    auto made = std::make_unique<ArrayMemory>();
    made->set_handler = reinterpret_cast<PyObject* (*)(PyObject*)>(functions[set_handler_index]);
    made->get_handler = reinterpret_cast<PyObject* (*)()>(functions[get_handler_index]);
    for (int mode = 0; mode < memory_mode_count; ++mode) fill(made->handlers[mode], *made, mode);
    return made;
}

constinit std::atomic<ArrayMemory*> kept = nullptr;

// Null until a mode is first set.
ArrayMemory* array_memory() { return kept.load(std::memory_order_acquire); }

ArrayMemory& need_array_memory() {
    if (ArrayMemory* const own = array_memory()) return *own;
    auto made = make_array_memory();
    ArrayMemory* first = nullptr;  // of another thread, which may have made one meanwhile
    return kept.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)
               ? *made.release()
               : *first;
}

const Handler* ours(const ArrayMemory& own, const PyObject* capsule) {
    for (const Handler& handler : own.handlers)
        if (handler.capsule == capsule) return &handler;
    return nullptr;
}

// The handler of this context; null if that is not ours.
const Handler* current_handler() {
    const ArrayMemory* const own = array_memory();
    if (!own) return nullptr;
    const auto capsule = py::reinterpret_steal<py::object>(own->get_handler());
    if (!capsule) throw py::error_already_set();
    return ours(*own, capsule.ptr());
}

py::object exchange(PyObject* capsule) {
    PyObject* const before = need_array_memory().set_handler(capsule);
    if (!before) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(before);
}

PyObject* handler_named(const py::object& mode) {
    if (mode.is_none()) return nullptr;
    std::string known;
    for (const Handler& handler : need_array_memory().handlers) {
        if (mode.equal(py::handle(handler.name))) return handler.capsule;
        known += (known.empty() ? "" : ", ") + std::string(py::str(handler.name));
    }
    throw py::value_error("unknown memory mode " + std::string(py::repr(mode)) +
                          "; known are: " + known);
}

py::object set_memory_mode(const py::object& mode) {
    const py::object before = exchange(handler_named(mode));
    const Handler* const handler = ours(*array_memory(), before.ptr());
    return handler ? py::reinterpret_borrow<py::object>(handler->name) : py::none();
}

py::object memory_handler() {
    return py::reinterpret_steal<py::object>(need_array_memory().get_handler());
}

py::dict memory_stats() {
    ArrayMemory* const own = array_memory();
    const auto read = [](const Memory& memory) { return memory.stats(); };
    const MemoryStats s = own ? guarded(*own, read) : MemoryStats{};
    py::dict d;
    d["allocations"] = s.allocations;
    d["reuses"] = s.reuses;
    d["live_bytes"] = s.live_bytes;
    d["peak_live_bytes"] = s.peak_live_bytes;
    d["live_buffers"] = s.live_buffers;
    d["reserved_bytes"] = s.reserved_bytes;
    d["steps"] = s.steps;
    d["step_allocations"] = s.step_allocations;
    d["activation_bytes"] = s.activation_bytes;
    d["temporary_bytes"] = s.temporary_bytes;
    return d;
}

void reset_memory_stats() {
    if (ArrayMemory* const own = array_memory())
        guarded(*own, [](Memory& memory) { memory.reset_stats(); });
}

void release_memory() {
    if (ArrayMemory* const own = array_memory())
        guarded(*own, [](Memory& memory) { memory.release(); });
}

// Every backward pass calls these, so they avoid pybind11's dispatch (100 ns a call).
template <auto work>
PyObject* plain(PyObject*, PyObject*) {
    try {
        const Handler* const handler = current_handler();
        PyObject* const result = handler ? work(*handler) : Py_None;
        return Py_NewRef(result);
    } catch (py::error_already_set& error) {
        error.restore();
        return nullptr;
    }
}

PyObject* mode_name(const Handler& handler) { return handler.name; }

PyObject* step_boundary(const Handler& handler) {
    guarded(*handler.own, [](Memory& memory) { memory.step_boundary(); });
    return Py_None;
}

PyObject* backward_begins(const Handler& handler) {
    guarded(*handler.own, [](Memory& memory) { memory.backward_begins(); });
    return Py_None;
}

}  // namespace

void bind_memory(py::module_& module) {
    static PyMethodDef methods[] = {
        {"get_memory_mode", plain<mode_name>, METH_NOARGS, "The memory mode of this context."},
        {"step_boundary", plain<step_boundary>, METH_NOARGS,
         "End a training step; does nothing if no mode is set."},
        {"backward_begins", plain<backward_begins>, METH_NOARGS,
         "Begin the backward part of a step; does nothing if no mode is set."},
        {nullptr, nullptr, 0, nullptr}};
    if (PyModule_AddFunctions(module.ptr(), methods) < 0) throw py::error_already_set();
    module.def("set_memory_mode", set_memory_mode, py::arg("mode"),
               "Set the allocator of NumPy's data in this context; None: NumPy's own. Returns the "
               "mode before.");
    module.def("memory_handler", memory_handler, "NumPy's handler of this context, ours or not.");
    module.def(
        "memory_handler_of",
        [](const py::object& mode) {
            return py::reinterpret_borrow<py::object>(handler_named(mode));
        },
        py::arg("mode"), "NumPy's handler of a memory mode.");
    module.def(
        "set_memory_handler",
        [](const py::object& handler) {
            // NumPy 2.0 takes any object, and fails to allocate from then on.
            if (!PyCapsule_IsValid(handler.ptr(), handler_kind))
                throw py::type_error("handler: expected what memory_handler() returned, got " +
                                     std::string(py::repr(handler)));
            exchange(handler.ptr());
        },
        py::arg("handler"), "Set a handler that memory_handler() returned.");
    module.def("memory_stats", memory_stats, "The counters of array memory.");
    module.def("reset_memory_stats", reset_memory_stats,
               "Set the counters to zero and the peak to the live bytes.");
    module.def("release_memory", release_memory, "Give free memory back to the system.");
}

}  // namespace tropical
