#include "bindings/call.hpp"

#include <algorithm>
#include <new>

#include "bindings/gil.hpp"
#include "bindings/py_workspace.hpp"
#include "gemm.hpp"

namespace tropical {
namespace {

[[noreturn]] void refuse(const Signature& signature, const std::string& message) {
    throw py::type_error(signature.function + ("() " + message));
}

[[noreturn]] void refuse_positional(const Signature& signature, Py_ssize_t given) {
    std::string list;
    for (const std::string_view name :
         signature.names.first(static_cast<std::size_t>(signature.positional)))
        list += (list.empty() ? "" : ", ") + std::string(name);
    refuse(signature, (signature.positional > signature.required ? "takes at most " : "takes ") +
                          std::to_string(signature.positional) + " positional arguments (" + list +
                          ") but " + std::to_string(given) + " were given");
}

std::size_t index_of(PyObject* name, const Signature& signature) {
    const std::string_view text = text_of(name);
    for (std::size_t i = 0; i < signature.names.size(); ++i)
        if (text == signature.names[i]) return i;
    refuse(signature,
           "got an unexpected keyword argument " + std::string(py::repr(py::handle(name))));
}

Arguments parse_arguments(const Signature& signature, PyObject* const* args, Py_ssize_t positional,
                          PyObject* keywords) {
    if (positional > signature.positional) refuse_positional(signature, positional);
    Arguments arguments;
    std::copy_n(args, positional, arguments.values);
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i) {
        const std::size_t which = index_of(PyTuple_GET_ITEM(keywords, i), signature);
        if (arguments.values[which])
            refuse(signature, "got multiple values for argument '" +
                                  std::string(signature.names[which]) + "'");
        arguments.values[which] = args[positional + i];
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(signature.required); ++i)
        if (!arguments.values[i])
            refuse(signature,
                   "missing required argument '" + std::string(signature.names[i]) + "'");
    return arguments;
}

// Whether the handler of a signal has raised an exception, such as KeyboardInterrupt.
bool signal_raised() {
    return with_gil([] { return PyErr_CheckSignals() != 0; });
}

// Python runs the handlers of signals on its main thread alone.
bool on_main_thread() {
    const py::object ident = py::module_::import("threading").attr("main_thread")().attr("ident");
    return PyLong_AsUnsignedLong(ident.ptr()) == PyThread_get_thread_ident();
}

// With fewer products, releasing the GIL costs more than it gives.
constexpr double products_worth_the_gil = 1 << 15;
// Fewer products take less than a second on every kernel.
constexpr double products_worth_a_stop = 1 << 27;

double products_of(const Problem& p) {
    return static_cast<double>(p.m) * static_cast<double>(p.n) *
           static_cast<double>(std::max<ptrdiff_t>(p.k, 1)) * static_cast<double>(p.batch.items);
}

// work(memory, stop), as run_in.
void run_with(Workspace& memory, double products, auto work) {
    if (products < products_worth_the_gil) return work(memory, nullptr);
    const StopRequested stop =
        products < products_worth_a_stop ? nullptr : stop_requested_by_signal();
    without_gil([&] { work(memory, stop); });
}

void run_leased(PyObject* workspace, double products, auto work) {
    use_tuning();
    if (workspace != Py_None) {
        PyWorkspace::Lease lease(py::cast<PyWorkspace&>(py::handle(workspace)));
        return run_with(lease.memory(), products, work);
    }
    ThreadWorkspace own;
    run_with(own.memory(), products, work);
}

}  // namespace

bool is_on_gpu(PyObject* x) {
    constexpr int cuda = 2, cuda_managed = 13;  // DLDeviceType
    if (Py_TYPE(x) == py::detail::npy_api::get().PyArray_Type_ || PyList_CheckExact(x) ||
        !PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(x)), "__dlpack_device__"))
        return false;
    try {
        const py::tuple device = py::handle(x).attr("__dlpack_device__")();
        const int kind = py::int_(device[0]);
        return kind == cuda || kind == cuda_managed;
    } catch (py::error_already_set& error) {
        // Of what cannot be exported the reader says why; KeyboardInterrupt is no such error.
        if (!error.matches(PyExc_Exception)) throw;
        return false;
    }
}

StopRequested stop_requested_by_signal() { return on_main_thread() ? signal_raised : nullptr; }

bool Arguments::is_true(int which) const {
    if (!values[which]) return false;
    const int truth = PyObject_IsTrue(values[which]);
    if (truth < 0) throw py::error_already_set();
    return truth;
}

PyObject* call(const Signature& signature, py::object (*compute)(const Arguments&),
               PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    try {
        return compute(parse_arguments(signature, args, positional, keywords)).release().ptr();
    } catch (const std::exception&) {
        set_python_error();
        return nullptr;
    }
}

void set_python_error() {
    try {
        throw;
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const py::builtin_exception& error) {
        error.set_error();
    } catch (const Stopped&) {  // a signal's handler has set the error
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::invalid_argument& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
}

void add_function(py::module_& module, PyMethodDef& definition) {
    const py::object name = module.attr("__name__");
    module.add_object(definition.ml_name, py::reinterpret_steal<py::object>(
                                              PyCFunction_NewEx(&definition, nullptr, name.ptr())));
}

Target make_target(const Out& out, const Shapes& shapes, const py::dtype& dtype,
                   std::initializer_list<const py::array*> operands) {
    const bool given = out.given != Py_None;
    const py::array array =
        given ? check_out(out.given, out.name, shapes, dtype) : new_result(shapes, dtype);
    bool overlaps = false;
    for (const py::array* const operand : operands)
        if (given && operand && may_overlap(array, *operand)) overlaps = true;
    return {.out = array,
            .computed = overlaps ? py::array(array.attr("copy")("C")) : array,
            .given = py::reinterpret_borrow<py::object>(out.given),
            .overlaps = overlaps};
}

py::object finish(const Target& target) {
    if (target.overlaps) py::module_::import("numpy").attr("copyto")(target.out, target.computed);
    return target.given.is_none() ? as_result(target.out) : target.given;
}

py::object as_result(const py::array& array) {
    if (array.ndim() > 0) return array;
    return py::reinterpret_steal<py::object>(PyObject_GetItem(array.ptr(), py::tuple().ptr()));
}

void check_workspace(PyObject* workspace) {
    if (workspace != Py_None && !py::isinstance<PyWorkspace>(workspace))
        throw py::type_error("workspace: expected a GemmWorkspace, got " +
                             std::string(py::repr(py::handle(workspace))));
}

void run_in(PyObject* workspace, double products, void (*work)(void*, Workspace&, StopRequested),
            void* context) {
    run_leased(workspace, products,
               [=](Workspace& memory, StopRequested stop) { work(context, memory, stop); });
}

void run_in(PyObject* workspace, const Problem& problem, const BatchPostOps& post_ops,
            const Choice& choice, std::optional<Storage> storage) {
    run_leased(workspace, products_of(problem), [&](Workspace& memory, StopRequested stop) {
        gemm_with_post_ops(problem, post_ops, storage, choice, memory, stop);
    });
}

void run_in(PyObject* workspace, const Problem& problem, const Choice& choice,
            std::optional<Storage> storage) {
    run_leased(workspace, products_of(problem), [&](Workspace& memory, StopRequested stop) {
        if (storage)
            gemm_stored(problem, *storage, choice, memory, stop);
        else
            gemm(problem, choice, memory, stop);
    });
}

}  // namespace tropical
